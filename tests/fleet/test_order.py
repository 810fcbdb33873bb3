"""What is sent to a host and answered, and what of an answer is believed."""

from __future__ import annotations

import stat
from dataclasses import replace
from pathlib import Path

import pytest

from builders.trials import trial
from fairground import records
from fairground.fleet import tasks
from fairground.fleet.cluster import Done
from fairground.fleet.order import Order, OrderAnswer, OrderWork, Refusal
from fairground.fleet.shares import PlanShare
from fairground.host import sources
from fairground.lab import hosts
from fairground.model import Finding, LabError, Run, Severity, Trial, Verdict
from fleet.made import MACHINE, member, plan


def test_orders_and_answers_survive_the_way() -> None:
    """Both sides read what the other wrote."""
    order = Order(OrderWork.SHARE, plan(1), {"s0": "hash"}, (trial("s0:plain", 1, 100.0),))
    assert Order.from_json(order.to_json()) == order and b"\n" not in order.to_json()
    answer = OrderAnswer("a", MACHINE, {"engine": "1"}, trials=(trial("s0:plain", 1, 100.0),), remarks=("so",))
    assert OrderAnswer.from_json(answer.to_json()) == answer


@pytest.fixture
def known(tmp_path: Path) -> Run:
    """A run of two blocks, of which nothing is measured."""
    folder = records.create_run(
        tmp_path,
        plan(2),
        started_unix_s=0.0,
        machine=MACHINE,
        versions={"engine": "1"},
        database_settings={},
        stacks={},
        workloads={},
    )
    return records.load_run(folder)


def made(known: Run, number: int) -> Trial:
    """A trial of a slot of the run, as a host made it."""
    slot = known.plan.slots[number - 1]
    return replace(trial(slot.cell.stack, slot.block, 100.0), number=number, cell=slot.cell, folder="/etc")


def test_a_trial_says_where_it_was_made(known: Run) -> None:
    """By the hash of the host's name; its folder is the run's own, whatever the host wrote there."""
    share = PlanShare(known.plan.slots[:2])
    answer = OrderAnswer("b", replace(MACHINE, hostname_hash="two"), {"engine": "1"}, trials=(made(known, 1), made(known, 2)))
    found = hosts.trials_of(known, share, answer)
    assert [(one.number, one.machine) for one in found] == [(1, "two"), (2, "two")]
    assert all((known.folder / one.folder).is_dir() and one.folder.startswith("trials/") for one in found)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"machine": None}, "does not say what machine it is"),
        ({"machine": replace(MACHINE, kernel="6.2")}, "is not as the run's machines: kernel was `6.1` and is `6.2`"),
        ({"versions": {"engine": "2"}}, "has other versions: engine was `1` and is `2`"),
    ],
)
def test_a_host_that_changed_is_not_believed(known: Run, changes: dict, message: str) -> None:
    """What it measured is not kept."""
    answer = replace(OrderAnswer("b", MACHINE, {"engine": "1"}, trials=(made(known, 1),)), **changes)
    with pytest.raises(LabError, match=message):
        hosts.trials_of(known, PlanShare(known.plan.slots[:2]), answer)


def test_trials_of_other_slots_are_not_believed(known: Run) -> None:
    """A host answers for what it was given, and for those very cells."""
    share, other = PlanShare(known.plan.slots[:2]), made(known, 3)
    for one in (other, replace(other, number=1)):
        with pytest.raises(LabError, match="answered for slots that it was not given") as caught:
            hosts.trials_of(known, share, OrderAnswer("b", MACHINE, {"engine": "1"}, trials=(one,)))
        assert caught.value.hint is not None and caught.value.hint.startswith("leave host b out (`hosts` of hosts.toml), then ")


@pytest.mark.parametrize(
    ("done", "message"),
    [
        (Done(0, None, "it broke"), "it broke"),
        (Done(0, b"nothing"), "a host answered what cannot be read"),
        (Done(0, OrderAnswer("b", refusal=Refusal("no disk", None, 3)).to_json()), "host `b`: no disk"),
    ],
)
def test_answers_that_are_none(done: Done, message: str) -> None:
    """Each is a sentence, and its slots stay open."""
    with pytest.raises(LabError, match=message):
        tasks.answer_of(done)


def test_each_host_is_told_what_it_has_to_have_once() -> None:
    """What makes hosts ready has each cell of the plan once, the first of it, however many blocks there are."""
    assert [slot.number for slot in tasks.each_cell_once(plan(50)).slots] == [1, 2, 3, 4]


def test_tasks_go_where_they_may_be_carried_out(known: Run) -> None:
    """A heat that was begun goes on with its machine, which is told of what it measured; all else is anybody's."""
    begun = replace(known, trials=(replace(made(known, 1), machine="hash of a"),))
    a, b = member("a"), member("b")
    found = tasks.tasks(begun, records.left_of(begun), [a, b], {"s0": "hash", "s9": "other"})
    orders = [Order.from_json(one.order) for one in found]
    assert [one.work for one in orders] == [OrderWork.LIMITS, *[OrderWork.SHARE] * 3]
    assert [one.hosts for one in found] == [(a, b), (a,), (a, b), (a, b)]
    assert [[slot.number for slot in one.plan.slots] for one in orders[1:]] == [[2], [3, 4], [5, 6, 7, 8]]
    assert [len(one.known) for one in orders] == [0, 0, 0, 0]
    assert [dict(one.servers) for one in orders[2:]] == [{"s0": "hash"}] * 2
    assert [one.hosts for one in tasks.tasks(begun, records.left_of(begun), [b], {})][1] == ()


def test_an_order_tells_of_trials_of_its_own_slots(known: Run) -> None:
    """A slot whose trial was void is measured again, and its host goes on from that attempt."""
    void = replace(made(known, 3), verdict=Verdict.VOID, machine="hash of a")
    found = [
        Order.from_json(one.order)
        for one in tasks.tasks(
            replace(known, trials=(void,)), records.left_of(replace(known, trials=(void,))), [member("a")], {}
        )[1:]
    ]
    told = [([slot.number for slot in one.plan.slots], [trial.number for trial in one.known]) for one in found]
    assert told == [([1, 2], []), ([3, 4], [3]), ([5, 6, 7, 8], [])]


# ---------------------------------------------------------------- sources


@pytest.fixture
def server(tmp_path: Path) -> Path:
    """The folder of a server, with a program and something that was built."""
    folder = tmp_path / "servers" / "alder"
    (folder / "deep").mkdir(parents=True)
    (folder / ".gitignore").write_text("/out\n")
    (folder / "out").write_text("built")
    (folder / "deep" / "text").write_bytes(b"\0\xff")
    (folder / "run").write_text("#!/bin/sh\n")
    (folder / "run").chmod(0o755)
    return folder


def test_sources_are_sent_by_their_hash(server: Path, tmp_path: Path) -> None:
    """They are unpacked once, without what was built, and have the same hash wherever they are."""
    digest, cache = sources.sources_hash(server), tmp_path / "cache"
    assert sources.sent_folder(digest, cache) is None
    there = sources.unpack("alder", sources.pack_sources(server), digest, cache)
    assert sources.sent_folder(digest, cache) == there == sources.unpack("alder", sources.pack_sources(server), digest, cache)
    assert sources.sources_hash(there) == digest and not (there / "out").exists()
    assert (there / "run").stat().st_mode & stat.S_IXUSR and not (there / "deep" / "text").stat().st_mode & stat.S_IXUSR


@pytest.mark.parametrize(
    ("id", "name"),
    [("alder", "../out"), ("alder", "/etc/passwd"), ("alder", "a/../../b"), ("..", "run"), ("a/b", "run"), (".x", "run")],
)
def test_names_that_reach_beyond_their_folder_are_refused(id: str, name: str, tmp_path: Path) -> None:
    """Before anything is written."""
    with pytest.raises(LabError, match="reach beyond their folder"):
        sources.unpack(id, {name: (False, b"")}, "0" * 64, tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_other_sources_than_were_announced_are_refused(server: Path, tmp_path: Path) -> None:
    """Nothing of them stays where builds would find it."""
    with pytest.raises(LabError, match="not those that were announced"):
        sources.unpack("alder", sources.pack_sources(server), "0" * 64, tmp_path / "cache")
    assert sources.sent_folder("0" * 64, tmp_path / "cache") is None


@pytest.mark.parametrize(("id", "told"), [("ready", True), ("server-exit", True), ("steal", False)])
def test_a_server_that_failed_on_a_host_leaves_its_last_words(id: str, told: bool, known: Run) -> None:
    """In the sentence that says so, and in the trial's folder; a trial whose server was silent has neither."""
    share = PlanShare(known.plan.slots[:1])
    finding = Finding(id, Severity.REJECT, "it ended", {})
    one = replace(made(known, 1), findings=(finding,), stderr_tail="first\nno module `x`\x1b[1m\n\n")
    for tail in (one.stderr_tail, ""):
        answer = OrderAnswer("b", MACHINE, {"engine": "1"}, trials=(replace(one, stderr_tail=tail),))
        (kept,) = hosts.trials_of(known, share, answer)
        said = "it ended; its last words: no module `x`" if told and tail else "it ended"
        assert kept.findings[0].sentence == said
        log = known.folder / kept.folder / "server.log"
        assert log.exists() is bool(tail) and (not tail or "no module" in log.read_text())
