"""The words that were typed: as a record keeps them, and out of the process list, where everybody could read a secret in them."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from fairground.cli import door
from fairground.model import secret
from fairground.model.known import KNOWN

IN_A_FILE = (
    "this command line holds a secret, and a shell's history keeps it: `--database @FILE`, `--header @FILE`, `--url @FILE` and"
    " `--body @FILE` read it from a file"
)


def command() -> str:
    """The command that a person would type, as a record keeps it."""
    return "./fairground " + shlex.join(secret.redact_words(sys.argv[1:]))


def conceal() -> None:
    """Take what is secret in this process's words out of the process list, and out of what will be printed."""
    words = sys.argv[1:]
    KNOWN.remember(*secret.secrets_of(words))
    KNOWN.remember(*(value for name, value in os.environ.items() if _is_given(name, value)))
    door.rewrite(KNOWN.scrub)
    _mask(words)


def _is_given(name: str, value: str) -> bool:
    """True if a variable is a secret that somebody set; a desktop calls its own settings those of a session."""
    return secret.is_secret(name) and "SESSION" not in name.upper() and not value.startswith("/")


def warning() -> str | None:
    """The sentence for who typed a secret; None where none was typed."""
    return IN_A_FILE if secret.secrets_of(door.own_words()) else None


def _mask(words: Sequence[str]) -> None:
    """Write the words without their secrets over those that the kernel shows. What it does not let us write stays."""
    shown = secret.redact_words(words)
    if list(words) == shown:
        return
    try:
        line = Path("/proc/self/cmdline").read_bytes()
        typed = b"".join(os.fsencode(word) + b"\0" for word in words)
        if not line.endswith(typed):
            return
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        begin = int(fields[45]) + len(line) - len(typed)  # arg_start, the 48th field
        masked = b"".join(os.fsencode(word) + b"\0" for word in shown)[: len(typed) - 1].ljust(len(typed), b"\0")
        with open("/proc/self/mem", "r+b", buffering=0) as memory:
            memory.seek(begin)
            memory.write(masked)
    except OSError:
        pass
