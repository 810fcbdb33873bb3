"""The machine's fingerprint, and the doctor's lines in each of their states."""

from __future__ import annotations

import json
import platform
import resource
import shutil
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import pytest

from fairground.host import machine
from fairground.host.child import OPEN_FILES
from fairground.host.machine import MachineCheck
from fairground.host.strangers import Used

GIB = 1 << 30


def test_fingerprint_names_no_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host's name is in no field of the fingerprint, only a hash that differs from host to host."""
    monkeypatch.setattr(platform, "node", lambda: "secret-host-7")
    one = machine.fingerprint()
    monkeypatch.setattr(platform, "node", lambda: "secret-host-8")
    two = machine.fingerprint()
    assert "secret-host" not in json.dumps(asdict(one))
    assert one.hostname_hash != two.hostname_hash
    assert len(one.hostname_hash) == 12 and int(one.hostname_hash, 16) >= 0


def test_fingerprint_of_this_machine() -> None:
    """What every Linux shows is read, and numbers are numbers."""
    found = machine.fingerprint()
    assert found.cores >= 1
    assert found.memory_bytes is not None and found.memory_bytes > 100_000_000
    assert found.kernel == platform.release()
    assert "net.core.somaxconn" in found.limits and found.limits["open files"]


def test_fingerprint_of_a_machine_that_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be read is None, never an empty word or 0."""
    monkeypatch.setattr(machine, "_read", lambda path: None)
    found = machine.fingerprint()
    unknown = (
        found.cpu_model,
        found.memory_bytes,
        found.distribution,
        found.virtualization,
        found.cpu_governor,
        found.clocksource,
    )
    assert unknown == (None,) * 6
    assert set(found.limits) == {"open files"}


def files(monkeypatch: pytest.MonkeyPatch, **texts: str) -> None:
    """Let the machine's files say this, by the last part of their path; all others are not there."""
    monkeypatch.setattr(machine, "_read", lambda path: texts.get(path.rpartition("/")[2].replace("-", "_")))


@pytest.mark.parametrize(
    ("flags", "vendor", "said"),
    [
        ("flags : fpu hypervisor", {"sys_vendor": "Acme"}, "virtual machine (Acme)"),
        ("flags : fpu hypervisor", {}, "virtual machine (unnamed)"),
        ("flags : fpu", {"sys_vendor": "Acme"}, "Acme"),
        ("flags : fpu", {}, None),
    ],
)
def test_virtualization(monkeypatch: pytest.MonkeyPatch, flags: str, vendor: dict[str, str], said: str | None) -> None:
    """A processor that knows of a hypervisor is a virtual machine, under the name that the firmware gives."""
    files(monkeypatch, cpuinfo=flags, **vendor)
    assert machine.fingerprint().virtualization == said


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        ({"sys_vendor": "QEMU"}, "virtual machine (QEMU)"),
        ({"sys_vendor": "Microsoft Corporation", "product_name": "Virtual Machine"}, "virtual machine (Microsoft Corporation)"),
        ({"sys_vendor": "Amazon EC2", "product_name": "c7g.large"}, "virtual machine (Amazon EC2)"),
        ({"sys_vendor": "Amazon EC2", "product_name": "c7g.metal"}, "Amazon EC2"),
        ({"compatible": "linux,kvm"}, "virtual machine (unnamed)"),
        ({"sys_vendor": "Acme", "product_name": "Server"}, "Acme"),
        ({}, None),
    ],
)
def test_virtualization_of_arm(monkeypatch: pytest.MonkeyPatch, shown: dict[str, str], said: str | None) -> None:
    """Where the processor has no flag for it, the firmware's names tell a virtual machine from the maker's own."""
    files(monkeypatch, cpuinfo="Features : fp asimd", **shown)
    assert machine.fingerprint().virtualization == said


@pytest.mark.parametrize(
    ("cpuinfo", "said"),
    [
        ("processor : 0\nmodel name : Acme One\nmodel name : Acme Two", "Acme One"),
        ("CPU implementer : 0x41\nCPU part : 0xd0c\nModel : Board 4", "Board 4"),
        ("CPU implementer\t: 0x41\nCPU part\t: 0xd0c\nCPU part\t: 0xd0d", "aarch64 implementer 0x41 part 0xd0c"),
        ("processor : 0", None),
    ],
)
def test_cpu_model(monkeypatch: pytest.MonkeyPatch, cpuinfo: str, said: str | None) -> None:
    """A processor without a name is told by the numbers of its maker and part, of the first core."""
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    files(monkeypatch, cpuinfo=cpuinfo)
    assert machine.fingerprint().cpu_model == said


# ---------------------------------------------------------------- the doctor


def limits(monkeypatch: pytest.MonkeyPatch, soft: int, hard: int) -> None:
    """Let the limits of open files be these."""
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (soft, hard))


@pytest.mark.parametrize(
    ("hard", "check"),
    [
        (20_000, MachineCheck("open-files", "ok", "open files 1,024, and up to 20,000 for those who ask")),
        (19_999, MachineCheck("open-files", "lacking", "open files 19,999, fewer than 20,000", "ulimit -Hn 20000")),
    ],
)
def test_open_files(monkeypatch: pytest.MonkeyPatch, hard: int, check: MachineCheck) -> None:
    """The hard limit of open files decides."""
    limits(monkeypatch, 1024, hard)
    assert machine._files() == check


def test_open_files_without_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """No limit at all is enough."""
    limits(monkeypatch, 1024, resource.RLIM_INFINITY)
    assert machine._files().state == "ok"


@pytest.mark.parametrize(("hard", "most"), [(1_048_576, OPEN_FILES), (20_000, 20_000), (resource.RLIM_INFINITY, OPEN_FILES)])
def test_servers_have_the_files_that_the_keeper_gives(monkeypatch: pytest.MonkeyPatch, hard: int, most: int) -> None:
    """The lab's own soft limit is no limit of theirs."""
    limits(monkeypatch, 1024, hard)
    assert machine.most_descriptors() == most


@pytest.mark.parametrize(
    ("value", "check"),
    [
        ("4096", MachineCheck("backlog", "ok", "listen backlog up to 4,096")),
        (
            "128",
            MachineCheck(
                "backlog", "lacking", "listen backlog 128: bursts of connections are dropped", "sysctl -w net.core.somaxconn=4096"
            ),
        ),
    ],
)
def test_backlog(monkeypatch: pytest.MonkeyPatch, value: str, check: MachineCheck) -> None:
    """A short listen queue is lacking, with the command that lengthens it."""
    files(monkeypatch, somaxconn=value)
    assert machine._backlog() == check


@pytest.mark.parametrize(
    ("value", "check"),
    [
        ("32768\t60999", MachineCheck("ports", "ok", "ephemeral ports 32768–60999, clear of the lab's own (17000–19999)")),
        (
            "1024 65535",
            MachineCheck(
                "ports",
                "lacking",
                "ephemeral ports begin at 1024, inside the lab's own",
                "sysctl -w net.ipv4.ip_local_port_range='32768 60999'",
            ),
        ),
    ],
)
def test_ports(monkeypatch: pytest.MonkeyPatch, value: str, check: MachineCheck) -> None:
    """Ephemeral ports that begin among ours are lacking."""
    files(monkeypatch, ip_local_port_range=value)
    assert machine._ports() == check


@pytest.mark.parametrize(
    ("free", "state", "fix"), [(4 * GIB, "ok", None), (10 * GIB, "ok", None), (3 * GIB, "lacking", "free 1024 MiB in {}")]
)
def test_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, free: int, state: str, fix: str | None) -> None:
    """Space is looked for where the cache will be, although it is not there yet."""
    monkeypatch.setattr(shutil, "disk_usage", lambda place: SimpleNamespace(free=free))
    cache = tmp_path / "not" / "yet"
    wanted = None if fix is None else fix.format(tmp_path)
    sentence = f"{free // GIB} GiB free for builds and databases in {cache}"
    assert machine._space(cache) == MachineCheck("disk", state, sentence, wanted)


@pytest.mark.parametrize(
    ("text", "check"),
    [
        ("MemTotal: 8388608 kB", MachineCheck("memory", "ok", "8.0 GiB of memory")),
        ("MemTotal: 2097152 kB", MachineCheck("memory", "note", "2.0 GiB of memory")),
    ],
)
def test_memory(monkeypatch: pytest.MonkeyPatch, text: str, check: MachineCheck) -> None:
    """Little memory is noted."""
    files(monkeypatch, meminfo=text)
    assert machine._memory() == check


@pytest.mark.parametrize(("spread", "state"), [(0.049, "ok"), (0.05, "note"), (0.3, "note")])
def test_noise_line(monkeypatch: pytest.MonkeyPatch, spread: float, state: str) -> None:
    """A machine on which the same work varies by a twentieth is noted as noisy."""
    monkeypatch.setattr(machine, "noise", lambda: spread)
    check = machine._noise()
    assert check.state == state
    assert check.sentence.startswith(f"the same work varied by {spread:.1%} over a second: ")


@pytest.mark.parametrize(
    ("used", "seconds", "state", "sentence"),
    [
        (None, 1.0, "note", "other users' processes are hidden here: whether they are busy is not known"),
        (Used(0, None, 0), 1.0, "ok", "other processes use 0% of a core"),
        (Used(50_000_000, "chromium", 40_000_000), 1.0, "ok", "other processes use 5% of a core"),
        (Used(120_000_000, "chromium", 90_000_000), 1.0, "note",
         "other processes use 12% of a core, `chromium` 9%: end them before you measure"),
        (Used(120_000_000, "chromium", 90_000_000), 2.0, "note",
         "other processes use 6% of a core, `chromium` 4%: end them before you measure"),
        (Used(40_000_000, "chromium", 40_000_000), 0.001, "ok", "other processes use 4% of a core"),
    ],
)  # fmt: skip
def test_who_else_is_busy_is_named(used: Used | None, seconds: float, state: str, sentence: str) -> None:
    """From 5 % of a core on, as a trial would be warned; a moment too short for the clocks' steps alarms nobody."""
    assert machine._beside(used, seconds) == MachineCheck("strangers", state, sentence)


def test_noise_is_a_spread() -> None:
    """The measure of noise is a share of the median, and never negative."""
    assert machine.noise(samples=3) >= 0


@pytest.mark.parametrize(("cores", "state"), [(1, "note"), (3, "note"), (4, "ok"), (64, "ok")])
def test_cores(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cores: int, state: str) -> None:
    """Fewer than four cores are noted: the generator shares them."""
    monkeypatch.setattr(machine, "cores", lambda: cores)
    monkeypatch.setattr(machine, "noise", lambda: 0.0)
    first = next(iter(machine.checks(tmp_path, "")))
    assert (first.id, first.state) == ("cores", state)


def test_programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A program that is not on the given PATH is lacking, with the command that installs it; one that is there is shown."""
    monkeypatch.setattr(machine, "noise", lambda: 0.0)
    (tmp_path / "git").write_text("#!/bin/sh\n")
    (tmp_path / "git").chmod(0o755)
    found = {check.id: check for check in machine.checks(tmp_path, str(tmp_path))}
    assert found["git"] == MachineCheck("git", "ok", f"git is at {tmp_path / 'git'}")
    assert found["nginx"] == MachineCheck("nginx", "lacking", "nginx is missing", "apt-get install -y nginx-light")
    assert found["cargo"] == MachineCheck("cargo", "lacking", "cargo is missing", "install Rust with rustup")


def test_every_line_has_a_known_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whatever this machine is, each line has a known state and an id of its own, and what is lacking says how to mend it."""
    monkeypatch.setattr(machine, "noise", lambda: 0.0)
    lines = list(machine.checks(tmp_path, ""))
    assert len({line.id for line in lines}) == len(lines)
    assert {line.state for line in lines} <= {"ok", "note", "lacking"}
    assert all(line.fix for line in lines if line.state == "lacking")


def test_pace_is_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pace is the median of its pieces in µs: one piece that was interrupted does not move it."""
    times = iter([0.010, 0.500, 0.012, 0.011, 0.009])
    monkeypatch.setattr(machine, "_piece_s", lambda hashes, clock: next(times))
    assert machine.pace_us(pieces=5) == pytest.approx(11_000)


def test_pace_leaves_out_the_wait_for_a_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pieces are timed by the thread's own CPU clock: what a piece waited for a processor is no part of the pace."""
    ticks = iter(float(number) for number in range(100))
    monkeypatch.setattr(machine.time, "thread_time", lambda: next(ticks))
    assert machine.pace_us(pieces=3) == pytest.approx(1e6)
