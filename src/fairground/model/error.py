"""The one kind of error that a person sees."""

from __future__ import annotations


class LabError(Exception):
    """Wrong input, or something this machine lacks: one sentence for a person, never a traceback.

    `hint` is the command or edit that mends it; `exit_code` is 2 (wrong input) or 3 (nothing can be measured here).
    """

    def __init__(self, message: str, hint: str | None = None, exit_code: int = 2) -> None:
        super().__init__(message)
        self.message, self.hint, self.exit_code = message, hint, exit_code
