"""Claims about stacks that took turns are judged by their turns, and all others by whole windows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders.claims import trial, verdict_of
from fairground.claims.verdict import ClaimVerdict
from fairground.model import Load, Trial
from fairground.model.window import WindowTally


def in_turns(stack: str, block: int, rps: float, cost_us: float, whole: float = 1000.0, connections: int = 64) -> Trial:
    """A trial of one round in each block: `rps` and `cost_us` per answer in its turns, and another goodput in its whole window."""
    made = trial(stack, whole, block, load=Load(window_s=5.0, connections=connections))
    return replace(made, round=block, turns=(WindowTally(round(rps), 0, 1.0, cost_us * round(rps)),))


TURNS = [
    in_turns(stack, block, rate * pace, cost, whole=1000 * noise)
    for block, pace, noise in ((1, 1.0, 1.4), (2, 0.5, 0.6), (3, 0.8, 1.0))
    for stack, rate, cost in (("a:x", 9000 + 20 * block, 100.0 + block), ("b:x", 6000, 200.0), ("c:x", 6010 - 9 * block, 201.0))
]


@pytest.mark.parametrize(
    ("test", "expected", "middle"),
    [
        ("rps(a:x ping) / rps(b:x ping) > 1.2", ClaimVerdict.HOLDS, 1.507),
        ("rps(a:x ping) > 2 * rps(b:x ping)", ClaimVerdict.FAILS, 0.753),
        ("rps(a:x ping) * 2 > rps(b:x ping)", ClaimVerdict.HOLDS, 3.013),
        ("rps(b:x ping) / rps(a:x ping) < 0.7", ClaimVerdict.HOLDS, 0.664),
        ("rps(b:x ping) ~ rps(c:x ping)", ClaimVerdict.HOLDS, 1.001),
        ("interval(a:x ping) < interval(b:x ping)", ClaimVerdict.HOLDS, 0.664),
        ("cpu(a:x ping) / cpu(b:x ping) < 0.6", ClaimVerdict.HOLDS, 0.51),
    ],
)
def test_turns_decide_where_there_are_some(test: str, expected: ClaimVerdict, middle: float) -> None:
    """Whole windows scatter too widely for any of these; the machine's pace in each round cancels."""
    judged = verdict_of(test, TURNS)
    assert judged.verdict is expected and "in turns" in judged.sentence
    assert judged.measured is not None and judged.measured.middle == pytest.approx(middle, rel=0.005)


@pytest.mark.parametrize(
    "test",
    [
        "rps(a:x ping c64) / rps(a:x ping c128) > 1.2",
        "rps(a:x ping c64) / rps(b:x ping c128) > 1.2",
        "p50(a:x ping c64) / p50(b:x ping c64) > 1.2",
        "answers(a:x ping c64) / answers(b:x ping c64) > 1.2",
        "rps(a:x ping c64) > 1.2k",
        "rps(a:x ping c64) / rps(b:x ping c64) > rps(c:x ping c64) / rps(b:x ping c64)",
        "rps(a:x ping c64) / rps(d:x ping c64) > 1.2",
    ],
)
def test_what_turns_do_not_tell_is_judged_by_whole_windows(test: str) -> None:
    """Cells of another load, other metrics, more than two cells, and a stack that was measured by itself."""
    other = [in_turns(one.cell.stack, one.block, 4000, 100.0, connections=128) for one in TURNS]
    alone = [replace(in_turns("d:x", block, 4000, 100.0), round=10 + block) for block in (1, 2, 3)]
    judged = verdict_of(test, [*TURNS, *other, *alone])
    assert judged.measured is not None and "in turns" not in judged.sentence


def test_turns_say_what_it_would_take() -> None:
    """An inconclusive ratio of turns tells the blocks that its own spread asks for."""
    near = [in_turns("a:x", block, 6000 + 300 * (-1) ** block, 100.0) for block in (1, 2, 3, 4)]
    near += [in_turns("b:x", block, 5900, 100.0) for block in (1, 2, 3, 4)]
    judged = verdict_of("rps(a:x ping) > rps(b:x ping)", near)
    assert judged.verdict is ClaimVerdict.INCONCLUSIVE and "in turns; about" in judged.sentence
