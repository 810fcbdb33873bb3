"""The orders for what is left of a run, and what hosts answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fairground.fleet import shares
from fairground.fleet.cluster import Done, Member
from fairground.fleet.order import Order, OrderAnswer, OrderWork
from fairground.fleet.shares import PlanShare
from fairground.model import Cell, LabError, Plan, PlanSlot, Run, Trial


@dataclass(frozen=True)
class HostTask:
    """An order, and the hosts that may carry it out; `share` None: it asks for the machine's limits."""

    share: PlanShare | None
    order: bytes
    hosts: tuple[Member, ...]


def tasks(known: Run, left: Sequence[PlanSlot], members: Sequence[Member], digests: Mapping[str, str]) -> list[HostTask]:
    """Split what is `left` of a run into orders for its hosts, in the plan's order.

    What was begun on a machine that has not joined is for none of them. `digests`: server → hash of its sources.
    """
    found = list[HostTask]()
    if not known.limits and known.qualification is None:
        found.append(HostTask(None, Order(OrderWork.LIMITS, known.plan, digests).to_json(), tuple(members)))
    before = dict[int, list[Trial]]()
    for trial in known.everything:
        before.setdefault(trial.number, []).append(trial)
    every, by_machine = tuple(members), dict[str, list[Member]]()
    for one in members:
        by_machine.setdefault(one.about.machine.hostname_hash, []).append(one)
    for share in shares.shares(left, known.everything, len(members), known.machine.hostname_hash):
        hosts = every if share.begun_on is None else tuple(by_machine.get(share.begun_on, ()))
        found.append(HostTask(share, _order(known, share, digests, before), hosts))
    return found


def _order(known: Run, share: PlanShare, digests: Mapping[str, str], before: Mapping[int, Sequence[Trial]]) -> bytes:
    stacks = {slot.cell.stack.split(":")[0] for slot in share.slots}
    servers = {id: digest for id, digest in digests.items() if id in stacks}
    trials = tuple(trial for slot in share.slots for trial in before.get(slot.number, ()))
    return Order(OrderWork.SHARE, replace(known.plan, slots=share.slots), servers, trials).to_json()


def each_cell_once(planned: Plan) -> Plan:
    """The plan with each of its cells once: what a host needs for it, however many blocks there are."""
    first = dict[Cell, PlanSlot]()
    for slot in planned.slots:
        first.setdefault(slot.cell, slot)
    return replace(planned, slots=tuple(first.values()))


def answer_of(done: Done) -> OrderAnswer:
    """Read what a host answered. LabError where it did not answer, refused, or said what cannot be read."""
    if done.answer is None:
        raise LabError(done.failure)
    try:
        found = OrderAnswer.from_json(done.answer)
    except ValueError as error:
        raise LabError("a host answered what cannot be read") from error
    if found.refusal is not None:
        raise found.refusal.error(found.host)
    return found
