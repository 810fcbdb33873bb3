"""The page in a real browser: silent, alone, readable without scripts, on a phone, in the dark and on paper."""

from __future__ import annotations

import base64
import re
from dataclasses import replace
from pathlib import Path

import pytest

from fairground.model.record import RecordKind
from fairground.report.run import evidence, page
from fairground.report.site import history, site
from fairground.report.site.site import RecordLine
from fairground.report.trial import trial_page
from report import fixture, kinds
from report.browser import Browser, chromium

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(chromium() is None, reason="no chromium on this machine: apt-get install chromium"),
]

A4_INSIDE_MARGINS_PX = (688, 1017)
MOST_PAGES = 4
MOST_HEIGHT_PX = 6_000


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    run = fixture.two_blocks()
    file: Path = tmp_path_factory.mktemp("page") / "report.html"
    file.write_text(page.html(run), encoding="utf-8")
    (file.parent / evidence.PAGE).write_text(page.details(run), encoding="utf-8")
    (file.parent / "trials").mkdir()
    for place, text in trial_page.pages(run):
        (file.parent / place).write_text(text, encoding="utf-8")
    return file.as_uri()


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of a run with controls."""
    file: Path = tmp_path_factory.mktemp("compared") / "report.html"
    file.write_text(page.html(fixture.six_blocks()), encoding="utf-8")
    (file.parent / evidence.PAGE).write_text(page.details(fixture.six_blocks()), encoding="utf-8")
    return file.as_uri()


def beside(address: str) -> str:
    """The address of the evidence of the run whose first page this is."""
    return address.replace("report.html", evidence.PAGE)


@pytest.mark.parametrize("name", ["report.html", evidence.PAGE])
def test_page_is_silent_and_asks_nothing_of_the_network(browser: Browser, address: str, name: str) -> None:
    """No console message, no exception, no request but the file itself, and the script runs under its policy."""
    address = address.replace("report.html", name)
    browser.open(address)
    assert browser.evaluate("document.documentElement.classList.contains('js')") is True
    assert browser.named("Runtime.exceptionThrown") == []
    assert browser.named("Runtime.consoleAPICalled") == []
    assert browser.named("Log.entryAdded") == []
    asked = {request["request"]["url"] for request in browser.named("Network.requestWillBeSent")}
    assert {url for url in asked if not url.startswith("data:")} == {address}


def test_page_is_readable_with_scripts_off(browser: Browser, address: str) -> None:
    """Verdicts, tables and charts are there and visible; controls that need a script are not."""
    browser.open(address, scripts=False)
    assert "alder:inline and birch:pool cannot be told apart and give the most, " in browser.evaluate(
        "document.getElementById('verdict').innerText"
    )
    assert browser.evaluate("document.querySelectorAll('#grid tbody td a').length") == 17
    assert browser.evaluate("[...document.querySelectorAll('#pick, #share, #theme')].map(e => e.offsetHeight)") == [0, 0, 0]
    assert browser.evaluate("document.querySelector('#overview .switch').offsetHeight > 0") is True
    browser.open(beside(address), scripts=False)
    assert "6,743" in browser.evaluate("document.getElementById('audit').innerText")
    assert browser.evaluate("document.querySelector('#latency figure .px880 svg').getBoundingClientRect().height") > 200


def test_a_demos_page_is_three_screens(browser: Browser, tmp_path: Path) -> None:
    """Five stacks on six workloads in four blocks; whatever is unfolded is the reader's wish."""
    file = tmp_path / "report.html"
    file.write_text(page.html(fixture.big_run(stacks=5, workloads=6, blocks=4)), encoding="utf-8")
    browser.open(file.as_uri())
    assert 1_000 < browser.evaluate("document.documentElement.scrollHeight") <= MOST_HEIGHT_PX
    assert browser.evaluate("document.querySelectorAll('#verdict figure.rates').length") == 6


def test_a_cell_of_the_grid_leads_to_its_row(browser: Browser, address: str) -> None:
    """One click unfolds the table with its percentiles, CPU and trials, with scripts and without."""
    for scripts in (True, False):
        browser.open(f"{address}#row-cell-tx-birch-pool", scripts=scripts)
        assert browser.evaluate("document.getElementById('board-tx').open") is True
        assert browser.evaluate("document.getElementById('row-cell-tx-birch-pool').getBoundingClientRect().height") > 10


@pytest.mark.parametrize("name", ["report.html", evidence.PAGE])
def test_phone_never_scrolls_sideways(browser: Browser, address: str, name: str) -> None:
    """At 360 px the page is no wider than the screen with every fold open; the wide charts give way to the narrow."""
    browser.open(address.replace("report.html", name), width_px=360, height_px=740)
    browser.unfold()
    assert browser.evaluate("document.documentElement.scrollWidth") == 360
    beyond = "e => !e.closest('.scroll') && e.getBoundingClientRect().right > 361"
    outside = f"[...document.querySelectorAll('body *')].filter({beyond}).map(e => e.tagName + '.' + e.className)"
    assert browser.evaluate(outside) == []
    if name == evidence.PAGE:
        assert browser.evaluate("getComputedStyle(document.querySelector('.px880')).display") == "none"
        assert browser.evaluate("getComputedStyle(document.querySelector('figure .px360')).display") == "block"


def test_the_lab_s_own_page_fits_a_phone(browser: Browser, tmp_path: Path) -> None:
    """At 360 px only the grid scrolls, and without a script the grid and the bars of the moment are there."""
    there = kinds.written(tmp_path)["live"].as_uri()
    for scripts in (True, False):
        browser.open(there, width_px=360, height_px=740, scripts=scripts)
        assert browser.evaluate("document.documentElement.scrollWidth") == 360
        assert browser.evaluate("document.querySelector('#picture figure.rates i.fill').getBoundingClientRect().width") > 5
        assert browser.evaluate("document.querySelector('#picture #grid td.number').offsetHeight") > 20
    assert "load it again" in browser.evaluate("document.body.innerText")


def test_phone_reads_differences_and_controls(browser: Browser, compared: str) -> None:
    """The claim box stands above everything else, and at 360 px tables scroll in their own boxes."""
    browser.open(f"{beside(compared)}#controls", width_px=360, height_px=740)
    assert browser.evaluate("document.querySelector('#controls svg.forest').getBoundingClientRect().width") > 100
    assert browser.evaluate("document.documentElement.scrollWidth") == 360
    browser.open(f"{compared}#compared-tx", width_px=360, height_px=740)
    assert browser.evaluate("document.documentElement.scrollWidth") == 360
    assert browser.evaluate("document.querySelector('#compared-tx svg.forest').getBoundingClientRect().width") > 100
    above = "document.getElementById('claim').offsetTop < document.getElementById('verdict').offsetTop"
    assert browser.evaluate(above) is True


@pytest.mark.parametrize("width_px", [360, 1280])
def test_a_trials_page_stands_by_itself(browser: Browser, address: str, width_px: int) -> None:
    """It has no scripts, is silent, is no wider than its screen, and leads back to the report."""
    there = address.replace("report.html", "trials/0001.html")
    browser.open(there, width_px=width_px, height_px=740, scripts=False)
    assert "What limited it" in browser.evaluate("document.body.innerText")
    assert browser.evaluate("document.querySelector('svg.marks').getBoundingClientRect().height") > 50
    assert browser.evaluate("document.documentElement.scrollWidth") <= width_px
    assert browser.named("Log.entryAdded") == []
    assert browser.evaluate("document.querySelector('.eyebrow a').href") == address


def test_first_column_stays_when_a_table_scrolls(browser: Browser, address: str) -> None:
    """On a phone the stack's name stays in sight while its numbers scroll under it."""
    browser.open(f"{address}#board-tx", width_px=360, height_px=740)
    left = "document.querySelector('#t-tx tbody th').getBoundingClientRect().left"
    before = browser.evaluate(left)
    browser.evaluate("document.querySelector('#t-tx').parentElement.scrollLeft = 200")
    assert browser.evaluate("document.querySelector('#t-tx').parentElement.scrollLeft") == 200
    assert browser.evaluate(left) == before
    assert browser.evaluate("document.querySelector('#t-tx tbody th').getBoundingClientRect().width") >= 100


def test_dark_follows_the_system_and_the_address(browser: Browser, address: str) -> None:
    """Paper and chart lines change with the system's scheme, and the address overrules it."""
    paper = "getComputedStyle(document.body).backgroundColor"
    line = "getComputedStyle(document.querySelector('#cpu svg.marks [fill=\"#4477aa\"]')).fill"
    address = beside(address)
    browser.open(address)
    assert (browser.evaluate(paper), browser.evaluate(line)) == ("rgb(255, 255, 255)", "rgb(68, 119, 170)")
    browser.open(address, dark=True)
    assert (browser.evaluate(paper), browser.evaluate(line)) == ("rgb(20, 24, 31)", "rgb(153, 221, 255)")
    browser.open(f"{address}#theme=light", dark=True)
    assert browser.evaluate(paper) == "rgb(255, 255, 255)"


def test_toggle_writes_the_theme_into_the_address(browser: Browser, address: str) -> None:
    """One press turns the page dark and says so in the address."""
    browser.open(address)
    browser.evaluate("document.getElementById('theme').click()")
    assert browser.evaluate("location.hash") == "#theme=dark"
    assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 31)"


@pytest.mark.parametrize("scripts", [True, False])
def test_paper_has_the_grid_on_page_one_and_the_folds_open(browser: Browser, address: str, scripts: bool) -> None:
    """Printed, also from the dark: light, the grid above the first page's end, evidence unfolded with scripts on and off."""
    width, height = A4_INSIDE_MARGINS_PX
    browser.open(address, width_px=width, height_px=height, media="print", dark=True, scripts=scripts)
    assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert browser.evaluate("document.getElementById('overview').getBoundingClientRect().bottom") < height
    assert browser.evaluate("document.querySelector('#t-tx tbody tr').getBoundingClientRect().height") > 8
    printed = base64.b64decode(browser.call("Page.printToPDF", preferCSSPageSize=True)["data"])
    assert printed.startswith(b"%PDF-")


def test_paper_of_a_demos_size_is_four_pages(browser: Browser, tmp_path: Path) -> None:
    """Five stacks on seven workloads in two blocks, with what is folded but for what repeats it."""
    file = tmp_path / "report.html"
    file.write_text(page.html(fixture.big_run(stacks=5, workloads=7, blocks=2)), encoding="utf-8")
    browser.open(file.as_uri(), media="print")
    assert 2 <= pages_of_paper(browser) <= MOST_PAGES


def pages_of_paper(browser: Browser) -> int:
    """How many sheets of A4 the open page is printed on."""
    printed = base64.b64decode(
        browser.call("Page.printToPDF", preferCSSPageSize=True, paperWidth=8.27, paperHeight=11.69)["data"]
    )
    return len(re.findall(rb"/Type\s*/Page\b", printed))


def test_paper_has_what_matters(browser: Browser, address: str) -> None:
    """Headline, grid, pictures, tables and the command are printed; what is clicked, and what repeats them, is not."""
    browser.open(address, media="print")
    shown = "{}.every(name => [...document.querySelectorAll(name)].some(one => one.getBoundingClientRect().height > 8))"
    assert browser.evaluate(
        shown.format(["h1", "#grid tbody tr", "#verdict .rates li", "#t-tx tbody tr", "#doubts li", "#command"])
    )
    hidden = ["nav", "button", "#pick", "#reading", "#compared-tx", "#share"]
    assert browser.evaluate(f"{hidden}.every(name => document.querySelector(name).getBoundingClientRect().height === 0)")
    assert 2 <= pages_of_paper(browser) <= MOST_PAGES


def test_search_hides_rows(browser: Browser, address: str) -> None:
    """A word in the address or the box leaves the rows that have it."""
    browser.open(f"{address}#q=birch")
    browser.unfold()
    rows = "[...document.querySelectorAll('#t-tx tbody tr')].filter(row => row.offsetHeight).map(row => row.cells[0].innerText)"
    assert browser.evaluate(rows) == ["birch:pool"]
    assert browser.evaluate("document.getElementById('found').innerText") == "3 of 17 rows"


def test_sorting_keeps_what_has_no_number_last(browser: Browser, address: str) -> None:
    """Sorted up and down by goodput, rejected and void stacks stay at the end."""
    browser.open(f"{address}#board-transfer")
    names = "[...document.querySelectorAll('#t-transfer tbody tr')].map(row => row.cells[0].innerText)"
    press = "document.querySelector('#t-transfer thead').rows[0].cells[1].click()"
    browser.evaluate(press)
    assert browser.evaluate(names) == ["alder:inline", "birch:pool", "elm:async", "fir:raw", "cedar:plain", "dogwood:orm"]
    browser.evaluate(press)
    assert browser.evaluate(names) == ["fir:raw", "elm:async", "birch:pool", "alder:inline", "cedar:plain", "dogwood:orm"]
    assert browser.evaluate("location.hash").endswith("sort=t-transfer.1.up")


@pytest.mark.parametrize(("width_px", "height_px"), [(1280, 800), (390, 844)])
def test_first_screen_is_a_story_and_a_grid(browser: Browser, compared: str, width_px: int, height_px: int) -> None:
    """The sentences and the first stacks of the grid stand above the fold; no sentence says only what is not known."""
    browser.open(compared, width_px=width_px, height_px=height_px)
    assert browser.evaluate("document.querySelector('#grid tbody tr:nth-child(2)').getBoundingClientRect().bottom") < height_px
    story = browser.evaluate("[...document.querySelectorAll('h1, .story')].map(e => e.innerText)")
    assert 1 <= len(story) <= 4
    assert not any("not known" in sentence or "cannot be judged" in sentence or "`" in sentence for sentence in story)
    letters = browser.evaluate("[...document.querySelectorAll('#grid td:nth-child(2) .g .tier')].map(e => e.innerText)")
    assert letters and letters[0] == "A"


PICKED = "[...document.querySelectorAll('#grid tbody tr')].filter(row => row.offsetHeight).map(row => row.dataset.find)"


def test_three_stacks_that_are_picked_are_in_the_link(browser: Browser, address: str) -> None:
    """Pressed pills leave three stacks in grid, bars and tables; who opens the address anew sees the same."""
    browser.open(address)
    everyone = browser.evaluate(PICKED)
    for place in (0, 2, 3):
        browser.evaluate(f"document.querySelectorAll('.pill[data-pick=s]')[{place}].click()")
    picked = browser.evaluate(PICKED)
    assert len(picked) == 3 < len(everyone)
    link = browser.evaluate("location.href")
    browser.open("about:blank")
    browser.open(link)
    browser.unfold()
    assert browser.evaluate(PICKED) == picked
    for where in ("#t-tx tbody tr", "#rates-tx li"):
        names = f"[...document.querySelectorAll('{where}')].filter(one => one.offsetHeight).map(one => one.dataset.find.split(' ')[0])"
        assert set(browser.evaluate(names)) <= set(picked), where
    browser.evaluate("document.getElementById('reset').click()")
    assert browser.evaluate(PICKED) == everyone


def test_stacks_are_picked_by_how_they_are_written(browser: Browser, address: str) -> None:
    """A tuned stack and an engine have a mark in the grid, documented ones have none; a pill shows those of one kind alone."""
    browser.open(address)
    marks = "[...document.querySelectorAll('#grid tbody th .approach')].map(e => e.innerText)"
    assert sorted(browser.evaluate(marks)) == ["engine", "tuned"]
    everyone = browser.evaluate(PICKED)
    browser.evaluate("document.querySelector('.pill[data-pick=a][data-key=documented]').click()")
    picked = browser.evaluate(PICKED)
    assert 0 < len(picked) == len(everyone) - 2
    browser.open("about:blank")
    browser.open(f"{address}#a=tuned,engine")
    assert sorted([*browser.evaluate(PICKED), *picked]) == sorted(everyone)


def test_compared_with_one_every_number_is_a_ratio_to_it(browser: Browser, address: str) -> None:
    """The chosen stack is 1.00 wherever it has a number, and the legend says what is shown; both survive the switch to CPU."""
    browser.open(f"{address}#ref=birch-pool&m=cpu")
    own = "[...document.querySelectorAll('#stack-birch-pool [data-g], #stack-birch-pool [data-c]')].map(e => e.textContent)"
    found = browser.evaluate(own)
    assert found and set(found) == {"1.00 ×"}
    assert "birch:pool" in browser.evaluate("document.getElementById('against').innerText")
    assert browser.evaluate("document.getElementById('by-cpu').checked") is True
    browser.evaluate("document.querySelectorAll('#stack-alder-inline [data-w]').forEach(e => { e.dataset.rg *= 1e4; })")
    browser.evaluate("document.getElementById('ref').dispatchEvent(new Event('change'))")
    far = browser.evaluate("[...document.querySelectorAll('#stack-alder-inline [data-g]')].map(e => e.textContent)")
    assert far and all(re.search(r"\b1\d,\d00 ×$|\b9,\d\d0 ×$", one) for one in far), far


def test_what_is_seen_can_be_taken_away(browser: Browser, address: str) -> None:
    """CSV, JSON and SVG of the grid hold the picked stacks and no others."""
    browser.open(f"{address}#s=birch-pool")
    browser.evaluate("URL.createObjectURL = blob => { blob.text().then(text => { window.taken = text }); return '#' }")
    for form in ("csv", "json", "svg"):
        browser.evaluate("window.taken = ''")
        browser.evaluate(f"document.querySelector('[data-of=grid][data-get={form}]').click()")
        said = browser.evaluate("new Promise(done => setTimeout(() => done(window.taken), 50))")
        assert "birch:pool" in said and "alder:inline" not in said, form


def test_the_site_finds_lines_and_keeps_what_was_typed(browser: Browser, tmp_path: Path) -> None:
    """What is typed leaves the lines that hold it, stands in the address, and is there again when the link is opened."""
    runs = [fixture.two_blocks(), replace(fixture.two_blocks(), id="second")]
    lines = [
        RecordLine(run.id, RecordKind.RUN, run.started_unix_s, True, "a machine", f"Story of {run.id}", "report.html")
        for run in runs
    ]
    for name, text in site.pages(lines, history.histories(runs)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    overview = (tmp_path / "index.html").read_text()
    assert '<meta property="og:title" content="2 records, newest first">' in overview
    assert '<meta property="og:description" content="Story of ' in overview
    shown = "[...document.querySelectorAll('tbody tr')].filter(line => line.offsetHeight).length"
    browser.open((tmp_path / "index.html").as_uri())
    assert browser.evaluate(shown) == 2
    type_in = "const field = document.getElementById('search'); field.value = '{}'; field.dispatchEvent(new Event('input'))"
    browser.evaluate(type_in.format("SECOND story"))
    assert browser.evaluate(shown) == 1
    link = browser.evaluate("location.href")
    browser.open("about:blank")
    browser.open(link)
    assert browser.evaluate(shown) == 1
    assert browser.evaluate("document.getElementById('found').textContent") == "1 of 2"
    for name in ("index.html", "cells.html", next(path.relative_to(tmp_path).as_posix() for path in tmp_path.glob("cells/*"))):
        browser.open((tmp_path / name).as_uri(), width_px=360, height_px=740)
        assert browser.evaluate("document.documentElement.scrollWidth") == 360
        assert browser.named("Log.entryAdded") == []


FONTS = ("", "'DejaVu Sans'", "serif")
"""That of the page, one of the widest without serifs, and one with them."""
CUT = """((scope, font) => {
  if (font) {
    const style = document.createElement("style");
    style.textContent = `svg, svg * { font-family: ${font} !important }`;
    document.head.append(style);
  }
  document.querySelectorAll("details").forEach(one => { one.open = true });
  return [...document.querySelectorAll(scope)].filter(text => {
    const own = text.getBoundingClientRect();
    if (!own.width || !text.textContent.trim()) return false;
    for (let around = text.parentElement; around; around = around.parentElement) {
      const clips = around === document.documentElement || getComputedStyle(around).overflowX !== "visible";
      const edge = around.getBoundingClientRect();
      if (clips && around.localName !== "g" && (own.left < edge.left - 0.5 || own.right > edge.right + 0.5)) return true;
    }
    return false;
  }).map(text => text.textContent);
})"""
"""The texts that something around them cuts off at the left or right, in a font."""


@pytest.mark.parametrize("width_px", [1280, 360])
def test_no_label_of_a_chart_is_cut(browser: Browser, address: str, width_px: int) -> None:
    """Whatever font there is, all of a label is seen, in a chart's wide and in its narrow form."""
    for font in FONTS:
        browser.open(beside(address), width_px=width_px)
        assert browser.evaluate(f"{CUT}('figure svg.marks text', {font!r})") == [], font


def test_no_label_of_a_saved_picture_is_cut(browser: Browser, address: str, tmp_path: Path) -> None:
    """A picture as a file holds its labels in the font that the page shows them in, and one that is cut would be found."""
    browser.open(beside(address))
    browser.evaluate("URL.createObjectURL = blob => { blob.text().then(text => { window.taken = text }); return '#' }")
    browser.unfold()
    saved = browser.evaluate("""(async () => {
      const found = [];
      for (const button of document.querySelectorAll("[data-save=svg]")) {
        window.taken = "";
        button.click();
        for (let turn = 0; turn < 200 && !window.taken; turn += 1) await new Promise(done => setTimeout(done, 25));
        found.push(window.taken);
      }
      return found;
    })()""")
    assert len(saved) > 2
    file = tmp_path / "picture.svg"
    for text in (*saved, re.sub(r' viewBox="[^"]*"', ' viewBox="0 0 40 400"', saved[0], count=1)):
        file.write_text(text, encoding="utf-8")
        browser.open(file.as_uri())
        inside = browser.evaluate("""(() => {
          const [x, , wide] = document.documentElement.getAttribute("viewBox").split(" ").map(Number);
          const box = document.documentElement.getBBox();
          return box.x >= x - 0.5 && box.x + box.width <= x + wide + 0.5;
        })()""")
        assert inside is (text in saved)
