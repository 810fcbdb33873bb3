"""The first look at a suite whose servers are still to be built: what is chosen, and how long the rest takes."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from fairground.host import build_time, needs
from fairground.host.build import Unavailable
from fairground.inputs.roots import ROOT
from fairground.lab import first
from fairground.lab.places import Places
from fairground.lab.preparation import Inputs
from fairground.model import CellSettings, Load, Server, Suite, SuiteGroup

GROUP = SuiteGroup(("all",), ("ping", "db-ping"), (Load(),), CellSettings(workers=1, pool_size=4, scale=1))


def test_what_cannot_be_had_is_never_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The quickest server lacks its program: the next two are chosen, and the rest is what the others take."""
    inputs = Inputs(Places.of(os.environ, ROOT / "tests" / "zoo", tmp_path))
    servers = inputs.places.load_servers()[:4]
    seconds = {server.id: 50.0 * place for place, server in enumerate(servers, start=1)}
    suite = Suite("one", "one", "", 4, 1, (replace(GROUP, stacks=tuple(seconds)),))

    def unavailable(asked: list[Server], *_: object) -> dict[str, Unavailable]:
        return {one.id: Unavailable(one, "no such program", None) for one in asked if one.id == servers[0].id}

    monkeypatch.setattr(needs, "unavailable", unavailable)
    monkeypatch.setattr(build_time, "left_s", lambda stacks, _: seconds[stacks[0].server.id])
    found = first.look(suite, inputs)
    assert found is not None and found[1] == 200.0
    assert [name.partition(":")[0] for name in found[0].groups[0].stacks] == [servers[1].id, servers[2].id]
    monkeypatch.setattr(build_time, "left_s", lambda *_: 0.0)
    assert first.look(suite, inputs) is None
