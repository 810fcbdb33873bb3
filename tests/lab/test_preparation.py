"""One preparation for every verb: its steps in order, what is lacking, and what is begun or left out without it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from builders.contracts import CONTRACTS
from builders.paths import ROOT
from builders.testbed import start_nothing
from fairground.host import build, sources
from fairground.inputs import manifest
from fairground.lab.events import Absent, Building, Built, Said, Within
from fairground.lab.places import Places
from fairground.lab.preparation import Inputs, prepare
from fairground.model import Cell, CellSettings, LabError, Load, Stack, Topology
from fairground.model.contract import SqlFile

ZOO = ROOT / "tests" / "zoo"
CELL = Cell("healthy:asyncio", "ping", Topology(), Load(), CellSettings())


@pytest.fixture
def inputs(tmp_path: Path) -> Inputs:
    """The zoo, and a PATH on which nothing is."""
    return Inputs(Places(ROOT, ZOO, tmp_path / "results", tmp_path / "cache", {"PATH": str(tmp_path)}))


def stacks(*names: str) -> list[Stack]:
    """Stacks of the zoo."""
    known = manifest.load_servers(ZOO, CONTRACTS)
    return [stack for name in names for stack in manifest.find_stack(known, name)]


def test_the_steps_have_one_order(inputs: Inputs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeper, builds, database with its data, waking processors; all of it ends in reverse, and what goes on is told meanwhile."""
    log, told = start_nothing(monkeypatch), list[Within]()
    with prepare(inputs, [CELL], stacks("healthy"), told.append) as testbed:
        assert log == ["keeper", "build healthy", "database None", "data of scale 10 on 18", "awake"]
        contract = {"contract seeds": sources.sources_hash(CONTRACTS["seeds"].folder)[: build.DIGEST_CHARACTERS]}
        assert testbed.versions == {"fairground": "1", "PostgreSQL": "18.1", **contract}
        assert testbed.database_settings["fsync"] == "off"
        assert testbed.bench.database is not None and testbed.bench.cases and testbed.lacking == {}
        assert testbed.stacks["healthy:asyncio"].content_hash == "a hash"
    assert log[5:] == ["awake ends", "database None ends", "keeper ends"]
    assert [type(one) for one in told] == [Built, Said] and told[1] == Said("making the data …")


def test_data_are_made_once_for_all_cells_with_the_same(inputs: Inputs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that SQL was run on are data of their own, and are there before anything is loaded, too."""
    log = start_nothing(monkeypatch)
    with_sql = replace(CELL, settings=replace(CELL.settings, sql_before=SqlFile("index.sql", "CREATE INDEX …")))
    with prepare(inputs, [CELL, with_sql, CELL], stacks("healthy"), lambda _: None):
        assert log[3:5] == ["data of scale 10 on 18", "data of scale 10 with index.sql on 18"]


def test_without_a_cell_there_is_no_database(inputs: Inputs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is built either; processors idle where they must."""
    log = start_nothing(monkeypatch)
    with prepare(inputs, (), (), lambda _: None, awake=False) as testbed:
        assert (testbed.bench.database, testbed.bench.cases, testbed.versions) == (None, (), {"fairground": "1"})
    assert log == ["keeper", "keeper ends"]


def test_what_lacks_is_told_and_the_rest_goes_on(inputs: Inputs, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that cannot be built, a generator, a hop and cgroups that are not here; only versions of what is left are started."""
    start_nothing(monkeypatch, absent={"dreamer"}, slows=False)
    cells = [
        CELL,
        replace(CELL, stack="dreamer:asyncio", settings=replace(CELL.settings, postgres_version=18)),
        replace(CELL, load=replace(CELL.load, generator="wrk")),
        replace(CELL, topology=Topology("nginx")),
    ]
    told = list[Within]()
    with prepare(inputs, cells, stacks("healthy", "dreamer"), told.append, awake=False) as testbed:
        lacking = set(testbed.lacking)
        assert testbed.versions["PostgreSQL"] == "18.1" and "nginx" not in testbed.versions
    dreamer = stacks("dreamer")[0].id
    assert lacking == {dreamer, "generator wrk", f"topology {Topology('nginx').id}", "control slowed"}
    assert {one.what for one in told if isinstance(one, Absent)} == {
        "dreamer",
        "generator wrk",
        f"topology {Topology('nginx').id}",
    }
    assert not any(isinstance(one, Building) for one in told)


@pytest.mark.parametrize(("least", "starts"), [(0, True), (1, False)])
def test_too_little_is_refused_before_the_database_starts(
    least: int, starts: bool, inputs: Inputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With why each is lacking; who can do with nothing goes on."""
    log, (stack,) = start_nothing(monkeypatch, absent={"dreamer"}), stacks("dreamer")
    prepared = prepare(inputs, [replace(CELL, stack=stack.id)], [stack], lambda _: None, awake=False, least=least)
    if starts:
        with prepared as testbed:
            assert testbed.stacks[stack.id].unavailable == "no such program"
        return
    with pytest.raises(LabError, match=f"{stack.id} is not here: no such program") as refused, prepared:
        pass
    assert (refused.value.exit_code, refused.value.hint) == (3, "install it") and log == ["keeper", "build dreamer"]
