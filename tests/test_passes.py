"""Which stacks are due for the whole contract."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders.contracts import CONTRACTS
from builders.passes import Passes, key_of
from builders.paths import TESTS
from fairground.host import build
from fairground.inputs import manifest
from fairground.model import Stack


@pytest.fixture
def stacks(tmp_path: Path) -> tuple[Stack, ...]:
    """The three stacks of a server whose folder may be changed."""
    folder = tmp_path / "servers" / "payer"
    build.copy_sources(TESTS / "zoo" / "payer", folder)
    (server,) = manifest.load_servers(folder.parent, CONTRACTS)
    return tuple(server.stacks)


def test_on_a_new_machine_the_first_stack_stands_for_its_server(stacks: tuple[Stack, ...], tmp_path: Path) -> None:
    """Nothing is known: one stack is due, and none once it has passed."""
    passes, key = Passes(tmp_path / "passes"), key_of(stacks[0].server)
    assert [passes.is_due(one, key) for one in stacks] == [True, False, False]
    passes.note(stacks[0], key)
    assert [passes.is_due(one, key) for one in stacks] == [False, False, False]


def test_a_server_that_changed_is_due_with_all_its_stacks(stacks: tuple[Stack, ...], tmp_path: Path) -> None:
    """Another byte in its folder is another key; each stack is due until it has passed with that."""
    passes, server = Passes(tmp_path / "passes"), stacks[0].server
    passes.note(stacks[0], key_of(server))
    (server.folder / "serve.py").write_text("# changed")
    key = key_of(server)
    assert [passes.is_due(one, key) for one in stacks] == [True, True, True]
    passes.note(stacks[0], key)
    passes.note(stacks[1], key)
    assert passes.is_due(stacks[0], key) is False


def test_two_copies_of_a_server_have_one_key(stacks: tuple[Stack, ...], tmp_path: Path) -> None:
    """The key says nothing of where the folder is."""
    build.copy_sources(stacks[0].server.folder, tmp_path / "others" / "payer")
    (copy,) = manifest.load_servers(tmp_path / "others", CONTRACTS)
    assert key_of(copy) == key_of(stacks[0].server)
