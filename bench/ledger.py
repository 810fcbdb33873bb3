"""What each generator sees of each fault script: a section of `docs/evidence.md`, made anew."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import evidence
from frame import ROOT
from generators import AB, FAIRLOAD, FAIRLOAD_GENERATOR, HEY, OHA, WRK, Generator, Seen, Shape

SCRIPTS = ROOT / "engine" / "tests" / "faults"
CLIENT = {"method": "GET", "connections": 4, "timeout_ms": 5000, "keep_alive": True, "seconds": 0.3}
SECONDS = 1.0


@dataclass(frozen=True)
class Truth:
    """The server's ledger: what a client that counts exactly must have counted, and how many requests there were.

    `unread`: at most so many more were sent on connections that the server had reset after a whole answer, and never read.
    """

    outcomes: Mapping[str, int]
    requests: int
    unread: int = 0

    @property
    def ok(self) -> int:
        return self.outcomes.get("ok", 0)

    @property
    def words(self) -> str:
        parts = sorted(self.outcomes.items(), key=lambda item: (item[0] != "ok", item[0]))
        return " · ".join(f"{count} {name.replace('/', ' ').replace('_', ' ')}" for name, count in parts if count) or "nothing"


@dataclass(frozen=True)
class Row:
    script: str
    about: str
    generator: str
    connections: int
    truth: Truth
    seen: Seen
    hangs: bool = False


def write(target: Path, only: Sequence[str]) -> int:
    """Run every generator that is installed on every script (those with a part of `only` in their name) and write the page."""
    generators = [generator for generator in (FAIRLOAD_GENERATOR, WRK, AB, HEY, OHA) if generator.find()]
    rows = []
    for script in sorted(SCRIPTS.glob("*.toml")):
        if only and not any(part in script.stem for part in only):
            continue
        for generator in generators:
            rows.append(observe(script, generator))
            row = rows[-1]
            sys.stderr.write(f"{row.script}: {row.generator}: {row.seen.words} (ledger: {row.truth.words})\n")
    evidence.put(target, "generators", page(rows))
    return 0


def observe(script: Path, generator: Generator) -> Row:
    """One generator on one script, on a server of its own."""
    text = tomllib.loads(script.read_text())
    client: dict[str, Any] = CLIENT | text.get("client", {})
    with faulty(script) as server:
        shape = Shape(
            server.port,
            client["connections"],
            max(SECONDS, client["seconds"]),
            client["keep_alive"],
            timeout_ms=client["timeout_ms"],
            expect_body="good" if client["method"] == "GET" else None,
            method=client["method"],
            content_type="text/plain",
        )
        try:
            seen, _ = generator.run(shape)
        except subprocess.TimeoutExpired as error:
            seen = Seen(None, None, None, None, f"no result: it did not end within {error.timeout:.0f} s")
    deeds = [*text.get("rule", []), text.get("answer", {})]
    resets_idle = any(deed.get("then") == "reset" and deed.get("outcome", "ok") == "ok" for deed in deeds)
    known = server.truth if resets_idle else replace(server.truth, unread=0)
    hangs = any(deed.get("then") == "hang" for deed in deeds)
    return Row(script.stem, text.get("about", ""), generator.name, shape.connections, known, seen, hangs)


@dataclass
class Server:
    port: int
    truth: Truth


@contextlib.contextmanager
def faulty(script: Path) -> Iterator[Server]:
    """`fairload faulty`; its ledger is in `truth` once the block has ended."""
    child = subprocess.Popen(
        [str(FAIRLOAD), "faulty", str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert child.stderr is not None
    server = Server(json.loads(child.stderr.readline())["port"], Truth({}, 0))
    try:
        yield server
    finally:
        stdout, _ = child.communicate(timeout=10)
        server.truth = truth(json.loads(stdout))


def truth(tally: Mapping[str, Any]) -> Truth:
    """Refused connections each cost a request that the server never read."""
    outcomes = dict(tally["outcomes"])
    if tally["refused"]:
        outcomes["reset"] = outcomes.get("reset", 0) + tally["refused"]
    return Truth(outcomes, tally["requests"] + tally["too_late"] + tally["refused"], tally["resets"])


@dataclass(frozen=True)
class Difference:
    """Between a report and the ledger: in a few characters, and in words."""

    short: str
    words: str


def differences(row: Row) -> list[Difference]:
    """None where they agree. What was on its way when a generator stopped is no difference: up to one request per connection."""
    seen, truth, slack = row.seen, row.truth, row.connections
    if seen.completed is None or seen.ok is None:
        return [Difference("no result", "it stopped without a result")]
    if seen.completed == 0 and truth.requests:
        words = f"it counts none of {truth.requests} requests that were answered, and does not say why"
        return [Difference("nothing counted", words)]
    found = []
    surplus = seen.ok - truth.ok
    if surplus > slack:
        words = f"{surplus} of the {truth.requests - truth.ok} requests that failed are called good"
        found.append(Difference(f"+{surplus} ok", words))
    if surplus < -slack:
        found.append(Difference(f"−{-surplus} ok", f"{-surplus} good answers are not called good"))
    uncounted = truth.requests - seen.ok - (seen.errors or 0) - (seen.timeouts or 0)
    if uncounted > slack:
        words = f"{uncounted} requests that the server read are in none of its counts"
        found.append(Difference(f"{uncounted} uncounted", words))
    if uncounted < -slack - truth.unread:
        words = f"it counts {-uncounted} outcomes more than there were requests"
        found.append(Difference(f"{-uncounted} too many", words))
    hung = truth.outcomes.get("timeout", 0)
    if row.hangs and not found and 1 < hung <= slack and not seen.timeouts:
        found.append(
            Difference(f"{hung} hung, unsaid", f"{hung} of its {slack} connections waited for ever, and it does not say so")
        )
    return found


def mark(row: Row) -> str:
    """All differences in a few characters."""
    return ", ".join(difference.short for difference in differences(row)) or "agrees"


def sentence(row: Row) -> str:
    """All differences in words."""
    return "; ".join(difference.words for difference in differences(row)) or "agrees with the ledger"


def page(rows: Sequence[Row]) -> str:
    """The whole document."""
    names = list(dict.fromkeys(row.generator for row in rows))
    scripts = list(dict.fromkeys(row.script for row in rows))
    found = {(row.script, row.generator): row for row in rows}
    lines = [
        *INTRODUCTION,
        f"Versions: {versions(names)}.",
        "",
        "| script | " + " | ".join(names) + " |",
        "|--|" + "--|" * len(names),
    ]
    for script in scripts:
        marks = [mark(found[script, name]) for name in names]
        lines.append(
            f"| [{script}](#{script}) | " + " | ".join(f"**{text}**" if text != "agrees" else text for text in marks) + " |"
        )
    lines += ["", "## Script by script", ""]
    for script in scripts:
        about = found[script, names[0]].about
        lines += [f"### {script}", "", f"{about[:1].upper()}{about[1:]}.", "", HEADER, "|--|--|--|--|"]
        for name in names:
            row = found[script, name]
            words = row.seen.words.replace("|", "/")
            lines.append(f"| {name} | {row.truth.words} | {words} | {sentence(row)} |")
        lines.append("")
    return "\n".join(lines)


def versions(names: Sequence[str]) -> str:
    """Of those that tell."""
    said = []
    for name, option in (("fairload", "--version"), ("wrk", "-v"), ("ab", "-V"), ("oha", "--version")):
        program = str(FAIRLOAD) if name == "fairload" else name
        if name in names:
            done = subprocess.run([program, option], capture_output=True, text=True, check=False)
            found = re.search(r"\d+\.[\w.+-]+", done.stdout + done.stderr)
            said.append(f"{name} {found.group()}" if found else name)
    return ", ".join(said + [name for name in names if name == "hey"])


HEADER = "| generator | what the server did (its ledger) | what the generator reported | difference |"
INTRODUCTION = """# What each generator sees

A server that misbehaves on purpose (`fairload faulty`, the scripts in `engine/tests/faults/`) writes down every
request that it read and what became of it. Each generator is run on each script for a second or so, on a server of
its own, and its report is held against that ledger. The engine's row is also a test
(`engine/tests/engine/accounts.rs`); this section is made anew by `python bench/engine.py --ledger docs/evidence.md`.

How to read it:

- `agrees`: as many requests are called good as there were good answers, and all others are in some count of errors.
  Up to one request per connection may be missing, because generators drop what is on its way when they stop (fairload
  does not).
- `+n ok`: n requests failed and are called good. `-n ok`: n good answers are not called good.
- `n uncounted`: the server read n requests that are in no number of the report. `n too many`: n outcomes more than
  there were requests.
- `n hung, unsaid`: n connections waited for an answer that never came, and the report does not say so.
- A request that was sent on a connection which the server had just reset after a whole answer is in no ledger; up to as
  many as there were such resets are no difference (`reset-after-answer` only).
- A request counts as `timeout` in the ledger when the client hung up before its answer was complete, also at its own end.
  wrk, ab and hey take whole seconds as a timeout, fairload and oha the script's milliseconds; so each row has its own
  ledger.
- `ok` is what the lab takes from each report: wrk's requests less its timeouts and its non-2xx ones (it takes 3xx for good);
  ab's complete requests less the larger of its failed and its non-2xx ones (they overlap); hey's and oha's answers with status
  200. None of these looks at what a body says; fairload is told the right one.

""".splitlines()
