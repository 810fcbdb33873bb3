"""What the parts of a visit say together."""

from __future__ import annotations

from dataclasses import replace

from fairground.capacity import objective
from fairground.capacity.service import parts
from fairground.capacity.service.parts import ServicePart, Unit
from fairground.capacity.service.values import Closed
from fairground.model.reason import APP_SERIAL, TOO_FEW_CONNECTIONS

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
