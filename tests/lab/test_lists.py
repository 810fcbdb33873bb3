"""Lists of what there is: the state of each stack."""

from __future__ import annotations

import json
from pathlib import Path

from fairground.host import build
from fairground.lab import lists
from fairground.lab.places import Places

MANIFEST = """
title    = "One"
language = "C"
homepage = "https://example.com"
about    = "For tests of lists."
build    = [["make"]]
version  = ["true"]
serve    = ["true"]
[variants.plain]
about    = "as it comes"
approach = "documented"
[variants.own]
about    = "with a build of its own"
approach = "documented"
build    = [["make", "own"]]
[variants.whole]
about    = "with nothing to build"
approach = "documented"
build    = []
"""


def states(places: Places) -> dict[str, str]:
    """Stack → its state."""
    return {row["id"]: row["state"] for row in lists.rows("stacks", places)}


def test_each_stack_says_whether_it_is_built(tmp_path: Path) -> None:
    """A stack is ready once its own commands were carried out on what the folder holds now, whoever asked for them."""
    (tmp_path / "servers" / "one").mkdir(parents=True)
    (tmp_path / "servers" / "one" / "server.toml").write_text(MANIFEST)
    places = Places(servers=tmp_path / "servers", cache=tmp_path / "cache")
    assert states(places) == {"one:plain": "not built", "one:own": "not built", "one:whole": "ready"}
    (server,) = places.load_servers()
    stamp = build._stamp(server, places.cache)
    stamp.parent.mkdir(parents=True)
    stamp.write_text(json.dumps({"content": build.content_hash(server.folder), "built": [[["make", "own"], 1.0]]}))
    assert states(places) == {"one:plain": "not built", "one:own": "ready", "one:whole": "ready"}
    (server.folder / "main.c").write_text("int main;")
    assert states(places) == {"one:plain": "not built", "one:own": "not built", "one:whole": "ready"}
