"""Lists of what there is: the state of each stack."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from builders.plans import server
from fairground.host import build, sources
from fairground.lab import lists
from fairground.lab.places import Places
from fairground.model import Approach, Variant

PLAIN = Variant("plain", "as it comes", approach=Approach.DOCUMENTED)


def states(places: Places) -> dict[str, str]:
    """Stack → its state."""
    return {row["id"]: row["state"] for row in lists.rows("stacks", places)}


def test_each_stack_says_whether_it_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stack is ready once its own commands were carried out on what the folder holds now, whoever asked for them."""
    own, whole = replace(PLAIN, name="own", build=(("make", "own"),)), replace(PLAIN, name="whole", build=())
    one = replace(server("one"), folder=tmp_path, build=(("make",),), variants={v.name: v for v in (PLAIN, own, whole)})
    monkeypatch.setattr(Places, "load_servers", lambda _: (one,))
    places = Places(cache=tmp_path / "cache")
    (tmp_path / ".gitignore").write_text("cache\n")
    assert states(places) == {"one:plain": "not built", "one:own": "not built", "one:whole": "ready"}
    stamp = build._stamp(one, places.cache)
    stamp.parent.mkdir(parents=True)
    stamp.write_text(json.dumps({"content": sources.content_hash(one.folder), "built": [[["make", "own"], 1.0]]}))
    assert states(places) == {"one:plain": "not built", "one:own": "ready", "one:whole": "ready"}
    (one.folder / "main.c").write_text("int main;")
    assert states(places) == {"one:plain": "not built", "one:own": "not built", "one:whole": "ready"}
