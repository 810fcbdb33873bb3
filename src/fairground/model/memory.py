"""The words for how far a machine's values scatter from start to start: what runs saw, and what the next is judged with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class RememberedSpread:
    """The variance of logarithms that earlier runs foretell of one quantity; it is worth `freedom` degrees of freedom.

    `in_turns`: of values in turns, else of whole windows. `way`: the generator and its window. A stack's variance on a workload
    is `variance` times both shares; what was never seen has the share 1. Of 0 `runs` it is the weak one of the documents.
    """

    quantity: str
    in_turns: bool
    way: str
    variance: float
    freedom: float
    runs: int = 0
    workloads: Mapping[str, float] = field(default_factory=dict)
    stacks: Mapping[str, float] = field(default_factory=dict)

    def variance_of(self, workload: str, stack: str) -> float:
        """The variance that is foretold of a stack on a workload."""
        return self.variance * self.workloads.get(workload, 1.0) * self.stacks.get(stack, 1.0)


@dataclass(frozen=True)
class SeenSpread:
    """The variance of a stack's starts on a workload that one run saw, known with `freedom` degrees of freedom.

    `stack` is None where it is that of two stacks at once.
    """

    quantity: str
    in_turns: bool
    way: str
    workload: str
    stack: str | None
    variance: float
    freedom: float
