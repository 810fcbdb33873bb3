"""Hosts measure one run only if they are alike: machine, versions, receipts and settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fairground.fleet import about
from fairground.fleet.order import OrderAnswer
from fairground.host import sources
from fairground.model import LabError, Machine, Stack, StackInfo
from fairground.model.changes import changes


def require_alike(answers: Sequence[OrderAnswer]) -> None:
    """LabError where two hosts have other versions, receipts or machines."""
    first, common = answers[0], common_versions(answers)
    for other in answers[1:]:
        assert first.machine is not None and other.machine is not None
        hosts = f"hosts `{first.host}` and `{other.host}` differ"
        require_kind(hosts, first.machine, other.machine)
        require_same(hosts, common, {name: other.versions[name] for name in common})
        absent = {*first.lacking, *other.lacking}
        receipts = [{id: info.receipt for id, info in one.stacks.items() if id not in absent} for one in (first, other)]
        require_same(hosts, *receipts)
        require_same(hosts, first.database_settings, other.database_settings)


def require_kind(sentence: str, one: Machine, other: Machine) -> None:
    """LabError that opens with `sentence` where two machines are not of one kind."""
    require_same(sentence, about.kind(one), about.kind(other))


def require_same(sentence: str, before: Mapping[str, object], now: Mapping[str, object]) -> None:
    """LabError that opens with `sentence` where two tables differ."""
    if found := changes(before, now):
        hint = "a run is of one kind of machine, and one version of each program and contract"
        raise LabError(f"{sentence}: {', '.join(found)}", hint)


def common_versions(answers: Sequence[OrderAnswer]) -> dict[str, str]:
    """The first host's versions of what all hosts have: what some lack is not in the plan."""
    return {name: text for name, text in answers[0].versions.items() if all(name in one.versions for one in answers)}


def stack_infos(chosen: Sequence[Stack], answers: Sequence[OrderAnswer]) -> dict[str, StackInfo]:
    """Describe the run's stacks: a host's receipts, with the hash of the sources here.

    `--resume` knows the sources by that hash.
    """
    found = dict[str, StackInfo]()
    for stack in chosen:
        infos = [one.stacks[stack.id] for one in answers]
        info = next((one for one in infos if one.unavailable is not None), infos[0])
        found[stack.id] = replace(info, content_hash=sources.content_hash(stack.server.folder))
    return found
