"""The machine that numbers are made on: its fingerprint, and what it lacks or does that a person should know."""

from __future__ import annotations

import hashlib
import os
import platform
import resource
import shutil
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from fairground.host.child import OPEN_FILES
from fairground.host.strangers import Strangers, Used
from fairground.model import Machine
from fairground.model.plural import plural

KERNEL_SETTINGS = (
    "net/core/somaxconn",
    "net/ipv4/tcp_max_syn_backlog",
    "net/ipv4/ip_local_port_range",
    "net/ipv4/tcp_tw_reuse",
    "kernel/pid_max",
)
BACKLOG_WANTED = 4096
FILES_WANTED = 20_000
DISK_WANTED_BYTES = 4 << 30
MEMORY_WANTED_BYTES = 4 << 30
NOISE_WARN = 0.05
BESIDE_WARN = 0.05
"""The share of a core from which on a trial would be warned of what other processes use (V9)."""
LISTENED_S = 1.0
SHORT_HASHES, LONG_HASHES = 1_000, 6_000
"""The length of a fixed piece of work, for the pace and for the noise: 2 ms and 12 ms on a machine of 2020."""
VIRTUAL = "virtual machine"
VIRTUAL_VENDORS = ("QEMU", "Xen", "VMware, Inc.", "Parallels International GmbH.")
VIRTUAL_PRODUCTS = ("KVM Virtual Machine", "Virtual Machine", "Google Compute Engine", "Apple Virtualization Generic Platform")
"""The names that firmware gives to virtual machines whose processors do not say it: those of ARM."""


FILES_OF_ITS_OWN = 64
"""Open files that a process has beside its connections, at most."""


@dataclass(frozen=True)
class MachineCheck:
    """One line of the doctor. `fix` is the exact command that mends it.

    `state` is `ok`, `note`, `optional` (missing, and not needed) or `lacking`.
    """

    id: str
    state: str
    sentence: str
    fix: str | None = None


def most_connections() -> int:
    """The most connections that one process can open to one address: each takes a local port and an open file."""
    low, high = _port_range()
    return max(0, min(high - low + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[1] - FILES_OF_ITS_OWN))


def fingerprint(awake: bool = False) -> Machine:
    """The facts that identify this machine in a result. The host's name is hashed: results are published, names need not be.

    `awake`: its processors are kept from idling while it is measured.
    """
    return Machine(
        hostname_hash=hashlib.sha256(platform.node().encode()).hexdigest()[:12],
        cpu_model=_cpu_model(),
        cores=cores(),
        memory_bytes=memory_bytes(),
        kernel=platform.release(),
        distribution=_distribution(),
        virtualization=_virtualization(),
        cpu_governor=_read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        clocksource=_read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        limits={
            **{name.replace("/", "."): value for name in KERNEL_SETTINGS if (value := _read(f"/proc/sys/{name}")) is not None},
            "open files": str(resource.getrlimit(resource.RLIMIT_NOFILE)[1]),
        },
        awake=awake,
    )


def is_virtual(machine: Machine) -> bool:
    """True if a hypervisor shares this machine's processors out."""
    return (machine.virtualization or "").startswith(VIRTUAL)


def cores() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0))


def checks(cache: Path, environment_path: str) -> Iterator[MachineCheck]:
    """Look at the machine, a line at a time; the last two take a second, in which it listens for noise."""
    count = cores()
    if count < 4:
        shared = f"{plural(count, 'core')}: generator, servers and database share {'it' if count == 1 else 'them'}"
        yield MachineCheck(
            "cores",
            "note",
            f"{shared}. Ratios and CPU per answer are sound; absolute rates include the generator",
        )
    else:
        yield MachineCheck("cores", "ok", f"{count} cores")
    yield _files()
    yield _backlog()
    yield _ports()
    yield _space(cache)
    yield _memory()
    for program, package in (("git", "git"), ("cargo", None), ("nginx", "nginx-light"), ("pgbouncer", "pgbouncer")):
        found = shutil.which(program, path=environment_path)
        fix = f"apt-get install -y {package}" if package else "install Rust with rustup"
        yield (
            MachineCheck(program, "ok", f"{program} is at {found}")
            if found
            else MachineCheck(program, "lacking", f"{program} is missing", fix)
        )
    if shutil.which("pgcat", path=environment_path) is None:
        yield MachineCheck("pgcat", "note", "pgcat is missing, and no package registry has a binary: its topologies are left out")
    before, began = Strangers.now(), time.monotonic()
    yield _noise()
    yield _beside(Strangers.now().since(before), time.monotonic() - began)


def pace_us(pieces: int = 30) -> float:
    """The median CPU time, in µs, of a short fixed piece of work on one processor, of this many: 2 ms each on a machine of 2020.

    CPU time leaves out the wait for a processor, which is the roles' doing or that of others, and is judged apart. Pieces shorter
    than a scheduler's slice keep most of them from being interrupted, which costs caches as well.
    """
    return statistics.median(_piece_s(SHORT_HASHES, time.thread_time) for _ in range(pieces)) * 1e6


def noise(samples: int = 80) -> float:
    """Spread of that piece of work, as (90th percentile − median) / median of its wall time; takes about a second."""
    times = sorted(_piece_s(LONG_HASHES, time.perf_counter) for _ in range(samples))
    middle = statistics.median(times)
    return (times[int(0.9 * (samples - 1))] - middle) / middle


def _piece_s(hashes: int, clock: Callable[[], float]) -> float:
    began, digest = clock(), b""
    for _ in range(hashes):
        digest = hashlib.sha256(digest + bytes(1024)).digest()
    return clock() - began


def _beside(used: Used | None, seconds: float) -> MachineCheck:
    """Say what other processes used meanwhile, as cores. `LISTENED_S`: one step of their clocks says little of a shorter time."""
    if used is None:
        return MachineCheck("strangers", "note", "other users' processes are hidden here: whether they are busy is not known")
    share = used.ns / 1e9 / max(seconds, LISTENED_S)
    if share <= BESIDE_WARN:
        return MachineCheck("strangers", "ok", f"other processes use {share:.0%} of a core")
    most = used.busiest_ns / 1e9 / max(seconds, LISTENED_S)
    named = f", `{used.busiest}` {most:.0%}" if used.busiest is not None else ""
    return MachineCheck("strangers", "note", f"other processes use {share:.0%} of a core{named}: end them before you measure")


def _noise() -> MachineCheck:
    spread = noise()
    state = "ok" if spread < NOISE_WARN else "note"
    words = "quiet" if state == "ok" else "noisy: use more blocks, and trust ratios inside one run"
    return MachineCheck("noise", state, f"the same work varied by {spread:.1%} over a second: {words}")


def _files() -> MachineCheck:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard >= FILES_WANTED or hard == resource.RLIM_INFINITY:
        return MachineCheck("open-files", "ok", f"open files {soft:,}, and up to {hard:,} for those who ask")
    return MachineCheck(
        "open-files", "lacking", f"open files {hard:,}, fewer than {FILES_WANTED:,}", f"ulimit -Hn {FILES_WANTED}"
    )


def _backlog() -> MachineCheck:
    value = int(_read("/proc/sys/net/core/somaxconn") or 0)
    if value >= BACKLOG_WANTED:
        return MachineCheck("backlog", "ok", f"listen backlog up to {value:,}")
    return MachineCheck(
        "backlog",
        "lacking",
        f"listen backlog {value:,}: bursts of connections are dropped",
        f"sysctl -w net.core.somaxconn={BACKLOG_WANTED}",
    )


def _port_range() -> tuple[int, int]:
    """The first and the last port that the kernel gives to a connection."""
    low, high = (_read("/proc/sys/net/ipv4/ip_local_port_range") or "32768 60999").split()
    return int(low), int(high)


def _ports() -> MachineCheck:
    low, high = _port_range()
    if low >= 20_000:
        return MachineCheck("ports", "ok", f"ephemeral ports {low}–{high}, clear of the lab's own (17000–19999)")
    fix = "sysctl -w net.ipv4.ip_local_port_range='32768 60999'"
    return MachineCheck("ports", "lacking", f"ephemeral ports begin at {low}, inside the lab's own", fix)


def _space(cache: Path) -> MachineCheck:
    place = next(folder for folder in (cache, *cache.parents) if folder.exists())
    free = shutil.disk_usage(place).free
    state = "ok" if free >= DISK_WANTED_BYTES else "lacking"
    fix = None if state == "ok" else f"free {(DISK_WANTED_BYTES - free) >> 20} MiB in {place}"
    return MachineCheck("disk", state, f"{free >> 30} GiB free for builds and databases in {cache}", fix)


def _memory() -> MachineCheck:
    memory = memory_bytes() or 0
    state = "ok" if memory >= MEMORY_WANTED_BYTES else "note"
    return MachineCheck("memory", state, f"{memory / (1 << 30):.1f} GiB of memory")


def _cpu_model() -> str | None:
    """The processor's name; where the kernel tells none, as on ARM servers, the numbers of its maker and part."""
    lines = [line.partition(":") for line in (_read("/proc/cpuinfo") or "").splitlines()]
    told = {name.strip(): value.strip() for name, _, value in reversed(lines)}
    if named := told.get("model name") or told.get("Model"):
        return named
    maker, part = told.get("CPU implementer"), told.get("CPU part")
    return f"{platform.machine()} implementer {maker} part {part}" if maker and part else None


def memory_bytes() -> int | None:
    """All memory of the machine; None where it does not say."""
    lines = (_read("/proc/meminfo") or "").splitlines()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemTotal:")), None)


def most_descriptors() -> int:
    """The open descriptors that each process may have which the lab starts; see `keeper.py`."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)


def most_threads() -> int | None:
    """The threads that the machine lets all processes have; None where it does not say."""
    text = (_read("/proc/sys/kernel/threads-max") or "").strip()
    return int(text) if text.isdigit() else None


def _distribution() -> str | None:
    lines = (_read("/etc/os-release") or "").splitlines()
    return next((line.partition("=")[2].strip('"') for line in lines if line.startswith("PRETTY_NAME=")), None)


def _virtualization() -> str | None:
    """The hypervisor as the firmware names it, or the machine's maker where there is none that shows itself."""
    named = _read("/sys/class/dmi/id/sys_vendor")
    return f"{VIRTUAL} ({named or 'unnamed'})" if _has_hypervisor(named) else named


def _has_hypervisor(vendor: str | None) -> bool:
    """True if there is a hypervisor. An x86 processor says so; elsewhere the firmware does, by what it calls the machine."""
    flags = next((line for line in (_read("/proc/cpuinfo") or "").splitlines() if line.startswith("flags")), None)
    if flags is not None:
        return " hypervisor" in flags
    product = _read("/sys/class/dmi/id/product_name") or ""
    return (
        _read("/proc/device-tree/hypervisor/compatible") is not None
        or vendor in VIRTUAL_VENDORS
        or product in VIRTUAL_PRODUCTS
        or (vendor == "Amazon EC2" and not product.endswith(".metal"))
    )


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return None
