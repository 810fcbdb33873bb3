"""PostgreSQL beneath the servers: embedded or given, reset before every trial, and read without disturbing it."""

from fairground.postgres import commits
from fairground.postgres.activity import Activity, Hygiene, activity, activity_beside, hygiene, waits
from fairground.postgres.address import DatabaseAddress
from fairground.postgres.beside import DatabaseBeside, StatementCost, is_here, open_beside
from fairground.postgres.cells import cell_of
from fairground.postgres.database import Counters, Database, DatabaseHost
from fairground.postgres.embedded import binary, check, require_unused, start
from fairground.postgres.errorlog import Refusals
from fairground.postgres.given import given_database

__all__ = [
    "Activity",
    "Counters",
    "Database",
    "DatabaseAddress",
    "DatabaseBeside",
    "DatabaseHost",
    "Hygiene",
    "Refusals",
    "StatementCost",
    "activity",
    "activity_beside",
    "binary",
    "cell_of",
    "check",
    "commits",
    "given_database",
    "hygiene",
    "is_here",
    "open_beside",
    "require_unused",
    "start",
    "waits",
]
