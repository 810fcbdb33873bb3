"""The workloads that are meant by a name: as it stands, or in the contract of the stacks that are named beside it. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from fairground.model import LabError, Stack, Workload
from fairground.model.contract import Contract
from fairground.model.source import nearest

EVERY = "all"
"""The word for each workload of the stacks' contracts."""


def meant_workloads(
    names: Sequence[str], stacks: Sequence[Stack], known: Sequence[Workload], contract: str | None = None
) -> tuple[Workload, ...]:
    """The workloads of these names, each once. LabError where there is none. `contract`: the only one that is looked into.

    A name is that of a workload as it stands, or else in the contract of a stack. Several may be meant by `all`.
    """
    by_id = {one.id: one for one in known}
    places = _contracts(stacks, known, contract)
    found = dict[str, Workload]()
    for name in names:
        if name == EVERY and EVERY not in by_id:
            found |= {one.id: one for one in known if one.contract.id in {place.id for place in places}}
            continue
        spelled = [place.qualify(name) for place in places]
        ids = [name, *spelled] if contract is None or "/" in name else spelled
        id = next((one for one in ids if one in by_id), None)
        if id is None:
            where = "" if contract is None else f" in the contract `{contract}`"
            offered = sorted(one.id for one in known if one.contract.id in {place.id for place in places})
            raise LabError(f"there is no workload `{name}`{where}", f"workloads: {', '.join(offered)}")
        found[id] = by_id[id]
    return tuple(found.values())


def default_workload(stacks: Sequence[Stack], known: Sequence[Workload], contract: str | None = None) -> Workload:
    """The workload that a contract names for commands that name none. LabError where the stacks have several contracts."""
    places = _contracts(stacks, known, contract)
    if len(places) != 1:
        names = ", ".join(sorted(place.id for place in places))
        raise LabError(
            f"the stacks fulfil several contracts ({names}), so that no workload is meant", "name one: --workload WORKLOAD"
        )
    return meant_workloads([places[0].qualify(places[0].default)], stacks, known)[0]


def is_asked(stack: Stack, workload: Workload) -> bool:
    """True if a stack can be measured on a workload: it is one of its contract, and it does not skip it."""
    return workload.contract.id == stack.server.contract.id and workload.id not in stack.skip


def require_one_contract(stacks: Sequence[Stack], workloads: Sequence[Workload]) -> None:
    """Raise LabError for a stack or a workload whose contract none of the others has."""
    asked = {one.contract.id for one in workloads}
    for stack in stacks:
        if workloads and stack.server.contract.id not in asked:
            raise _apart(stack, workloads[0])
    for workload in workloads:
        if stacks and workload.contract.id not in {one.server.contract.id for one in stacks}:
            raise _apart(stacks[0], workload)


def _apart(stack: Stack, workload: Workload) -> LabError:
    own, other = stack.server.contract.id, workload.contract.id
    sentence = f"`{stack.id}` fulfils the contract `{own}`, and `{workload.id}` is a workload of `{other}`"
    return LabError(sentence, "name a workload and a stack of one contract: ./fairground list workloads")


def _contracts(stacks: Sequence[Stack], known: Sequence[Workload], contract: str | None) -> list[Contract]:
    """The contracts in which a name is looked for: the one that is named, or those of the stacks."""
    if contract is None:
        return list({one.server.contract.id: one.server.contract for one in stacks}.values())
    there = {one.contract.id: one.contract for one in known}
    if contract not in there:
        raise LabError(f"there is no contract `{contract}`", nearest(contract, there, "contracts"))
    return [there[contract]]
