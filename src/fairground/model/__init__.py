"""The nouns of the lab, as frozen values. This module imports nothing of the lab and does nothing.

`subject` holds what can be measured, `plan` how, `result` what comes out, `run` what a run holds, `step` a piece of a load
curve; all are imported from here.

Words: a *server* is a codebase in `servers/`, a *stack* is a server started in one named variant, a *cell* is stack × workload ×
topology × load, a *trial* is one measurement of one cell. Unknown is None, never 0 or −1; units end names.
"""

from __future__ import annotations

from fairground.model.error import LabError, MachineError, StorageError, of_machine, storing
from fairground.model.fault import Fault, FaultKind, Recovery
from fairground.model.limit import KnownNumber, Limit, Qualification
from fairground.model.plan import (
    POOLERS,
    PROXIES,
    ROLES,
    Cell,
    Claim,
    Control,
    Durability,
    Load,
    Plan,
    PoolScope,
    PublishedTable,
    RunSettings,
    ServerSettings,
    Settings,
    Slot,
    Suite,
    SuiteGroup,
    Topology,
    Until,
    Wire,
)
from fairground.model.result import (
    AuditLine,
    BadAnswer,
    DatabaseUse,
    Evidence,
    Finding,
    Gap,
    HostUse,
    Latency,
    LedgerRow,
    Look,
    Machine,
    Outcomes,
    Result,
    RoleUse,
    Second,
    Severity,
    StackInfo,
    Verdict,
)
from fairground.model.run import Doing, Ending, Progress, Run, Trial
from fairground.model.seats import Seats
from fairground.model.sizing import EventCount, Sizing, WorkloadEvent
from fairground.model.step import Step
from fairground.model.subject import (
    Approach,
    Audit,
    Expectation,
    Invariant,
    LedgerCheck,
    LedgerEntry,
    Server,
    Stack,
    TableNeed,
    Tuning,
    Variant,
    Workload,
    Written,
)
from fairground.model.work import StatementWork, TableWork, Work

SCHEMA_VERSION = 1
"""Version of everything the lab writes as JSON; `store` reads this and all older ones."""

__all__ = [
    "POOLERS",
    "PROXIES",
    "ROLES",
    "SCHEMA_VERSION",
    "Approach",
    "Audit",
    "AuditLine",
    "BadAnswer",
    "Cell",
    "Claim",
    "Control",
    "DatabaseUse",
    "Doing",
    "Durability",
    "Ending",
    "EventCount",
    "Evidence",
    "Expectation",
    "Fault",
    "FaultKind",
    "Finding",
    "Gap",
    "HostUse",
    "Invariant",
    "KnownNumber",
    "LabError",
    "Latency",
    "LedgerCheck",
    "LedgerEntry",
    "LedgerRow",
    "Limit",
    "Load",
    "Look",
    "Machine",
    "MachineError",
    "Outcomes",
    "Plan",
    "PoolScope",
    "Progress",
    "PublishedTable",
    "Qualification",
    "Recovery",
    "Result",
    "RoleUse",
    "Run",
    "RunSettings",
    "Seats",
    "Second",
    "Server",
    "ServerSettings",
    "Settings",
    "Severity",
    "Sizing",
    "Slot",
    "Stack",
    "StackInfo",
    "StatementWork",
    "Step",
    "StorageError",
    "Suite",
    "SuiteGroup",
    "TableNeed",
    "TableWork",
    "Topology",
    "Trial",
    "Tuning",
    "Until",
    "Variant",
    "Verdict",
    "Wire",
    "Work",
    "Workload",
    "WorkloadEvent",
    "Written",
    "of_machine",
    "storing",
]
