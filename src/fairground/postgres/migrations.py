"""An application's own migrations, which make the tables of a template: what they read, and how they are run.

Of the lab's environment they see PATH and HOME alone, so that an address of somebody's database in it is out of their reach.
"""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

from fairground.host import Keeper, build, server, sources
from fairground.model import LabError, foreign
from fairground.model.contract import Migrations, fill_names
from fairground.model.known import KnownSecrets
from fairground.model.secret import redact, redact_words
from fairground.postgres.address import DatabaseAddress

MIGRATES_S = build.BUILD_TIMEOUT_S
"""The longest time that all migrations may take."""
LAST_LINES = 3
"""This many of its last lines a command is told by."""
HISTORY = ".git"
"""The folder that migrations never read."""


def digest_of(one: Migrations) -> str:
    """The digest of what migrations read: other files make other tables."""
    digest = hashlib.sha256()
    for path in _files(one):
        content = path.read_bytes() if path.is_file() else os.readlink(path).encode() if path.is_symlink() else b""
        name, size = os.path.relpath(path, one.folder), len(content)
        digest.update(f"\0{name}\0{size}\0".encode(errors="surrogateescape") + content)
    return digest.hexdigest()


def migrate(keeper: Keeper, one: Migrations, contract: str, address: DatabaseAddress, database: str) -> None:
    """Run them on a database as its owner. LabError with the command, how it ended and its last lines where they fail."""
    more = f"?{urlencode(address.libpq)}" if address.libpq else ""
    url = address.url(database)
    values = {**server.database_values(url), "database_url": url + more}
    told = {name: fill_names(text, values) for name, text in one.environment}
    words = tuple(fill_names(word, values) for word in one.run)
    env = {**server.bare_environment(keeper.environ), **told}
    code, said = build.BuildCommand(keeper, words, one.folder, env=env).end(MIGRATES_S)
    if code == 0:
        return
    ended = f"took longer than {MIGRATES_S / 60:.0f} minutes" if code is None else f"ended with exit code {code}"
    known = KnownSecrets()
    known.remember(address.password)
    command = shlex.join(redact_words(words))
    sentence = f"`{command}`, the `schema.run` of the contract `{contract}`, {ended}: {_last_lines(known.scrub(redact(said)))}"
    raise LabError(sentence, f"it runs in {one.folder}; mend it there, or [schema] in the contract's contract.toml")


def _files(one: Migrations) -> Iterator[Path]:
    """The files that are read, in their order; those that a `.gitignore` of a folder names are none."""
    found = set[Path]()
    for name in one.files:
        path = one.folder / name
        inside = (
            (each for each in sources.walk(path) if HISTORY not in each.relative_to(path).parts) if path.is_dir() else (path,)
        )
        found.update(inside)
    return iter(sorted(found))


def _last_lines(said: str) -> str:
    lines = [line.strip() for line in foreign.clean(said).splitlines() if line.strip()]
    return " / ".join(foreign.line(one, foreign.SENTENCE_CHARACTERS) for one in lines[-LAST_LINES:]) or "it said nothing"
