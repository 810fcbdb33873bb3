"""PostgreSQL beneath the servers: embedded or given, reset before every trial, and read without disturbing it."""

from fairground.postgres import commits
from fairground.postgres.activity import Activity, Hygiene, activity, hygiene, waits
from fairground.postgres.address import DatabaseAddress
from fairground.postgres.database import Counters, Database, DatabaseHost
from fairground.postgres.embedded import binary, check, start
from fairground.postgres.given import given_database

__all__ = [
    "Activity",
    "Counters",
    "Database",
    "DatabaseAddress",
    "DatabaseHost",
    "Hygiene",
    "activity",
    "binary",
    "check",
    "commits",
    "given_database",
    "hygiene",
    "start",
    "waits",
]
