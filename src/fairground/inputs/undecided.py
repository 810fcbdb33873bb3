"""The places of a contract that only a person can decide: comments that begin with `decide:`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fairground.inputs import contracts
from fairground.model import foreign

MARK = re.compile(r"\s*(?:#|--)\s*decide:\s*(?P<sentence>.*)")


@dataclass(frozen=True)
class Undecided:
    """One place: its file, its line from 1, and what is to be decided."""

    file: str
    line: int
    sentence: str


def find_marks(contract: Path, servers: Path) -> tuple[Undecided, ...]:
    """Find the marks in a contract's files, then those in the manifests of its servers."""
    top = contract / contracts.FILE
    rest = sorted(path for kind in ("[!.]*.sql", "workloads/[!.]*.toml", "cases/[!.]*.toml") for path in contract.glob(kind))
    found = [one for path in (top, *rest) for one in _marks(path)]
    for path in sorted(servers.glob("*/server.toml")):
        if _contract_of(path) == contract.name:
            found += _marks(path)
    return tuple(found)


def _marks(path: Path) -> Iterator[Undecided]:
    shown = "/".join(path.absolute().parts[-3:])
    for number, line in enumerate(_text(path).splitlines(), start=1):
        if found := MARK.fullmatch(line):
            yield Undecided(shown, number, foreign.line(found["sentence"]))


def _contract_of(path: Path) -> object:
    try:
        return tomllib.loads(_text(path)).get("contract")
    except tomllib.TOMLDecodeError:  # `check SERVER` says what is wrong with it
        return None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
