"""The file of a workload, `contracts/<contract>/workloads/<id>.toml`: what is asked, what the right answers are, and the audit.

A workload of one request has `[request]`, and its answer, ledger, edges and needs at the top. A mix has several `[[request]]`,
each with its own.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import ClassVar

from fairground.inputs import audits, events, files, requests
from fairground.inputs.data_tables import require_names
from fairground.inputs.requests import WITHOUT_BODY, RequestPlaces
from fairground.inputs.variants import NAME
from fairground.model import Audit, Edge, Expectation, LabError, LedgerEntry, LoadRequest, Needs, Workload
from fairground.model.contract import Contract, DataTable, fold_names
from fairground.model.slot import sources_of
from fairground.model.source import STRICT, Location, Source, location_text, names_hint, nearest, table_of

MOST_PIPELINED = 1000
"""Requests at once on a connection, at most: the load engine's own bound."""


@dataclass(frozen=True, kw_only=True)
class SingleRequest:
    """The table `[request]`."""

    method: str
    path: str
    headers: dict[str, str] = field(default_factory=dict)
    body: str | None = None


@dataclass(frozen=True, kw_only=True)
class MixedRequest(SingleRequest):
    """One `[[request]]` of a mix."""

    name: str
    weight: int
    expect: Expectation
    needs: Needs | None = None
    ledger: tuple[LedgerEntry, ...] = ()
    edge: tuple[Edge, ...] = ()
    keep: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class SingleAudit(Audit, Needs):
    """The table `[audit]` where there is one request: what must hold, and what an answer needs."""

    writes: bool
    commits_per_answer: float
    rows_per_answer: float


@dataclass(frozen=True, kw_only=True)
class AnyWorkload:
    """The keys that every workload has."""

    __pydantic_config__: ClassVar[Mapping[str, object]] = STRICT
    title: str
    why: str
    limit: str | None = None
    limited_by_locks: bool = False
    errors_expected: tuple[int, ...] = ()
    twin: str | None = None
    fixed_rows: str | None = None
    pipeline: int = 1
    events: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class SingleWorkload(AnyWorkload):
    """A workload of one request. Without `[audit]` nothing is held in the database."""

    request: SingleRequest
    expect: Expectation
    audit: SingleAudit | None = None
    ledger: tuple[LedgerEntry, ...] = ()
    edge: tuple[Edge, ...] = ()


@dataclass(frozen=True, kw_only=True)
class MixedWorkload(AnyWorkload):
    """A workload of several requests."""

    request: tuple[MixedRequest, ...]
    audit: Audit = Audit()


def load_workloads(contract: Contract) -> tuple[Workload, ...]:
    """Read every workload of a contract, by id. Texts still hold `$names`: see `render`."""
    paths = sorted((contract.folder / "workloads").glob("[!.]*.toml"), key=lambda path: path.stem)
    found = tuple(read_workload(path, contract) for path in paths)
    require_default(contract, [one.id for one in found])
    require_optional(contract, [one.id for one in found])
    return found


def require_default(contract: Contract, known: Sequence[str]) -> None:
    """Refuse a contract whose `default` is none of its workloads, whose ids are `known`."""
    if contract.qualify(contract.default) not in known:
        source = files.read(contract.folder / "contract.toml", depth=3)
        hint = nearest(contract.default, [one.removeprefix(f"{contract.id}/") for one in known], "workloads")
        raise source.error(("default",), f"there is no workload `{contract.default}` for `default` of", hint)


def require_optional(contract: Contract, known: Sequence[str]) -> None:
    """Refuse a contract one of whose `optional` workloads is none of those that are `known`."""
    for place, name in enumerate(contract.optional):
        if contract.qualify(name) not in known:
            source = files.read(contract.folder / "contract.toml", depth=3)
            hint = nearest(name, [one.removeprefix(f"{contract.id}/") for one in known], "workloads")
            raise source.error(("optional", place), f"there is no workload `{name}` for `optional` of", hint)


def render(workload: Workload, scale: int) -> Workload:
    """The workload on data of this `scale`. Its `$paths` stay: they are those of the server that is asked."""
    return workload.fill(workload.contract.numbers_at(scale))


def read_workload(path: Path, contract: Contract) -> Workload:
    """Read one workload's file. A mistake is a LabError with file and line."""
    source = files.read(path, depth=3)
    file: SingleWorkload | MixedWorkload = source.parse(MixedWorkload) if _is_mix(source) else source.parse(SingleWorkload)
    if not NAME.fullmatch(path.stem):
        hint = "name its file with a-z, 0-9 and - only"
        raise LabError(f"`{path.stem}` is not a valid id for a workload, in `{source.shown}`", hint)
    _check_file(source, file)
    asked, audit = _asked(file, path.stem), _audit_of(file)
    _check_texts(source, file, asked, audit, contract)
    requests.check(source, asked, contract.numbers_at(1))
    audits.check(source, audit, [one for one, _ in asked])
    return Workload(
        contract.qualify(path.stem), file.title, file.why.strip(), tuple(_complete(one, contract) for one, _ in asked),
        audit.fill(contract.statement),
        file.limit, file.limited_by_locks, file.errors_expected, contract,
        None if file.twin is None else contract.qualify(file.twin), file.fixed_rows, file.pipeline,
        events.check_events(source, file.events), tables_of(source, asked, contract),
    )  # fmt: skip


def _is_mix(source: Source) -> bool:
    """True if the file has a list of requests. What is no TOML has none: reading it says so."""
    try:
        return isinstance(table_of(source.text).get("request"), list)
    except tomllib.TOMLDecodeError:
        return False


def _check_file(source: Source, file: SingleWorkload | MixedWorkload) -> None:
    source.require_text(("title",), file.title)
    source.require_text(("why",), file.why)
    if file.limited_by_locks and file.limit is None:
        hint = "write the workload's statements for pgbench into `limit`"
        raise source.error(("limited_by_locks",), "`limited_by_locks` is set without a `limit` in", hint)
    if not 1 <= file.pipeline <= MOST_PIPELINED:
        raise source.error(("pipeline",), f"`pipeline` is {file.pipeline} in", f"write a number from 1 to {MOST_PIPELINED:,}")
    for i, status in enumerate(file.errors_expected):
        if not 400 <= status <= 599:
            hint = "write statuses of failed requests, from 400 to 599"
            raise source.error(("errors_expected", i), f"`{status}` in `errors_expected` is not an error status in", hint)


def _asked(file: SingleWorkload | MixedWorkload, id: str) -> tuple[tuple[LoadRequest, RequestPlaces], ...]:
    """The requests of a file, each with the places where its parts are written."""
    if isinstance(file, SingleWorkload):
        one, audit = file.request, file.audit
        needs = None if audit is None else Needs(**{key.name: getattr(audit, key.name) for key in fields(Needs)})
        request = LoadRequest(
            id, one.method, one.path, tuple(one.headers.items()), one.body, file.expect, file.ledger,
            needs, file.edge,
        )  # fmt: skip
        return ((request, RequestPlaces(("request",), (), ("audit",))),)
    found = []
    for i, each in enumerate(file.request):
        request = LoadRequest(
            each.name, each.method, each.path, tuple(each.headers.items()), each.body, each.expect,
            each.ledger, each.needs, each.edge, each.weight, each.keep,
        )  # fmt: skip
        found.append((request, RequestPlaces(("request", i), ("request", i), ("request", i, "needs"))))
    return tuple(found)


def _audit_of(file: SingleWorkload | MixedWorkload) -> Audit:
    if file.audit is None:
        return Audit()
    return Audit(**{key.name: getattr(file.audit, key.name) for key in fields(Audit)})


def _complete(one: LoadRequest, contract: Contract) -> LoadRequest:
    """The request with what the contract says of its right answer. A table's statement that is a file's name is read.

    Under load a date must be there: how old it is a machine decides that stands still, too.
    """
    expect, errors = one.expect, contract.errors
    types, body, rules = contract.answers.content_type, expect.body, dict[str, object]()
    if expect.status < 400:
        rules = {name: "text" if rule == "now" else rule for name, rule in contract.answers.headers.items()}
    else:
        types, body = errors.content_type, errors.body if body is None and one.method != "HEAD" else body
        rules = fold_names({name: {"equals": value} for name, value in errors.headers.get(str(expect.status), {}).items()})
    expect = replace(expect, body=body, headers={**rules, **fold_names(expect.headers)})
    if expect.content_type is None and types and expect.status not in WITHOUT_BODY:
        expect = replace(expect, content_type=types if len(types) > 1 else types[0])
    if body is not None and isinstance(table := body.get("table"), Mapping):
        expect = replace(expect, body={**body, "table": {**table, "sql": contract.statement(table["sql"])}})
    return replace(one, expect=expect)


def _check_texts(
    source: Source,
    file: SingleWorkload | MixedWorkload,
    asked: Sequence[tuple[LoadRequest, RequestPlaces]],
    audit: Audit,
    contract: Contract,
) -> None:
    """Refuse a `$name` that the contract does not have."""
    texts: list[tuple[Location, str]] = [(("limit",), file.limit or ""), *audits.texts_of(audit)]
    for one, at in asked:
        texts += [*requests.texts_of(one, at), *requests.texts_of_answer(one.expect.body, (*at.around, "expect", "body"))]
    known = {**contract.numbers_at(1), **contract.paths}
    for location, text in texts:
        require_names(source, location, text, known)


def tables_of(source: Source, asked: Sequence[tuple[LoadRequest, RequestPlaces]], contract: Contract) -> dict[str, DataTable]:
    """The tables that the requests draw from, each before those that ask the server for each of its rows."""
    keepers = {one.name: one for one, _ in asked if one.keep}
    found: dict[str, DataTable] = {}
    for one, at in asked:
        for name in sorted(sources_of(one) - set(keepers)):
            if name not in contract.tables:
                hint = names_hint([*contract.tables, *keepers], "tables and requests that keep")
                where = location_text((*at.request, "path"))
                raise source.error((*at.request, "path"), f"nothing is called `{name}` for a slot of `{where}` of", hint)
            found |= dict(_with_parents(name, contract))
    return found


def _with_parents(name: str, contract: Contract) -> Iterator[tuple[str, DataTable]]:
    table = contract.tables[name]
    if table.for_each:
        yield from _with_parents(table.for_each, contract)
    yield name, table
