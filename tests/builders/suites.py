"""A suite's file with a stack and a workload, as somebody writes it."""

from __future__ import annotations

from pathlib import Path

from fairground.inputs import manifest
from fairground.model import Suite

TEXT = """title = "t"
about = "a"
blocks = 1
seed = 1
stacks = ["a:b"]
workloads = ["tx"]
connections = [10]
window_s = 8.0
"""


def suite_with(folder: Path, lines: str) -> Suite:
    """The suite with these lines at its end."""
    path = folder / "mine.toml"
    path.write_text(TEXT + lines)
    return manifest.load_suite(path)
