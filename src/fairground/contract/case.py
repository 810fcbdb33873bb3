"""A case: what is sent to a server, what must come back, and what must have changed in the database. Parsed from TOML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, ClassVar, Literal

from fairground.contract import expected
from fairground.model import LabError
from fairground.model.contract import Contract, fill_names, fill_tree
from fairground.model.source import STRICT, Location, Source, location_text, names_hint, nearest
from fairground.model.wire import ACCEPT, request_bytes

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


class CaseKind(StrEnum):
    """A way to carry out the steps of a case; `exchange.py` and `procedures.py` have the meaning."""

    EXCHANGE = "exchange"
    SPLIT = "split"
    PIPELINE = "pipeline"
    HANG_UP = "hang-up"
    PROCEDURE = "procedure"


@dataclass(frozen=True)
class Request:
    """One request, down to its bytes. `raw` replaces everything else."""

    method: str
    target: str
    version: str = "1.1"
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    raw: bytes | None = None
    finish: bool = False
    """After these bytes the client says that it will send no more."""

    @property
    def line(self) -> str:
        return f"{self.method} {self.target}" if self.raw is None else "raw bytes"

    def fill(self, values: Mapping[str, object]) -> Request:
        """The request with these values for its `$names`."""
        headers = tuple((name, fill_names(value, values)) for name, value in self.headers)
        body = None if self.body is None else fill_names(self.body.decode("latin-1"), values).encode("latin-1")
        raw = None if self.raw is None else fill_names(self.raw.decode("latin-1"), values).encode("latin-1")
        return replace(self, target=fill_names(self.target, values), headers=headers, body=body, raw=raw)

    def with_kept(self, kept: Mapping[str, str]) -> Request:
        """The request with what earlier answers of its case said, for each `{name}` of theirs."""
        if not kept:
            return self

        def fill(text: str) -> str:
            return re.sub(r"\{(\w+)\}", lambda found: kept.get(found[1], found[0]), text)

        headers = tuple((name, fill(value)) for name, value in self.headers)
        return replace(self, target=fill(self.target), headers=headers, body=self.body and fill(self.body.decode()).encode())

    def encode(self, host: str, port: int) -> bytes:
        """The bytes on the wire: those of a load, with the case's own headers after `accept`."""
        if self.raw is not None:
            return self.raw
        accept = () if any(name.lower() == "accept" for name, _ in self.headers) else (ACCEPT,)
        return request_bytes((self.method, self.target), f"{host}:{port}", (*accept, *self.headers), self.body, self.version)


@dataclass(frozen=True)
class Expect:
    """The right answer. An error (400 and above) must be as the contract says, unless the framework's own will do (`own_error`).

    What is said of content type and body holds below 400. Statements are asked of the trial's database.
    """

    status: int | tuple[int, ...] = 200
    """One, or several of which each is right."""
    content_type: str | tuple[str, ...] = ()
    """One, or several of which each is right; those of the contract where there is none."""
    headers: dict[str, Any] = field(default_factory=dict)
    body: dict[str, Any] | None = None
    """`exact`, `sql`, `json`, `object`, `list` or `html`, and `any_case`, as `expected.py` reads them."""
    matches: str | None = None
    """A regular expression that the text of the body has in it."""
    holds: str | None = None
    """A statement whose first value must be true; `:answer` in it is the JSON of the answer."""
    same_bytes: bool = False
    """Repeated answers are equal byte for byte."""
    connection: Literal["open", "closed", "stated"] | None = None
    """Afterwards: `open`, `closed`, or `stated` (closed, or kept open with `connection: keep-alive`)."""
    own_error: bool = False
    may_close: bool = False
    """Closing the connection without an answer is right too."""

    @property
    def statuses(self) -> tuple[int, ...]:
        """Each status that is right."""
        return (self.status,) if isinstance(self.status, int) else self.status

    @property
    def content_types(self) -> tuple[str, ...]:
        """Each content type that is right; empty: those of the contract."""
        return (self.content_type,) if isinstance(self.content_type, str) else self.content_type

    @property
    def judges_body(self) -> bool:
        """True if anything is said of content type or body."""
        return bool(self.content_type or self.body or self.matches or self.holds)

    @property
    def asks_database(self) -> bool:
        """True if the right answer is known to the database alone."""
        return self.holds is not None or bool(expected.statements(self.body))


@dataclass(frozen=True)
class CaseStep:
    """A request, its right answer, and how often in a row."""

    request: Request
    expect: Expect
    repeat: int = 1
    keep: Mapping[str, str] = field(default_factory=dict)
    """Name → path of a value in the JSON answer: `{name}` in later steps of the case, and `:name` in its statements."""

    def fill(self, values: Mapping[str, object]) -> CaseStep:
        """The step with these values for its `$names`."""
        expect, body = self.expect, fill_tree(self.expect.body, values)
        there = replace(expect, body=body, holds=fill_tree(expect.holds, values), matches=fill_tree(expect.matches, values))
        return replace(self, request=self.request.fill(values), expect=there)


@dataclass(frozen=True)
class Disturbance:
    """The means of a procedure: a question that needs the database, one that waits for locked rows, and those rows.

    `rows` are statements that select them, in the order in which `block` locks them.
    """

    ask: CaseStep | None = None
    block: CaseStep | None = None
    rows: tuple[str, ...] = ()


@dataclass(frozen=True)
class ProcedureSettings:
    """The settings with which a procedure starts the server."""

    __pydantic_config__: ClassVar[Mapping[str, object]] = STRICT
    pool_wait_ms: int | None = None
    pool_size: int = 4
    workers: int = 1
    prepared: bool = True


@dataclass(frozen=True)
class Case:
    """One check of a server's conduct. `database` maps a SQL number to how much it must have moved.

    `before` and `after` are the lab's own statements around it. `warns`: a wrong answer is told, and rejects nobody.
    """

    id: str
    title: str
    workloads: tuple[str, ...]
    kind: CaseKind
    quick: bool
    steps: tuple[CaseStep, ...]
    database: Mapping[str, int]
    procedure: str | None
    settings: ProcedureSettings
    timeout_s: float
    contract: str = ""
    disturbance: Disturbance = Disturbance()
    before: str = ""
    after: str = ""
    warns: bool = False

    def fill(self, values: Mapping[str, object]) -> Case:
        """The case with these values for its `$names`: numbers, and the paths of the server that it is tried on."""
        means = self.disturbance
        ask, block = (None if step is None else step.fill(values) for step in (means.ask, means.block))
        return replace(
            self,
            steps=tuple(step.fill(values) for step in self.steps),
            database={fill_names(sql, values): moved for sql, moved in self.database.items()},
            disturbance=Disturbance(ask, block, tuple(fill_names(one, values) for one in means.rows)),
            before=fill_names(self.before, values),
            after=fill_names(self.after, values),
        )

    @property
    def asks_database(self) -> bool:
        """True if the database must be looked into."""
        return bool(self.database or self.before or self.after) or any(step.expect.asks_database for step in self.steps)


def load(contract: Contract) -> tuple[Case, ...]:
    """Read all cases of a contract, by file name and place; LabError names file, line and key of a mistake."""
    folder = contract.folder / "cases"
    cases: list[Case] = []
    for path in sorted(folder.glob("*.toml")):
        source = Source.of_bytes("/".join(path.absolute().parts[-3:]), path.read_bytes())
        reader = CaseReader(source, contract, file := source.parse(CasesFile))
        cases.extend(reader.case(("case", place), table) for place, table in enumerate(file.case))
    if not cases:
        raise LabError(f"{folder}: no cases", hint="the folder should hold TOML files with [[case]] tables")
    twice = [case.id for number, case in enumerate(cases) if case.id in {other.id for other in cases[:number]}]
    if twice:
        raise LabError(f"{folder}: case id `{twice[0]}` occurs twice", hint="give each case an id of its own")
    return tuple(cases)


def select(cases: Iterable[Case], workload: str, *, quick: bool = True) -> tuple[Case, ...]:
    """The cases of one workload, by its id; with `quick` only those that each trial tries before its load."""
    return tuple(case for case in cases if workload in case.workloads and (case.quick or not quick))


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
    """So many digits stand for `{fill}` in the body."""
    fill: tuple[int, int] | None = None
    """So many headers of so many bytes each."""
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
        self._source, self._contract = source, contract
        here, table = ("disturbance",), file.disturbance
        ask, block = (
            None if step is None else next(self.steps((*here, name), step), None)
            for name, step in (("ask", table.ask), ("block", table.block))
        )
        self._means = Disturbance(ask, block, table.rows)

    def case(self, here: Location, table: CaseTable) -> Case:
        """The case of one table."""
        source, procedure = self._source, table.procedure
        if procedure is not None:
            self._require(here, table.id, procedure)
        kind = CaseKind.PROCEDURE if procedure else table.kind
        steps = [*self.steps(here, table)]
        for place, step in enumerate(table.steps):
            steps.extend(self.steps((*here, "steps", place), step))
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
            self._means if procedure else Disturbance(),
            self._contract.statement(table.before),
            self._contract.statement(table.after),
            table.warns,
        )

    def _require(self, here: Location, id: str, procedure: str) -> None:
        """Refuse a procedure that is none, or whose means the file does not give."""
        if procedure not in PROCEDURES:
            problem = f"`{location_text((*here, 'procedure'))}` is `{procedure}` in"
            raise self._source.error((*here, "procedure"), problem, nearest(procedure, PROCEDURES, "procedures"))
        for name in PROCEDURES[procedure]:
            if not getattr(self._means, name):
                problem = f"case `{id}` needs `disturbance.{name}`, which is missing in"
                raise self._source.error((*here, "procedure"), problem, "add it to a table `[disturbance]` of the file")
        if procedure in ("deadlock", "order-of-locks") and len(self._means.rows) != 2:
            problem = f"case `{id}` needs two statements in `disturbance.rows` of"
            raise self._source.error(("disturbance", "rows"), problem, "one for each row, in the order of their locks")

    def steps(self, here: Location, table: StepTable) -> Iterator[CaseStep]:
        """The requests of a table, each with each of its bodies."""
        single = () if table.request is None else ((("request",), table.request),)
        several = ((("requests", place), one) for place, one in enumerate(table.requests))
        expect = self._expect((*here, "expect"), table.expect)
        for part, one in (*single, *several):
            request = RequestTable(line=one) if isinstance(one, str) else one
            for body in table.bodies or (request.body,):
                made = _request(self._source, (*here, *part), replace(request, body=body))
                yield CaseStep(made, expect, table.repeat, table.keep)

    def _expect(self, here: Location, table: ExpectTable) -> Expect:
        """The right answer, its numbers filled in, and its statements read where they stand in files of their own."""
        body: Any = {"exact": table.body} if isinstance(table.body, str) else table.body
        if isinstance(table.body, dict) and (wrong := expected.mistake(table.body)) is not None:
            location = (*here, "body")
            raise self._source.error(location, f"`{location_text(location)}` is unclear ({wrong}) in", GRAMMAR)
        if body is not None and expected.statements(body):
            body = self._with_statements(body)
        if table.matches is not None:
            try:
                re.compile(table.matches)
            except re.error as error:
                location = (*here, "matches")
                raise self._source.error(
                    location, f"`{location_text(location)}` is no pattern ({error}), in", "correct it"
                ) from None
        return Expect(
            table.status, table.content_type, table.headers, body, table.matches,
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
        return Request("GET", "", raw=table.raw.encode("latin-1"), finish=table.finish)
    method, _, target = table.line.partition(" ")
    if not target:
        raise source.error(here, f"`{location_text(here)}` has no path in", 'write its `line` as "GET /ping"')
    headers = [(name.strip(), value.strip()) for name, _, value in (text.partition(":") for text in table.headers)]
    count, size = table.fill or (0, 0)
    headers += [(f"X-Fill-{number}", "x" * size) for number in range(count)]
    return Request(method, target, table.version, tuple(headers), _body(source, here, table), finish=table.finish)


def _body(source: Source, here: Location, table: RequestTable) -> bytes | None:
    if table.body is not None:
        return table.body.replace(FILL, "9" * table.fill_body).encode() if table.fill_body else table.body.encode()
    try:
        return None if table.body_hex is None else bytes.fromhex(table.body_hex)
    except ValueError:
        raise source.error(
            here, f"`{location_text((*here, 'body_hex'))}` is not hexadecimal in", "write two digits for each byte"
        ) from None
