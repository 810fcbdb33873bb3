"""The database servers of a run: one for each version of PostgreSQL that its cells name, of which one runs at a time.

So each trial has one database server on the machine, as in a run of one version: another one would hold its memory meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import fields
from pathlib import Path
from types import TracebackType

from fairground.host import Keeper
from fairground.model import OWN_MAJOR, Cell, LabError, RunSettings
from fairground.model.contract import ContractData
from fairground.postgres.database import Database, DatabaseHost
from fairground.postgres.embedded import start
from fairground.postgres.given import given_database, hold_alone

Version = int | None
"""A version of PostgreSQL, as a cell's settings name it; None: the lab's own, or that of the given database."""


class Databases:
    """Start and stop the database servers of a run. This is a context: once it is left, none runs."""

    def __init__(
        self,
        keeper: Keeper,
        cache: Path,
        url: str | None,
        settings: RunSettings,
        versions: Sequence[Version],
        data: Sequence[ContractData] = (),
        there: DatabaseHost | None = None,
        port: int | None = None,
    ) -> None:
        """`data`: what is made on each. `there`: the host that they run on; None: they run on this machine.

        `port`: the one at which the lab's own is wanted, as `start` has it.
        """
        check_versions(versions, url)
        self._keeper, self._cache, self._url, self._settings, self._versions = keeper, cache, url, settings, versions
        self._data, self._there, self._port = data, there, port
        self._held, self._running = ExitStack(), dict[Version, Database]()
        self._releases, self._disclosed = dict[Version, str](), dict[Version, dict[str, str]]()

    def __enter__(self) -> Databases:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._held.close()

    def of(self, version: Version) -> Database:
        """The server of a version, running; another one is stopped first."""
        if version not in self._running:
            self._running.clear()
            self._held.close()
            server = open_database(self._keeper, self._cache, self._url, self._settings, version, self._there, self._port)
            self._running[version] = self._held.enter_context(server)
        return self._running[version]

    @property
    def now(self) -> Database:
        """The server that runs, else the first."""
        return next(iter(self._running.values()), None) or self.of(self._versions[0])

    def ready(self) -> Iterator[str]:
        """Start each once and make its data, the first at last, so that it runs then. What is to be said of them."""
        for version in reversed(self._versions):
            database = self.of(version)
            yield from database.remarks
            for data in self._data:
                database.prepare(data)
            self._releases[version], self._disclosed[version] = database.version(), database.settings()

    def releases(self) -> dict[str, str]:
        """`PostgreSQL` → its release once it is `ready`; with several versions that of another is `PostgreSQL 17`."""
        one = len(self._releases) == 1
        found = {
            "PostgreSQL" if one or version is None else version_name(version): text for version, text in self._releases.items()
        }
        return dict(sorted(found.items()))

    def settings(self) -> dict[str, str]:
        """Settings that differ from the defaults, once all are `ready`. One that versions do not share names its version."""
        names = sorted({name for settings in self._disclosed.values() for name in settings})
        found = dict[str, str]()
        for name in names:
            values = {version: settings.get(name) for version, settings in self._disclosed.items()}
            if len(set(values.values())) == 1:
                found[name] = str(next(iter(values.values())))
            else:
                found |= {f"{name} ({version_name(version)})": text for version, text in values.items() if text is not None}
        return found


@contextmanager
def open_database(
    keeper: Keeper,
    cache: Path,
    url: str | None,
    settings: RunSettings,
    version: int | None = None,
    there: DatabaseHost | None = None,
    port: int | None = None,
) -> Iterator[Database]:
    """The given database, or the lab's own under a run's settings, stopped at the end.

    `version`: the major version that is asked for; None: the lab's own, or whichever the given database has. `there`: the host
    that the lab's own is on; None: it is on this machine. `port`: the one at which the lab's own is wanted, see `start`.
    """
    if url and settings.postgres:
        raise LabError(
            "PostgreSQL settings go with the embedded database", "change them in the given one, or leave out `--database`"
        )
    with hold_alone(url) if url else nullcontext():
        if url:
            found = given_database(url, version, settings.durability)
        elif there is not None:
            found = there.start(settings.durability, dict(settings.postgres), version)
        else:
            own = dict(settings.postgres)
            found = start(keeper, cache, settings.durability, own, version or OWN_MAJOR, port=port)
        found.keeper = keeper
        try:
            yield found
        finally:
            found.stop()


def versions_of(cells: Iterable[Cell]) -> list[Version]:
    """The versions of PostgreSQL that cells name, each once."""
    return list(dict.fromkeys(cell.settings.postgres_version for cell in cells))


def settings_of(cells: Iterable[Cell]) -> RunSettings:
    """The settings that all cells share; LabError when they do not, since a run's database servers have the same."""
    values = {cell.settings.run for cell in cells}
    if len(values) != 1:
        apart = next(one.name for one in fields(RunSettings) if len({getattr(value, one.name) for value in values}) > 1)
        there = ", ".join(sorted({str(getattr(value, apart)) for value in values}))
        raise LabError(f"the plan has several values of `{apart}`: {there}", "make a run for each of them")
    (shared,) = values
    return shared


def version_name(version: Version) -> str:
    """`PostgreSQL 17`."""
    return f"PostgreSQL {version or OWN_MAJOR}"


def check_versions(versions: Sequence[Version], url: str | None) -> None:
    """LabError for several versions of a given database, which has one."""
    if url and len(versions) > 1:
        raise LabError(
            f"a given database is of one version, and several are asked for: {', '.join(map(version_name, versions))}",
            "name one of them, or leave out `--database`",
        )
