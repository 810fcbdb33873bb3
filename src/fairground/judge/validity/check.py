"""A check: a reading of a trial's counters, held against bounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from fairground.judge import stalls
from fairground.judge.thresholds import CheckBounds, CheckBoundsTable, Rules, WarnVoid, standard
from fairground.model import Cell, DatabaseUse, Evidence, Finding, HostUse, Result, RoleUse, Severity, Trial
from fairground.stats.intervals import brief


@dataclass(frozen=True)
class TrialFacts:
    """All that is known of a trial, or of the part of one that there is. None: it was not measured."""

    window_s: float
    cell: Cell | None = None
    result: Result | None = None
    roles: Mapping[str, RoleUse] = field(default_factory=dict)
    host: HostUse | None = None
    database: DatabaseUse | None = None

    @classmethod
    def of_trial(cls, trial: Trial) -> TrialFacts | None:
        """The facts of a stored trial, so that it can be judged anew; None when nothing was measured."""
        if trial.result is None:
            return None
        return cls(trial.result.window_s, trial.cell, trial.result, trial.roles, trial.host, trial.database)

    def cores_of(self, role: str) -> set[int]:
        """The cores that a role is pinned to; none where it may run on all."""
        return set(self.cell.settings.cores_of(role) or ()) if self.cell is not None else set()

    @property
    def closed(self) -> bool:
        return self.cell is not None and self.cell.load.model == "closed"

    @property
    def open(self) -> bool:
        return self.cell is not None and self.cell.load.model == "open"

    @property
    def shared(self) -> bool:
        """True if the generator may meet other roles on its processors.

        It may not where all roles are pinned, the others elsewhere than the generator, or where it is on a host of its own.
        """
        use = self.roles.get("generator")
        if use is not None and use.host is not None:
            return False
        own, others = self.cores_of("generator"), {"server", *self.roles} - {"generator", "lab"}
        return not own or any(not (theirs := self.cores_of(role)) or own & theirs for role in others)

    @property
    def beside_generator(self) -> float:
        """Cores, at most, that the run itself used where the generator's busiest thread may run.

        The run's own roles used them, and other threads of the generator.
        A role that is pinned elsewhere is not among them, and nothing is where the generator has processors of its own.
        """
        use = self.roles.get("generator")
        if not self.shared or use is None or not self.window_s:
            return 0.0
        own, pins = self.cores_of("generator"), {role: self.cores_of(role) for role in self.roles if role != "generator"}
        meets = (role for role, theirs in pins.items() if not own or not theirs or own & theirs)
        others = sum((self.roles[role].cpu_us or 0.0) / 1e6 / self.window_s for role in meets)
        return others + max(0.0, (use.cpu_us or 0.0) / 1e6 / self.window_s - (use.busiest_thread_share or 1.0))

    @property
    def busy(self) -> float:
        """Cores that server, database, generator and what is between them used, 1 at most; 1 where that is not known."""
        uses = [use.cpu_us for role, use in self.roles.items() if role != "lab"]
        known = [us for us in uses if us is not None]
        if "server" not in self.roles or len(known) < len(uses) or not self.window_s:
            return 1.0
        return min(1.0, sum(known) / 1e6 / self.window_s)

    @property
    def capped(self) -> bool:
        """True if an open loop had all connections in use at the end of a second, or in a stall.

        Then requests waited for one.
        """
        cell, result = self.cell, self.result
        if not self.open or cell is None or result is None:
            return False
        most, rate_per_s, rules = cell.load.connections, cell.load.rate_per_s or 0.0, standard().rules
        full = any((one.in_flight or 0) >= most for one in result.seconds)
        return full or stalls.holds_all(result.gaps or (), rate_per_s, most, rules)


@dataclass(frozen=True)
class CheckReading:
    """One value, more of which is worse; `words` say it, `evidence` holds what it rests on."""

    value: float
    words: str
    evidence: Evidence = field(default_factory=dict)


@dataclass(frozen=True)
class ValidityCheck:
    """One check. `id` is that of its finding, `number` that of docs/reference/checks.md, `of` the kind of thing that it looks at.

    `unit` is `share`, `cores` or the noun that is counted; `meant` says whether a trial is one that the check is for.
    """

    id: str
    number: str
    of: str
    what: str
    unit: str
    read: Callable[[TrialFacts, Rules], CheckReading | None]
    meant: Callable[[TrialFacts], bool] = lambda _: True

    def bounds(self, checks: CheckBoundsTable) -> CheckBounds:
        """Its bounds among all."""
        found: CheckBounds = getattr(checks, self.id.replace("-", "_"))
        return found

    def show(self, value: float) -> str:
        """A value in the check's unit: `3 %`, `15 % of a core`, `100 pages`."""
        if self.unit in ("share", "cores"):
            return f"{brief(value * 100)} %" + (" of a core" if self.unit == "cores" else "")
        return f"{brief(value, 6)} {self.unit}"


def bounds_for(facts: TrialFacts, bounds: CheckBounds) -> WarnVoid:
    """The bounds that hold for such a trial."""
    if bounds.shared is not None and facts.shared:
        return bounds.shared
    if bounds.closed is not None and facts.closed:
        return bounds.closed
    return bounds


def judge_reading(check: ValidityCheck, reading: CheckReading, facts: TrialFacts, checks: CheckBoundsTable) -> Finding | None:
    """The finding of a reading; None when it keeps within its bounds."""
    pair = bounds_for(facts, check.bounds(checks))
    void = pair.void is not None and reading.value > pair.void
    if not void and (pair.warn is None or reading.value <= pair.warn):
        return None
    limits = (("warned", pair.warn), ("void", pair.void))
    named = ", ".join(f"{word} above {check.show(bound)}" for word, bound in limits if bound)
    evidence = {**reading.evidence, "warned_above": pair.warn, "void_above": pair.void}
    sentence = reading.words + (f" ({named})" if named else "")
    return Finding(check.id, Severity.VOID if void else Severity.WARN, sentence, evidence)
