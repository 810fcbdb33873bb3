"""What can be taken away from each kind of page is one click, and is what its button says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from report import kinds
from report.browser import Browser, chromium

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(chromium() is None, reason="no chromium on this machine: apt-get install chromium"),
]

TAKEN = """(async () => {
  const found = [];
  document.querySelectorAll("details").forEach(one => { one.open = true });
  URL.createObjectURL = blob => { blob.text().then(text => { window.taken = text }); return "#" };
  for (const button of document.querySelectorAll("[data-save], [data-get]")) {
    window.taken = "";
    button.click();
    for (let turn = 0; turn < 200 && !window.taken; turn += 1) await new Promise(done => setTimeout(done, 25));
    found.push([button.dataset.save || button.dataset.get, button.dataset.of, window.taken]);
  }
  return found;
})()"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A page of each kind."""
    return kinds.written(tmp_path_factory.mktemp("kinds"))


@pytest.mark.parametrize(
    ("kind", "forms"),
    [
        ("run", {"csv", "json", "svg"}),
        ("capacity", {"csv", "svg"}),
        ("compare", {"csv", "svg"}),
        ("try", {"csv", "svg"}),
        ("replication", {"csv", "svg"}),
    ],
)
def test_each_button_gives_what_it_says(browser: Browser, written: dict[str, Path], kind: str, forms: set[str]) -> None:
    """Pictures are SVG, tables CSV of several lines, and JSON can be read."""
    browser.open(written[kind].as_uri())
    found = browser.evaluate(TAKEN)
    assert {form for form, _, _ in found} == forms
    for form, of, text in found:
        if form == "svg":
            assert text.startswith("<svg") and text.endswith("</svg>"), of
        elif form == "csv":
            assert text.count("\n") > 1 and "," in text, of
        else:
            assert json.loads(text), of
