"""PostgreSQL beneath the servers: embedded or given, reset before every trial, and read without disturbing it."""

from fairground.postgres.database import Counters, Database, Hygiene, given, hygiene, waits
from fairground.postgres.embedded import binary, check, start

__all__ = ["Counters", "Database", "Hygiene", "binary", "check", "given", "hygiene", "start", "waits"]
