"""The table of hosts that were lost: a line for each way, and what is lacking is seen."""

from __future__ import annotations

from typing import Any

from builders.bench import bench

CUTS = bench("cuts")


def row(how: str, missing: int = 0, left: int = 0, in_time: bool = True) -> dict[str, Any]:
    """A cut as it is kept."""
    return {"how": how, "moment_s": 4.0, "in_time": in_time, "code": 0, "missing": missing, "trials": 2, "left": left}


def test_a_line_for_each_way() -> None:
    """A run with a missing trial is not whole; what was never done has no line."""
    lines = list(CUTS.table([row("cut"), row("cut", missing=1), row("kill", left=2, in_time=False)]))
    assert lines[2:4] == ["| its link goes down | 2 | 4.0 | 2 | 1 | 0 |", "| its worker is killed | 1 | 4.0 | 0 | 1 | 1 |"]
    assert lines[-1] == "Of 3 runs 2 were whole. Made anew by `make bench-cuts`."
