"""The functions of programs and libraries by the addresses of their code: what `nm` says of a file, and where a process has it.

A program's symbols name the functions that were not built into others. What an interpreter carries out are its own functions,
whatever its program does, and code that is made at run time has no name.
"""

from __future__ import annotations

import os
import re
import shutil
import struct
from dataclasses import dataclass, field
from pathlib import Path

import numpy

from fairground.host.build import BuildCommand
from fairground.host.child import Keeper
from fairground.model import LabError
from fairground.model.count import MADE_AT_RUN_TIME

ELF, PROGRAM = struct.Struct("<4sB27xQ14xHH"), struct.Struct("<IIQQQQQQ")
"""An ELF file's first bytes, with the place, size and number of its program headers; one of those."""
LOADED = 1
NM_S = 120.0
CODE = frozenset("tTwWiu")
SYMBOL = re.compile(r"^([0-9a-f]+) (?:([0-9a-f]+) )?(\S) (.+)$", re.MULTILINE)
HASH = re.compile(r"::h[0-9a-f]{16}\b")
"""What Rust adds to a name: another build of the same function has another."""


@dataclass(frozen=True)
class SymbolTable:
    """The functions of one file by their first addresses, and by which of its parts a process has them."""

    file: str
    starts: numpy.ndarray
    ends: numpy.ndarray
    names: tuple[str, ...]
    parts: tuple[tuple[int, int, int], ...]
    """Offset in the file, size and address of each part that is loaded."""

    def add(self, offset: int, code: numpy.ndarray, done: numpy.ndarray, into: dict[str, int]) -> None:
        """Add what was done at places of the file, which are counted from an offset of it, to their functions."""
        places = code + offset
        addresses = places.copy()
        for start, size, address in self.parts:
            inside = (places >= start) & (places < start + size)
            addresses[inside] = places[inside] - start + address
        at = numpy.searchsorted(self.starts, addresses, side="right") - 1
        known = (at >= 0) & (addresses < self.ends[at]) if len(self.starts) else numpy.zeros(len(at), bool)
        sums = numpy.bincount(at[known], weights=done[known], minlength=0)
        for place in numpy.flatnonzero(sums):
            into[self.names[place]] = into.get(self.names[place], 0) + int(sums[place])
        if left := int(done[~known].sum()):
            name = f"{self.file}, without a symbol"
            into[name] = into.get(name, 0) + left


@dataclass
class Symbols:
    """The tables of all files that were asked for. They are kept, since each start asks for the same."""

    keeper: Keeper
    scratch: Path
    _known: dict[str, SymbolTable] = field(default_factory=dict)

    def of(self, file: str, is_program: bool = False) -> SymbolTable:
        """The table of a file; those of a library name it."""
        if file not in self._known:
            self._known[file] = self._read(file, is_program)
        return self._known[file]

    def require(self, program: str) -> None:
        """LabError where a program's functions cannot be told."""
        if not self.of(program, True).names:
            raise LabError(
                f"`{program}` has no symbols, so that `--where` cannot tell its functions",
                "build it without `strip` (Go: without `-ldflags -s`), or leave `--where` out",
                exit_code=3,
            )

    def _read(self, file: str, is_program: bool) -> SymbolTable:
        found = self._listed(file, ()) or self._listed(file, ("--dynamic",))
        name = Path(file).name
        starts = numpy.array(sorted(found), dtype=numpy.int64)
        following = numpy.append(starts[1:], numpy.iinfo(numpy.int64).max)
        sizes = numpy.array([found[int(start)][0] for start in starts], dtype=numpy.int64)
        ends = numpy.where(sizes > 0, starts + sizes, following)
        names = tuple(found[int(start)][1] if is_program else f"{found[int(start)][1]} ({name})" for start in starts)
        return SymbolTable(name, starts, ends, names, _parts(Path(file)))

    def _listed(self, file: str, options: tuple[str, ...]) -> dict[int, tuple[int, str]]:
        """Address → size and name of each function that `nm` lists; none where it has no such list."""
        words = ("nm", "--demangle", "--defined-only", "--print-size", *options, file)
        code, output = BuildCommand(self.keeper, words, self.scratch).end(NM_S)
        if code != 0:
            return {}
        found: dict[int, tuple[int, str]] = {}
        for address, size, kind, name in SYMBOL.findall(output):
            one = (int(size or "0", 16), HASH.sub("", name))
            if kind in CODE and one > found.get(int(address, 16), (-1, "")):
                found[int(address, 16)] = one
        return found


def require_nm(path: str | None) -> None:
    """LabError where there is no `nm`."""
    if shutil.which("nm", path=path) is None:
        raise LabError("`--where` names functions by `nm`, and there is none", "apt-get install binutils", exit_code=3)


def _parts(file: Path) -> tuple[tuple[int, int, int], ...]:
    """Offset, size and address of each part of a file that is loaded; none of what is no program."""
    try:
        with file.open("rb") as opened:
            magic, bits, place, size, count = ELF.unpack(opened.read(ELF.size))
            if magic != b"\x7fELF" or bits != 2:
                return ()
            opened.seek(place)
            headers = opened.read(size * count)
    except (OSError, struct.error):
        return ()
    each = (PROGRAM.unpack_from(headers, at) for at in range(0, len(headers), size))
    return tuple((offset, length, address) for kind, _, offset, address, _, length, _, _ in each if kind == LOADED)


@dataclass
class Locator:
    """Tells the functions of blocks that a process carried out, by what lies where in it."""

    symbols: Symbols
    program: str
    """The one that is emulated. Functions of other files are told with their file."""
    interpreter: str | None = None
    """The program's name, where it carries out the server's code and is none of the server's own."""
    _maps: dict[int, list[tuple[int, int, int, str]]] = field(default_factory=dict)

    @classmethod
    def of(cls, symbols: Symbols, program: str, folder: Path) -> Locator:
        """Tell the functions of a server's program. LabError where it is the server's own, in its `folder`, and has no symbols.

        An interpreter need not have any: what its libraries do, and what is made at run time, is told all the same.
        """
        program = os.path.realpath(program)
        if Path(program).is_relative_to(folder.resolve()):
            symbols.require(program)
            return cls(symbols, program)
        return cls(symbols, program, Path(program).name)

    def functions(self, pid: int, blocks: numpy.ndarray) -> dict[str, int]:
        """Function → what its blocks did. `blocks`: address and instructions of each; address 0 has those without a place."""
        addresses, done = blocks[:, 0].astype(numpy.int64), blocks[:, 1].astype(numpy.int64)
        found: dict[str, int] = {}
        left = numpy.ones(len(addresses), bool)
        for start, end, offset, file in self._files(pid):
            inside = left & (addresses >= start) & (addresses < end)
            if inside.any():
                self.symbols.of(file, file == self.program).add(offset, addresses[inside] - start, done[inside], found)
                left &= ~inside
        if rest := int(done[left].sum()):
            found[MADE_AT_RUN_TIME] = rest
        return found

    def _files(self, pid: int) -> list[tuple[int, int, int, str]]:
        """Start, end, offset and file of each mapping of a process; those of its last moment where it has ended.

        One that had ended before anybody looked has those of another: what a server forks lies where its own code does.
        """
        try:
            lines = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return self._maps.get(pid) or next(iter(self._maps.values()), [])
        found = []
        for line in lines:
            fields = line.split(maxsplit=5)
            if len(fields) == 6 and fields[5].startswith("/") and not fields[3].endswith("s"):
                start, _, end = fields[0].partition("-")
                found.append((int(start, 16), int(end, 16), int(fields[2], 16), fields[5]))
        if found:
            self._maps[pid] = found
        return self._maps.get(pid, [])
