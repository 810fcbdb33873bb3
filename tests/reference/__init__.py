"""A server that fulfils the contract, in memory, with the database beneath it; its faults are switched on by name.

A case that passes here and fails with one fault has proved its check. Nothing but the standard library serves.
"""

from reference.database import Database
from reference.faults import FAULTS
from reference.server import Server
from reference.stage import ReferenceStage

__all__ = ["FAULTS", "Database", "ReferenceStage", "Server"]
