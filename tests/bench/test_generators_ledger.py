"""What the benchmark's readers take from each generator's output, and how it is held against the ledger."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from builders.bench import bench
from builders.paths import ROOT

SCRIPTS = sorted((ROOT / "engine" / "tests" / "faults").glob("*.toml"))


WRK = """Running 1s test @ http://127.0.0.1:7101/x
  139 requests in 2.04s, 15.52KB read
  Socket errors: connect 1, read 60, write 2, timeout 3
  Non-2xx or 3xx responses: 40
Requests/sec:     68.07
"""
AB = """Complete requests:      1000
Failed requests:        30
   (Connect: 0, Receive: 10, Length: 15, Exceptions: 5)
Non-2xx responses:      12
Requests per second:    990.10 [#/sec] (mean)
"""
HEY = """Summary:
  Requests/sec:\t150.5

Status code distribution:
  [200]\t110 responses
  [503]\t18 responses

Error distribution:
  [17]\tGet "http://127.0.0.1:7101/x": context deadline exceeded (Client.Timeout exceeded while awaiting headers)
  [9]\tGet "http://127.0.0.1:7101/x": read tcp 127.0.0.1:1->127.0.0.1:2: read: connection reset by peer
  [4]\tGet "http://127.0.0.1:7101/x": read tcp 127.0.0.1:3->127.0.0.1:2: read: connection reset by peer
"""
OHA = json.dumps(
    {
        "summary": {"total": 2.0},
        "statusCodeDistribution": {"200": 90, "404": 10},
        "errorDistribution": {"aborted due to deadline": 4, "timeout": 5, "connection reset": 6},
    }
)
FAIRLOAD = json.dumps(
    {
        "life": {"sent": 100, "outcomes": {"ok": 70, "shed": 6, "status": {"404": 5}, "wrong_body": 8, "timeout": 11}},
        "window": {"completed": 90, "duration_us": 500_000},
    }
)
SILENT_AB = "apr_pollset_poll: The timeout specified has expired (70007)\nTotal of 16 requests completed\n"


@pytest.mark.parametrize(
    ("reader", "stdout", "expected"),
    [
        ("read_wrk", WRK, (139, 99, 103, 3, 68.07)),
        ("read_ab", AB, (1000, 970, 30, None, 990.10)),
        ("read_hey", HEY, (158, 110, 31, 17, 150.5)),
        ("read_oha", OHA, (111, 90, 16, 5, 50.0)),
        ("read_fairload", FAIRLOAD, (100, 70, 19, 11, 180.0)),
        ("read_ab", SILENT_AB, (None, None, None, None, None)),
        ("read_wrk", "unable to connect to 127.0.0.1:7101 Connection refused\n", (None, None, None, None, None)),
    ],
)
def test_each_number_of_a_report_lands_in_its_field(reader: str, stdout: str, expected: tuple[float | None, ...]) -> None:
    """Completed, good, errors, timeouts and rate are those of the report, and a report without numbers gives none."""
    generators = bench("generators")
    seen = getattr(generators, reader)(generators.Ran(stdout, "", 0, 0.0, 1.0))
    assert (seen.completed, seen.ok, seen.errors, seen.timeouts, seen.requests_per_s) == expected
    assert seen.words


def test_errors_that_differ_in_their_ports_are_one() -> None:
    """hey prints one line for each pair of ports; the words are those of the fault."""
    generators = bench("generators")
    words = generators.read_hey(generators.Ran(HEY, "", 0, 0.0, 1.0)).words
    assert words == "[200] 110 · [503] 18 · 17 “context deadline exceeded” · 13 “connection reset by peer”"


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
        exact, plain = (one.argv(shape, tmp_path) for one in (generators.FAIRLOAD_GENERATOR, generators.STATUS_ONLY))
        assert exact == [*plain, "--expect-body", case.body]


@pytest.mark.live
def test_what_comparing_costs_can_be_measured() -> None:
    """Both generators of each pair have their rounds, and every answer of the one that compares is right."""
    engine, generators = bench("engine"), bench("generators")
    if not generators.FAIRLOAD.exists():
        pytest.skip("the engine is not built")
    for case in (case for case in engine.CASES if case.body is not None):
        with engine.serving("null", 7111, [min(os.sched_getaffinity(0))], case.body):
            shape = generators.Shape(7111, 4, 0.2, expect_body=case.body)
            seen = generators.read_fairload(generators.FAIRLOAD_GENERATOR.run(shape))
        assert seen.ok and "wrong body" not in seen.words, seen.words
        samples = engine.measure(case, 1, 0.2, 7111)
        assert [one.generator for one in samples] == ["fairload", "status only"]


def test_a_method_is_every_generators(tmp_path: Path) -> None:
    """HEAD is asked for as each generator wants it."""
    generators = bench("generators")
    shape = generators.Shape(7101, 4, 1.0, method="HEAD")
    argv = {name: getattr(generators, f"{name}_argv")(shape, tmp_path) for name in ("fairload", "wrk", "ab", "hey", "oha")}
    assert argv["ab"].count("-i") == 1
    assert 'wrk.method = "HEAD"' in Path(argv["wrk"][argv["wrk"].index("-s") + 1]).read_text()
    for name, option in (("fairload", "-X"), ("hey", "-m"), ("oha", "-m")):
        assert argv[name][argv[name].index(option) + 1] == "HEAD", name


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
    row = ledger.observe(file, ledger.with_plan())
    assert row.truth.requests > 20 and row.seen.ok == row.truth.ok
    assert f"| fairload | {row.truth.words} |" in ledger.page([row]) and ledger.mark(row) == "agrees"
