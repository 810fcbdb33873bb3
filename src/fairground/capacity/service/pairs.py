"""Two services that are held against each other: what they answer otherwise. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from fairground.capacity.service.values import Conduct
from fairground.model import Finding, Severity


def other_answers(a: Conduct, b: Conduct) -> Sequence[Finding]:
    """The findings on answers of B that are others than those of A: a service that does less is not simply faster."""
    found = [
        f"its answers to `{name}` are others: status {b.statuses[name]}, against {status}"
        for name, status in a.statuses.items()
        if b.statuses.get(name, status) != status
    ]
    if (a.status, a.content) != (b.status, b.content):
        sizes = f"status {b.status} and {b.body_bytes:,} bytes, against {a.status} and {a.body_bytes:,}"
        found.append(f"its answer is another one: {sizes}")
    return [Finding("conduct", Severity.WARN, sentence) for sentence in found]
