"""One cell at several numbers of connections: whether more of them gave more. Pure.

Under one load a server that has too few connections, and one that serves a request after the other, look the same: nothing is
full, and Little's law explains the number. Where a run holds the cell with more connections or with fewer, that decides.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from fairground.judge.thresholds import Reasons
from fairground.model import Cell, Finding, Trial
from fairground.model.plural import plural
from fairground.model.reason import REASONS, SERIALISED, TOO_FEW_CONNECTIONS

NOTHING_FULL = (TOO_FEW_CONNECTIONS.id, SERIALISED.id)


@dataclass(frozen=True)
class Level:
    """The trials of a cell under one number of connections: their median goodput, and the diagnosis that most of them have."""

    rate_per_s: float
    diagnosis: str | None


def with_levels(trials: Sequence[Trial], at: Reasons) -> tuple[Trial, ...]:
    """The same trials, with what others of their cells decide.

    Where one suspects too few connections, and others of its cell decide that, its finding says so.
    """
    counted: dict[Cell, dict[int, list[tuple[float, str | None]]]] = defaultdict(lambda: defaultdict(list))
    for trial in trials:
        if trial.control is None and trial.goodput_per_s and trial.cell.load.model == "closed":
            found = trial.goodput_per_s, trial.diagnosis
            counted[_apart_from_connections(trial.cell)][trial.cell.load.connections].append(found)
    levels = {cell: {count: _level(found) for count, found in some.items()} for cell, some in counted.items()}
    return tuple(_told(trial, levels.get(_apart_from_connections(trial.cell), {}), at) for trial in trials)


def _level(found: Sequence[tuple[float, str | None]]) -> Level:
    rates, diagnoses = zip(*found, strict=True)
    return Level(median(rates), Counter(diagnoses).most_common(1)[0][0])


def _told(trial: Trial, levels: Mapping[int, Level], at: Reasons) -> Trial:
    suspicion = next((one for one in trial.findings if one.id == TOO_FEW_CONNECTIONS.id), None)
    if suspicion is None or trial.diagnosis != TOO_FEW_CONNECTIONS.id:
        return trial
    decided = _decided(trial.cell.load.connections, levels, at)
    if decided is None:
        return trial
    findings = tuple(decided if one is suspicion else one for one in trial.findings)
    return replace(trial, findings=findings, diagnosis=decided.id)


def _decided(connections: int, levels: Mapping[int, Level], at: Reasons) -> Finding | None:
    """The finding that other numbers of connections give on this one. None where there are none that differ enough.

    More connections are asked first. The largest number has fewer alone to be held against: if it gave more than they did, then
    still more may give more. What another limit holds, or none that is known, shows no server that takes one after the other.
    """
    if connections not in levels:
        return None
    rates = {count: level.rate_per_s for count, level in levels.items()}
    more = min((count for count in rates if count >= at.levels_apart * connections), default=None)
    fewer = max((count for count in rates if at.levels_apart * count <= connections), default=None)
    if more is not None and rates[more] >= (1 + at.levels_rise) * rates[connections]:
        sentence = f"more connections gave more: {_levels(rates, connections, more)}, and nothing was full"
        return TOO_FEW_CONNECTIONS.finding(sentence, **_evidence(rates, connections, more))
    few, many = (connections, more) if more is not None else (fewer, connections)
    if few is None or many is None or rates[many] >= (1 + at.levels_rise) * rates[few]:
        return None
    sentence = f"more connections gave no more: {_levels(rates, few, many)}"
    limit = levels[many if connections == few else few].diagnosis
    if limit not in NOTHING_FULL:
        if limit is None:
            return None
        sentence += f", where the limit was `{limit}`: {REASONS[limit].meaning}"
        return TOO_FEW_CONNECTIONS.finding(sentence, **_evidence(rates, few, many))
    sentence += (
        ", and nothing was full. So the server serves one request after the other: a lock, one worker, or a wait of"
        f" {1000 / rates[connections]:.2f} ms that it takes for each answer"
    )
    return SERIALISED.finding(sentence, **_evidence(rates, few, many))


def _levels(rates: Mapping[int, float], few: int, many: int) -> str:
    return f"{plural(few, 'connection')} {rates[few]:,.0f} a second, {plural(many, 'connection')} {rates[many]:,.0f}"


def _evidence(rates: Mapping[int, float], few: int, many: int) -> dict[str, int | float | str | None]:
    return {
        "fewer_connections": few,
        "fewer_per_s": round(rates[few], 1),
        "more_connections": many,
        "more_per_s": round(rates[many], 1),
    }


def _apart_from_connections(cell: Cell) -> Cell:
    return replace(cell, load=replace(cell.load, connections=0))
