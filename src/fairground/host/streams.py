"""The streams of a process that is started."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO


@dataclass(frozen=True)
class Streams:
    """The streams of a process: descriptors or files; None is /dev/null."""

    stdin: int | IO[bytes] | None = None
    stdout: int | IO[bytes] | None = None
    stderr: int | IO[bytes] | None = None

    @classmethod
    def into(cls, output: int | IO[bytes], stdin: int | IO[bytes] | None = None) -> Streams:
        """Send all that it writes to one place."""
        return cls(stdin, output, output)

    def descriptors(self, null: int) -> list[int]:
        """The three in their order; `null` is that of /dev/null."""
        return [
            null if stream is None else stream if isinstance(stream, int) else stream.fileno()
            for stream in (self.stdin, self.stdout, self.stderr)
        ]


@contextmanager
def in_memory(text: str) -> Iterator[int]:
    """Hold a text in a file without a name, for another process: its descriptor."""
    with open(os.memfd_create("text"), "wb", buffering=0) as file:
        file.write(text.encode("utf-8", "surrogateescape"))
        yield file.fileno()
