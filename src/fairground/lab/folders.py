"""`clean` and `new`: the folders that the lab keeps, and one that begins as a copy of a server."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from pathlib import Path

from fairground import postgres, records
from fairground.host import sources
from fairground.inputs import lone_variant, revisions, variants
from fairground.lab.places import Places
from fairground.model import LabError, storing
from fairground.records import KeptFolder


def clean(places: Places, remove: Collection[str] = ()) -> tuple[KeptFolder, ...]:
    """The sizes of `builds`, `revisions`, `databases` and `runs`; those named in `remove` are removed. Of `runs` the lab's own.

    LabError while a record of these results is measured into, and while any run uses a database. Builds are not looked at.
    """
    for own in records.own_of(places.results) if remove else ():
        records.require_unheld(own)
    if "databases" in remove:
        postgres.require_unused(places.cache / "postgres")
    cached = {"builds": "builds", "revisions": revisions.FOLDER, "databases": "postgres"}
    folders = {**{name: places.cache / place for name, place in cached.items()}, "runs": places.results}
    return tuple(records.clear(name, folder, name in remove, name == "runs") for name, folder in folders.items())


def new(places: Places, name: str, source: str, variant: str = "") -> Path:
    """Begin the server `name` as a copy of `source`, or of one `variant` of it, without what was built. Its folder."""
    if not variants.NAME.fullmatch(name):
        raise LabError(f"`{name}` is not a valid id for a server", "use a–z, 0–9 and -")
    known = {server.id: server for server in places.load_servers()}
    if source not in known:
        near = difflib.get_close_matches(source, known, n=3) or sorted(known)[:3]
        there = "`./fairground list` shows them all"
        hint = f"--from {'|'.join(near)}" + (f", or another: {there}" if len(known) > len(near) else "")
        raise LabError(f"there is no server `{source}` to copy" if source else "say which server to copy", hint)
    target = places.servers / name
    if target.exists() or name in known:
        raise LabError(f"`{target if target.exists() else known[name].folder}` exists already", "choose another id")
    if variant and variant not in known[source].variants:
        raise LabError(f"`{source}` has no variant `{variant}`", f"--variant {'|'.join(known[source].variants)}")
    with storing(target):
        sources.copy_sources(known[source].folder, target)
        if variant:
            lone_variant.keep(target, known[source], variant)
    return target
