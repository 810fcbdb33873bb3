"""The files that a person writes, read from the disk."""

from __future__ import annotations

import os
from pathlib import Path

from fairground.model import LabError, secret
from fairground.model.contract import SqlFile
from fairground.model.source import Source


def read(path: Path, depth: int) -> Source:
    """Read a file, to be called by the last `depth` parts of its path; LabError where that cannot be done."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise LabError(f"`{path}` cannot be read ({error.strerror})", "check the path and its permissions") from error
    return Source.of_bytes("/".join(path.absolute().parts[-depth:]), content)


MOST_SQL_BYTES = 64 * 1024
"""The largest file of SQL that is taken: a record keeps it with each cell."""


def sql_of(spelling: str, path: Path) -> SqlFile:
    """Read a file of SQL that an option names. LabError where it has nothing in it, too much, or a secret."""
    try:
        content = path.read_bytes()
        text = content.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise LabError(f"`{spelling} {path}` cannot be read ({said})", "a text file in UTF-8") from None
    if not text.strip():
        raise LabError(f"`{spelling} {path}` has nothing in it", "write a statement into it, such as CREATE INDEX …")
    if len(content) > MOST_SQL_BYTES:
        hint = "let it make a difference of a few statements, and let the contract's seed.sql make the data"
        raise LabError(f"`{spelling} {path}` has more than {MOST_SQL_BYTES // 1024} KiB", hint)
    for number, line in enumerate(text.splitlines(), 1):
        said = line.partition("--")[0]
        if secret.redact(said) != said:
            problem = f"`{spelling} {path}`, line {number}, has what looks like a secret, and a record would keep it"
            raise LabError(problem, "write it into the contract's seed.sql, which no record keeps")
    return SqlFile(str(path), text)


def text_of(spelling: str, text: str) -> str:
    """Return the text that an option was given, or of `@FILE` each byte of the file. LabError where it is no UTF-8."""
    try:
        return (Path(text[1:]).read_bytes() if text.startswith("@") else os.fsencode(text)).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise LabError(f"`{spelling} {text}` cannot be read ({said})", "a text file in UTF-8") from None
