"""`init`: a project of one's own, begun with a contract and a server from what is told, a document and a database's schema."""

from __future__ import annotations

import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fairground.contract import case_file
from fairground.host import Keeper
from fairground.inputs import contract_texts, contracts, manifest, openapi, variants, workload_files
from fairground.inputs.contract_texts import ProjectWords
from fairground.inputs.openapi import OpenDocument, OpenQuestion
from fairground.inputs.undecided import find_marks
from fairground.lab.places import CONTRACTS, Places
from fairground.model import LabError, storing
from fairground.postgres.schema_dump import dump_schema

SERVERS = "servers"
BASE = "$base"


@dataclass(frozen=True)
class ProjectAsked:
    """The things that a person says of a project. What is empty is left to be decided."""

    folder: Path
    name: str = ""
    document: Path | None = None
    """An OpenAPI document."""
    database: str = ""
    """The URL of a database whose schema is taken, and no row."""
    words: ProjectWords = ProjectWords()


@dataclass(frozen=True)
class ProjectBegun:
    """A project that was begun: its contract's id, its files, and how many places are left to be decided."""

    name: str
    files: tuple[str, ...]
    workloads: tuple[str, ...]
    undecided: int
    left_out: tuple[str, ...]
    """Operations of the document of which nothing is asked, and why."""


def begin(places: Places, asked: ProjectAsked) -> ProjectBegun:
    """Write a project with a contract and a server. A README or .gitignore that is there is somebody's own, and stays."""
    name = asked.name or re.sub(r"[^a-z0-9]+", "-", asked.folder.resolve().name.lower()).strip("-")
    _require_free(places, asked, name)
    document = None if asked.document is None else openapi.read_document(asked.document)
    with tempfile.TemporaryDirectory() as scratch:
        title = asked.words.title or (document.title if document is not None else "") or name
        made = _Project(Path(scratch) / "project", name, asked, replace(asked.words, title=title), document)
        made.write_server()
        made.write_contract("home")
        made.write_sql(places, Path(scratch))
        asks = made.write_questions()
        chosen = made.default_of(asks)
        made.write_contract(chosen.id, chosen.example)
        found = made.read_back()
        files = sorted(path.relative_to(made.root) for path in made.root.rglob("*") if path.is_file())
        with storing(asked.folder):
            for path in files:
                if not (asked.folder / path).exists():
                    (asked.folder / path).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(made.root / path, asked.folder / path)
    return ProjectBegun(name, tuple(map(str, files)), tuple(one.id for one in asks), found, tuple(made.left_out))


def _require_free(places: Places, asked: ProjectAsked, name: str) -> None:
    """Refuse an id that is none or is taken, and two origins of the tables."""
    if not variants.NAME.fullmatch(name):
        raise LabError(f"`{name}` is not a valid id for a contract", "use a–z, 0–9 and -: --name ID")
    for home in (CONTRACTS, SERVERS):
        if (asked.folder / home / name).exists():
            raise LabError(f"`{asked.folder / home / name}` exists already", "choose another id: --name ID")
        if (places.root / home / name).exists():
            raise LabError(f"the lab has a folder `{home}/{name}` of its own", "choose another id: --name ID")
    if asked.words.migrate and asked.database:
        raise LabError("`--migrate` and `--database` both say where tables come from", "leave one of them out")
    for option, command in (("build", asked.words.build), ("serve", asked.words.serve), ("migrate", asked.words.migrate)):
        try:
            shlex.split(command)
        except ValueError as error:
            hint = f"as a shell reads it: {str(error).lower()}"
            raise LabError(f"`--{option} {command}` is no command", hint) from None
    if asked.words.ready and not asked.words.ready.startswith("/"):
        raise LabError(f"`--ready {asked.words.ready}` is no path", "begin it with `/`")


@dataclass
class _Project:
    """A project while it is written, into a folder that nobody sees before it is whole."""

    root: Path
    name: str
    asked: ProjectAsked
    words: ProjectWords
    document: OpenDocument | None

    def __post_init__(self) -> None:
        self.left_out = list(self.document.left_out if self.document is not None else ())

    @property
    def home(self) -> Path:
        """The folder of the contract."""
        return self.root / CONTRACTS / self.name

    def write_contract(self, default: str, ready: str = "") -> None:
        """Write `contract.toml`. `ready`: the path that is proposed where nobody said one."""
        base = self.document.base if self.document is not None else ""
        _write(
            self.home / contracts.FILE, contract_texts.contract_toml(self.name, default, base, self.words, ready, self.left_out)
        )

    def write_sql(self, places: Places, scratch: Path) -> None:
        """Write schema, seed and rights."""
        if self.asked.database:
            with Keeper(places.environ) as keeper:
                _write(self.home / "schema.sql", dump_schema(keeper, self.asked.database, scratch))
        elif not self.words.migrate:
            _write(self.home / "schema.sql", contract_texts.SCHEMA)
        _write(self.home / "seed.sql", contract_texts.SEED)
        _write(self.home / "rights.sql", contract_texts.RIGHTS)

    def write_questions(self) -> list[OpenQuestion]:
        """Write a workload and a case for each question, and give back those that the lab can read."""
        document = self.document
        asks = [one for one in self._placed(document) if self._is_written(one, document.name)] if document is not None else []
        if not asks:
            asks = [contract_texts.home_question()]
            self._is_written(asks[0], "nothing yet")
        return asks

    def default_of(self, asks: Sequence[OpenQuestion]) -> OpenQuestion:
        """The question that is asked where none is named: the first of which all is known, else the first."""
        return next((one for one in asks if not one.marks and not one.answer_marks), asks[0])

    def write_server(self) -> None:
        """Write the application's manifest, and what explains the project."""
        _write(self.root / SERVERS / self.name / "server.toml", contract_texts.server_toml(self.name, self.words))
        _write(self.root / "README.md", contract_texts.readme(self.name, self.words.title))
        _write(self.root / ".gitignore", "/results/\n")

    def read_back(self) -> int:
        """Read all as the lab will, and count the places that are left to be decided."""
        contract = contracts.read_contract(self.home)
        workloads = [one.id for one in workload_files.load_workloads(contract)]
        manifest.load_servers(self.root / SERVERS, {contract.id: contract}, workloads)
        return len(find_marks(self.home, self.root / SERVERS))

    def _placed(self, document: OpenDocument) -> Iterator[OpenQuestion]:
        """The questions at the paths that the contract knows."""
        base = BASE if document.base else ""
        return (replace(one, path=base + one.path, example=base + one.example) for one in document.questions)

    def _is_written(self, one: OpenQuestion, origin: str) -> bool:
        """Write the files of a question; where the lab could not read them they go again, and it is said why."""
        workload, case = (self.home / folder / f"{one.id}.toml" for folder in ("workloads", "cases"))
        _write(workload, contract_texts.workload_toml(one, origin))
        _write(case, contract_texts.case_toml(one))
        contract = contracts.read_contract(self.home)
        try:
            workload_files.read_workload(workload, contract)
            reader, file = case_file.open_file(case, contract)
            for table in file.case:
                reader.case(("case",), table)
        except LabError as error:
            self.left_out.append(f"{one.operation}: {error.message}")
            workload.unlink()
            case.unlink()
            return False
        return True


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", errors="replace")
