"""Keep the processors awake while something is measured.

A hypervisor takes an idle processor away from its virtual machine, and gives it back late when the neighbours are busy. Every
answer waits for a processor that was idle a moment ago, so that what is measured is the host's queue: it shows as steal, halves
the throughput of a server, and multiplies its tail. So while the lab measures in a virtual machine, a thread on each processor
spins behind everything else (`fairload awake`), as the kernel's `idle=poll` does. On a machine of one's own it would only heat.

SCHED_IDLE alone is not enough where groups or sessions share the processors out: their shares ignore it. So the spinning threads
have a group of their own, which stands back behind all others.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil

from fairground.host import machine
from fairground.host.cgroup import Group
from fairground.host.child import Child, Keeper
from fairground.host.streams import Streams
from fairground.model import LabError

AWAKE = "FAIRGROUND_AWAKE"
AWAKE_CHOICES = ("auto", "yes", "no")
SESSIONS_GROUPED = Path("/proc/sys/kernel/sched_autogroup_enabled")


@contextmanager
def keep_awake(keeper: Keeper, engine: Path) -> Iterator[None]:
    """Keep all processors that we may use from idling, for the length of a `with`.

    LabError where that would take time from others.
    """
    group = keeper.groups.yielding()
    if group is None and _sessions_grouped():
        raise LabError(
            "the processors cannot be kept awake: no cgroup has `cpu.idle`, and the kernel shares them out by session",
            "sysctl -w kernel.sched_autogroup_enabled=0",
            exit_code=3,
        )
    others = _spinning()
    child, ours = _spin(keeper, engine, group or Group(None, ()))
    keeper.spinners = (psutil.Process(child.pid), *others)
    try:
        yield
    finally:
        keeper.spinners = ()
        os.close(ours)
        child.stop()


def wants_awake(environ: Mapping[str, str]) -> bool:
    """True if processors are to be kept from idling: as FAIRGROUND_AWAKE says, else in virtual machines."""
    said = environ.get(AWAKE) or "auto"
    if said not in AWAKE_CHOICES:
        raise LabError(f"{AWAKE} is `{said}`", f"write {', '.join(AWAKE_CHOICES[:-1])} or {AWAKE_CHOICES[-1]}")
    return said == "yes" or (said == "auto" and machine.is_virtual(machine.fingerprint()))


def hold_awake(
    held: ExitStack,
    keeper: Keeper,
    environ: Mapping[str, str],
    engine: Path,
    say: Callable[[str], None],
    must: bool | None = None,
) -> None:
    """Keep processors from idling until `held` ends, where that is wanted; where it cannot be, say why and go on.

    `must`, or FAIRGROUND_AWAKE=yes: LabError instead, for then the numbers would be other ones than asked for. `must` False:
    processors idle, whatever is wanted.
    """
    if must is False or must is None and not wants_awake(environ):
        return
    try:
        held.enter_context(keep_awake(keeper, engine))
    except LabError as error:
        if must or environ.get(AWAKE) == "yes":
            raise
        say(f"{error.message}; steal will be higher than it need be{f' → {error.hint}' if error.hint else ''}")


def _spinning() -> list[psutil.Process]:
    """Processes that keep this machine's processors awake for other labs: they stand back too, and take time from nobody."""
    return [one for one in psutil.process_iter(["cmdline"]) if _spins(one.info["cmdline"] or [])]


def _spins(argv: Sequence[str]) -> bool:
    return Path(argv[0]).name == "fairload" and list(argv[1:]) == ["awake"] if argv else False


def _spin(keeper: Keeper, engine: Path, group: Group) -> tuple[Child, int]:
    """Start the threads, and wait until they stand behind all others; they end when the descriptor is closed."""
    stdin, ours = os.pipe2(os.O_CLOEXEC)
    told, theirs = os.pipe2(os.O_CLOEXEC)
    try:
        child = keeper.spawn([str(engine), "awake"], role="awake", env={}, streams=Streams(stdin, None, theirs), group=group)
    finally:
        os.close(stdin)
        os.close(theirs)
    with open(told, "rb") as pipe:
        line = pipe.readline()
    if b'"awake"' not in line:
        os.close(ours)
        child.stop()
        raise LabError(f"the processors cannot be kept awake: {line.decode(errors='replace').strip()}", exit_code=3)
    return child, ours


def _sessions_grouped() -> bool:
    try:
        return SESSIONS_GROUPED.read_text().strip() == "1"
    except OSError:
        return False
