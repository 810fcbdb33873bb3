"""Lists of what there is, as rows: dictionaries whose keys are the same on a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from fairground.host import build, needs
from fairground.inputs import manifest
from fairground.lab.places import Places
from fairground.model import LabError, Stack, Topology, secret
from fairground.model.record import Listed

if TYPE_CHECKING:
    from fairground.records import Damaged

Row = dict[str, Any]


def rows(what: str, places: Places) -> list[Row]:
    """The rows of one list; LabError when there is no such list."""
    if what not in _KINDS:
        raise LabError(f"there is no list of `{what}`", f"lists: {', '.join(_KINDS)}")
    return _KINDS[what](places)


def _stacks(places: Places) -> list[Row]:
    rows, servers = [], places.load_servers()
    unavailable = needs.unavailable(servers, places.environ, places.cache)
    for server in servers:
        lacking = unavailable.get(server.id)
        built = build.find_built(server, places.cache)
        why = f"{lacking.reason}{f' → {lacking.hint}' if lacking.hint else ''}" if lacking else ""
        for stack in server.stacks:
            state = "not here" if lacking else "ready" if built.keys() >= set(stack.build) else "not built"
            rows.append(_stack_row(stack, state, why))
    return rows


def _stack_row(stack: Stack, state: str, why: str) -> Row:
    server, variant = stack.server, stack.variant
    return {
        "id": stack.id, "title": server.title, "language": server.language, "about": variant.about or server.about,
        "approach": variant.approach, "tuning": [asdict(one) for one in variant.tuning],
        "homepage": server.homepage, "skip": dict(stack.skip), "state": state, "why": why,
    }  # fmt: skip


def _workloads(places: Places) -> list[Row]:
    return [
        {
            "id": one.id,
            "title": one.title,
            "contract": one.contract.id,
            "why": " ".join(one.why.split()),
            "request": secret.redact("; ".join(f"{each.method} {each.path}" for each in one.fill(one.contract.paths).requests)),
        }
        for one in places.workloads()
    ]


def _suites(places: Places) -> list[Row]:
    suites = [(path, manifest.load_suite(path)) for path in sorted(places.suites.glob("[!.]*.toml"))]
    return [
        {"path": f"suites/{path.name}", "title": one.title, "about": one.about.strip(), "blocks": one.blocks}
        for path, one in suites
    ]


def _topologies(places: Places) -> list[Row]:
    from fairground import topology  # here, for it loads the database's driver, which no other list needs

    rows, path = [], places.environ.get("PATH")
    for kind in topology.KINDS.values():
        one = Topology(pooler=kind.name) if kind.role == "pooler" else Topology(kind.name)
        lacking = topology.lacking(one, path)
        rows.append({
            "id": kind.name, "role": kind.role, "state": "not here" if lacking else "ready",
            "about": f"{kind.about}{' · ' + ' → '.join(lacking) if lacking else ''}",
            "version": topology.versions([one], path).get(kind.program),
        })  # fmt: skip
    return rows


def _runs(places: Places) -> list[Row]:
    """Records of every kind, by name, which begins with the time of the start."""
    from fairground import records  # here, for no other list needs what it loads

    return [_run_row(one, f"{records.size(one.folder) / 1e6:.1f} MB") for one in records.list_all(places.results)]


def _run_row(one: Listed | Damaged, size: str) -> Row:
    """One record; of a damaged one it is said what is wrong where the others have their command."""
    if isinstance(one, Listed):
        return {
            "id": one.id, "kind": str(one.kind), "trials": one.entries, "finished": one.finished, "bytes": size,
            "command": one.command, "page": str(one.page), "damage": None,
        }  # fmt: skip
    return {
        "id": one.id, "kind": "damaged", "trials": None, "finished": False, "bytes": size,
        "command": one.why, "page": None, "damage": one.why,
    }  # fmt: skip


_KINDS: Mapping[str, Callable[[Places], list[Row]]] = {
    "stacks": _stacks,
    "workloads": _workloads,
    "suites": _suites,
    "topologies": _topologies,
    "runs": _runs,
}
