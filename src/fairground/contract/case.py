"""A case: what is sent to a server, what must come back, and what must have changed in the database. Parsed from TOML."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, ClassVar, Literal
from urllib.parse import quote

from fairground.contract import expected
from fairground.model.contract import fill_names, fill_tree
from fairground.model.source import STRICT, nearest
from fairground.model.wire import request_bytes

NAMED = re.compile(r"\{(\w+(?:[\w-]*\.[\w-]+)?)\}")
"""`{name}` of what an earlier answer said, or `{table.column}`."""
WHOLE = re.compile(r"""(?:^|(?<=["=:,\[ ]))\{(\w+)\}(?=["&,}\]]|$)""")
"""A `{name}` that is a whole value of a body: other braces in one may be its own."""


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
        body, raw = (_replace_text(one, lambda text: fill_names(text, values)) for one in (self.body, self.raw))
        return replace(self, target=fill_names(self.target, values), headers=headers, body=body, raw=raw)

    def with_kept(self, kept: Mapping[str, str]) -> Request:
        """The request with what earlier answers of its case said, for each `{name}` of theirs, or with `{table.column}`.

        What is a part of the target is percent-encoded, as in a load. A target that is one name alone is what was said.
        """
        if not kept:
            return self

        def fill(text: str, escape: Callable[[str], str] = str) -> str:
            return NAMED.sub(lambda found: escape(kept[found[1]]) if found[1] in kept else found[0], text)

        whole = NAMED.fullmatch(self.target) is not None
        target = fill(self.target) if whole else fill(self.target, lambda value: quote(value, safe="-._~"))
        headers = tuple((name, fill(value)) for name, value in self.headers)
        return replace(self, target=target, headers=headers, body=_replace_text(self.body, fill))

    @property
    def cells(self) -> tuple[tuple[str, str], ...]:
        """Table and column of each `{table.column}`, in their order."""
        texts = (self.target, *(value for _, value in self.headers), (self.body or b"").decode("utf-8", "replace"))
        names = (found[1].partition(".") for text in texts for found in NAMED.finditer(text) if "." in found[1])
        return tuple((table, column) for table, _, column in names)

    @property
    def kept_names(self) -> tuple[str, ...]:
        """Each `{name}` that stands for what an earlier answer said."""
        if self.raw is not None:
            return ()
        texts = (self.target, *(value for _, value in self.headers))
        found = [one for text in texts for one in NAMED.finditer(text) if not text.endswith("$", 0, one.start())]  # no `${path}`
        found += WHOLE.finditer((self.body or b"").decode("utf-8", "replace"))
        return tuple(one[1] for one in found if "." not in one[1])

    def encode(self, host: str, port: int) -> bytes:
        """The bytes on the wire, written as those of a load."""
        if self.raw is not None:
            return self.raw
        return request_bytes((self.method, self.target), f"{host}:{port}", self.headers, self.body, self.version)


def _replace_text(data: bytes | None, change: Callable[[str], str]) -> bytes | None:
    """Change what is text in bytes. Those that are none of UTF-8 stay as they are."""
    return None if data is None else change(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


@dataclass(frozen=True)
class Expect:
    """The right answer. An error (400 and above) must be as the contract says, unless the framework's own will do (`own_error`).

    What is said of content type and body holds below 400, and of an error too where only errors are right.
    Statements are asked of the trial's database.
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
    def means_error(self) -> bool:
        """True if only an error is right: then what is said of the body is said of the error's."""
        return all(status >= 400 for status in self.statuses)

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

    def fill(self, values: Mapping[str, object]) -> Disturbance:
        """The means with these values for their `$names`."""
        ask, block = (None if step is None else step.fill(values) for step in (self.ask, self.block))
        return Disturbance(ask, block, tuple(fill_names(one, values) for one in self.rows))


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
        return replace(
            self,
            steps=tuple(step.fill(values) for step in self.steps),
            database={fill_names(sql, values): moved for sql, moved in self.database.items()},
            disturbance=self.disturbance.fill(values),
            before=fill_names(self.before, values),
            after=fill_names(self.after, values),
        )

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables whose cells its requests name, in their order."""
        return tuple(dict.fromkeys(table for step in self.steps for table, _ in step.request.cells))

    def with_cells(self, cells: Mapping[str, str]) -> Case:
        """The case with these cells for its `{table.column}`."""
        steps = (replace(step, request=step.request.with_kept(cells)) for step in self.steps)
        return replace(self, steps=tuple(steps))

    @property
    def asks_database(self) -> bool:
        """True if the database must be looked into."""
        return bool(self.database or self.before or self.after) or any(step.expect.asks_database for step in self.steps)


def select(cases: Iterable[Case], workload: str, *, quick: bool = True) -> tuple[Case, ...]:
    """The cases of one workload, by its id; with `quick` only those that each trial tries before its load."""
    return tuple(case for case in cases if workload in case.workloads and (case.quick or not quick))


def comparison_mistake(id: str, cases: Iterable[Case], workload: str) -> tuple[str, str] | None:
    """Return why a workload cannot compare bodies with that of a case, and what to do; None where it can.

    A trial has the right body of a plain exchange alone, and only where it tries that before its load.
    """
    known = {case.id: case for case in cases}
    if (case := known.get(id)) is None:
        return f"there is no case `{id}` for", nearest(id, known, "cases")
    if workload not in case.workloads or not case.quick:
        hint = "name the workload in its `workloads`, and write `quick = true`"
        return f"case `{id}` is not tried before each load, and so finds no body to compare with, for", hint
    if case.kind is not CaseKind.EXCHANGE or case.warns:
        told = "only warns" if case.warns else f"is of kind `{case.kind}`"
        return f"case `{id}` {told}, and so finds no body to compare with, for", "name an `exchange` that rejects"
    if all(step.expect.means_error for step in case.steps):
        return f"case `{id}` has no right answer but errors, and so finds no body to compare with, for", "write one below 400"
    return None
