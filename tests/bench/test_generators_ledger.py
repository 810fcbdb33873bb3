"""What each generator tells of a load by the lab's own readers, and how it is held against the ledger."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from builders.bench import bench
from builders.paths import ROOT

SCRIPTS = sorted((ROOT / "engine" / "tests" / "faults").glob("*.toml"))


def test_the_labs_own_readers_tell_what_a_generator_saw(tmp_path: Path) -> None:
    """A report is summed up as good, failed and late; one without numbers gives none, and its last words."""
    generators = bench("generators")
    shape = generators.Shape(7101, 4, 1.0)
    (tmp_path / "report.json").write_text(
        '{"duration_us":2000000,"requests":139,"bytes":9,"connect":1,"read":60,"write":2,"status":40,"timeout":3,"values":0,"counts":[]}'
    )
    seen = generators.WRK.read(shape, generators.Ran("", "", 0, 0.0, 1.0), tmp_path)
    assert (seen.completed, seen.ok, seen.errors, seen.timeouts, seen.requests_per_s) == (139, 96, 103, 3, 69.5)
    assert seen.words == "96 ok · 3 timeout · 1 connect · 62 reset · 40 unclassified"
    gave_up = "apr_pollset_poll: The timeout specified has expired (70007)\nTotal of 16 requests completed\n"
    for one in (generators.AB, generators.HEY, generators.OHA, generators.FAIRLOAD_GENERATOR):
        silent = one.read(shape, generators.Ran("", gave_up, 1, 0.0, 1.0), tmp_path)
        assert (silent.completed, silent.ok, silent.errors, silent.requests_per_s) == (None, None, None, None)
        assert silent.words.startswith("no result: ") and ("70007" in silent.words or "16 requests" in silent.words)


@pytest.mark.parametrize(
    ("seen", "outcomes", "mark"),
    [
        ((100, 90, 10, 0), {"ok": 90, "reset": 10}, "agrees"),
        ((100, 88, 10, 0), {"ok": 90, "reset": 10}, "agrees"),
        ((100, 100, 0, 0), {"ok": 90, "reset": 10}, "+10 ok"),
        ((80, 80, 0, 0), {"ok": 90, "shed": 10}, "−10 ok, 20 uncounted"),
        ((100, 90, 20, 0), {"ok": 90, "reset": 10}, "10 too many"),
        ((60, 60, 0, 0), {"ok": 60, "timeout": 4}, "4 hung, unsaid"),
        ((64, 60, 0, 4), {"ok": 60, "timeout": 4}, "agrees"),
        ((None, None, None, None), {"ok": 60}, "no result"),
        ((0, 0, 0, 0), {"ok": 3}, "nothing counted"),
    ],
)
def test_a_report_is_held_against_the_ledger(seen: tuple[int | None, ...], outcomes: dict[str, int], mark: str) -> None:
    """Differences beyond what may be on its way at the end are named; four connections here."""
    ledger, generators = bench("ledger"), bench("generators")
    truth = ledger.Truth(outcomes, sum(outcomes.values()))
    row = ledger.Row("script", "about", "tool", 4, truth, generators.Seen(*seen, "words"), hangs=True)
    assert ledger.mark(row) == mark
    assert (ledger.sentence(row) == "agrees with the ledger") == (mark == "agrees")


def test_ratios_are_taken_inside_a_round() -> None:
    """A machine that is half as fast in the second round leaves the ratio as it is."""
    engine, generators = bench("engine"), bench("generators")
    case = engine.Case("case", "null", False, 1, (generators.WRK,), 0.9, 1.1)
    samples = [
        engine.Sample("fairload", 0, 1500.0, 2.0), engine.Sample("wrk", 0, 1000.0, 4.0),
        engine.Sample("wrk", 1, 500.0, 8.0), engine.Sample("fairload", 1, 750.0, 4.0),
    ]  # fmt: skip
    table = engine.table(case, samples)
    assert "1.50 (1.50–1.50)" in table and "0.50 (0.50–0.50)" in table and "aim: CPU ≤ 0.90, requests/s ≥ 1.10" in table


def test_the_overview_shows_each_case_beside_its_bars() -> None:
    """A bar that is met stands plain, one that is missed is bold, and a rival that is missing is named."""
    engine, generators = bench("engine"), bench("generators")
    case = engine.Case("case", "null", False, 1, (generators.WRK,), 0.6, 1.6)
    alone = engine.Case("open", "null", False, 1, (generators.OHA,), 1.0, None, rate_per_s=1)
    mine, theirs = engine.Sample("fairload", 0, 1500.0, 2.0), engine.Sample("wrk", 0, 1000.0, 4.0)
    text = engine.overview({case: [mine, theirs], alone: [mine]})
    assert "| case | wrk | 0.50 (0.50–0.50), ≤ 0.60 | **1.50 (1.50–1.50), ≥ 1.60** |" in text
    assert "| open | oha: not installed | – | – |" in text


def test_a_missing_rival_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What is not installed is left out in plain sight."""
    engine = bench("engine")
    monkeypatch.setenv("PATH", str(tmp_path))
    lacking = engine.missing_rivals(engine.CASES)
    assert [name for name in lacking if name != "fairload"] == ["ab", "hey", "oha", "wrk"]  # the engine may not be built here


def test_the_engine_is_held_against_itself_without_its_comparison(tmp_path: Path) -> None:
    """Both runs are one and the same but for the body that every answer is compared with."""
    engine, generators = bench("engine"), bench("generators")
    pairs = [case for case in engine.CASES if case.body is not None]
    assert pairs and all(case.rivals == (generators.STATUS_ONLY,) and case.cpu_bar == 1.03 for case in pairs)
    assert {len(case.body) > 10_000 for case in pairs} == {True, False}
    for case in pairs:
        shape = generators.Shape(7101, case.connections, 1.0, expect_body=case.body)
        for one, body in ((generators.FAIRLOAD_GENERATOR, {"exact": case.body}), (generators.STATUS_ONLY, None)):
            assert one.argv(shape, tmp_path) == ["run", "--plan", "plan.json"]
            (request,) = json.loads((tmp_path / "plan.json").read_text())["requests"]
            assert request["expect"]["body"] == body


@pytest.mark.live
def test_what_comparing_costs_can_be_measured() -> None:
    """Both generators of each pair have their rounds, and every answer of the one that compares is right."""
    engine, generators = bench("engine"), bench("generators")
    if not generators.FAIRLOAD.exists():
        pytest.skip("the engine is not built")
    for case in (case for case in engine.CASES if case.body is not None):
        with engine.serving("null", 7111, [min(os.sched_getaffinity(0))], case.body):
            shape = generators.Shape(7111, 4, 0.2, expect_body=case.body)
            seen, _ = generators.FAIRLOAD_GENERATOR.run(shape)
        assert seen.ok and "wrong body" not in seen.words, seen.words
        samples = engine.measure(case, 1, 0.2, 7111)
        assert [one.generator for one in samples] == ["fairload", "status only"]


def test_a_method_is_every_generators(tmp_path: Path) -> None:
    """HEAD is asked for as each generator wants it."""
    generators = bench("generators")
    shape = generators.Shape(7101, 4, 1.0, method="HEAD")
    argv = {one.name: one.argv(shape, tmp_path) for one in (generators.WRK, generators.AB, generators.HEY, generators.OHA)}
    assert argv["ab"].count("-i") == 1 and "-m" not in argv["ab"]
    assert 'wrk.method = "HEAD"' in (tmp_path / argv["wrk"][argv["wrk"].index("-s") + 1]).read_text()
    for name in ("hey", "oha"):
        assert argv[name][argv[name].index("-m") + 1] == "HEAD", name


def test_a_generator_without_a_number_has_no_ratio() -> None:
    """A report that counts nothing ends the benchmark with the generator's own words."""
    engine, generators = bench("engine"), bench("generators")
    with pytest.raises(RuntimeError, match="wrk reported no requests: it broke"):
        engine.sample("wrk", 0, generators.Seen(None, None, None, None, "it broke"), 1.0)


def test_the_page_tells_of_every_script() -> None:
    """`docs/evidence.md` has a section for each fault script, and in none of them the engine differs from the ledger."""
    page = (ROOT / "docs" / "evidence.md").read_text().split("<!-- generators -->")[1]
    sections = {part.split("\n", 1)[0]: part for part in page.split("\n#### ")[1:]}
    assert list(sections) == [script.stem for script in SCRIPTS]
    for name, section in sections.items():
        rows = [line for line in section.splitlines() if line.startswith("| fairload |")]
        assert len(rows) == 1 and rows[0].endswith("| agrees with the ledger |"), name


@pytest.mark.live
@pytest.mark.parametrize("script", ["everything", "one-request-each"])
def test_the_page_can_be_made_again(script: str, tmp_path: Path) -> None:
    """The command runs the engine on a script and writes a page on which it agrees with the ledger."""
    ledger, generators = bench("ledger"), bench("generators")
    if not generators.FAIRLOAD.exists():
        pytest.skip("the engine is not built")
    file = next(file for file in SCRIPTS if file.stem == script)
    row = ledger.observe(file, generators.FAIRLOAD_GENERATOR)
    assert row.truth.requests > 20 and row.seen.ok == row.truth.ok
    assert f"| fairload | {row.truth.words} |" in ledger.page([row]) and ledger.mark(row) == "agrees"
