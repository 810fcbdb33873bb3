"""`doctor`: what this machine lacks or does that matters to a measurement, and the commands that mend it."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterator, Sequence

from fairground import generators
from fairground.host import Keeper, awake, counters, emulation, isolation, machine
from fairground.host.machine import MachineCheck
from fairground.lab import setup
from fairground.lab.places import Places
from fairground.model import LabError, Seats
from fairground.postgres import packages
from fairground.report.text.seats import picture

PROGRAMS = ("apt-get", "sysctl", "env", "cargo")
"""Fixes that begin with one of these are commands; others are for the person to do."""


def checks(places: Places) -> tuple[MachineCheck, ...]:
    """Everything that is looked at, in the order in which it is shown."""
    lines = machine.checks(places.cache, places.environ.get("PATH", ""))
    return (
        *lines,
        *isolation.checks(isolation.read()),
        counters.check(),
        emulation.check(places.environ.get("PATH")),
        *generators.checks(places.tool_path, places.tools),
        *packages.checks(places.cache, places.environ.get("PATH")),
        awake_check(places),
        _engine(places),
    )


def default_seats() -> Seats:
    """The cores that each role gets on this machine where a measurement says nothing else."""
    return setup.machine_seats(None)


def seats_lines(found: Seats) -> tuple[str, ...]:
    """A picture of the seats, and in what the machine falls short."""
    pin = [("server", found.server), ("database", found.database), ("generator", found.generator)]
    remark = (f"seats: {found.remark}",) if found.remark else ()
    return (*picture([(role, cores) for role, cores in pin if cores]), *remark)


def fixes(lines: Sequence[MachineCheck]) -> Iterator[list[str]]:
    """The commands that mend what is lacking. Run each before the next is asked for."""
    for line in lines:
        if line.state in ("lacking", "optional") and line.fix and line.fix.split()[0] in PROGRAMS:
            if line.fix.startswith("apt-get"):
                yield ["apt-get", "update", "-q"]
            yield shlex.split(line.fix)


def can_measure(lines: Sequence[MachineCheck]) -> bool:
    """True if anything can be measured at all: nothing can without the load engine."""
    return not any(line.id == "engine" and line.state == "lacking" for line in lines)


def awake_check(places: Places) -> MachineCheck:
    """The doctor's line about idle processors."""
    if not awake.wants_awake(places.environ):
        return MachineCheck(
            "awake", "ok", f"idle processors are left to the kernel: this is not a virtual machine, or {awake.AWAKE} says no"
        )
    try:
        with Keeper(places.environ) as keeper, awake.keep_awake(keeper, places.engine):
            return MachineCheck(
                "awake", "ok", "idle processors come back late here, so they are kept awake while something is measured"
            )
    except LabError as error:
        return MachineCheck("awake", "lacking", error.message, error.hint)


def _engine(places: Places) -> MachineCheck:
    try:
        words = subprocess.run([str(places.engine), "--version"], capture_output=True, text=True, check=True).stdout.strip()
        return MachineCheck("engine", "ok", f"load engine: {words}")
    except LabError as error:
        return MachineCheck("engine", "lacking", f"{error.message}: nothing can be measured", error.hint)
    except (OSError, subprocess.CalledProcessError):
        return MachineCheck(
            "engine", "lacking", "the load engine does not run: nothing can be measured", "build or install it again"
        )
