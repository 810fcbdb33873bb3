"""Seats in words and as a picture: which roles have which cores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fairground.model import CellSettings, Plan, Run, foreign

Pins = Sequence[tuple[str, tuple[int, ...]]]
"""Role → the cores that it is pinned to."""
Placed = Sequence[tuple[str, str]]
"""Role → the host that it is on, where that is not the lab's machine."""


def sentence(pin: Pins, place: Placed = ()) -> str:
    """`server on core 0, database and generator on core 1`: roles with the same cores stand together, others' last."""
    together: dict[str, list[str]] = {}
    for role, where in [*((role, cores_text(cores)) for role, cores in pin), *((role, _named(host)) for role, host in place)]:
        together.setdefault(where, []).append(role)
    return ", ".join(f"{_listed(roles)} on {where}" for where, roles in together.items())


def picture(pin: Pins, place: Placed = ()) -> tuple[str, ...]:
    """Lines of text that draw a box for each seat, with its cores above its roles; none where nobody is pinned or placed.

    A core that several roles may use stands in one box with all of them. Another host is a box of its own.
    """
    on: dict[tuple[str, ...], list[int]] = {}
    for core in sorted({core for _, cores in pin for core in cores}):
        on.setdefault(tuple(role for role, cores in pin if core in cores), []).append(core)
    boxes = [(cores_text(cores), _listed(roles)) for roles, cores in on.items()]
    boxes += [(_named(host), role) for role, host in place]
    if not boxes:
        return ()
    widths = [max(map(len, box)) for box in boxes]
    top, bottom = (ends[0] + ends[1].join("─" * (width + 2) for width in widths) + ends[2] for ends in ("┌┬┐", "└┴┘"))
    rows = ["│" + "│".join(f" {box[row]:<{width}} " for box, width in zip(boxes, widths, strict=True)) + "│" for row in (0, 1)]
    return (top, *rows, bottom)


def draw_seats(plan: Plan) -> tuple[str, ...]:
    """A picture for each different way in which the roles of a plan's cells are pinned."""
    seats = dict.fromkeys((slot.cell.settings.pin, slot.cell.settings.place) for slot in plan.slots)
    return tuple("\n".join(lines) for pin, place in seats if (lines := picture(pin, place)))


def machine(cores: int, cells: Iterable[CellSettings]) -> str:
    """`2 cores`; where a server may use the generator's cores this is added. `cells`: the settings of all."""
    shared = any(not _apart(one) for one in cells)
    return f"{cores} {'core' if cores == 1 else 'cores'}{' shared with the generator' if shared else ''}"


def of_run(run: Run) -> str:
    """`machine` of a run's own cells."""
    return machine(run.machine.cores, {slot.cell.settings for slot in run.plan.slots})


def _apart(settings: CellSettings) -> bool:
    """True if server and generator have no core in common."""
    if "generator" in dict(settings.place):
        return True
    pin = dict(settings.pin)
    return "server" in pin and "generator" in pin and not set(pin["server"]) & set(pin["generator"])


def share(place: Placed, machine: str = "this machine") -> str:
    """Say who is on the servers' machine: `Servers and database share this machine, and the generator is on host rack-2`."""
    there = [f"the {role} is on {_named(host)}" for role, host in place if role != "server"]
    here = [name for name in ("generator", "servers", "database") if name not in dict(place)]
    said = f"{_listed(here)} {'share' if len(here) > 1 else 'are on'} {machine}".capitalize()
    return ", and ".join([said, *([_listed(there)] if there else [])])


def doubts(run: Run) -> tuple[str, str]:
    """Say what the seats of a run's roles, and the paths between them, leave out of its numbers."""
    cells = [slot.cell for slot in run.plan.slots]
    place = next((cell.settings.place for cell in cells if cell.settings.place), ())
    wires = sorted({cell.topology.wire.id for cell in cells if cell.topology.wire is not None})
    wired = f" the lab's own wire ({', '.join(wires)})"
    cores = f"one machine with {run.machine.cores} {'core' if run.machine.cores == 1 else 'cores'}"
    if "generator" in (away := dict(place)):
        cost = "absolute rates are those of these machines and of the network between them"
        wired = f", with{wired}" if wires else ""
        said = f"Requests come from {_named(away['generator'])}: its network is in the numbers{wired}, and there is no TLS."
    else:
        cost = "absolute rates include the generator's own cost"
        lacks = f"no lost packet and no TLS; distance is{wired}" if wires else "no round trip, no lost packet and no TLS"
        said = f"Requests travel over the loopback interface: there is no network card, {lacks}."
    if "database" in away:
        said += f" Statements travel to {_named(away['database'])}: that network is in the numbers."
    return f"{share(place, cores)}: {cost}. CPU per good answer carries over to other machines better than rates do.", said


def cores_text(cores: Sequence[int]) -> str:
    """`core 3`, `cores 0-3, 8`: ascending numbers, runs as ranges."""
    runs: list[list[int]] = []
    for core in cores:
        if runs and core == runs[-1][-1] + 1:
            runs[-1].append(core)
        else:
            runs.append([core])
    words = [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
    return f"{'core' if len(cores) == 1 else 'cores'} {', '.join(words)}"


def _named(host: str) -> str:
    """A host by its name, which is somebody else's word."""
    return f"host {foreign.line(host)}"


def _listed(roles: Sequence[str]) -> str:
    return roles[0] if len(roles) == 1 else f"{', '.join(roles[:-1])} and {roles[-1]}"
