"""This machine as a host of a fleet: what it says of itself, and what its owner allows."""

from __future__ import annotations

import platform
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from fairground.fleet import about
from fairground.fleet.about import About
from fairground.host import build, machine, seats, sources
from fairground.model import LabError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


def about_here(name: str | None, allow: Sequence[str], roles: Sequence[str], version: str, path: str | None) -> About:
    """Describe this machine as a host.

    `allow`: folders of servers, whose sources may run as they are there; servers by id, whose sources may be any; or `all`.
    `version`: the lab's. `path`: where toolchains are looked for. LabError for a role or a name that cannot
    be meant, and where nothing is allowed.
    """
    named = platform.node() if name is None else name
    if not NAME.fullmatch(named):
        raise LabError(f"`{named}` is not a valid name for a host", "use letters, digits, dots and dashes: --name NAME")
    if unknown := [role for role in roles if role not in about.ROLES]:
        raise LabError(f"there is no role `{unknown[0]}` for a host", f"roles: {', '.join(about.ROLES)}")
    if not allow and "server" in (roles or about.ROLES):
        raise LabError("nothing is allowed to run on this host", "--allow servers/ for those of this checkout as they are here")
    return About(
        about.PROTOCOL,
        version,
        named,
        machine.fingerprint(),
        platform.machine(),
        tuple(roles) or about.ROLES,
        tuple(name for name in build.INSTALL if shutil.which(name, path=path) is not None),
        seats.seats(seats.read()),
        tuple(one for text in allow for one in _allowed(text)),
    )


def _allowed(text: str) -> list[str]:
    """List what one `--allow` lets run: a folder's servers by the hashes of their sources, or the word itself."""
    folder = Path(text)
    if "/" not in text and not folder.is_dir():
        return [text]
    found = sorted(path.parent for path in folder.glob("*/server.toml"))
    if not found:
        raise LabError(f"`--allow {text}`: there is no server in that folder", "name the folder that holds servers' folders")
    return [sources.sources_hash(one) for one in found]


def resources(said: About) -> Mapping[str, float]:
    """Return the resources that Dask may reckon with: each role once, and what the machine has."""
    amounts = {"cores": float(said.machine.cores), "memory": float(said.machine.memory_bytes or 0), said.architecture: 1.0}
    return {**dict.fromkeys(said.roles, 1.0), **amounts}
