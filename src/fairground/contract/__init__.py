"""The contract's cases as data, and their trial against a server: `load`, `select`, `facts_from`, `run`."""

from fairground.contract.case import Case, ProcedureSettings, load, select
from fairground.contract.facts import KnownData, Probe, caesar, expected_users, facts_from
from fairground.contract.report import Report, run
from fairground.contract.stage import Exit, Hold, NotStaged, Stage

__all__ = [
    "Case",
    "Exit",
    "Hold",
    "KnownData",
    "NotStaged",
    "Probe",
    "ProcedureSettings",
    "Report",
    "Stage",
    "caesar",
    "expected_users",
    "facts_from",
    "load",
    "run",
    "select",
]
