"""Measuring: a session of arms is the one way in which the lab starts, verifies, loads, watches, stops and audits."""

from fairground.measure.bench import Bench
from fairground.measure.trial import Attempt, run, together

__all__ = ["Attempt", "Bench", "run", "together"]
