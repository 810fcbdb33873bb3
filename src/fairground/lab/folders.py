"""`clean`, `new` and `init`: the folders that the lab keeps, and those that begin as a copy of a server."""

from __future__ import annotations

import shutil
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

from fairground import records
from fairground.host import build
from fairground.inputs import variants
from fairground.lab.places import Places
from fairground.model import LabError, storing

README = """# Servers, measured with Fairground

`servers/{name}` began as a copy of `{source}`. Run these in this folder:

```
fairground check {name}
fairground run --stack {name}
fairground compare --revisions HEAD,. {name}:VARIANT
```

Results are kept in `results/`. In a checkout of Fairground the command is that checkout's `fairground`, by its path.
"""
"""The first text of a project's README."""


@dataclass(frozen=True)
class KeptFolder:
    """A folder that takes space; `bytes` is what it took before it was removed."""

    what: str
    folder: str
    bytes: int
    removed: bool


def clean(places: Places, remove: Collection[str] = ()) -> tuple[KeptFolder, ...]:
    """The sizes of `builds`, `databases` and `runs`; those named in `remove` are removed."""
    folders = {"builds": places.cache / "builds", "databases": places.cache / "postgres", "runs": places.results}
    rows = tuple(
        KeptFolder(name, str(folder), records.size(folder) if folder.exists() else 0, name in remove)
        for name, folder in folders.items()
    )
    for name in remove:
        shutil.rmtree(folders[name], ignore_errors=True)
    return rows


def new(places: Places, name: str, source: str) -> Path:
    """Begin the server `name` as a copy of `source`: its sources, without what was built. Its folder."""
    known = {server.id: server for server in places.load_servers()}
    if source not in known:
        raise LabError(
            f"there is no server `{source}` to copy" if source else "say which server to copy", f"--from {'|'.join(known)}"
        )
    if not variants.NAME.fullmatch(name):
        raise LabError(f"`{name}` is not a valid id for a server", "use a–z, 0–9 and -")
    target = places.servers / name
    if target.exists() or name in known:
        raise LabError(f"`{target if target.exists() else known[name].folder}` exists already", "choose another id")
    with storing(target):
        build.copy_sources(known[source].folder, target)
    return target


def init(places: Places, folder: Path, name: str, source: str) -> Path:
    """Begin a project: a folder with a server of one's own, a README and a .gitignore. The server's folder.

    A README or .gitignore that is there is somebody's own, and stays.
    """
    if (folder / "servers").exists():
        raise LabError(f"`{folder / 'servers'}` exists already", "add a server to it: ./fairground new NAME --from SERVER")
    if name in {server.id for server in places.load_servers()}:
        raise LabError(f"the lab has a server `{name}` of its own", "choose another id: --name ID")
    target = new(replace(places, servers=folder / "servers", lab_servers=places.lab_servers or places.servers), name, source)
    with storing(folder):
        for file, text in (("README.md", README.format(name=name, source=source)), (".gitignore", "/results/\n")):
            if not (folder / file).exists():
                (folder / file).write_text(text, encoding="utf-8")
    return target
