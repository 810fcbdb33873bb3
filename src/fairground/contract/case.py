"""A case: what is sent to a server, what must come back, and what must have changed in the database. Parsed from TOML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import ClassVar, Literal

from fairground.model import LabError
from fairground.model.source import STRICT, Location, Source, location_text, names_hint, nearest
from fairground.model.wire import ACCEPT, request_bytes

ANSWERS = ("users", "account", "time", "db-time")
PROCEDURES = (
    "answers",
    "pool-exhausted",
    "connections-within-pool",
    "database-restarts",
    "connections-severed",
    "deadlock",
    "debit-first",
    "hang-up-in-transaction",
    "terminates",
)


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

    def encode(self, host: str, port: int) -> bytes:
        """The bytes on the wire: those of a load, with the case's own headers after `accept`."""
        if self.raw is not None:
            return self.raw
        accept = () if any(name.lower() == "accept" for name, _ in self.headers) else (ACCEPT,)
        return request_bytes((self.method, self.target), f"{host}:{port}", (*accept, *self.headers), self.body, self.version)


@dataclass(frozen=True)
class Expect:
    """The right answer. An error (400 and above) must be an error object, unless the framework's own will do (`own_error`)."""

    __pydantic_config__: ClassVar[Mapping[str, object]] = STRICT
    status: int | tuple[int, ...] = 200
    """One, or several of which each is right."""
    body: str | None = None
    """The exact text of an answer below 400."""
    answer: str | None = None
    """One of `ANSWERS`, known from the database: `users`, `account:100000001`, …"""
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


@dataclass(frozen=True)
class CaseStep:
    """A request, its right answer, and how often in a row."""

    request: Request
    expect: Expect
    repeat: int = 1


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
    """One check of a server's conduct. `database` maps a SQL number to how much it must have moved."""

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


def load(folder: Path) -> tuple[Case, ...]:
    """Read all cases of `folder`'s TOML files, by file name and place; LabError names file, line and key of a mistake."""
    cases: list[Case] = []
    for path in sorted(folder.glob("*.toml")):
        source = Source.of_bytes("/".join(path.absolute().parts[-2:]), path.read_bytes())
        cases.extend(_case(source, ("case", place), table) for place, table in enumerate(source.parse(CasesFile).case))
    if not cases:
        raise LabError(f"{folder}: no cases", hint="the folder should hold TOML files with [[case]] tables")
    twice = [case.id for number, case in enumerate(cases) if case.id in {other.id for other in cases[:number]}]
    if twice:
        raise LabError(f"{folder}: case id `{twice[0]}` occurs twice", hint="give each case an id of its own")
    return tuple(cases)


def select(cases: Iterable[Case], workload: str, *, quick: bool = True) -> tuple[Case, ...]:
    """The cases of one workload; with `quick` only those that each trial tries before its load."""
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
    body_bytes: int | None = None
    fill: tuple[int, int] | None = None
    """So many headers of so many bytes each."""
    raw: str | None = None
    finish: bool = False


@dataclass(frozen=True, kw_only=True)
class StepTable:
    """Requests with one right answer, each with each of `bodies`."""

    __pydantic_config__: ClassVar[Mapping[str, object]] = STRICT
    request: str | RequestTable | None = None
    requests: tuple[str | RequestTable, ...] = ()
    bodies: tuple[str, ...] = ()
    expect: Expect = Expect()
    repeat: int = 1


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


@dataclass(frozen=True)
class CasesFile:
    """A file of cases."""

    __pydantic_config__: ClassVar[Mapping[str, object]] = STRICT
    case: tuple[CaseTable, ...] = ()


def _case(source: Source, here: Location, table: CaseTable) -> Case:
    procedure = table.procedure
    if procedure is not None and procedure not in PROCEDURES:
        problem = f"`{location_text((*here, 'procedure'))}` is `{procedure}` in"
        raise source.error((*here, "procedure"), problem, nearest(procedure, PROCEDURES, "procedures"))
    kind = CaseKind.PROCEDURE if procedure else table.kind
    steps = [*_steps(source, here, table)]
    for place, step in enumerate(table.steps):
        steps.extend(_steps(source, (*here, "steps", place), step))
    if kind is CaseKind.PROCEDURE and not procedure:
        raise source.error(here, f"case `{table.id}` has no `procedure` in", names_hint(PROCEDURES, "procedures"))
    if not steps and procedure in (None, "answers"):
        raise source.error(here, f"case `{table.id}` sends nothing in", "add `request`, `requests` or `[[case.steps]]`")
    if kind in (CaseKind.SPLIT, CaseKind.HANG_UP) and len(steps) != 1:
        raise source.error(here, f"case `{table.id}` of kind `{kind}` has not one request in", "make a case for each")
    timeout_s = (30.0 if procedure else 10.0) if table.timeout_s is None else table.timeout_s
    return Case(
        table.id,
        table.title,
        table.workloads,
        kind,
        table.quick,
        tuple(steps),
        table.database,
        procedure,
        table.settings,
        timeout_s,
    )


def _steps(source: Source, here: Location, table: StepTable) -> Iterator[CaseStep]:
    """The requests of a table, each with each of its bodies."""
    single = () if table.request is None else ((("request",), table.request),)
    several = ((("requests", place), one) for place, one in enumerate(table.requests))
    answer = table.expect.answer
    if answer is not None and answer.partition(":")[0] not in ANSWERS:
        location = (*here, "expect", "answer")
        raise source.error(location, f"`{location_text(location)}` is `{answer}` in", nearest(answer, ANSWERS, "answers"))
    for part, one in (*single, *several):
        request = RequestTable(line=one) if isinstance(one, str) else one
        for body in table.bodies or (request.body,):
            yield CaseStep(_request(source, (*here, *part), replace(request, body=body)), table.expect, table.repeat)


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
    if table.body_bytes is not None:
        return b'{"account_id":"%s"}' % (b"9" * table.body_bytes)
    if table.body is not None:
        return table.body.encode()
    try:
        return None if table.body_hex is None else bytes.fromhex(table.body_hex)
    except ValueError:
        raise source.error(
            here, f"`{location_text((*here, 'body_hex'))}` is not hexadecimal in", "write two digits for each byte"
        ) from None
