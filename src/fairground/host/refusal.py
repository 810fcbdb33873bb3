"""Errors of what cannot be started: by the machine, which is no server's fault, or by the program itself."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from typing import Any

from fairground.model import KeeperEnded, LabError, MachineError, of_machine

NO_NAMESPACE = "as root it needs user namespaces: `./fairground doctor` says what forbids them; or start it as an ordinary user"
"""The hint for where root can make no user namespace."""
NO_NAMESPACE_OF_USER = "it needs user namespaces: `./fairground doctor` says what forbids them, or a container's profile does"
"""The hint for where an ordinary user can make none."""
NO_PROCESSES = "end what else runs here, or allow more processes: `ulimit -u`, systemd's TasksMax, or the container's pids limit"


def refusal_of(program: str, answer: Mapping[str, Any], has_view: bool) -> LabError:
    """The error that the keeper's answer tells: a MachineError unless the program or its folder is at fault.

    `has_view`: it was to have a view of the machine for itself.
    """
    number, said = answer["number"], f"cannot start `{program}`: {answer['error']}"
    if refused := of_machine(OSError(number, answer["error"])):
        return refused
    if number == errno.EAGAIN:
        return MachineError(said, NO_PROCESSES)
    if answer["is_program"]:
        return LabError(said, exit_code=3)
    namespaces = NO_NAMESPACE if os.geteuid() == 0 else NO_NAMESPACE_OF_USER
    return MachineError(said, namespaces if has_view else None)


def too_long() -> MachineError:
    """The error that a command does not fit into one message to the keeper."""
    sentence = "a command with its environment is longer than the kernel lets one message be"
    return MachineError(sentence, "start the lab with a shorter environment: `env | wc -c` tells its length")


def keeper_ended() -> KeeperEnded:
    """The error that the keeper is there no more, nor what it had started."""
    sentence = "the keeper process was killed; everything that this run had started has been ended"
    return KeeperEnded(sentence, "a server may have killed it, or the kernel for want of memory, which `dmesg` tells")
