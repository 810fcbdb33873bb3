"""The folder of a contract: `contract.toml`, `schema.sql`, `seed.sql`, `rights.sql`, beside `workloads/` and `cases/`.

`[schema]` in `contract.toml` stands in place of `schema.sql`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from fairground.inputs import files
from fairground.inputs.data_tables import check_tables, require_names
from fairground.inputs.variants import ENVIRONMENT_NAME, NAME, require_command
from fairground.model import LabError, shape
from fairground.model.contract import (
    DATABASE,
    SECRET,
    TOLD,
    AnswerRules,
    Contract,
    DataTable,
    ErrorRules,
    Migrations,
    Ready,
    fold_names,
    header_mistake,
    names_in,
)
from fairground.model.source import STRICT, Location, Source, location_text

FILE = "contract.toml"
NUMBER_NAME = re.compile(r"[a-z][a-z_]*")


@dataclass(frozen=True)
class AnswersTable:
    """Rules of good answers."""

    __pydantic_config__: ClassVar[Mapping[str, object]] = STRICT
    content_type: str | tuple[str, ...] = ()
    headers: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class ErrorsTable:
    """Rules of answers from 400 on."""

    __pydantic_config__: ClassVar[Mapping[str, object]] = STRICT
    content_type: str | tuple[str, ...] = ()
    body: dict[str, object] | None = None
    headers: dict[str, dict[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class SchemaTable:
    """The application's own migrations: `files` of its `folder`, which is relative to the contract's."""

    __pydantic_config__: ClassVar[Mapping[str, object]] = STRICT
    run: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)
    folder: str = "."
    files: tuple[str, ...] = (".",)


@dataclass(frozen=True)
class ContractFile:
    """The file `contract.toml`. `numbers` may hold a table `scaled`, whose numbers are for each unit of scale."""

    __pydantic_config__: ClassVar[Mapping[str, object]] = STRICT
    title: str
    default: str
    ready: Ready
    source: str = ""
    numbers: dict[str, int | dict[str, int]] = field(default_factory=dict)
    paths: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    answers: AnswersTable = AnswersTable()
    errors: ErrorsTable = ErrorsTable()
    data: dict[str, DataTable] = field(default_factory=dict)
    schema: SchemaTable | None = None
    backlog: int | None = None
    optional: tuple[str, ...] = ()


def load_contracts(folder: Path) -> dict[str, Contract]:
    """Read every `<folder>/<id>/contract.toml`, by id. A mistake is a LabError with file and line."""
    paths = sorted(folder.glob(f"*/{FILE}"), key=lambda path: path.parent.name)
    return {path.parent.name: read_contract(path.parent) for path in paths}


def read_contract(folder: Path) -> Contract:
    """Read one contract's folder, but for its workloads and cases."""
    source = files.read(folder / FILE, depth=3)
    if not NAME.fullmatch(folder.name):
        raise LabError(f"`{folder.name}` is not a valid id for a contract", "name its folder with a-z, 0-9 and - only")
    file = source.parse(ContractFile)
    source.require_text(("title",), file.title)
    numbers, scaled = _numbers(source, file)
    known = {**numbers, **scaled, **file.paths}
    for name, path in file.paths.items():
        if not path.startswith("/"):
            raise source.error(("paths", name), f"`paths.{name}` is `{path}` in", "begin it with `/`")
    check_told(source, ("environment",), file.environment)
    require_names(source, ("ready", "path"), file.ready.path, file.paths)
    if not file.ready.path.startswith(("/", "$")):
        raise source.error(("ready", "path"), f"`ready.path` is `{file.ready.path}` in", "begin it with `/`")
    for header, rule in file.answers.headers.items():
        if (wrong := header_mistake(rule)) is not None:
            key = ("answers", "headers", header)
            raise source.error(key, f"`{location_text(key)}` {wrong} in", "write `text` for any value")
    if file.errors.body is not None:
        wrong = shape.mistake(file.errors.body, "the body", ())
        if wrong is None and (slot := next(shape.slots_of(file.errors.body), None)) is not None:
            wrong = f"it names the slot `{slot}`, and errors to all requests are held against it"
        if wrong is not None:
            raise source.error(("errors", "body"), f"`errors.body` is unclear ({wrong}) in", "docs/contracts.md has the grammar")
    if file.backlog is not None and file.backlog < 1:
        raise source.error(("backlog",), f"`backlog` is {file.backlog} in", "write the connections that may wait, such as 4096")
    twice = next((name for name in known if name in TOLD), None)
    if twice is not None:
        raise source.error(("numbers", twice), f"`{twice}` is what a server is told, and no name of a number in", "rename it")
    sql = {part: files.read(folder / f"{part}.sql", 3).text for part in ("schema", "seed", "rights") if _has(folder, part)}
    return Contract(
        folder.name, file.title, file.default, folder, file.ready, file.environment, file.source, numbers, scaled, file.paths,
        AnswerRules(_several(file.answers.content_type), fold_names(file.answers.headers)),
        ErrorRules(_several(file.errors.content_type), file.errors.body, file.errors.headers),
        check_tables(source, file.data, known), sql,
        None if file.schema is None else _migrations(source, file.schema, folder, {**numbers, **scaled}), file.backlog,
        file.optional,
    )  # fmt: skip


def _migrations(source: Source, table: SchemaTable, folder: Path, numbers: Mapping[str, int]) -> Migrations:
    """The application's own migrations: a command that is told where the database is, and files that are there."""
    here: Location = ("schema", "run")
    if _has(folder, "schema"):
        said = "`schema.sql` and `schema.run` both make the tables of"
        raise source.error(("schema",), said, "keep one of them")
    require_command(source, here, table.run)
    check_command(source, here, table.run)
    texts: list[tuple[Location, str]] = [(here, word) for word in table.run]
    texts += [(("schema", "environment", name), text) for name, text in table.environment.items()]
    for place, text in texts:
        require_names(source, place, text, {**numbers, **dict.fromkeys(DATABASE)})
    for name in table.environment:
        if not ENVIRONMENT_NAME.fullmatch(name):
            problem = f"`{name}` is not a valid name for an environment variable in"
            raise source.error(("schema", "environment", name), problem, "use letters, digits and _")
    if not any(name in DATABASE for _, text in texts for name in names_in(text)):
        hint = 'tell it below [schema], as in `environment = { DB = "$database_url" }`'
        raise source.error(here, "`schema.run` is not told where the database is in", hint)
    home = (folder / table.folder).resolve()
    if not home.is_dir():
        raise source.error(("schema", "folder"), f"`schema.folder` is `{table.folder}`, and there is no {home}, in", "correct it")
    for number, name in enumerate(table.files):
        if not (home / name).exists():
            raise source.error(("schema", "files", number), f"there is no `{name}` in {home} for `schema.files` of", "correct it")
    return Migrations(table.run, tuple(sorted(table.environment.items())), home, table.files)


def check_told(source: Source, here: Location, environment: Mapping[str, str]) -> None:
    """Refuse a variable whose text names something that no server is told."""
    for name, text in environment.items():
        require_names(source, (*here, name), text, TOLD)


def check_command(source: Source, here: Location, words: Sequence[str]) -> None:
    """Refuse a command that would hold a password: the process list shows it."""
    secret = next((name for word in words for name in names_in(word) if name in SECRET), None)
    if secret is not None:
        hint = 'tell it below [environment], as in `DB = "$database_url"`'
        told = f"`${secret}` is a secret, and the process list shows the words of `{location_text(here)}` in"
        raise source.error(here, told, hint)


def _numbers(source: Source, file: ContractFile) -> tuple[dict[str, int], dict[str, int]]:
    """The numbers that are fixed, and those for each unit of scale."""
    fixed, scaled = dict[str, int](), dict[str, int]()
    for name, value in file.numbers.items():
        if isinstance(value, int):
            fixed[name] = value
        elif name == "scaled":
            scaled = dict(value)
        else:
            raise source.error(("numbers", name), f"`numbers.{name}` is a table in", "only `numbers.scaled` is one")
    for name in (*scaled, *file.paths):
        if name in fixed or (name in file.paths and name in scaled):
            place = ("paths", name) if name in file.paths else ("numbers", "scaled", name)
            raise source.error(
                place, f"`{name}` is said twice, as `{location_text(place)}` and as a number, in", "rename one of them"
            )
    for name in (*fixed, *scaled, *file.paths):
        if not NUMBER_NAME.fullmatch(name):
            place = ("paths", name) if name in file.paths else ("numbers", name)
            raise source.error(place, f"`{name}` is not a valid name in", "use a-z and _ only")
    return fixed, scaled


def _has(folder: Path, part: str) -> bool:
    return (folder / f"{part}.sql").is_file()


def _several(text: str | tuple[str, ...]) -> tuple[str, ...]:
    return (text,) if isinstance(text, str) else text
