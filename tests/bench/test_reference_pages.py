"""The reference: its tables are those of the lab, each stands in one page, and no check, reason, key or option is left out."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from builders.bench import bench
from fairground.cli.verbs import VERBS
from fairground.inputs.conditions import SettingsTable
from fairground.inputs.suite_file import SuiteFile

REFERENCE = bench("reference_pages")
PAGES = sorted(REFERENCE.PAGES.glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_what_its_tables_say(page: Path) -> None:
    """What stands between a page's marks is what `make reference` writes."""
    text = page.read_text(encoding="utf-8")
    assert REFERENCE.rewrite(text) == text, "make reference"


def test_each_table_stands_in_one_page() -> None:
    """No table is written for nothing, and none twice."""
    found = [name for page in PAGES for name in re.findall(r"<!-- table: (\S+) -->", page.read_text(encoding="utf-8"))]
    assert sorted(found) == sorted(REFERENCE.TABLES)


def test_a_table_that_nobody_writes_is_seen() -> None:
    """A mark with a name that is none is an error; the words around marks stay, and what was between them goes."""
    with pytest.raises(KeyError, match="tables"):
        REFERENCE.rewrite("<!-- table: tables -->\n<!-- end -->\n")
    page = "before\n\n<!-- table: bounds -->\nold\n<!-- end -->\n\nafter\n"
    assert REFERENCE.rewrite(page) == f"before\n\n<!-- table: bounds -->\n\n{REFERENCE.bounds()}\n\n<!-- end -->\n\nafter\n"


def test_every_key_of_a_suite_stands_in_one_table() -> None:
    """The sections of the page share the keys of a suite's file out."""
    tables = ("suite-keys", "measured-keys", "load-keys", "path-keys", "published-keys", "settings-keys")
    keys = [key for name in tables for key in re.findall(r"^\| `(\w+)` \|", REFERENCE.TABLES[name](), re.MULTILINE)]
    assert sorted(keys) == sorted(one.name for shape in (SuiteFile, SettingsTable) for one in fields(shape))


def test_every_verb_has_its_options() -> None:
    """The page has a section for each verb, and says of each option once in full what it does."""
    page = (REFERENCE.PAGES / "options.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^## `(.+)`$", page, re.MULTILINE)) == sorted(VERBS)
    assert page.count("Print the result as JSON on stdout.") == 1


def test_every_option_has_its_place() -> None:
    """Those of commands within a verb are found, too; what is hidden is nobody's to type."""
    page = (REFERENCE.PAGES / "options.md").read_text(encoding="utf-8")
    for name in VERBS:
        verb = VERBS[name].load(name)
        commands = {sub: one for sub, one in getattr(verb, "commands", {"": verb}).items() if not one.hidden}
        for sub, command in commands.items():
            for option in command.params:
                assert f"`{f'{sub} {option.opts[0]}'.strip()}" in page or option.param_type_name == "argument", (
                    name,
                    sub,
                    option,
                )


@pytest.mark.parametrize(
    ("text", "said"),
    [("{one:%}", "30 %"), ("{two:ms}–{two:s}", "38–0.038"), ("{one:g}", "0.3"), ("{three:%}", "90 %")],
)
def test_bounds_inside_of_sentences(text: str, said: str) -> None:
    """A share is a percentage, and microseconds are milliseconds or seconds."""
    known = {"one": REFERENCE.Bound(0.30), "two": REFERENCE.Bound(38000), "three": REFERENCE.Bound(0.9)}
    assert text.format(**known) == said


def test_cells_of_a_table() -> None:
    """A bar inside of a cell is no border."""
    assert REFERENCE.table(("a", "b"), [("x|y", "1")], right=(1,)) == "| a | b |\n|---|--:|\n| x\\|y | 1 |"
