"""Where two counted arms differ: which names come first, how they are told, and whose functions they are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fairground.model import CellSettings, Load
from fairground.model.count import MADE_AT_RUN_TIME, CountArm, CountAsked, CountedStart, CountedWindow, WorkCount
from fairground.report import counts, where
from fairground.report.where import CALL, FUNCTION

ARMS = (CountArm("old", "one:plain", "main"), CountArm("new", "one:plain", "."))
ASKED = CountAsked(ARMS, ("db-ping",), True, Load(16), CellSettings(workers=1), 1, 100.0, 0.005, where=True)


def start(arm: str, number: int, functions: dict[str, float], reads: int = 20) -> CountedStart:
    """A start of which each answer needs so many instructions of each function."""
    total = round(10 * sum(functions.values()))
    windows = (CountedWindow(10, WorkCount(total, {"read": reads, "write": 10})),) * 32
    return CountedStart(arm, "db-ping", number, 320, windows, True, (), 5.0, functions)


MADE = [
    start("old", 1, {"main.serve": 10_000.0, "collect": 4_000.0, "all others": 20.0}),
    start("old", 2, {"main.serve": 10_001.0, "collect": 6_000.0, "all others": 10.0}),
    start("new", 1, {"main.serve": 10_000.0, "collect": 6_900.0, "main.<planted>": 150.0, "all others": 900.0}, 30),
    start("new", 2, {"main.serve": 10_001.0, "collect": 5_100.0, "main.<planted>": 150.5, "all others": 800.0}, 30),
]


def test_what_changed_beyond_chance_comes_first() -> None:
    """A collection of garbage moves its own function by more, but as much between starts of one side."""
    functions, calls = where.tables("db-ping", MADE[:2], MADE[2:])
    assert (functions.kind, [one.name for one in functions.changes]) == (FUNCTION, ["main.<planted>", "collect"])
    planted, collect = functions.changes
    assert planted.more == pytest.approx(150.25) and planted.half < 2 and planted.least > 148
    assert collect.more == pytest.approx(1000) and collect.half > 1000 and collect.least == 0
    assert (calls.kind, [(one.name, one.a, one.b) for one in calls.changes]) == (
        CALL,
        [("read", pytest.approx(2), pytest.approx(3))],
    )


def test_the_report_tells_them_in_every_form() -> None:
    """Lines for the terminal, rows of the document, tables of Markdown, and bars on the page, where names are escaped."""
    found = counts.report(ASKED, MADE)
    lines = where.sentences(found.where)
    assert lines[0] == "db-ping: instructions by function, B against A for an answer, what has changed most"
    assert lines[1].split() == ["+150", "±", "1.08", "main.<planted>"]
    rows = counts.document(found)["where"]
    assert isinstance(rows, list) and [(row["kind"], row["name"]) for row in rows][::2] == [
        (FUNCTION, "main.<planted>"),
        (CALL, "read"),
    ]
    assert "| `main.<planted>` | 0.00 | 150 | +150 | 1.08 |" in counts.markdown(found)
    page = counts.html(found, ("here",), "foot")
    assert page.count('aria-label="Taking"') == 0 and 'id="where-2"' in page
    assert "main.&lt;planted&gt;: 150 instructions" in page and "<planted>" not in page


def test_nobody_asked_or_too_few_starts_have_no_such_table() -> None:
    """Without functions there is none, and a single start of a side says nothing of chance."""
    assert where.tables("db-ping", [replace(one, functions={}) for one in MADE[:2]], MADE[2:]) == ()
    assert where.tables("db-ping", MADE[:1], MADE[2:]) == ()
    assert counts.report(ASKED, MADE[:1]).where == ()


def test_a_name_of_a_thousand_letters_fits_a_line() -> None:
    """Its begin and its end are told."""
    assert where.fit_name("a" * 90) == "a" * 90
    assert where.fit_name("a" * 500 + "b" * 500) == f"{'a' * 45} … {'b' * 45}"


def test_functions_of_an_interpreter_are_said_to_be_its_own() -> None:
    """Once for each program, whatever starts there are."""
    said = where.notes([replace(one, interpreter="python3.11") for one in MADE])
    assert len(said) == 1 and said[0].startswith("`python3.11` carries out the server's code: the functions are those of")
    assert where.notes(MADE) == ()


def test_code_that_is_made_while_a_server_runs_is_said_to_be_one_entry() -> None:
    """It lies in no file, so that nothing names its parts. A hundredth of the instructions is too little for a compiler's."""
    (said,) = where.notes([*MADE, replace(MADE[0], functions={MADE_AT_RUN_TIME: 9.0})])
    assert said == "a compiler runs in the server: what it makes is one entry, `code made at run time`"
    assert where.notes([replace(one, functions={**one.functions, MADE_AT_RUN_TIME: 90.0}) for one in MADE]) == ()
