"""The frame of a program in bench/: its options, rows that are kept from call to call, and the page that it writes."""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import evidence
from fairground.host import machine
from fairground.report import splice

ROOT = Path(__file__).resolve().parents[1]
LAB = str(ROOT / "fairground")

KEEP = "JSON lines: add each measurement, and count the earlier ones too"


def parser(about: str | None, *, keep: bool = False, write: bool = True) -> argparse.ArgumentParser:
    """A parser with the program's text, and `--keep` and `--write` where it has them."""
    found = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    if keep:
        found.add_argument("--keep", type=Path, help=KEEP)
    if write:
        found.add_argument("--write", type=Path, help="put the page into this Markdown file")
    return found


def load_rows(file: Path | None) -> list[dict[str, Any]]:
    """Read the rows of earlier calls; none without a file."""
    if file is None or not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def append_rows(file: Path | None, rows: Iterable[Mapping[str, Any]]) -> None:
    """Add rows to a file, if there is one."""
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as lines:
            lines.writelines(json.dumps(row) + "\n" for row in rows)


def publish(text: str, file: Path | None, section: str | None = None) -> None:
    """Print a page. Where there is a file, write it: whole, or the `section` of a page of evidence."""
    print(text, end="")
    if file is None:
        return
    if section is None:
        file.write_text(text, encoding="utf-8")
    else:
        evidence.put(file, section, text)


def put_part(text: str, file: Path | None, name: str, title: str) -> None:
    """Print a part of a page. Where there is a file, put it between the marks of its name there."""
    print(text, end="")
    if file is not None:
        splice.put(file, name, text, title)


def tell(words: str) -> None:
    """Say what goes on, on standard error."""
    print(words, file=sys.stderr, flush=True)


def machine_words() -> str:
    """`Xeon, 2 cores`."""
    found = machine.fingerprint()
    return f"{found.cpu_model}, {found.cores} cores"


def here() -> str:
    """`2026-11-28, on Xeon, 2 cores`."""
    return f"{datetime.now(UTC):%Y-%m-%d}, on {machine_words()}"


def version() -> str:
    """The lab's version, with the revision that it is at."""
    return subprocess.run([LAB, "--version"], capture_output=True, text=True, check=True).stdout.strip()


@contextlib.contextmanager
def serving(results: Path) -> Iterator[tuple[int, str]]:
    """`serve` on a folder of results, for as long as the block: the id of its process, and its address with the token."""
    words = [LAB, "serve", "--port", "0", "--json", "--results", str(results)]
    served = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert served.stdout is not None, "it is a pipe"
    text = ""
    try:
        while "}" not in text:
            line = served.stdout.readline()
            if not line:
                raise SystemExit("`serve` has ended before it told its address")
            text += line
        yield served.pid, json.loads(text)["address"]
    finally:
        served.terminate()
        served.wait()
