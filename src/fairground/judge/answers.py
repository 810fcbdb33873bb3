"""Turn a trial's counters into findings, a verdict and the name of what limited it. Pure: no I/O, no clock.

The checks are named as in docs/reference/checks.md. Those of machine and instrument are in `validity`: VOID is their fault,
REJECT the server's. No check looks at whether a speed seems odd.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

from fairground.judge import needs
from fairground.judge.thresholds import Rules
from fairground.model import (
    AuditLine,
    BadAnswer,
    Cell,
    DatabaseUse,
    Finding,
    LedgerRow,
    Needs,
    Outcomes,
    Result,
    Severity,
    Verdict,
    Workload,
    foreign,
)
from fairground.model.plural import plural, with_verb
from fairground.stats.intervals import rising, share_interval, steady

SAMPLE_LETTERS = 120
"""Of a request and of a body, where one is shown."""
OF_THE_CLIENT = (408, 429)
"""Too slow, too often: refusals that speak of the client's pace, and not of what was asked for."""
NOT_THERE = 404


def verdict(findings: Iterable[Finding]) -> Verdict:
    """The verdict of the gravest finding. A rejection stands even where the machine was noisy: noise makes no wrong answers.

    It can make silence, which `validity.excused` has made a note by then.
    """
    severities = {finding.severity for finding in findings}
    if Severity.REJECT in severities:
        return Verdict.REJECTED
    if Severity.VOID in severities:
        return Verdict.VOID
    return Verdict.WARNED if Severity.WARN in severities else Verdict.VALID


def has_settled(rates: Sequence[float], rules: Rules, spent: Sequence[tuple[float, float]] = (), last: int | None = None) -> bool:
    """True if a warm-up has settled.

    `rates`: its good answers per second, or the ratio of two servers', oldest first.
    `spent`: CPU of what is tested, and of the generator, in the same seconds. The generator does the same for each answer, so
    what it spends tells of the answers without the machine's pace, whose noise scatters rates by far more. What compiles itself
    or fills its caches gets cheaper against it. A steady ratio of the two is enough, unless the generator's still rises.
    `last`: how many seconds are looked at, by default `settled_last`.
    """
    last = last or rules.settled_last
    if steady(rates, last, rules.settled_tolerance, rules.settled_drift):
        return True
    costs = [tested / generator if generator else 0.0 for tested, generator in spent]
    paced = [generator for _, generator in spent[-last:]]
    each = [own / rate if rate else 0.0 for own, rate in zip(paced, rates[-last:], strict=False)]
    if each and rising(rates[-last:], rules.settled_drift) and not rising(each[::-1], rules.settled_drift):
        return False  # a machine that gets faster makes the generator cheaper, too: here the answers alone come faster
    return steady(costs, last, rules.settled_tolerance, rules.settled_drift) and not rising(paced, rules.settled_drift)


def outcomes(result: Result) -> tuple[Finding, ...]:
    """The findings on what came back. Wrong answers disqualify, errors are shown, no good answer at all is no measurement."""
    return (*life(result), *window(result))


def life(result: Result) -> tuple[Finding, ...]:
    """The findings on answers of the generator's whole life that nothing excuses: wrong bodies, and what is not HTTP."""
    outcomes, found = result.life or result.window, []
    if outcomes.wrong_body:
        found.append(
            Finding(
                "wrong-answers",
                Severity.REJECT,
                f"{_of_the_compared(result, outcomes)} had the right status and a wrong body{_share(result, outcomes)}: "
                f"{_reason(result, 'wrong_body')}",
                {"wrong_body": outcomes.wrong_body, "compared": result.compared, "sent": outcomes.total},
            )
        )
    if outcomes.malformed:
        found.append(
            Finding(
                "malformed",
                Severity.REJECT,
                f"{with_verb(outcomes.malformed, 'answer', 'was', 'were')} not valid HTTP: {_reason(result, 'malformed')}",
                {"malformed": outcomes.malformed, "sent": outcomes.total},
            )
        )
    return tuple(found)


def denials(result: Result, workload: Workload, lost: int = 0) -> tuple[Finding, ...]:
    """The finding on answers of the generator's whole life whose status denies what the contract says.

    That is success where something must be refused, or a refusal of what is there and well-formed. `lost`: this many rows a crash
    may have taken, and of those a server rightly says that they are not there.
    """
    outcomes = result.life or result.window
    counts = {
        status: count
        for status, count in sorted(outcomes.status.items())
        if status < 500 and status not in (*OF_THE_CLIENT, *workload.errors_expected)
        if count > (lost if status == NOT_THERE else 0)
    }
    if not counts:
        return ()
    said = [_shown(sample) for sample in result.samples if sample.outcome == "status" and sample.status in counts]
    words = ", ".join(f"{count:,} × status {status}" for status, count in counts.items())
    whose = "the contract forbids" if workload.contract.id else "is not the right one"
    sentence = f"{sum(counts.values()):,} of {outcomes.total:,} answers had a status that {whose} there ({words})"
    sentence += f": {said[0]}" if said else ""
    return (Finding("wrong-status", Severity.REJECT, sentence, {"wrong": sum(counts.values()), "sent": outcomes.total}),)


def _of_the_compared(result: Result, outcomes: Outcomes) -> str:
    if result.compared is None:
        return f"{outcomes.wrong_body:,} of {outcomes.total:,} answers"
    return f"{outcomes.wrong_body:,} of the {result.compared:,} answers that were compared"


def _share(result: Result, outcomes: Outcomes) -> str:
    """The interval of the share of wrong answers, where only a random sample of them was compared."""
    wrong, compared = outcomes.wrong_body or 0, result.compared
    if compared is None or compared >= (outcomes.ok or 0) + wrong:
        return ""
    low, high = share_interval(wrong / compared, compared)
    return f" ({low:.2%} to {high:.2%} of all, with a confidence of 95 %)"


def window(result: Result, expected: Collection[int] = (), fault: bool = False) -> tuple[Finding, ...]:
    """The finding on requests of the window that got no good answer.

    It is a note where all of them had a status that is the workload's subject, or came of a `fault` that was made.
    """
    if result.completed_ok == 0:
        life = result.life or result.window
        return (
            Finding(
                "no-answers",
                Severity.REJECT,
                f"no good answer arrived inside the window, {_of_requests(result)}{instance(result.samples, result.window)}",
                {"sent": result.window.total, "bad": result.window.bad, "outside": 0 if life.not_ok else life.ok},
            ),
        )
    if result.window.not_ok:
        share = result.window.not_ok / result.window.total
        subject = sum(count for status, count in result.window.status.items() if status in expected)
        is_subject = subject == result.window.not_ok
        sample = "" if is_subject or fault else instance(result.samples, result.window)
        words = ", which are this workload's subject" if is_subject else ", which are the fault's subject" if fault else ""
        return (
            Finding(
                "errors",
                Severity.NOTE if is_subject or fault else Severity.WARN,
                f"{share:.2%} of the window's requests got no good answer: {outcome_words(result.window)}{words}{sample}",
                {"not_ok": result.window.not_ok, "expected": subject, "sent": result.window.total},
            ),
        )
    return ()


def _of_requests(result: Result) -> str:
    """Say what became of a window's requests. Where none could be sent, those from before it held every connection."""
    if not result.window.total and result.in_flight_start:
        return f"in which none was sent: {result.in_flight_start:,} from before it were still unanswered"
    return f"of {result.window.total:,} requests ({outcome_words(result.window)})"


def outcome_words(outcomes: Outcomes) -> str:
    """The outcomes other than good as words: `12 × status 500, 3 timeouts`."""
    named = {
        "503": outcomes.shed,
        "wrong body": outcomes.wrong_body,
        "timeout": outcomes.timeout,
        "could not connect": outcomes.connect,
        "reset": outcomes.reset,
        "malformed": outcomes.malformed,
        "never sent": outcomes.unsent,
        "unanswered": outcomes.in_flight,
        "without a good answer (the generator reports no more)": outcomes.unclassified,
    }
    parts = [f"{count:,} × status {code}" for code, count in sorted(outcomes.status.items())]
    parts += [f"{count:,} × {name}" for name, count in named.items() if count]
    return ", ".join(parts) or "none"


def accounting(result: Result, workload: Workload) -> tuple[Finding, ...]:
    """Notes on what the generator cannot tell, and on what of the audit is left out for that."""
    found = [Finding("accounting", Severity.NOTE, caveat) for caveat in result.caveats]
    if result.ledgers is None and workload.audit.ledgers:
        names = ", ".join(ledger.name for ledger in workload.audit.ledgers)
        sentence = f"{result.generator} keeps no ledger, so that the rows of {names} were not held against the answers"
        found.append(Finding("no-ledger", Severity.NOTE, sentence))
    most = result.uncounted_most
    if most != 0 and workload.audit.writes:
        words = "more requests than it counted" if most is None else f"{most:,} requests more than it counted"
        sentence = f"{result.generator} may have sent {words}: the audit allows for them"
        found.append(Finding("uncounted", Severity.NOTE, sentence, {"uncounted_most": most}))
    return tuple(found)


def warmup(per_second: Sequence[int], is_settled: bool, rules: Rules) -> tuple[Finding, ...]:
    """The finding on a warm-up that did not settle. One too short to be judged is a choice of the plan, not a fault."""
    if is_settled:
        return ()
    evidence = {"seconds": len(per_second), "last_per_second": per_second[-1] if per_second else None}
    severity, sentence = Severity.NOTE, f"the warm-up of {len(per_second)} s was too short to tell whether it had settled"
    if not per_second:
        sentence = "the generator reported no second of the warm-up, so it is not known whether it had settled"
    elif len(per_second) >= rules.warmup_judged_seconds:
        severity, sentence = Severity.WARN, "the warm-up had not settled when its time was up"
    return (Finding("warm-up", severity, sentence, evidence),)


def connection_limit(cell: Cell, rules: Rules) -> int:
    """The most connections at once that the database lets the server have, or its pooler.

    That is the budget, and a few for those that were closed and still end when their successors open.
    """
    budget = connections_allowed(cell)
    return budget + max(int(rules.renewed_least), math.ceil(budget * rules.renewed_share))


def connections_allowed(cell: Cell) -> int:
    """The connections to the database that the server may hold, or its pooler."""
    return cell.topology.pooler_size if cell.topology.pooler else cell.settings.pool_total


def connections_at_once(cell: Cell) -> int:
    """The most connections to the database that work for a server at once: of its pool, or of its pooler's."""
    return min(cell.settings.pool_total, cell.topology.pooler_size) if cell.topology.pooler else cell.settings.pool_total


def budget(database: DatabaseUse, cell: Cell) -> tuple[Finding, ...]:
    """Check the connection budget (V18): more connections than its pool size is a breach of the contract.

    Two look: samples of what is open, and the database, which refuses what is over the limit however short it would be. Behind a
    pooler the server's connections are those to the pooler, and the pooler has a size of its own to hold to.
    """
    pooler, allowed, refused = cell.topology.pooler, cell.settings.pool_total, database.refused
    if pooler:
        found = list(connections(database.pooler_clients_peak, allowed, "pooler"))
    else:
        found = list(connections(database.connections_peak, allowed, refused=refused))
    held, most = database.connections_peak, cell.topology.pooler_size
    if pooler and held is not None and held > most:
        sentence = f"the pooler held {held} connections to the database, and its size is {most}"
        found.append(Finding("pooler-size", Severity.WARN, sentence, {"peak": held, "pooler_size": most}))
    elif pooler and refused:
        sentence = f"the database refused {refused:,} connections of the pooler, whose size is {most}"
        found.append(Finding("pooler-size", Severity.WARN, sentence, {"peak": held, "pooler_size": most, "refused": refused}))
    return tuple(found)


def untold(database: DatabaseUse) -> tuple[Finding, ...]:
    """Note how many connections a server held that was told no size of its pool."""
    peak = database.connections_peak
    if peak is None:
        return ()
    sentence = f"the server is told no size of its pool, and held {peak} connections to the database at most"
    return (Finding("connections", Severity.NOTE, sentence, {"peak": peak}),)


def connections(peak: int | None, allowed: int, where: str = "database", refused: int | None = None) -> tuple[Finding, ...]:
    """Reject a server that had more connections than it may hold.

    One that wanted more than the database lets it have is rejected as well.

    `peak` None: nobody looked; `refused` None: nobody refuses.
    """
    said = f"the database refused {plural(refused, 'connection')} beyond the limit" if refused else ""
    if peak is not None and peak > allowed:
        sentence = f"the server held {peak} connections to the {where}, and its pool size allowed {allowed}"
        sentence += f"; {said}" if said else ""
    elif said:
        sentence = f"{said} of the server, and its pool size allowed {allowed}"
    else:
        return ()
    return (Finding("connections", Severity.REJECT, sentence, {"peak": peak, "pool_size": allowed, "refused": refused}),)


def audit_findings(lines: Iterable[AuditLine]) -> tuple[Finding, ...]:
    """One rejection for each line of the audit that does not hold."""
    return tuple(
        Finding(
            f"audit:{line.id}",
            Severity.REJECT,
            f"{line.sentence}: found {_number(line.found)}, expected {_bounds(line)}",
            {"found": line.found, "expected_min": line.expected_min, "expected_max": line.expected_max},
        )
        for line in lines
        if not line.holds
    )


def work_lines(workload: Workload, result: Result, database: DatabaseUse) -> tuple[AuditLine, ...]:
    """Hold the database's own counters against the answers: fewer commits or rows than answers mean batching or a cache."""
    counts = needs.counts_of(workload, result)
    lines = []
    for id, noun, found, each in (
        ("commits", "commit", needs.transactions_of([one for one in counts if _commits(one.request.need)], database), _commits),
        ("rows", "rows read", database.rows_read, _rows),
    ):
        if any(each(one.request.need) for one in counts):
            lines.append(AuditLine(id, needs.words(counts, each, noun), found, needs.least(counts, each), None))
    return tuple(lines)


def _commits(need: Needs) -> float:
    return need.commits_per_answer


def _rows(need: Needs) -> float:
    return need.rows_per_answer


def hold_early(lines: Iterable[AuditLine], early: Iterable[AuditLine], late: float) -> Iterable[AuditLine]:
    """The lines, with what was counted `early` where that is too little: a share of it may be `late`."""
    counted = {line.id: line.found for line in early}
    for line in lines:
        then, least = counted.get(line.id), line.expected_min
        if then is not None and least is not None and then < least * (1 - late):
            yield replace(line, found=then, sentence=f"{line.sentence}, as counted when the load had ended")
        else:
            yield line


def transactions_line(written: int, good: int) -> AuditLine:
    """The line that asks for one transaction number for each good answer.

    A transaction that writes nothing gets none, and several answers share none.
    """
    return AuditLine("transactions", "at least one transaction that wrote for each good answer", written, good, None)


def invariant_line(
    id: str, sentence: str, found: int | float | None, expected: int | float | None, unknown: int | None, may_exceed: bool
) -> AuditLine:
    """One invariant's arithmetic; requests of unknown outcome may have added to what was acknowledged, where that is allowed.

    `unknown` is None when nobody knows how many there were.
    """
    surplus = unknown if may_exceed else 0
    most = None if expected is None or surplus is None else expected + surplus
    return AuditLine(id, sentence, found, expected, most)


def ledger_line(
    name: str, rows: Mapping[str, LedgerRow], before: Mapping[str, int], after: Mapping[str, int | Decimal | float]
) -> AuditLine:
    """Count the accounts that moved otherwise than the acknowledged requests say. There must be none.

    An account without a row has 0. One that a request of unknown outcome names can be in either state and is left out; the
    sentence says how many were held to it.
    """
    empty = LedgerRow(0, 0, 0, 0)
    said = {account: rows.get(account, empty) for account in before.keys() | after.keys() | rows.keys()}
    checked = [account for account, row in said.items() if row.unknown_count == 0]
    wrong = [one for one in checked if after.get(one, 0) != before.get(one, 0) + said[one].acknowledged_sum]
    requests = sum(row.acknowledged_count for row in rows.values())
    sentence = (
        f"each of {len(checked)} rows moved by exactly what {requests:,} acknowledged entries say ({name});"
        " rows that moved otherwise"
    )
    return AuditLine(f"ledger-{name}", sentence, len(wrong), 0, 0)


def chatter(workload: Workload, result: Result, database: DatabaseUse, rules: Rules) -> tuple[Finding, ...]:
    """A note on many more commits than answers: that is work which the database does for the driver."""
    counts, done = needs.counts_of(workload, result), (result.life or result.window).total
    needed = needs.per_answer(counts, _commits)
    if not needed or not done or database.commits is None:
        return ()
    commits = database.commits / done
    if commits <= rules.commits_per_answer_note * needed:
        return ()
    return (
        Finding(
            "commits-per-answer",
            Severity.NOTE,
            f"the database committed {commits:.1f} times for each request",
            {"commits_per_request": commits},
        ),
    )


def together(some: Sequence[Outcomes]) -> Outcomes:
    """Add up all outcomes."""
    statuses: dict[int, int] = {}
    for one in some:
        for code, count in one.status.items():
            statuses[code] = statuses.get(code, 0) + count
    kinds = ("shed", "wrong_body", "timeout", "connect", "reset", "malformed", "unsent", "in_flight", "unclassified")
    counts = {kind: sum(getattr(one, kind) or 0 for one in some) for kind in kinds}
    return Outcomes(ok=sum(one.ok for one in some), status=statuses, **counts)


def samples_of(result: Result) -> tuple[BadAnswer, ...]:
    """The first bad answer of each kind."""
    first = dict[tuple[str, int | None], BadAnswer]()
    for sample in result.samples:
        first.setdefault((sample.outcome, sample.status), sample)
    return tuple(first.values())


def instance(samples: Iterable[BadAnswer], outcomes: Outcomes) -> str:
    """One bad answer in words, of the kind that there is most of; empty where none was kept."""

    def often(one: BadAnswer) -> int:
        found = outcomes.status.get(one.status or 0) if one.outcome == "status" else getattr(outcomes, one.outcome, 0)
        return found or 0

    kept = max(samples, key=often, default=None)
    if kept is None or not often(kept):
        return ""
    return f"; for instance `{foreign.line(kept.request)[:SAMPLE_LETTERS]}`: {_shown(kept)}"


def _reason(result: Result, outcome: str) -> str:
    return next((_shown(sample) for sample in result.samples if sample.outcome == outcome), "no sample was kept")


def _shown(sample: BadAnswer) -> str:
    """Say what is wrong with a bad answer, and what was in it."""
    body = "" if not sample.body else f" with the body `{foreign.line(sample.body)[:SAMPLE_LETTERS]}`"
    return f"{foreign.line(sample.reason)}{body}"


def _number(value: int | float | None) -> str:
    return "nothing" if value is None else f"{value:,}"


def _bounds(line: AuditLine) -> str:
    if line.expected_max is None:
        return f"at least {_number(line.expected_min)}"
    if line.expected_min == line.expected_max:
        return _number(line.expected_min)
    return f"{_number(line.expected_min)} to {_number(line.expected_max)}"
