"""A case: what is sent to a server, what must come back, and what must have changed in the database. Parsed from TOML."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import cast

from fairground.model import LabError
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


class Kind(StrEnum):
    """How the steps of a case are carried out; `exchange.py` and `procedures.py` have the meaning."""

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

    statuses: tuple[int, ...]
    body: str | None = None
    """The exact text of an answer below 400."""
    answer: str | None = None
    """One of `ANSWERS`, known from the database: `users`, `account:100000001`, …"""
    same_bytes: bool = False
    """Repeated answers are equal byte for byte."""
    connection: str | None = None
    """Afterwards: `open`, `closed`, or `stated` (closed, or kept open with `connection: keep-alive`)."""
    own_error: bool = False
    may_close: bool = False
    """Closing the connection without an answer is right too."""


@dataclass(frozen=True)
class Step:
    """A request, its right answer, and how often in a row."""

    request: Request
    expect: Expect
    repeat: int = 1


@dataclass(frozen=True)
class Settings:
    """What a procedure starts the server with."""

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
    kind: Kind
    quick: bool
    steps: tuple[Step, ...]
    database: Mapping[str, int]
    procedure: str | None
    settings: Settings
    timeout_s: float


def load(folder: Path) -> tuple[Case, ...]:
    """All cases of `folder`'s TOML files, by file name and place; LabError names the file and key of a mistake."""
    cases: list[Case] = []
    for path in sorted(folder.glob("*.toml")):
        try:
            document = tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise LabError(f"{path}: {error}", hint="mend the TOML") from None
        top = _Table(document, str(path), {"case": list})
        cases.extend(
            _case(_Table(table, f"{path}: case {number}", _CASE), number) for number, table in enumerate(top.list("case"), 1)
        )
    if not cases:
        raise LabError(f"{folder}: no cases", hint="the folder should hold TOML files with [[case]] tables")
    twice = [case.id for number, case in enumerate(cases) if case.id in {other.id for other in cases[:number]}]
    if twice:
        raise LabError(f"{folder}: case id `{twice[0]}` occurs twice", hint="give each case an id of its own")
    return tuple(cases)


def select(cases: Iterable[Case], workload: str, *, quick: bool = True) -> tuple[Case, ...]:
    """The cases of one workload; with `quick` only those that each trial tries before its load."""
    return tuple(case for case in cases if workload in case.workloads and (case.quick or not quick))


_CASE: Mapping[str, type | tuple[type, ...]] = {
    "id": str, "title": str, "workloads": list, "kind": str, "quick": bool, "request": (str, dict), "requests": list,
    "bodies": list, "expect": dict, "repeat": int, "steps": list, "database": dict, "procedure": str, "settings": dict,
    "timeout_s": (int, float),
}  # fmt: skip
_STEP: Mapping[str, type | tuple[type, ...]] = {key: _CASE[key] for key in ("request", "requests", "bodies", "expect", "repeat")}
_REQUEST: Mapping[str, type | tuple[type, ...]] = {
    "line": str, "version": str, "headers": list, "body": str, "body_hex": str, "body_bytes": int, "fill": list, "raw": str,
    "finish": bool,
}  # fmt: skip
_EXPECT: Mapping[str, type | tuple[type, ...]] = {
    "status": (int, list), "body": str, "answer": str, "same_bytes": bool, "connection": str,
    "own_error": bool, "may_close": bool,
}  # fmt: skip
_SETTINGS: Mapping[str, type | tuple[type, ...]] = {"pool_wait_ms": int, "pool_size": int, "workers": int, "prepared": bool}


class _Table:
    """A TOML table whose keys are known and whose values have the types that `keys` names."""

    def __init__(self, values: object, where: str, keys: Mapping[str, type | tuple[type, ...]]) -> None:
        if not isinstance(values, dict):
            raise LabError(f"{where}: expected a table", hint=f"keys: {', '.join(keys)}")
        self.values, self.where = values, where
        for key, value in values.items():
            if key not in keys:
                near = difflib.get_close_matches(key, keys, 1)
                hint = (f"did you mean `{near[0]}`? " if near else "") + f"keys: {', '.join(keys)}"
                raise LabError(f"{where}: unknown key `{key}`", hint=hint)
            kinds = keys[key] if isinstance(keys[key], tuple) else (keys[key],)
            if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in cast(tuple[type, ...], kinds)):
                wanted = " or ".join(kind.__name__ for kind in cast(tuple[type, ...], kinds))
                raise LabError(f"{where}: key `{key}` has the wrong type", hint=f"expected {wanted}")

    def text(self, key: str, default: str | None = None, among: Iterable[str] = ()) -> str:
        value = self.values.get(key, default)
        if value is None:
            raise LabError(f"{self.where}: key `{key}` is missing", hint="add it")
        if among and value not in (allowed := tuple(among)):
            raise LabError(f"{self.where}: key `{key}` cannot be `{value}`", hint=f"one of: {', '.join(allowed)}")
        return cast(str, value)

    def number(self, key: str, default: int | None = None) -> int:
        value = cast("int | None", self.values.get(key, default))
        if value is None:
            raise LabError(f"{self.where}: key `{key}` is missing", hint="add it")
        return value

    def list(self, key: str) -> list[object]:
        return cast("list[object]", self.values.get(key, []))

    def texts(self, key: str) -> tuple[str, ...]:
        if any(not isinstance(item, str) for item in self.list(key)):
            raise LabError(f"{self.where}: key `{key}` has the wrong type", hint="expected a list of strings")
        return tuple(cast("list[str]", self.list(key)))

    def flag(self, key: str, default: bool = False) -> bool:
        return bool(self.values.get(key, default))


def _case(table: _Table, number: int) -> Case:
    identity = table.text("id")
    table.where = table.where.replace(f"case {number}", f"case `{identity}`")
    procedure = table.text("procedure", "", among=("", *PROCEDURES)) or None
    kind = Kind.PROCEDURE if procedure else Kind(table.text("kind", Kind.EXCHANGE, among=Kind))
    steps = _steps(table)
    if kind is Kind.PROCEDURE and not procedure:
        raise LabError(f"{table.where}: key `procedure` is missing", hint=f"one of: {', '.join(PROCEDURES)}")
    if not steps and procedure in (None, "answers"):
        raise LabError(f"{table.where}: nothing is sent", hint="add `request`, `requests` or `[[case.steps]]`")
    if kind in (Kind.SPLIT, Kind.HANG_UP) and len(steps) != 1:
        raise LabError(f"{table.where}: kind `{kind}` takes one request", hint="make a case for each")
    moves = _Table(
        table.values.get("database", {}), f"{table.where}: database", dict.fromkeys(table.values.get("database", {}), int)
    )
    return Case(
        id=identity, title=table.text("title"), workloads=table.texts("workloads"), kind=kind, quick=table.flag("quick"),
        steps=steps, database=dict(moves.values), procedure=procedure, settings=_settings(table),
        timeout_s=float(table.values.get("timeout_s", 30 if procedure else 10)),
    )  # fmt: skip


def _settings(table: _Table) -> Settings:
    values = _Table(table.values.get("settings", {}), f"{table.where}: settings", _SETTINGS)
    return Settings(**values.values)


def _steps(table: _Table) -> tuple[Step, ...]:
    """The steps of a case: its own request or requests, then its `[[case.steps]]`."""
    steps = list(_own_steps(table))
    for number, values in enumerate(table.list("steps"), 1):
        steps.extend(_own_steps(_Table(values, f"{table.where}: step {number}", _STEP)))
    return tuple(steps)


def _own_steps(table: _Table) -> Iterable[Step]:
    requests = ([table.values["request"]] if "request" in table.values else []) + table.list("requests")
    if not requests:
        return
    expect = _expect(_Table(table.values.get("expect", {}), f"{table.where}: expect", _EXPECT))
    for value in requests:
        fields = {"line": value} if isinstance(value, str) else value
        for body in table.texts("bodies") or (None,):
            with_body = fields if body is None else {**cast("dict[str, object]", fields), "body": body}
            yield Step(_request(_Table(with_body, f"{table.where}: request", _REQUEST)), expect, table.number("repeat", 1))


def _request(table: _Table) -> Request:
    if "raw" in table.values:
        return Request("GET", "", raw=table.text("raw").encode("latin-1"), finish=table.flag("finish"))
    method, _, target = table.text("line").partition(" ")
    if not target:
        raise LabError(f"{table.where}: key `line` has no path", hint='write it as "GET /ping"')
    headers = [(name.strip(), value.strip()) for name, _, value in (text.partition(":") for text in table.texts("headers"))]
    if "fill" in table.values:
        count, size = cast("list[int]", table.list("fill"))
        headers += [(f"X-Fill-{number}", "x" * size) for number in range(count)]
    body = bytes.fromhex(table.text("body_hex")) if "body_hex" in table.values else None
    if "body" in table.values:
        body = table.text("body").encode()
    if "body_bytes" in table.values:
        body = b'{"account_id":"%s"}' % (b"9" * table.number("body_bytes"))
    return Request(
        method, target, table.text("version", "1.1", among=("1.0", "1.1")), tuple(headers), body, finish=table.flag("finish")
    )


def _expect(table: _Table) -> Expect:
    status = table.values.get("status", 200)
    statuses = tuple(cast("list[int]", status)) if isinstance(status, list) else (cast(int, status),)
    answer = cast("str | None", table.values.get("answer"))
    if answer is not None and answer.partition(":")[0] not in ANSWERS:
        raise LabError(f"{table.where}: key `answer` cannot be `{answer}`", hint=f"one of: {', '.join(ANSWERS)}")
    connection = table.text("connection", "", among=("", "open", "closed", "stated")) or None
    body = cast("str | None", table.values.get("body"))
    same_bytes, own_error, may_close = (table.flag(key) for key in ("same_bytes", "own_error", "may_close"))
    return Expect(statuses, body, answer, same_bytes, connection, own_error, may_close)
