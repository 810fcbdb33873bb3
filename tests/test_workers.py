"""Which tests may be at work side by side, and how workers share them out."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from builders.contracts import CONTRACTS
from builders.paths import TESTS
from fairground.inputs import manifest
from fairground.model import Stack
from units import Units
from workers import NICED, is_patient, ordered, spread, turned, unit


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        ("tests/a/test_x.py::test_1", "tests/a/test_x.py::test_2[b:c]", True),
        ("tests/a/test_x.py::test_1", "tests/b/test_x.py::test_1", False),
        ("tests/live/x.py::test_stack_fulfils_the_contract[a:1]", "tests/live/x.py::test_stack_fulfils_the_contract[a:2]", True),
        (
            "tests/live/x.py::test_stack_fulfils_the_contract[a:1]",
            "tests/live/x.py::test_stack_fulfils_the_contract[ab:1]",
            False,
        ),
        ("tests/live/x.py::test_stack_fulfils_the_contract[a:1]", "tests/live/x.py::test_folder[a]", False),
        ("tests/fleet/test_remote.py::test_1", "tests/fleet/test_remote_database.py::test_2[a:1]", True),
        ("tests/cli/test_x.py::test_1", "tests/cli/test_y.py::test_2", True),
        ("tests/test_x.py::test_1", "tests/test_y.py::test_2", True),
        ("tests/test_x.py::test_1", "tests/cli/test_x.py::test_1", False),
        ("tests/c/x.py::test_fault_is_found[hangs-ping]", "tests/c/x.py::test_fault_is_found[resets-ping]", False),
    ],
)
def test_what_belongs_together(one: str, other: str, together: bool) -> None:
    """Tests of a file are one unit, but for stacks, of which those of a server are one, and for faults, which are by themselves. Tests that
    borrow or share something are one unit, too."""
    assert (unit(one) == unit(other)) is together


@pytest.mark.parametrize(
    ("few", "many", "mixed"),
    [("", "abc", "abc"), ("X", "", "X"), ("XY", "abcd", "XabYcd"), ("XYZ", "abc", "XaYbZc")],
)
def test_few_are_spread_over_many(few: str, many: str, mixed: str) -> None:
    """The first stands at the beginning, none at the end of many, and nothing is lost."""
    assert "".join(spread(few, many)) == mixed


def test_each_worker_begins_elsewhere() -> None:
    """Three workers begin at three parts of the files, and each reads all of them."""
    assert ["".join(turned("abcdefg", place, 3)) for place in range(3)] == ["abcdefg", "cdefgab", "efgabcd"]


@pytest.mark.parametrize(
    ("nodeid", "patient"),
    [
        ("tests/cli/test_help.py::test_1", True),
        ("tests/report/test_browser.py::test_1", True),
        ("tests/test_workers.py::test_1", True),
        ("tests/stats/test_fit.py::test_1", True),
        ("tests/fleet/test_remote.py::test_1", False),
        ("tests/postgres/test_postgres.py::test_1", False),
        ("tests/live/test_secrets.py::test_1", False),
        ("tests/live/test_zoo.py::test_1", False),
        ("tests/live/test_servers.py::test_stack_fulfils_the_contract[a:1]", False),
    ],
)
def test_what_may_wait(nodeid: str, patient: bool) -> None:
    """Tests that load no server may wait for a processor, also where they start a browser or a command."""
    assert is_patient(unit(nodeid)) is patient


class Worker:
    """A worker that notes the tests that it is given, and whether it was ended."""

    def __init__(self, id: str) -> None:
        self.gateway, self.given, self.shutting_down = SimpleNamespace(id=id), list[int](), False

    def send_runtest_some(self, tests: list[int]) -> None:
        self.given.extend(tests)

    def shutdown(self) -> None:
        self.shutting_down = True


def test_the_niced_worker_takes_what_may_wait() -> None:
    """The others begin with what loads servers. Where nothing is left that may wait, the niced one ends, and the others go on."""
    tests = [f"tests/live/test_{name}.py::test_1" for name in ("zoo", "counted", "fleet", "engine", "place")]
    tests += ["tests/stats/test_fit.py::test_1", "tests/cli/test_help.py::test_1"]
    config = SimpleNamespace(option=SimpleNamespace(loadscopereorder=False), getvalue=lambda _: ["popen"] * 3)
    units = Units(cast(pytest.Config, config))
    workers = [Worker("gw0"), Worker("gw1"), Worker(NICED)]
    for one in workers:
        units.add_node(cast(Any, one))
        units.add_node_collection(cast(Any, one), tests)
    units.schedule()
    niced = workers[-1]
    assert niced.given == [5, 6]
    units.mark_test_complete(cast(Any, niced), 5)
    assert niced.given == [5, 6] and niced.shutting_down
    assert sorted(workers[0].given + workers[1].given) == [0, 1, 2, 3] and list(units.workqueue) == ["tests/live/test_place.py"]
    units.mark_test_complete(cast(Any, workers[0]), workers[0].given[0])
    assert not units.workqueue and 4 in workers[0].given


def item(nodeid: str, stack: Stack | None = None, live: bool = True) -> Any:
    """A test as pytest collects it, as far as its order is concerned."""
    marks = {"live": live}
    callspec = SimpleNamespace(params={"stack": stack})
    return SimpleNamespace(nodeid=nodeid, callspec=callspec, get_closest_marker=lambda name: marks.get(name) or None)


def test_slow_builds_come_first_and_apart() -> None:
    """Stacks of servers that a slow compiler builds are taken first and not one after the other; what may wait comes last."""
    (plain,) = manifest.find_stack(manifest.load_servers(TESTS / "zoo", CONTRACTS), "healthy")
    slow = replace(plain, server=replace(plain.server, build=(("cargo", "build"),)))
    test = "tests/live/x.py::test_stack_fulfils_the_contract"
    names = [f"{test}[{id}]" for id in ("a:1", "b:1", "c:1", "d:1", "slow:1", "slow:2", "slower:1")]
    zoo, values, help = "tests/live/test_zoo.py::test_1", "tests/stats/test_fit.py::test_1", "tests/cli/test_help.py::test_1"
    items = [item(values, live=False), item(help), item(zoo), *(item(name, slow if "slow" in name else plain) for name in names)]
    ids = [one.nodeid.removeprefix(test) for one in ordered(items)]
    assert ids == ["[slow:1]", "[slow:2]", "[a:1]", "[slower:1]", "[b:1]", zoo, "[c:1]", "[d:1]", help, values]
