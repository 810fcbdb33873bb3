"""The table of options: one row feeds the command line, the keys of suites, and the command that measures again."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from pathlib import Path

import pytest

from fairground.inputs import asked, options
from fairground.inputs.conditions import SettingsTable
from fairground.inputs.options import Given, Option
from fairground.inputs.suite_file import SuiteFile
from fairground.model import CellSettings, Durability, LabError, Load, PathWire, PoolScope, Topology, Until
from fairground.model.contract import SqlFile

OF_A_FILE = {
    "title",
    "about",
    "group",
    "profiles",
    "source",
    "tables",
    "claims",
    "conditions",
    "nearest",
    "lessons",
    "steps",
    "only",
    "settings",
}
"""Keys of suites that are no option: what the file is, and how it is divided."""


def given(**said: object) -> Given:
    """A command line on which only this was said."""
    return {**asked.DEFAULTS, **said}


def test_a_name_and_a_spelling_are_one_options() -> None:
    """No two options have one name or spelling, and every option has a help."""
    named = [one.name for one in options.OPTIONS]
    spelled = [one.spelling for one in options.OPTIONS] + [one.short for one in options.OPTIONS if one.short]
    assert len(named) == len(set(named)) and len(spelled) == len(set(spelled))
    assert all(one.help for one in options.OPTIONS)


def test_every_key_of_a_suite_is_in_the_table() -> None:
    """What a suite can say of loads, hops, settings and itself is what the table says that it can, no more and no less."""
    shape = {one.name for table in (SuiteFile, SettingsTable) for one in fields(table)}
    assert {one.key for one in options.OPTIONS if one.key} == shape - OF_A_FILE


@pytest.mark.parametrize(
    ("some", "where", "besides"),
    [
        (options.LOADS, Load, {"model"}),
        (options.HOPS, Topology, set()),
        ((*options.SETTINGS, options.VERSION, options.SQL_BEFORE, options.PLACE), CellSettings, set()),
    ],
)
def test_every_field_has_an_option(
    some: tuple[Option, ...], where: type[Load | Topology | CellSettings], besides: set[str]
) -> None:
    """Each field of a load, a topology and the settings is set by one option."""
    targets = [field for one in some for field in one.targets]
    assert sorted(targets) == sorted({one.name for one in fields(where)} - besides)


def test_nothing_said_is_the_usual() -> None:
    """A command line that says nothing asks for the defaults of the model."""
    assert asked.loads(given()) == (Load(),)
    assert asked.settings(given()) == CellSettings()
    assert asked.topologies(given()) == (Topology(),)


def test_options_become_values() -> None:
    """Flags, lists, ranges and rates reach their fields; every generator is paired with every number of connections."""
    said = given(
        connections="1,2", close=True, window=2.0, warmup="0.5,3", generator="engine,wrk", rate=50.0, arrivals="constant"
    )
    loads = asked.loads(said)
    assert [(one.generator, one.connections) for one in loads] == [("engine", 1), ("engine", 2), ("wrk", 1), ("wrk", 2)]
    assert loads[0] == Load(1, False, 2.0, 0.5, 3.0, model="open", rate_per_s=50.0, arrivals="constant")
    settings = asked.settings(given(durable=True, no_prepared=True, pool_per_worker=True, pin=["server=1"], postgres=["jit=off"]))
    assert (settings.durability, settings.prepared, settings.pool_scope) == (Durability.DURABLE, False, PoolScope.PER_WORKER)
    assert (settings.pin, settings.postgres) == ((("server", (1,)),), (("jit", "off"),))


def test_a_rate_and_a_number_of_requests_exclude_each_other() -> None:
    """Both together cannot be meant."""
    with pytest.raises(LabError, match="`--rate` and `--requests` exclude each other"):
        asked.loads(given(rate=5.0, requests=10))
    with pytest.raises(LabError, match="^`--arrivals evenly` should be `poisson` or `constant`$"):
        asked.loads(given(arrivals="evenly"))


def test_one_path_is_one() -> None:
    """A verb that measures over one path has its options, and refuses several."""
    found = asked.path({"proxy": "nginx", "pooler": "pgbouncer-tx", "wire": "database=1ms", "pooler_size": 10})
    assert found == Topology("nginx", "pgbouncer-tx", 10, wire=PathWire(database_ms=1.0))
    assert asked.path({}) == Topology()
    with pytest.raises(LabError, match="over one path, and 2 are named: direct, nginx"):
        asked.path({"proxy": "none,nginx"})
    assert not any("several" in one.help for one in options.ONE_PATH)


def test_pauses_belong_to_a_closed_loop() -> None:
    """A pause reaches the load and its id; with a rate, or out of bounds, it is refused."""
    (load,) = asked.loads(given(think_ms=2.5))
    assert (load.think_ms, load.id, Load().id) == (2.5, "c100-think2.5ms", "c100")
    with pytest.raises(LabError, match="^`--rate` and `--think-ms` exclude each other$"):
        asked.loads(given(rate=5.0, think_ms=1.0))
    for wrong in (-1.0, 60_001.0, float("nan")):
        with pytest.raises(LabError, match="should be 0 to 60000 ms"):
            asked.loads(given(think_ms=wrong))


def test_stages_make_the_window() -> None:
    """Each stage says its seconds and the connections that it ends with; the command that measures again says the same."""
    (load,) = asked.loads(given(generator="k6", stage=["20=150", "10.5=0"]))
    assert (load.stages, load.window_s, load.most_connections) == (((20.0, 150), (10.5, 0)), 30.5, 150)
    option = next(one for one in options.LOADS if one.name == "stage")
    assert asked.loads(given(generator="k6", stage=option.words_of(load)[1::2])) == (load,)
    for wrong in ("20", "x=5", "0=5", "5=-1"):
        with pytest.raises(LabError, match="`--stage "):
            asked.loads(given(stage=[wrong]))
    for name, value in (("rate", 5.0), ("requests", 10)):
        with pytest.raises(LabError, match=f"^`--stage` and `--{name}` exclude each other$"):
            asked.loads(given(stage=["20=150"], **{name: value}))


def test_a_budget_decides_the_number_of_blocks() -> None:
    """With a budget and no number of blocks the budget says how many; what is not said stays as the suite has it."""
    suite = replace(asked.suite(given(), "title", ["a:b"]), blocks=4, seed=9)
    assert asked.overridden(suite, given()) == suite
    assert asked.overridden(suite, given(budget="2m")) == replace(suite, blocks=0, budget_s=120.0)
    assert asked.overridden(suite, given(budget="2m", blocks=2, seed=0)) == replace(suite, blocks=2, budget_s=120.0, seed=0)


def test_blocks_that_are_said_are_those_of_all_groups() -> None:
    """Where a group asks for more, the command line and a budget say otherwise."""
    suite = replace(asked.suite(given(), "title", ["a:b"]), blocks=2)
    more = replace(suite, groups=(replace(suite.groups[0], blocks=6),))
    assert asked.overridden(more, given(seed=9)) == replace(more, seed=9)
    assert asked.overridden(more, given(blocks=1)) == replace(suite, blocks=1)
    assert asked.overridden(more, given(budget="2m", blocks=3)) == replace(suite, blocks=3, budget_s=120.0)


def test_what_is_to_be_decided_has_a_budget() -> None:
    """`--until decided` alone ends after half an hour; with a budget that is the most."""
    suite = asked.suite(given(), "title", ["a:b"])
    decided = replace(suite, blocks=0, until=Until.DECIDED)
    assert asked.overridden(suite, given(until="decided")) == replace(decided, budget_s=1800.0)
    assert asked.overridden(suite, given(until="decided", budget="2m")) == replace(decided, budget_s=120.0)
    with pytest.raises(LabError, match="`--until sure` should be `narrow` or `decided`"):
        asked.overridden(suite, given(until="sure"))
    with pytest.raises(LabError, match="says what ends a run before its budget, and there is none"):
        asked.overridden(suite, given(until="narrow"))
    assert asked.overridden(suite, given(until="narrow", budget="2m")).until is Until.NARROW


def test_a_file_of_sql_is_read_where_it_is_named(tmp_path: Path) -> None:
    """Its text becomes a setting, and its path is the word that gives it back."""
    file = tmp_path / "index.sql"
    file.write_text("CREATE INDEX ON a (b);\n", encoding="utf-8")
    settings = asked.settings(given(sql_before=file))
    assert settings.sql_before == SqlFile(str(file), "CREATE INDEX ON a (b);\n")
    assert options.SQL_BEFORE.words_of(settings) == ["--sql-before", str(file)]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, " cannot be read (No such file or directory)"),
        (b"\xff", " cannot be read (not UTF-8)"),
        (b" \n", " has nothing in it"),
        (b"--" + b"x" * 65_536, " has more than 64 KiB"),
        (b"CREATE TABLE a (b int);\nCREATE ROLE a PASSWORD 'hunter2';", ", line 2, has what looks like a secret"),
        (b"-- password: ask\nUPDATE a SET password = 'hunter2';", ", line 2, has what looks like a secret"),
    ],
)
def test_a_file_of_sql_that_is_none_is_refused(content: bytes | None, said: str, tmp_path: Path) -> None:
    """One sentence with the option, the file, and what is wrong with it."""
    file = tmp_path / "index.sql"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(LabError, match=re.escape(f"`--sql-before {file}`{said}")):
        asked.settings(given(sql_before=file))


def test_values_become_the_words_that_give_them() -> None:
    """The words of an option give its value back; a default is told only where the table says so."""
    load = Load(1_000_000, window_s=1234567.5, requests=3)
    assert [word for one in options.LOADS for word in one.words_of(load)] == [
        "--connections", "1000000", "--window", "1234567.5", "--warmup", "2,20", "--timeout-ms", "10000", "--requests", "3",
    ]  # fmt: skip
    assert [word for one in options.HOPS for word in one.words_of(Topology("nginx", "pgcat-tx", 9))] == [
        "--proxy", "nginx", "--pooler", "pgcat-tx", "--pooler-size", "9",
    ]  # fmt: skip
