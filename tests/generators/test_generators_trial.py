"""What a trial makes of a generator that keeps no ledger: bounds in the audit, notes instead of guesses, and cross-checks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from typer.testing import CliRunner

from builders import facts, stored
from builders.contracts import SEEDS
from builders.paths import ROOT
from builders.requests import asking
from builders.statements import Answers
from fairground import generators, records
from fairground.cli.verbs import app
from fairground.inputs import manifest, workload_files
from fairground.judge import answers, thresholds, validity
from fairground.lab import cross_check
from fairground.lab.events import Event, Finished, Planned, Reported
from fairground.lab.places import Places
from fairground.lab.preparation import Inputs
from fairground.measure import audit
from fairground.model import (
    Audit,
    Cell,
    CellSettings,
    DatabaseUse,
    Invariant,
    LabError,
    Latency,
    LedgerCheck,
    Load,
    Needs,
    Outcomes,
    Result,
    RoleUse,
    Server,
    Severity,
    Suite,
    Topology,
    Trial,
    Variant,
    Verdict,
)
from fairground.model.record import CrossCheckAsked, RecordKind
from fairground.postgres import Database
from fairground.run import plan
from fairground.stats import agreement, intervals

TX = next(one for one in workload_files.load_workloads(SEEDS) if one.id == "tx")
USE = DatabaseUse(100, 0, 0, 0, None, None, {}, 0)


def result(ok: int = 100, uncounted: int | None = 8, **fields: Any) -> Result:
    """What a tool like wrk reports: good answers and late ones, and nothing of what was on its way at the end."""
    counts = Outcomes(ok, None, {}, None, 2, 0, 0, None, None, None, 0)
    plain: dict[str, Any] = {
        "generator": "wrk 4", "command": ("wrk",), "window_s": 1.0, "completed": ok + 2, "in_flight_start": None,
        "in_flight_end": None, "latency_ok": None, "uncounted_most": uncounted,
    }  # fmt: skip
    return facts.result(counts, **(plain | fields))


# ---------------------------------------------------------------- audit


CHECKED = replace(
    asking(TX, needs=Needs(1.0)),
    audit=Audit(
        True,
        (
            Invariant("rows", "one row each", "count", "before + acknowledged", True),
            Invariant("exactly", "exactly one row each", "count", "before + acknowledged"),
            Invariant("sum", "no loss", "total", "before"),
        ),
        (LedgerCheck("credits", "by_account"),),
    ),
)  # fmt: skip


def holding(found: Result, rows: int, total: int = 5) -> dict[str, bool]:
    """Which lines of the audit hold when so many rows came, after 100 acknowledged and 2 late answers."""
    before = audit.before(cast(Database, Answers(count=[(50,)], total=[(5,)], by_account=[(1, 10)])), CHECKED)
    after = cast(Database, Answers(count=[(50 + rows,)], total=[(total,)], by_account=[(1, 99)]))
    return {line.id: line.holds for line in audit.lines(after, CHECKED, found, USE, before)}


@pytest.mark.parametrize(("rows", "holds"), [(99, False), (100, True), (110, True), (111, False)])
def test_acknowledged_answers_are_a_lower_bound(rows: int, holds: bool) -> None:
    """Fewer rows than good answers is a lie; more are allowed for late answers and for what was dropped, and no further."""
    assert holding(result(), rows) == {"commits": True, "commits-most": True, "rows": holds, "exactly": holds, "sum": True}


def test_no_upper_bound_where_nobody_knows() -> None:
    """A tool that lost count of its requests gives a lower bound only."""
    assert holding(result(uncounted=None), 5000)["rows"] and not holding(result(uncounted=None), 99)["rows"]


def test_conservation_needs_no_count() -> None:
    """A sum that must stay is held exactly, whatever the generator knows."""
    assert not holding(result(uncounted=None), 100, total=6)["sum"]


def test_ledger_is_left_out_and_said() -> None:
    """Without a ledger its line is not in the audit, and notes say so; nothing is warned of or voided."""
    assert "ledger-credits" not in holding(result(), 100)
    found = answers.accounting(result(caveats=("it does not check bodies",)), CHECKED)
    assert {(one.id, one.severity) for one in found} == {(id, Severity.NOTE) for id in ("accounting", "no-ledger", "uncounted")}
    assert "keeps no ledger, so that the rows of credits were not held" in found[1].sentence
    assert answers.accounting(result(ledgers={}, uncounted=0), CHECKED) == ()


def test_what_is_unknown_voids_nothing() -> None:
    """A result in which most is None gives notes of an unknown warm-up, and no other finding of the instrument."""
    found = answers.warmup((), False, thresholds.standard().rules)
    assert [(one.id, one.severity) for one in found] == [("warm-up", Severity.NOTE)]
    assert "reported no second of the warm-up" in found[0].sentence
    plain = Cell("s:v", "ping", Topology(), Load(generator="wrk"), CellSettings())
    assert validity.findings(validity.TrialFacts(1.0, plain, result()), thresholds.standard()) == ()
    assert [one.id for one in answers.outcomes(result())] == ["errors"]


def test_unclassified_failures_are_errors_of_unknown_outcome() -> None:
    """They are in the total, not in the good ones, and the server may have carried them out."""
    counts = Outcomes(5, None, {}, None, None, 0, None, None, None, None, 3)
    assert (counts.total, counts.not_ok, counts.unknown) == (8, 3, 3)
    assert "3 × without a good answer" in answers.outcome_words(counts)


def test_share_of_a_single_thread() -> None:
    """One thread's share is the CPU that the lab saw it use; of several threads the busiest is not known, nor the engine's changed."""
    use = RoleUse(cpu_us=950_000.0, memory_peak_bytes=None, threads_peak=None, source="cgroup2")

    def share(**load: Any) -> float | None:
        return generators.with_share(result(), Load(**load), use).busiest_thread_share

    assert share(generator="ab") == share(generator="wrk") == 0.95
    assert share(generator="wrk", threads=2) is share(generator="k6") is share(generator="engine") is None


# ---------------------------------------------------------------- plan


def test_cells_of_a_missing_generator_are_left_out() -> None:
    """A tool that is not here takes its cells with it, with the reason; the others stay. Nothing left is an error."""
    server = Server("s", "T", "L", "-", "a", Path("s"), (), (), ("v",), ("s",), {"v": Variant("v", "a")}, {}, SEEDS)
    loads = (Load(), Load(generator="k6"))
    why = {"generator k6": "`k6` is not installed → get it"}

    def made(loads: tuple[Load, ...]) -> Any:
        part = plan.PlanPart(server.stacks, (TX,), loads, (Topology(),), CellSettings())
        return plan.build(Suite("", "t", "", 2, 1, (), controls=False), (part,), "run", why)

    assert {slot.cell.load.generator for slot in made(loads).slots} == {"engine"} and made(loads).skipped == why
    with pytest.raises(LabError, match="nothing is left to measure .*`k6` is not installed → get it"):
        made(loads[1:])


def suite(folder: Path, *lines: str) -> Suite:
    """A suite with these lines about its load."""
    path = folder / "one.toml"
    head = ['title = "one"', 'about = "one"', "blocks = 1", "seed = 1", 'stacks = ["all"]', 'workloads = ["users"]']
    path.write_text("\n".join([*head, "connections = [128]", *lines]) + "\n")
    return manifest.load_suite(path)


def test_suites_name_generators(tmp_path: Path) -> None:
    """A suite says which generator loads, with how many threads, at which rate or for how many requests."""
    said = suite(tmp_path, 'generator = "ab"', "requests = 1000", "warmup = [0, 0]", "keep_alive = false")
    (load,) = said.groups[0].loads
    assert (load.generator, load.requests, load.model, load.id) == ("ab", 1000, "closed", "c128-1000requests-close-ab")
    (load,) = suite(tmp_path, "think_ms = 5").groups[0].loads
    assert (load.think_ms, load.id) == (5.0, "c128-think5ms")
    (load,) = suite(tmp_path, 'generator = "k6"', "stages = [[20.0, 150], [10.0, 600]]").groups[0].loads
    assert (load.stages, load.window_s, load.most_connections) == (((20.0, 150), (10.0, 600)), 30.0, 600)
    assert load.id == "c128-k6-150in20s-600in10s"
    said = suite(tmp_path, 'generator = "k6"', "rate_per_s = 500.0", 'arrivals = "constant"', "threads = 2")
    (load,) = said.groups[0].loads
    assert (load.model, load.rate_per_s, load.arrivals, load.threads) == ("open", 500.0, "constant", 2)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("threads = 0",), "`threads = 0` should be more than 0, in"),
        (("requests = 0",), "`requests = 0` should be more than 0, in"),
        (('arrivals = "bursts"',), "`arrivals = bursts` should be `poisson` or `constant`, in"),
        (("rate_per_s = 1e8",), "`rate_per_s = 1e.08` should be 0.001 to 10,000,000 requests a second, in"),
        (("requests = 5", "rate_per_s = 5.0"), "`requests` and `rate_per_s` exclude each other in"),
        (("think_ms = 5", "rate_per_s = 5.0"), "`think_ms` and `rate_per_s` exclude each other in"),
        (("think_ms = -1",), "`think_ms = -1.0` should be 0 to 60000 ms, in"),
        (("stages = [[0.0, 150]]",), r"`stages` has `\[0, 150\]` in"),
        (("stages = [[1.0, -1]]",), r"`stages` has `\[1, -1\]` in"),
        (("stages = [[1.0, 5]]", "requests = 5"), "`stages` and `requests` exclude each other in"),
        (("stages = [[1.0, 5]]", "rate_per_s = 5.0"), "`stages` and `rate_per_s` exclude each other in"),
        (("stages = [[1.0, 5]]", "window_s = 5.0"), "`stages` and `window_s` exclude each other in"),
    ],
)
def test_mistakes_in_a_suites_load(lines: tuple[str, ...], said: str, tmp_path: Path) -> None:
    """What makes no load is an error that names the key and the file."""
    with pytest.raises(LabError, match=said) as caught:
        suite(tmp_path, *lines)
    assert "one.toml" in caught.value.message


# ---------------------------------------------------------------- cross-check


def trial(generator: str, block: int, rate: float, p50_us: int | None = 100, verdict: Verdict = Verdict.VALID) -> Trial:
    """A trial of one round with this goodput."""
    spread = Latency(1, 1, 1.0, 1, p50_us, 1, 1, 1, None) if p50_us else None
    found = result(1, latency_ok=spread)
    found = replace(found, window_s=1.0, completed_ok=round(rate))
    cell = Cell("s:v", "ping", Topology(), Load(generator=generator), CellSettings())
    use = RoleUse(cpu_us=rate * 10, memory_peak_bytes=None, threads_peak=None, source="cgroup2")
    return Trial(
        number=1, block=block, attempt=1, cell=cell, seed=1, started_unix_s=0.0, duration_s=1.0, phases_s={}, result=found,
        roles={"server": use}, host=None, database=None, audit=(), findings=(), verdict=verdict, diagnosis=None, stderr_tail="",
        folder="",
    )  # fmt: skip


def rounds(generator: str, *rates: float) -> list[Trial]:
    """One trial for each round."""
    return [trial(generator, at, rate) for at, rate in enumerate(rates, start=1)]


def said(*trials: list[Trial]) -> dict[tuple[str, str], bool | None]:
    """(measure, generator) → whether it agrees with the first one."""
    names = [some[0].cell.load.generator for some in trials]
    found = agreement.of_generators([one for some in trials for one in some], names)
    return {(one.measure, one.other): one.agrees for one in found}


def test_generators_agree_within_their_noise() -> None:
    """Rates that scatter about each other agree, and so do CPU per answer and medians that are the same."""
    found = said(rounds("engine", 1000, 1100, 950, 1020), rounds("wrk", 1010, 1090, 960, 1010))
    assert found == {("goodput", "wrk"): True, ("median latency", "wrk"): True, ("server CPU per answer", "wrk"): True}


def test_generators_that_differ_are_found_out() -> None:
    """A third less in every round is no noise, whatever the rounds did to both."""
    found = said(rounds("engine", 1000, 2000, 500, 1000), rounds("k6", 660, 1330, 340, 670), rounds("wrk", 990, 2010, 505, 1000))
    assert found["goodput", "k6"] is False and found["goodput", "wrk"] is True


def test_one_round_tells_nothing() -> None:
    """Without a second round there is no noise to go by: neither agreement nor difference."""
    assert said(rounds("engine", 1000), rounds("wrk", 500))["goodput", "wrk"] is None


def test_ignorance_is_no_agreement() -> None:
    """Two rounds in which one finds a tenth of the other have an interval that holds 1, and nothing can be told of them."""
    found = said(rounds("engine", 10_000, 10_000), rounds("ab", 1043, 1177))
    assert found["goodput", "ab"] is None and found["server CPU per answer", "ab"] is True


def test_rejected_and_missing_rounds_do_not_count() -> None:
    """Only rounds that have a number of both are compared, a repeated round with its last."""
    ours = [*rounds("engine", 1000, 1000, 1000), trial("engine", 4, 9000)]
    theirs = [
        trial("wrk", 1, 10, verdict=Verdict.VOID),
        *rounds("wrk", 1001, 1002, 999),
        trial("wrk", 4, 1, verdict=Verdict.REJECTED),
    ]
    (goodput, *_) = agreement.of_generators([*ours, *theirs], ["engine", "wrk"])
    assert goodput.ratio is not None and goodput.ratio.count == 3 and goodput.agrees
    assert agreement.of_generators(rounds("engine", 1.0, 2.0), ["engine", "wrk"])[0].ratio is None


def test_sentences_of_comparisons() -> None:
    """The ratio is said as a difference in percent with its interval and rounds."""
    ratio = intervals.Interval(0.9, 0.85, 0.95, 5, 0.95)
    one = agreement.Agreement("goodput", "engine", "wrk", ratio, False)
    assert one.sentence == "goodput: engine and wrk differ beyond their noise, −10.0 % (−15.0 to −5.0 %, 5 rounds)"
    unknown = replace(one, agrees=None)
    assert unknown.sentence.startswith("goodput: whether engine and wrk agree cannot be told, −10.0 % (")
    assert "fewer than two rounds" in replace(unknown, ratio=None).sentence


@pytest.mark.parametrize(
    ("low", "high", "agree"),
    [
        (1.009, 1.011, True),
        (1.099, 1.101, False),
        (0.95, 1.08, True),
        (0.8, 1.3, None),
        (0.899, 0.901, False),
        (0.99, 0.995, True),
    ],
)
def test_agreement_of_two_instruments(low: float, high: float, agree: bool | None) -> None:
    """A small sure difference agrees, a larger sure one does not, an unsure one does within 10 %; beyond, nobody knows."""
    assert agreement.agree(intervals.Interval((low + high) / 2, low, high, 5, 0.95)) is agree


@pytest.mark.parametrize(
    ("theirs", "code", "words"),
    [
        ((1010, 990, 1005), 0, "✓ goodput: engine and wrk agree"),
        ((500, 501, 499), 1, "✗ goodput: engine and wrk differ beyond their noise, −50.0 %"),
        ((100, 400, 1600), 0, "– goodput: whether engine and wrk agree cannot be told, −"),
        ((), 3, "– goodput: fewer than two rounds"),
    ],
)
def test_verb_says_what_it_found(
    theirs: tuple[float, ...], code: int, words: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Exit code 0: they agree, 1: they differ, 3: nothing to compare. What is measured is one cell for each generator, in turns."""
    asked: list[Suite] = []
    trials = [*rounds("engine", 1000, 1001, 999), *rounds("wrk", *theirs), trial("wrk", 9, 1)]
    folder = stored.new(tmp_path)
    end = Reported(folder / "report.html", cast(Any, SimpleNamespace(id=folder.name, trials=trials)))

    def measured(suite: Suite, *_: object) -> Iterator[Event]:
        asked.append(suite)
        yield Planned(stored.small_plan(), folder, 1.0)
        yield end

    monkeypatch.setattr(cross_check, "run_suite", measured)
    stack = ["--servers", str(ROOT / "tests" / "zoo"), "--results", str(tmp_path), "--stack", "healthy:asyncio"]
    found = CliRunner().invoke(app, ["cross-check", *stack, "--rounds", "3", "--connections", "7"])
    assert (found.exit_code, words in found.output) == (code, True), found.output
    (group,) = asked[0].groups
    assert asked[0].blocks == 3 and group.stacks == ("healthy:asyncio",) and group.workloads == ("ping",)
    assert [(load.generator, load.connections, load.window_s) for load in group.loads] == [("engine", 7, 2.0), ("wrk", 7, 2.0)]
    record = records.load(records.find(tmp_path, "latest", RecordKind.CROSS_CHECK))
    assert (record.head.asked.run, len(record.entries), record.end is not None) == (folder.name, 3, True)
    again = CliRunner().invoke(app, ["report", record.id, "--results", str(tmp_path)])
    assert (again.exit_code, words in again.output, folder.name in again.output) == (0, True, True), again.output


def test_an_interrupted_cross_check_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It names its run before the first trial, so that what is missing is measured there; then it is whole."""
    folder, resumed = stored.new(tmp_path), list[Path]()
    trials = [*rounds("engine", 1000, 1001, 999), *rounds("wrk", 1010, 990, 1005)]
    end = Reported(folder / "report.html", cast(Any, SimpleNamespace(id=folder.name, trials=trials)))

    def begun(*_: object) -> Iterator[Event]:
        yield Planned(stored.small_plan(), folder, 1.0)
        raise KeyboardInterrupt

    def went_on(run: Path, *_: object, **__: object) -> Iterator[Event]:
        resumed.append(run)
        yield end

    monkeypatch.setattr(cross_check, "run_suite", begun)
    monkeypatch.setattr(cross_check, "resume_run", went_on)
    loads = (Load(generator="engine"), Load(generator="wrk"))
    places = Places(ROOT, ROOT / "tests" / "zoo", tmp_path, tmp_path / "cache")
    with pytest.raises(KeyboardInterrupt):
        list(cross_check.cross_check_stack(Inputs(places), CrossCheckAsked("healthy:asyncio", "ping", loads, 3, "")))
    record = records.load(records.find(tmp_path, "latest", RecordKind.CROSS_CHECK))
    assert (record.entries, record.end) == ((), None)
    *_, found = cross_check.cross_check_stack(Inputs(places, record=record), record.head.asked)
    assert resumed == [folder] and records.load(record.folder).end is not None
    assert isinstance(found, Finished) and found.record == records.load(record.folder)
    whole = records.load(record.folder)
    assert cross_check.says(whole) == "The generators agree in 3 of 3 measures."
    unsure = replace(whole, entries=(*whole.entries[1:], replace(whole.entries[0], agrees=None)))
    assert cross_check.says(unsure) == "The generators agree in 2 of 3 measures; of 1 it cannot be told."
    (tmp_path / folder.name).rename(tmp_path / "elsewhere")
    with pytest.raises(LabError, match="which is not in"):
        list(cross_check.cross_check_stack(Inputs(places, record=record), record.head.asked))
