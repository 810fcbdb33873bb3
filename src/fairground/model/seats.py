"""The cores of a machine that each role of a measurement has."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Seats:
    """The cores of each role by the kernel's numbers, ascending; all three are empty where the roles share the machine.

    Generator and database may have the same cores. `remark` says in what the machine falls short; empty: in nothing.
    """

    server: tuple[int, ...]
    database: tuple[int, ...]
    generator: tuple[int, ...]
    remark: str = ""

    @property
    def shared(self) -> bool:
        """True if the machine has too few cores to give the server its own."""
        return not self.server
