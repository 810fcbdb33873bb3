"""Work done where nobody counts it: who holds a server's port, and what its answers cost it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders.trials import trial
from fairground.host.server import foreign_holders
from fairground.judge import elsewhere, thresholds
from fairground.model import RoleUse, Severity

RULES = thresholds.standard().rules
RESULT = trial("a:plain", 1, 50_000.0).result
assert RESULT is not None
BUSY = replace(RESULT, completed_ok=50_000)


def used(cpu_us: float | None) -> RoleUse:
    """A server that used so much CPU."""
    return RoleUse(cpu_us, None, None, "cgroup2")


@pytest.mark.parametrize(("each_us", "rejects"), [(0.0, True), (0.4, True), (0.5, False), (3.0, False)])
def test_an_answer_costs_its_server_something(each_us: float, rejects: bool) -> None:
    """Less CPU for each answer than its system calls take: something else gave them."""
    found = elsewhere.cost_finding(BUSY, {"server": used(each_us * 50_000)}, RULES)
    assert [(one.id, one.severity) for one in found] == [("work-elsewhere", Severity.REJECT)] * rejects


def test_what_is_not_known_costs_nothing() -> None:
    """Few answers, a server without a clock, and no server at all say nothing."""
    few = replace(RESULT, completed_ok=100)
    assert elsewhere.cost_finding(few, {"server": used(0.0)}, RULES) == ()
    assert elsewhere.cost_finding(BUSY, {"server": used(None)}, RULES) == elsewhere.cost_finding(BUSY, {}, RULES) == ()


def test_whoever_holds_the_port_must_be_the_servers() -> None:
    """A listener of another process, a connection of another, and a listener of nobody who can be seen; own ones never."""
    names = {7: "own", 8: "worker", 9: "other"}
    assert foreign_holders([(7, True), (8, False), (None, False)], {7, 8}, names.__getitem__) == ()
    assert foreign_holders([(9, True), (9, False)], {7, 8}, names.__getitem__) == ("other",)
    assert foreign_holders([(7, True), (9, False)], {7, 8}, names.__getitem__) == ("other",)
    assert foreign_holders([(None, True)], {7}, names.__getitem__) == ("a process that cannot be seen from here",)


def test_a_port_of_others_rejects() -> None:
    """The sentence names who holds it."""
    (found,) = elsewhere.port_finding(["nginx (12)"], 7001)
    assert (found.id, found.severity) == ("port-elsewhere", Severity.REJECT)
    assert "port 7001 was held by nginx (12)" in found.sentence
    assert elsewhere.port_finding([], 7001) == ()
