"""A run as text: HTML pages that need nothing but themselves, and CSV for a spreadsheet.

Pure: templates are the package's own, and no clock is read.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence

from fairground.model import Run, Topology, Trial, foreign
from fairground.report import frame
from fairground.report.boards import ROLES, Board, boards, resources
from fairground.report.run import crossing, evidence, grid, sections
from fairground.report.run.controls import Controls
from fairground.report.run.headline import beside, headline, voids
from fairground.report.run.story import story
from fairground.report.run.why import TriedBy, standings
from fairground.report.text import seats, windows, words
from fairground.stats import window_sizes

SCRIPTS = ("page.js", "pick.js", "take.js")

COLUMNS = (
    "trial",
    "block",
    "attempt",
    "stack",
    "workload",
    "topology",
    "load",
    "durability",
    "pool_size",
    "postgres_version",
    "verdict",
    "diagnosis",
    "goodput_per_s",
    "latency_p50_us",
    "latency_p90_us",
    "latency_p99_us",
    "latency_p999_us",
    "latency_max_us",
    "ok",
    "shed",
    "other_status",
    "wrong_body",
    "timeout",
    "connect",
    "reset",
    "malformed",
    "unsent",
    "in_flight",
    "cpu_server_us_per_answer",
    "cpu_proxy_us_per_answer",
    "cpu_pooler_us_per_answer",
    "cpu_wire_us_per_answer",
    "cpu_database_us_per_answer",
    "cpu_generator_us_per_answer",
    "instructions_server_per_answer",
    "memory_server_peak_bytes",
    "audit_lines",
    "audit_lines_held",
    "acknowledged",
    "unknown",
    "commits",
    "deadlocks",
    "seed",
    "started_unix_s",
    "duration_s",
    "reason",
)

FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")
"""Beginnings of what spreadsheets compute, or look behind for one."""


def html(
    run: Run,
    tried: TriedBy | None = None,
    home: str | None = None,
) -> str:
    """The first page of a run: the answer, the grid, a card for each workload, and the way to the evidence beside it.

    `tried`: what experiments on this run's reasons found. `home`: where the list of all records is, for a page of a site.
    """
    shown = boards(run)
    held = Controls.of(run)
    found = grid.grid(run, shown)
    told = story(shown, crossing.crossings(run, shown), tried)
    script, digest = frame.script_of(*SCRIPTS)
    return frame.render(
        "page.html",
        run=run,
        boards=shown,
        short=_is_large(shown),
        script=script,
        script_hash=digest,
        tally=_tally(run),
        missing=len({slot.number for slot in run.plan.slots} - {trial.number for trial in run.everything}),
        started=frame.minute(run.started_unix_s),
        constants=_constants(run),
        cores=seats.of_run(run),
        doubts=_doubts(run, shown),
        headline=[*beside(told, headline(run, shown, held, tried or {}), held), *filter(None, [voids(run)])],
        story=told,
        tried=tried or {},
        standings=standings(shown, tried) if tried else (),
        home=home,
        grid=found,
        slugs={line.stack: line.slug for line in found.lines},
        contracts=contracts(run),
        contents=evidence.contents(run, shown),
    )


def heading_of(run: Run, tried: TriedBy) -> str:
    """The heading of a run's page as plain text, for a list of records."""
    shown = boards(run)
    return story(shown, crossing.crossings(run, shown), tried)[0].replace("`", "")


def details(run: Run, home: str | None = None) -> str:
    """The second page of a run: all that the first rests on."""
    shown = boards(run)
    values = evidence.values(run, shown, _is_large(shown))
    return frame.frame_page("details.html", run.plan.title, (f"Evidence: {run.plan.title}",), home=home, facts=(), **values)


def _is_large(shown: Sequence[Board]) -> bool:
    """True if whole tables would make the pages slow: what is as expected is added up then."""
    return sum(len(board.rows) for board in shown) > sections.MOST_ROWS


def summary_csv(run: Run) -> str:
    """One line per trial, units in the header, exact numbers; empty: not measured, or no number for this verdict."""
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow(COLUMNS)
    for trial in run.trials:
        writer.writerow([_csv_cell(value) for value in _csv_values(run, trial)])
    return sink.getvalue()


def _csv_cell(value: object) -> object:
    """A value as a spreadsheet shows it: of a text that begins like a formula it would compute one."""
    if not isinstance(value, str):
        return "" if value is None else value
    text = foreign.clean(value)
    return f"'{text}" if text.startswith(FORMULAS) else text


def _csv_values(run: Run, trial: Trial) -> tuple[object, ...]:
    cell, result, numbered = trial.cell, trial.result, trial.goodput_per_s is not None
    latency = result.latency_ok if result and numbered else None
    window, life = (result.window, result.life) if result else (None, None)
    server = trial.roles.get("server")
    kinds = ("wrong_body", "timeout", "connect", "reset", "malformed", "unsent", "in_flight")
    why = next(
        (foreign.line(finding.sentence) for finding in trial.findings if finding.severity in sections.SEVERITIES[:2]), None
    )
    return (
        trial.number,
        trial.block,
        trial.attempt,
        cell.stack,
        cell.workload,
        cell.topology.id,
        cell.load.id,
        run.durability_of(cell.settings),
        cell.settings.pool_size,
        cell.settings.postgres_version,
        str(trial.verdict),
        trial.diagnosis,
        trial.goodput_per_s,
        *(getattr(latency, name) if latency else None for name in ("p50_us", "p90_us", "p99_us", "p999_us", "max_us")),
        window.ok if window else None,
        window.shed if window else None,
        window.other if window else None,
        *(getattr(window, kind) if window else None for kind in kinds),
        *(trial.cpu_us_per_answer(role) if numbered else None for role in (*ROLES, "generator")),
        trial.instructions_per_answer if numbered else None,
        server.memory_peak_bytes if server else None,
        len(trial.audit),
        sum(line.holds for line in trial.audit),
        result.done if result and life else None,
        life.unknown if life else None,
        trial.database.commits if trial.database else None,
        trial.database.deadlocks if trial.database else None,
        trial.seed,
        trial.started_unix_s,
        trial.duration_s,
        why,
    )


def contracts(run: Run) -> tuple[str, ...]:
    """The titles of the contracts whose workloads a run measured, each once."""
    return tuple(dict.fromkeys(str(told["contract"]) for told in run.workloads.values() if told.get("contract")))


def _tally(run: Run) -> Counter[str]:
    counts = Counter(str(trial.verdict) for trial in run.trials)
    counts["valid"] += counts["warned"]
    return counts


def _doubts(run: Run, shown: Sequence[Board]) -> tuple[str, ...]:
    """Say what the numbers do not show; first, which windows held too few of what their number depends on."""
    short = [windows.shortage(one) for one in window_sizes.of(run.everything)]
    return (*(sentence for sentence in short if sentence), *words.doubts(run, shown))


def _constants(run: Run) -> tuple[str, ...]:
    """The facts that hold for the whole run: they belong in the header, not in a column."""
    cells = [slot.cell for slot in run.plan.slots]
    durability = {"relaxed": "relaxed durability (fsync off)", "durable": "durable (fsync on)"}
    columns = (
        {f"through {cell.topology.id}" if cell.topology != Topology() else "generator straight to server" for cell in cells},
        {words.load_text(cell.load) for cell in cells},
        {words.pool(cell.settings) for cell in cells},
        {" · ".join(resources(cell.settings)) for cell in cells},
        {f"{cell.load.window_s:g} s window" for cell in cells},
        {durability.get(name, name) for name in (run.durability_of(cell.settings) for cell in cells)},
    )
    return tuple(fact for column in columns if len(column) == 1 and (fact := column.pop()))
