"""Generated parts of Markdown files: each stands between two marks of its own and is replaced in place."""

from __future__ import annotations

from pathlib import Path

from fairground.model import storing


def put(path: Path, name: str, section: str, title: str) -> None:
    """Replace the part between the marks of `name`, or append it; a file that is not there begins with `title`."""
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    text = path.read_text(encoding="utf-8") if path.exists() else f"# {title}\n"
    part = f"{begin}\n{section}{end}\n"
    if begin in text and end in text:
        head, tail = text.split(begin)[0], text.split(end, 1)[1].lstrip("\n")
        text = head + part + (f"\n{tail}" if tail else "")
    else:
        text = f"{text.rstrip()}\n\n{part}"
    with storing(path):
        path.write_text(text, encoding="utf-8")
