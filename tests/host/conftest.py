"""What the tests of processes share: a keeper without control groups, beside the session's."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from fairground.host import Keeper, child
from fairground.host.cgroup import Groups


@pytest.fixture
def groupless(monkeypatch: pytest.MonkeyPatch) -> Iterator[Keeper]:
    """A keeper on a machine where no cgroup can be made."""
    monkeypatch.setattr(child.Groups, "create", lambda name: Groups(None, ()))
    with Keeper(os.environ) as kept:
        assert kept.groups.version is None
        yield kept
