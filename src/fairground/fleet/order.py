"""Orders that the lab sends to a host, and the answers to them: JSON, whose shapes both sides share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING

from fairground.model import LabError, Limit, Machine, Plan, Qualification, StackInfo, Trial, foreign

if TYPE_CHECKING:
    from pydantic import TypeAdapter


class OrderWork(StrEnum):
    """The kinds of work that a host is asked for."""

    READY = "ready"
    """Build the servers, start a database once, and say what there is."""
    LIMITS = "limits"
    """Measure what the machine can do at most on the plan's workloads."""
    SHARE = "share"
    """Measure the slots of the plan."""


@dataclass(frozen=True)
class Order:
    """An order to a host.

    `plan` has the slots that are meant, and no others. `servers`: id → hash of the sources, which the host has by then.
    """

    work: OrderWork
    plan: Plan
    servers: Mapping[str, str]
    known: tuple[Trial, ...] = ()
    """Trials of these slots that were made before: attempts go on from them."""

    def to_json(self) -> bytes:
        """The order as JSON, on one line."""
        return foreign.json_of(_orders(), self)

    @classmethod
    def from_json(cls, text: bytes) -> Order:
        """Read an order. Raises ValueError for what is none."""
        return _orders().validate_json(text)


@dataclass(frozen=True)
class Refusal:
    """A `LabError` of the host."""

    message: str
    hint: str | None
    exit_code: int

    def error(self, host: str) -> LabError:
        """The error as the lab tells it."""
        return LabError(f"host `{host}`: {self.message}", self.hint, self.exit_code)


@dataclass(frozen=True)
class OrderAnswer:
    """The answer of a host. One with a `refusal` has only `host` beside it; trials are new ones, in their order."""

    host: str
    machine: Machine | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    database_settings: Mapping[str, str] = field(default_factory=dict)
    stacks: Mapping[str, StackInfo] = field(default_factory=dict)
    lacking: Mapping[str, str] = field(default_factory=dict)
    """The parts of the plan that are not available there, in the words of `plan.of_suite`."""
    remarks: tuple[str, ...] = ()
    trials: tuple[Trial, ...] = ()
    limits: tuple[Limit, ...] = ()
    qualification: Qualification | None = None
    refusal: Refusal | None = None

    def to_json(self) -> bytes:
        """The answer as JSON. Numbers that are not finite become null, as in a run's folder."""
        return foreign.json_of(_answers(), self)

    @classmethod
    def from_json(cls, text: bytes) -> OrderAnswer:
        """Read an answer. Raises ValueError for what is none."""
        return _answers().validate_json(text)


@cache
def _orders() -> TypeAdapter[Order]:
    from pydantic import TypeAdapter

    return TypeAdapter(Order)


@cache
def _answers() -> TypeAdapter[OrderAnswer]:
    from pydantic import TypeAdapter

    return TypeAdapter(OrderAnswer)
