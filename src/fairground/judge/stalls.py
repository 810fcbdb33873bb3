"""Stretches in which requests were open and nobody got an answer: how many, how long, whose they were. Pure.

A closed loop waits with its server. It loses one request for each connection in a stall, however long that is, and its
percentiles hide the rest (coordinated omission). So the gaps between answers are counted by themselves.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from fairground.judge.thresholds import Rules
from fairground.model import Cell, Evidence, Finding, Gap, Look, RateStep, Result, Severity
from fairground.model.reason import REASONS

P99_BEYOND = 0.01
AT_WORK_CORES = 0.5
"""A role that used more of a processor than this in stalls was at work in them."""
LEAST_INSIDE_S = 0.4
"""Shorter stalls do not tell who was at work in them: looks are 0.2 s apart, and who catches up beside one seems to be."""


@dataclass(frozen=True)
class Meanwhile:
    """Cores that a role used inside of stalls, and outside of them."""

    inside: float
    outside: float


def findings(cell: Cell, result: Result, looks: Sequence[Look], diagnosis: str | None, rules: Rules) -> tuple[Finding, ...]:
    """The stalls of a trial, and apart from them those that were the machine's. Nothing where the generator tells no gaps."""
    least_us = shortest_us(result, rules)
    if least_us is None:
        return ()
    long = [gap for gap in result.gaps or () if gap.duration_us >= least_us]
    usual = _usual_steal(result, looks, long)
    taken = [gap for gap in long if _is_machines(gap, result, looks, usual, rules)]
    stalls = [gap for gap in long if gap not in taken]
    found = []
    if stalls:
        found.append(_stalls(cell, result, looks, stalls, diagnosis, rules))
    if taken:
        total_s = sum(gap.duration_us for gap in taken) / 1e6
        sentence = (
            f"{_times(len(taken))} no answer came, for {total_s:.2f} s in all, while the load engine itself had no processor or"
            " the hypervisor had taken one: the machine is at fault, not the server"
        )
        found.append(Finding("stalls-machine", Severity.NOTE, sentence, {"count": len(taken), "total_s": round(total_s, 3)}))
    return tuple(found)


def shortest_us(result: Result, rules: Rules) -> float | None:
    """The µs from which on a gap of this trial is a stall. None where nothing was answered, or gaps are not told."""
    latency, answers = result.latency_ok, result.completed or result.completed_ok
    if result.gaps is None or not result.completed_ok or latency is None or latency.p50_us is None:
        return None
    return _shortest_us(result.window_s / answers, latency.p50_us, rules)


def of_step(step: RateStep, rules: Rules) -> list[Gap]:
    """The stalls of the server in a step, longer than slow or rare answers make a gap. Where none came, each gap is one."""
    found, service = of_server(step.gaps, rules), step.service
    if not step.completed_ok or service is None or service.p50_us is None:
        return found
    least_us = _shortest_us(step.duration_s / step.completed_ok, service.p50_us, rules)
    return [gap for gap in found if gap.duration_us >= least_us]


def of_server(gaps: Sequence[Gap], rules: Rules) -> list[Gap]:
    """The stalls among gaps in which the engine looked out for answers, as far as its own clock tells."""
    return [gap for gap in gaps if gap.duration_us >= rules.stall_least_us and gap.own_us < rules.stall_own * gap.duration_us]


def of_engine(gaps: Sequence[Gap], rules: Rules) -> list[Gap]:
    """The long gaps in which the engine itself did not run, as far as its own clock tells: these are the machine's."""
    return [gap for gap in gaps if gap.duration_us >= rules.stall_least_us and gap.own_us >= rules.stall_own * gap.duration_us]


def holds_all(gaps: Sequence[Gap], rate_per_s: float, connections: int, rules: Rules) -> bool:
    """True if a stall of the server was so long that a request was due for each connection: then others had to wait for one."""
    return any(gap.duration_us / 1e6 * rate_per_s >= connections for gap in of_server(gaps, rules))


def stall_words(stalls: Sequence[Gap]) -> str:
    """Say how often a server stalled, as a clause."""
    longest_ms = max(gap.duration_us for gap in stalls) / 1000
    often = _times(len(stalls))
    return f"the server stalls: {often} no answer came while requests were open, for {longest_ms:.0f} ms at the longest"


def unhidden_p99_us(stalls: Sequence[Gap], window_s: float) -> float | None:
    """The p99 that stalls alone give to requests that come evenly, whether or not the server answers; None: too few meet one.

    A request that comes into a stall of D at offset u waits D − u. So the share that waits longer than x
    is Σ max(0, D − x) / window.
    """
    late_us = P99_BEYOND * window_s * 1e6
    lengths = sorted((gap.duration_us for gap in stalls), reverse=True)
    if sum(lengths) <= late_us:
        return None
    for count, shorter in enumerate([*lengths[1:], 0], 1):
        bound_us = (sum(lengths[:count]) - late_us) / count
        if bound_us >= shorter:
            return bound_us
    raise AssertionError("the last stretch reaches down to 0")


def meanwhile(result: Result, looks: Sequence[Look], stalls: Sequence[Gap]) -> dict[str, Meanwhile]:
    """The cores that server and database used inside and outside of stalls.

    The looks are longer apart than most stalls are long.
    The stretches between two looks without any stall tell what is used outside. What others used beyond that fell into stalls.
    """
    pairs = [(one, two, _overlap_s(one, two, result, stalls)) for one, two in itertools.pairwise(looks)]
    quiet = [(one, two) for one, two, inside_s in pairs if inside_s == 0]
    inside_s = sum(inside_s for _, _, inside_s in pairs)
    outside_s = sum(two.at_unix_s - one.at_unix_s for one, two in quiet)
    if not outside_s or inside_s < max(LEAST_INSIDE_S, sum(gap.duration_us for gap in stalls) / 2e6):
        return {}
    found = {}
    for role in sorted(set.intersection(*(set(look.cpu_us) for look in looks)), reverse=True):
        outside = sum(_used_s(one, two, role) for one, two in quiet) / outside_s
        beyond_s = sum(
            _used_s(one, two, role) - outside * (two.at_unix_s - one.at_unix_s - own_s) for one, two, own_s in pairs if own_s > 0
        )
        found[role] = Meanwhile(max(0.0, beyond_s / inside_s), outside)
    return found


def _shortest_us(mean_gap_s: float, p50_us: float, rules: Rules) -> float:
    return max(rules.stall_least_us, rules.stall_times_gap * mean_gap_s * 1e6, rules.stall_times_median * p50_us)


def _stalls(
    cell: Cell, result: Result, looks: Sequence[Look], stalls: Sequence[Gap], diagnosis: str | None, rules: Rules
) -> Finding:
    total_us, longest_us = sum(gap.duration_us for gap in stalls), max(gap.duration_us for gap in stalls)
    share = total_us / 1e6 / result.window_s
    used = meanwhile(result, looks, stalls)
    explained = diagnosis is not None and REASONS[diagnosis].waits
    sentence = (
        f"{_times(len(stalls))} no answer came while requests were open, for {total_us / 1e6:.2f} s of {result.window_s:.1f} s in"
        f" all and {longest_us / 1000:.0f} ms at the longest{_who(used)}"
    )
    sentence += f"; `{diagnosis}` explains them" if explained else _hidden(cell, result, stalls)
    evidence: Evidence = {
        "count": len(stalls),
        "total_s": round(total_us / 1e6, 3),
        "longest_ms": round(longest_us / 1000, 1),
        "share": round(share, 4),
        "unhidden_p99_us": _rounded(unhidden_p99_us(stalls, result.window_s)),
        **{f"{role}_cores_in_stalls": round(one.inside, 3) for role, one in used.items()},
        **{f"{role}_cores_otherwise": round(one.outside, 3) for role, one in used.items()},
    }
    grave = len(stalls) >= rules.stall_count_warn and share >= rules.stall_share_warn and not explained
    return Finding("stalls", Severity.WARN if grave else Severity.NOTE, sentence, evidence)


def _hidden(cell: Cell, result: Result, stalls: Sequence[Gap]) -> str:
    """Say what the closed loop does not show of the stalls, as the end of a sentence."""
    if cell.load.model != "closed":
        return ""
    said = ". This closed loop waits with the server, so that its percentiles hide them (coordinated omission)"
    p99_us, seen = unhidden_p99_us(stalls, result.window_s), result.latency_ok.p99_us if result.latency_ok else None
    if p99_us is None or seen is None or p99_us <= seen:
        return said
    return f"{said}: requests that come evenly would have a p99 of about {p99_us / 1000:.0f} ms, not {seen / 1000:.1f} ms"


def _who(used: dict[str, Meanwhile]) -> str:
    """Say who was at work in the stalls, as a part of a sentence. Nothing where that cannot be seen."""
    if "server" not in used:
        return ""
    busy = [role for role, one in used.items() if one.inside >= AT_WORK_CORES]
    server = used["server"]
    cores = f"the server used {server.inside:.2f} cores in them ({server.outside:.2f} otherwise)"
    if "server" in busy:
        return f"; {cores}: it was at work, as during garbage collection"
    if busy:
        return f"; {cores}, and the database {used['database'].inside:.2f}: the database was at work"
    return f"; {cores}: it was stopped, or waited"


def _is_machines(gap: Gap, result: Result, looks: Sequence[Look], usual: float, rules: Rules) -> bool:
    """True if the stall was the machine's.

    The engine did not look for most of the gap, or the hypervisor took so much processor time around it beyond its `usual`.
    """
    around = [(one, two) for one, two in itertools.pairwise(looks) if _overlap_s(one, two, result, [gap]) > 0]
    stolen_us = sum(_stolen_us(one, two) - usual * 1e6 * (two.at_unix_s - one.at_unix_s) for one, two in around)
    return max(gap.own_us, stolen_us) >= rules.stall_own * gap.duration_us


def _usual_steal(result: Result, looks: Sequence[Look], gaps: Sequence[Gap]) -> float:
    """The cores that the hypervisor takes where no answer is missing: many cores make it much, and it stops nobody."""
    quiet = [(one, two) for one, two in itertools.pairwise(looks) if _overlap_s(one, two, result, gaps) == 0]
    quiet_s = sum(two.at_unix_s - one.at_unix_s for one, two in quiet)
    return sum(_stolen_us(one, two) for one, two in quiet) / 1e6 / quiet_s if quiet_s else 0.0


def _stolen_us(one: Look, two: Look) -> float:
    return two.stolen_us - one.stolen_us


def _overlap_s(one: Look, two: Look, result: Result, gaps: Sequence[Gap]) -> float:
    """Seconds between two looks during which one of these gaps lasted."""
    began_s = (result.started_unix_us or 0) / 1e6
    ends = [(began_s + gap.start_us / 1e6, began_s + (gap.start_us + gap.duration_us) / 1e6) for gap in gaps]
    return sum(max(0.0, min(two.at_unix_s, end_s) - max(one.at_unix_s, start_s)) for start_s, end_s in ends)


def _used_s(one: Look, two: Look, role: str) -> float:
    return (two.cpu_us[role] - one.cpu_us[role]) / 1e6


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _rounded(value: float | None) -> int | None:
    return None if value is None else round(value)
