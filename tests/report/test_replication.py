"""The replication page and its Markdown: every claim with its verdict, and nothing from outside unescaped."""

from __future__ import annotations

from dataclasses import replace

from fairground.claims import judgement
from fairground.model import Claim, PublishedTable, Suite
from fairground.report import replication
from fairground.report.replication import Replication
from report import fixture, golden

SUITE = Suite(
    "fable", "A fable of trees", "Six trees in <one> garden.", 2, 1, (), "The Garden, 2024",
    (
        Claim("aspen-first", "aspen gives more than cedar", "rps(aspen:plain ping) / rps(cedar:plain ping) > 1", 1.5, "table 1", "It | grows."),
        Claim("cedar-first", "cedar gives more than aspen", "rps(cedar:plain ping) > rps(aspen:plain ping)", 2.0, "table 2"),
        Claim("far", "it holds on ten cores", cannot="needs <ten> cores"),
    ),
    (PublishedTable("GET /ping", "rps", "requests/s", "ping", {"aspen:plain": 900.0, "cedar:plain": 600.0, "yew:old": 1.0}),),
)  # fmt: skip


def found() -> Replication:
    """The fable judged on the report's own example."""
    run = fixture.two_blocks()
    first, second = fixture.STACKS[0], fixture.STACKS[2]
    renamed = replace(
        SUITE,
        claims=tuple(
            replace(one, test=one.test and one.test.replace("aspen:plain", first).replace("cedar:plain", second))
            for one in SUITE.claims
        ),
        tables=(replace(SUITE.tables[0], values={first: 900.0, second: 600.0, "yew:old": 1.0}),),
    )
    return Replication(
        renamed, run, judgement.judge(renamed.claims, run.trials), judgement.read_tables(renamed.tables, run.trials)
    )


def test_markdown_is_the_golden_one() -> None:
    """Claims, verdicts and both columns of the table, with what would break a table escaped."""
    golden.check("replication.md", replication.markdown(found(), "quick"))


def test_page_has_every_claim_and_row_and_escapes_all() -> None:
    """Each claim stands on the page with its verdict; text of the suite cannot become markup; nothing is fetched."""
    html = replication.html(found(), "quick")
    for one in SUITE.claims:
        assert f'<tr id="{one.id}">' in html
    assert "needs &lt;ten&gt; cores" in html and "Six trees in &lt;one&gt; garden." in html
    assert "default-src 'none'" in html and "<script" not in html
    assert "http://" not in html.replace("http://www.w3.org", "") and "https://" not in html
    assert "Of 3 claims 1 holds, 1 does not and 1 cannot be tested here." in html


def test_bars_are_scaled_to_their_own_column() -> None:
    """The largest number of each column has the full length, and a row without ours has none."""
    (reading,) = found().tables
    lengths = [(replication.share(reading, row, True), replication.share(reading, row, False)) for row in reading.rows]
    assert max(length for length, _ in lengths if length is not None) == 100
    assert max(length for _, length in lengths if length is not None) == 100
    assert lengths[2][1] is None
    assert replication.factor(reading.rows[2]) == "—"


def test_a_table_that_nothing_measures_says_why() -> None:
    """The page and the Markdown give the reason in place of an order; a published zero has a bar of no length and no ratio."""
    whole = found()
    table = PublishedTable("Late", None, "requests", "", {"aspen": 0.0}, unmeasured="PM2 was not run")
    told = replace(whole, tables=judgement.read_tables([table], whole.run.trials))
    assert "<p>Not measured here: PM2 was not run.</p>" in replication.html(told, "quick")
    assert "**Late** (requests): not measured here: PM2 was not run" in replication.markdown(told, "quick")
    (row,) = told.tables[0].rows
    assert replication.share(told.tables[0], row, True) == 0 and replication.factor(row) == "—"
    assert replication.factor(replace(row, measured=3.0)) == "—"


def test_equal_numbers_have_no_order() -> None:
    """A table of zeros, all of them measured, is not called too small."""
    (whole,) = found().tables
    even = replace(whole, correlation=None, rows=tuple(replace(row, published=0.0, measured=0.0) for row in whole.rows))
    assert replication.agreement(even) == "3 of 3 rows were measured, and one side has no order: all of its numbers are equal"
    one = replace(whole, correlation=None, rows=(replace(whole.rows[0], measured=1.0), replace(whole.rows[1], measured=None)))
    assert replication.agreement(one) == "1 of 2 rows were measured, too few for an order"
