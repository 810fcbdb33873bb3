"""A contract: what servers must do, for which data, and how they are told. The lab reads it from a folder; no word of it is here.

`$name` in a contract's texts stands for one of its numbers or paths, or for what a server is told.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fairground.model.error import LabError

SQL_FILE = re.compile(r"[\w./-]+\.sql")
STANDARD = "seeds"
"""The contract whose workloads need no prefix, and that a server fulfils whose manifest names none."""
NAMED = re.compile(r"\$(?:\{([a-z][a-z_]*)\}|([a-z][a-z_]*))")
TOLD = (
    "host", "port", "database_url", "database_host", "database_port", "database_name", "database_user", "database_password",
    "pool_size", "pool_wait_ms", "workers", "prepared",
)  # fmt: skip
"""The names of what a server can be told when it is started."""
DATABASE = tuple(name for name in TOLD if name.startswith("database_"))
"""Those of them that say where the database is."""
SECRET = ("database_url", "database_password")
"""Those that no command may hold: everybody on the machine reads the words of a process."""


def names_in(text: str) -> tuple[str, ...]:
    """Every `$name` and `${name}` of a text, in their order."""
    return tuple(found[1] or found[2] for found in NAMED.finditer(text))


def fill_names(text: str, values: Mapping[str, object]) -> str:
    """The text with these values for its `$names`. Those that are unknown stay as they are."""
    return NAMED.sub(lambda found: str(values.get(found[1] or found[2], found[0])), text)


def fill_tree(value: Any, values: Mapping[str, object]) -> Any:
    """A table, a list or a text with these values for its `$names`. A text that is one name alone becomes its value, as it is."""
    if isinstance(value, str):
        alone = NAMED.fullmatch(value)
        known = alone is not None and (alone[1] or alone[2]) in values
        return values[alone[1] or alone[2]] if alone is not None and known else fill_names(value, values)
    if isinstance(value, Mapping):
        return {key: fill_tree(one, values) for key, one in value.items()}
    return type(value)(fill_tree(one, values) for one in value) if isinstance(value, list | tuple) else value


@dataclass(frozen=True)
class CompiledDatabase:
    """The database that a server connects to, whatever it is told: what its authors have compiled in."""

    host: str
    port: int
    name: str
    user: str
    password: str


HEADER_RULES = ("text", "now", "absent")
"""The words of a header's rule; a table has `equals` or `one_of`."""


def header_mistake(rule: object) -> str | None:
    """Return what is wrong with a header's rule, or None: a misspelt one would hold nothing."""
    if isinstance(rule, Mapping) and list(rule) == ["equals"]:
        return None if isinstance(rule["equals"], str) else "needs a text as its `equals`,"
    if isinstance(rule, Mapping) and list(rule) == ["one_of"]:
        texts = rule["one_of"]
        are_texts = isinstance(texts, list | tuple) and len(texts) > 0 and all(isinstance(one, str) for one in texts)
        return None if are_texts else "needs a list of texts as its `one_of`,"
    if rule in HEADER_RULES:
        return None
    return f"is none of {', '.join(HEADER_RULES)}, nor a table with `equals` or `one_of`,"


def fold_names(headers: Mapping[str, Any]) -> dict[str, Any]:
    """Put the names of headers in lower case: HTTP knows no other, and one table of them stands in for another by name."""
    return {name.lower(): rule for name, rule in headers.items()}


@dataclass(frozen=True)
class Ready:
    """The request by which the lab learns that a server is ready: `GET` of a path, and the status of its answer."""

    path: str
    status: int


@dataclass(frozen=True)
class AnswerRules:
    """The rules of good answers. Each of `content_type` is right, every one where there is none."""

    content_type: tuple[str, ...] = ()
    headers: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class ErrorRules:
    """The rules of answers from 400 on. `headers`: status → header → its value."""

    content_type: tuple[str, ...] = ()
    body: Mapping[str, object] | None = None
    headers: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class SqlFile:
    """A file of SQL of whoever measures: its path as it was typed, and its text."""

    name: str
    text: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Migrations:
    """The command with which an application makes its own tables, and the `files` of its `folder` that it reads.

    `environment` is variable and text, by name. `$names` in texts and words say where the database is.
    """

    run: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    folder: Path
    files: tuple[str, ...]

    def fill(self, values: Mapping[str, object]) -> Migrations:
        """The command with these values for its `$names`. Others stay."""
        environment = tuple((name, fill_names(text, values)) for name, text in self.environment)
        return replace(self, run=tuple(fill_names(word, values) for word in self.run), environment=environment)


@dataclass(frozen=True)
class DataRequest:
    """A request that is sent once for each row of a table, before the load. `{TABLE.COLUMN}` is a cell of that row."""

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None


@dataclass(frozen=True)
class DataTable:
    """Rows that requests of a load draw values from: `sql` asks the arm's fresh database for them, or `rows` are written down.

    Or a `request` asks the server for more columns of each row of the table `for_each`: `keep` is column → place in its answer.
    """

    sql: str = ""
    rows: tuple[Mapping[str, str | int], ...] = ()
    """Each has the same columns."""
    for_each: str = ""
    request: DataRequest | None = None
    keep: Mapping[str, str] = field(default_factory=dict)

    def fill(self, values: Mapping[str, object]) -> DataTable:
        """The table with these values for its `$names`."""
        asked = self.request
        if asked is not None:
            headers = {name: fill_names(text, values) for name, text in asked.headers.items()}
            body = None if asked.body is None else fill_names(asked.body, values)
            asked = replace(asked, path=fill_names(asked.path, values), headers=headers, body=body)
        rows = tuple(fill_tree(row, values) for row in self.rows)
        return replace(self, sql=fill_names(self.sql, values), rows=rows, request=asked)


@dataclass(frozen=True)
class ContractData:
    """The data of a contract at one scale, as SQL: tables, rows, and the rights of servers.

    `before` is run on them before those rights are given; None: they are as the contract says.
    """

    contract: str
    scale: int
    schema: str
    seed: str
    rights: str
    before: SqlFile | None = None
    """What is run after `seed`, where that is asked for."""
    migrations: Migrations | None = None
    """What makes the tables in place of `schema`."""

    def digest(self, *more: str, rights: bool = True) -> str:
        """Ten hexadecimal digits that differ where the data do. `more`: what else makes a difference."""
        before = () if self.before is None else (self.before.name, self.before.text)
        made = () if self.migrations is None else (repr((self.migrations.run, self.migrations.environment)),)
        parts = (*more, *made, self.schema, self.seed, *before, *((self.rights,) if rights else ()))
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:10]


@dataclass(frozen=True)
class Contract:
    """One contract, read from its `folder`. Numbers below `scaled` are for each unit of scale."""

    id: str
    title: str
    default: str
    """The workload that is asked where a command names none."""
    folder: Path
    ready: Ready
    environment: Mapping[str, str]
    """What a server is told: variable → a text with `$names` of `TOLD`."""
    source: str = ""
    numbers: Mapping[str, int] = field(default_factory=dict)
    scaled: Mapping[str, int] = field(default_factory=dict)
    paths: Mapping[str, str] = field(default_factory=dict)
    answers: AnswerRules = AnswerRules()
    errors: ErrorRules = ErrorRules()
    tables: Mapping[str, DataTable] = field(default_factory=dict)
    """Rows that requests of its workloads draw values from, by name."""
    sql: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The texts of `schema`, `seed` and `rights`."""
    migrations: Migrations | None = None
    """What makes the tables in place of `schema`."""
    backlog: int | None = None
    """Connections that a server's listen queue is to have room for; None: as many as it likes."""
    optional: tuple[str, ...] = ()
    """The names of workloads that a stack is asked only where its manifest says that it serves them."""

    def numbers_at(self, scale: int) -> dict[str, int]:
        """Every number, with those that grow at this scale."""
        return {**self.numbers, **{name: each * scale for name, each in self.scaled.items()}}

    def data(self, scale: int, before: SqlFile | None = None) -> ContractData:
        """Its data at this scale, with what is run on them `before` a load."""
        values = self.numbers_at(scale)
        schema, seed, rights = (fill_names(self.sql.get(part, ""), values) for part in ("schema", "seed", "rights"))
        migrations = None if self.migrations is None else self.migrations.fill(values)
        return ContractData(self.id, scale, schema, seed, rights, before, migrations)

    def statement(self, text: str) -> str:
        """A statement as it is written. A text that names a `.sql` file of the folder stands for what that holds.

        LabError where there is no such file.
        """
        if not SQL_FILE.fullmatch(text):
            return text
        try:
            return (self.folder / text).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise LabError(
                f"the contract `{self.id}` has no file `{text}` that can be read", f"make {self.folder / text}"
            ) from None

    def qualify(self, name: str) -> str:
        """The id of its workload `name` in plans and records."""
        return name if self.id == STANDARD else f"{self.id}/{name}"


NO_CONTRACT = Contract("", "no contract", "", Path(), Ready("/", 200), {})
"""The contract of what has none: a service that somebody else runs."""
