"""PostgreSQL beneath the servers: embedded or given, reset before every trial, and read without disturbing it."""

from fairground.postgres.activity import Activity, Hygiene, activity, hygiene, waits
from fairground.postgres.database import Address, Counters, Database, Elsewhere
from fairground.postgres.embedded import binary, check, start
from fairground.postgres.given import given

__all__ = [
    "Activity",
    "Address",
    "Counters",
    "Database",
    "Elsewhere",
    "Hygiene",
    "activity",
    "binary",
    "check",
    "given",
    "hygiene",
    "start",
    "waits",
]
