"""A run as text: HTML pages that need nothing but themselves, and CSV for a spreadsheet.

Pure: templates are the package's own, and no clock is read.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from fairground.model import Run, Topology, Trial, Verdict, foreign
from fairground.report.boards import ROLES, Board, boards, resources
from fairground.report.charts import forest, palette
from fairground.report.charts.dots import axis, dots
from fairground.report.run import controls, crossing, evidence, grid, mixes, sections
from fairground.report.run.bars import picture
from fairground.report.run.controls import Controls
from fairground.report.run.headline import beside, headline, voids
from fairground.report.run.story import story
from fairground.report.run.why import TriedBy, standings
from fairground.report.text import seats, windows, words
from fairground.report.text.rows import diagnosis_text, interval_text, percentile_text, rate_text
from fairground.stats import window_sizes
from fairground.stats.comparisons import Comparison

FRAMED_SCRIPTS = ("page.js", "drawn.js", "save.js")
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
    script, digest = script_of(*SCRIPTS)
    return render(
        "page.html",
        run=run,
        boards=shown,
        short=_is_large(shown),
        script=script,
        script_hash=digest,
        tally=_tally(run),
        missing=len({slot.number for slot in run.plan.slots} - {trial.number for trial in run.everything}),
        started=start_text(run),
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
    return frame_page("details.html", run.plan.title, (f"Evidence: {run.plan.title}",), home=home, facts=(), **values)


def _is_large(shown: Sequence[Board]) -> bool:
    """True if whole tables would make the pages slow: what is as expected is added up then."""
    return sum(len(board.rows) for board in shown) > sections.MOST_ROWS


def summary_csv(run: Run) -> str:
    """One line per trial, units in the header, exact numbers; empty: not measured, or no number for this verdict."""
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow(COLUMNS)
    for trial in run.trials:
        writer.writerow([_csv_cell(value) for value in _csv_values(trial)])
    return sink.getvalue()


def _csv_cell(value: object) -> object:
    """A value as a spreadsheet shows it: of a text that begins like a formula it would compute one."""
    if not isinstance(value, str):
        return "" if value is None else value
    text = foreign.clean(value)
    return f"'{text}" if text.startswith(FORMULAS) else text


def _csv_values(trial: Trial) -> tuple[object, ...]:
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
        str(cell.settings.durability),
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


def start_text(run: Run) -> str:
    """The time at which the run began, in UTC to the minute."""
    return minute(run.started_unix_s)


def contracts(run: Run) -> tuple[str, ...]:
    """The titles of the contracts whose workloads a run measured, each once."""
    return tuple(dict.fromkeys(str(told["contract"]) for told in run.workloads.values() if told.get("contract")))


def minute(unix_s: float) -> str:
    """A moment in UTC, to the minute."""
    return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%d %H:%M UTC")


def script_of(*names: str) -> tuple[Markup, str]:
    """Scripts of the package as one, and the hash by which a page's policy admits it and no other. Comments stay behind."""
    whole = "\n".join(environment().get_template(name).render() for name in names)
    script = "\n".join(line for text in whole.splitlines() if (line := text.strip()) and not line.startswith("//"))
    return Markup(script), base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def rank_text(found: Comparison, stack: str) -> str:
    """`2`, or `2–5`: where a stack may stand; a dash where nothing is ranked."""
    low, high = found.ranks.get(stack, (None, None))
    return words.NO_NUMBER if low is None else str(low) if low == high else f"{low}–{high}"


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


def _breakable(name: str) -> Markup:
    """A stack's id that may be broken after its colon, where a narrow column needs it."""
    return escape(name).replace(":", Markup(":<wbr>"))


def render(template: str, **values: object) -> str:
    """A page from one of the package's templates."""
    return environment().get_template(template).render(values)


def frame_page(template: str, title: str, story: Sequence[str], **values: object) -> str:
    """A page about one thing, in the frame that a run's page has. `story` are its sentences, the first of them its heading."""
    script, digest = script_of(*FRAMED_SCRIPTS)
    told = tuple(story) or (title,)
    return render(template, title=title, story=told, script=script, script_hash=digest, **values)


def _coded(text: str) -> Markup:
    """A sentence whose names between backticks are set as code; everything in it is escaped."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return Markup(escape(text))  # a backtick without a partner is one of somebody's own
    code = Markup("<code>{}</code>")
    return Markup("").join(code.format(part) if place % 2 else escape(part) for place, part in enumerate(parts))


def _shown(value: object) -> object:
    """Clean what a template prints. Text may be foreign, charts and parts of a page hold some: all of it is cleaned here."""
    if isinstance(value, Markup):
        return Markup(foreign.clean(value))
    return value if value is None or isinstance(value, int | float) else foreign.clean(str(value))


@cache
def environment() -> Environment:
    """The templates of the package with the report's words at hand; everything that they print is cleaned and escaped."""
    environment = Environment(
        loader=PackageLoader("fairground.report", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=_shown,
    )
    environment.globals |= {
        "words": words,
        "palette": palette,
        "sections": sections,
        "mix_rows": mixes.mix_rows,
        "mix_heads": mixes.HEADS,
        "dots": dots,
        "axis": axis,
        "interval_text": interval_text,
        "diagnosis_text": diagnosis_text,
        "percentile_text": percentile_text,
        "Verdict": Verdict,
        "forest": forest.forest,
        "forest_axis": forest.axis,
        "forest_scale": forest.scale,
        "forest_class": lambda row: forest.CLASSES[row.difference.word],
        "forest_glyph": lambda row: forest.GLYPHS[row.difference.word],
        "rank_text": rank_text,
        "control_sentence": controls.sentence,
        "crossing_sentences": crossing.sentences,
        "meaning": grid.meaning,
        "picture": picture,
    }
    environment.filters |= {
        "number": words.number,
        "rate": rate_text,
        "count": words.count,
        "ms": words.milliseconds,
        "percent": words.percent,
        "size": words.size,
        "seconds": words.seconds,
        "breakable": _breakable,
        "coded": _coded,
        "plural": words.plural,
    }
    return environment
