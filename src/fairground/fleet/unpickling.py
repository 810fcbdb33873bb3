"""Read the pickles that a fleet sends to the lab: values of a few known types, and nothing that runs.

Results and errors of Dask are pickles, and a pickle may name any function to call. Dask cannot be told to do without them: it
reads some whatever its client's `deserializers` are. So its own reader is replaced while the lab is a client.
"""

from __future__ import annotations

import builtins
import io
import pickle
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import distributed.client
import distributed.protocol.pickle
from distributed.actor import Actor
from distributed.protocol.serialize import families

from fairground.fleet.clusters import Clusters
from fairground.fleet.engines import Engines
from fairground.host import CpuClock, Moment, Stopped
from fairground.host.spent import Ran
from fairground.host.strangers import Strangers
from fairground.host.surroundings import Surroundings
from fairground.host.usage import HostReading
from fairground.model import LabError, RoleUse, error
from fairground.postgres import DatabaseAddress

OWN_ERRORS = tuple(one for one in vars(error).values() if isinstance(one, type) and issubclass(one, LabError))
TYPES = (Actor, Clusters, Engines, CpuClock, DatabaseAddress, HostReading, Moment, Ran, RoleUse, Stopped, Strangers, Surroundings,
         *OWN_ERRORS)  # fmt: skip
"""What hosts answer with, beside numbers, texts and their sequences. A type is made of any values without doing anything."""
ERRORS = {
    name: one
    for name, one in vars(builtins).items()
    if isinstance(one, type) and issubclass(one, Exception) and name == one.__name__
}
HINT = "measure with hosts that you trust, and install one version of the lab on all of them"


class Unreadable(LabError):
    """The error that stands in place of a value of no known type."""


class _Nothing:
    """The value in place of what an error of Dask's own carries: it takes any state, and does nothing."""

    def __init__(self, *_: object, **__: object) -> None: ...

    def __setstate__(self, _: object) -> None: ...


class _LostError(Exception):
    """The error that tells of an order which has lost all of its hosts."""

    def __str__(self) -> str:
        return "each host that began it was lost"


def _error(kind: object, arguments: object, *_: object) -> Exception:
    """Make an error of a known kind, as Dask packs it; where it was raised and why is left out."""
    return _kind(kind)(*arguments) if isinstance(arguments, tuple) else _kind(kind)()


def _error_by_values(kind: object, values: Mapping[str, Any], *_: object) -> Exception:
    """Make an error of a known kind by its attributes. Dask packs one with an `__init__` of its own so."""
    made = _kind(kind).__new__(_kind(kind))
    made.args = tuple(values["args"])
    vars(made).update(values["__dict__"])
    for name in ("errno", "strerror", "filename", "filename2") if isinstance(made, OSError) else ():
        if name in values:
            setattr(made, name, values[name])
    return made


def _kind(kind: object) -> type[Exception]:
    if not isinstance(kind, type) or not issubclass(kind, Exception):
        raise Unreadable("an error was sent that is none", HINT)
    return kind


class _Unpickler(pickle._Unpickler):
    """The reader that makes values of `TYPES` and Python's own errors. Raises `Unreadable` for whatever else a pickle names.

    It is pickle's reader in Python: in that in C nobody sees whose attributes are set, be it those of a class of the lab's.
    """

    def load_build(self) -> None:
        """Give a value its attributes. Raise `Unreadable` for what is no value, and would stay changed."""
        if not isinstance(self.stack[-2], (*TYPES, Exception, _Nothing)):  # type: ignore[attr-defined]
            raise Unreadable("attributes were sent for what is no value", HINT)
        super().load_build()  # type: ignore[misc]

    dispatch = {**pickle._Unpickler.dispatch, pickle.BUILD[0]: load_build}  # type: ignore[dict-item]

    def find_class(self, module: str, name: str) -> Any:
        found = _KNOWN.get((module, name))
        if found is None and module.split(".")[0] == "distributed":
            return _Nothing
        if found is None:
            raise Unreadable(f"`{module}.{name}` was sent, which the lab does not read", HINT)
        return found


_TBLIB = "tblib.pickling_support"
_KNOWN: Mapping[tuple[str, str], Any] = {
    **{(one.__module__, one.__qualname__): one for one in TYPES},
    **{("builtins", name): one for name, one in ERRORS.items()},
    **{("tblib", name): _Nothing for name in ("Frame", "Traceback", "Code")},
    (_TBLIB, "unpickle_traceback"): lambda *_: None,
    (_TBLIB, "unpickle_exception"): _error,
    (_TBLIB, "unpickle_exception_with_attrs"): _error_by_values,
    ("distributed.scheduler", "KilledWorker"): _LostError,
}
"""Module and name → what stands for it here."""


def loads(text: Any, *, buffers: Any = ()) -> Any:
    """Make the value of a pickle. One that names anything unknown is an `Unreadable`: an error here would end Dask's client."""
    try:
        return _Unpickler(io.BytesIO(text), buffers=buffers).load()
    except Unreadable as refused:
        return refused
    except Exception as failed:
        return Unreadable(f"a pickle was sent that cannot be read ({type(failed).__name__})", HINT)


def _read_bytes(header: Mapping[str, Any], frames: Any) -> object:
    """Read the only one of Dask's own forms that hosts use: the readers of others may do anything."""
    if header.get("type") in ("bytes", "builtins.bytes"):
        return b"".join(map(bytes, frames))
    return Unreadable("a value was sent in a form that the lab does not read", HINT)


_holding = threading.Lock()
_held = 0


@contextmanager
def known_types_only() -> Iterator[None]:
    """Let Dask in this process make only known values of what arrives. Not in a host, for which tasks are code."""
    _hold(1)
    try:
        yield
    finally:
        _hold(-1)


def _hold(more: int) -> None:
    global _held
    with _holding:
        before, _held = _held, _held + more
        if bool(before) == bool(_held):
            return
        reader = SimpleNamespace(**{**vars(pickle), "loads": loads}) if _held else pickle
        for module in (distributed.protocol.pickle, distributed.client):  # both read by this name, and by no other
            module.pickle = reader  # type: ignore[attr-defined]
        distributed.client.Client._default_event_handlers = {} if _held else _EVENTS  # they print what the other side likes
        for name, (dumps, made, context) in _FAMILIES.items():
            families[name] = (dumps, _read_bytes if _held else made, context)


_EVENTS = distributed.client.Client._default_event_handlers
_FAMILIES: Mapping[str, tuple[Callable[..., Any], Callable[..., Any], bool]] = {
    name: family for name, family in families.items() if name not in ("pickle", "msgpack", "error")
}
"""Dask's own forms of values, beside pickles and plain ones."""
