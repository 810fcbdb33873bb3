"""`--count` on a command line: what does not go with it is one sentence, before anything is built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from builders.stored import head
from cli.command import Run
from fairground import records
from fairground.cli import count, verbs
from fairground.model import CellSettings, LabError, Load
from fairground.model.count import CountArm, CountAsked, CountedStart, CountedWindow, WorkCount
from fairground.model.record import RecordKind

OF_TIME = "cannot be combined with `--count`, which counts work and measures no time"
COUNT = ("run", "--servers", "servers", "--count", "-s", "alder-one:plain", "-w", "ping")
TWO = ("compare", "alder-one:plain", "alder-one:fancy", "--servers", "servers", "--count")


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        ((*COUNT, "--rate", "100"), f"`--rate` {OF_TIME}", "leave `--rate` out"),
        ((*COUNT, "--generator", "wrk"), f"`--generator` {OF_TIME}", "leave `--generator` out"),
        ((*COUNT, "--fault", "stall=500ms@3s"), f"`--fault` {OF_TIME}", "leave `--fault` out"),
        ((*COUNT, "--window", "3"), f"`--window` {OF_TIME}", "leave `--window` out"),
        ((*COUNT, "--dry-run"), f"`--dry-run` {OF_TIME}", "leave `--dry-run` out"),
        ((*TWO, "--plant", "2"), f"`--plant` {OF_TIME}", "leave `--plant` out"),
        ((*TWO, "--pairs", "3"), f"`--pairs` {OF_TIME}", "leave `--pairs` out"),
        ((*TWO, "--place", "generator=far"), f"`--place` {OF_TIME}", "leave `--place` out"),
        (
            ("run", "suites/demo.toml", "--count"),
            "`--count` goes with `--stack`: a suite says how time is measured",
            "./fairground run --count --stack SERVER",
        ),
        (
            ("run", "--servers", "servers", "--count"),
            "name at least one `--stack` to be counted",
            "./fairground run --count --stack SERVER --workload WORKLOAD",
        ),
        (
            ("run", "--count", "-s", "http://localhost:3000/x"),
            "`http://localhost:3000/x` is a URL, and `--count` counts in a process that the lab starts",
            "name a stack: ./fairground run --count --stack SERVER",
        ),
        (
            ("compare", "http://localhost:3000/x", "alder-one:plain", "--count", "--servers", "servers"),
            "`http://localhost:3000/x` is a URL, and `--count` counts in a process that the lab starts",
            "name a stack: ./fairground run --count --stack SERVER",
        ),
        (
            (*COUNT, "--connections", "10,100"),
            "`--connections 10,100` names several loads, and one is counted",
            "name one of them",
        ),
        ((*COUNT, "--requests", "0"), "`--requests 0` should be more than 0", None),
        (
            (*TWO, "--fail-on", "slower:5%"),
            "`--fail-on slower:5%` is no rule on what is counted",
            "for instance --count --fail-on",
        ),
        (
            (*TWO[:-1], "--fail-on", "more:1%"),
            "`--fail-on more:1%` is a rule on what is counted, and time is measured",
            "add --count",
        ),
        ((*TWO[:-1], "--requests", "9"), "`--requests` goes with `--count`: time is compared in windows", "leave it out"),
        ((*TWO[:-1], "--where"), "`--where` goes with `--count`: time has no functions here", "leave it out, or add --count"),
        ((*COUNT, "--where"), "there is no option `--where`", None),
        (
            (*TWO[:-1], "--counters"),
            "`--counters` goes with `--count`: it says how work is counted",
            "leave it out, or add --count",
        ),
        (
            (*TWO, "--counters", "--where"),
            "`--where` cannot be combined with `--counters`: functions are told under the emulation alone",
            "leave one of them out",
        ),
        (
            ("run", "--count", "--resume", "latest", "--workers", "2"),
            "`--workers` goes with a new count, and `--resume` goes on with one",
            "leave it out",
        ),
        (("capacity", "--count"), "there is no option `--count`", None),
        (("try", "http://localhost:3000/x", "--count"), "there is no option `--count`", None),
    ],
)
def test_what_does_not_go_with_counts(words: tuple[str, ...], message: str, hint: str | None, lab: Run) -> None:
    """One sentence that names the option, a hint, and exit code 2."""
    done = lab(*words)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.startswith(f"error: {message}\n")
    assert hint is None or f"hint: {hint}" in done.stderr


Asked = Callable[..., CountAsked]


@pytest.fixture
def asked(lab: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Reads what a command line asks to be counted, on the made-up servers, and counts nothing."""
    del lab  # it has written the servers
    seen = list[CountAsked]()

    def followed(_inputs: object, asked: CountAsked, _given: object) -> None:
        seen.append(asked)
        raise LabError("read")

    def read(verb: str, *words: str) -> CountAsked:
        monkeypatch.setattr(count, "_followed", followed)
        with pytest.raises(LabError, match="^read$"):
            verbs.VERBS[verb].load(verb).main([*words, "--count", "--servers", str(tmp_path / "servers")], standalone_mode=False)
        return seen[-1]

    return read


def test_a_width_says_when_to_stop_and_moves_no_floor(asked: Asked) -> None:
    """The least change that is told, and what a settled warm-up is, stay as they are."""
    found = asked("compare", "alder-one:plain", "alder-one:fancy", "--width", "2")
    assert (found.floor, found.width) == (0.005, 0.02)


@pytest.mark.parametrize(("words", "seed"), [((), 1), (("--seed", "0"), 0)])
def test_the_seed_is_the_one_that_was_given(words: tuple[str, ...], seed: int, asked: Asked) -> None:
    """Zero is one, too."""
    assert asked("run", "-s", "alder-one:plain", "-w", "ping", *words).seed == seed


def test_a_workload_that_a_stack_skips_is_told(
    asked: Asked, lab: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is counted for no stack, since rows stand beside each other; where nothing is left, nothing is counted."""
    with (tmp_path / "servers" / "birch-two" / "server.toml").open("a") as file:
        file.write('[skip]\ntx = "no transactions here"\n')
    stacks = ("run", "-s", "alder-one:plain,birch-two:plain", "-w")
    assert asked(*stacks, "ping,tx").workloads == ("ping",)
    why = "`birch-two:plain` has no `tx`: no transactions here"
    assert f"tx is not counted: {why}" in capsys.readouterr().err
    done = lab(*stacks, "tx", "--count", "--servers", "servers")
    assert done.returncode == 2 and done.stderr.startswith(f"error: the stacks have no workload in common: {why}\n")


def counted(results: Path, starts: int) -> str:
    """The folder of a record with so many starts of one stack, all of which need the same."""
    arms, load = (CountArm("one:plain", "one:plain"),), Load(connections=16)
    asked = CountAsked(arms, ("db-ping",), False, load, CellSettings(workers=1), 1, 100.0, 0.005)
    record = records.create(results, "count", replace(head(RecordKind.COUNT), asked=asked), {})
    windows = (CountedWindow(10, WorkCount(10_000, {"read": 20})),) * 8
    for number in range(1, starts + 1):
        record = records.append(record, CountedStart("one:plain", "db-ping", number, 80, windows, True, (), 5.0))
    return str(record.folder)


@pytest.mark.parametrize(("starts", "code"), [(1, 3), (2, 0)])
def test_a_gate_without_a_number_does_not_pass(starts: int, code: int, lab: Run, tmp_path: Path) -> None:
    """One start of a side tells no change, so that the rule was held against nothing."""
    both = [counted(tmp_path / side, starts) for side in "ab"]
    done = lab("compare", *both, "--count", "--fail-on", "more:1%", "--servers", "servers")
    assert done.returncode == code, done.stderr


def test_a_machine_without_the_emulation_says_so(lab: Run) -> None:
    """Nothing is built; the exit code says that nothing can be measured here."""
    done = lab(*COUNT, PATH="/nowhere")
    assert done.returncode == 3 and done.stderr.startswith("error: `--count` needs QEMU's user mode, and there is no `qemu-")
    assert "hint: apt-get install qemu-user" in done.stderr
