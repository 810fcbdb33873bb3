"""A capacity as text: its sentences, the small curve of a terminal, the rows for `--json`, and the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from fairground.capacity import loadcurve
from fairground.capacity.loadcurve import CurvePoint, StepWord
from fairground.capacity.parts import CapacityPart
from fairground.capacity.search import CONFIRMATIONS, Capacity, SearchEnd
from fairground.model import foreign
from fairground.model.plural import with_verb
from fairground.report import frame
from fairground.report.charts import loadchart
from fairground.report.charts.loadchart import Around
from fairground.report.charts.svg import WIDTHS_PX
from fairground.report.text import seats, words
from fairground.report.text.rows import rate_text

BAR_CELLS = 24
FEW = "* fewer than a hundred requests are beyond it"
MOST_TOLD = 3
"""Sentences above the first picture of a page; the others stand below it."""
MARKS = {StepWord.KEPT: "✓", StepWord.MISSED: "✗", StepWord.UNSTABLE: "↑", StepWord.VOID: "○", StepWord.UNKNOWN: "–"}


def sentences(found: Capacity) -> tuple[str, ...]:
    """Say what was found about one stack on one workload, most important first."""
    name = f"{found.stack} on {found.workload}"
    if found.rejected is not None:
        return (f"{name} has no capacity: {foreign.line(found.rejected)}",)
    said = [_headline(found, name)]
    if found.failed is not None:
        said.append(f"In all steps {found.failed}")
    if found.limited_by:
        said.append(f"Just above it: {found.limited_by[0].id}, {found.limited_by[0].sentence}")
    if found.knee is not None:
        rate, low, high = (rate_text(value) for value in found.knee)
        said.append(f"The knee, where goodput over latency is greatest, is at {rate}/s, between the rates {low} and {high}")
    if found.over is not None:
        said.append(_overload(found))
    return tuple(said)


def _headline(found: Capacity, name: str) -> str:
    missed = found.missed_from_per_s
    until = f"; no rate was seen to miss it: {found.ended}"
    if missed is not None:
        until = f"; from {rate_text(missed)}/s on it was missed{_why_missed(found, missed)}"
    if found.confirmed_per_s is not None:
        held = next(one for one in found.confirmations if one.rate_per_s == found.confirmed_per_s)
        return (
            f"{name} keeps {found.objective} up to {rate_text(found.confirmed_per_s)} requests a second: "
            f"{held.kept} of {held.trials} fresh trials kept it{until}"
        )
    if found.spoiled is not None and found.found.lower is not None:
        return (
            f"{name} has no confirmed capacity: the search ended at {rate_text(found.found.lower)}/s for {found.objective}, "
            f"and every fresh trial was void: {foreign.line(found.spoiled)}"
        )
    if not found.measured:
        return f"{name} could not be measured: {found.ended}"
    if found.found.lower is None:
        if found.ended != SearchEnd.LEAST:
            return f"{name} has no bracket yet: no rate was found that keeps {found.objective} when {found.ended}"
        return f"{name} keeps {found.objective} at no rate that was tried: {found.ended}"
    fresh = "; ".join(f"{one.kept} of {one.trials} at {rate_text(one.rate_per_s)}/s" for one in found.confirmations)
    return (
        f"{name} has no confirmed capacity: the search ended at {rate_text(found.found.lower)}/s for {found.objective}, and "
        f"fewer than {CONFIRMATIONS} fresh trials kept one rate ({fresh or 'none was made'}){until}"
    )


def _why_missed(found: Capacity, rate_per_s: float) -> str:
    """Say what the lowest rate that missed did wrong, as the end of a sentence."""
    points = (point for point in (*found.search, *found.fresh) if point.step.rate_per_s == rate_per_s)
    why = next((point.judgement.why for point in points if point.judgement.low is False), None)
    return "" if not why else f" ({foreign.line(why)})"


def _overload(found: Capacity) -> str:
    over = found.over
    assert over is not None
    shed = "" if not over.shed else f", {with_verb(over.shed, 'answer', 'was', 'were')} 503"
    shed += "" if over.shed_p99_us is None else f" (p99 {words.milliseconds(over.shed_p99_us)} ms)"
    if over.recovery_s is None:
        back = f"it had not recovered within {over.watched_s:.0f} s"
    else:
        back = "it recovered within a second" if over.recovery_s <= 1 else f"it recovered after {over.recovery_s:.0f} s"
    good = "" if over.p99_good_us is None else f", p99 of the good answers {words.milliseconds(over.p99_good_us)} ms"
    return (
        f"Offered {over.factor:.2g} times {rate_text(over.capacity_per_s)}/s it gives {words.percent(over.retention)} of it"
        f"{good}, "
        f"{words.percent(over.not_ok_share)} of the requests without a good answer{shed}; then {back}"
    )


def text_curve(points: Sequence[CurvePoint]) -> list[str]:
    """The curve in letters: a bar of goodput for each rate, its p99 and the word; and what the star means, where there is one."""
    lines, most = list[str](), max((point.step.goodput_per_s for point in points), default=0.0) or 1.0
    for rate in sorted({point.step.rate_per_s for point in points}):
        here = [point for point in points if point.step.rate_per_s == rate]
        goodput = sum(point.step.goodput_per_s for point in here) / len(here)
        bar = "█" * max(1, round(goodput / most * BAR_CELLS))
        tails = [f"{words.milliseconds(us)}{'*' if loadcurve.few(point.step, 0.99) else ''}"
                 for point in here if point.stable and (us := loadcurve.percentile_us(point.step, 0.99))]  # fmt: skip
        marks = "".join(MARKS[point.judgement.word] for point in here)
        said = [f"p99 {', '.join(tails)} ms"] if tails else []
        said += ["the queue grew"] if any(point.judgement.word is StepWord.UNSTABLE for point in here) else []
        lines.append(
            f"{rate_text(rate):>9}/s  {bar:<{BAR_CELLS}} {words.number(goodput):>8}  {marks:<3}  {', '.join(said)}".rstrip()
        )
    return [*lines, FEW] if any("*" in line for line in lines) else lines


def part_lines(part: CapacityPart) -> list[str]:
    """Report a part as it is finished, with a line for each of its steps."""
    if part.closed_per_s is not None:
        return [f"closed loop: {part.closed_per_s:,.0f}/s"]
    if (rejected := part.rejected) is not None:
        return [rejected.sentence]
    if part.verdict is not None and not part.points and part.rate_per_s is not None:
        return [f"{part.phase:<8} {rate_text(part.rate_per_s):>9}/s  {part.verdict}: {part.void}"]
    return [_step_line(point) for point in part.points]


def _step_line(point: CurvePoint) -> str:
    step, word = point.step, point.judgement.word
    tail_us = loadcurve.percentile_us(step, 0.99) if point.stable else None
    tail = "" if tail_us is None else f"  p99 {words.milliseconds(tail_us)} ms"
    said = "" if word is StepWord.KEPT else f"  ({point.judgement.why})"
    return f"{point.phase:<8} {rate_text(step.rate_per_s):>9}/s  {step.duration_s:4.1f} s  {word:<8}{tail}{said}"


def rows(found: Capacity) -> Mapping[str, Any]:
    """One capacity for `--json`; rates per second, latencies in µs, None where nothing is known."""
    over = found.over
    return {
        "stack": found.stack,
        "workload": found.workload,
        "objective": found.objective,
        "capacity_per_s": found.confirmed_per_s,
        "missed_from_per_s": found.missed_from_per_s,
        "search": {
            "lower_per_s": found.found.lower,
            "upper_per_s": found.found.upper,
            "ended": found.ended,
            "steps": [point_row(point) for point in found.search],
        },  # fmt: skip
        "confirmations": [{"rate_per_s": one.rate_per_s, "kept": one.kept, "trials": one.trials} for one in found.confirmations],
        "fresh": [point_row(point) for point in found.fresh],
        "curve": [point_row(point) for point in found.curve],
        "knee_per_s": None if found.knee is None else list(found.knee),
        "overload": None if over is None else {name: getattr(over, name) for name in over.__dataclass_fields__},
        "limited_by": [{"id": one.id, "sentence": one.sentence, "evidence": dict(one.evidence)} for one in found.limited_by],
        "rejected": found.rejected,
        "notes": list(found.notes),
        "sentences": list(sentences(found)),
        "spent_s": found.spent_s,
    }


def point_row(point: CurvePoint) -> Mapping[str, Any]:
    """A judged step for `--json`."""
    step, outcomes = point.step, point.step.outcomes
    return {
        "phase": point.phase,
        "trial": point.trial,
        "rate_per_s": step.rate_per_s,
        "duration_s": step.duration_s,
        "due": step.due,
        "goodput_per_s": step.goodput_per_s,
        "ok": outcomes.ok,
        "shed": outcomes.shed,
        "not_ok": outcomes.not_ok,
        "unsent": outcomes.unsent,
        "p50_us": loadcurve.percentile_us(step, 0.5),
        "p99_us": loadcurve.percentile_us(step, 0.99),
        "p99_rests_on_few": loadcurve.few(step, 0.99),
        "send_lag_p99_us": step.send_lag.p99_us if step.send_lag else None,
        "generator_busy_share": step.busiest_thread_share,
        "cpu_us_per_answer": {role: used / step.completed_ok for role, used in step.cpu_us.items()} if step.completed_ok else {},
        "judgement": str(point.judgement.word),
        "why": point.judgement.why,
        "backlog_per_s": point.judgement.backlog_per_s,
    }


def _charts(capacities: Sequence[Capacity]) -> dict[str, Markup]:
    """The charts of all of them, by name: `curve-1.880` and so on."""
    found: dict[str, Markup] = {}
    for number, one in enumerate(capacities, 1):
        offered = [(point.step.rate_per_s, point.step.duration_s) for point in one.over_points]
        found |= loadchart.pictures(f"curve-{number}", (*one.curve, *one.fresh), _around(one), one.over_seconds, offered)
    return found


def _around(one: Capacity) -> Around:
    """The marks that its curve shows beside its steps; of an overload, the steps above the rate that it is held against."""
    base = one.over.capacity_per_s if one.over is not None else None
    beyond = () if base is None else tuple(point for point in one.over_points if point.step.rate_per_s > base)
    knee = None if one.knee is None else one.knee[0]
    return Around(one.confirmed_per_s or one.found.lower, one.missed_from_per_s, one.deadline_us, knee, beyond)


def html(
    capacities: Sequence[Capacity],
    facts: Sequence[str],
    foot: str,
    home: str | None = None,
    shared: str = seats.share(()),
) -> str:
    """The page: sentences, charts, the confirmations, every step of curve and search.

    `facts` are one line about the machine, and `shared` says who is on it.
    """
    told = [sentences(one)[0] for one in capacities[:MOST_TOLD]]
    if len(capacities) > MOST_TOLD:
        told.append(f"{len(capacities) - MOST_TOLD} more stand below")
    return frame.frame_page(
        "capacity.html",
        "capacity",
        told,
        most_told=MOST_TOLD,
        capacities=capacities,
        charts=_charts(capacities),
        facts=facts,
        foot=foot,
        widths=WIDTHS_PX,
        sentences=sentences,
        marks=MARKS,
        row=point_row,
        home=home,
        seats=shared,
    )
