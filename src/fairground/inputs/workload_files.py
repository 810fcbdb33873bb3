"""The file of a workload, `contracts/<contract>/workloads/<id>.toml`: what is asked, what the right answer is, and the audit."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from fairground.inputs import audits, edges, events, files
from fairground.inputs.contracts import require_names
from fairground.inputs.variants import NAME
from fairground.model import Audit, Edge, Expectation, LabError, LedgerEntry, Workload, Written, shape
from fairground.model.contract import NAMED, Contract
from fairground.model.source import STRICT, Location, Source, location_text, names_hint, nearest

SLOT = re.compile(r'([A-Za-z_]\w*)(?:=|"\s*:\s*"?)\{(?!\{)[a-z]')
MOST_PIPELINED = 1000
"""Requests at once on a connection, at most: the load engine's own bound."""
SHAPES = {"json", "list", "object"}
BODY_RULES = {"exact", "table", "verified", *SHAPES}


@dataclass(frozen=True)
class _RequestTable:
    method: str
    path: str
    headers: dict[str, str] = field(default_factory=dict)
    body: str | None = None


@dataclass(frozen=True)
class _WorkloadFile:
    __pydantic_config__: ClassVar[Mapping[str, object]] = STRICT
    title: str
    why: str
    request: _RequestTable
    expect: Expectation
    audit: Audit
    ledger: tuple[LedgerEntry, ...] = ()
    limit: str | None = None
    limited_by_locks: bool = False
    errors_expected: tuple[int, ...] = ()
    edge: tuple[Edge, ...] = ()
    twin: str | None = None
    fixed_rows: str | None = None
    pipeline: int = 1
    events: dict[str, int] = field(default_factory=dict)


def load_workloads(contract: Contract) -> tuple[Workload, ...]:
    """Read every workload of a contract, by id. Texts still hold `$names`: see `render`."""
    paths = sorted((contract.folder / "workloads").glob("*.toml"), key=lambda path: path.stem)
    found = tuple(read_workload(path, contract) for path in paths)
    require_default(contract, [one.id for one in found])
    return found


def require_default(contract: Contract, known: Sequence[str]) -> None:
    """Refuse a contract whose `default` is none of its workloads, whose ids are `known`."""
    if contract.qualify(contract.default) not in known:
        source = files.read(contract.folder / "contract.toml", depth=3)
        hint = nearest(contract.default, [one.removeprefix(f"{contract.id}/") for one in known], "workloads")
        raise source.error(("default",), f"there is no workload `{contract.default}` for `default` of", hint)


def render(workload: Workload, scale: int) -> Workload:
    """The workload on data of this `scale`. Its `$paths` stay: they are those of the server that is asked."""
    return workload.fill(workload.contract.numbers_at(scale))


def read_workload(path: Path, contract: Contract) -> Workload:
    """Read one workload's file. A mistake is a LabError with file and line."""
    source = files.read(path, depth=3)
    file = source.parse(_WorkloadFile)
    if not NAME.fullmatch(path.stem):
        hint = "name its file with a-z, 0-9 and - only"
        raise LabError(f"`{path.stem}` is not a valid id for a workload, in `{source.shown}`", hint)
    source.require_text(("title",), file.title)
    source.require_text(("why",), file.why)
    if file.limited_by_locks and file.limit is None:
        hint = "write the workload's statements for pgbench into `limit`"
        raise source.error(("limited_by_locks",), "`limited_by_locks` is set without a `limit` in", hint)
    if not 1 <= file.pipeline <= MOST_PIPELINED:
        raise source.error(("pipeline",), f"`pipeline` is {file.pipeline} in", f"write a number from 1 to {MOST_PIPELINED:,}")
    _check_texts(source, file, contract)
    _check_answer(source, file)
    _check_audit(source, file)
    edges.check(source, file.edge, _slots(file.request))
    return Workload(
        contract.qualify(path.stem), file.title, file.why.strip(), file.request.method, file.request.path,
        tuple(file.request.headers.items()), file.request.body, _with_statement(file.expect, contract),
        file.ledger, file.audit.fill(contract.statement), file.limit, file.limited_by_locks, file.errors_expected,
        file.edge, contract, None if file.twin is None else contract.qualify(file.twin), file.fixed_rows, file.pipeline,
        events.check_events(source, file.events),
    )  # fmt: skip


def _with_statement(expect: Expectation, contract: Contract) -> Expectation:
    """The right answer, with the statement of its table read where that stands in a file of its own."""
    body = expect.body
    if body is None or not isinstance(table := body.get("table"), Mapping):
        return expect
    return replace(expect, body={**body, "table": {**table, "sql": contract.statement(table["sql"])}})


def _check_texts(source: Source, file: _WorkloadFile, contract: Contract) -> None:
    if not file.request.path.startswith(("/", "$")):
        raise source.error(("request", "path"), f"`request.path` is `{file.request.path}` in", "begin it with `/`")
    texts: list[tuple[Location, str]] = [(("request", "path"), file.request.path)]
    texts += [(("request", "body"), file.request.body or ""), (("limit",), file.limit or "")]
    for i, invariant in enumerate(file.audit.invariants):
        texts += [(("audit", "invariants", i, "sql"), invariant.sql), (("audit", "invariants", i, "equals"), invariant.equals)]
    texts += [(("audit", "ledgers", i, "sql"), ledger.sql) for i, ledger in enumerate(file.audit.ledgers)]
    if (written := file.audit.written) is not None:
        texts += [(("audit", "written", "sql"), written.sql), (("audit", "written", "holds"), written.holds)]
    texts += [(("edge", i, "values", slot), text) for i, edge in enumerate(file.edge) for slot, text in edge.values.items()]
    known = {**contract.numbers_at(1), **contract.paths}
    for location, text in texts:
        require_names(source, location, text, known)


def _check_answer(source: Source, file: _WorkloadFile) -> None:
    for i, status in enumerate(file.errors_expected):
        if not 400 <= status <= 599:
            hint = "write statuses of failed requests, from 400 to 599"
            raise source.error(("errors_expected", i), f"`{status}` in `errors_expected` is not an error status in", hint)
    if file.expect.check_one_in < 1:
        raise source.error(("expect", "check_one_in"), "`expect.check_one_in` is below 1 in", "1 checks every body")
    body = file.expect.body or {}
    if file.expect.body is not None and (len(body) != 1 or not set(body) <= BODY_RULES):
        hint = f"give it one of the keys {', '.join(sorted(BODY_RULES))}"
        raise source.error(("expect", "body"), "`expect.body` is unclear in", hint)
    kind = next(iter(body), None)
    if kind in SHAPES and (wrong := shape.mistake({kind: body[kind]}, "the body")) is not None:
        raise source.error(("expect", "body"), f"`expect.body` is unclear ({wrong}) in", "docs/contracts.md has the grammar")
    slots = _slots(file.request)
    named: list[tuple[tuple[str, ...], object]] = []
    if isinstance(table := body.get("table"), Mapping):
        named.append((("table", "by"), table.get("by")))
        if not isinstance(table.get("sql"), str):
            raise source.error(
                ("expect", "body", "table"), "`expect.body.table` has no `sql` in", "a SELECT of two columns: value, answer"
            )
    for kind in ("json", "object"):
        rules = body.get(kind)
        for key, rule in rules.items() if isinstance(rules, Mapping) else ():
            named += [((kind, key), rule["slot"])] if isinstance(rule, Mapping) and "slot" in rule else []
    for place, slot in named:
        if slot not in slots:
            location = ("expect", "body", *place)
            raise source.error(
                location, f"the request has no slot `{slot}` for `{location_text(location)}` of", names_hint(slots, "slots")
            )


def _check_audit(source: Source, file: _WorkloadFile) -> None:
    slots = _slots(file.request)
    for i, entry in enumerate(file.ledger):
        for key, slot in (("account", entry.account), ("add", entry.add.removeprefix("-"))):
            if slot not in slots and not (key == "add" and slot == "1"):
                raise source.error(
                    ("ledger", i, key), f"the request has no slot `{slot}` for `ledger` of", names_hint(slots, "slots")
                )
    if (one := file.audit.written) is not None:
        _check_written(source, one, slots)
    for i, slot in enumerate(file.audit.history.slots if file.audit.history is not None else ()):
        if slot not in slots:
            problem = f"the request has no slot `{slot}` for `audit.history` of"
            raise source.error(("audit", "history", "slots", i), problem, names_hint(slots, "slots"))
    for i, invariant in enumerate(file.audit.invariants):
        if not audits.is_expression(NAMED.sub("1", invariant.equals)):
            location = ("audit", "invariants", i, "equals")
            hint = "use `before`, `acknowledged`, whole numbers, +, - and *"
            raise source.error(
                location, f"`{invariant.equals}` is not a valid expression for `{location_text(location)}` of", hint
            )
    audits.check_needs(source, file.audit)
    sums = {entry.name for entry in file.ledger}
    for i, ledger in enumerate(file.audit.ledgers):
        if ledger.name not in sums:
            hint = nearest(ledger.name, sums, "ledgers")
            raise source.error(("audit", "ledgers", i, "name"), f"no `[[ledger]]` is named `{ledger.name}` in", hint)


def _check_written(source: Source, written: Written, slots: tuple[str, ...]) -> None:
    if bool(written.holds) == bool(written.sql):
        hint = "give it `slot` and `sql`, or `holds` where the answer says what was written"
        raise source.error(("audit", "written"), "`audit.written` is unclear in", hint)
    if written.holds:
        return
    named: list[tuple[Location, str]] = [(("audit", "written"), written.slot)]
    if (own := written.own) is not None:
        named += [(("audit", "written", "own"), slot) for slot in own.slots]
        if own.high - own.low < len(own.slots):
            hint = "give `high` a number far above `low`, so that nobody can foresee which are the lab's"
            raise source.error(("audit", "written", "own", "high"), "there are too few numbers for `audit.written.own` of", hint)
    for place, slot in named:
        if slot not in slots:
            raise source.error(
                place, f"the request has no slot `{slot}` for `{location_text(place)}` of", names_hint(slots, "slots")
            )


def _slots(request: _RequestTable) -> tuple[str, ...]:
    return tuple(SLOT.findall(f"{request.path}\n{request.body or ''}"))
