"""The hosts that take roles of a measurement, in place of the lab's machine. Nobody loads Dask for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fairground.generators import EngineHost
from fairground.postgres import DatabaseHost


@dataclass(frozen=True)
class Others:
    """The hosts that roles are on, in place of the lab's machine; None: the role is on the lab's machine."""

    generator: EngineHost | None = None
    database: DatabaseHost | None = None

    @property
    def front(self) -> str | None:
        """The address that the generator speaks to; None: the one where everything else listens."""
        return None if self.generator is None else self.generator.front

    @property
    def remarks(self) -> Iterator[str]:
        """The sentences that a person should know of the hosts."""
        for one in (self.generator, self.database):
            yield from () if one is None else one.remarks

    @property
    def versions(self) -> Mapping[str, str]:
        """The description of each host for the record: a run has one set of machines."""
        there = {"generator": self.generator, "database": self.database}
        return {f"{role}'s host": one.described for role, one in there.items() if one is not None}


HERE = Others()
"""All roles are on the lab's machine."""
