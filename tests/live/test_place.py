"""A run whose load comes from another host: two networks, the generator in one, all else in the other."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from builders.fleet import Fleet, alive, below
from builders.networks import FURTHER, HOSTS, LAB, Capture, Network, Segment, segments
from builders.waiting import eventually
from fairground import records
from fairground.model import Run, Verdict
from fairground.records import left_of

pytestmark = [pytest.mark.live, pytest.mark.nightly]

FAR = "b"
CELLS = ["-s", "healthy", "-w", "ping,tx", "--blocks", "2", "--window", "1", "--warmup", "1,1", "--connections", "8", "--pool-size", "4",
         "--scale", "1"]  # fmt: skip
ENDED = (0, 3)
"""Trials that a busy machine made void are measured, too: it is the load from elsewhere that is tested here."""
DATABASES = range(17_000, 18_000)
SERVERS = range(18_000, 20_000)
"""The ports of the lab's databases, and of what it puts before them."""


def joined(
    fleet: Fleet, network: Network, folder: Path, servers: Path, **others: str
) -> tuple[list[str], list[subprocess.Popen[str]]]:
    """What a run says of the fleet, and its hosts, each of which takes one role alone."""
    tls, place = folder / "tls", {"generator": FAR, **others}
    fleet.start(
        "serve", "host", "serve", "--address", f"tls://{LAB}:0", "--tls", str(tls), "--json", before=network.inside("lab")
    )
    assert eventually(lambda: "}" in fleet.said("serve"), 120), fleet.said("serve")
    at = json.loads((folder / "serve.out").read_text())["address"]
    started = []
    for role, name in place.items():
        allowed = ["--allow", str(servers)] if role == "server" else []
        words = ["host", "join", at, "--role", role, "--name", name, "--tls", str(tls), *allowed]
        started.append(fleet.start(name, *words, before=network.inside(name)))
    for name in place.values():
        assert eventually(lambda name=name: "has joined" in fleet.said(name), 120), fleet.said(name)
    placed = [word for role, name in place.items() for word in ("--place", f"{role}={name}")]
    return ["--hosts", at, "--tls", str(tls), *placed], started


def captured(fleet: Fleet, network: Network, servers: Path, folder: Path, **others: str) -> tuple[Run, list[Segment]]:
    """A whole run with its load from host b and `others` on theirs, and what was said between all of them meanwhile."""
    capture = Capture(network)
    try:
        placed, _ = joined(fleet, network, folder, servers, **others)
        seldom = ("--rate", "300")  # who captures every packet takes processors, too
        words = ["run", *CELLS, *seldom, "--servers", str(servers), "--results", str(folder / "results"), *placed]
        run = fleet.start("run", *words, before=network.inside("lab"))
        assert run.wait(300) in ENDED, fleet.said("run")
    finally:
        capture.stop()
    (made,) = (folder / "results").glob("*/")
    return records.load_run(made), [one for one in segments(capture.packets) if one.payload]


def test_a_load_from_another_host(fleet: Fleet, network: Network, servers: Path, tmp_path: Path) -> None:
    """It gives what one machine gives, audits included. The generator reaches servers from its own address, and no database."""
    found, sent = captured(fleet, network, servers, tmp_path)
    assert not left_of(found) and found.limits and {one.block for one in found.trials} == {1, 2}
    for trial in found.trials:
        assert trial.verdict in (Verdict.VALID, Verdict.WARNED, Verdict.VOID), trial.findings
        assert dict(trial.cell.settings.place) == {"generator": FAR} and "generator" not in dict(trial.cell.settings.pin)
        assert trial.roles["generator"].host is None  # both networks are on one machine
        if trial.cell.workload == "tx" and trial.verdict is not Verdict.VOID:
            assert trial.audit and all(line.holds for line in trial.audit)
    assert "generator's host" in found.versions and (found.folder / "report.html").exists()
    assert f"generator on host {FAR}" in fleet.said("run")
    assert {one.source for one in sent} <= {LAB, *HOSTS.values()}
    assert {one.source for one in sent if one.target == LAB and one.port in SERVERS} == {HOSTS[FAR]}
    assert not [one for one in sent if one.port in DATABASES]


def test_three_roles_on_three_hosts(fleet: Fleet, network: Network, servers: Path, tmp_path: Path) -> None:
    """The database is on one, the load comes from another, the server is here. Audits hold, and each speaks to whom it must."""
    found, sent = captured(fleet, network, servers, tmp_path, database="a")
    assert not left_of(found) and {"generator's host", "database's host"} <= found.versions.keys()
    assert f"lets {LAB} connect to it" in fleet.said("run")
    for trial in found.trials:
        assert trial.verdict in (Verdict.VALID, Verdict.WARNED, Verdict.VOID), trial.findings
        assert dict(trial.cell.settings.place) == {"generator": FAR, "database": "a"}
        assert not {"generator", "database"} & dict(trial.cell.settings.pin).keys()
        if trial.cell.workload == "tx" and trial.verdict is not Verdict.VOID:
            assert trial.audit and all(line.holds for line in trial.audit) and (trial.roles["database"].cpu_us or 0) > 0
    assert {one.source for one in sent if one.target == HOSTS["a"] and one.port in DATABASES} == {LAB}
    assert {one.source for one in sent if one.target == LAB and one.port in SERVERS} == {HOSTS[FAR]}


def test_a_server_on_a_host_of_its_own(fleet: Fleet, network: Network, servers: Path, tmp_path: Path) -> None:
    """It is measured there: load and database come from hosts that its host asks, and the lab speaks to none of the roles."""
    found, sent = captured(fleet, network, servers, tmp_path, database="a", server="c")
    assert not left_of(found) and found.limits and {"generator's host", "database's host"} <= found.versions.keys()
    for trial in found.trials:
        assert trial.verdict in (Verdict.VALID, Verdict.WARNED, Verdict.VOID), trial.findings
        assert dict(trial.cell.settings.place) == {"generator": FAR, "database": "a", "server": "c"}
        if trial.cell.workload == "tx" and trial.verdict is not Verdict.VOID:
            assert trial.audit and all(line.holds for line in trial.audit)
    assert {one.source for one in sent if one.target == HOSTS["a"] and one.port in DATABASES} == {FURTHER["c"]}
    assert {one.source for one in sent if one.target == FURTHER["c"] and one.port in SERVERS} == {HOSTS[FAR]}


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "healthy:asyncio", "healthy:asyncio", "-w", "tx", "--budget", "12s", "--pairs", "1", "--connections", "8"),
        ("capacity", "-s", "healthy", "-w", "tx", "--budget", "1m", "--connections", "64"),
    ],
    ids=lambda words: words[0],
)
def test_another_host_loads_for_other_verbs(
    words: tuple[str, ...], fleet: Fleet, network: Network, servers: Path, tmp_path: Path
) -> None:
    """A comparison and a capacity have their load from another host, as a run has, and an audit that holds."""
    placed, _ = joined(fleet, network, tmp_path, servers)
    results = tmp_path / "results"
    asked = [*words, "--pool-size", "4", "--servers", str(servers), "--results", str(results), "--json", *placed]
    made = fleet.start("made", *asked, before=network.inside("lab"))
    assert made.wait(300) in (*ENDED, 1), fleet.said("made")  # 1: an objective was missed, which a busy machine may do
    (folder,) = results.glob("*/")
    assert list(folder.rglob("engine.json")) and f"generator on host {FAR}" in fleet.said("made")
    assert "is rejected" not in fleet.said("made"), fleet.said("made")


def test_a_host_that_is_lost_ends_the_run_with_what_is_finished(
    fleet: Fleet, network: Network, servers: Path, tmp_path: Path
) -> None:
    """It says how to go on, leaves nothing behind, and goes on once the host is there again."""
    placed, (host,) = joined(fleet, network, tmp_path, servers)
    results = tmp_path / "results"
    words = ["run", *CELLS, "--servers", str(servers), "--results", str(results), *placed]
    run = fleet.start("run", *words, before=network.inside("lab"))
    assert eventually(lambda: any(path.read_text() for path in results.glob("*/entries.jsonl")) or run.poll() is not None, 120), (
        fleet.said("run")
    )
    theirs = below(host)
    host.kill()
    assert run.wait(120) == 3, fleet.said("run")
    assert f"host `{FAR}`, on which the generator runs, does not answer" in fleet.said("run")
    (folder,) = results.glob("*/")
    kept = records.load_run(folder).trials
    assert kept and left_of(records.load_run(folder)) and f"--resume {folder}" in fleet.said("run")
    assert eventually(lambda: not alive(theirs), 15), str(alive(theirs))
    again = ["host", "join", placed[1], "--role", "generator", "--name", FAR, *placed[2:4]]
    fleet.start("again", *again, before=network.inside(FAR))
    assert eventually(lambda: "has joined" in fleet.said("again"), 120), fleet.said("again")
    words = ["run", "--resume", str(folder), "--servers", str(servers), "--results", str(results), *placed]
    resumed = fleet.start("resumed", *words, before=network.inside("lab"))
    assert resumed.wait(300) in ENDED, fleet.said("resumed")
    whole = records.load_run(folder)
    assert not left_of(whole) and [one for one in whole.trials if one in kept] == list(kept)
