"""Seats in words: which roles have which cores."""

from __future__ import annotations

from collections.abc import Sequence

Pins = Sequence[tuple[str, tuple[int, ...]]]
"""Role → the cores that it is pinned to."""


def sentence(pin: Pins) -> str:
    """`server on core 0, database and generator on core 1`: roles with the same cores stand together."""
    together: dict[tuple[int, ...], list[str]] = {}
    for role, cores in pin:
        together.setdefault(cores, []).append(role)
    return ", ".join(f"{_listed(roles)} on {spelled(cores)}" for cores, roles in together.items())


def spelled(cores: Sequence[int]) -> str:
    """`core 3`, `cores 0-3, 8`: ascending numbers, runs as ranges."""
    runs: list[list[int]] = []
    for core in cores:
        if runs and core == runs[-1][-1] + 1:
            runs[-1].append(core)
        else:
            runs.append([core])
    words = [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
    return f"{'core' if len(cores) == 1 else 'cores'} {', '.join(words)}"


def _listed(roles: Sequence[str]) -> str:
    return roles[0] if len(roles) == 1 else f"{', '.join(roles[:-1])} and {roles[-1]}"
