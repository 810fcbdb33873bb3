"""The replication page and its Markdown: every claim with its verdict, and nothing from outside unescaped."""

from __future__ import annotations

import re
from dataclasses import replace

from builders.pages import runs_only_its_own_script, section
from fairground.claims import tables
from fairground.claims.verdict import ClaimVerdict
from fairground.model import PublishedTable
from fairground.report import replication
from fairground.report.charts import slope
from fairground.report.charts.slope import Slope
from fairground.report.text import words
from report import golden
from report.subjects import SUITE, replicated


def test_markdown_is_the_golden_one() -> None:
    """Claims, verdicts and both columns of the table, with what would break a table escaped."""
    golden.check("replication.md", replication.markdown(replicated(), "quick"))


def test_page_has_every_claim_and_row_and_escapes_all() -> None:
    """Each claim stands on the page with its verdict; text of the suite cannot become markup; nothing is fetched."""
    html = replication.html(replicated(), "quick")
    for one in SUITE.claims:
        assert f'<tr id="{one.id}">' in html
    assert "needs &lt;ten&gt; cores" in html and "Six trees in &lt;one&gt; garden." in html
    assert "default-src 'none'" in html and runs_only_its_own_script(html)
    assert "http://" not in html.replace("http://www.w3.org", "") and "https://" not in html
    assert "loam | sand" in section(html, "conditions") and "page &lt;1&gt;" in html and "not run; here" in html
    assert "Of the source&#39;s 3 claims 1 holds, 1 does not and 1 cannot be tested here." in html


def test_summary_counts_every_claim() -> None:
    """Where each verdict occurs, the sentence names all of them, and its numbers add up to the claims."""
    one, *_ = replicated().judgements
    every = [replace(one, verdict=verdict) for verdict in ClaimVerdict]
    told = replication.summary(replace(replicated(), judgements=every))
    total, *rest = map(int, re.findall(r"\d+", told.partition(".")[0]))
    assert total == len(ClaimVerdict) and rest == [1] * total, told
    assert "Of the 3 that were decided by measuring" in told


def test_sentences_of_ours_are_not_counted_as_the_sources() -> None:
    """An explanation, a test of ours and a division of published numbers are told apart from what the source says."""
    one, *_ = replicated().judgements
    own = [replace(one, claim=replace(one.claim, says=f"{how} it grows")) for how in ("(our test)", "(from its own table)")]
    told = replication.summary(replace(replicated(), judgements=[one, *own]))
    assert told.startswith("Of the source's 1 claim 1 holds.") and told.endswith("Of 2 sentences of our own 2 hold.")


def test_paper_does_not_look_measured() -> None:
    """What published numbers alone say has a mark and a colour of its own."""
    paper = {ClaimVerdict.REFUTED_ON_PAPER, ClaimVerdict.SUPPORTED_ON_PAPER}
    for shown in (replication.GLYPHS, replication.TAGS):
        assert not {shown[verdict] for verdict in paper} & {shown[ClaimVerdict.HOLDS], shown[ClaimVerdict.FAILS]}


def test_published_stands_beside_measured() -> None:
    """Each stack has a line from what was published to what was measured, each side scaled to its own largest number."""
    drawn = slope.picture([Slope("a", 100.0, 10.0), Slope("b", 50.0, 5.0), Slope("c", 10.0, 2.0)], "requests/s")
    assert drawn is not None
    ends = [
        [float(place) for place in found]
        for found in re.findall(r'd="M[\d.]+ ([\d.]+)L[\d.]+ ([\d.]+)" stroke="[^"]+" stroke-width', drawn)
    ]
    assert ends[0] == [slope.HEAD_PX] * 2 and ends[1][0] == ends[1][1] and ends[2][0] > ends[2][1]
    assert "dasharray" not in drawn
    assert "<title>Published and measured, requests/s</title><desc>a 100 published, 10.0 measured; " in drawn


def test_who_changed_its_place_is_dashed() -> None:
    """Two stacks that changed places are dashed, the third is not; a stack without a number of ours has a name and no line."""
    drawn = slope.picture([Slope("a", 3.0, 1.0), Slope("b", 2.0, 2.0), Slope("c", 1.0, 0.5), Slope("d", 0.0, None)], "rps")
    assert drawn is not None and drawn.count("dasharray") == 2 and drawn.count("<circle") == 6
    assert f">d · {words.number(0.0)}<" in drawn
    assert slope.picture([Slope("a", 1.0, 1.0), Slope("b", 1.0, None)], "rps") is None


def test_names_in_the_picture_keep_apart_and_are_escaped() -> None:
    """Twenty equal numbers have twenty places; a hostile name is text."""
    rows = [Slope(f"<b>{place}\n\x1b[31m", 5.0, 5.0) for place in range(20)]
    drawn = slope.picture(rows, "<i>")
    assert drawn is not None and "<b>" not in drawn and "<i>" not in drawn and "\x1b" not in drawn
    places = sorted(float(place) for place in re.findall(r'y="([\d.]+)" text-anchor="end" fill="[^"]+" font-size="12">', drawn))
    assert len(places) == 20 and all(after - before >= slope.LINE_PX for before, after in zip(places, places[1:], strict=False))


def test_what_could_not_be_done_is_told_in_one_place() -> None:
    """Claims that cannot be tested and cells that were left out stand there with their reasons."""
    told = section(replication.html(replicated(), "quick"), "left-out")
    assert "it holds on ten cores : needs <ten> cores" in told and "ginkgo:fast : needs" in told


def test_a_table_that_nothing_measures_says_why() -> None:
    """The page and the Markdown give the reason in place of an order; a published zero has no ratio."""
    whole = replicated()
    table = PublishedTable("Late", None, "requests", "", {"aspen": 0.0}, unmeasured="PM2 was not run")
    told = replace(whole, tables=tables.read_tables(replace(whole.suite, tables=(table,)), whole.run.trials))
    assert "<p>Not measured here: PM2 was not run.</p>" in replication.html(told, "quick")
    text = replication.markdown(told, "quick")
    assert "| Late (requests) | PM2 was not run |" in text and "**Late**" not in text
    plain = replace(whole, tables=(replace(told.tables[0], table=replace(table, unmeasured=None)),))
    assert "| Late (requests) | no row of 1 has a number here |" in replication.markdown(plain, "quick")
    assert "not measured in this profile" not in replication.markdown(whole, "quick")
    (row,) = told.tables[0].rows
    assert replication.factor(row) == "—"
    assert replication.factor(replace(row, measured=3.0)) == "—"


def test_an_explanation_has_what_tests_it_or_is_not_measured() -> None:
    """The claims that test it stand behind it with what came of them in this run; one that none tests says so, always."""
    found = replicated()
    first, second, third = found.judgements
    assert replication.explain(first, found) == "It | grows. Tested by cedar-first (does not hold)."
    assert replication.explain(second, found) == "It is older. Not measured."
    assert replication.explain(third, found) == ""
    for text in (replication.html(found, "quick"), replication.markdown(found, "quick")):
        assert "It is older. Not measured." in text and "Both stand in the shade." in text


def test_a_stand_in_has_no_line_and_no_ratio() -> None:
    """What was not run is neither reproduced nor missed: our nearest has its number in the row, and nothing else."""
    (reading,) = replicated().tables
    row = next(one for one in reading.rows if one.nearest)
    assert (row.stack, row.measured is not None, replication.factor(row)) == ("yew:old", True, "—")
    assert replication.agreement(reading) == "2 of 3 rows were measured, too few for an order: 6 are asked for"


def test_equal_numbers_have_no_order() -> None:
    """A table of zeros, all of them measured, is not called too small."""
    (whole,) = replicated().tables
    even = replace(
        whole, correlation=None, rows=tuple(replace(row, published=0.0, measured=0.0, nearest=None) for row in whole.rows * 2)
    )
    assert replication.agreement(even) == "6 of 6 rows were measured, and one side has no order: all of its numbers are equal"
    one = replace(whole, correlation=None, rows=(replace(whole.rows[0], measured=1.0), replace(whole.rows[1], measured=None)))
    assert replication.agreement(one) == "1 of 2 rows were measured, too few for an order: 6 are asked for"
    told = replace(even, correlation=0.6, p=0.136)
    assert replication.agreement(told).startswith("rank correlation 0.60 (Kendall's τ, 6 rows, p 0.136;")
