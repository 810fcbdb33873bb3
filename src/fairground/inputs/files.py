"""The files that a person writes, read from the disk."""

from __future__ import annotations

import os
from pathlib import Path

from fairground.model import LabError
from fairground.model.source import Source


def read(path: Path, depth: int) -> Source:
    """Read a file, to be called by the last `depth` parts of its path; LabError where that cannot be done."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise LabError(f"`{path}` cannot be read ({error.strerror})", "check the path and its permissions") from error
    return Source.of_bytes("/".join(path.absolute().parts[-depth:]), content)


def text_of(spelling: str, text: str) -> str:
    """Return the text that an option was given, or of `@FILE` each byte of the file. LabError where it is no UTF-8."""
    try:
        return (Path(text[1:]).read_bytes() if text.startswith("@") else os.fsencode(text)).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise LabError(f"`{spelling} {text}` cannot be read ({said})", "a text file in UTF-8") from None
