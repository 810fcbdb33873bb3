"""Pages of measurements say what they are of, and that they are stale where servers or method have changed since."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from builders.bench import bench
from builders.paths import ROOT

STALE = bench("stale")


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    """A lab with one server, and a method of the second of May."""
    (tmp_path / "servers" / "oak").mkdir(parents=True)
    (tmp_path / "servers" / "oak" / "server.toml").write_text("title = 'Oak'\n")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "method-log.md").write_text("# What moved numbers\n\n## 2026-05-02\n\n- A rule.\n\n## 2026-05-01\n")
    return tmp_path


def page(lab: Path, day: date) -> str:
    """A page of that day about the server as it is."""
    text = "# Numbers\n\n| oak:plain | 3 |\n"
    head = STALE.PageHead(day, "0123abcd", STALE.digest(STALE.servers_of(text, lab), lab))
    return str(STALE.headed(text, head, lab))


def test_a_page_of_what_is_here_is_not_stale(lab: Path) -> None:
    """Its head is below its title, writing it again changes nothing, and another server's change is none of its own."""
    text = page(lab, date(2026, 5, 2))
    assert text.startswith("# Numbers\n\n<!-- of 2026-05-02, commit 0123abcd, servers ") and "Stale" not in text
    assert "Measured on 2026-05-02 at commit `0123abcd`." in text and text.endswith("\n\n| oak:plain | 3 |\n")
    (lab / "servers" / "elm").mkdir()
    (lab / "servers" / "elm" / "server.toml").write_text("title = 'Elm'\n")
    head = STALE.PageHead.of(text)
    assert STALE.why_stale(head, text, lab) == [] and STALE.headed(text, head, lab) == text


def test_a_page_is_stale_when_its_server_or_the_method_has_changed(lab: Path) -> None:
    """Each is said, in the first lines, and goes away with a new measurement."""
    old = page(lab, date(2026, 5, 1))
    assert "**Stale:** the [method](method-log.md) has changed since.\n" in old.split("| oak")[0]
    text = page(lab, date(2026, 5, 2))
    (lab / "servers" / "oak" / "server.toml").write_text("title = 'An oak'\n")
    told = STALE.headed(text, STALE.PageHead.of(text), lab)
    assert "**Stale:** servers that it names have changed since.\n" in told.split("| oak")[0]
    assert "Stale" not in page(lab, date(2026, 5, 2))
    newer = STALE.headed(f"{text}\nRun of 2026-05-03 10:00 UTC\n", STALE.PageHead.of(text), lab)
    assert "runs of 2026-05-03 were put into it" in newer
    unknown = STALE.headed(text, STALE.PageHead(date(2026, 5, 2), "0123abcd", STALE.UNKNOWN), lab)
    assert "it does not say which sources" in unknown


@pytest.mark.parametrize("name", STALE.PAGES)
def test_pages_say_what_they_are_of(name: str) -> None:
    """Date and commit stand in the first lines of each page of numbers, and that it is stale where it is."""
    text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    head = STALE.PageHead.of("\n".join(text.splitlines()[:8]) + "\n")
    assert head is not None, name
    assert STALE.headed(text, head) == text, "`python bench/stale.py` writes what has changed since into the page"
