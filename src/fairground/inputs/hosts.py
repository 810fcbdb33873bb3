"""`hosts.toml`: where the scheduler of a fleet is, its certificate, and which of its hosts measure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from fairground.inputs import files
from fairground.model.source import STRICT


@dataclass(frozen=True)
class HostsFile:
    """The shape of the file."""

    __pydantic_config__: ClassVar[Mapping[str, object]] = STRICT
    address: str
    tls: str | None = None
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True)
class HostsAsked:
    """The hosts that are to measure; `hosts` by name, none: all that have joined."""

    address: str
    tls: Path | None = None
    hosts: tuple[str, ...] = ()


def hosts_asked(text: str, folder: Path | None) -> HostsAsked:
    """Read `--hosts`, an address or a file, and `--tls`, which a file may say itself. LabError for a bad file."""
    if not text.endswith(".toml"):
        return HostsAsked(text, folder)
    path = Path(text)
    source = files.read(path, 1)
    file = source.parse(HostsFile)
    source.require_text(("address",), file.address)
    own = None if file.tls is None else path.parent / file.tls
    return HostsAsked(file.address, folder or own, file.hosts)
