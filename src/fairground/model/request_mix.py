"""Several requests to one service, which are loaded together by their weights. A value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fairground.model.contract import DataTable
from fairground.model.workload import LoadRequest


@dataclass(frozen=True)
class RequestMix:
    """The requests of a file. `digest` is the SHA-256 of its bytes."""

    file: str
    digest: str
    requests: tuple[LoadRequest, ...]
    tables: Mapping[str, DataTable] = field(default_factory=dict)
    """The rows that they draw from, those first that others are asked for."""
    unsettled: frozenset[str] = frozenset()
    """The names of those of which only the service's first answer says what status is good."""

    @property
    def headers(self) -> tuple[str, ...]:
        """Every header of a request, as a line."""
        return tuple(f"{name}: {value}" for one in self.requests for name, value in one.headers)

    @property
    def title(self) -> str:
        """The mix in a few words."""
        count = len(self.requests)
        return f"{count} request{'' if count == 1 else 's'} of {self.file}"
