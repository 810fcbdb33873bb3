"""Work that is done where nobody counts it as the server's: by who holds its port, and by what its answers cost it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairground.judge.thresholds import Rules
from fairground.model import Finding, Result, RoleUse, Severity


def port_finding(holders: Sequence[str], port: int) -> tuple[Finding, ...]:
    """Reject a server at whose port processes listen or talk that it did not start."""
    if not holders:
        return ()
    who = ", ".join(holders)[:300]
    sentence = f"port {port} was held by {who}, which the server did not start: what that uses is not counted as the server's"
    return (Finding("port-elsewhere", Severity.REJECT, sentence, {"holders": who, "port": port}),)


def cost_finding(result: Result, roles: Mapping[str, RoleUse], rules: Rules) -> tuple[Finding, ...]:
    """Reject a server that used less for each answer than the two system calls that an answer takes: somebody else gave them."""
    use = roles.get("server")
    if use is None or use.cpu_us is None or result.completed_ok < rules.answer_cpu_answers:
        return ()
    each_us = use.cpu_us / result.completed_ok
    if each_us >= rules.answer_cpu_least_us:
        return ()
    sentence = (
        f"the server used {each_us:.2f} µs of CPU for each of {result.completed_ok:,} good answers, less than reading a request"
        f" and writing an answer takes (at least {rules.answer_cpu_least_us:g} µs): something else gave them"
    )
    return (Finding("work-elsewhere", Severity.REJECT, sentence, {"cpu_us_per_answer": round(each_us, 3)}),)
