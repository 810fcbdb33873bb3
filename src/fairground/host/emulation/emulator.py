"""QEMU's user mode on this machine with the plugin that counts, and the words that start a program under it."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairground.host.build import BuildCommand
from fairground.host.child import Keeper
from fairground.host.machine import MachineCheck
from fairground.model import LabError, storing

SOURCE = Path(__file__).with_name("counter.c")
ARCHITECTURES = ("x86_64", "aarch64")
"""Machines whose own programs QEMU's user mode runs on them, as far as the lab knows."""
APIS, SECOND_API = (1, 2), 9
"""Interfaces of plugins, and from which version of QEMU on the second is likely; the functions that are used are in both."""
PROCESSOR = "max,erms=off" if platform.machine() == "x86_64" else "max"
"""Every extension that QEMU can translate, so that code which looks for them finds them, but for one.

With ERMS libraries copy by `rep movsb`. A processor counts that as one instruction, and QEMU one for each byte.
"""
COMPILE_S = 120.0
MOST_SCRIPTS = 4
"""This many interpreters may stand before a script; more is a circle."""
CALL = re.compile(r"^#define __NR_(\w+) (\d+)$", re.MULTILINE)


@dataclass(frozen=True)
class Emulator:
    """QEMU with the plugin. `calls` are the names of system calls by number."""

    program: str
    plugin: Path
    version: str
    calls: Mapping[int, str]

    def words(self, words: Sequence[str], folder: Path, path: str | None, counts: Path, where: bool = False) -> list[str]:
        """The words that start a program under it: one that `words` would start in `folder`. Counts go to the folder `counts`.

        `where`: those of blocks by their addresses, too. LabError where there is no such program, or where it is none that this
        machine could run.
        """
        load = f"{self.plugin},folder={str(counts.resolve()).replace(',', ',,')}{',where=on' if where else ''}"
        return [self.program, "-cpu", PROCESSOR, "-plugin", load, *machine_words(words, folder, path)]


def machine_words(words: Sequence[str], folder: Path, path: str | None) -> list[str]:
    """The words as the kernel would run them: a program of this machine first. A script's interpreters stand before it.

    LabError where there is no such program.
    """
    found = list(words)
    for _ in range(MOST_SCRIPTS):
        program = str(folder / found[0]) if "/" in found[0] else shutil.which(found[0], path=path)
        if program is None or not os.path.isfile(program):
            raise LabError(f"cannot start `{found[0]}`: there is no such program", exit_code=3)
        with open(program, "rb") as file:
            first = file.readline(256)
        if not first.startswith(b"#!"):
            return [program, *found[1:]]
        interpreter = first[2:].decode(errors="replace").strip().split(maxsplit=1)
        if interpreter and os.path.basename(interpreter[0]) == "env":  # it would start the interpreter anew, outside
            interpreter = [one for one in " ".join(interpreter[1:]).split() if one != "-S"]
        if not interpreter:
            raise LabError(f"cannot start `{found[0]}`: its first line names no interpreter", exit_code=3)
        found = [*interpreter, program, *found[1:]]
    raise LabError(f"cannot start `{words[0]}`: its interpreters are scripts without end", exit_code=3)


def find(keeper: Keeper, cache: Path, machine: str | None = None) -> Emulator:
    """QEMU and the plugin, which is built where it is not there yet. LabError where this machine cannot have them."""
    path = keeper.environ.get("PATH")
    program = require(path, machine)
    version = _version(_output(keeper, (program, "--version"), cache))
    likely = APIS[int(version.partition(".")[0]) >= SECOND_API]
    try:
        return _loaded(keeper, cache, program, version, likely)
    except LabError as error:
        try:
            return _loaded(keeper, cache, program, version, next(api for api in APIS if api != likely))
        except LabError:
            raise error from None


def require(path: str | None, machine: str | None = None) -> str:
    """The program of QEMU for this machine. LabError where something is missing that nobody has to start to know."""
    machine = machine or platform.machine()
    if machine not in ARCHITECTURES:
        raise LabError(
            f"`--count` needs a processor of {' or '.join(ARCHITECTURES)}, and this one is {machine}",
            "leave `--count` out, and measure time",
            exit_code=3,
        )
    program = shutil.which(f"qemu-{machine}", path=path)
    if program is None:
        raise LabError(
            f"`--count` needs QEMU's user mode, and there is no `qemu-{machine}`", "apt-get install qemu-user", exit_code=3
        )
    if shutil.which("cc", path=path) is None:
        raise LabError("`--count` compiles its counter, and there is no `cc`", "apt-get install gcc", exit_code=3)
    return program


def _version(text: str) -> str:
    """`7.2.22` of what QEMU says of itself."""
    found = re.search(r"version (\d+(?:\.\d+)*)", text)
    return found[1] if found else "0"


def check(path: str | None, machine: str | None = None) -> MachineCheck:
    """The doctor's line: whether work can be counted here, and what is missing."""
    try:
        return MachineCheck("counting", "ok", f"`--count` runs servers under {require(path, machine)}")
    except LabError as error:
        return MachineCheck("counting", "optional", error.message, error.hint)


def _loaded(keeper: Keeper, cache: Path, program: str, version: str, api: int) -> Emulator:
    """QEMU with the plugin for an interface. LabError where it does not take it: some are built without plugins."""
    plugin, path = _built(keeper, cache, api), keeper.environ.get("PATH")
    calls = {int(number): name for number, name in json.loads(plugin.with_suffix(".json").read_text()).items()}
    found = Emulator(program, plugin, f"{version} ({PROCESSOR})", calls)
    with tempfile.TemporaryDirectory(dir=plugin.parent) as scratch:
        _output(keeper, tuple(found.words(["true"], Path(scratch), path, Path(scratch))), Path(scratch))
    return found


def _built(keeper: Keeper, cache: Path, api: int) -> Path:
    """The plugin for an interface of QEMU, with the names of system calls beside it."""
    key = hashlib.sha256(SOURCE.read_bytes() + f"{api} {platform.machine()}".encode()).hexdigest()[:16]
    target = cache / "counter" / f"{key}.so"
    if target.exists() and target.with_suffix(".json").exists():
        return target
    compiler = shutil.which("cc", path=keeper.environ.get("PATH")) or "cc"
    with storing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
            _output(
                keeper,
                (compiler, "-O2", "-shared", "-fPIC", "-pthread", f"-DPLUGIN_API={api}", "-o", "counter.so", str(SOURCE)),
                Path(scratch),
            )
            listed = _output(keeper, (compiler, "-E", "-dM", "-include", "sys/syscall.h", "-x", "c", os.devnull), Path(scratch))
            calls = {int(number): name for name, number in CALL.findall(listed)}
            Path(scratch, "counter.json").write_text(json.dumps(calls))
            os.replace(Path(scratch, "counter.json"), target.with_suffix(".json"))
            os.replace(Path(scratch, "counter.so"), target)
    return target


def _output(keeper: Keeper, words: tuple[str, ...], folder: Path) -> str:
    """Return what a command prints. LabError where it fails."""
    folder.mkdir(parents=True, exist_ok=True)
    code, output = BuildCommand(keeper, words, folder).end(COMPILE_S)
    if code != 0:
        said = " ".join(output.split())[-300:]
        sentence = f"`--count` cannot be had here: `{os.path.basename(words[0])}` ended with {code}: {said}"
        raise LabError(sentence, "measure time: leave `--count` out", 3)
    return output
