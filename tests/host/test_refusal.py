"""Who is at fault for what cannot be started: the machine, or the program."""

from __future__ import annotations

import errno
import os

import pytest

from fairground.host.refusal import NO_NAMESPACE, NO_NAMESPACE_OF_USER, refusal_of
from fairground.model import MachineError


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
