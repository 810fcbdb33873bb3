"""A run on two hosts, as persons start them: with TLS, and with one of them killed on the way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from builders.fleet import BRIEF, Fleet, alive, below
from builders.waiting import eventually
from fairground import records
from fairground.host import machine

pytestmark = pytest.mark.live

ENDED = (0, 3)
"""Done, or nothing that could be measured: beside other tests all trials may be void."""


def test_two_hosts_measure_a_run_and_one_is_killed(fleet: Fleet, servers: Path, tmp_path: Path) -> None:
    """Its block goes to the other: the run is whole, each trial says where it was made, and nothing measures on."""
    tls, results = tmp_path / "tls", tmp_path / "results"
    fleet.start("serve", "host", "serve", "--address", "tls://127.0.0.1:0", "--tls", str(tls), "--json")
    assert eventually(lambda: "}" in fleet.said("serve"), 120), fleet.said("serve")
    address = json.loads((tmp_path / "serve.out").read_text())["address"]
    secured = ("--tls", str(tls))
    fleet.start("a", "host", "join", address, "--allow", str(servers), "--name", "a", *secured)
    lost = fleet.start("b", "host", "join", address, "--allow", "healthy", "--name", "b", *secured)
    assert eventually(lambda: all("has joined" in fleet.said(name) for name in "ab"), 120), fleet.said("a") + fleet.said("b")
    words = ["-s", "healthy", *BRIEF, "--servers", str(servers), "--results", str(results), "--hosts", address, *secured]
    run = fleet.start("run", "run", *words)
    assert eventually(lambda: list(results.glob("*/head.json")) or run.poll() is not None, 120), fleet.said("run")
    theirs = below(lost)
    assert run.poll() is None, fleet.said("run")
    lost.kill()
    assert run.wait(300) in ENDED, fleet.said("run")
    (folder,) = results.glob("*/")
    found = records.load_run(folder)
    assert found.finished and {one.block for one in found.trials} == {1, 2}, fleet.said("run")
    assert {one.machine for one in found.trials} == {machine.fingerprint().hostname_hash}
    assert (folder / "report.html").exists() and found.limits
    assert eventually(lambda: not alive(theirs), 20), str(alive(theirs))
