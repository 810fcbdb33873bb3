"""The process of an order on a host."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any, cast

import pytest

from fairground.inputs.hosts import HostsAsked
from fairground.lab import joining
from fairground.lab.places import Places


@pytest.mark.parametrize(("given", "kept"), [({}, []), ({"PYTHONPATH": "/mine"}, ["/mine"])])
def test_what_is_on_the_path_stays_behind_the_lab(given: dict[str, str], kept: list[str]) -> None:
    """The lab's own source comes first, and then what the host was started with."""
    places, said = Places.of({"HOME": "/nobody", **given}), cast(Any, SimpleNamespace(name="a"))
    host = joining.worker_of(places, said, HostsAsked("tcp://127.0.0.1:1"))
    assert host.environ["PYTHONPATH"].split(os.pathsep) == [str(places.root / "src"), *kept]
