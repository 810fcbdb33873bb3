"""Whether pages of measurements are still of what is here: the servers that they name, and the method.

    bench/stale.py                              # write at the top of each page what it is of, and whether that has changed
    bench/stale.py --measured docs/matrix.md    # this page was measured with what is here now

A page's first lines say its date, commit and servers. It is stale where a server that it names has other sources than it was
measured with, or where the log of method has an entry of a later day. A stale page says so there, and a test asks for that.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import subprocess
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

import frame
from fairground.host import sources

PAGES = ("replications", "matrix", "distance", "faults", "transfer", "tuning", "orms")
"""Pages whose numbers are of servers."""
HEAD = re.compile(
    r"<!-- of (?P<day>\d{4}-\d\d-\d\d), commit (?P<commit>[0-9a-f]{8}), servers (?P<servers>[0-9a-f]{12}|unknown) -->\n"
    r"Measured on .*\n(?:.+\n)*"
)
DAY = re.compile(r"^## (\d{4}-\d\d-\d\d)$", re.MULTILINE)
RUN_DAY = re.compile(r"(\d{4}-\d\d-\d\d) \d\d:\d\d UTC")
NAMED = re.compile(r"(?<![\w/.-])([a-z][a-z0-9-]+):[a-z]")
UNKNOWN = "unknown"


@dataclass(frozen=True)
class PageHead:
    """What a page is of: the day and the commit of its measurement, and the digest of the servers that it names."""

    day: date
    commit: str
    servers: str

    @classmethod
    def of(cls, text: str) -> PageHead | None:
        """The head of a page; None where it has none."""
        found = HEAD.search(text)
        return found and cls(date.fromisoformat(found["day"]), found["commit"], found["servers"])

    def lines(self, reasons: list[str]) -> str:
        """The head as text; the reasons why the page is stale, if there are any."""
        stale = f"\n**Stale:** {' and '.join(reasons)}." if reasons else ""
        comment = f"<!-- of {self.day}, commit {self.commit}, servers {self.servers} -->"
        versions = "Versions were not written down." if self.servers == UNKNOWN else "Versions stand with each run."
        return f"{comment}\nMeasured on {self.day} at commit `{self.commit}`. {versions}{stale}\n"


def servers_of(text: str, root: Path = frame.ROOT) -> list[str]:
    """The servers that a page names by their stacks, as far as they are here."""
    return sorted({name for name in NAMED.findall(text) if (root / "servers" / name / "server.toml").is_file()})


def digest(names: list[str], root: Path = frame.ROOT) -> str:
    """A digest of the sources of some servers."""
    hashes = (sources.sources_hash(root / "servers" / name) for name in names)
    return hashlib.sha256("".join(hashes).encode()).hexdigest()[:12]


def why_stale(head: PageHead, text: str, root: Path = frame.ROOT) -> list[str]:
    """The reasons why a page is no longer of what is here; none: it is."""
    reasons = []
    log = (root / "docs" / "method-log.md").read_text(encoding="utf-8")
    newest = max((date.fromisoformat(day) for day in RUN_DAY.findall(text)), default=head.day)
    if newest > head.day:
        reasons.append(f"runs of {newest} were put into it")
    if any(date.fromisoformat(day) > head.day for day in DAY.findall(log)):
        reasons.append("the [method](method-log.md) has changed since")
    if head.servers == UNKNOWN:
        reasons.append("it does not say which sources of its servers it is of")
    elif head.servers != digest(servers_of(text, root), root):
        reasons.append("servers that it names have changed since")
    return reasons


def headed(text: str, head: PageHead, root: Path = frame.ROOT) -> str:
    """The page with its head below its title, as it has to be now."""
    bare = HEAD.sub("", text).replace("\n\n\n", "\n\n")
    title, _, rest = bare.partition("\n")
    return f"{title}\n\n{head.lines(why_stale(head, bare, root))}\n{rest.lstrip(chr(10))}"


def main() -> None:
    """Write the heads."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measured", nargs="+", type=Path, default=[], help="pages that were measured with what is here")
    options = parser.parse_args()
    for page in options.measured or [frame.ROOT / "docs" / f"{name}.md" for name in PAGES]:
        text = page.read_text(encoding="utf-8")
        head = PageHead.of(text)
        if options.measured:
            commit = subprocess.run(
                ["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True, cwd=frame.ROOT
            ).stdout[:8]
            head = PageHead(datetime.now(UTC).date(), commit, digest(servers_of(text)))
        if head is None:
            parser.error(f"{page} does not say what it is of: --measured {page} writes that")
        page.write_text(headed(text, head), encoding="utf-8")


if __name__ == "__main__":
    main()
