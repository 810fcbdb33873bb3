"""Prepared statements that a pooler loses: how they show in a trial, and what becomes of it. Pure.

Where a pooler hands a connection to another client after each transaction, a statement that was prepared on one connection is
missing, or somebody else's, on the next. That is no fault of the lab's and no crash: it is a result, with the share of requests
that failed and the error in the database's own words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from fairground.model import Evidence, Finding, Outcomes, Result, Severity
from fairground.model.reason import PREPARED_STATEMENTS

NAME = re.compile(r"fairground_lost")
NUMBER = re.compile(r"\d+")
QUOTED_CHARACTERS = 200
REFUSED = re.compile(r"\bgot (?:status )?50[0-9]\b")
"""In a case's sentence: the answer was an error, not a wrong answer."""


def error(texts: Iterable[str], words: Sequence[str]) -> str | None:
    """The first error about a prepared statement, in the words of the server, pooler or database that said it.

    `words`: the database's own messages for one of the name `fairground_lost`, in its language.
    """
    forms = "|".join(_form(message) for message in words)
    for text in texts if forms else ():
        if found := re.search(forms, text.replace("\\", "")):
            return found[0]
    return None


def _form(message: str) -> str:
    """A message as a regular expression that finds it with any name, and with any numbers."""
    named = [NUMBER.sub(r"\\d+", re.escape(part)) for part in NAME.split(message)]
    return f"[^\\n]{{1,{QUOTED_CHARACTERS}}}?".join(named)


def excuse_prepared(findings: Sequence[Finding]) -> tuple[Finding, ...] | None:
    """Failed cases of the contract as warnings, when every one of them failed with an error; None when one did otherwise."""
    failed = [finding for finding in findings if finding.severity is Severity.REJECT]
    if not all(REFUSED.search(finding.sentence) for finding in failed):
        return None
    return tuple(
        Finding(finding.id, Severity.WARN, finding.sentence, finding.evidence) if finding in failed else finding
        for finding in findings
    )


def finding(result: Result | None, pooler: str, said: str, reject_from: float) -> Finding:
    """The finding of a trial on statements that were lost. `pooler` is its name and version, `said` the error's own words.

    A stack does not work in its topology where the share of failed requests is `reject_from` or more.
    """
    because = f"`{pooler}` hands connections on after each transaction, and prepared statements are lost with them: {said}"
    if result is None:
        return PREPARED_STATEMENTS.finding(f"the server could not be measured, because {because}", Severity.REJECT, error=said)
    window, errors = result.window, _errors(result.window)
    share = errors / window.total if window.total else 1.0
    evidence: Evidence = {"failed_share": round(share, 4), "failed": errors, "sent": window.total, "error": said}
    if not errors and window.total:
        before = bool(_errors(result.life or window))
        failed = "requests failed before the window, because" if before else "no request of the load failed, although"
        return PREPARED_STATEMENTS.finding(f"{failed} {because}", Severity.WARN, **evidence)
    severity = Severity.REJECT if share >= reject_from or not result.completed_ok else Severity.WARN
    sentence = f"{share:.1%} of the window's requests failed, because {because}"
    return PREPARED_STATEMENTS.finding(sentence, severity, **evidence)


def limit_of(found: Finding) -> str | None:
    """The reason that limited a trial in which statements were lost. None where few requests failed: something else did."""
    return found.id if found.severity is Severity.REJECT else None


def _errors(outcomes: Outcomes) -> int:
    """Answers that were errors; of a few generators all that were not good, for they tell no more."""
    return (outcomes.shed or 0) + sum(n for status, n in outcomes.status.items() if status >= 500) + (outcomes.unclassified or 0)
