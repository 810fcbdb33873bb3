"""Find the folders of one lab. This module loads next to nothing, since a shell's completion asks it at each key."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]


def root_of(package: Path) -> Path:
    """The checkout that this package belongs to, or the data that a wheel put inside it."""
    checkout = package.parents[1]
    return checkout if (checkout / "engine" / "Cargo.toml").is_file() else package / "data"


ROOT = root_of(PACKAGE)
"""The folder that holds contracts/, suites/ and servers/."""


def is_installed(root: Path) -> bool:
    """True if this lab was installed, so that its own folders are only read."""
    return not (root / "engine").is_dir()


def servers(root: Path, given: Path | None) -> tuple[Path, Path | None]:
    """Return the folder of servers, and the lab's own beside it (None: there is no other).

    `servers` of the current folder are found beside the lab's own, unless a folder is given.
    """
    here, own = Path("servers"), root / "servers"
    if given is not None:
        return given, None
    if is_installed(root) or (any(here.glob("*/server.toml")) and here.resolve() != own.resolve()):
        return here, own
    return own, None


def results(root: Path, given: Path | None) -> Path:
    """Return where records are kept: an installed lab keeps them in the current folder."""
    return given or (Path("results") if is_installed(root) else root / "results")
