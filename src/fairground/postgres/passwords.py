"""The file with the password of an embedded cluster: whole at any moment, and read without trust."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from fairground.model import LabError, storing

MEND = "./fairground clean --databases --yes removes it, and the next run makes another one"


class PasswordFile:
    """The passwords that a cluster's superuser may have, most likely first: two of them while one is being changed."""

    def __init__(self, path: Path, user: str) -> None:
        self._path, self._user = path, user

    def read(self) -> tuple[str, ...]:
        """The passwords. LabError where there is none."""
        try:
            lines = [line.split() for line in self._path.read_text(encoding="utf-8").splitlines()]
        except (OSError, ValueError) as error:
            raise self.refusal(getattr(error, "strerror", None) or "it is no text") from error
        if found := tuple(line[1] for line in lines if len(line) == 2 and line[0] == self._user):
            return found
        raise self.refusal(f"it has no password of `{self._user}`")

    def write(self, passwords: Sequence[str]) -> None:
        """Write them in place of others, on the disk when this returns: a reader meets the old file or the new one."""
        partial = self._path.with_name(f"{self._path.name}.partial")
        with storing(self._path):
            partial.unlink(missing_ok=True)
            with open(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
                file.write("".join(f"{self._user} {one}\n" for one in passwords))
                file.flush()
                os.fsync(file.fileno())
            partial.replace(self._path)

    def refusal(self, why: str) -> LabError:
        """The error for a file that does not open its cluster."""
        return LabError(f"the embedded PostgreSQL cannot be opened with `{self._path}`: {why.lower()}", MEND, 3)
