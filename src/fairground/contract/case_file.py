"""The files of cases, `contracts/<contract>/cases/*.toml`: their tables, and the cases that are made of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from fairground.contract import expected
from fairground.contract.case import Case, CaseKind, CaseStep, Disturbance, Expect, ProcedureSettings, Request
from fairground.model import LabError, shape
from fairground.model.contract import Contract, fold_names, header_mistake
from fairground.model.source import STRICT, Location, Source, location_text, names_hint, nearest
from fairground.model.wire import with_accept

PROCEDURES: Mapping[str, tuple[str, ...]] = {
    "answers": (),
    "pool-exhausted": ("ask", "block", "rows"),
    "connections-within-pool": ("ask",),
    "database-restarts": ("ask",),
    "connections-severed": ("ask",),
    "deadlock": ("block", "rows"),
    "order-of-locks": ("block", "rows"),
    "hang-up-in-transaction": ("block", "rows"),
    "terminates": (),
}
"""What each procedure needs of the contract; `disturbed.py` and `procedures.py` have their meaning."""
GRAMMAR = "docs/contracts.md has the grammar"
FILL = "{fill}"
"""Where the `fill_body` digits of a body stand."""


def load(contract: Contract) -> tuple[Case, ...]:
    """Read all cases of a contract, by file name and place; LabError names file, line and key of a mistake."""
    folder = contract.folder / "cases"
    cases: list[Case] = []
    for path in sorted(folder.glob("[!.]*.toml")):
        reader, file = open_file(path, contract)
        cases.extend(reader.case(("case", place), table) for place, table in enumerate(file.case))
    if not cases:
        raise LabError(f"{folder}: no cases", hint="the folder should hold TOML files with [[case]] tables")
    twice = [case.id for number, case in enumerate(cases) if case.id in {other.id for other in cases[:number]}]
    if twice:
        raise LabError(f"{folder}: case id `{twice[0]}` occurs twice", hint="give each case an id of its own")
    return tuple(cases)


def open_file(path: Path, contract: Contract) -> tuple[CaseReader, CasesFile]:
    """The tables of one file of cases, and who makes cases of them. LabError where the file is no such thing."""
    source = Source.of_bytes("/".join(path.absolute().parts[-3:]), path.read_bytes())
    file = source.parse(CasesFile)
    return CaseReader(source, contract, file), file


@dataclass(frozen=True)
class RequestTable:
    """A request as it is written: a `line` with headers and a body, or the `raw` text of all of it."""

    __pydantic_config__: ClassVar[Mapping[str, object]] = STRICT
    line: str = ""
    version: Literal["1.0", "1.1"] = "1.1"
    headers: tuple[str, ...] = ()
    body: str | None = None
    body_hex: str | None = None
    fill_body: int = 0
    """This many digits stand for `{fill}` in the body."""
    fill: tuple[int, int] | None = None
    """This many headers of this many bytes each."""
    raw: str | None = None
    finish: bool = False


@dataclass(frozen=True)
class ExpectTable:
    """A right answer as it is written: `body` may be an exact text."""

    __pydantic_config__: ClassVar[Mapping[str, object]] = STRICT
    status: int | tuple[int, ...] = 200
    content_type: str | tuple[str, ...] = ()
    headers: dict[str, Any] = field(default_factory=dict)
    body: str | dict[str, Any] | None = None
    matches: str | None = None
    holds: str | None = None
    same_bytes: bool = False
    connection: Literal["open", "closed", "stated"] | None = None
    own_error: bool = False
    may_close: bool = False


@dataclass(frozen=True, kw_only=True)
class StepTable:
    """Requests with one right answer, each with each of `bodies`."""

    __pydantic_config__: ClassVar[Mapping[str, object]] = STRICT
    request: str | RequestTable | None = None
    requests: tuple[str | RequestTable, ...] = ()
    bodies: tuple[str, ...] = ()
    expect: ExpectTable = ExpectTable()
    repeat: int = 1
    keep: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class CaseTable(StepTable):
    """One `[[case]]`."""

    id: str
    title: str
    workloads: tuple[str, ...] = ()
    kind: CaseKind = CaseKind.EXCHANGE
    quick: bool = False
    steps: tuple[StepTable, ...] = ()
    database: dict[str, int] = field(default_factory=dict)
    procedure: str | None = None
    settings: ProcedureSettings = ProcedureSettings()
    timeout_s: float | None = None
    before: str = ""
    after: str = ""
    warns: bool = False


@dataclass(frozen=True)
class DisturbanceTable:
    """`[disturbance]`: the means of the file's procedures."""

    __pydantic_config__: ClassVar[Mapping[str, object]] = STRICT
    ask: StepTable | None = None
    block: StepTable | None = None
    rows: tuple[str, ...] = ()


@dataclass(frozen=True)
class CasesFile:
    """A file of cases."""

    __pydantic_config__: ClassVar[Mapping[str, object]] = STRICT
    case: tuple[CaseTable, ...] = ()
    disturbance: DisturbanceTable = DisturbanceTable()


class CaseReader:
    """The tables of one file, made into cases. `$paths` in requests stay: they are the server's own."""

    def __init__(self, source: Source, contract: Contract, file: CasesFile) -> None:
        self.source, self._contract, self._numbers = source, contract, tuple(contract.numbers_at(1))
        here, table = ("disturbance",), file.disturbance
        ask, block = (
            None if step is None else next(self.steps((*here, name), step), None)
            for name, step in (("ask", table.ask), ("block", table.block))
        )
        for step in (ask, block):
            if step is not None:
                for name, column in step.request.cells:
                    problem = f"`disturbance` names `{{{name}.{column}}}`, and a procedure starts a server of its own, in"
                    raise source.error(here, problem, "ask for what needs no cell of a table")
                self._check_names(here, "`disturbance`", step, ())
        self.means = Disturbance(ask, block, table.rows)

    def case(self, here: Location, table: CaseTable) -> Case:
        """The case of one table."""
        source, procedure = self.source, table.procedure
        if procedure is not None:
            self._require(here, table.id, procedure)
        self._check_asked(here, table)
        kind = CaseKind.PROCEDURE if procedure else table.kind
        placed = list(self.placed_steps(here, table))
        steps = [step for _, step in placed]
        kept, draws = set[str](), any(step.request.cells for step in steps)
        for place, step in placed:
            self._check_cells(place, table.id, step, kind)
            self._check_names(place, f"case `{table.id}`", step, kept)
            unkept = set() if draws else set(shape.slots_of(step.expect.body)) - kept  # columns are known to the database
            if unkept:
                problem = f"case `{table.id}` names the slot `{min(unkept)}`, which no earlier step keeps, in"
                raise source.error((*place, "expect", "body"), problem, names_hint(kept, "kept names"))
            kept |= set(step.keep)
            if step.keep and kind in (CaseKind.PIPELINE, CaseKind.SPLIT):
                problem = f"case `{table.id}` of kind `{kind}` has `keep`, and no later request could use it, in"
                raise source.error((*place, "keep"), problem, "leave it out")
            for name, path in step.keep.items():
                if path.endswith("?"):
                    problem = (
                        f"case `{table.id}` keeps `{name}` from `{path}`, which may be missing when a later step needs it, in"
                    )
                    raise source.error((*place, "keep", name), problem, "leave out `?`")
        if kind is CaseKind.PROCEDURE and not procedure:
            raise source.error(here, f"case `{table.id}` has no `procedure` in", names_hint(PROCEDURES, "procedures"))
        if not steps and procedure in (None, "answers"):
            raise source.error(here, f"case `{table.id}` sends nothing in", "add `request`, `requests` or `[[case.steps]]`")
        if kind in (CaseKind.SPLIT, CaseKind.HANG_UP) and len(steps) != 1:
            raise source.error(here, f"case `{table.id}` of kind `{kind}` has not one request in", "make a case for each")
        return Case(
            table.id,
            table.title,
            tuple(map(self._contract.qualify, table.workloads)),
            kind,
            table.quick,
            tuple(steps),
            {self._contract.statement(sql): moved for sql, moved in table.database.items()},
            procedure,
            table.settings,
            (30.0 if procedure else 10.0) if table.timeout_s is None else table.timeout_s,
            self._contract.id,
            self.means if procedure else Disturbance(),
            self._contract.statement(table.before),
            self._contract.statement(table.after),
            table.warns,
        )

    def _check_asked(self, here: Location, table: CaseTable) -> None:
        """Refuse what would ask nothing, or leave no time for it: a case without a question is right of every server."""
        if table.timeout_s is not None and table.timeout_s <= 0:
            at = (*here, "timeout_s")
            raise self.source.error(at, f"`{location_text(at)}` is {table.timeout_s:g} in", "write seconds above 0")
        mute = next((name for name in ("expect", "keep", "bodies") if getattr(table, name) != getattr(StepTable(), name)), None)
        if mute is not None and table.request is None and not table.requests:
            problem = f"case `{table.id}` has `{mute}` and no request of its own, so that nothing is held to it, in"
            raise self.source.error((*here, mute), problem, "write it below `[[case.steps]]`, or add `request`")
        for number, step in enumerate(table.steps):
            if step.request is None and not step.requests:
                at = (*here, "steps", number)
                raise self.source.error(at, f"`{location_text(at)}` sends nothing in", "add `request` or `requests` to it")

    def _check_cells(self, here: Location, id: str, step: CaseStep, kind: CaseKind) -> None:
        """Refuse a `{table.column}` of no table, and one in a procedure, which starts a server of its own."""
        for name, column in step.request.cells:
            if kind is CaseKind.PROCEDURE:
                problem = f"case `{id}` is a procedure and names `{{{name}.{column}}}` in"
                raise self.source.error(here, problem, "let a step of its own ask for it, with `keep`")
            if name not in self._contract.tables:
                problem = f"case `{id}` names `{{{name}.{column}}}`, and nothing is called `{name}` in"
                raise self.source.error(here, problem, names_hint(self._contract.tables, "tables"))

    def _check_names(self, here: Location, whose: str, step: CaseStep, kept: Collection[str]) -> None:
        """Refuse a `{name}` in a request that no earlier step keeps: it would be sent as it is written."""
        if unkept := [name for name in step.request.kept_names if name not in kept]:
            problem = f"{whose} names `{{{unkept[0]}}}` in a request, and no earlier step keeps it, in"
            raise self.source.error(here, problem, names_hint(kept, "kept names"))

    def _require(self, here: Location, id: str, procedure: str) -> None:
        """Refuse a procedure that is none, or whose means the file does not give."""
        if procedure not in PROCEDURES:
            problem = f"`{location_text((*here, 'procedure'))}` is `{procedure}` in"
            raise self.source.error((*here, "procedure"), problem, nearest(procedure, PROCEDURES, "procedures"))
        for name in PROCEDURES[procedure]:
            if not getattr(self.means, name):
                problem = f"case `{id}` needs `disturbance.{name}`, which is missing in"
                raise self.source.error((*here, "procedure"), problem, "add it to a table `[disturbance]` of the file")
        if procedure in ("deadlock", "order-of-locks") and len(self.means.rows) != 2:
            problem = f"case `{id}` needs two statements in `disturbance.rows` of"
            raise self.source.error(("disturbance", "rows"), problem, "one for each row, in the order of their locks")

    def placed_steps(self, here: Location, table: CaseTable) -> Iterator[tuple[Location, CaseStep]]:
        """Every request of a case, with the place of the table that says its right answer."""
        tables = [(here, table), *(((*here, "steps", place), step) for place, step in enumerate(table.steps))]
        yield from ((place, step) for place, one in tables for step in self.steps(place, one))

    def steps(self, here: Location, table: StepTable) -> Iterator[CaseStep]:
        """The requests of a table, each with each of its bodies."""
        single = () if table.request is None else ((("request",), table.request),)
        several = ((("requests", place), one) for place, one in enumerate(table.requests))
        if table.repeat < 1:
            at = (*here, "repeat")
            raise self.source.error(at, f"`{location_text(at)}` is below 1 in", "write how often each request is sent in a row")
        expect = self._expect((*here, "expect"), table.expect)
        for part, one in (*single, *several):
            request = RequestTable(line=one) if isinstance(one, str) else one
            for body in table.bodies or (request.body,):
                made = _request(self.source, (*here, *part), replace(request, body=body))
                yield CaseStep(made, expect, table.repeat, table.keep)

    def _expect(self, here: Location, table: ExpectTable) -> Expect:
        """The right answer, its numbers filled in, and its statements read where they stand in files of their own."""
        body: Any = {"exact": table.body} if isinstance(table.body, str) else table.body
        if isinstance(table.body, dict) and (wrong := expected.mistake(table.body, self._numbers)) is not None:
            location = (*here, "body")
            raise self.source.error(location, f"`{location_text(location)}` is unclear ({wrong}) in", GRAMMAR)
        if body is not None and expected.statements(body):
            body = self._with_statements(body)
        for header, rule in table.headers.items():
            if (wrong := header_mistake(rule)) is not None:
                at = (*here, "headers", header)
                raise self.source.error(at, f"`{location_text(at)}` {wrong} in", GRAMMAR)
        if table.matches is not None:
            try:
                re.compile(table.matches)
            except re.error as error:
                location = (*here, "matches")
                raise self.source.error(
                    location, f"`{location_text(location)}` is no pattern ({error}), in", "correct it"
                ) from None
        return Expect(
            table.status, table.content_type, fold_names(table.headers), body, table.matches,
            None if table.holds is None else self._contract.statement(table.holds),
            table.same_bytes, table.connection, table.own_error, table.may_close,
        )  # fmt: skip

    def _with_statements(self, body: Mapping[str, Any]) -> dict[str, Any]:
        read = self._contract.statement
        return {
            kind: read(value) if kind == "sql" else {**value, "sql": read(value["sql"])} if "sql" in value else value
            for kind, value in body.items()
            if kind != "any_case"
        } | {key: body[key] for key in ("any_case",) if key in body}


def _request(source: Source, here: Location, table: RequestTable) -> Request:
    if table.raw is not None:
        try:
            return Request("GET", "", raw=table.raw.encode("latin-1"), finish=table.finish)
        except UnicodeEncodeError as error:
            problem = f"`{location_text((*here, 'raw'))}` has `{table.raw[error.start]}`, which is no byte, in"
            raise source.error((*here, "raw"), problem, "write a character up to \\u00ff for each byte") from None
    method, _, target = table.line.partition(" ")
    if not target:
        raise source.error(here, f"`{location_text(here)}` has no path in", 'write its `line` as "GET /ping"')
    headers = [(name.strip(), value.strip()) for name, _, value in (text.partition(":") for text in table.headers)]
    count, size = table.fill or (0, 0)
    headers += [(f"X-Fill-{number}", "x" * size) for number in range(count)]
    return Request(method, target, table.version, with_accept(tuple(headers)), _body(source, here, table), finish=table.finish)


def _body(source: Source, here: Location, table: RequestTable) -> bytes | None:
    if table.body is not None:
        return table.body.replace(FILL, "9" * table.fill_body).encode() if table.fill_body else table.body.encode()
    try:
        return None if table.body_hex is None else bytes.fromhex(table.body_hex)
    except ValueError:
        raise source.error(
            here, f"`{location_text((*here, 'body_hex'))}` is not hexadecimal in", "write two digits for each byte"
        ) from None
