"""The page and the CSV: what they say, what they must not say, and how large they may be."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import re
from dataclasses import replace
from functools import cache

import pytest

from builders.pages import section, section_html, text_of
from fairground.model import AuditLine, Run, Verdict
from fairground.report import frame
from fairground.report.boards import boards
from fairground.report.charts import dots
from fairground.report.run import page
from fairground.report.text import words
from fairground.report.trial import trial_page
from fairground.stats.differences import DifferenceWord
from fairground.stats.modes import StartModes
from report import fixture, golden

PAGE_LIMIT_BYTES = 2_000_000
WHOLE_LIMIT_BYTES = 1_200_000
"""Of a page of all of the lab's stacks and workloads."""


@cache
def bare(blocks: int) -> str:
    """The page of a small run."""
    return page.html(fixture.two_blocks() if blocks == 2 else fixture.one_block())


@cache
def evidence(blocks: int) -> str:
    """The second page of a small run."""
    return page.details(fixture.two_blocks() if blocks == 2 else fixture.one_block())


@cache
def largest() -> tuple[Run, str]:
    """80 stacks on 9 workloads in 6 blocks, and its page with its charts drawn. It has the links of a site, so it is the larger one."""
    run = fixture.big_run()
    return run, page.html(run, home="../index.html")


def test_text_of_the_page_is_the_golden_one() -> None:
    """Everything that the first page says about a run of one block."""
    golden.check("page.txt", text_of(bare(1)))


def test_text_of_the_evidence_is_the_golden_one() -> None:
    """Everything that the second page says about a run of one block."""
    golden.check("details.txt", text_of(evidence(1)))


def test_csv_is_the_golden_one() -> None:
    """Every trial on its line, every number of the fixture different, so that a crossed wire shows."""
    golden.check("summary.csv", page.summary_csv(fixture.two_blocks()))


def test_one_block_judges_no_difference() -> None:
    """Without a second block the page shows no interval and calls no stack less, equal or unclear."""
    said = text_of(bare(1))
    assert "in one block: there is no interval, so differences between stacks are not judged." in said
    assert not re.search(r"% less than|equal within|run cannot tell|CI \d", said)


def test_two_blocks_say_less_only_where_the_interval_carries_it() -> None:
    """birch is 2 % behind; where that is not decided it is not called less; fir at a quarter of the speed is."""
    board = boards(fixture.two_blocks())[1]
    assert board.goodput is not None
    rows = [
        replace(row, difference=replace(row.difference, word=DifferenceWord.INCONCLUSIVE)) if row.stack == "birch:pool" else row
        for row in board.goodput.rows
    ]
    groups = (("alder:inline", "birch:pool"), *board.goodput.groups[2:])
    said = " ".join(words.verdicts(replace(board, goodput=replace(board.goodput, rows=tuple(rows), groups=groups)), ()))
    assert "This run cannot tell birch:pool from alder:inline" in said
    assert not re.search(r"birch:pool (gives )?[\d.]+ % (less|more)", said)
    assert re.search(r"fir:raw gives 77[.\d]* % less than alder:inline \(95 % CI ", said)


def test_two_modes_of_a_stack_are_said_with_their_shares() -> None:
    """How often each mode came and what it gives, and that the mean is of neither."""
    board = boards(fixture.two_blocks())[1]
    assert board.goodput is not None
    both = replace(board, goodput=replace(board.goodput, modes=(StartModes("fir:raw", (1, 3, 4, 5), (2, 6), 1200.0, 1500.0),)))
    said = " ".join(words.verdicts(both, ()))
    assert "fir:raw has two modes: 2 of 6 starts give 1,500 good answers a second, and the other 4 give 1,200." in said
    assert "two modes" not in " ".join(words.verdicts(board, ()))


def test_a_rejected_or_void_stack_shows_its_reason_and_no_number() -> None:
    """Its row holds a dash and the sentence of the check; its line in the CSV has no goodput and no latency."""
    assert re.search(
        r">cedar:plain</dt><dd>[^/]*/0014.html\">14</a> <span[^>]*>✗ rejected</span>", section_html(evidence(2), "trials")
    )
    row = re.search(r"(?s)>cedar:<wbr>plain</a></th>(.*?)</tr>", bare(2).split('id="t-transfer"')[1])
    assert row is not None
    said = "— ✗ rejected 3 of 6,746 acknowledged transfers are not in the database 2 rejected 14 32"
    assert " ".join(text_of(row[1]).split()) == said
    lines = list(csv.DictReader(io.StringIO(page.summary_csv(fixture.two_blocks()))))
    judged = [line for line in lines if line["verdict"] in ("void", "rejected")]
    assert len(judged) == 5
    for line in judged:
        assert (line["goodput_per_s"], line["latency_p50_us"], line["latency_p99_us"], line["cpu_server_us_per_answer"]) == (
            "",
            "",
            "",
            "",
        )
        assert line["reason"]


def test_unknown_is_a_dash_and_an_empty_cell_but_never_zero() -> None:
    """elm's generator counts no timeouts and its machine shows no CPU: that prints as unknown."""
    lines = list(csv.DictReader(io.StringIO(page.summary_csv(fixture.two_blocks()))))
    elm = [line for line in lines if line["stack"] == "elm:async"]
    assert {(line["timeout"], line["cpu_server_us_per_answer"], line["commits"]) for line in elm} == {("", "", "")}
    outcomes = section(evidence(2), "outcomes").split("elm:async")[1]
    assert outcomes.split("\n")[1:5] == ["174,954", "–", "0", "–"]


def test_audit_shows_acknowledged_and_found_of_every_trial() -> None:
    """For each audited trial of tx and transfer the counts stand side by side, and the broken lines are marked."""
    shown = section(evidence(2), "audit")
    for trial in fixture.two_blocks().trials:
        for line in trial.audit:
            assert line.found is None or words.count(line.found) in shown
    assert shown.count("✗ does not hold") == 4
    assert "16 of 22 lines in 12 audited trials hold, 2 could not be checked, ✗ 4 do not ." in shown.replace("\n", " ")


def test_a_statement_that_fails_is_a_line_that_does_not_hold() -> None:
    """Nothing found where something was expected is shown as broken, not as unchecked."""
    run = fixture.one_block()
    failed = AuditLine("ledger", "the rows can be read", None, 0, 0)
    trials = tuple(replace(trial, audit=(failed,)) if trial.number == 6 else trial for trial in run.trials)
    shown = section(page.details(replace(run, trials=trials)), "audit")
    assert "the rows can be read alder:inline 6 (block 1)" in shown.replace("\n", " ")
    assert shown.split("the rows can be read")[1].split("✗ does not hold")[0].count("holds") == 0


def test_text_from_outside_cannot_become_markup() -> None:
    """Standard error with a script and terminal escapes is shown as text, without the escapes."""
    run = fixture.two_blocks()
    pages = dict(trial_page.pages(run))
    markup = next(pages[words.trial_page(one)] for one in run.trials if one.verdict is Verdict.REJECTED)
    assert not any("<script>alert" in one for one in (bare(2), evidence(2), *pages.values()))
    assert "&lt;script&gt;alert(" in markup
    assert "\x1b" not in markup and "\x07" not in markup
    assert "panic: <script>alert('stderr')</script> & \"quoted\" in handler" in text_of(markup)


def test_hostile_names_are_escaped() -> None:
    """A title, a reason and a diagnosis with markup stay text."""
    run = fixture.one_block()
    bad = "<img src=x onerror=alert(1)>"
    trials = tuple(replace(trial, diagnosis=bad) if trial.diagnosis else trial for trial in run.trials)
    hostile = replace(run, trials=trials, plan=replace(run.plan, title=bad, skipped={bad: bad}))
    assert "<img" not in page.html(hostile) + page.details(hostile)


def test_policy_lets_the_one_script_run_and_nothing_else() -> None:
    """The hash in the policy is that of the script in the page, and nothing refers to another place."""
    markup = bare(2)
    scripts = re.findall(r"(?s)<script>(.*?)</script>", markup)
    assert len(scripts) == 1
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in markup
    assert len(scripts[0].encode()) <= 20_000
    assert not re.search(r'(?:src|xlink:href)="(?!data:)', markup)
    assert set(re.findall(r'<link[^>]*href="([^"]*)"', markup)) == {"data:,"}


def test_a_heading_stays_a_heading() -> None:
    """A role on it would take its place: what is read out as it changes stands inside."""
    environment = frame.environment()
    assert environment.loader is not None
    sources = {name: environment.loader.get_source(environment, name)[0] for name in environment.list_templates(["html"])}
    assert len(sources) > 10 and not [name for name, text in sources.items() if re.search(r"<h[1-6][^>]* role=", text)]


def test_the_durability_of_a_given_server_is_not_the_labs() -> None:
    """Where its settings say nothing of `fsync`, commits wait for the disk: nobody is told of relaxed durability."""
    own = fixture.two_blocks()
    given = replace(own, database_settings={"shared_buffers": "1GB"})
    for run, said in ((own, "relaxed durability (fsync off)"), (given, "the given server's own durability")):
        assert said in page._constants(run)
        assert run.durability_of(run.trials[0].cell.settings) in text_of(trial_page.html(run, run.trials[0]))
        assert any("Durability is relaxed" in one for one in words.doubts(run, boards(run))) is (run is own)
        rows = csv.DictReader(io.StringIO(page.summary_csv(run)))
        assert {row["durability"] for row in rows} == {run.durability_of(run.trials[0].cell.settings)}


def test_doubts_follow_the_facts_of_the_run() -> None:
    """Four to six sentences; the one about a single block appears only there."""
    single = words.doubts(fixture.one_block(), boards(fixture.one_block()))
    double = words.doubts(fixture.two_blocks(), boards(fixture.two_blocks()))
    assert 4 <= len(single) <= 6 and 4 <= len(double) <= 6
    assert any("one block only" in sentence for sentence in single)
    assert not any("one block only" in sentence for sentence in double)


def test_an_interrupted_run_says_so_and_names_what_was_not_measured() -> None:
    """With no trial at all the page still stands, without a number."""
    run: Run = replace(fixture.one_block(), trials=(), finished=False)
    said = text_of(page.html(run))
    assert "Interrupted: 17 planned trials were not measured." in said
    assert "No stack has a number here." in said
    assert "not measured: the run ended before its turn" in said


def test_a_trial_that_was_repeated_is_one_of_the_plan() -> None:
    """Attempts of one slot do not hide that another slot has none."""
    run = fixture.one_block()
    first, *others = run.trials
    trials = (replace(first, verdict=Verdict.VOID), replace(first, attempt=2), *others[:-1])
    assert len(trials) == len(run.plan.slots)
    said = text_of(page.html(replace(run, trials=trials, finished=False)))
    assert "Interrupted: 1 planned trial was not measured." in said


@pytest.mark.nightly
def test_largest_page_keeps_its_budget_and_says_what_it_leaves_out() -> None:
    """80 stacks × 9 workloads × 6 blocks: pages of at most 2 MB and 2,000 table rows, with every stack and every trial."""
    run, markup = largest()
    assert len(markup.encode()) <= PAGE_LIMIT_BYTES
    assert markup.count("<tr") <= 2_000
    assert markup.count("<tr data-row") == 720
    details = page.details(run)
    assert len(details.encode()) <= PAGE_LIMIT_BYTES
    assert details.count("<tr") <= 2_000
    said = text_of(details)
    assert set(re.findall(r'href="(trials/[^"]+)"', details)) == {words.trial_page(one) for one in run.everything}
    assert said.count("56 more stacks would crowd the chart") == 9  # 72 with numbers, 16 drawn, on nine boards
    assert {str(trial.verdict) for trial in run.trials} == {str(Verdict.VALID), str(Verdict.VOID), str(Verdict.REJECTED)}


@pytest.mark.nightly
def test_a_page_of_the_whole_lab_is_small() -> None:
    """31 stacks × 9 workloads × 6 blocks are one file of at most 1.2 MB, with every stack in grid and table."""
    run = fixture.big_run(stacks=31)
    markup = page.html(run)
    assert len(markup.encode()) <= WHOLE_LIMIT_BYTES
    assert (
        markup.count("<tr data-row") == 279
        and len(re.findall(r'<td id="[^"]*" data-w="[^"]*" class="[^"]*number"', markup)) > 200
    )


def test_a_stack_alone_is_beside_no_other() -> None:
    """What is left out of an interval, since the machine did it to all stacks, is told only where there are several."""
    for stacks, told in ((1, 0), (2, 2)):
        run = fixture.big_run(stacks=stacks, workloads=1, blocks=2)
        assert text_of(page.html(run)).count("beside the other stacks") == told


def test_more_blocks_are_advised_where_they_would_tell_stacks_apart() -> None:
    """One stack has nobody to be held against, however many blocks there are."""
    for stacks, told in ((1, False), (2, True)):
        said = text_of(page.html(fixture.big_run(stacks=stacks, workloads=1, blocks=1)))
        assert "There is one block" in said and ("With --blocks 6 they can." in said) == told


@pytest.mark.nightly
def test_a_site_of_the_largest_run_loads_its_details() -> None:
    """The page of 80 × 9 × 6 links trials to pages of their own."""
    run, markup = largest()
    linked = set(re.findall(r'href="(trials/[^"]+)"', markup))
    assert linked and linked <= {words.trial_page(one) for one in run.everything}


def test_a_share_of_the_ceiling_is_shown_only_where_there_is_one() -> None:
    """Where locks limit a workload pgbench's rate stands as what it is: no share in a sentence, in a table, or as a line."""
    found = fixture.two_blocks()
    ceilings = tuple(replace(one, clients=16) for one in found.limits)
    locked = replace(found, limits=tuple(replace(one, is_ceiling=False) for one in ceilings))
    limited, free = (
        next(one for one in boards(run) if one.limit.source == "pgbench") for run in (locked, replace(found, limits=ceilings))
    )
    assert "what pgbench reaches with the same SQL and 16 clients" in " ".join(words.verdicts(free, ()))
    said = " ".join(words.verdicts(limited, ()))
    assert "pgbench, with the same statements and 16 clients, does" in said and "no ceiling" in said
    assert not re.search(r"reach(es)? \d", said)
    row = limited.numbered[0]
    assert free.share_of_ceiling(row) is not None and limited.share_of_ceiling(row) is None
    assert 'class="limit"' in dots.dots(free, row) and 'class="limit"' not in dots.dots(limited, row)
