"""Dry runs: what the words of a command line plan."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from builders.full import full
from cli.command import ONE, ROOT, RUN, Run, document
from fairground.cli.run import title_of
from fairground.lab import setup
from fairground.model import Cell, CellSettings, Durability, Load, PathWire, PoolScope, Topology, Trial
from fairground.report.trial import again


def test_dry_run_marks_controls_and_tells_the_budget(lab: Run) -> None:
    """A plan that compares shows its controls, and `--no-controls` leaves them out; a budget says that it ends after a whole block."""
    compares = (*ONE, "--blocks", "3")
    lines = lab(*compares).stdout.splitlines()
    assert sum("alder-one:plain ping direct c100  control: " in line for line in lines) == 6
    assert len(lines) == 3 * 4 + 1
    assert "control" not in lab(*compares, "--no-controls").stdout
    last = lab(*ONE, "--budget", "90s").stdout.splitlines()[-1]
    assert re.fullmatch(r"at most \d+ trials within 90 s without builds, ended after a whole block", last)


def test_a_small_budget_shortens_windows_that_nobody_asked_for(lab: Run) -> None:
    """What is said of windows or of warm-ups stays; with a number of blocks they are as ever."""

    def window_s(*words: str) -> float:
        return float(document(lab(*ONE, *words, "--json"))["plan"]["slots"][0]["cell"]["load"]["window_s"])

    assert window_s("--budget", "90s") < window_s("--blocks", "1") == Load().window_s
    assert window_s() < Load().window_s
    assert window_s("--budget", "90s", "--window", "4") == 4.0
    assert window_s("--budget", "90s", "--warmup", "1") == Load().window_s


CELL = Cell("alder-one:fancy", "tx", Topology(), Load(), CellSettings())
CELLS = (
    CELL,
    replace(CELL, load=Load(7, False, 1.5, 0.25, 3.0, 900, threads=2)),
    replace(CELL, load=Load(model="open", rate_per_s=250.5, arrivals="constant", generator="engine")),
    replace(CELL, workload="ping", load=Load(requests=5000, generator="ab")),
    replace(CELL, topology=Topology("nginx", "pgbouncer-tx", 40, 300)),
    replace(CELL, topology=Topology(pooler="pgcat-session")),
    replace(CELL, topology=Topology(wire=PathWire(0.2, 5.0))),
    replace(
        CELL,
        settings=CellSettings(3, 15, 0, False, PoolScope.PER_WORKER, 1.5, 512, durability=Durability.DURABLE, scale=2),
    ),
    replace(CELL, settings=CellSettings(pin=(("server", (0,)),), postgres=(("jit", "off"), ("work_mem", "8MB")))),
)


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.id)
def test_a_trials_own_command_measures_its_cell(cell: Cell, lab: Run) -> None:
    """The command on a trial's page plans that very cell once, with the same stream of requests."""
    trial = replace(full(Trial), cell=cell, seed=987_654)
    words = shlex.split(again.command(trial))[1:]
    (slot,) = document(lab(*words, "--servers", "servers", "--dry-run", "--json"))["plan"]["slots"]
    assert slot["cell"] == json.loads(json.dumps(asdict(cell)))
    assert (slot["seed"], slot["control"]) == (987_654, None)


def test_dry_run(lab: Run, tmp_path: Path) -> None:
    """A dry run prints every trial in its order and about how long it takes, and makes nothing."""
    words = (*RUN, "--stack", "alder-one", "-w", "ping", "-w", "tx", "--connections", "10,100", "--blocks", "2", "--seed", "7")
    done = lab(*words)
    assert done.returncode == 0, done.stderr
    *trials, last = done.stdout.splitlines()
    assert re.fullmatch(r"16 trials, about \d.+ without builds", last)
    cells = [tuple(line.split()[2:]) for line in trials]
    assert [line.split()[0] for line in trials] == [str(number) for number in range(1, 17)]
    wanted = {
        (f"alder-one:{variant}", workload, "direct", load)
        for variant in ("plain", "fancy")
        for workload in ("ping", "tx")
        for load in ("c10", "c100")
    }
    assert {cell[1:] for cell in cells if cell[0] == "1"} == wanted == {cell[1:] for cell in cells if cell[0] == "2"}
    assert lab(*words).stdout == done.stdout, "the same seed gives the same order"
    assert not (tmp_path / "results").exists() and not (tmp_path / "cache").exists()


def test_topologies_of_the_command_line(lab: Run) -> None:
    """Every proxy is planned with every pooler; a hop, a core or a setting that does not exist is an error before anything runs."""
    found = lab(*ONE, "--proxy", "none,nginx", "--pooler", "none,pgbouncer-tx", "--dry-run")
    assert {line.split()[5] for line in found.stdout.splitlines() if " block " in line} == {
        "direct", "nginx", "pgbouncer-tx", "nginx+pgbouncer-tx"
    }  # fmt: skip
    for words, said in (
        (("--proxy", "ngnix"), "there is no proxy `ngnix`"),
        (("--wire", "database=5"), "`--wire`: `database=5` lacks the unit"),
        (("--pin", "server=4096"), "`server` is to run on core 4096, which the lab may not use here"),
        (("--pin", "cook=0"), "`--pin` names a role `cook` that does not exist"),
        (("--postgres", "work_men=8MB"), "PostgreSQL has no setting `work_men`"),
        (("--postgres", "fsync=on"), "the PostgreSQL setting `fsync` is the lab's own"),
        (("--cpus", "0"), "`--cpus` is below 0.01"),
    ):
        refused = lab(*ONE, *words, "--dry-run")
        assert (refused.returncode, refused.stderr.splitlines()[0]) == (2, f"error: {said}")


def test_seats_of_the_command_line(lab: Run) -> None:
    """Roles sit apart where a machine has the cores, and share it where that is asked for; what cannot be meant is an error."""

    def settings(*words: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = document(lab(*ONE, *words, "--json"))["plan"]["slots"][0]["cell"]["settings"]
        return found

    there = setup.machine_seats(None)
    apart, shared = settings(), settings("--seats", "shared")
    assert [(role, tuple(cores)) for role, cores in apart["pin"]] == [
        (role, cores) for role in ("server", "database", "generator") if (cores := getattr(there, role))
    ]
    assert apart["workers"] == (len(there.server) or 2)
    assert (shared["pin"], shared["workers"]) == ([], 2)
    first = min(os.sched_getaffinity(0))
    assert settings("--seats", f"server={first}")["pin"] == [["server", [first]]]
    url = settings("--database", "postgresql://nobody@127.0.0.1:1/none")
    assert "database" not in dict(url["pin"])
    refused = lab(*ONE, "--seats", "aprt", "--dry-run")
    assert (refused.returncode, refused.stderr.splitlines()[0]) == (
        2, "error: `--seats aprt` should say which cores each role has"
    )  # fmt: skip


def test_names_and_times_as_people_type_them(lab: Run) -> None:
    """Names may be separated by commas, seconds may have a unit, and one number of a warm-up is its least and its most."""
    words = (
        "--stack",
        "alder-one,birch-two:plain",
        "-w",
        "ping, time",
        "--window",
        "1500ms",
        "--warmup",
        "0.5s",
        "--dry-run",
        "--json",
    )
    slots = document(lab("run", *words))["plan"]["slots"]
    cells = {(slot["cell"]["stack"], slot["cell"]["workload"]) for slot in slots}
    stacks = {stack for stack, _ in cells}
    assert cells == {(stack, workload) for stack in stacks for workload in ("ping", "time")}
    assert {"alder-one:plain", "alder-one:fancy", "birch-two:plain"} == stacks
    loads = {tuple(slot["cell"]["load"][key] for key in ("window_s", "warmup_min_s", "warmup_max_s")) for slot in slots}
    assert loads == {(1.5, 0.5, 0.5)}


def test_dry_run_as_json(lab: Run) -> None:
    """As JSON the plan is the whole plan, with every setting that was given."""
    given = ("--close", "--workers", "3", "--pool-size", "9", "--pool-wait-ms", "0", "--no-prepared", "--durable", "--scale", "2",
             "--pool-per-worker", "--seats", "shared", "--cpus", "1.5", "--memory-mb", "900", "--pin", "server=0", "--postgres", "work_mem=8MB",
             "--proxy", "nginx", "--pooler", "pgbouncer-tx", "--pooler-size", "7", "--pooler-clients", "70")  # fmt: skip
    found = document(lab(*ONE, *given, "--window", "2.5", "--warmup", "1,4", "--timeout-ms", "700", "--json"))
    assert found["estimate_s"] > 0
    cell = found["plan"]["slots"][0]["cell"]
    assert cell["settings"] == {
        "workers": 3, "pool_size": 9, "pool_wait_ms": 0, "prepared": False, "durability": "durable", "scale": 2,
        "pool_scope": "per-worker", "cpus": 1.5, "memory_mb": 900, "sql_before": None, "pin": [["server", [0]]],
        "place": [], "postgres": [["work_mem", "8MB"]],
        "postgres_version": None,
    }  # fmt: skip
    assert cell["topology"] == {"proxy": "nginx", "pooler": "pgbouncer-tx", "pooler_size": 7, "pooler_clients": 70, "wire": None}
    load = cell["load"]
    assert (load["keep_alive"], load["window_s"], load["warmup_min_s"], load["warmup_max_s"]) == (False, 2.5, 1.0, 4.0)
    assert (load["timeout_ms"], load["connections"]) == (700, 100)


@pytest.mark.parametrize("suite", sorted(path.name for path in (ROOT / "suites").glob("*.toml")))
def test_every_suite_can_be_planned(fairground: Run, suite: str) -> None:
    """Every suite of the project has a plan with trials in it."""
    found = document(fairground("run", f"suites/{suite}", "--dry-run", "--json"))
    assert found["plan"]["slots"]


def test_a_runs_title_names_few_stacks() -> None:
    """Three stacks stand in the title of a run, and of more it says that there are more."""
    named = [f"oak:{place}" for place in range(4)]
    assert title_of(named[:3]) == "oak:0 oak:1 oak:2"
    assert title_of(named) == "oak:0 oak:1 oak:2 and more"
