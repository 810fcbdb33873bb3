"""What the lab's databases and connections are called, so that they can be told from everybody else's."""

from __future__ import annotations

TRIAL_DATABASE = "fairground_trial"
"""The first arm's database; those of the others end in `_2`, `_3` …"""
TRIAL_DATABASES = f"^{TRIAL_DATABASE}(_[0-9]+)?$"
"""All of them, as a regular expression of PostgreSQL."""
APPLICATION_NAME = "fairground lab"
"""Of the lab's own connections: they are never counted as a server's."""
MARK = "made by fairground: it drops and makes this database at will"
"""The comment on every database that the lab makes."""


def of_arm(number: int) -> str:
    """The name of one arm's database; arms count from 1."""
    if number < 1:
        raise ValueError(f"arms count from 1, so that there is no arm {number}")
    return TRIAL_DATABASE if number == 1 else f"{TRIAL_DATABASE}_{number}"
