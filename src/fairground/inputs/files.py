"""The files that a person writes, read from the disk."""

from __future__ import annotations

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
