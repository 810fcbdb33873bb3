"""`check --contract`: a contract tried by itself, without a server: its files, its data, and every statement of theirs."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fairground.contract import case_file
from fairground.contract.case import Disturbance, comparison_mistake
from fairground.host import Keeper
from fairground.inputs import contracts, files, workload_files
from fairground.inputs.undecided import Undecided, find_marks
from fairground.lab.places import CONTRACTS, Places
from fairground.measure.statement_trial import StatementTrial
from fairground.measure.tried_audits import try_limit, try_tables, try_workload
from fairground.measure.tried_cases import PlacedCase, try_case, try_means, try_requests
from fairground.model import CellSettings, LabError, Workload
from fairground.model.contract import Contract
from fairground.model.source import Source, nearest
from fairground.postgres import databases

SCALE = 1
"""The scale of the data on which statements are tried."""


@dataclass(frozen=True)
class ContractChecked:
    """The outcome of a contract's trial: each mistake, how many statements are right, and what only an answer could show."""

    contract: str
    right: int
    wrong: tuple[LabError, ...]
    untried: tuple[str, ...] = ()
    undecided: tuple[Undecided, ...] = ()
    """The places that are marked for a person to decide. They are no mistakes."""

    @property
    def document(self) -> dict[str, Any]:
        """It, for machines."""
        wrong = [{"sentence": one.message, "hint": one.hint} for one in self.wrong]
        found = {"contract": self.contract, "right": self.right, "wrong": wrong, "untried": list(self.untried)}
        return {**found, "undecided": [asdict(one) for one in self.undecided]}


@dataclass
class ContractFiles:
    """The files of a contract, read one by one: what they say, and each mistake in them."""

    contract: Contract
    workloads: list[tuple[Source, Workload]]
    cases: list[PlacedCase]
    means: list[tuple[Source, Disturbance]]
    wrong: list[LabError]

    @classmethod
    def read(cls, contract: Contract) -> ContractFiles:
        """Read all of them. A mistake does not hide those of the next file, nor one in a case those of the next case."""
        found = cls(contract, [], [], [], [])
        for path in sorted((contract.folder / "workloads").glob("[!.]*.toml")):
            with found._noting():
                found.workloads.append((files.read(path, 3), workload_files.read_workload(path, contract)))
        ids = [contract.qualify(path.stem) for path in (contract.folder / "workloads").glob("[!.]*.toml")]
        with found._noting():
            workload_files.require_default(contract, ids)
        with found._noting():
            workload_files.require_optional(contract, ids)
        for path in sorted((contract.folder / "cases").glob("[!.]*.toml")):
            with found._noting():
                found._read_cases(path, ids)
        found._hold_together(ids)
        return found

    def _read_cases(self, path: Path, ids: list[str]) -> None:
        reader, file = case_file.open_file(path, self.contract)
        self.means.append((reader.source, reader.means))
        writing = {one.id for _, one in self.workloads if one.audit.writes}
        for number, table in enumerate(file.case):
            with self._noting():
                here = ("case", number)
                case, places = reader.case(here, table), [place for place, _ in reader.placed_steps(here, table)]
                for name in case.workloads:
                    if name not in ids:
                        short = name.removeprefix(f"{self.contract.id}/")
                        known = [one.removeprefix(f"{self.contract.id}/") for one in ids]
                        sentence = f"there is no workload `{short}` for case `{case.id}` of"
                        raise reader.source.error((*here, "workloads"), sentence, nearest(short, known, "workloads"))
                self.cases.append(PlacedCase(reader.source, here, case, places, bool(writing & set(case.workloads))))

    def _hold_together(self, ids: list[str]) -> None:
        """Find names of one file that no other file has."""
        cases = [one.case for one in self.cases]
        known = [case.id for case in cases]
        for twice in {id for id in known if known.count(id) > 1}:
            last = [one for one in self.cases if one.case.id == twice][-1]
            self.wrong.append(last.source.error((*last.location, "id"), f"case id `{twice}` occurs twice, the second time in"))
        for source, workload in self.workloads:
            for number, request in enumerate(workload.requests):
                id = (request.expect.body or {}).get("verified")
                if id is not None and (wrong := comparison_mistake(str(id), cases, workload.id)) is not None:
                    around = ("request", number) if workload.is_mix else ()
                    self.wrong.append(source.error((*around, "expect", "body", "verified"), *wrong))
            if workload.twin is not None and workload.twin not in ids:
                self.wrong.append(source.error(("twin",), f"there is no workload `{workload.twin}` for `twin` of"))

    @contextmanager
    def _noting(self) -> Iterator[None]:
        try:
            yield
        except LabError as error:
            self.wrong.append(error)


def contract_folder(places: Places, name: str) -> Path:
    """The folder of a contract, the lab's own or that of whoever measures. LabError where there is none."""
    beside = (places.root / CONTRACTS, places.servers.parent / CONTRACTS)
    found = {path.parent.name: path.parent for folder in beside for path in folder.glob(f"*/{contracts.FILE}")}
    if name not in found:
        raise LabError(f"there is no contract `{name}`", nearest(name, found, "contracts"))
    return found[name]


def check_contract(places: Places, name: str, url: str | None = None) -> ContractChecked:
    """Read a contract's files, make its data, and try every statement. Nothing is asked where a file cannot be read at all."""
    folder = contract_folder(places, name)
    marks = find_marks(folder, places.servers)
    try:
        contract = contracts.read_contract(folder)
    except LabError as error:
        return ContractChecked(name, 0, (error,), undecided=marks)
    found = ContractFiles.read(contract)
    with ExitStack() as held:
        work, keeper = held.enter_context(tempfile.TemporaryDirectory()), held.enter_context(Keeper(places.environ))
        database = held.enter_context(databases.open_database(keeper, places.cache, url, CellSettings().run))
        try:
            database.reset(contract.data(SCALE))
        except LabError as error:
            return ContractChecked(name, 0, (*found.wrong, error), undecided=marks)
        trial = StatementTrial(database, contract, SCALE)
        _try(trial, found, keeper, Path(work))
        return ContractChecked(name, trial.right, (*found.wrong, *trial.wrong), tuple(trial.untried), marks)


def _try(trial: StatementTrial, found: ContractFiles, keeper: Keeper, work: Path) -> None:
    """Try the statements of all files, pgbench's scripts last: those write."""
    tables = {name: one.fill(trial.values) for name, one in found.contract.tables.items()}
    own = files.read(found.contract.folder / contracts.FILE, 3)
    try_tables(trial, own, tables)
    try_requests(trial, own, tables)
    rendered = [(source, workload_files.render(one, SCALE)) for source, one in found.workloads]
    for source, workload in rendered:
        try_workload(trial, source, workload)
    for source, means in found.means:
        try_means(trial, source, means.fill(trial.values))
    for placed in found.cases:
        try_case(trial, placed)
    for source, workload in rendered:
        try_limit(trial, source, workload, keeper, work)
