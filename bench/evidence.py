"""The page of evidence: each program that measures the instrument replaces its own section, and the contents are made anew."""

from __future__ import annotations

import re
from pathlib import Path

from fairground.report import splice

TITLE = "Is it sound?"
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def put(page: Path, name: str, text: str) -> None:
    """Put a section between its marks. Its headings become one level deeper, since the page has the first level."""
    splice.put(page, name, re.sub(r"^(#+ )", r"#\1", text.rstrip("\n"), flags=re.MULTILINE) + "\n", TITLE)
    splice.put(page, "contents", contents(page.read_text(encoding="utf-8")), TITLE)


def contents(page: str) -> str:
    """The list of a page's sections, each with a link."""
    headings = re.findall(r"^## (.+)$", _FENCED.sub("", page), re.MULTILINE)
    return "".join(f"- [{heading}](#{_slug(heading)})\n" for heading in headings)


def _slug(heading: str) -> str:
    """The anchor of a heading, as the forge and the site make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
