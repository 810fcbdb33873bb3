"""Workloads of one request, changed in that request."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fairground.model import Workload


def asking(workload: Workload, **changes: Any) -> Workload:
    """The workload with these changes to its request."""
    return workload.change(lambda one: replace(one, **changes))


def needing(workload: Workload, **changes: Any) -> Workload:
    """The workload with these changes to what its answers need."""
    return workload.change(lambda one: replace(one, needs=replace(one.need, **changes)))
