"""Every kind of page under axe-core: WCAG 2.2 at levels A and AA, in light and dark; and how far the keyboard is from the content."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT

from fairground.report.run import page
from report import fixture, kinds
from report.browser import Browser, chromium

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(chromium() is None, reason="no chromium on this machine: apt-get install chromium"),
]

EVERY_RULE = {
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]},
    "rules": {"target-size": {"enabled": True}},  # off unless it is asked for
    "resultTypes": ["violations"],
}
COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}, "resultTypes": ["violations"]}
"""The rules that colours decide: the rest of a page is the same in the dark."""
WITHIN_OTHERS = frozenset({"evidence", "in the site"})
"""Kinds by night: the evidence of controls has all that is on the first, and the second is a run's page with the way home of others."""
MOST_STOPS = 40


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A page of each kind."""
    return kinds.written(tmp_path_factory.mktemp("kinds"))


def violations(browser: Browser, rules: dict[str, Any] = EVERY_RULE) -> list[str]:
    """What axe-core finds on the page that is open, with the first places of each rule."""
    browser.evaluate(AXE_SCRIPT + "; true")
    found: dict[str, Any] = browser.evaluate(f"axe.run(document, {json.dumps(rules)})")
    assert found["passes"], "no rule was tried"
    return [
        f"{rule['id']}: {rule['help']}; {len(rule['nodes'])} places, such as {node['html'][:200]} {node['failureSummary']}"
        for rule in found["violations"]
        for node in rule["nodes"][:3]
    ]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.nightly if kind in WITHIN_OTHERS else ()) for kind in kinds.NAMES]
)
def test_no_violation(browser: Browser, written: dict[str, Path], kind: str, dark: bool) -> None:
    """With everything unfolded."""
    browser.open(written[kind].as_uri(), dark=dark)
    browser.unfold()
    assert violations(browser, COLOURS if dark else EVERY_RULE) == []


@pytest.mark.parametrize("kind", ["run", "evidence", "trial", "capacity", "overview", "live"])
def test_no_violation_on_a_phone(browser: Browser, written: dict[str, Path], kind: str) -> None:
    """Where tables scroll and targets are closer."""
    browser.open(written[kind].as_uri(), width_px=390, height_px=844)
    browser.unfold()
    assert violations(browser) == []


def test_a_violation_would_be_found(browser: Browser, written: dict[str, Path]) -> None:
    """Pale text, a small button without a name, and a picture without words."""
    browser.open(written["overview"].as_uri())
    spoiled = (
        "<p style='color:#ccc;background:#fff'>pale</p><button style='width:9px;height:9px;padding:0'></button><img src='data:,'>"
    )
    browser.evaluate(f"document.querySelector('main').insertAdjacentHTML('beforeend', {json.dumps(spoiled)})")
    assert {one.partition(":")[0] for one in violations(browser)} >= {"color-contrast", "button-name", "image-alt"}


AT = "(one => [one.closest('td, th') && one.closest('td, th').id, !!one.closest('#verdict')])(document.activeElement)"


@pytest.mark.parametrize("large", [False, True], ids=["small", "large"])
def test_the_content_is_few_stops_away(browser: Browser, written: dict[str, Path], tmp_path: Path, large: bool) -> None:
    """From the top of a run's page to its first section, through tools, grid and sections; the size of the grid changes nothing."""
    file = written["run"]
    if large:
        file = tmp_path / "report.html"
        file.write_text(page.html(fixture.big_run(stacks=31, blocks=1)), encoding="utf-8")
    browser.open(file.as_uri())
    stops = 1
    browser.press("Tab")
    while not browser.evaluate(AT)[1]:
        stops += 1
        assert stops <= MOST_STOPS
        browser.press("Tab")
    assert stops > 10, "tools, grid and sections have stops of their own"


def test_arrow_keys_walk_the_grid(browser: Browser, written: dict[str, Path]) -> None:
    """From a stack's name right to its cells, down over cells without a link, and no further than the edge; Tab comes back there."""
    browser.open(written["run"].as_uri())
    browser.evaluate("document.querySelector('#grid tbody a').focus()")
    first = browser.evaluate("document.querySelector('#grid tbody td').id")
    browser.press("ArrowRight")
    assert browser.evaluate(AT)[0] == first
    browser.press("ArrowDown")
    second = browser.evaluate(AT)[0]
    assert second == browser.evaluate("document.querySelectorAll('#grid tbody tr')[1].cells[1].id")
    for _ in range(9):
        browser.press("ArrowDown")
    last = browser.evaluate(AT)[0]
    assert last == browser.evaluate(
        "[...document.querySelectorAll('#grid tbody td:nth-child(2)')].filter(e => e.querySelector('a')).pop().id"
    )
    browser.press("Shift+Tab")
    browser.press("Tab")
    assert browser.evaluate(AT)[0] == last


def test_the_grid_stays_in_reach_when_rows_are_hidden(browser: Browser, written: dict[str, Path]) -> None:
    """Its stop moves to a row that is shown."""
    browser.open(f"{written['run'].as_uri()}#s=birch-pool")
    stop = (
        "[...document.querySelectorAll('#grid [tabindex=\"0\"]')].filter(e => e.offsetHeight).map(e => e.closest('tr').dataset.s)"
    )
    assert browser.evaluate(stop) == ["birch-pool"]
