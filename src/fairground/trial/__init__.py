"""The trial: one measurement of one cell, from fresh data to an audited result."""

from fairground.trial.protocol import Bench, run

__all__ = ["Bench", "run"]
