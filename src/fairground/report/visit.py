"""A visit to a service as text: its sentences, the rows for `--json`, and the page."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from fairground.capacity.loadcurve import CurvePoint
from fairground.capacity.service.values import Closed, RequestShare, Visit, kept_by_rate
from fairground.model import Finding, Severity, foreign
from fairground.report import frame
from fairground.report.capacity import MARKS, MOST_TOLD, point_row
from fairground.report.charts import loadchart
from fairground.report.charts.loadchart import Around
from fairground.report.charts.svg import WIDTHS_PX
from fairground.report.text import words
from fairground.report.text.rows import rate_text, tail_text

MARK = {Severity.NOTE: "✓", Severity.WARN: "!", Severity.REJECT: "✗", Severity.VOID: "○"}
TAGS = {Severity.NOTE: "valid", Severity.WARN: "warned", Severity.REJECT: "rejected", Severity.VOID: "void"}


def sentences(found: Visit) -> tuple[str, ...]:
    """Say what was found about the service, most important first."""
    checked = found.conduct.findings if found.conduct is not None else ()
    broken, warned = (sum(one.severity is severity for one in checked) for severity in (Severity.REJECT, Severity.WARN))
    said = [foreign.line(one.sentence) for one in found.findings if one.severity is Severity.REJECT]
    if checked:
        said.append(f"{len(checked) - broken - warned} of {len(checked)} checks hold" + (f", {warned} warn" if warned else "")
                    + (f", {broken} fail: clients will fail on that" if broken else ""))  # fmt: skip
    if found.none_within_s is not None:
        came = words.plural(found.acknowledged, "good answer")
        said.append(f"No answer ended inside a window of {found.none_within_s} s, though {came} came: `try --window` takes more")
    elif found.closed:
        best = max(found.closed, key=lambda one: one.goodput_per_s)
        clients = words.plural(best.connections, "connection")
        given = f"{words.number(best.goodput_per_s)} {_good(found)} a second" if best.goodput_per_s else "no good answer"
        said.append(f"It gives {given} to {clients}{_cost(best)}")
    if (handshakes := _handshakes(found)) is not None:
        said.append(handshakes)
    if found.at_least_per_s is not None:
        said.insert(0, _enough(found, found.at_least_per_s))
    if found.curve:
        if found.kept_per_s is None:
            said.append(_nothing_kept(found))
        else:
            above = ": the highest rate offered, so its limit is higher" if found.keeps_all else _missed(found.curve, "; ")
            rate = f"{rate_text(found.kept_per_s)} requests a second"
            said.append(f"It kept {found.objective} up to {rate}, {_times(found.kept_times)}{above}")
        if found.repeated_per_s:
            rates = ", ".join(f"{rate_text(rate)}/s" for rate in found.repeated_per_s)
            said.append(
                f"At first {rates} did not keep it, although a higher rate did; each was measured three times, and most decide"
            )
    said += [foreign.line(one.sentence) for one in found.findings if one.severity is not Severity.REJECT]
    if found.limited_by:
        said.append(f"Suspected limit, {found.limited_by[0].id}: {foreign.line(found.limited_by[0].sentence)}")
    elif found.closed:
        said.append(
            "What limits it cannot be told from outside" + ("" if found.server else ": the process that serves it is not known")
        )
    return tuple(said)


def _times(count: int) -> str:
    if count < 3:
        return "measured once" if count == 1 else "measured twice"
    return f"confirmed: most of {count} measurements kept it"


def _enough(found: Visit, rate: float) -> str:
    """Say whether the rate that was asked for kept the objective, in how many of its steps, and why not."""
    asked = f"{found.objective} at the {rate:,.10g} requests a second that are asked for"
    points = [point for point in found.curve if point.step.rate_per_s == rate]
    if found.keeps_enough is None:
        why = points[0].judgement.why if points else "no load had this rate"
        return f"Whether it keeps {asked} cannot be told: {foreign.line(why)}"
    told = [point.judgement.low for point in points if point.judgement.low is not None]
    kept, untold = sum(told), len(points) - len(told)
    of = words.plural(len(told), "measurement") + (f", and {untold} cannot be judged" if untold else "")
    if found.keeps_enough:
        return f"It keeps {asked}, in {kept} of {of}"
    if kept_by_rate(found.curve)[rate]:
        below = _missed(found.curve, ": ")
        return f"It does not keep {asked}: it did in {kept} of {of}, and missed it below{below}"
    why = next(point.judgement.why for point in points if point.judgement.low is False)
    return f"It does not keep {asked}, in {len(told) - kept} of {of}: {foreign.line(why)}"


def _nothing_kept(found: Visit) -> str:
    """Say that no rate kept the objective: the lowest ones missed it, or cannot be judged, which is no miss."""
    words_of = kept_by_rate(found.curve)
    untold = list(itertools.takewhile(lambda rate: words_of[rate] is None, words_of))
    if not untold:
        return f"No rate of the load curve kept {found.objective}{_missed(found.curve, ': ')}"
    why = next(point.judgement.why for point in found.curve if point.step.rate_per_s == untold[-1])
    if len(untold) == len(words_of):
        return f"Whether it keeps {found.objective} cannot be told of any rate: {foreign.line(why)}"
    upto = f"of {rate_text(untold[-1])}/s" if len(untold) == 1 else f"of rates up to {rate_text(untold[-1])}/s"
    return f"No rate of the load curve kept {found.objective}; {upto} it cannot be told: {foreign.line(why)}"


def _missed(curve: Sequence[CurvePoint], sign: str) -> str:
    """Say why the lowest rate that missed the objective did, as the end of a sentence after a sign."""
    rate = next((rate for rate, kept in kept_by_rate(curve).items() if kept is False), None)
    if rate is None:
        return ""
    why = next(point.judgement.why for point in curve if point.step.rate_per_s == rate and point.judgement.low is False)
    return f"{sign}at {rate_text(rate)}/s {foreign.line(why)}"


def _good(found: Visit) -> str:
    """Name the answers that are counted: good ones, as a file says, or those of the status that is taken for good."""
    status = None if found.conduct is None or found.of_file else found.conduct.status
    return "good answers" if status is None or 200 <= status < 300 else f"answers with status {status}"


def _cost(one: Closed) -> str:
    if one.server_us_per_answer is None:
        return ""
    each = "for an answer of any kind, since most are not good" if one.per_any else "each"
    return f", for {words.number(one.server_us_per_answer)} µs of CPU {each}"


def _handshakes(found: Visit) -> str | None:
    """Say what TLS costs before a first request; None for plain HTTP."""
    known = [(one.connections, one.handshakes) for one in found.closed if one.handshakes is not None and one.handshakes.count]
    if not known:
        return None
    (_, alone), (connections, many) = known[0], known[-1]
    said = f"A TLS handshake takes {words.milliseconds(alone.p50_us)} ms"
    if len(known) > 1:
        said += f", and {words.milliseconds(many.p50_us)} ms where {connections} connections open together"
    return f"{said} (medians): it is in no latency but that of a request that waited for its connection"


def lines(found: Visit) -> tuple[str, ...]:
    """The checks, one on a line. What the service did wrong by itself, or under load, is among the sentences."""
    checked = found.conduct.findings if found.conduct is not None else ()
    return tuple(f"{MARK[one.severity]} {one.id:<11} {foreign.line(one.sentence)}" for one in checked)


def request_lines(found: Visit) -> tuple[str, ...]:
    """Each request of several on a line, in the closed loop with the most good answers; empty where there is one."""
    best = max(found.closed, key=lambda one: one.goodput_per_s, default=None)
    shares = {} if best is None else best.requests
    width = max(map(len, shares), default=0)
    return tuple(f"{name:<{width}}  {_share(one)}" for name, one in shares.items())


def _share(one: RequestShare) -> str:
    failed = f"  {one.not_ok:,} of {one.due:,} without a good answer" if one.not_ok else ""
    latencies = f"p50 {words.milliseconds(one.p50_us)} ms  p99 {tail_text(one.p99_us, one.due - one.not_ok, 0.99)} ms"
    return f"{words.number(one.goodput_per_s):>7}/s  {latencies}{failed}"


def rows(found: Visit) -> Mapping[str, Any]:
    """A visit for `--json`; rates per second, latencies in µs, None where nothing is known."""
    seen = found.conduct
    return {
        "url": found.url,
        "method": found.method,
        "objective": found.objective,
        "status": None if seen is None else seen.status,
        "content_type": None if seen is None else seen.content_type,
        "body_bytes": None if seen is None else seen.body_bytes,
        "same_bodies": None if seen is None else seen.body is not None,
        "checks": [_finding(one) for one in _findings(found)],
        "server": found.server,
        "closed": [asdict(one) for one in found.closed],
        "curve": [point_row(point) for point in found.curve],
        "kept_per_s": found.kept_per_s,
        "at_least_per_s": found.at_least_per_s,
        "keeps_enough": found.keeps_enough,
        "acknowledged": found.acknowledged,
        "limited_by": [_finding(one) for one in found.limited_by],
        "notes": list(found.notes),
        "sentences": list(sentences(found)),
    }


def html(found: Visit, facts: Sequence[str], foot: str, home: str | None = None) -> str:
    """The page. `facts` are one line about the machine."""
    told = sentences(found)
    around = Around(kept_per_s=found.kept_per_s, deadline_us=found.deadline_us)
    return frame.frame_page(
        "visit.html",
        f"try · {found.method} {found.url}",
        told[:MOST_TOLD],
        more=told[MOST_TOLD:],
        visit=found,
        findings=_findings(found),
        charts=loadchart.pictures("curve", found.curve, around),
        facts=facts,
        foot=foot,
        widths=WIDTHS_PX,
        marks=MARKS,
        mark=MARK,
        tags=TAGS,
        row=point_row,
        home=home,
    )


def _findings(found: Visit) -> tuple[Finding, ...]:
    """The findings of what the service did wrong by itself, then the checks."""
    return (*found.findings, *(found.conduct.findings if found.conduct is not None else ()))


def _finding(one: Finding) -> Mapping[str, Any]:
    return {"id": one.id, "severity": str(one.severity), "sentence": one.sentence, "evidence": dict(one.evidence)}
