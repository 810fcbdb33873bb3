"""Topologies and settings as a person writes them: what they become, and which mistakes are seen."""

from __future__ import annotations

import pytest

from fairground.inputs import conditions, numbers
from fairground.inputs.conditions import SettingsTable
from fairground.model import CellSettings, LabError, PoolScope, Topology


def test_an_empty_table_is_the_usual_settings() -> None:
    """A suite that says nothing gets what the model says, and that has no fault."""
    assert SettingsTable().settings() == CellSettings()
    assert list(conditions.mistakes(CellSettings())) == []


def test_tables_become_values() -> None:
    """Tables of pins and PostgreSQL settings become ordered values that can be compared."""
    table = SettingsTable(
        pin={"generator": (3, 1), "server": (0,)}, postgres={"work_mem": "8MB", "jit": True, "max_connections": 300}, cpus=1.5
    )
    settings = table.settings()
    assert settings.pin == (("server", (0,)), ("generator", (1, 3)))
    assert settings.postgres == (("jit", "on"), ("max_connections", "300"), ("work_mem", "8MB"))
    assert (settings.cores_of("generator"), settings.cores_of("database"), settings.cpus) == ((1, 3), None, 1.5)
    assert {settings: 1}[table.settings()] == 1


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        (CellSettings(workers=0), "workers"),
        (CellSettings(pool_size=0), "pool_size"),
        (CellSettings(scale=0), "scale"),
        (CellSettings(pool_wait_ms=-1), "pool_wait_ms"),
        (CellSettings(memory_mb=1), "memory_mb"),
        (CellSettings(cpus=0.0), "cpus"),
        (CellSettings(pin=(("servr", (0,)),)), "pin"),
        (CellSettings(pin=(("server", ()),)), "pin"),
        (CellSettings(pin=(("server", (-1,)),)), "pin"),
        (CellSettings(postgres=(("work mem", "8MB"),)), "postgres"),
        (CellSettings(postgres=(("work_mem", ""),)), "postgres"),
    ],
)
def test_what_cannot_be_meant(settings: CellSettings, key: str) -> None:
    """Each mistake is named by its field, and on the command line by its option."""
    assert [fault[0] for fault in conditions.mistakes(settings)] == [key]
    with pytest.raises(LabError, match=f"^`--{key.replace('_', '-')}` "):
        conditions.check(settings)


def test_pool_of_all_workers() -> None:
    """A pool for each worker adds up over them; a total is a total."""
    assert CellSettings(workers=4, pool_size=15).pool_total == 15
    assert CellSettings(workers=4, pool_size=15, pool_scope=PoolScope.PER_WORKER).pool_total == 60


def test_topologies_are_every_pair() -> None:
    """Each proxy is paired with each pooler, `none` is a hop that does not exist, and nothing is said twice."""
    found = conditions.topologies(["none", "nginx"], ["none", "pgbouncer-tx"], 20, None)
    assert found == (
        Topology(),
        Topology(None, "pgbouncer-tx", 20, 500),
        Topology("nginx"),
        Topology("nginx", "pgbouncer-tx", 20, 500),
    )
    assert conditions.topologies([], [], None, None) == (Topology(),)
    assert conditions.topologies(["nginx", "nginx"], [], 9, 9) == (Topology("nginx"),)


@pytest.mark.parametrize(("proxies", "poolers", "said"), [(["ngnix"], [], "proxy `ngnix`"), ([], ["nginx"], "pooler `nginx`")])
def test_unknown_hops(proxies: list[str], poolers: list[str], said: str) -> None:
    """A hop that does not exist is named, with those that do."""
    with pytest.raises(LabError, match=f"^there is no {said}$") as caught:
        conditions.topologies(proxies, poolers, None, None)
    assert caught.value.hint is not None and caught.value.hint.startswith("choose among none, ")


@pytest.mark.parametrize(
    ("texts", "pins"),
    [
        ([], ()),
        (["server=0"], (("server", (0,)),)),
        (["generator=1,3-5", "server=0"], (("server", (0,)), ("generator", (1, 3, 4, 5)))),
        (["server=0", "server=1"], (("server", (0, 1)),)),
    ],
)
def test_pins_of_the_command_line(texts: list[str], pins: object) -> None:
    """Cores are single ones, lists and ranges."""
    assert numbers.pins("--pin", texts) == pins


@pytest.mark.parametrize("text", ["server", "server=", "server=a", "server=0-", "=x"])
def test_pins_that_are_none(text: str) -> None:
    """What is no role with cores is quoted, with an example."""
    with pytest.raises(LabError, match=f"^`--pin {text}` should be a role and its cores$"):
        numbers.pins("--pin", [text])


def test_assignments_of_the_command_line() -> None:
    """Names and values are parted at the first `=`; without one there is an error."""
    assert numbers.assignments("--postgres", ["work_mem=8MB", "search_path=a=b"]) == (("search_path", "a=b"), ("work_mem", "8MB"))
    with pytest.raises(LabError, match="^`--postgres work_mem` should be a name and a value$"):
        numbers.assignments("--postgres", ["work_mem"])
