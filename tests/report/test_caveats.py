"""What `compare` says beside the numbers of two servers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fairground.model import CellSettings, Finding, Load, Severity
from fairground.model.contract import SqlFile
from fairground.model.pair import Round, WindowPair, WindowTally
from fairground.model.record import ComparisonAsked
from fairground.report.text import caveats
from fairground.stats import rounds

SETTINGS = CellSettings(workers=1, pool_size=4)
ASKED = ComparisonAsked("a", "b", "one:a", "one:b", None, "ping", Load(), SETTINGS, 1, 180.0, 0.005, 5, 0.01, 0.1)


def decision(starts: int = 8, spread: float = 0.001, not_ok: int = 0, void: int = 0) -> rounds.Decision:
    """Starts whose costs spread evenly by ± `spread`, of two equal servers; B fails `not_ok` of 10,000 requests."""
    one = WindowTally(10_000, 0, 1.0, 1e6)
    pairs = [
        WindowPair(number, 1, "a", one, WindowTally(10_000 - not_ok, not_ok, 1.0, 1e6 * (1 + spread * (number % 5 - 2) / 2)))
        for number in range(1, starts + 1)
    ]
    return rounds.decide([*pairs, *[replace(pairs[0], void="steal") for _ in range(void)]], 0.01)


def said(found: rounds.Decision, asked: ComparisonAsked = ASKED, awake: bool = False, cores: int = 1) -> list[str]:
    """The sentences after the first, which says how much was measured."""
    first, *others = caveats.of_rounds(asked, found, 95.0, awake, cores)
    assert first == f"{found.pairs} pairs of windows, in turns, over {found.rounds} starts of both servers, in 1 min 35 s"
    return others


def test_nothing_is_said_of_a_plain_comparison() -> None:
    """A narrow interval of sound windows needs no more words."""
    assert said(decision()) == []


def test_what_happened_is_said() -> None:
    """Failed requests, spoiled pairs, what was planted and which terms held: each in a sentence of its own."""
    pinned = replace(SETTINGS, pin=(("server", (0, 1)), ("generator", (2,))))
    assert said(decision(not_ok=25, void=3), replace(ASKED, planted=0.05, settings=pinned), True) == [
        "`b` gave no good answer to 0.25% of its requests, and only good ones count",
        "3 more pairs were spoiled by the machine and count for nothing",
        "B was slowed down on purpose, by 5.0% of its CPU",
        "the processors of this virtual machine were kept from idling meanwhile",
        "pinned to cores: server 0+1, generator 2",
    ]


def test_what_was_run_on_the_data_of_one_side_is_said() -> None:
    """With the file's name and its statements, comments left out, and no more of them than a sentence holds."""
    short = SqlFile("index.sql", "-- what the schema lacks\nCREATE INDEX ON a\n  (b);\n")
    (sentence,) = said(decision(), replace(ASKED, settings=replace(SETTINGS, sql_before=short)))
    assert sentence == "before each start, `index.sql` (`CREATE INDEX ON a (b);`) was run on the fresh data of B alone"
    (long,) = said(decision(), replace(ASKED, settings=replace(SETTINGS, sql_before=SqlFile("index.sql", "SELECT 1;" * 999))))
    assert len(long) < 350


def test_few_starts_say_so_and_no_more() -> None:
    """With too few starts nothing is called, and the width of their interval is not what is wrong."""
    assert said(decision(4, spread=0.2)) == ["fewer than 5 starts: nothing is called; give it a larger --budget"]


@pytest.mark.parametrize(("cores", "hinted"), [(2, True), (1, False)])
def test_a_wide_interval_says_what_narrows_it(cores: int, hinted: bool) -> None:
    """Where the machine has two cores to choose among, unless roles are pinned already."""
    wide = decision(spread=0.1)
    assert ["`--seats apart` gives each its own" in words for words in said(wide, cores=cores)] == [True] * hinted
    pinned = replace(ASKED, settings=replace(SETTINGS, pin=(("server", (3,)),)))
    assert said(wide, pinned, cores=cores) == ["pinned to cores: server 3"]


def test_two_modes_are_told_with_their_shares() -> None:
    """Which arm, in how many starts, which ones, and how far apart."""
    modes = rounds.ArmModes(1, "CPU per answer", (1, 3, 4, 5, 6), (2, 7, 8), 0.221)
    assert said(replace(decision(), modes=modes)) == [
        "`b` has two modes: in 3 of 8 starts (38%; rounds 2, 7, 8) its CPU per answer is 22.1% higher than in the other 5, "
        "and the mean says nothing of either"
    ]


def test_what_failed_is_told_once_for_each_arm() -> None:
    """The first start's sentence, with its sample; a note on what was expected is none."""
    errors = Finding("errors", Severity.WARN, "2 % got no good answer: 9 × status 429")
    subject = Finding("errors", Severity.NOTE, "409s are this workload's subject")
    starts = [Round(number, (), 1.0, {"a": (subject,), "b": (errors,)}) for number in (1, 2)]
    assert caveats.of_errors(starts) == ("`b`, start 1: 2 % got no good answer: 9 × status 429",)
    assert caveats.of_errors([Round(1, (), 1.0, {"a": (subject,)})]) == ()
