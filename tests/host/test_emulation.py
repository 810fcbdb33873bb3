"""Counting under QEMU: what starts a program there, what is read of the counts, and who is not counted."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fairground.host import Keeper, counters, emulation
from fairground.host.emulation import CountReader, Emulator
from fairground.host.emulation.emulator import machine_words
from fairground.host.emulation.reading import CALLS, FILE
from fairground.host.process import look
from fairground.model import LabError
from fairground.model.count import WorkCount

PROGRAM = """
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static void look(void) {
    int ends[2];
    char one;
    if (pipe(ends) || fcntl(ends[0], F_SETFL, O_NONBLOCK)) _exit(1);
    if (write(ends[1], "!", 1) != 1) _exit(1);
    for (int i = 0; i < 4; i++) if (read(ends[0], &one, 1) == 1 && i) _exit(1);
}
static void ask(void) {
    struct timespec now;
    for (int i = 0; i < 1000; i++) if (clock_gettime(CLOCK_MONOTONIC, &now)) _exit(1);
}
static void *burn(void *times) { volatile long sum = 0; for (long i = 0; i < (long)times; i++) sum += i; return 0; }
int main(int argc, char **argv) {
    long threads = atol(argv[1]), times = atol(argv[2]), children = atol(argv[3]);
    pthread_t all[64];
    for (long i = 0; i < threads; i++) pthread_create(&all[i], 0, burn, (void *)times);
    for (long i = 0; i < threads; i++) pthread_join(all[i], 0);
    for (long i = 0; i < children; i++) if (!fork()) { burn((void *)times); _exit(0); }
    while (wait(0) > 0);
    look();
    ask();
    for (int i = 0; i < 5; i++) execv("/nowhere/at-all", argv);
    if (argc > 4) execv(argv[4], argv + 4);
    return 0;
}
"""
"""Threads and then children, each of which counts to a number. Then three of four reads find nothing, it asks for the time
1,000 times, looks for a program that is not there, and may go on as another."""


WAITING = """
#include <unistd.h>
int main(void) {
    char one;
    write(1, "!", 1);
    read(0, &one, 1);
    for (volatile long i = 0; i < 8000000; i++);
    return 0;
}
"""
"""Says that it is there, waits, and counts to a number."""


COPYING = """
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv) {
    long size = atol(argv[1]);
    char *from = malloc(size), *to = malloc(size);
    for (long done = 0; done < 1 << 20; done += size) {
        memset(from, (int)done, size);
        memcpy(to, from, size);
    }
    return argc > 2 && to[size / 2] == 99;
}
"""
"""Fills and copies 1 MiB, in parts of a size."""


def script(path: Path, first: str) -> Path:
    """A script with a first line."""
    path.write_text(f"{first}\n")
    path.chmod(0o755)
    return path


def test_a_script_is_started_by_its_interpreter(tmp_path: Path) -> None:
    """QEMU runs programs of the machine alone; `env` would start the interpreter outside, so it is left out."""
    shell, python = shutil.which("sh", path=os.defpath), sys.executable
    assert machine_words(["sh", "start.sh"], tmp_path, os.defpath) == [shell, "start.sh"]
    script(tmp_path / "serve", f"#!{python} -X utf8")
    assert machine_words(["./serve", "8080"], tmp_path, None) == [python, "-X utf8", str(tmp_path / "serve"), "8080"]
    script(tmp_path / "other", "#!/usr/bin/env -S sh -e")
    assert machine_words(["./other"], tmp_path, os.defpath) == [shell, "-e", str(tmp_path / "other")]


def test_what_cannot_be_started_is_said(tmp_path: Path) -> None:
    """No such program, scripts without an interpreter, and scripts whose interpreters are scripts of each other."""
    with pytest.raises(LabError, match="^cannot start `absent`: there is no such program"):
        machine_words(["absent"], tmp_path, os.defpath)
    for first in ("#!", "#!/usr/bin/env"):
        script(tmp_path / "none", first)
        with pytest.raises(LabError, match="^cannot start `./none`: its first line names no interpreter"):
            machine_words(["./none"], tmp_path, None)
    script(tmp_path / "one", f"#!{tmp_path}/two")
    script(tmp_path / "two", f"#!{tmp_path}/one")
    with pytest.raises(LabError, match="^cannot start `./one`: its interpreters are scripts without end"):
        machine_words(["./one"], tmp_path, None)


def test_a_folder_with_a_comma_is_told_as_one(tmp_path: Path) -> None:
    """QEMU's options are separated by commas, and a comma of a name is written twice."""
    found = Emulator("qemu", Path("/counter.so"), "7.2", {})
    assert f"/counter.so,folder={tmp_path}/a,,b" in found.words(["sh"], tmp_path, os.defpath, tmp_path / "a,b")


@pytest.mark.parametrize(
    ("machine", "there", "message", "hint"),
    [
        ("riscv64", (), "`--count` needs a processor of x86_64 or aarch64, and this one is riscv64", "leave `--count` out"),
        ("aarch64", (), "`--count` needs QEMU's user mode, and there is no `qemu-aarch64`", "apt-get install qemu-user"),
        ("x86_64", ("qemu-x86_64",), "`--count` compiles its counter, and there is no `cc`", "apt-get install gcc"),
    ],
)
def test_what_is_missing_is_said(machine: str, there: tuple[str, ...], message: str, hint: str, tmp_path: Path) -> None:
    """One sentence and what mends it; nothing is measured."""
    for name in there:
        script(tmp_path / name, "#!/bin/sh")
    with pytest.raises(LabError) as caught:
        emulation.require(str(tmp_path), machine)
    assert caught.value.message == message and (caught.value.hint or "").startswith(hint) and caught.value.exit_code == 3
    line = emulation.check(str(tmp_path), machine)
    assert (line.id, line.state, line.sentence) == ("counting", "optional", message)


def test_the_doctor_says_what_runs_servers(tmp_path: Path) -> None:
    """Where nothing is missing, its line names the program."""
    for name in ("qemu-x86_64", "cc"):
        script(tmp_path / name, "#!/bin/sh")
    assert emulation.check(str(tmp_path), "x86_64").sentence == f"`--count` runs servers under {tmp_path}/qemu-x86_64"


def test_processes_and_threads_add_up(tmp_path: Path) -> None:
    """One file for each process; of what is being made nothing is read, and an unknown call has its number.

    Of the calls that found nothing only reads are told: a lock that another thread has taken meanwhile is none. Questions for the
    time enter no kernel natively, and are not told.
    """
    for pid, (calls, instructions) in {1: ({0: 3, 228: 1000, 500: 1}, {0: 10, 7: 5}), 2: ({0: 1, 202: 9}, {0: 100})}.items():
        values = [0] * (FILE.size // 8)
        for number, count in calls.items():
            values[number], values[CALLS + number] = count, 1
        for slot, count in instructions.items():
            values[2 * CALLS + slot] = count
        (tmp_path / f"{pid}.counts").write_bytes(FILE.pack(*values))
    (tmp_path / "3.counts").write_bytes(b"")
    found = CountReader(tmp_path, {0: "read", 202: "futex", 228: "clock_gettime"}, "/usr/bin/qemu").read()
    assert found == WorkCount(115, {"read": 4, "call 500": 1, "futex": 9}, empty_reads=2) and found.calls == 14
    assert found - WorkCount(15, {"read": 4}, empty_reads=1) == WorkCount(100, {"call 500": 1, "futex": 9}, empty_reads=1)


def test_who_runs_natively_is_told_with_its_command(tmp_path: Path) -> None:
    """This process is none of the emulation's, unless it were the emulation itself."""
    here = look(os.getpid())
    assert here is not None
    (found,) = CountReader(tmp_path, {}, "/usr/bin/qemu").outside([here])
    assert "pytest" in found or "python" in found
    assert CountReader(tmp_path, {}, os.readlink("/proc/self/exe")).outside([here]) == ()


@pytest.mark.live
def test_counts_of_a_program(tmp_path: Path) -> None:
    """Threads lose nothing to each other, children have counts of their own, and who goes on natively is found."""
    (tmp_path / "burn.c").write_text(PROGRAM)
    subprocess.run(["cc", "-O1", "-pthread", "-o", "burn", "burn.c"], cwd=tmp_path, check=True)
    with Keeper(os.environ) as keeper:
        emulator = emulation.find(keeper, tmp_path / "cache")
        assert emulation.find(keeper, tmp_path / "cache") == emulator

        def counted(*words: str) -> tuple[CountReader, list[str]]:
            folder = tmp_path / "-".join(words).replace("/", "")
            folder.mkdir()
            started = emulator.words(["./burn", *words], tmp_path, os.defpath, folder)
            return CountReader(folder, emulator.calls, emulator.program), started

        done = dict[tuple[int, int], WorkCount]()
        for threads, children in ((1, 0), (4, 0), (1, 3)):
            reader, words = counted(str(threads), str(8_000_000 // threads), str(children))
            subprocess.run(["taskset", "-c", str(min(os.sched_getaffinity(0))), *words], cwd=tmp_path, check=True)
            done[threads, children] = reader.read()
        one = done[1, 0].instructions
        assert one > 8_000_000 * 4
        assert done[4, 0].instructions == pytest.approx(one, rel=0.01)
        assert done[1, 3].instructions == pytest.approx(4 * one, rel=0.01)
        assert done[1, 3].system_calls["exit_group"] == 4
        assert {one.empty_reads for one in done.values()} == {3}
        assert not [one for one in done.values() if {"clock_gettime", "execve"} & one.system_calls.keys()]

        sleep = shutil.which("sleep")
        assert sleep is not None
        reader, words = counted("1", "1000", "0", sleep, "60")
        child = keeper.spawn(words, role="server", env=dict(os.environ), cwd=tmp_path)
        until = time.monotonic() + 60
        while not (natives := reader.outside(child.alive())) and time.monotonic() < until:
            time.sleep(0.05)
        child.stop(0.0)
        assert natives == (f"{sleep} 60",) and reader.read().system_calls["execve"] == 1


@pytest.mark.live
def test_a_copy_is_no_instruction_for_each_byte(tmp_path: Path) -> None:
    """Whatever its size: the library moves many bytes at once, and does not repeat an instruction that moves one."""
    (tmp_path / "copy.c").write_text(COPYING)
    subprocess.run(["cc", "-O1", "-fno-builtin", "-o", "copy", "copy.c"], cwd=tmp_path, check=True)
    with Keeper(os.environ) as keeper:
        emulator = emulation.find(keeper, tmp_path / "cache")
    for size in ("4096", "65536", "1048576"):
        counts = tmp_path / size
        counts.mkdir()
        subprocess.run(emulator.words(["./copy", size], tmp_path, os.defpath, counts), cwd=tmp_path, check=True)
        assert CountReader(counts, emulator.calls, emulator.program).read().instructions < 400_000


@pytest.mark.live
@pytest.mark.skipif(counters.check().state != "ok", reason="this machine's processor shows no counters")
def test_the_emulation_counts_what_the_processor_counts(tmp_path: Path) -> None:
    """A program that waits for its standard input, and then counts to a number: the same instructions within 1 %."""
    (tmp_path / "burn.c").write_text(WAITING)
    subprocess.run(["cc", "-O1", "-o", "burn", "burn.c"], cwd=tmp_path, check=True)
    (tmp_path / "counts").mkdir()
    with Keeper(os.environ) as keeper:
        emulator = emulation.find(keeper, tmp_path / "cache")
    emulated = emulator.words(["./burn"], tmp_path, os.defpath, tmp_path / "counts")
    done = []
    for words in (["./burn"], emulated):
        started = subprocess.Popen(words, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert started.stdout is not None and started.stdout.read(1) == b"!"
        reader = CountReader(tmp_path / "counts", emulator.calls, emulator.program)
        counting = reader if words is emulated else counters.CounterReader(lambda pid=started.pid: [pid])
        before = counting.read()
        started.communicate(b"x")
        done.append((counting.read() - before).instructions)
    assert done[0] > 8_000_000 and done[1] == pytest.approx(done[0], rel=0.01)
