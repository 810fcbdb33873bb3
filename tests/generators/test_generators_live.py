"""Load generators from elsewhere at work: real trials under those that are installed, and what a session does when a tool misbehaves."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from builders.benches import bench_on
from builders.contracts import CONTRACTS, SEEDS
from builders.expected import COMES_AND_GOES
from builders.paths import ROOT
from fairground import generators
from fairground.generators import LoadTask
from fairground.generators.tool import Installed, Tool, ToolJob, ToolOutput, ToolReport, ToolSession
from fairground.host import Keeper
from fairground.inputs import manifest, workload_files
from fairground.judge import answers
from fairground.lab.places import Places
from fairground.measure import Bench, run
from fairground.model import Cell, CellSettings, LabError, Load, Outcomes, PlanSlot, Severity, Topology, Trial, Verdict
from fairground.model.cause import LAB_STOPPED
from fairground.postgres import Database

WORKLOADS = {one.id: workload_files.render(one, 1) for one in workload_files.load_workloads(SEEDS)}
MACHINE = COMES_AND_GOES

pytestmark = pytest.mark.live


def installed(name: str) -> Installed:
    """The tool as this machine has it; without it the test is skipped."""
    found = generators.find(name, Places.of(os.environ).tool_path)
    if found is None:
        pytest.skip(f"{name} is not installed: ./fairground doctor --install")
    return found


@pytest.fixture(scope="module")
def bench(keeper: Keeper, database: Database) -> Bench:
    """A bench without tools."""
    return bench_on(keeper, database)


def trial(bench: Bench, name: str, animal: str, workload: str, folder: Path, tool: Installed | None = None, **load: Any) -> Trial:
    """A short trial of an animal under a tool, or another one in its place."""
    (stack,) = manifest.find_stack(manifest.load_servers(ROOT / "tests" / "zoo", CONTRACTS), animal)
    shape = Load(**({"connections": 4, "window_s": 1.0, "warmup_min_s": 1.0, "timeout_ms": 3000, "generator": name} | load))
    cell = Cell(stack.id, workload, Topology(), shape, CellSettings(workers=1, pool_size=8, scale=1))
    generators.check([cell], WORKLOADS)
    here = replace(bench, tools={name: tool or installed(name)})
    return run(here, PlanSlot(1, 1, cell, 7), 1, stack, WORKLOADS[workload], folder, "trial")


def grave(measured: Trial) -> list[str]:
    """Findings that void or reject, those about the machine's noise left out."""
    return [
        f"{one.id}: {one.sentence}"
        for one in measured.findings
        if one.severity in (Severity.VOID, Severity.REJECT) and one.id not in MACHINE
    ]


def one_for_all(names: Iterable[str]) -> list[Any]:
    """Tools that share a path of ours: one of them is tried each time, the others nightly."""
    some = sorted(names, key=lambda name: shutil.which(name) is None)
    return [*some[:1], *(pytest.param(name, marks=pytest.mark.nightly) for name in some[1:])]


@pytest.mark.parametrize("name", list(generators.TOOLS))
def test_trial_under_a_tool(bench: Bench, name: str, tmp_path: Path) -> None:
    """A healthy server under each tool: a number, its latencies, the generator's CPU, an audit that holds, and no grave finding."""
    measured = trial(bench, name, "healthy", "db-ping", tmp_path / "trial")
    assert grave(measured) == []
    result = measured.result
    assert result is not None and result.command[0] == name and result.generator.startswith(name)
    assert result.window.ok > 50 and result.life is not None and result.life.ok > result.window.ok
    assert 0.5 < result.window_s < 10
    assert result.latency_ok is not None and result.latency_ok.p50_us is not None
    assert result.ledgers is None and result.uncounted_most == 8 and result.bodies_checked is None
    used = measured.roles["generator"].cpu_us
    assert used is not None and used > 0
    assert measured.audit and all(line.holds for line in measured.audit)
    assert {"warmup", "window"} <= set(measured.phases_s)


@pytest.mark.parametrize("name", one_for_all(name for name, tool in generators.TOOLS.items() if tool.random_path))
def test_random_values_reach_the_database(bench: Bench, name: str, tmp_path: Path) -> None:
    """Drawn values are good requests: every transaction has its rows, the balances add up, and many accounts were asked."""
    measured = trial(bench, name, "healthy", "tx", tmp_path / "trial")
    assert grave(measured) == []
    assert {"tx-history-rows", "tx-branches-balance", "commits"} <= {line.id for line in measured.audit}
    assert "no-ledger" in {finding.id for finding in measured.findings}
    (accounts,) = bench.database.query("SELECT count(DISTINCT aid) FROM pgbench_history")[0]
    (rows,) = bench.database.query("SELECT count(*) FROM pgbench_history")[0]
    # A tool that draws from a list of 20,000 requests repeats some: the more, the faster the machine is.
    assert accounts > min(0.8 * rows, 4000) > 20


@pytest.mark.parametrize("name", one_for_all(name for name, tool in generators.TOOLS.items() if tool.random_path))
def test_writes_that_are_rolled_back_are_found_without_a_ledger(bench: Bench, name: str, tmp_path: Path) -> None:
    """A server that acknowledges what it rolls back is rejected under a tool that only counts, too: commits are too few."""
    measured = trial(bench, name, "no-commit:under-load", "transfer", tmp_path / "trial", connections=16)
    assert measured.verdict is Verdict.REJECTED
    assert "audit:commits" in {finding.id for finding in measured.findings}


@pytest.mark.parametrize("name", one_for_all(name for name, tool in generators.TOOLS.items() if tool.counts))
def test_a_number_of_requests(bench: Bench, name: str, tmp_path: Path) -> None:
    """A load of so many requests sends just so many, and its window is as long as that took."""
    measured = trial(bench, name, "healthy", "ping", tmp_path / "trial", requests=200, warmup_min_s=0.0)
    assert grave(measured) == []
    assert measured.result is not None and measured.result.window.ok == 200 and measured.result.life == measured.result.window


@pytest.mark.nightly
@pytest.mark.parametrize("name", [name for name, tool in generators.TOOLS.items() if tool.open_loop])
def test_an_even_rate(bench: Bench, name: str, tmp_path: Path) -> None:
    """An open loop sends what is due, no more and hardly less."""
    measured = trial(
        bench, name, "healthy", "ping", tmp_path / "trial", model="open", rate_per_s=50.0, arrivals="constant", window_s=2.0
    )
    assert grave(measured) == []
    assert measured.result is not None and 80 <= measured.result.window.total <= 105


@pytest.mark.parametrize("name", list(generators.TOOLS))
def test_connections_that_are_closed(bench: Bench, name: str, tmp_path: Path) -> None:
    """Without keep-alive every request has a connection of its own; what the tool calls its window begins and ends a little apart."""
    measured = trial(bench, name, "healthy", "ping", tmp_path / "trial", keep_alive=False)
    assert grave(measured) == []
    assert measured.result is not None and measured.host is not None
    assert measured.host.tcp["TcpActiveOpens"] > 0.7 * measured.result.window.ok > 20


# ---------------------------------------------------------------- sessions


def made(command: str, **fields: Any) -> Installed:
    """A tool that is a line of shell; its report is the number that it prints, as good answers of a second."""

    def read(job: ToolJob, output: ToolOutput) -> ToolReport:
        if not output.stdout.strip():
            raise output.nothing("shell")
        count = int(output.stdout)
        return ToolReport(1.0, Outcomes(count, 0, {}, None, 0, 0, 0, 0, None, 0), count, caveats=("it is a test",))

    plain: dict[str, Any] = {
        "name": "shell", "command": lambda job: ["-c", command], "read": read, "version": ("true",), "version_pattern": "x",
        "install": "",
    }  # fmt: skip
    return Installed(Tool(**(plain | fields)), Path("/bin/sh"), "1")


@pytest.fixture
def session(keeper: Keeper, tmp_path: Path) -> Iterator[Any]:
    """Begin sessions of made-up tools; all are stopped at the end."""
    begun: list[ToolSession] = []

    def begin(tool: Installed, workload: str = "ping", **load: Any) -> ToolSession:
        shape = Load(**({"connections": 4, "window_s": 1.0, "warmup_min_s": 1.0, "timeout_ms": 1000} | load))
        begun.append(ToolSession(keeper, tool, LoadTask(WORKLOADS[workload], shape, "127.0.0.1", 1, 7, tmp_path)))
        return begun[-1]

    yield begin
    for one in begun:
        one.stop()


def events(one: ToolSession) -> list[str]:
    """All events to the end, seconds left out."""
    found = []
    while (event := one.event()) is not None:
        found += [event["event"]] if event["event"] != "second" else []
    return found


def test_warmup_and_window_are_two_runs(session: Any, tmp_path: Path) -> None:
    """Both runs make the life, the window's alone its numbers; the second process is the session's child from `window` on."""
    one = session(made("cat number 2>/dev/null || echo 5; echo $(pwd) >&2"))
    first = one.child
    assert events(one) == ["start", "window", "drain", "end"] and one.child is not first
    result = one.result()
    assert (result.window.ok, result.life.ok, result.completed_ok, result.uncounted_most) == (5, 10, 5, 8)
    assert (result.generator, result.command, result.caveats) == ("shell 1", ("shell", "-c", one.argv[2]), ("it is a test",))
    assert (tmp_path / "generator" / "stderr").read_text().strip().endswith("/generator")


def test_how_late_an_end_was_noticed(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the time since the look before, which is long where the lab stood still; the tool may have worked as long as it liked."""
    one, now, looks = session(made("true"), warmup_min_s=0.0), [0.0], [(0.05, None), (0.05, None), (2.0, 0)]

    def look(_: float) -> int | None:
        passed_s, code = looks.pop(0)
        now[0] += passed_s
        return code

    monkeypatch.setattr("fairground.generators.tool.time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(one, "child", SimpleNamespace(wait=look))
    assert [one.event() for _ in range(3)] == [{"event": "start"}, {"event": "window"}, {"event": "drain", "late_s": 2.0}]


def test_a_tool_may_work_on_its_report(bench: Bench, tmp_path: Path) -> None:
    """wrk reads its histogram for seconds after its window; the lab did not stand still then."""
    slow = made("sleep 1; sleep 2; echo 5", name="wrk")
    measured = trial(bench, "wrk", "healthy", "ping", tmp_path / "trial", warmup_min_s=0.0, tool=slow)
    late_s = [finding.evidence["late_s"] for finding in measured.findings if finding.id == LAB_STOPPED.id]
    assert all(isinstance(one, float) and one < 1.5 for one in late_s), "on a busy machine it may, but not for these two seconds"
    assert measured.result is not None and measured.result.window_s == 1.0
    assert measured.phases_s["window"] > 2, "it has waited for the report"


def test_edges_that_are_left_out_are_said(session: Any) -> None:
    """A tool sends the plain request alone, and says which share of the engine's requests it does not."""
    one = session(made("echo 5"), "lookup", warmup_min_s=0.0)
    events(one)
    assert one.result().caveats[1:] == (
        "it sends the workload's plain requests alone: unknown ids and edge values, 1.75% of the engine's, are left out",
    )


def test_no_warmup_is_one_run(session: Any) -> None:
    """With a warm-up of 0 s the window comes at once, and is the life."""
    one = session(made("echo 5"), warmup_min_s=0.0)
    assert events(one) == ["start", "window", "drain", "end"]
    assert one.result().life.ok == 5


def test_seconds_are_told_while_it_runs(session: Any) -> None:
    """A running tool gives an event a second, in which what nobody knows is None: the lab can look after the server."""
    one = session(made("sleep 1.5; echo 5"), warmup_min_s=0.0)
    found = [one.event() for _ in range(3)]
    assert [event["event"] for event in found] == ["start", "window", "second"]
    assert found[2]["phase"] == "window" and found[2]["ok"] is None


def test_a_warmup_without_a_report_is_an_error(session: Any) -> None:
    """A tool whose first run says nothing is the instrument's fault at once."""
    with pytest.raises(LabError, match="`shell` ended with exit code 7 and no result; its last output: no luck"):
        events(session(made("echo no luck >&2; exit 7")))


def catches_interrupt(pid: int) -> bool:
    """Whether the process has a handler for SIGINT by now."""
    status = Path(f"/proc/{pid}/status").read_text()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) >> (signal.SIGINT - 1) & 1)


def test_halt_ends_the_warmup_without_a_window(session: Any) -> None:
    """Told to halt in its warm-up a session begins no window, and has no result."""
    one = session(made("trap 'kill $!; echo 3; exit 0' INT; sleep 20 & wait"))
    assert one.event()["event"] == "start"
    while not catches_interrupt(one.child.pid):
        time.sleep(0.01)
    one.halt()
    assert events(one) == ["end"]
    with pytest.raises(LabError, match="was ended before its window"):
        one.result()


def test_a_tool_that_never_ends_is_given_up(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Far beyond its time a tool is given up: the trial is void, and the run goes on."""
    monkeypatch.setattr("fairground.generators.tool.SLACK_S", -2.0)
    with pytest.raises(LabError, match="`shell` did not end by itself"):
        events(session(made("exec sleep 60"), warmup_min_s=0.0))


def test_a_second_program_reads_the_report(session: Any, tmp_path: Path) -> None:
    """What a tool needs to make its report readable is run after the warm-up and after the window, each in its folder."""
    one = session(made("echo 5", convert=("-c", "echo converted by $0")))
    events(one)
    one.result()
    for name in ("generator-warmup", "generator"):
        assert (tmp_path / name / "converted").read_text().startswith("converted by")


def test_a_tool_that_failed_has_nothing_to_convert(session: Any) -> None:
    """The tool's own last words are told, and not that its report cannot be read."""
    with pytest.raises(LabError, match="`shell` ended with exit code 7 and no result; its last output: no luck"):
        events(session(made("echo no luck >&2; exit 7", convert=("-c", "exit 1"))))


def test_the_lab_finds_the_server_dead_under_a_tool(bench: Bench, tmp_path: Path) -> None:
    """A server that dies under load is rejected for it, whatever the tool has to say."""
    measured = trial(bench, "wrk", "dies-midway", "ping", tmp_path / "trial", connections=16, window_s=30.0)
    assert answers.verdict(measured.findings) is Verdict.REJECTED
    assert "server-exit" in {finding.id for finding in measured.findings}
