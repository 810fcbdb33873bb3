"""The database servers of a run: one at a time, and which versions there are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from builders.testbed import FakeServer
from fairground.host import Keeper
from fairground.lab import building, doctor
from fairground.lab.events import Absent, Said, Within
from fairground.lab.places import Places
from fairground.lab.run import without_own_version
from fairground.model import CellSettings, LabError, Load, RunSettings, Suite, SuiteGroup
from fairground.postgres import Database, databases, packages
from fairground.postgres.address import DatabaseAddress
from fairground.postgres.databases import Databases

GROUP = SuiteGroup(("a",), ("ping",), (Load(),), CellSettings())
URL = "postgresql://127.0.0.1/x"


def on(*versions: int | None) -> Suite:
    """A suite with a group for each version."""
    groups = [replace(GROUP, settings=replace(GROUP.settings, postgres_version=version)) for version in versions]
    return Suite("one", "one", "", 1, 1, tuple(groups))


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was started and stopped."""
    said = list[str]()

    @contextmanager
    def start(
        keeper: object, cache: object, url: object, settings: object, version: int | None, there: object, port: object
    ) -> Iterator[FakeServer]:
        said.append(f"start {version}")
        yield FakeServer(version, lambda _: None)
        said.append(f"stop {version}")

    monkeypatch.setattr(databases, "open_database", start)
    return said


def made(keeper: Any, *versions: int | None, url: str | None = None) -> Databases:
    """Those of a run."""
    return Databases(keeper, Path(), url, RunSettings(), versions)


def test_one_runs_at_a_time(told: list[str]) -> None:
    """Another version's server is stopped before one starts; the same one stays; none is left at the end."""
    with made(None, 16, None) as found:
        assert list(found.ready()) == []
        assert told == ["start None", "stop None", "start 16"]
        assert found.of(16) is found.now
        found.of(None)
        assert told[3:] == ["stop 16", "start None"]
    assert told[-1] == "stop None"


def test_each_version_is_disclosed(told: list[str]) -> None:
    """Releases and settings are of every version, and a run of one version has them as ever."""
    with made(None, 16, None) as found:
        list(found.ready())
        assert found.releases() == {"PostgreSQL": "18.1", "PostgreSQL 16": "16.1"}
        assert found.settings() == {"fsync": "off", "io_method (PostgreSQL 16)": "sync", "io_method (PostgreSQL 18)": "worker"}
    with made(None, 17) as found:
        list(found.ready())
        assert found.releases() == {"PostgreSQL": "17.1"}
        assert found.settings() == {"fsync": "off", "io_method": "sync"}


def test_a_given_servers_settings_are_kept_without_their_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """A standby's password, or the key of an archive, is its owner's matter."""
    rows = [
        ("archive_command", "AWS_SECRET_ACCESS_KEY=s3cret wal-g wal-push %p"),
        ("primary_conninfo", "host=a user=b password=s3cret"),
        ("work_mem", "7MB"),
    ]
    answered: Any = SimpleNamespace(execute=lambda *_: SimpleNamespace(fetchall=lambda: rows))
    given = Database(DatabaseAddress("127.0.0.1", 1, "lab", "word"), None)
    monkeypatch.setattr(given, "connect", lambda *_, **__: nullcontext(answered))
    assert given.settings() == {
        "archive_command": "AWS_SECRET_ACCESS_KEY=(hidden) wal-g wal-push %p",
        "primary_conninfo": "host=a user=b password=(hidden)",
        "work_mem": "7MB",
    }


def test_a_given_database_has_one_version() -> None:
    """Several versions of one are refused before anything is built."""
    with pytest.raises(
        LabError, match="^a given database is of one version, and several are asked for: PostgreSQL 16, PostgreSQL 18$"
    ):
        databases.check_versions((16, None), URL)
    databases.check_versions((16, None), None)
    databases.check_versions((16,), URL)


def test_the_labs_own_version_makes_no_cell_of_its_own() -> None:
    """Naming 18 is the same as naming none; a given database is asked whether it is 18."""
    assert without_own_version(on(16, 18), None) == on(16, None)
    assert without_own_version(on(18), URL) == on(18)


def test_a_version_that_cannot_be_had_is_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told with its reason, and nobody looks for the lab's own."""

    def refuse(version: int, *_: object) -> Path:
        raise LabError(f"PostgreSQL {version} could not be brought: no network", "look", 3)

    monkeypatch.setattr(packages, "programs", refuse)
    events = list[Within]()
    with Keeper({}) as keeper:
        found = building.absent_versions(keeper, Places(cache=tmp_path), (None, 16), events.append)
    why = "PostgreSQL 16 could not be brought: no network → look"
    assert events == [Said("bringing PostgreSQL 16 …"), Absent("PostgreSQL 16", why)]
    assert found == {"PostgreSQL 16": why}


def test_the_doctor_says_which_versions_are_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One in the cache is ok; one that a run would bring, or that lacks its installer, is optional."""
    monkeypatch.setattr(packages, "at_hand", lambda version, _: tmp_path if version == 16 else None)
    monkeypatch.setattr(packages.platform, "machine", lambda: "x86_64")
    here, missing = packages.checks(tmp_path, str(tmp_path))
    assert (here.state, here.sentence) == ("ok", f"PostgreSQL 16 is at {tmp_path}")
    assert (missing.state, missing.fix) == ("optional", "apt-get install -y npm")
    assert list(doctor.fixes([missing]))[-1] == ["apt-get", "install", "-y", "npm"]
    (tmp_path / "npm").touch(mode=0o755)
    _, later = packages.checks(tmp_path, str(tmp_path))
    assert (later.state, later.fix) == ("optional", None) and "the first run that names it brings it" in later.sentence
