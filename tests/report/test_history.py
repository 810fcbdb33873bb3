"""A cell over runs, and the site around it: what changed is marked, what another machine did is not held against it, links lead on."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from fairground.model import Run, Trial, Verdict
from fairground.model.record import RecordKind
from fairground.report.site import history, site
from fairground.report.site.site import RecordLine
from report import fixture


def _faster(trial: Trial, times: float) -> Trial:
    """The same trial with so many times the good answers."""
    if trial.result is None:
        return trial
    window = replace(trial.result.window, ok=round(trial.result.window.ok * times))
    return replace(trial, result=replace(trial.result, completed_ok=round(trial.result.completed_ok * times), window=window))


def _runs(stack: str, times: float, blocks: int = 4) -> list[Run]:
    """Two runs an hour apart; in the second one stack gives so many times as much on every workload."""
    first = replace(fixture.run(blocks), id="first")
    trials = tuple(_faster(one, times if one.cell.stack == stack else 1.0) for one in first.trials)
    return [first, replace(first, id="second", started_unix_s=first.started_unix_s + 3600, trials=trials)]


def test_a_cell_that_changed_is_marked_and_no_other() -> None:
    """One stack at 40 % is told with its interval, marked in its picture, and no other stack is."""
    found = history.histories(_runs("alder:inline", 0.4))
    changed = {one.cell.stack for one in found if one.changed}
    assert changed == {"alder:inline"}
    one = next(one for one in found if one.changed)
    last = one.seen[-1]
    assert last.before == "first" and last.change is not None and last.change.ratio == pytest.approx(0.4, rel=0.05)
    assert history.sentence(last).startswith("−60 % since first (95 % CI −")
    page = history.html(one)
    assert 'stroke-dasharray="4 3"' in page and "▼" in page and "../second/report.html" in page


def test_nothing_changed_is_said() -> None:
    """Two equal runs leave no mark and say so."""
    for one in history.histories(_runs("alder:inline", 1.0)):
        assert not one.changed
        page = history.html(one)
        assert 'stroke-dasharray="4 3"' not in page
        assert "nothing can have changed" in page or "No change stands out" in page


def test_runs_of_another_machine_are_a_history_of_their_own() -> None:
    """A run on more cores begins histories of its own."""
    first, second = _runs("alder:inline", 0.4)
    found = history.histories([first, replace(second, machine=replace(second.machine, cores=64))])
    assert {len(one.seen) for one in found} == {1}
    assert len({one.machine for one in found}) == 2
    assert len({one.slug for one in found}) == len(found)


def test_a_longer_window_is_the_same_cell() -> None:
    """How long a cell was measured makes no other cell of it."""
    first, second = _runs("alder:inline", 1.0)

    def longer(trial: Trial) -> Trial:
        return replace(trial, cell=replace(trial.cell, load=replace(trial.cell.load, window_s=30.0)))

    plan = replace(second.plan, slots=())
    found = history.histories([first, replace(second, plan=plan, trials=tuple(map(longer, second.trials)))])
    assert all(len(one.seen) == 2 for one in found if one.numbered)


def test_another_source_is_told() -> None:
    """A changed server is named beside the change of its number."""
    first, second = _runs("alder:inline", 0.4)
    stacks = {name: replace(info, content_hash="another") for name, info in second.stacks.items()}
    found = history.histories([first, replace(second, stacks=stacks)])
    assert any("source changed" in history.html(one) for one in found if one.changed)


def test_another_postgres_is_no_change_of_a_server() -> None:
    """Runs on two major versions are not compared, and say so; a minor version is."""
    first, second = _runs("alder:inline", 0.4)
    for version, compared in (("17.6", False), ("18.2", True)):
        runs = [replace(first, versions={"PostgreSQL": "18.1"}), replace(second, versions={"PostgreSQL": version})]
        found = [one for one in history.histories(runs) if one.numbered]
        assert any(one.changed for one in found) is compared
        assert all(("not compared: PostgreSQL 18 → 17" in history.html(one)) is not compared for one in found)
        assert all(("told: its runs are of PostgreSQL 18 → 17" in history.html(one)) is not compared for one in found)


def test_a_cell_without_a_number_says_that_it_has_none() -> None:
    """One run, all rejected: nobody has a number for it."""
    first, _ = _runs("alder:inline", 0.4)
    none = replace(first, trials=tuple(replace(one, verdict=Verdict.REJECTED) for one in first.trials))
    page = history.html(history.histories([none])[0])
    assert "No run has a number for it" in page and "One run has" not in page


def test_the_site_leads_to_every_record_and_cell() -> None:
    """Every page is linked, what changed stands first, and foreign text stays text."""
    lines = [
        RecordLine(
            "first", RecordKind.RUN, 1.0, True, "m", "One story", "report.html", (("replication of tx", "replicate-tx.html"),)
        ),
        RecordLine("second", RecordKind.CHECK, 2.0, False, "m", "<script>alert(1)</script>"),
    ]
    found = history.histories(_runs("alder:inline", 0.4))
    pages = dict(site.pages(lines, found))
    overview = pages[site.OVERVIEW]
    assert overview.index("second") < overview.index("One story"), "newest first"
    assert 'href="first/report.html"' in overview and 'href="first/replicate-tx.html"' in overview
    assert "interrupted" in overview
    assert "<script>alert" not in overview and "&lt;script&gt;" in overview
    linked = set(re.findall(r'href="(cells/[^"]+)"', pages[site.CELLS]))
    assert linked == {name for name in pages if name.startswith("cells/")}
    assert len(linked) == len(found)
    cells = pages[site.CELLS]
    assert cells.index("alder:inline") < cells.index("birch:pool"), "what changed stands first"


def test_a_site_of_nothing_says_how_to_begin() -> None:
    """An empty list names the first command."""
    assert "./fairground demo" in site.overview([])
