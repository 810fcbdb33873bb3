"""The names of what there is, read without checking them: a shell's completion must be quick, and never complains."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from fairground.inputs import roots

HEAD = "head.json"
"""The file that makes a folder a record: `records.HEAD`, whose import would take too long here."""
STANDARD = "seeds"
"""The contract whose workloads have no prefix: `model.contract.STANDARD`, whose import would take too long here."""
KIND = re.compile(rb'"kind": *"([a-z-]+)"')
START_BYTES = 256
"""This many bytes of a head hold its kind."""


class Name(NamedTuple):
    """A word that a person types, and a few words on it."""

    value: str
    help: str = ""


class Names:
    """The names in the lab at `root`, with the folders of servers and results that a command line gives."""

    def __init__(self, root: Path = roots.ROOT, servers: Path | None = None, results: Path | None = None) -> None:
        self.root = root
        self._servers = tuple(folder for folder in roots.servers(root, servers) if folder is not None)
        self._contracts = tuple(dict.fromkeys((root / "contracts", self._servers[0].parent / "contracts")))
        self._results = roots.results(root, results)

    def servers(self) -> list[Name]:
        """Every server, by id."""
        return [Name(id, _text(manifest, "title")) for id, manifest in self._manifests()]

    def stacks(self) -> list[Name]:
        """Every server, and each of its stacks."""
        found = []
        for id, manifest in self._manifests():
            found.append(Name(id, _text(manifest, "title")))
            variants = manifest.get("variants")
            for name, variant in variants.items() if isinstance(variants, dict) else ():
                found.append(Name(f"{id}:{name}", _text(variant, "about")))
        return found

    def workloads(self) -> list[Name]:
        """Every workload, by id."""
        found = list[Name]()
        for folder in {path.name: path for parent in self._contracts for path in sorted(parent.glob("*/"))}.values():
            prefix = "" if folder.name == STANDARD else f"{folder.name}/"
            found += [Name(prefix + id, _text(table, "title")) for id, table in self._files(folder / "workloads")]
        return found

    def suites(self) -> list[Name]:
        """Every suite of the lab, by id, with its first sentence."""
        return [Name(id, _text(table, "about").partition(". ")[0]) for id, table in self._files(self.root / "suites")]

    def records(self, kind: str | None) -> list[Name]:
        """Every record of a kind, or (None) of any, the latest first, and the word for that one; nothing where there is none."""
        try:
            folders = sorted((one for one in self._results.iterdir() if one.is_dir()), key=lambda one: one.name, reverse=True)
        except OSError:
            return []
        found = [Name(one.name) for one in folders if (of := _kind(one)) is not None and kind in (None, of)]
        return [Name("latest", found[0].value), *found] if found else []

    def _files(self, folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
        for path in sorted(folder.glob("[!.]*.toml"), key=lambda path: path.stem):
            yield path.stem, _toml(path)

    def _manifests(self) -> Iterator[tuple[str, dict[str, Any]]]:
        paths = [path for folder in self._servers for path in folder.glob("*/server.toml")]
        for path in sorted(paths, key=lambda path: path.parent.name):
            yield path.parent.name, _toml(path)


def _kind(folder: Path) -> str | None:
    """The kind of a record, by the first bytes of its head; None: it is none."""
    try:
        with (folder / HEAD).open("rb") as file:
            told = KIND.search(file.read(START_BYTES))
    except OSError:
        return None
    return told[1].decode() if told is not None else None


def _toml(path: Path) -> dict[str, Any]:
    """A file's tables; none where it cannot be read."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError):
        return {}


def _text(table: object, key: str) -> str:
    found = table.get(key) if isinstance(table, dict) else None
    return " ".join(found.split()) if isinstance(found, str) else ""
