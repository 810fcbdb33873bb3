"""The checks that the machine was ours and kept its pace (V8 to V14)."""

from __future__ import annotations

from fairground.judge.thresholds import Rules
from fairground.judge.validity.check import CheckReading, TrialFacts, ValidityCheck
from fairground.model import Durability, Evidence
from fairground.model.plural import plural, with_verb


def _steal(facts: TrialFacts, _: Rules) -> CheckReading | None:
    """V8. Time in which a processor had work and the hypervisor ran somebody else.

    The kernel tells it in steps, of 10 ms as a rule: the least that was taken for certain is one step less than what it counted.
    """
    share, step = (facts.host.steal_share, facts.host.steal_step_share) if facts.host else (None, None)
    if share is None:
        return None
    words = f"the hypervisor took {share:.1%} of the machine's time during the window"
    return CheckReading(max(0.0, share - (step or 0.0)), words, {"steal_share": share, "step": step})


def _foreign_cpu(facts: TrialFacts, _: Rules) -> CheckReading | None:
    """V9. The machine's CPU less that of all roles and of the lab, or what other processes' own clocks say, if that is more."""
    host = facts.host
    if host is None or host.foreign_cpu_us is None or not facts.window_s:
        return None
    cores, most = host.foreign_cpu_us / 1e6 / facts.window_s, (host.stranger_cpu_us or 0.0) / 1e6 / facts.window_s
    named = f", most of it `{host.stranger}` ({most:.0%})" if host.stranger is not None and most > cores / 2 else ""
    sentence = f"other processes used {cores:.0%} of a core during the window{named}"
    return CheckReading(cores, sentence, {"foreign_cores": cores, "stranger": host.stranger, "stranger_cores": most})


def _lab_cpu(facts: TrialFacts, _: Rules) -> CheckReading | None:
    """V9. What the lab's own process used, beside what it started: whoever looks too often takes from what is looked at."""
    use = facts.roles.get("lab")
    if use is None or use.cpu_us is None or not facts.window_s:
        return None
    cores = use.cpu_us / 1e6 / facts.window_s
    return CheckReading(cores, f"the lab itself used {cores:.0%} of a core during the window", {"lab_cores": cores})


def _io_pressure(facts: TrialFacts, _: Rules) -> CheckReading | None:
    """V10. Time in which everything that had work waited for the disk."""
    share = facts.host.pressure_io_full_share if facts.host else None
    if share is None:
        return None
    return CheckReading(share, f"all work waited for the disk in {share:.1%} of the window", {"io_full_share": share})


def _waits_for_no_disk(facts: TrialFacts) -> bool:
    """True unless the database is durable: then it waits for the disk at each commit, and the trial measures that."""
    return facts.cell is None or facts.cell.settings.durability is not Durability.DURABLE


def _canary(facts: TrialFacts, _: Rules) -> CheckReading | None:
    """V11. A fixed piece of work before and after the load: the machine's pace, which no server can change.

    The change is weighed by the cores that were used: what waits for locks or timers most of the time hardly follows the pace.
    """
    before, after = (facts.host.canary_before_us, facts.host.canary_after_us) if facts.host else (None, None)
    if not before or not after:
        return None
    change = after / before - 1
    words = (
        f"a fixed piece of work took {before / 1000:.1f} ms before the load and {after / 1000:.1f} ms after it ({change:+.0%})"
    )
    pace = max(before, after) / min(before, after) - 1
    if facts.busy < 1:
        words += f", and {facts.busy:.0%} of a core was used"
    return CheckReading(pace * facts.busy, words, {"before_us": before, "after_us": after, "cores_used": facts.busy})


def _frequency(facts: TrialFacts, _: Rules) -> CheckReading | None:
    """V12. The processors' clock rate at the window's end against that at its beginning."""
    change = facts.host.frequency_change_share if facts.host else None
    if change is None:
        return None
    return CheckReading(abs(change), f"the processors' clock rate changed by {change:+.1%} over the window", {"change": change})


def _heat(facts: TrialFacts, _: Rules) -> CheckReading | None:
    """V12. How often a processor slowed down because it was hot."""
    times = facts.host.heat_throttles if facts.host else None
    return (
        None
        if times is None
        else CheckReading(times, f"hot processors slowed down {plural(times, 'time')}", {"throttles": times})
    )


def _swap(facts: TrialFacts, _: Rules) -> CheckReading | None:
    """V13. Pages that went to or came from swap, whosever they were."""
    pages = facts.host.swapped_pages if facts.host else None
    return (
        None
        if pages is None
        else CheckReading(pages, f"{with_verb(pages, 'page', 'was', 'were')} swapped during the window", {"pages": pages})
    )


def _memory_kills(facts: TrialFacts, _: Rules) -> CheckReading | None:
    """V13. Processes killed for want of memory."""
    kills = facts.host.memory_kills if facts.host else None
    if kills is None:
        return None
    return CheckReading(
        kills, f"the kernel killed {plural(kills, 'process')} for want of memory during the window", {"kills": kills}
    )


def _has_all_memory(facts: TrialFacts) -> bool:
    """True unless the server has a memory limit.

    A server that is killed at its own limit is the server's fault, and found as such.
    """
    return facts.cell is None or facts.cell.settings.memory_mb is None


def _major_faults(facts: TrialFacts, _: Rules) -> CheckReading | None:
    """V13. Page faults that waited for a disk: somebody's memory was not there."""
    faults = facts.host.major_faults if facts.host else None
    if faults is None or not facts.window_s:
        return None
    per_s = faults / facts.window_s
    return CheckReading(per_s, f"{per_s:,.1f} page faults a second waited for a disk", {"major_faults": faults})


def _quota(facts: TrialFacts, _: Rules) -> CheckReading | None:
    """V13. Periods in which a CPU quota that is not part of the cell was used up: the lab's own, or a role's."""
    if facts.host is None or facts.host.periods is None or facts.host.throttled_periods is None:
        return None
    counts = {"lab": (facts.host.throttled_periods, facts.host.periods)}
    designed = "server" if facts.cell is not None and facts.cell.settings.cpus is not None else None
    for role, use in facts.roles.items():
        if role != designed and use.throttled_periods is not None and use.periods:
            counts[role] = (use.throttled_periods, use.periods)
    shares = {role: throttled / periods if periods else 0.0 for role, (throttled, periods) in counts.items()}
    worst = max(shares, key=lambda role: shares[role])
    words = f"a CPU quota that the run did not ask for was used up in {shares[worst]:.1%} of the periods ({worst})"
    return CheckReading(shares[worst], words, {"role": worst, "throttled": counts[worst][0], "periods": counts[worst][1]})


def _retransmits(facts: TrialFacts, _: Rules) -> CheckReading | None:
    """V14. TCP segments that were lost and sent again, of all that the machine sent; one alone says nothing.

    Where a receiver is slow to answer, the kernel sends the last segment twice to learn of a loss. The receiver reports each copy
    that it had already (RFC 2883), so that those are told from losses. What the server's full listen queue dropped is no loss,
    either: it is sent again.
    """
    tcp = facts.host.tcp if facts.host else {}
    again, sent = tcp.get("TcpRetransSegs"), tcp.get("TcpOutSegs")
    if again is None or not sent:
        return None
    doubles = tcp.get("TcpExtTCPDSACKRecvSegs", 0)
    server = facts.roles.get("server")
    dropped = (server.dropped_connections or 0) if server is not None else 0
    lost = max(0, again - doubles - dropped)
    words = f"{lost:,} of {sent:,} TCP segments were lost and sent again"
    evidence: Evidence = {"lost": lost, "retransmitted": again, "received_twice": doubles, "dropped": dropped, "sent": sent}
    return CheckReading(lost / sent if lost > 1 else 0.0, words, evidence)


def _backlog(facts: TrialFacts, _: Rules) -> CheckReading | None:
    """V14. Connections that the server's listen queue had no room for: never a reason to void."""
    use = facts.roles.get("server")
    if use is None or use.dropped_connections is None:
        return None
    dropped = use.dropped_connections
    words = f"the server's listen queue had no room {plural(dropped, 'time')}: its backlog is short, or it accepts slowly"
    return CheckReading(dropped, words, {"dropped": dropped})


CHECKS = (
    ValidityCheck("steal", "V8", "machine", "time taken by the hypervisor (steal)", "share", _steal),
    ValidityCheck("foreign-cpu", "V9", "machine", "CPU of other processes", "cores", _foreign_cpu),
    ValidityCheck("lab-cpu", "V9", "machine", "CPU of the lab itself", "cores", _lab_cpu),
    ValidityCheck("io-pressure", "V10", "machine", "work that waits for the disk", "share", _io_pressure, _waits_for_no_disk),
    ValidityCheck("canary", "V11", "machine", "a fixed piece of work before and after the load", "share", _canary),
    ValidityCheck("frequency", "V12", "machine", "the processors' clock rate", "share", _frequency),
    ValidityCheck("heat", "V12", "machine", "slowing down for heat", "times", _heat),
    ValidityCheck("swap", "V13", "machine", "swapping", "pages", _swap),
    ValidityCheck(
        "memory-kills", "V13", "machine", "processes killed for want of memory", "processes", _memory_kills, _has_all_memory
    ),
    ValidityCheck("major-faults", "V13", "machine", "page faults that waited for a disk", "a second", _major_faults),
    ValidityCheck("quota", "V13", "machine", "a CPU quota around the lab", "share", _quota),
    ValidityCheck("retransmits", "V14", "machine", "TCP segments lost and sent again", "share", _retransmits),
    ValidityCheck("backlog", "V14", "server", "connections dropped by the server's listen queue", "drops", _backlog),
)
