"""A host or a scheduler that sends code: the lab makes nothing of it, and what honest hosts send is read."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_type_hints

import distributed.client
import pytest
from distributed.core import clean_exception, error_message
from distributed.protocol import core, to_serialize
from distributed.protocol.serialize import ToPickle, families

from builders.full import full
from builders.paths import ROOT, TESTS
from fairground.fleet import cluster, tls, unpickling
from fairground.fleet.unpickling import TYPES, Unreadable, known_types_only, loads
from fairground.host import CpuClock, Moment, Stopped
from fairground.host.usage import HostReading
from fairground.model import DatabaseEnded, GoneError, LabError, MachineError, RoleUse, StorageError
from fairground.postgres import DatabaseAddress


@dataclass(frozen=True)
class Hostile:
    """A value that writes a file where it is read."""

    path: str

    def __reduce__(self) -> Any:
        return open, (self.path, "w")


class HostileError(Exception):
    """An error that writes a file where it is read."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def __reduce__(self) -> Any:
        return open, (self.path, "w")


def through_comm(value: object) -> object:
    """A value as a connection of Dask's brings it."""
    return core.loads([bytes(frame) for frame in core.dumps({"result": value})])["result"]


def as_error(value: Any) -> object:
    """An error as Dask's client reads it; what is none is refused by Dask itself."""
    try:
        return clean_exception(pickle.dumps(value))[1]
    except AssertionError:
        return None


def error_message_of(error: Exception) -> dict[str, Any]:
    """What a host sends of an error that was raised there: `error_message` of Dask, through a connection."""
    try:
        raise error
    except Exception as raised:
        return dict(through_comm(error_message(raised)))  # type: ignore[call-overload]


def as_traceback(value: Any) -> object:
    """A traceback as Dask's client reads it; it may be refused by an error of Dask's own."""
    try:
        return clean_exception("plain", pickle.dumps(value))
    except AssertionError:
        return None


def as_warning(value: Any) -> object:
    """A warning that a scheduler makes the client show."""
    return distributed.client.pickle.loads(pickle.dumps(value))  # type: ignore[attr-defined]


def as_type(value: Any) -> object:
    """The type of a result, which a scheduler tells beside it."""
    return distributed.client.loads(pickle.dumps(value))


def nested(value: Any) -> object:
    """Inside of a known type."""
    return through_comm(to_serialize({"address": [RoleUse(1.0, None, None, value)]}))


WAYS: list[Callable[[Any], object]] = [
    lambda value: through_comm(to_serialize(value)), lambda value: through_comm(ToPickle(value)), as_error, as_traceback, as_warning,
    as_type, nested,
]  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_nothing_that_is_sent_runs(way: Callable[[Any], object], tmp_path: Path) -> None:
    """By each way into the client; the same is run without the guard, so that the attack is one."""
    value = Hostile(str(tmp_path / "written"))
    with known_types_only():
        way(value)
        assert not (tmp_path / "written").exists()
    way(value)
    assert (tmp_path / "written").exists()


@pytest.mark.parametrize("name", ["posix\nsystem", "builtins\neval", "builtins\ngetattr", "fairground.host.child\nos.system",
                                  "builtins\nSystemExit", "importlib\nimport_module"])  # fmt: skip
def test_only_known_names_are_looked_up(name: str) -> None:
    """Functions, dotted names and types that do something are refused by name, and not imported."""
    found = loads(b"c" + name.encode() + b"\n(V/\ntR.")
    assert isinstance(found, Unreadable) and name.replace("\n", ".") in found.message


@pytest.mark.parametrize(
    "text",
    [b"cfairground.host.strangers\nStrangers\n", b"cbuiltins\nValueError\n", b"cdistributed.core\nStatus\n",
     b"ctblib.pickling_support\nunpickle_exception\n"],
)  # fmt: skip
def test_no_class_of_the_labs_is_changed(text: bytes) -> None:
    """A pickle may set attributes of what it names: of a value that it made, and not of a class or a function."""
    before = {one: dict(vars(one)) for one in (*TYPES, ValueError, unpickling._Nothing, unpickling._error)}
    found = loads(text + b"(N}Vsince\nctblib.pickling_support\nunpickle_traceback\nstb.")
    assert isinstance(found, Unreadable) and "for what is no value" in found.message
    assert {one: dict(vars(one)) for one in before} == before


@pytest.mark.parametrize("text", [b"", b"\x80\x05", b"garbage", b"\x80\x05\x82\x01.", b"P1\n.", b"N" * 3])
def test_what_is_no_pickle_is_told(text: bytes) -> None:
    """Also numbers of a registry, and what is kept elsewhere."""
    assert isinstance(loads(text), Unreadable) or loads(text) is None


@pytest.mark.parametrize(
    "value",
    [b"bytes", ["a", "b"], None, 1.5, (1, "x"), {"a": b"c"}, full(CpuClock), full(Stopped), full(RoleUse), full(DatabaseAddress)],
    ids=lambda value: type(value).__name__,
)
def test_what_honest_hosts_answer_is_read(value: object) -> None:
    """Each value as it was."""
    with known_types_only():
        assert through_comm(to_serialize(value)) == value


def test_moments_and_errors_of_hosts_are_read() -> None:
    """With their words, hints and exit codes."""
    with known_types_only():
        moment = through_comm(to_serialize(Moment(None)))
        assert isinstance(moment, Moment) and moment.own_ns > 0
        for error in (
            LabError("no room", "make some", 3),
            MachineError("gone"),
            StorageError("no room", "make some"),
            DatabaseEnded("the database server ended with exit code -9", "look"),
            GoneError("results/one"),
            RuntimeError("ended with 1"),
            OSError(2, "none"),
        ):
            found = clean_exception(**error_message_of(error))[1]
            assert type(found) is type(error) and str(found) == str(error) and vars(found) == vars(error)


def test_every_type_inside_of_an_answer_is_known() -> None:
    """A field that is added to what a host answers needs its type in the list."""

    def within(kind: Any) -> Iterator[type]:
        for one in get_args(kind):
            yield from within(one)
        if is_dataclass(kind) and isinstance(kind, type):
            yield kind
            hints = get_type_hints(kind)
            for field in fields(kind):
                yield from within(hints[field.name])

    found = {one for kind in (CpuClock, HostReading, Stopped, RoleUse, DatabaseAddress) for one in within(kind)}
    assert found <= set(TYPES) and len(found) >= 8


def test_dask_reads_pickles_where_they_are_guarded() -> None:
    """A version of Dask with another way in for the client has to be looked at."""
    folder = Path(distributed.client.__file__).parent
    client = [*folder.glob("*.py"), *folder.glob("comm/*.py"), *folder.glob("protocol/*.py")]
    found = {
        str(path.relative_to(folder))
        for path in client
        if "pickle.loads(" in path.read_text() or "cloudpickle.loads(" in path.read_text() or "Unpickler(" in path.read_text()
    }
    own_forms = {"protocol/numpy.py", "protocol/cuda.py"}
    of_hosts = {"worker.py", "nanny.py", "scheduler.py"}
    assert found - own_forms - of_hosts == {
        "client.py",
        "core.py",
        "protocol/core.py",
        "protocol/pickle.py",
        "protocol/serialize.py",
    }


def test_the_guard_ends_with_the_last_who_holds_it() -> None:
    """Two clients in one process; afterwards Dask is as it was, for a host of the same process."""
    before = dict(families)
    with known_types_only():
        with known_types_only():
            assert distributed.client.pickle is not pickle  # type: ignore[attr-defined]
        assert distributed.client.pickle is not pickle  # type: ignore[attr-defined]
    assert distributed.client.pickle is pickle and families == before  # type: ignore[attr-defined]


HOSTILE_HOST = """
import sys
from distributed import LocalCluster
from fairground.fleet import about, link, worker
from fleet.made import host

class Written:
    def __init__(self, path):
        self.path = path
    def __reduce__(self):
        return open, (self.path, "w")

class WrittenError(Exception, Written):
    __reduce__ = Written.__reduce__

def answer(*_):
    if sys.argv[2] == "raises":
        raise WrittenError(sys.argv[1])
    return Written(sys.argv[1]) if sys.argv[2] == "is" else ["a", Written(sys.argv[1])]

def main():
    worker.Host.lacking = worker.Host.carry_out = answer
    link.settle()
    with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, protocol="tcp", host="127.0.0.1",
                      dashboard_address=link.NOT_SERVED, worker_dashboard_address=link.NOT_SERVED,
                      resources=dict.fromkeys(about.ROLES, 1.0),
                      startup_information={worker.NAME: lambda _: host("evil").to_json()}) as made:
        (one,) = made.workers.values()
        one.plugins[worker.NAME] = worker.Host(host("evil"), worker.OrderCommand((), {}), None, None, awake=False)
        print(made.scheduler_address, flush=True)
        sys.stdin.read()

main()
"""


@pytest.mark.live
@pytest.mark.parametrize("how", ["is", "holds", "raises"])
def test_a_hostile_host_runs_nothing_here(how: str, tmp_path: Path) -> None:
    """It is told in a sentence, in place of an answer to a question and to an order, and the lab's client lives on."""
    path = tmp_path / "written"
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{TESTS}"}
    evil = subprocess.Popen(
        [sys.executable, "-c", HOSTILE_HOST, str(path), how],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert evil.stdin is not None and evil.stdout is not None
    try:
        with cluster.connect(tls.address(evil.stdout.readline().strip()), None) as client:
            (member,) = cluster.members(client)
            with pytest.raises(LabError, match="`evil`"):
                cluster.send(client, member, {"a": ("one", {})})
            (done,) = cluster.carried_out(client, [(b"order", [member])])
            assert done.answer is None and done.failure
            assert [one.about.name for one in cluster.members(client)] == ["evil"]
    finally:
        evil.stdin.close()
        evil.wait(30)
    assert not path.exists()
