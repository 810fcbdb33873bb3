"""The page of evidence: a program replaces its own section alone, and the contents follow."""

from __future__ import annotations

from pathlib import Path

from builders.bench import bench
from builders.paths import ROOT

evidence = bench("evidence")


def test_a_section_replaces_itself_alone(tmp_path: Path) -> None:
    """Headings become one level deeper, and what stands in other sections stays to the letter."""
    page = tmp_path / "evidence.md"
    evidence.put(page, "one", "# One `thing`\n\n| a |\n\n## Part\n")
    evidence.put(page, "two", "# Two\n\n| b |\n")
    before = page.read_text()
    evidence.put(page, "one", "# One `thing`\n\n| c |\n\n## Part\n")
    assert page.read_text() == before.replace("| a |", "| c |")
    assert (
        "- [One `thing`](#one-thing)\n- [Two](#two)\n" in before and "\n## One `thing`\n" in before and "\n### Part\n" in before
    )


def test_the_contents_name_every_section_of_the_page() -> None:
    """The list at the head of `docs/evidence.md` is that of its sections, fourteen of them."""
    page = (ROOT / "docs" / "evidence.md").read_text()
    listed = page.split("<!-- contents -->\n")[1].split("<!-- /contents -->")[0]
    assert listed == evidence.contents(page) and listed.count("\n") == 14
