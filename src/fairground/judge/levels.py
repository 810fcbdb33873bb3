"""One cell at several numbers of connections: whether more of them gave more. Pure.

Under one load a server that has too few connections, and one that serves a request after the other, look the same: nothing is
full, and Little's law explains the number. Where a run holds the cell with more connections or with fewer, that decides.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median

from fairground.judge.thresholds import Reasons
from fairground.model import Cell, Finding, Trial
from fairground.model.reason import SERIALISED, TOO_FEW_CONNECTIONS


def with_levels(trials: Sequence[Trial], at: Reasons) -> tuple[Trial, ...]:
    """The same trials, with what others of their cells decide.

    Where one suspects too few connections, and others of its cell decide that, its finding says so.
    """
    goodput: dict[Cell, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for trial in trials:
        if trial.control is None and trial.goodput_per_s and trial.cell.load.model == "closed":
            goodput[_apart_from_connections(trial.cell)][trial.cell.load.connections].append(trial.goodput_per_s)
    rates = {cell: {count: median(found) for count, found in levels.items()} for cell, levels in goodput.items()}
    return tuple(_told(trial, rates.get(_apart_from_connections(trial.cell), {}), at) for trial in trials)


def _told(trial: Trial, rates: Mapping[int, float], at: Reasons) -> Trial:
    suspicion = next((one for one in trial.findings if one.id == TOO_FEW_CONNECTIONS.id), None)
    if suspicion is None or trial.diagnosis != TOO_FEW_CONNECTIONS.id:
        return trial
    decided = _decided(trial.cell.load.connections, rates, at)
    if decided is None:
        return trial
    findings = tuple(decided if one is suspicion else one for one in trial.findings)
    return replace(trial, findings=findings, diagnosis=decided.id)


def _decided(connections: int, rates: Mapping[int, float], at: Reasons) -> Finding | None:
    """The finding that other numbers of connections give on this one. None where there are none that differ enough.

    More connections are asked first. The largest number has fewer alone to be held against: if it gave more than they did, then
    still more may give more.
    """
    if connections not in rates:
        return None
    more = min((count for count in rates if count >= at.levels_apart * connections), default=None)
    fewer = max((count for count in rates if at.levels_apart * count <= connections), default=None)
    if more is not None and rates[more] >= (1 + at.levels_rise) * rates[connections]:
        sentence = f"more connections gave more: {_levels(rates, connections, more)}, and nothing was full"
        return TOO_FEW_CONNECTIONS.finding(sentence, **_evidence(rates, connections, more))
    few, many = (connections, more) if more is not None else (fewer, connections)
    if few is None or many is None or rates[many] >= (1 + at.levels_rise) * rates[few]:
        return None
    sentence = (
        f"more connections gave no more: {_levels(rates, few, many)}, and nothing was full. So the server serves one request"
        f" after the other: a lock, one worker, or a wait of {1000 / rates[connections]:.2f} ms that it takes for each answer"
    )
    return SERIALISED.finding(sentence, **_evidence(rates, few, many))


def _levels(rates: Mapping[int, float], few: int, many: int) -> str:
    return f"{few} connections {rates[few]:,.0f} a second, {many} connections {rates[many]:,.0f}"


def _evidence(rates: Mapping[int, float], few: int, many: int) -> dict[str, int | float | str | None]:
    return {
        "fewer_connections": few,
        "fewer_per_s": round(rates[few], 1),
        "more_connections": many,
        "more_per_s": round(rates[many], 1),
    }


def _apart_from_connections(cell: Cell) -> Cell:
    return replace(cell, load=replace(cell.load, connections=0))
