"""The build backend: maturin's wheel of the lab and its load engine, with the lab's inputs inside the package.

In a checkout `contracts/`, `suites/` and `servers/` stand at the top, where people read and edit them. A wheel has
no top, so they are copied to `fairground/data/` in a scratch tree, and maturin builds that tree.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import maturin

ROOT = Path(__file__).resolve().parents[1]
INPUTS = ("contracts", "suites", "servers")
"""Folders of the checkout that an installed lab reads from its package."""
PLACES = {
    **{name: f"src/fairground/data/{name}" for name in INPUTS},
    "src/fairground": "src/fairground",
    "packaging/scripts": "fairground.data/scripts",
    **{name: name for name in ("engine/src", "engine/Cargo.toml", "engine/Cargo.lock", "engine/README.md")},
    **{name: name for name in ("pyproject.toml", "LICENSE", "README.md")},
}
"""What is copied → where it stands in the scratch tree."""


def build_wheel(
    wheel_directory: str, config_settings: Mapping[str, object] | None = None, metadata_directory: str | None = None
) -> str:
    """Build the wheel into the folder; its file name. `metadata_directory` is maturin's, unread by it."""
    with _scratch_tree():
        return str(maturin.build_wheel(wheel_directory, config_settings, metadata_directory))


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: Mapping[str, object] | None = None) -> str:
    """Write what the wheel declares, without building it; its folder's name."""
    with _scratch_tree():
        return str(maturin.prepare_metadata_for_build_wheel(metadata_directory, config_settings))


def build_sdist(sdist_directory: str, config_settings: Mapping[str, object] | None = None) -> str:
    """Refused: the source distribution of this project is its repository."""
    raise UnsupportedOperation("fairground has no source distribution: install a wheel, or `pip install .` in a checkout")


class UnsupportedOperation(Exception):
    """What a build frontend expects where a hook is not offered."""


@contextmanager
def _scratch_tree() -> Iterator[None]:
    """A copy of what the wheel needs, as the working directory. Rust is compiled into the checkout's own target folder."""
    before = Path.cwd()
    os.environ.setdefault("CARGO_TARGET_DIR", str(ROOT / "engine" / "target" / "wheel"))
    with tempfile.TemporaryDirectory(prefix="fairground-wheel-") as scratch:
        for name in files(ROOT):
            target = Path(scratch, _placed(name))
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target)
        os.chdir(scratch)
        try:
            yield
        finally:
            os.chdir(before)


def files(root: Path) -> list[str]:
    """Names of the files that a wheel is made from. What git ignores is no source; without git, everything is taken for one."""
    listing = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *PLACES],
        capture_output=True,
        text=True,
    )
    if listing.returncode == 0:
        names = [name for name in listing.stdout.split("\0") if name]
    else:
        found = [path for name in PLACES for path in (root / name, *(root / name).rglob("*"))]
        names = [str(path.relative_to(root)) for path in found if "__pycache__" not in path.parts]
    return sorted({name for name in names if (root / name).is_file()})


def _placed(name: str) -> str:
    """Where a file of the checkout stands in the scratch tree."""
    first = next(place for place in PLACES if name == place or name.startswith(f"{place}/"))
    return PLACES[first] + name.removeprefix(first)
