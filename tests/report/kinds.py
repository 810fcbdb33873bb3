"""One page of each kind, as files: what a browser can be asked about."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

from markupsafe import Markup

from fairground.model.record import RecordKind
from fairground.report import capacity, comparison, frame, replication, visit
from fairground.report.comparison import Sides
from fairground.report.run import live, page
from fairground.report.site import history, site
from fairground.report.site.site import RecordLine
from fairground.report.trial import trial_page
from report import fixture, subjects

FACTS, FOOT, HOME = ("2026-09-30 14:12 UTC", "Example CPU @ 2.60 GHz", "2 cores"), "Fairground 0.1.0", "../index.html"
NAMES = (
    "run",
    "evidence",
    "controls",
    "evidence of controls",
    "trial",
    "rejected",
    "overview",
    "cells",
    "cell",
    "in the site",
    "capacity",
    "compare",
    "try",
    "replication",
    "live",
)


def written(folder: Path) -> dict[str, Path]:
    """Write a page of each kind, and say where it is, by the kinds of `NAMES`. A site is in the folder itself."""
    run, controlled = fixture.two_blocks(), fixture.controlled(3)
    made = {
        "run": ("run/report.html", page.html(run)),
        "evidence": ("run/details.html", page.details(run)),
        "controls": ("controls/report.html", page.html(controlled)),
        "evidence of controls": ("controls/details.html", page.details(controlled)),
        "in the site": (f"{run.id}/report.html", page.html(run, home=HOME)),
        "capacity": (
            "capacity/capacity.html",
            capacity.html([subjects.WHOLE], FACTS, FOOT, HOME),
        ),
        "compare": (
            "compare/compare.html",
            comparison.html("new against old", Sides("old", "new"), subjects.LINES, ["a note"], FOOT, HOME, FACTS),
        ),
        "try": ("try/try.html", visit.html(subjects.VISIT, FACTS, FOOT, HOME)),
        "replication": (f"{run.id}/replicate-fable.html", replication.html(subjects.replicated(), "quick")),
        "live": ("live.html", _live()),
    }
    trials = dict(trial_page.pages(run))
    for kind, number in (("trial", 1), ("rejected", _rejected())):
        place = next(place for place in trials if place.endswith(f"{number:04}.html"))
        made[kind] = (f"run/{place}", trials[place])
    lines = [
        RecordLine(
            one.id,
            RecordKind.RUN,
            one.started_unix_s,
            True,
            "a machine",
            f"Story of {one.id}",
            "report.html",
            (("replication", "r.html"),),
        )
        for one in (run, replace(run, id="second"))
    ]
    pages = dict(site.pages(lines, history.histories([run, replace(run, id="second", started_unix_s=run.started_unix_s + 9e4)])))
    made |= {
        "overview": (site.OVERVIEW, pages[site.OVERVIEW]),
        "cells": (site.CELLS, pages[site.CELLS]),
        "cell": next((place, text) for place, text in pages.items() if place.startswith("cells/")),
    }
    for place, text in made.values():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(text, encoding="utf-8")
    return {kind: folder / place for kind, (place, _) in made.items()}


def _rejected() -> int:
    """The number of a trial with wrong answers and a hostile standard error."""
    return next(trial.number for trial in fixture.two_blocks().trials if str(trial.verdict) == "rejected")


def _live() -> str:
    """The lab's own page while a run goes on."""
    script, digest = frame.script_of("live.js")
    so_far = fixture.two_blocks()
    run = {"run": so_far.id, "title": "Demo", "started_unix_s": 0, "done": 8, "slots": 16, "left_s": 61}
    job = {"command": "./fairground run suites/demo.toml", "said": ["plan  16 trials", "a line"], "code": None, "now": None}
    first = {"run": run, "job": job, "here": True, "goes_on": False, "drawing": False, "drawn": "8", "page": ""}
    drawn = Markup(live.so_far(so_far))
    known = SimpleNamespace(suites=("demo", "tour"), workloads=("ping", "tx"))
    stacks = [SimpleNamespace(id="alder:inline", state="ready"), SimpleNamespace(id="birch:pool", state="not built")]
    return frame.render("live.html", script=script, script_hash=digest, stacks=stacks, known=known, first=first, drawn=drawn)
