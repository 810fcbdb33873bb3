"""`make bench-memory`: how much memory the load engine needs, by answers and by connections. It measures and does not assert.

Answers are counted and not kept, so the peak must not grow with them; what does grow is a row of a few kilobytes for each second
and the state of each connection.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from generators import FAIRLOAD

SMALLEST_PIPE = 4096
A_SECONDS_WORTH = 20_000
ANSWERS = (10_000, 1_000_000, 10_000_000)
CONNECTIONS = (100, 1_000, 10_000)


@dataclass(frozen=True)
class Peak:
    """One run of the engine: what it did, how long it took, and the most memory that it held."""

    answers: int
    connections: int
    seconds: float
    peak_kib: int
    not_ok: int


def main() -> int:
    """Run each size once and print a table."""
    options = _options()
    if not FAIRLOAD.exists():
        sys.stderr.write("there is no engine; run `cargo build --release` in `engine/`\n")
        return 2
    rows = []
    with null_server() as port:
        for answers in sorted(options.answers):
            rows.append(until(port, answers, 100))
            sys.stdout.write(line(rows[-1]) + "\n")
            sys.stdout.flush()
        for connections in sorted(options.connections):
            rows.append(lasting(port, connections, options.seconds))
            sys.stdout.write(line(rows[-1]) + "\n")
            sys.stdout.flush()
    sys.stdout.write("\n" + table(rows) + "\n")
    return 0


@contextlib.contextmanager
def null_server() -> Iterator[int]:
    """`fairload null` on a free port."""
    child = subprocess.Popen([str(FAIRLOAD), "null"], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdin is not None and child.stderr is not None
    try:
        yield int(json.loads(child.stderr.readline())["port"])
    finally:
        child.stdin.close()
        child.wait(10)


def until(port: int, answers: int, connections: int) -> Peak:
    """The engine, stopped as soon as its seconds tell of so many answers; few are due within one second of an open loop."""
    if answers <= A_SECONDS_WORTH:
        open_loop = {"model": "open", "arrivals": "constant", "rate_per_s": answers}
        return measure(port, {"connections": connections, "window_s": 1.0, **open_loop}, None)
    return measure(port, {"connections": connections, "window_s": 86_400.0, "model": "closed"}, answers)


def lasting(port: int, connections: int, seconds: float) -> Peak:
    """The engine for a time."""
    return measure(port, {"connections": connections, "window_s": seconds, "model": "closed"}, None)


def measure(port: int, load: dict[str, object], answers: int | None) -> Peak:
    """One run by a plan on its standard input."""
    start = time.monotonic()
    command = [str(FAIRLOAD), "run", "--plan", "-"]
    child = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, pipesize=SMALLEST_PIPE
    )
    assert child.stdin is not None and child.stdout is not None and child.stderr is not None
    child.stdin.write(json.dumps(plan(port, load)) + "\n")
    child.stdin.flush()
    told = 0
    for event in map(json.loads, iter(child.stderr.readline, "")):
        told += event.get("ok", 0)
        if answers is not None and told >= answers:
            child.stdin.write('{"command":"stop"}\n')
            child.stdin.flush()
            answers = None
        if event["event"] == "end":
            break
    select.select([child.stdout], [], [])
    peak_kib = peak_of(child.pid)
    life: dict[str, Any] = json.loads(child.stdout.read())["life"]
    child.communicate()
    ok: int = life["outcomes"]["ok"]
    return Peak(ok, int(str(load["connections"])), time.monotonic() - start, peak_kib, life["sent"] - ok)


def peak_of(pid: int) -> int:
    """The most memory that a process has held, in KiB. The account that a parent gets of an ended child would not do: it
    begins with the memory of the parent itself.

    The process must still be there: it waits for the reader of its result, which is longer than the pipe.
    """
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])


def plan(port: int, load: dict[str, object]) -> dict[str, object]:
    """Two random numbers and a ledger of a thousand accounts in every request: what a trial of the lab asks for."""
    request = {
        "kind": "x",
        "method": "POST",
        "path": "/x?id={int:1..1000}&n={int:1..100000}",
        "expect": {"status": 200},
        "ledger": [{"name": "rows", "account": "id", "add": "n"}],
    }
    target = {"host": "127.0.0.1", "port": port}
    return {"protocol": 1, "seed": 7, "target": target, "load": {"warmup_s": 0, **load}, "requests": [request]}


def line(row: Peak) -> str:
    """One run in a sentence."""
    return f"{row.answers} answers on {row.connections} connections in {row.seconds:.1f} s: {row.peak_kib / 1024:.1f} MiB"


def table(rows: Sequence[Peak]) -> str:
    """All runs, as Markdown."""
    lines = ["| answers | connections | seconds | peak memory, MiB | not ok |", "|--:|--:|--:|--:|--:|"]
    for row in rows:
        memory = f"{row.peak_kib / 1024:.1f}"
        lines.append(f"| {row.answers:,} | {row.connections:,} | {row.seconds:.0f} | {memory} | {row.not_ok} |")
    return "\n".join(lines)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", type=int, nargs="*", default=ANSWERS, help="at least so many answers, 100 connections")
    parser.add_argument("--connections", type=int, nargs="*", default=CONNECTIONS, help="so many connections, for --seconds")
    parser.add_argument("--seconds", type=float, default=5.0, help="length of the runs by connections (5)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
