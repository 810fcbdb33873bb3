"""A contract's cases as data, and their trial against a server: `load`, `select`, `run`."""

from fairground.contract.case import Case, ProcedureSettings, select
from fairground.contract.case_file import load
from fairground.contract.report import Report, Terms, run
from fairground.contract.stage import Exit, Hold, NotStaged, Stage

__all__ = [
    "Case",
    "Exit",
    "Hold",
    "NotStaged",
    "ProcedureSettings",
    "Report",
    "Stage",
    "Terms",
    "load",
    "run",
    "select",
]
