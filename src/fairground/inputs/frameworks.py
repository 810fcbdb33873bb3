"""The folder of a framework, as another benchmark keeps it: its tests, by the rules in `import.toml` of a contract."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from fairground.inputs import contracts, data_tables, files
from fairground.inputs.recipe import Remark
from fairground.model import LabError
from fairground.model.contract import TOLD, CompiledDatabase, Contract
from fairground.model.source import STRICT, names_hint

FILE = "import.toml"


@dataclass(frozen=True)
class ImportRules:
    """The rules by which a framework's folder is read for a contract. `config`: its file of tests.

    `paths`: a test's key → the name of a path. `database`: a word of its database → what stands for it.
    `environment`: told besides, where a test has a database.
    """

    __pydantic_config__: ClassVar[Mapping[str, object]] = STRICT
    config: str
    databases: tuple[str, ...]
    paths: dict[str, str]
    database: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def compiled(self) -> CompiledDatabase | None:
        """The database by the words that sources have compiled in; None where the rules do not know all of them."""
        words = {stands.removeprefix("$database_"): word for word, stands in self.database.items()}
        if not {"host", "port", "name", "user", "password"} <= words.keys() or not words["port"].isdecimal():
            return None
        return CompiledDatabase(words["host"], int(words["port"]), words["name"], words["user"], words["password"])

    @property
    def host(self) -> str | None:
        """The name of the database's host, which sources may have compiled in."""
        return next((word for word, stands in self.database.items() if stands == "$database_host"), None)

    def tell(self, text: str) -> str:
        """A variable's value with what the lab tells in place of the database's words."""
        host = self.host
        port = next((word for word, stands in self.database.items() if stands == "$database_port"), None)
        addressed = host is not None and host in text
        for word, stands in self.database.items():
            if word == port and (not addressed and text != port):
                continue
            text = re.sub(rf"(?<![\w-]){re.escape(word)}(?![\w-])", f"${{{stands.removeprefix('$')}}}", text)
        if addressed and "://" in text and "${database_port}" not in text:  # a port that goes without saying; another one stays
            text = re.sub(r"\$\{database_host\}(?!:\d)", "${database_host}:${database_port}", text)
        return text


@dataclass(frozen=True)
class FrameworkTest:
    """One test of a framework: what its file says of it, as it came."""

    framework: str
    name: str
    keys: Mapping[str, Any]

    @property
    def id(self) -> str:
        """The id of the server that it becomes."""
        own = self.framework if self.name == "default" else f"{self.framework}-{self.name}"
        return "-".join(
            "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in own.lower()).split("-")
        ).strip("-")

    @property
    def dockerfile(self) -> str:
        """The name of its dockerfile."""
        given = self.keys.get("dockerfile")
        own = self.framework if self.name == "default" else f"{self.framework}-{self.name}"
        return given if isinstance(given, str) else f"{own}.dockerfile"

    @property
    def database(self) -> str:
        """Its database in small letters; `none` where it names none."""
        return str(self.keys.get("database") or "none").lower()

    def text(self, key: str) -> str:
        """Its text under a key; empty where it says no text."""
        found = self.keys.get(key)
        return found.strip() if isinstance(found, str) else ""


def read_rules(contract: Contract) -> ImportRules:
    """Read the rules of a contract. LabError where it has none."""
    if not (contract.folder / FILE).is_file():
        raise LabError(f"the contract `{contract.id}` says nothing of servers to import", f"it has no `{FILE}`")
    source = files.read(contract.folder / FILE, depth=3)
    rules = source.parse(ImportRules)
    for key, name in rules.paths.items():
        if name not in contract.paths:
            raise source.error(("paths", key), f"there is no path `{name}` for", names_hint(contract.paths, "paths"))
    for word, stands in rules.database.items():
        data_tables.require_names(source, ("database", word), stands, TOLD)
    contracts.check_told(source, ("environment",), rules.environment)
    return rules


def read_tests(folder: Path, rules: ImportRules) -> tuple[tuple[FrameworkTest, ...], tuple[Remark, ...]]:
    """Read the tests of a framework's folder, and what of them is none. LabError where the folder is no framework's."""
    path = folder / rules.config
    if not path.is_file():
        raise LabError(f"there is no `{rules.config}` in `{folder}`", "name the folder of one framework")
    text = files.read(path, depth=2).text
    try:
        config = json.loads(text)
    except ValueError as error:
        raise LabError(f"`{path}` is no JSON: {error}", "mend it, or name another folder") from error
    groups = config.get("tests") if isinstance(config, dict) else None
    if not isinstance(groups, list) or not groups:
        raise LabError(f"`{path}` has no list `tests`", "name the folder of one framework")
    framework = config["framework"] if isinstance(config.get("framework"), str) else folder.resolve().name
    tests, remarks = list[FrameworkTest](), list[Remark]()
    for group in groups:
        for name, keys in (group if isinstance(group, dict) else {"": group}).items():
            if isinstance(keys, dict):
                tests.append(FrameworkTest(framework, name, keys))
            else:
                remarks.append(Remark(rules.config, None, f"the test `{name}` is no table"))
    return tuple(tests), tuple(remarks)
