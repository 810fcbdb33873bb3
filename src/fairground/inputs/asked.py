"""The values that a command line asks for: loads, settings, topologies, and the suite that they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fairground.inputs import conditions, faults, manifest, numbers, options, seating
from fairground.inputs.options import Given, Option
from fairground.inputs.seating import Wish
from fairground.model import OWN_MAJOR, CellSettings, LabError, Load, Seats, Server, Stack, Suite, SuiteGroup, Topology, Until

DECIDING_S = 30 * 60.0
"""The most seconds of a run that is to decide and was given no budget."""
DEFAULTS: Given = {one.name: one.default for one in options.OPTIONS}
"""A command line on which nothing was said."""


def suite(given: Given, title: str, stacks: Sequence[str], machine: Seats | None = None) -> Suite:
    """A suite of these stacks under seed 1, which leaves its blocks to the plan. It has a group for each version of PostgreSQL.

    `machine`: its seats where they are apart.
    """
    workloads = tuple(given["workload"] or ("all",))
    group = SuiteGroup(tuple(stacks), workloads, loads(given), settings(given), topologies(given), given["contract"])
    return on_versions(Suite("run", title, "", 0, 1, (seating.group(group, _wish(given), machine),)), given)


def overridden(suite: Suite, given: Given) -> Suite:
    """The suite with what was said of it as a whole, such as blocks and seed.

    With a budget and no number of blocks the budget alone says how many there are. What is to be decided has a budget in any
    case, so that it ends where nothing can be decided.
    """
    said = {name: value for name, value in _values(options.SUITE, given).items() if value is not None}
    if said.get("until") is Until.DECIDED:
        said = {"budget_s": DECIDING_S} | said
    elif "until" in said and said.get("budget_s", suite.budget_s) is None:
        raise LabError("`--until narrow` says what ends a run before its budget, and there is none", "add --budget, such as 20m")
    if "budget_s" in said:
        said = {"blocks": 0} | said
    found = replace(suite, **said)
    return found.with_blocks(found.blocks) if "blocks" in said else found


def on_versions(suite: Suite, given: Given) -> Suite:
    """The suite with each of its groups on the versions of PostgreSQL that are named, where any is."""
    if given["postgres_version"] is None:
        return suite
    groups = tuple(one for group in suite.groups for one in conditions.on_versions(group, versions(given)))
    return replace(suite, groups=groups)


def loads(given: Given) -> tuple[Load, ...]:
    """One load for each generator, number of connections, and fault."""
    fields = _values(options.LOADS, given)
    if fields["rate_per_s"] is not None and fields["requests"] is not None:
        raise LabError("`--rate` and `--requests` exclude each other", "a rate is kept for a window, `--window`")
    if fields["rate_per_s"] is not None and fields["think_ms"]:
        raise LabError("`--rate` and `--think-ms` exclude each other", "a rate says when requests are due; leave the pause out")
    if fields["stages"]:
        for key in ("rate_per_s", "requests"):
            if fields[key] is not None:
                raise LabError(f"`--stage` and `--{key.partition('_')[0]}` exclude each other", "leave one of them out")
        fields["window_s"] = sum(seconds for seconds, _ in fields["stages"])
    if fields["threads"] is None:
        del fields["threads"]
    if fields["rate_per_s"] is None:
        fields |= {"model": "closed", "arrivals": Load.arrivals}
    else:
        fields["model"] = "open"
    names, counts, wrongs = fields.pop("generator"), fields.pop("connections"), fields.pop("fault")
    return tuple(
        faults.check(Load(count, generator=name, fault=fault, **fields)) for name in names for count in counts for fault in wrongs
    )


def settings(given: Given) -> CellSettings:
    """The settings; LabError with the option for what cannot be meant."""
    fields = _values((*options.SETTINGS, options.SQL_BEFORE), given)
    if fields["workers"] is None:
        del fields["workers"]
    return conditions.check(CellSettings(**fields))


def versions(given: Given) -> tuple[int | None, ...]:
    """The versions of PostgreSQL; None: whichever there is, where nothing is said."""
    return options.VERSION.values(given["postgres_version"])["postgres_version"] or (None,)


def seat_asked(given: Given, load: Load, machine: Seats) -> tuple[CellSettings, Load]:
    """The settings of a verb that takes some of the options, and its load, in their seats."""
    said = {**DEFAULTS, **given}
    if said["threads"] is not None:
        load = replace(load, threads=numbers.positive("--threads", said["threads"]))
    version, *others = versions(said)
    if others:
        raise LabError(f"`{options.VERSION.spelling}` names several versions, and this is measured on one", "name one of them")
    if version == OWN_MAJOR and said["database"] is None:
        version = None  # as where none is named; a given database may be of another one
    found = seating.seat_settings(replace(settings(said), postgres_version=version), (), _wish(said), machine)
    return found, seating.seat_load(load, found, _wish(said), machine)


def topologies(given: Given) -> tuple[Topology, ...]:
    """Every proxy with every pooler and every wire."""
    fields = _values(options.HOPS, given)
    return conditions.topologies(
        fields["proxy"], fields["pooler"], size=fields["pooler_size"], clients=fields["pooler_clients"], wires=fields["wire"]
    )


def path(given: Given) -> Topology:
    """The path of a verb that measures over one. LabError where several are named."""
    found = topologies({**DEFAULTS, **given})
    if len(found) > 1:
        names = ", ".join(one.id for one in found)
        raise LabError(f"this verb measures over one path, and {len(found)} are named: {names}", "measure one after the other")
    return found[0]


def _wish(given: Given) -> Wish:
    text = options.SEATS.values(given["seats"])["seats"]
    return Wish(text, given["workers"] is not None, given["threads"] is not None)


def _values(some: Sequence[Option], given: Given) -> dict[str, Any]:
    return {field: value for option in some for field, value in option.values(given[option.name]).items()}


def one_stack(servers: Sequence[Server], text: str) -> Stack:
    """The stack of an id, or the only one of a server. LabError where there is none, or several."""
    found = manifest.find_stack(servers, text)
    if len(found) > 1:
        raise LabError(f"`{text}` has {len(found)} stacks", f"name one: {', '.join(stack.id for stack in found)}")
    return found[0]
