"""The manual: every link leads to something, every page is in the site, and links mean there what they mean in the repository."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from builders.paths import ROOT


def _hooks() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_hooks", ROOT / "packaging" / "docs_hooks.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


hooks = _hooks()
NAMES = sorted({*hooks.PAGES, *(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))})


def slug(heading: str) -> str:
    """A heading's anchor, as the forge makes it: letters, digits, dashes and underscores, in small letters."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


@cache
def anchors(path: Path) -> frozenset[str]:
    """The anchors of a page; those of equal headings are numbered."""
    text = re.sub(r"^(```|~~~).*?^\1", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    found: dict[str, int] = {}
    for heading in re.findall(r"^#{1,6} +(.+?) *#*$", text, re.MULTILINE):
        one = slug(heading)
        found[one] = found.get(one, -1) + 1
    return frozenset(name if not number else f"{name}-{number}" for name, most in found.items() for number in range(most + 1))


def dead(name: str, markdown: str) -> Iterator[str]:
    """The links of a page that lead to no file of the repository, or to no heading in it."""
    for target in hooks.links(markdown):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (ROOT / name).parent / path if path else ROOT / name
        if not there.exists() or (anchor and anchor not in anchors(there)):
            yield target


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_somewhere(name: str) -> None:
    """Each link of a page leads to a file that is there, and to a heading that it has."""
    assert list(dead(name, (ROOT / name).read_text())) == []


def test_dead_links_are_seen() -> None:
    """A file and a heading that are not there are found; code, addresses and what is there are none."""
    text = "[a](nowhere.md) [b](README.md#nothing) [c](README.md#test) ![d](x.png) `[e](no.md)` [f](https://e.org/x)\n```\n[g](no.md)\n```\n"
    assert list(dead("README.md", text)) == ["nowhere.md", "README.md#nothing", "x.png"]


@pytest.mark.parametrize(
    ("name", "text", "mended"),
    [
        ("README.md", "[a](docs/install.md#from-a-wheel)", "[a](install.md#from-a-wheel)"),
        ("README.md", "![a](docs/pictures/grid.png)", "![a](pictures/grid.png)"),
        ("README.md", "[METHODOLOGY](METHODOLOGY.md)", "[METHODOLOGY](methodology.md)"),
        ("README.md", "one in [`servers/`](servers), short", "one in `servers/`, short"),
        ("docs/capacity.md", "[a](../METHODOLOGY.md#capacity) [b](#here)", "[a](methodology.md#capacity) [b](#here)"),
        ("engine/README.md", "[evidence](../docs/evidence.md#kills)", "[evidence](evidence.md#kills)"),
        ("docs/x.md", "`[a](../src)` and\n```\n[b](../src)\n```", "`[a](../src)` and\n```\n[b](../src)\n```"),
        ("docs/x.md", "[a](https://example.org/b)", "[a](https://example.org/b)"),
    ],
)
def test_links_mean_the_same_in_the_site(name: str, text: str, mended: str) -> None:
    """A link to a page leads to its place in the site, one to another file becomes its text, and code is left alone."""
    assert hooks.mended(text, name) == mended


def pages(nav: Any) -> Iterator[str]:
    """The pages of a navigation."""
    if isinstance(nav, str):
        yield nav
    else:
        for one in nav.values() if isinstance(nav, dict) else nav:
            yield from pages(one)


def test_every_page_is_in_the_navigation_once() -> None:
    """The site leaves no page out, and has none twice or that is not there."""
    assert sorted(pages(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"])) == sorted(hooks.place(name) for name in NAMES)


def test_no_page_hides_another() -> None:
    """A page that joins from beside `docs/` has no place that a page of `docs/` has."""
    assert not {there for there in hooks.PAGES.values() if (ROOT / "docs" / there).exists()}
