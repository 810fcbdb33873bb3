"""What the parts of a visit say together."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fairground.capacity import objective
from fairground.capacity.service import parts
from fairground.capacity.service.parts import ServicePart, Unit
from fairground.capacity.service.values import Closed, LoadTally
from fairground.model import Outcomes
from fairground.model.reason import APP_SERIAL, TOO_FEW_CONNECTIONS
from fairground.report import visit

ZEROS = dict.fromkeys(("shed", "wrong_body", "timeout", "connect", "reset", "malformed", "unsent", "in_flight"), 0)
ONE = Closed(1, 300.0, None, None, 300, 0, None, None, None, None)
MANY = replace(ONE, connections=100, goodput_per_s=9_000.0)


def test_a_limit_is_that_of_the_loop_whose_goodput_is_told() -> None:
    """What limited one connection is no limit of a hundred, whichever loop was measured last."""
    few = ServicePart(Unit.LOOP, closed=ONE, limited_by=(TOO_FEW_CONNECTIONS.finding("1 connection gives 300"),))
    serial = ServicePart(Unit.LOOP, closed=MANY, limited_by=(APP_SERIAL.finding("one thread was full"),))
    nothing = replace(serial, limited_by=())
    kept = objective.parse("p99<50ms")
    for loops, said in (((few, serial), "one thread was full"), ((serial, few), "one thread was full"), ((few, nothing), None)):
        found = parts.visit("http://x", "GET", kept, loops)
        assert next((one.sentence for one in found.limited_by), None) == said


@pytest.mark.parametrize(("came", "timeouts", "slow"), [(12, 0, True), (0, 12, False), (0, 0, False)])
def test_answers_longer_than_a_window_are_good_answers(came: int, timeouts: int, slow: bool) -> None:
    """A service that answers everything, and no request within a window, is slow: it is told what gives it longer."""
    tally = LoadTally("1 connection", Outcomes(ok=came, status={}, **(ZEROS | {"timeout": timeouts})))
    loop = ServicePart(Unit.LOOP, closed=replace(ONE, goodput_per_s=0.0, due=0), tallies=(tally,))
    found = parts.visit("http://x", "GET", objective.parse("p99<50ms"), (loop, ServicePart(Unit.CURVE, curve=())), window_s=2)
    said = " ".join(visit.sentences(found))
    assert ("It gives no good answer" not in said) is slow
    assert ("No answer ended inside a window of 2 s, though 12 good answers came: `try --window` takes more" in said) is slow
    why = "no answer ended inside a window of 2 s (`try --window` takes more)" if slow else "no closed loop got a good answer"
    assert found.notes == (f"{why}, so no load curve was measured",)
