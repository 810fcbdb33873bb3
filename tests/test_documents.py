"""What people read first, and what servers say of themselves: sentences are short, and so is what a newcomer reads."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from builders.paths import ROOT

SENTENCE_WORDS = 25
LINES = {
    "README.md": 150,
    "METHODOLOGY.md": 265,
    "ARCHITECTURE.md": 120,
    "CHANGELOG.md": 150,
    "docs/tutorial.md": 150,
    "docs/method-log.md": 150,
}
DECISIONS = sorted(path.name for path in (ROOT / "docs" / "decisions").glob("[0-9]*.md"))
SERVERS = sorted(path.parent.name for path in (ROOT / "servers").glob("*/README.md"))
EXAMPLE = ROOT / "examples" / "todo"
OF_THE_EXAMPLE = sorted(str(path.relative_to(EXAMPLE)) for depth in ("", "*/*/") for path in EXAMPLE.glob(f"{depth}README.md"))


def prose(markdown: str) -> Iterator[str]:
    """Each paragraph and each item of a list as one line; code, tables, headings and pictures left out."""
    text = re.sub(r"^```.*?^```$", "", markdown, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^(?:[|#]|!\[).*$", "", text, flags=re.MULTILINE)
    for block in re.split(r"\n\s*\n|\n\s*(?:[-*>]|\d+\.) ", "\n" + text):
        if block.strip():
            yield " ".join(block.split())


def sentences(markdown: str) -> Iterator[str]:
    """The sentences of a document. A link is its words, a piece of code is one word, and so is a list of single names."""
    for block in prose(markdown):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", block)
        plain = re.sub(r"`[^`]*`", "code", plain).replace("*", "")
        plain = re.sub(r"[\w-]+(?:, [\w-]+)+,? (?:and|or) [\w-]+", "names", plain)
        yield from re.split(r"(?<=[.!?])\s+", plain)


def long_sentences(markdown: str) -> list[str]:
    """Those of more words than a sentence may have."""
    return [one for one in sentences(markdown) if len(re.findall(r"\S*\w\S*", one)) > SENTENCE_WORDS]


def test_long_sentences_are_seen() -> None:
    """The search counts words over lines and inside items, and neither code, tables nor lists of names."""
    words = "word " * SENTENCE_WORDS
    assert len(long_sentences(f"# Title\n\n- {words}\n  more.\n- Short.\n")) == 1
    assert long_sentences(f"{words}`code and code`.") == [f"{words}code."]
    names = ", ".join(["name"] * SENTENCE_WORDS)
    assert long_sentences(f"{words.strip()}.\n\n```\n{words} more\n```\n| {words} | more |\n\nThese are {names} and name.") == []


@pytest.mark.parametrize(("name", "lines"), LINES.items())
def test_documents_are_read_from_top_to_bottom(name: str, lines: int) -> None:
    """What a newcomer reads is short, and so are its sentences."""
    text = (ROOT / name).read_text(encoding="utf-8")
    assert long_sentences(text) == []
    assert len(text.splitlines()) <= lines


@pytest.mark.parametrize("name", DECISIONS)
def test_a_decision_is_one_short_page(name: str) -> None:
    """It says context, decision, alternatives, evidence and status, in short sentences, and the list of decisions has it."""
    text = (ROOT / "docs" / "decisions" / name).read_text(encoding="utf-8")
    assert re.findall(r"^\*\*(\w+)\.\*\*", text, re.MULTILINE) == ["Context", "Decision", "Alternatives", "Evidence", "Status"]
    assert long_sentences(text) == [] and len(text.splitlines()) <= 25
    number = int(name.split("-")[0])
    title = text.split("\n", 1)[0].removeprefix("# ")
    assert f"{number}. [{title}]({name})\n" in (ROOT / "docs" / "decisions" / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("server", SERVERS)
def test_a_server_tells_its_choices_in_short_sentences(server: str) -> None:
    """Who compares two servers reads the READMEs of both."""
    assert long_sentences((ROOT / "servers" / server / "README.md").read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("name", OF_THE_EXAMPLE)
def test_the_example_is_told_in_short_sentences(name: str) -> None:
    """Who begins with an application of his own reads the example's."""
    assert long_sentences((EXAMPLE / name).read_text(encoding="utf-8")) == []


MEASURED = ("replications", "matrix", "distance", "transfer", "tuning", "faults", "evidence")
"""Pages that are written from records."""
OF_THEM = re.compile(rf"\(docs/(?P<page>{'|'.join(MEASURED)})\.md(?:#[\w-]*)?\)")
NUMBER = re.compile(r"(?<![\w.,/-])\d+(?:,\d{3})*(?:\.\d+)?(?![\w.]*\w)")


def numbers_elsewhere(markdown: str, pages: dict[str, str]) -> list[tuple[str, str]]:
    """Numbers in sentences that lead to a page of measurements, and that this page does not have; each with its sentence."""
    found = []
    for block in (*prose(markdown), *re.findall(r"^\|.*\|$", markdown, re.MULTILINE)):
        for sentence in re.split(r"(?<=[.!?;])\s+(?!\d)", block):
            linked = [pages[one["page"]] for one in OF_THEM.finditer(sentence)]
            plain = re.sub(r"\]\([^)]*\)|`[^`]*`", " ", sentence)
            if linked:
                found += [
                    (number, sentence) for number in NUMBER.findall(plain) if not any(_has(page, number) for page in linked)
                ]
    return found


def _has(page: str, number: str) -> bool:
    return re.search(rf"(?<![\d.,]){re.escape(number)}(?![\d]|[.,]\d)", page) is not None


def test_numbers_that_a_page_does_not_have_are_seen() -> None:
    """A number of the page is found as it stands; a part of a longer one is none, nor is a number without a page."""
    pages = {"matrix": "| 60.8 | 1,210 |"}
    link = "([there](docs/matrix.md))"
    assert numbers_elsewhere(f"It was 60.8 times {link}. It is 12 of 13.", pages) == []
    assert [number for number, _ in numbers_elsewhere(f"It was 67 {link}, or 210, or 60.", pages)] == ["67", "210", "60"]


@pytest.mark.parametrize("name", ["README.md", "METHODOLOGY.md"])
def test_numbers_in_prose_are_those_of_the_page_that_they_lead_to(name: str) -> None:
    """Where a sentence links to a page of measurements, each of its numbers stands there."""
    pages = {one: (ROOT / "docs" / f"{one}.md").read_text(encoding="utf-8") for one in MEASURED}
    assert numbers_elsewhere((ROOT / name).read_text(encoding="utf-8"), pages) == []


READ_ALOUD = re.compile(r"Take the cell of `(.+)` on `(.+)`: it shows \*\*(.+)\*\*, \*\*(.+)\*\* and `(.+)`\.")


def test_the_cell_that_is_read_aloud_is_one_of_the_matrix() -> None:
    """The README explains a cell as it stands in the table of all servers, of which its picture is the beginning."""
    found = READ_ALOUD.search((ROOT / "README.md").read_text(encoding="utf-8"))
    assert found
    stack, workload, group, number, limit = found.groups()
    text = (ROOT / "docs" / "matrix.md").read_text(encoding="utf-8")
    rows = [row.strip("| ").split(" | ") for row in re.findall(r"^\| .*", text, re.MULTILINE)]
    (cell,) = (row[rows[0].index(workload)] for row in rows if row[0] == stack)
    assert re.fullmatch(rf"{re.escape(number)} .* % {re.escape(group)} {re.escape(limit)}", cell), cell


APART = re.compile(r"(?<![\d.,])(\d[\d,]*(?:\.\d+)?)(?:–| to )(\d[\d,]*(?:\.\d+)?) ?×?(?=[,)])")


@pytest.mark.parametrize("name", ["transfer", "tuning", "distance"])
def test_no_interval_of_hundreds_of_times_is_printed_as_a_finding(name: str) -> None:
    """An interval of a ratio whose ends are more than ten times each other finds nothing, and is not printed."""
    text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    ends = [(float(low.replace(",", "")), float(high.replace(",", ""))) for low, high in APART.findall(text) if "CI" in text]
    assert [(low, high) for low, high in ends if low and high > 10 * low] == []
    assert not re.search(r"\+\d,\d{3}(?:\.\d)?%", text)
