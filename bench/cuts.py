"""Hosts that are lost at random moments of a run: whether the run is whole, and what they leave. A part of docs/hosts.md.

    bench/cuts.py --cuts 50 --keep results/bench-cuts.jsonl --write docs/hosts.md

Each run is one of two blocks on two hosts with networks of their own, joined by TLS. At a random moment the second one is lost:
its link goes down, it stands still, or its worker is killed. Whole is a run that has all of its trials, void ones among them.
It measures, and asserts nothing.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import frame
from fairground import records
from fairground.lab.places import Places
from fairground.records import left_of

sys.path.insert(0, str(frame.ROOT / "tests"))  # on no path of its own

from builders import networks  # noqa: E402
from builders.fleet import Fleet, alive, below  # noqa: E402

LONGEST_S, LEFT_S = 12.0, 60.0
"""The last moment of a cut after the run has begun, and how long it is waited for what the lost host has started."""
RUN_S = 600.0
WORDS = {"cut": "its link goes down", "stop": "it stands still", "kill": "its worker is killed"}


def main() -> None:
    """Lose hosts, say each result as it comes, and print or write the table."""
    parser = frame.parser(__doc__, keep=True)
    parser.add_argument("--cuts", type=int, default=50, help="how many hosts are lost in all (50)")
    options = parser.parse_args()
    rows = frame.load_rows(options.keep)
    for number in range(len(rows), options.cuts):
        rows.append(lost(number))
        frame.tell(f"{number + 1} of {options.cuts}: {rows[-1]}")
        frame.append_rows(options.keep, rows[-1:])
    text = "".join(f"{line}\n" for line in table(rows))
    frame.put_part(text, options.write, "cuts", "Several hosts")


def lost(number: int) -> dict[str, Any]:
    """One run, whose host b is lost on the way; what and when is drawn by the number."""
    drawn = random.Random(number)
    how, moment_s = drawn.choice(list(networks.LOST)), drawn.uniform(0.0, LONGEST_S)
    environment = {
        **os.environ,
        "FAIRGROUND_CACHE": str(Places.of(os.environ).cache),
        "CI": "1",
        "PYTHONPATH": str(frame.ROOT / "src"),
    }
    with tempfile.TemporaryDirectory() as made, networks.made() as network:
        folder = Path(made)
        fleet = Fleet(environment, folder)
        try:
            run, hosts = networks.begun(fleet, network, _servers(folder), folder)
            time.sleep(moment_s)
            goes_on = run.poll() is None
            theirs = below(hosts["b"])
            networks.LOST[how](network, hosts["b"])
            began = time.monotonic()
            code = run.wait(RUN_S)
            while alive(theirs) and time.monotonic() - began < LEFT_S:
                time.sleep(0.1)
            (record,) = (folder / "results").glob("*/")
            found = records.load_run(record)
            hosts["b"].send_signal(signal.SIGCONT)  # so that it can be ended
            return {
                "how": how,
                "moment_s": round(moment_s, 1),
                "in_time": goes_on,
                "code": code,
                "missing": len(left_of(found)),
                "trials": len(found.everything),
                "left": len(alive(theirs)),
            }
        finally:
            fleet.end()


def _servers(folder: Path) -> Path:
    """One healthy server, whole: what is sent to a host is one folder."""
    found = folder / "servers"
    shutil.copytree(frame.ROOT / "tests" / "zoo" / "healthy", found / "healthy")
    shutil.copytree(frame.ROOT / "tests" / "zoo" / "animal", found / "healthy" / "animal")
    return found


def table(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """A line for each way in which a host is lost."""
    yield "| the host is lost | runs | at, s (median) | before the run's end | whole | something left behind |"
    yield "|--|--:|--:|--:|--:|--:|"
    for how, words in WORDS.items():
        ours = [row for row in rows if row["how"] == how]
        if ours:
            moments = statistics.median(row["moment_s"] for row in ours)
            counts = [
                sum(row["in_time"] for row in ours),
                sum(not row["missing"] for row in ours),
                sum(row["left"] > 0 for row in ours),
            ]
            yield f"| {words} | {len(ours)} | {moments:.1f} | {' | '.join(map(str, counts))} |"
    yield ""
    yield f"Of {len(rows)} runs {sum(not row['missing'] for row in rows)} were whole. Made anew by `make bench-cuts`."


if __name__ == "__main__":
    main()
