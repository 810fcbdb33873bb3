"""The process of a host that carries out an order, and what it ends with."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from builders.paths import ENGINE
from fairground.fleet.order import Order, OrderWork
from fairground.fleet.worker import Host, OrderCommand
from fleet.made import host, plan

ORDER = Order(OrderWork.SHARE, plan(1), {}).to_json()


def carried_out(script: str, place: Path) -> bytes:
    """What a host answers whose measuring process is a script of a shell."""
    return Host(host("rack-2"), OrderCommand(("sh", "-c", script), os.environ), place, ENGINE, awake=False).carry_out(
        "key", ORDER
    )


def test_an_answer_is_passed_on(tmp_path: Path) -> None:
    """The process is given the order on a line, and what it prints is the answer."""
    assert carried_out("head -n 1", tmp_path) == ORDER + b"\n"


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("head -n 1; echo no room >&2; exit 3", "ended with 3: no room"),
        ("head -n 1 > /dev/null", "ended with 0: it said nothing"),
        ("exec true", "ended with 0: it said nothing"),
        ("kill -9 $$", "ended with -9: it said nothing"),
    ],
)
def test_half_an_answer_is_none(script: str, said: str, tmp_path: Path) -> None:
    """A process that fails behind its answer, one that gives none, and one that does not even read the order."""
    with pytest.raises(RuntimeError, match=f"^host `rack-2`: the measuring process {said}$"):
        carried_out(script, tmp_path)
