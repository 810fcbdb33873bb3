"""What a `kill -9` leaves behind: `run`, `compare`, `capacity` and `try` are killed at several moments, and gone on with.

    bench/kills.py --moments 10 --only compare

After each kill it waits until nothing that the lab started is left, and looks at the lines of the record that were finished.
Then `--resume` goes on, and those lines must still be there, byte for byte. Exit code 1: something was left or lost.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

import frame
from fairground.host import free_port

ZOO = str(frame.ROOT / "tests" / "zoo")
PATIENCE_S, RESUME_S = 15.0, 300.0


@dataclass(frozen=True)
class Verb:
    """A verb with its words, and about how long it takes, in seconds."""

    name: str
    words: tuple[str, ...]
    takes_s: float

    def resume(self, record: str, results: Path) -> list[str]:
        """The command that goes on."""
        return [frame.LAB, self.name, "--resume", record, "--results", str(results), *self._servers]

    @property
    def _servers(self) -> tuple[str, ...]:
        return () if self.name == "try" else ("--servers", ZOO)

    def command(self, results: Path) -> list[str]:
        """The command that begins."""
        named = self._servers
        return [frame.LAB, self.name, "--results", str(results), *named, *self.words]


@dataclass(frozen=True)
class Killed:
    """What came of one kill. `lost`: whether a finished line was not there any more after going on."""

    moment_s: float
    left: tuple[str, ...]
    finished: int
    lost: bool
    went_on: int | None


def verbs() -> list[Verb]:
    """Short forms of four that can be gone on with."""
    port = free_port()
    serve = [str(frame.ROOT / "engine" / "target" / "release" / "fairload"), "null", "--port", str(port), "--threads", "1"]
    held = ("sh", "-c", f"sleep 600 | {' '.join(serve)}")  # it serves until its standard input closes
    return [
        Verb("run", ("-s", "healthy", "-w", "ping", "--window", "1", "--warmup", "1,1", "--blocks", "2", "--quiet"), 9),
        Verb("compare", ("healthy", "healthy", "-w", "ping", "--budget", "20s", "--pairs", "1", "--workers", "1"), 20),
        Verb("capacity", ("-s", "healthy", "-w", "ping", "--budget", "60s", "--workers", "1", "--quiet"), 60),
        Verb("try", ("--url", f"http://127.0.0.1:{port}/", "--window", "1", "--", *held), 15),
    ]


def main() -> None:
    """Kill each verb at its moments, say what was found, and end with 1 where something was left or lost."""
    parser = frame.parser(__doc__, write=False)
    parser.add_argument("--moments", type=int, default=10, help="kills of each verb (10)")
    parser.add_argument("--only", default="", help="only the verb of this name")
    options = parser.parse_args()
    print("| verb | killed after, s | left behind | lines finished | lost | went on with exit code |\n|--|--:|--|--:|--|--:|")
    bad = False
    for verb in verbs():
        for number in range(options.moments) if options.only in ("", verb.name) else ():
            found = killed(verb, verb.takes_s * (number + 0.5) / options.moments)
            bad |= bool(found.left) or found.lost
            went_on = "nothing to go on with" if found.went_on is None else str(found.went_on)
            print(f"| {verb.name} | {found.moment_s:.1f} | {', '.join(found.left) or 'nothing'} | {found.finished} |"
                  f" {'yes' if found.lost else 'no'} | {went_on} |", flush=True)  # fmt: skip
    sys.exit(bad)


def killed(verb: Verb, moment_s: float) -> Killed:
    """One kill of a verb after so many seconds, and what going on makes of it."""
    with tempfile.TemporaryDirectory() as scratch:
        results, before = Path(scratch) / "results", {one.pid for one in psutil.process_iter()}
        with open(Path(scratch) / "said", "wb") as said:
            lab = subprocess.Popen(verb.command(results), stdout=said, stderr=said, start_new_session=True)
            time.sleep(moment_s)
            os.kill(lab.pid, signal.SIGKILL)
            lab.wait()
            left = tuple(sorted(_left(before)))
            lines = dict(_lines(results))
            went_on = None
            for record in lines:
                done = subprocess.run(verb.resume(record.parent.name, results), stdout=said, stderr=said, timeout=RESUME_S)
                went_on = done.returncode
        lost = any(not record.read_bytes().startswith(text) for record, text in lines.items())
        return Killed(moment_s, left, sum(text.count(b"\n") for text in lines.values()), lost, went_on)


def _left(before: set[int]) -> Sequence[str]:
    """The lab's processes that did not exist before, once there are none or patience is at its end."""
    deadline = time.monotonic() + PATIENCE_S
    while (found := [_words(one) for one in psutil.process_iter() if one.pid not in before and _is_ours(one)]) and (
        time.monotonic() < deadline
    ):
        time.sleep(0.2)
    return found


def _is_ours(process: psutil.Process) -> bool:
    """Whether its program or its folder is of this checkout: other labs may be at work."""
    try:
        return any(str(frame.ROOT) in place for place in (process.exe(), process.cwd(), *process.cmdline()))
    except psutil.Error:
        return False  # it ended while we looked


def _words(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())[:80]
    except psutil.Error:
        return ""  # it ended while we looked


def _lines(results: Path) -> Iterator[tuple[Path, bytes]]:
    """Each record's file of finished units, up to its last whole line."""
    for path in results.glob("*/entries.jsonl"):
        text = path.read_bytes()
        yield path, text[: text.rfind(b"\n") + 1]


if __name__ == "__main__":
    main()
