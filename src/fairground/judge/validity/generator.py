"""The checks of the generator: it kept what was asked of it, and counted what it did (V1 to V7, V9b, V10)."""

from __future__ import annotations

from dataclasses import dataclass

from fairground.judge.stalls import of_engine, of_server, stall_words
from fairground.judge.thresholds import Rules, standard
from fairground.judge.validity.check import CheckReading, TrialFacts, ValidityCheck
from fairground.model import Evidence, Result
from fairground.model.plural import plural, with_verb

ITS_OWN_WORDS = ("too many open files", "no buffer space", "no file descriptors", "cannot allocate memory")
"""What the kernel tells a client that has run out of descriptors or memory for sockets."""


def _on_schedule(facts: TrialFacts) -> bool:
    """True for an open loop, unless all of its connections were in use.

    What it sends late or never is then its generator's doing.
    """
    return facts.open and not facts.capped


def _unsent(facts: TrialFacts, _: Rules) -> CheckReading | None:
    """V1. What was due and never sent, of all that was due."""
    window = facts.result.window if facts.result else None
    if window is None or window.unsent is None or not window.total:
        return None
    words = f"{window.unsent:,} of {window.total:,} requests that were due were never sent"
    return CheckReading(window.unsent / window.total, words, {"unsent": window.unsent, "due": window.total})


def _send_lag(facts: TrialFacts, rules: Rules) -> CheckReading | None:
    """V2. How late requests left, of the latencies that this lateness is a part of."""
    lag = facts.result.send_lag if facts.result else None
    latency = facts.result.latency_ok if facts.result else None
    if lag is None or lag.p99_us is None or latency is None or latency.p99_us is None:
        return None
    share = lag.p99_us / max(latency.p99_us, rules.send_lag_least_us)
    late_ms, latency_ms = lag.p99_us / 1000, latency.p99_us / 1000
    words = f"1 % of the requests left {late_ms:.2f} ms late or later, and the latency's p99 is {latency_ms:.2f} ms"
    return CheckReading(share, words, {"send_lag_p99_us": lag.p99_us, "latency_p99_us": latency.p99_us})


def _generator(facts: TrialFacts, _: Rules) -> CheckReading | None:
    """V3. The busiest thread; a generator that is full limits what it measures."""
    share = facts.result.busiest_thread_share if facts.result else None
    if share is None:
        return None
    words = f"the generator's busiest thread was {share:.0%} busy: the server may be able to do more"
    return CheckReading(share, words, {"busiest_thread_share": share})


def _may_limit(facts: TrialFacts) -> bool:
    """True unless a closed loop's server filled cores of its own more than the generator's thread filled its one.

    V3 is not asked of such a trial: the server is the limit. It gets no more requests than it answers, whatever room the
    generator has left.
    """
    use, share = facts.roles.get("server"), facts.result.busiest_thread_share if facts.result else None
    if not facts.closed or facts.cell is None or use is None or use.cpu_us is None or share is None or not facts.window_s:
        return True
    own, generators = facts.cores_of("server"), facts.cores_of("generator")
    if not own or not generators or own & generators:
        return True
    return use.cpu_us / 1e6 / facts.window_s / len(own) < share


def own_side(result: Result) -> str | None:
    """Say why the generator's own side could not open connections; None where that was not so."""
    told = [sample for sample in result.samples if sample.outcome == "connect"]
    return next(
        (one.reason for one in told if one.wanted_a_port or any(word in one.reason.lower() for word in ITS_OWN_WORDS)), None
    )


def _own_errors(facts: TrialFacts, _: Rules) -> CheckReading | None:
    """V4. Connections that the generator's own side could not open: the server never heard of them."""
    result = facts.result
    if result is None or result.window.connect is None or not result.window.total:
        return None
    own = own_side(result)
    failed = result.window.connect if own is not None else 0
    words = f"{plural(failed, 'connection')} failed on the generator's own side: {own}"
    return CheckReading(failed / result.window.total, words, {"failed": failed, "sent": result.window.total, "reason": own})


def _connection_cap(facts: TrialFacts, _: Rules) -> CheckReading | None:
    """V4. Seconds at whose end every connection of an open loop was in use."""
    result, cell = facts.result, facts.cell
    seen = [one.in_flight for one in result.seconds if one.in_flight is not None] if result else []
    if cell is None or not seen:
        return None
    most = cell.load.connections
    full = sum(count >= most for count in seen)
    words = f"all {most:,} connections were in use at the end of {full} of {len(seen)} seconds: requests waited for one"
    return CheckReading(full / len(seen), words, {"full_seconds": full, "seconds": len(seen), "connections": most})


def _counts_all(facts: TrialFacts) -> bool:
    """True for a trial that Little's law can check.

    It needs a closed loop that says how long it pauses: the engine's, while every connection could be opened at once.
    """
    engines = facts.closed and facts.cell is not None and facts.cell.load.generator == "engine"
    return engines and not _lacks_connections(facts) and not _waited_to_be_accepted(facts)


def _waited_to_be_accepted(facts: TrialFacts) -> bool:
    """True if connections waited because the server's listen queue was full: that time is in no latency, and is its doing."""
    connect, use = facts.result.connect if facts.result else None, facts.roles.get("server")
    return bool(use and use.dropped_connections) and connect is not None and (connect.max_us or 0) >= standard().reasons.retry_us


def _lacks_connections(facts: TrialFacts) -> bool:
    return facts.result is not None and bool(facts.result.window.connect or facts.result.window.in_flight)


@dataclass(frozen=True)
class Busy:
    """The latencies and pauses of a closed loop's window, held against connections × window.

    Its longest requests are beside them, each with its pause, as shares of the window.
    """

    off: float
    inside: float
    """The longest that began in the window."""
    oldest: float
    """The longest that was answered in it, which may have begun before it and is none of its latencies then."""

    @property
    def ends(self) -> float:
        """The share that the window's ends explain.

        A request at its end can add its time, one from before it can only be lacking.
        """
        return self.oldest if self.off < 0 else self.inside


def _busy(facts: TrialFacts) -> Busy | None:
    result, cell = facts.result, facts.cell
    latency = result.latency_all if result else None
    if result is None or cell is None or latency is None or not latency.mean_us or latency.max_us is None or not facts.window_s:
        return None
    if cell.load.stages:
        return None  # how many are there at a moment is the generator's to know
    window_us, pause_us = facts.window_s * 1e6, cell.load.think_ms * 1000
    off = latency.count * (latency.mean_us + pause_us) / (cell.load.connections * window_us) - 1
    if result.pipeline > 1 and off > 0:  # of a batch one request at least is under way, and all of them at most
        off = max(0.0, (off + 1) / result.pipeline - 1)
    longest_us = max(latency.max_us, *(one.max_us or 0 for one in result.seconds), 0)
    return Busy(off, (latency.max_us + pause_us) / window_us, (longest_us + pause_us) / window_us)


def _little(facts: TrialFacts, _: Rules) -> CheckReading | None:
    """V6. In a closed loop each connection has a request under way or pauses at every moment, so that all latencies and pauses of
    the window add up to connections × window; what the longest request can add or lack at the window's two ends is allowed."""
    busy = _busy(facts)
    if busy is None or facts.cell is None:
        return None
    pauses = " and pauses" if facts.cell.load.think_ms else ""
    words = (
        f"{facts.cell.load.connections} connections must be busy all the time (Little's law), and the latencies{pauses} add up to"
        f" {busy.off:+.1%} of that; the window's ends explain {busy.ends:.1%}"
    )
    return CheckReading(max(0.0, abs(busy.off) - busy.ends), words, {"off": busy.off, "ends": busy.ends})


def _starved(facts: TrialFacts, rules: Rules) -> CheckReading | None:
    """V6. Latency that is lacking where requests from before the window explain it: connections that waited for such requests
    while others were served again and again, or all of them in a stall. Those waits are among no latencies of the window. What
    they waited while the engine itself stood still is the machine's."""
    busy = _busy(facts)
    if busy is None:
        return None
    told = (facts.result.gaps if facts.result else None) or ()
    gaps = of_server(told, rules)
    silent, asleep = (sum(gap.duration_us for gap in some) / (facts.window_s * 1e6) for some in (gaps, of_engine(told, rules)))
    held = max(0.0, -busy.off - busy.inside - asleep) if busy.oldest > busy.inside else 0.0
    who = stall_words(gaps) if gaps and silent >= held else "some wait while others are served again and again"
    words = (
        f"requests that began before the window held {-busy.off:.0%} of the connections' time in it, the longest was"
        f" {busy.oldest * facts.window_s:.1f} s old: {who}, and no latency of the window tells of it"
    )
    return CheckReading(held, words, {"held": -busy.off, "oldest_s": busy.oldest * facts.window_s})


def _closure(facts: TrialFacts, _: Rules) -> CheckReading | None:
    """V7. What was under way and what was sent, against what came back and what still was under way."""
    result = facts.result
    if result is None or None in (result.in_flight_start, result.in_flight_end, result.completed):
        return None
    balance = result.window.total + (result.in_flight_start or 0) - (result.completed or 0) - (result.in_flight_end or 0)
    balance -= result.window.unsent or 0
    words = f"the generator's counts do not close: {with_verb(balance, 'request')} unaccounted for"
    return CheckReading(abs(balance), words, {"unaccounted": balance})


def _run_queue(facts: TrialFacts, _: Rules) -> CheckReading | None:
    """V9b. How long its busiest thread was ready and waited for a processor, less what the run's own roles explain."""
    use = facts.roles.get("generator")
    if use is None or use.busiest_thread_waited_share is None:
        return None
    share, taken_off = use.busiest_thread_waited_share, use.involuntary_switches_per_s
    words = f"the generator's busiest thread was ready and waited for a processor for {share:.1%} of the window"
    words += "" if taken_off is None else f", and was taken off {taken_off:,.0f} times a second"
    evidence: Evidence = {"waited_share": share, "involuntary_switches_per_s": taken_off}
    return _unexplained(facts, share, words, evidence)


def _pressure(facts: TrialFacts, _: Rules) -> CheckReading | None:
    """V10. The same of all of its threads, as its cgroup tells it."""
    use = facts.roles.get("generator")
    if use is None or use.pressure_cpu_some_share is None:
        return None
    share = use.pressure_cpu_some_share
    return _unexplained(
        facts, share, f"the generator waited for a processor in {share:.1%} of the window", {"waited_share": share}
    )


def _unexplained(facts: TrialFacts, share: float, words: str, evidence: Evidence) -> CheckReading:
    """A wait less the part that was for roles on the same processors.

    Seats made that part, and it is no news of a trial.
    While one thread waits for a processor, another one works there. So the wait cannot be longer than what the others worked.
    """
    beside = facts.beside_generator
    if beside:
        words += f"; roles beside it worked {beside:.1%} of a core"
        evidence = {**evidence, "explained_share": beside}
    return CheckReading(max(0.0, share - beside), words, evidence)


def _is_open(facts: TrialFacts) -> bool:
    return facts.open


CHECKS = (
    ValidityCheck("unsent", "V1", "generator", "requests that were never sent", "share", _unsent, _on_schedule),
    ValidityCheck("send-lag", "V2", "generator", "how late requests left", "share", _send_lag, _on_schedule),
    ValidityCheck("generator", "V3", "generator", "the generator's busiest thread", "share", _generator, _may_limit),
    ValidityCheck("generator-errors", "V4", "generator", "ports and descriptors of the generator", "share", _own_errors),
    ValidityCheck("connection-cap", "V4", "window", "seconds with every connection in use", "share", _connection_cap, _is_open),
    ValidityCheck("little", "V6", "generator", "Little's law", "share", _little, _counts_all),
    ValidityCheck("starved", "V6", "server", "connections that waited since before the window", "share", _starved, _counts_all),
    ValidityCheck("closure", "V7", "generator", "whether the counts close", "requests", _closure),
    ValidityCheck("run-queue", "V9b", "machine", "the generator's wait for a processor", "share", _run_queue),
    ValidityCheck("generator-pressure", "V10", "machine", "processor pressure on the generator's cgroup", "share", _pressure),
)
