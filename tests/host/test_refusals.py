"""Ports, connections and processes that this machine refuses are its own fault, and no server's."""

from __future__ import annotations

import errno
import os
import socket
import time

import pytest

from fairground.contract.wire import CaseWire, Trouble
from fairground.host import Keeper, network
from fairground.host.refusal import NO_NAMESPACE, NO_NAMESPACE_OF_USER, refusal_of
from fairground.model import MachineError


def refusing(number: int) -> object:
    """A `create_connection` that the kernel refuses so."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    return refuse


@pytest.mark.parametrize("number", [errno.EADDRNOTAVAIL, errno.EMFILE, errno.ENFILE])
def test_no_connection_of_the_lab(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting for a server and trying a case on it both end with the machine's refusal."""
    monkeypatch.setattr(socket, "create_connection", refusing(number))
    with pytest.raises(MachineError):
        network.wait_ready("127.0.0.1", 1, "/ready", 204, 0.1, lambda: True)
    with pytest.raises(MachineError):
        CaseWire("127.0.0.1", 1, time.monotonic() + 5)


def test_a_server_that_refuses_is_the_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A refused connection is an answer of the other side."""
    monkeypatch.setattr(socket, "create_connection", refusing(errno.ECONNREFUSED))
    assert "connection refused" in str(network.wait_ready("127.0.0.1", 1, "/ready", 204, 0.05, lambda: True))
    with pytest.raises(Trouble):
        CaseWire("127.0.0.1", 1, time.monotonic() + 5)


def test_no_free_port(monkeypatch: pytest.MonkeyPatch) -> None:
    """A block of ports that are all taken is the machine's fault."""
    monkeypatch.setattr(network, "_block", lambda *_: 18_000)

    class Taken(socket.socket):
        def bind(self, _: object) -> None:
            raise OSError(errno.EADDRINUSE, "in use")

    monkeypatch.setattr(network.socket, "socket", Taken)
    with pytest.raises(MachineError, match="no free port between 18000 and 18049"):
        network.free_port()


def test_a_program_that_is_missing_is_no_refusal_of_the_machine(keeper: Keeper) -> None:
    """The keeper tells the kernel's number: only its lacks are the machine's."""
    with pytest.raises(Exception, match="cannot start") as missing:
        keeper.spawn(["no-such-program"], role="server", env={})
    assert not isinstance(missing.value, MachineError)


@pytest.mark.parametrize(
    ("number", "is_program", "of_machine"),
    [(errno.EAGAIN, False, True), (errno.EAGAIN, True, True), (errno.ENOENT, True, False), (errno.EACCES, True, False)],
)
def test_who_is_at_fault_for_what_cannot_be_started(number: int, is_program: bool, of_machine: bool) -> None:
    """Want of processes is the machine's, whoever meets it; a program that is not there, or no program, is at fault itself."""
    refused = refusal_of("true", {"number": number, "error": os.strerror(number), "is_program": is_program}, False)
    assert isinstance(refused, MachineError) is of_machine


@pytest.mark.parametrize(("uid", "hint"), [(0, NO_NAMESPACE), (1000, NO_NAMESPACE_OF_USER)])
def test_who_gets_no_namespace_is_told_as_who_he_is(uid: int, hint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An ordinary user is not told to be one."""
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    refused = refusal_of("true", {"number": errno.EPERM, "error": "operation not permitted", "is_program": False}, True)
    assert isinstance(refused, MachineError) and refused.hint == hint
