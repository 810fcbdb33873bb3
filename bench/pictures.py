"""`make pictures RUN=ID`: the pictures of README and docs/pictures, from a run that is stored. It measures nothing.

A site is written from the records, a lab is served, and headless Chromium takes eight of their states. Look at each of them
before you commit it.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import frame

WIDE, PHONE = (1280, 800), (390, 844)
SETTLED_MS = 4000
"""By then a page has been told what goes on."""


@dataclass(frozen=True)
class State:
    """One picture: its name, an address (below the site, or whole), and the size of the window in px."""

    name: str
    address: str
    size: tuple[int, int] = WIDE


def main() -> int:
    """Write the pictures of a run. Exit code 3 without a browser."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", required=True, help="the id of a stored run")
    parser.add_argument("--results", type=Path, default=frame.ROOT / "results")
    parser.add_argument("--write", type=Path, default=frame.ROOT / "docs" / "pictures")
    asked = parser.parse_args()
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        print("error: no chromium is here\n\nhint: apt-get install chromium", file=sys.stderr)
        return 3
    asked.write.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, frame.serving(asked.results) as (_, live):
        site = Path(folder) / "site"
        fairground("report", "--site", str(site), "--results", str(asked.results))
        for state in (*states(asked.run, site), State("lab", live)):
            take(browser, state, asked.write / f"{state.name}.png")
            print(asked.write / f"{state.name}.png")
    return 0


def states(run: str, site: Path) -> Iterator[State]:
    """The states of the site that are worth a look."""
    file = site / run / "report.html"
    page, stacks = file.as_uri(), re.findall(r'id="stack-([\w-]+)"', file.read_text())
    cells = sorted((site / "cells").glob("*.html"), key=lambda path: (-path.read_text().count("<circle"), path.name))
    yield State("grid", page)
    yield State("grid-dark", f"{page}#theme=dark")
    yield State("grid-phone", page, PHONE)
    yield State("compared", f"{page}#m=cpu&ref={stacks[0]}")
    yield State("records", (site / "index.html").as_uri())
    yield State("cell", cells[0].as_uri())
    yield State("trial", (site / run / "trials" / "0001.html").as_uri())


def fairground(*words: str) -> None:
    """One command of the lab, which must go well."""
    subprocess.run((sys.executable, "-m", "fairground", *words), cwd=frame.ROOT, check=True, stderr=subprocess.DEVNULL)


def take(browser: str, state: State, path: Path) -> None:
    """One picture."""
    width, height = state.size
    flags = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--timeout={SETTLED_MS}")
    words = (browser, *flags, f"--window-size={width},{height}", f"--screenshot={path}", state.address)
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)


if __name__ == "__main__":
    raise SystemExit(main())
