"""What `list` lists, as rows: dictionaries whose keys are the same on a terminal and as JSON."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairground import build, manifest, store, topology
from fairground.cli import lab
from fairground.model import LabError, Server, Topology

Row = dict[str, Any]

WIDTHS: Mapping[str, Sequence[tuple[str, int]]] = {
    "stacks": (("id", 28), ("language", 10), ("title", 22), ("state", 10), ("why", 0)),
    "workloads": (("id", 18), ("title", 28), ("request", 0)),
    "suites": (("path", 24), ("blocks", 2), ("title", 0)),
    "topologies": (("id", 20), ("role", 8), ("state", 10), ("about", 0)),
    "runs": (("id", 40), ("kind", 8), ("trials", 5), ("bytes", 12), ("command", 0)),
}
"""The columns of each list on a terminal, and how wide each is at least."""


def rows(what: str, places: lab.Places) -> list[Row]:
    """The rows of one list; LabError when there is no such list."""
    if what not in _KINDS:
        raise LabError(f"there is no list of `{what}`", f"lists: {', '.join(_KINDS)}")
    return _KINDS[what](places)


def _stacks(places: lab.Places) -> list[Row]:
    rows = []
    with lab.keeping() as keeper:
        for server in places.load_servers():
            lacking = build.missing(keeper, server)
            state = "not here" if lacking else "ready" if build.is_built(server, places.cache) else "not built"
            why = f"{lacking.reason}{f' → {lacking.hint}' if lacking.hint else ''}" if lacking else ""
            rows += [_stack_row(server, stack.id, stack.variant.about, state, why) for stack in server.stacks]
    return rows


def _stack_row(server: Server, id: str, about: str, state: str, why: str) -> Row:
    return {
        "id": id, "title": server.title, "language": server.language, "about": about or server.about,
        "homepage": server.homepage, "skip": dict(server.skip), "state": state, "why": why,
    }  # fmt: skip


def _workloads(places: lab.Places) -> list[Row]:
    return [
        {"id": one.id, "title": one.title, "why": " ".join(one.why.split()), "request": f"{one.method} {one.path}"}
        for one in places.workloads()
    ]


def _suites(places: lab.Places) -> list[Row]:
    suites = [(path, manifest.load_suite(path)) for path in sorted(places.suites.glob("*.toml"))]
    return [
        {"path": f"suites/{path.name}", "title": one.title, "about": one.about.strip(), "blocks": one.blocks}
        for path, one in suites
    ]


def _topologies(_: lab.Places) -> list[Row]:
    rows, path = [], os.environ.get("PATH")
    for kind in topology.KINDS.values():
        one = Topology(pooler=kind.name) if kind.role == "pooler" else Topology(kind.name)
        lacking = topology.lacking(one, path)
        rows.append({
            "id": kind.name, "role": kind.role, "state": "not here" if lacking else "ready",
            "about": f"{kind.about}{' · ' + ' → '.join(lacking) if lacking else ''}",
            "version": topology.versions([one], path).get(kind.program),
        })  # fmt: skip
    return rows


def _runs(places: lab.Places) -> list[Row]:
    """Runs, and what `capacity`, `compare` and `try` left beside them; by name, which begins with the time of the start."""
    runs = [store.load(path.parent) for path in places.results.glob("*/plan.json")]
    rows: list[Row] = [
        {"id": one.id, "kind": "run", "trials": len(one.trials), "finished": one.finished, "bytes": _bytes(one.folder),
         "command": one.plan.command, "page": str(one.folder / "report.html")}
        for one in runs
    ]  # fmt: skip
    rows += [
        {"id": id, "kind": kind, "trials": None, "finished": True, "bytes": _bytes(page.parent), "command": "", "page": str(page)}
        for id, (kind, page) in store.others(places.results).items()
    ]
    return sorted(rows, key=lambda row: str(row["id"]))


def _bytes(folder: Path) -> str:
    return f"{store.size(folder) / 1e6:.1f} MB"


_KINDS: Mapping[str, Callable[[lab.Places], list[Row]]] = {
    "stacks": _stacks,
    "workloads": _workloads,
    "suites": _suites,
    "topologies": _topologies,
    "runs": _runs,
}
