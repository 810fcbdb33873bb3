"""Suites by the names that people give them."""

from __future__ import annotations

import difflib
from pathlib import Path

from fairground.lab.places import Places
from fairground.model import LabError


def named(places: Places, path: Path) -> Path:
    """The file of a suite. LabError with the nearest where a bare name is no file: `demo` means `suites/demo.toml`."""
    if path.parts and path.parts[0] in ("http:", "https:"):  # a path has one slash of its two
        url = f"{path.parts[0]}//{Path(*path.parts[1:])}"
        raise LabError(f"`{url}` is a URL, and no suite", f"a service without a contract: ./fairground try {url}")
    if path.exists() or path.suffix:
        return path
    there = {one.stem: one for one in sorted(places.suites.glob("*.toml"))}
    near = difflib.get_close_matches(path.name, there, 1)
    shown = [f"suites/{name}.toml" for name in (near or sorted(there))]
    hint = f"did you mean {shown[0]}?" if near else f"suites: {', '.join(shown)}"
    raise LabError(f"there is no suite file `{path}`", hint)
