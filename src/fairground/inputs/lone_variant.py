"""A server's folder that was copied, cut down to one of its variants: manifest, folders, names, README."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from fairground.inputs.toml_text import text_of
from fairground.model import Approach, Server

HEADER = re.compile(r"^\[(?P<name>[^\[\]]+)\]", re.MULTILINE)
TITLE = re.compile(r"^title(\s*)=.*$", re.MULTILINE)
QUESTIONS = """# {name}

- Which page of the framework's documentation shows what is written here? Link each choice to its page.
- How does it start as many processes or threads as it is told, and how do they share the connections to the database?
- How is the wait for a connection limited, and what changes where statements are not to be prepared?
- Which defaults were left, and which were changed for the contract?
"""


def keep(folder: Path, source: Server, variant: str) -> None:
    """Cut a copy of `source` down to one variant.

    Folders that are named for another approach go. Files at the top stay: build and receipt may need them.
    """
    path = folder / "server.toml"
    path.write_text(manifest(path.read_text(encoding="utf-8"), folder.name, source.id, variant), encoding="utf-8")
    (folder / "README.md").write_text(QUESTIONS.format(name=folder.name), encoding="utf-8")
    kept = source.variants[variant]
    words = " ".join(kept.serve or source.serve)
    for approach in Approach:
        if approach != kept.approach and f"{approach}/" not in words and not _is_asked(folder, approach):
            shutil.rmtree(folder / approach, ignore_errors=True)
    for one in folder.rglob("package*.json"):
        one.write_text(one.read_text(encoding="utf-8").replace(f'"{source.id}"', f'"{folder.name}"'), encoding="utf-8")


def manifest(text: str, name: str, source: str, variant: str) -> str:
    """The manifest without the tables of other variants, with its title and the words of the id changed to `name`."""
    starts = [(found.start(), found["name"]) for found in HEADER.finditer(text)]
    ends = [start for start, _ in starts[1:]] + [len(text)]
    parts = [text[: starts[0][0]] if starts else text]
    for (start, table), end in zip(starts, ends, strict=True):
        if not table.startswith("variants.") or table.split(".")[1] == variant:
            parts.append(text[start:end])
    titled = TITLE.sub(lambda found: f"title{found[1]}= {text_of(name)}", "".join(parts), count=1)
    return titled.replace(f"-{source}", f"-{name}").rstrip() + "\n"


def _is_asked(folder: Path, approach: Approach) -> bool:
    """True if a file at the top names the folder of an approach: a command needs it, or a tool's own manifest does."""
    left = [path for path in folder.iterdir() if path.is_file() and not path.name.startswith(".")]
    return any(f"{approach}/".encode() in path.read_bytes() for path in left)
