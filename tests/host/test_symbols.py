"""Functions by addresses: what `nm` lists, where a process has it, and what has no name."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

from fairground.host import Keeper, emulation
from fairground.host.emulation import CountReader, Locator, Symbols
from fairground.host.emulation.symbols import SYMBOL, SymbolTable
from fairground.model import LabError
from fairground.model.count import MADE_AT_RUN_TIME, WorkCount

PROGRAM = """
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) void burn(long times) { for (volatile long i = 0; i < times; i++); }
__attribute__((noinline)) void more(long times) { for (volatile long i = 0; i < times; i++); }
int main(int argc, char **argv) {
    (void)argc;
    burn(1000000);
    if (!fork()) { more(2000000); _exit(0); }
    wait(0);
    write(1, argv[0], 1);
    read(0, argv[0], 1);
    return 0;
}
"""
"""Burns in itself, and more in a child that it forks; then it waits for its standard input."""


def test_lines_of_symbols_are_read() -> None:
    """Names may hold blanks; a size may be missing."""
    text = "0000000000001199 000000000000002b T burn\n0000000000001000 T _init\n                 U printf\n00000000000011c4 0000000000000010 t <a as b>::c d\n"
    assert SYMBOL.findall(text) == [
        ("0000000000001199", "000000000000002b", "T", "burn"),
        ("0000000000001000", "", "T", "_init"),
        ("00000000000011c4", "0000000000000010", "t", "<a as b>::c d"),
    ]


def test_addresses_fall_into_functions() -> None:
    """By the part of the file that holds them; what lies between functions has no symbol."""
    table = SymbolTable(
        "server", numpy.array([0x1100, 0x1200]), numpy.array([0x1180, 0x1280]), ("one", "two"), ((0x100, 0x1000, 0x1100),)
    )
    found: dict[str, int] = {}
    table.add(0x100, numpy.array([0x0, 0x7F, 0x80, 0x100]), numpy.array([1, 2, 4, 8]), found)
    assert found == {"one": 3, "two": 8, "server, without a symbol": 4}
    nothing = SymbolTable("bare", numpy.array([], int), numpy.array([], int), (), ())
    nothing.add(0, numpy.array([5]), numpy.array([7]), found)
    assert found["bare, without a symbol"] == 7


def test_no_nm_is_one_sentence(tmp_path: Path) -> None:
    """Nothing is measured, and what is to be installed is told."""
    with pytest.raises(LabError, match="^`--where` names functions by `nm`, and there is none$") as caught:
        emulation.require_nm(str(tmp_path))
    assert caught.value.exit_code == 3 and caught.value.hint == "apt-get install binutils"


@pytest.mark.live
def test_functions_of_a_program_and_its_child(tmp_path: Path) -> None:
    """Each has its instructions, the forked child's too; a program without symbols is refused."""
    (tmp_path / "burn.c").write_text(PROGRAM)
    subprocess.run(["cc", "-O1", "-o", "burn", "burn.c"], cwd=tmp_path, check=True)
    subprocess.run(["strip", "-o", "bare", "burn"], cwd=tmp_path, check=True)
    with Keeper(os.environ) as keeper:
        emulator = emulation.find(keeper, tmp_path / "cache")
        symbols = Symbols(keeper, tmp_path)
        with pytest.raises(LabError, match="has no symbols, so that `--where` cannot tell its functions"):
            Locator.of(symbols, str(tmp_path / "bare"), tmp_path)
        assert Locator.of(symbols, str(tmp_path / "bare"), tmp_path / "server").interpreter == "bare"
        assert Locator.of(symbols, str(tmp_path / "burn"), tmp_path).interpreter is None
        counted = tmp_path / "counts"
        counted.mkdir()
        reader = CountReader(counted, emulator.calls, emulator.program, Locator(symbols, str(tmp_path / "burn")))
        words = emulator.words(["./burn"], tmp_path, os.defpath, counted, where=True)
        started = subprocess.Popen(words, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert started.stdout is not None and started.stdout.read(1) == b"/"
        found = reader.read()
        started.communicate(b"x")
    assert found.functions["burn"] > 1_000_000
    assert found.functions["more"] == pytest.approx(2 * found.functions["burn"], rel=0.01)
    assert sum(found.functions.values()) == pytest.approx(found.instructions, rel=0.01)
    assert found - found == WorkCount(empty_reads=0)
    reader.forget()
    assert not list(counted.glob("*.blocks")) and len(list(counted.glob("*.counts"))) == 2


COUNTING = "let sum = 0; for (let i = 0; i < 3e6; i++) sum += i % 7; console.log(sum); setInterval(() => {}, 1e6)"
"""Counts, says so, and stays."""


@pytest.mark.live
@pytest.mark.nightly
@pytest.mark.parametrize(
    ("words", "named"),
    [
        ((sys.executable, "-c", "print(sum(range(10**6)), flush=True); input()"), "(libc.so.6)"),
        (("node", "-e", COUNTING), "Builtins_"),
        (("java", "-XshowSettings:vm", "-version"), "(libjvm.so)"),
    ],
)
def test_functions_of_interpreters(words: tuple[str, ...], named: str, tmp_path: Path) -> None:
    """Their own and their libraries' are named, and what a compiler makes meanwhile is one entry; nothing is lost."""
    if shutil.which(words[0]) is None:
        pytest.skip(f"there is no `{words[0]}` here")
    (tmp_path / "counts").mkdir()
    with Keeper(os.environ) as keeper:
        emulator = emulation.find(keeper, tmp_path / "cache")
        started_words = emulator.words(words, tmp_path, os.environ["PATH"], tmp_path / "counts", where=True)
        program = next(one for one in started_words if Path(one).name == Path(words[0]).name)
        locator = Locator.of(Symbols(keeper, tmp_path), program, tmp_path / "server")
        reader = CountReader(tmp_path / "counts", emulator.calls, emulator.program, locator)
        started = subprocess.Popen(started_words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert started.stdout is not None and started.stdout.readline()
        found = reader.read()  # while it is there: where a file lies in a process that has ended, nobody knows
        started.kill()
        started.communicate()
    assert locator.interpreter == Path(os.path.realpath(program)).name
    assert any(named in name for name in found.functions)
    assert (MADE_AT_RUN_TIME in found.functions) or words[0] == sys.executable
    assert sum(found.functions.values()) == pytest.approx(found.instructions, rel=0.05)
