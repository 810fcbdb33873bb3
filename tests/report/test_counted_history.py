"""Counts over commits: what changed is told with what else may have moved it, and no other processor's counts beside them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from builders.stored import head
from fairground.model import CellSettings, Load
from fairground.model.count import PROCESSOR, CountArm, CountAsked, CountedStart, CountedWindow, WorkCount
from fairground.model.record import Record, RecordKind
from fairground.report.site import counted, site

VERSIONS = {"fairground": "1", "libc": "glibc 2.36", "QEMU": "7.2.22", PROCESSOR: "x86_64"}


def record(day: int, commit: str, *instructions: int, pin: int = 0, **versions: str) -> Record[CountAsked, CountedStart]:
    """A counted record of a day, of one stack on two workloads: starts whose answers need so many instructions."""
    asked = CountAsked(
        (CountArm("one:a", "one:a", commit=commit),),
        ("ping", "tx"),
        False,
        Load(16, warmup_max_s=60.0),
        CellSettings(workers=1, pin=(("server", (pin,)),)),
        1,
        60.0,
        0.005,
    )
    entries = tuple(
        CountedStart("one:a", "ping", number, 320, (CountedWindow(1, WorkCount(one, {"read": 2})),), True, (), 5.0)
        for number, one in enumerate(instructions, 1)
    )
    made = replace(
        head(RecordKind.COUNT),
        asked=asked,
        id=f"2026-01-{day:02}-count",
        started_unix_s=day * 86400.0,
        versions=VERSIONS | versions,
    )
    return Record(Path("nowhere") / made.id, made, entries)


def test_a_commit_that_needs_more_is_told_and_marked() -> None:
    """With its interval, in the sentence, the picture and the list; a workload without a start has no history."""
    (found,) = counted.histories([record(2, "bbb", 10_100, 10_101), record(1, "aaa", 10_000, 10_001)])
    assert [one.name for one in found.seen] == ["aaa", "bbb"] and [one.name for one in found.changed] == ["bbb"]
    assert counted.sentence(found.seen[1]) == "+1.00 % since aaa (95 % CI +0.97 % … +1.03 %)"
    page = counted.html(found)
    assert 'stroke-dasharray="4 3"' in page and "▲" in page and "../2026-01-02-count/count.html" in page
    pages = dict(site.pages([], [], [found]))
    assert f"counts/{found.slug}.html" in pages and f'href="counts/{found.slug}.html"' in pages[site.COUNTS]
    assert "1 of 1 stack with two records or more changed." in pages[site.COUNTS] and 'href="counts.html"' in pages[site.OVERVIEW]


def test_equal_counts_on_another_machine_are_one_history() -> None:
    """Whatever core the server had there; nothing is marked."""
    (found,) = counted.histories([record(1, "aaa", 10_000, 10_001), record(2, "bbb", 10_000, 10_002, pin=3)])
    assert len(found.seen) == 2 and not found.changed
    assert "No change is told." in counted.html(found) and 'stroke-dasharray="4 3"' not in counted.html(found)


def test_a_count_that_only_reads_in_vain_moved_is_no_change() -> None:
    """The dots are as counted, the change is told at equally many such reads, and the caption says why the two differ."""

    def reading(day: int, shift: int) -> Record[CountAsked, CountedStart]:
        made = record(day, f"c{day}")
        starts = (
            CountedStart(
                "one:a",
                "ping",
                number,
                320,
                tuple(CountedWindow(1, WorkCount(10_000 + 100 * reads, {"read": 2}, empty_reads=reads)) for reads in some),
                True,
                (),
                5.0,
            )
            for number, some in enumerate(((shift, shift + 1, shift + 2), (shift + 1, shift + 9, shift + 2)), 1)
        )
        return replace(made, entries=tuple(starts))

    (found,) = counted.histories([reading(1, 1), reading(2, 4)])
    before, after = (one.middle for one in found.seen)
    assert before is not None and after is not None and after / before > 1.01
    text = counted.html(found)
    assert "No change is told." in text and "a dot may move where no change is told" in text


def test_another_processor_has_a_history_of_its_own() -> None:
    """Its instructions are others."""
    found = counted.histories([record(1, "aaa", 10_000, 10_001), record(2, "bbb", 9_000, 9_001, processor="aarch64")])
    assert {one.processor: len(one.seen) for one in found} == {"x86_64": 1, "aarch64": 1}
    assert len({one.slug for one in found}) == 2
    assert "nothing can have changed" in counted.html(found[0])


@pytest.mark.parametrize(
    ("name", "value", "told"), [("libc", "glibc 2.41", "libc glibc 2.36 → glibc 2.41"), ("fairground", "2", "")]
)
def test_what_else_may_move_a_count_is_named(name: str, value: str, told: str) -> None:
    """Another libc is; another lab is none of the server's."""
    (found,) = counted.histories([record(1, "aaa", 10_000, 10_001), record(2, "bbb", 11_000, 11_001, **{name: value})])
    assert found.seen[1].differing == ((told,) if told else ())
    assert counted.sentence(found.seen[1]).endswith(f"; {told}" if told else ")")


def test_what_has_no_number_is_passed_over() -> None:
    """One start alone cannot tell a change; a count of nothing is none, and stands in no picture."""
    (found,) = counted.histories([record(1, "aaa", 10_000), record(2, "bbb", 0, -5), record(3, "ccc", 11_000)])
    assert [one.middle for one in found.seen] == [10_000, None, 11_000]
    assert counted.sentence(found.seen[2]) == "too few starts to tell" and found.seen[2].before == "aaa"
    (alone,) = counted.histories([record(1, "aaa", 0)])
    assert counted.chart(alone) is None and "No record has a number" in counted.html(alone)
