"""Several requests to one service, which are loaded together by their weights. A value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from fairground.model import secret
from fairground.model.contract import DataTable
from fairground.model.data import Rows
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
    def texts(self) -> tuple[str, ...]:
        """Every header, body, path and cell of it, each as a line: what may hold a secret."""
        logins = [table.request for table in self.tables.values() if table.request is not None]
        headers = [f"{name}: {value}" for one in self.requests for name, value in one.headers]
        headers += [f"{name}: {value}" for one in logins for name, value in one.headers.items()]
        cells = [f"{column}={value}" for table in self.tables.values() for row in table.rows for column, value in row.items()]
        sent = [(one.path, one.body) for one in self.requests] + [(one.path, one.body) for one in logins]
        return (*headers, *cells, *(text for both in sent for text in both if text))

    def secrets_in(self, rows: Mapping[str, Rows]) -> Iterable[str]:
        """The secrets among the cells of these rows, such as a token that a login gave.

        A column's name tells, or the place where a request sends its cells.
        """
        slots = "\n".join(found for text in self.texts for found in secret.secrets_of([text]))
        for name, table in rows.items():
            for place, column in enumerate(table.columns):
                if secret.is_secret(column) or f"{{{name}.{column}}}" in slots or f"{{{name}.{column}:" in slots:
                    yield from (str(row[place]) for row in table.rows)

    @property
    def title(self) -> str:
        """The mix in a few words."""
        count = len(self.requests)
        return f"{count} request{'' if count == 1 else 's'} of {self.file}"
