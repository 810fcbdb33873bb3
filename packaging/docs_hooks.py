"""Hooks of MkDocs: pages that stand beside `docs/` in the repository join the site, and links lead where they lead there.

The same functions tell a test which links a page has. MkDocs is imported where it calls, so that they need none.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGES = {
    "README.md": "index.md",
    "METHODOLOGY.md": "methodology.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "contracts/seeds/README.md": "contract.md",
    "contracts/techempower/README.md": "contract-techempower.md",
    "examples/todo/README.md": "example-todo.md",
    "engine/README.md": "engine.md",
}
"""Pages of the repository outside `docs/` → their places in the site."""
_CODE = re.compile(r"^(`{3,}|~{3,}).*?^\1[`~]*$|(`+)(?!`).+?(?<!`)\2(?!`)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)\)")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)


def links(markdown: str) -> Iterator[str]:
    """The targets of all links and pictures of a page, those in code left out."""
    found: list[str] = []
    _mapped(markdown, lambda link: (found.append(link[3]), link[0])[1])
    yield from found


def place(name: str) -> str | None:
    """Where a file of the repository stands in the site; None where it has no place there."""
    return name.removeprefix("docs/") if name.startswith("docs/") else PAGES.get(name)


def mended(markdown: str, name: str) -> str:
    """A page of the repository as the site has it. A link to what the site has not becomes its text."""
    here = posixpath.dirname(place(name) or "")

    def mend(link: re.Match[str]) -> str:
        mark, text, target = link.groups()
        if _ADDRESS.match(target) or target.startswith("#"):
            return link[0]
        path, _, anchor = target.partition("#")
        there = place(posixpath.normpath(posixpath.join(posixpath.dirname(name), path)))
        if there is None:
            return text
        relative = posixpath.relpath(there, here or ".")
        return f"{mark}[{text}]({relative}{'#' if anchor else ''}{anchor})"

    return _mapped(markdown, mend)


def _mapped(markdown: str, change: Callable[[re.Match[str]], str]) -> str:
    """The page with each link changed; fenced code stays, and so does code in a line, but for the text of a link."""
    kept: list[str] = []

    def keep(code: re.Match[str]) -> str:
        kept.append(code[0])
        return f"\0{len(kept) - 1}\0"

    changed = _LINK.sub(change, _CODE.sub(keep, markdown))
    return re.sub("\0(\\d+)\0", lambda mark: kept[int(mark[1])], changed)


# ---------------------------------------------------------------- what MkDocs calls


def on_files(files: Any, config: Any) -> Any:
    """Add the pages from beside `docs/`."""
    from mkdocs.structure.files import File

    for name, there in PAGES.items():
        files.append(File.generated(config, there, content=(ROOT / name).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Mend a page's links."""
    names = {there: name for name, there in PAGES.items()}
    return mended(markdown, names.get(page.file.src_uri, f"docs/{page.file.src_uri}"))
