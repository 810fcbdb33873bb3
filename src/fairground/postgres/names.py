"""Names of the lab's databases, roles and connections, by which they can be told from everybody else's."""

from __future__ import annotations

TRIAL_DATABASE = "fairground_trial"
"""The first arm's database; those of the others end in `_2`, `_3` …"""
TEMPLATES = "^fairground_template_[0-9]+_[0-9a-f]{10}(_building)?$"
"""The templates of arms' data, as a regular expression of PostgreSQL."""
RIGHTS = "fairground_rights"
"""The role that holds what servers may do. Nobody logs in as it; the roles of arms are its members."""
PLAIN = "fairground_plain"
"""The role whose members log in with their password itself, in place of a proof by 4,096 rounds of a hash."""
ROLE = "fairground_app"
"""The role that the first arm's server logs in as; those of the others end in `_2`, `_3` …"""
ROLES = f"^{ROLE}(_[0-9]+)?$"
"""All of them, as a regular expression of PostgreSQL."""
APPLICATION_NAME = "fairground lab"
"""The name of the lab's own connections: they are never counted as a server's."""
THEIRS = "NOT (usename = session_user AND application_name = '" + APPLICATION_NAME + "')"
"""Holds for a row of `pg_stat_activity` that is none of the lab's own: a name alone is anybody's to take, a role is not.

A session is told by whom it logged in as: `ALTER ROLE … SET role` makes another its current user."""
MARK = "made by fairground: it drops and makes this database at will"
"""The comment on every database, and on every role, that the lab makes."""
MARKED = f"(SELECT objoid FROM pg_shdescription WHERE classoid = 'pg_database'::regclass AND description = '{MARK}')"
"""The numbers of the databases that the lab made, whatever they are called."""


def of_arm(number: int, first: str = TRIAL_DATABASE) -> str:
    """The name of one arm's database, or of what else is called like its `first`; arms count from 1."""
    if number < 1:
        raise ValueError(f"arms count from 1, so that there is no arm {number}")
    return first if number == 1 else f"{first}_{number}"
