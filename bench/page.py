"""How fast the page of a run of the whole lab is: its size, its first paint, and a key in its search. A table as Markdown.

    bench/page.py --stacks 31 --workloads 9 --write docs/evidence.md

The run is made up, in the size that is asked for; its page is drawn as any other, and opened in headless Chromium. It measures no
server, and asserts nothing.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import frame

sys.path.insert(0, str(frame.ROOT / "tests"))  # on no path of its own

from fairground.report.run import page  # noqa: E402
from report import fixture  # noqa: E402
from report.browser import Browser, chromium  # noqa: E402

FRAME_MS = 16.0
"""What is shown within so much of a key is shown at once."""
TYPED = "server1:variant"
ABOUT = """\
# How fast the page of a run is

`make bench-page`: the page of a made-up run in headless Chromium. *First paint* is that of the first text, after the page was
asked for. *Key* is what a key in the search takes until rows are hidden and the page is laid out anew.

| stacks × workloads | page | first paint, median | most | key, median | most | keys within 16 ms |
|--|--:|--:|--:|--:|--:|--:|
"""
PAINTED = """new Promise(done => new PerformanceObserver(list => done(list.getEntries().find(one => one.name ===
 "first-contentful-paint").startTime)).observe({type: "paint", buffered: true}))"""
KEYS = """(() => {{
  const box = document.getElementById("search"), took = [];
  document.getElementById("pick").open = true;
  const shown = () => document.documentElement.getBoundingClientRect().height;
  shown();
  for (const text of {texts}) {{
    const began = performance.now();
    box.value = text;
    box.dispatchEvent(new Event("input"));
    shown();
    took.push(performance.now() - began);
  }}
  return took;
}})()"""


@dataclass(frozen=True)
class Seen:
    """What a page took: its bytes, each first paint and each key, in ms."""

    size_bytes: int
    paints_ms: Sequence[float]
    keys_ms: Sequence[float]


def main() -> int:
    """Open the page some times, and print or write the table. Exit code 3 without a browser."""
    parser = frame.parser(__doc__)
    parser.add_argument("--stacks", type=int, default=31)
    parser.add_argument("--workloads", type=int, default=9)
    parser.add_argument("--repeat", type=int, default=10, help="how often the page is opened (10)")
    options = parser.parse_args()
    program = chromium()
    if program is None:
        frame.tell("error: no chromium is here\n\nhint: apt-get install chromium")
        return 3
    run = fixture.big_run(stacks=options.stacks, workloads=options.workloads)
    text = page.html(run)
    with tempfile.TemporaryDirectory() as folder, Browser(program) as browser:
        file = Path(folder) / "report.html"
        file.write_text(text, encoding="utf-8")
        seen = looked(browser, file, options.repeat)
    table = ABOUT + row(f"{options.stacks} × {options.workloads}", seen)
    frame.publish(f"{table}\nMeasured on {frame.here()}.\n", options.write, "page")
    return 0


def looked(browser: Browser, file: Path, repeat: int) -> Seen:
    """Open a page so many times, and type a name into its search and out of it again each time."""
    texts = [TYPED[:length] for length in (*range(1, len(TYPED) + 1), *range(len(TYPED) - 1, -1, -1))]
    paints_ms, keys_ms = [], []
    for _ in range(repeat):
        browser.open(file.as_uri())
        paints_ms.append(browser.evaluate(PAINTED))
        keys_ms += browser.evaluate(KEYS.format(texts=texts))
    return Seen(file.stat().st_size, paints_ms, keys_ms)


def row(name: str, seen: Seen) -> str:
    """One line of the table."""
    within = sum(took <= FRAME_MS for took in seen.keys_ms)
    cells = [
        name,
        f"{seen.size_bytes / 1e6:.2f} MB",
        *(f"{of(some):,.1f} ms" for some in (seen.paints_ms, seen.keys_ms) for of in (statistics.median, max)),
        f"{within:,} of {len(seen.keys_ms):,}",
    ]
    return f"| {' | '.join(cells)} |\n"


if __name__ == "__main__":
    sys.exit(main())
