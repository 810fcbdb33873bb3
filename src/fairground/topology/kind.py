"""The kinds of proxies and poolers that a topology can name, and whether this machine has their programs."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fairground.model import Topology

PREPARED_SINCE = {"pgbouncer": (1, 21), "pgcat": (1, 2)}
"""Pooler → the first version that follows prepared statements from one connection to the next."""

INSTALL = {"nginx": "apt-get install -y nginx-light", "pgbouncer": "apt-get install -y pgbouncer"}
NO_PACKAGE = "no registry holds a binary: build pgcat from its source and put it on PATH"


@dataclass(frozen=True)
class HopKind:
    """One named way in which a program can stand in the path. `mode` is what its configuration makes of it."""

    name: str
    role: str
    program: str
    mode: str
    about: str

    @property
    def install(self) -> str:
        """The command that installs its program, or what to do where no registry holds it."""
        return INSTALL.get(self.program, NO_PACKAGE)


KINDS: Mapping[str, HopKind] = {
    kind.name: kind
    for kind in (
        HopKind("nginx", "proxy", "nginx", "keep-alive", "nginx, upstream HTTP/1.1 with keep-alive"),
        HopKind("nginx-close", "proxy", "nginx", "close", "nginx, a new upstream connection for each request"),
        HopKind("pgbouncer-session", "pooler", "pgbouncer", "session", "PgBouncer, a connection for as long as its client stays"),
        HopKind("pgbouncer-tx", "pooler", "pgbouncer", "transaction", "PgBouncer, a connection for one transaction at a time"),
        HopKind("pgcat-session", "pooler", "pgcat", "session", "PgCat, a connection for as long as its client stays"),
        HopKind("pgcat-tx", "pooler", "pgcat", "transaction", "PgCat, a connection for one transaction at a time"),
    )
}
"""Name in a suite and on the command line → what it is."""


def is_pooled(topology: Topology) -> bool:
    """True if connections to the database are handed from one client to another between transactions."""
    return topology.pooler is not None and KINDS[topology.pooler].mode == "transaction"


def lacking(topology: Topology, path: str | None) -> tuple[str, str] | None:
    """Say why a topology cannot be had here, and what would mend it; None when it can. `path` is the lab's PATH."""
    for name in topology.hops:
        kind = KINDS[name]
        if shutil.which(kind.program, path=path) is None:
            return f"`{name}` needs `{kind.program}` on PATH", kind.install
        if version(kind.program, path) is None:
            return f"`{kind.program}` does not say its version, so nobody knows what it is", kind.install
    return None


def versions(topologies: Iterable[Topology], path: str | None) -> dict[str, str]:
    """Program → version, of all programs that the topologies need and that are here."""
    programs = sorted({KINDS[name].program for topology in topologies for name in topology.hops})
    return {program: found for program in programs if (found := version(program, path))}


@functools.cache
def version(program: str, path: str | None) -> str | None:
    """Such as `1.18.0`; None when the program is not here or does not say."""
    binary = shutil.which(program, path=path)
    if binary is None:
        return None
    option = "-v" if program == "nginx" else "--version"
    try:
        said = subprocess.run([binary, option], capture_output=True, encoding="utf-8", errors="replace", timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r"\d+(?:\.\d+)+", said.stdout + said.stderr)
    return found[0] if found and said.returncode == 0 else None


def version_numbers(text: str) -> tuple[int, ...]:
    """`1.18.0` → (1, 18, 0); empty for what is no version."""
    return tuple(int(part) for part in text.split(".")) if re.fullmatch(r"\d+(\.\d+)*", text) else ()
