"""`compare`: two stacks, two revisions of one, or two runs; whether they differ, and by how much."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from fairground import build, conditions, contract, differences, duel, machine, manifest, store
from fairground.cli import caveats, lab, measure, numbers, say
from fairground.cli.run import BAD_ANSWER, DatabaseUrl, Json, Results, Servers
from fairground.cli.screen import duration
from fairground.model import Cell, Durability, LabError, Load, Run, Server, Settings, Stack
from fairground.report import comparison
from fairground.report.comparison import Line

FAIL_ON = re.compile(r"(slower|dearer|any):(\d+(?:\.\d+)?)%")
QUANTITIES = {"slower": ("goodput",), "dearer": ("server CPU",), "any": ("goodput", "server CPU")}


def compare(
    a: Annotated[str, typer.Argument(help="A stack (SERVER:VARIANT) or a run; what B is held against.")],
    b: Annotated[str | None, typer.Argument(help="Another stack or run; none with --revisions.")] = None,
    revisions: Annotated[
        str | None,
        typer.Option(metavar="OLD,NEW", help="Two git revisions of the stack A; `.` is the working tree."),
    ] = None,
    workload: Annotated[str, typer.Option("--workload", "-w", help="What is asked.")] = "ping",
    connections: Annotated[int, typer.Option(help="Connections at once.")] = 100,
    budget: Annotated[str, typer.Option(help="Most time to spend, such as 90s or 5m.")] = "3m",
    width: Annotated[float, typer.Option(help="Stop when the interval is within ± this many percent.")] = 0.5,
    window: Annotated[float, typer.Option(help="Seconds of load on each server in one pair.")] = 1.0,
    turn: Annotated[float, typer.Option(help="Seconds of one turn, at the least; slow answers make it longer.")] = duel.TURN_S,
    pairs: Annotated[int, typer.Option(help="Pairs of windows for each start of the servers.")] = 5,
    plant: Annotated[float, typer.Option(help="Positive control: slow B down by this many percent of its CPU.")] = 0.0,
    margin: Annotated[float, typer.Option(help="Within ± this many percent two stacks are equivalent.")] = 1.0,
    fail_on: Annotated[
        str | None, typer.Option(metavar="RULE", help="Exit with 1 when B is called worse by more: slower:5%, dearer:5%, any:5%.")
    ] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the summary for a pull request to this file.")] = None,
    workers: Annotated[int, typer.Option(help="Processes or threads of each server.")] = 2,
    pool_size: Annotated[int, typer.Option(help="Connections to the database of each server.")] = 25,
    pin: Annotated[
        list[str] | None,
        typer.Option(metavar="ROLE=CORES", help="Cores of a role: server=0, generator=1; repeatable."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the requests.")] = 1,
    database: DatabaseUrl = None,
    servers: Servers = None,
    results: Results = None,
    as_json: Json = False,
) -> None:
    """Whether two stacks, two revisions of one, or two runs differ. Both servers run at once, loaded in short turns.

    Examples: ./fairground compare SERVER:ONE SERVER:TWO -w tx · ./fairground compare RUN_A RUN_B ·
    ./fairground compare SERVER:ONE --revisions main,. --fail-on slower:5%
    """
    places, rule = lab.Places.of(os.environ, servers, results), _rule(fail_on)
    known = places.load_servers()
    if b is not None and not _is_stack(known, a) and not _is_stack(known, b):
        found = _of_runs(store.load(store.find(places.results, a)), store.load(store.find(places.results, b)))
    else:
        settings = _settings(workers, pool_size, pin or [], database)
        window_s = numbers.positive("--window", window)
        load = Load(numbers.positive("--connections", connections), window_s=window_s, warmup_min_s=2.0, warmup_max_s=15.0)
        seconds = numbers.seconds("--budget", budget)
        effort = Effort(seconds, width / 100, numbers.positive("--pairs", pairs), margin / 100, numbers.positive("--turn", turn))
        with _arms(places, known, a, b, revisions) as arms:
            planted = (arms[0], replace(arms[1], planted=numbers.positive("--plant", plant) / 100)) if plant else arms
            found = _of_arms(places, planted, workload, load, settings, effort, database, seed)
    _say(found, markdown, as_json)
    if rule is not None and (worst := found.worst(rule[0])) is not None and worst > rule[1]:
        say.talk.print(f"failed: B is worse by {comparison.signed(worst)}, and {fail_on} was asked for", highlight=False)
        raise typer.Exit(BAD_ANSWER)


@dataclass(frozen=True)
class Effort:
    """What is spent, and how: the interval's half-width that is enough, pairs for each start, the practical margin, a turn."""

    budget_s: float
    width: float
    pairs: int
    margin: float
    turn_s: float


@dataclass(frozen=True)
class Comparison:
    """What is to be told."""

    title: str
    a: str
    b: str
    lines: tuple[Line, ...]
    notes: tuple[str, ...]
    folder: Path | None
    awake: bool = False
    """Whether the processors were kept from idling meanwhile."""

    def worst(self, kind: str) -> float | None:
        """The largest slowdown that is called, of the quantities that the rule speaks of."""
        found = [line.slowdown for line in self.lines if line.quantity in QUANTITIES[kind] and line.slowdown is not None]
        return max(found, default=None)


# ---------------------------------------------------------------- two servers


def _settings(workers: int, pool_size: int, pins: Sequence[str], database_url: str | None) -> Settings:
    sizes = numbers.positive("--workers", workers), numbers.positive("--pool-size", pool_size)
    settings = conditions.check(Settings(*sizes, pin=numbers.pins("--pin", pins)))
    measure.check_pins(settings, database_url)
    return settings


def _of_arms(
    places: lab.Places,
    arms: tuple[duel.Arm, duel.Arm],
    workload: str,
    load: Load,
    settings: Settings,
    effort: Effort,
    database_url: str | None,
    seed: int,
) -> Comparison:
    chosen = {one.id: one for one in places.workloads()}
    if workload not in chosen:
        raise LabError(f"there is no workload `{workload}`", f"workloads: {', '.join(sorted(chosen))}")
    folder = _new_folder(places, "compare")
    with ExitStack() as held:
        keeper = held.enter_context(lab.keeping())
        for server in {arm.stack.server.folder: arm.stack.server for arm in arms}.values():
            made = measure.build(keeper, [server], measure.Options(places, talk=say.talk))[server.id]
            if isinstance(made, build.Unavailable):
                raise LabError(f"`{server.id}` cannot be had: {made.reason}", made.hint, exit_code=3)
        found = held.enter_context(lab.database(keeper, places, database_url, Durability.RELAXED))
        lab.keep_awake(held, keeper, places, say.note)
        cases = contract.load(places.contract / "cases")
        rendered = manifest.render(chosen[workload], settings.scale)
        bench = duel.Bench(keeper, found, places.engine, cases, rendered, load, settings, folder, seed, effort.turn_s)
        began = time.monotonic()
        pairs = _watched(bench, arms, effort, began)
        awake = keeper.awake
    decision = duel.decide(pairs, practical=effort.margin)
    lines = _lines(f"{workload} c{load.connections}", pairs, decision)
    notes = caveats.of_fight(decision, time.monotonic() - began, arms, awake, settings)
    return Comparison(f"{arms[1].label} against {arms[0].label}", arms[0].label, arms[1].label, lines, notes, folder, awake)


def _watched(bench: duel.Bench, arms: tuple[duel.Arm, duel.Arm], effort: Effort, began: float) -> list[duel.Pair]:
    """Fight under a line of progress; every pair is on disk before the next begins."""
    done: list[duel.Pair] = []

    def going_on(pairs: Sequence[duel.Pair]) -> bool:
        decision, spent = duel.decide(pairs, practical=effort.margin), time.monotonic() - began
        per_round = spent / max(1, pairs[-1].round)
        half = decision.half_width
        words = "" if half is None else f", ± {half:.1%}"
        say.talk.print(
            f"round {pairs[-1].round}: {decision.pairs} pairs{words}, at most {duration(max(0.0, effort.budget_s - spent))} left",
            highlight=False,
        )
        narrow = half is not None and half <= effort.width and decision.rounds > duel.JUDGED_ROUNDS
        return not narrow and spent + per_round <= effort.budget_s

    with open(bench.folder / "pairs.jsonl", "a", encoding="utf-8") as file:
        for pair in duel.fight(bench, *arms, effort.pairs, going_on):
            file.write(json.dumps(asdict(pair)) + "\n")
            file.flush()
            done.append(pair)
    return done


def _lines(cell: str, pairs: Sequence[duel.Pair], decision: duel.Decision) -> tuple[Line, ...]:
    sound = [pair for pair in pairs if pair.void is None]
    rates = [_mean([getattr(pair, side).rate_per_s for pair in sound]) for side in ("a", "b")]
    costs = [_mean([getattr(pair, side).cpu_us_per_answer for pair in sound]) for side in ("a", "b")]
    return (
        Line(cell, "goodput", "per second", rates[0], rates[1], decision.rate, True, decision.rates),
        Line(
            cell,
            "server CPU",
            "µs per answer",
            costs[0],
            costs[1],
            decision.cost,
            False,
            tuple(1 / ratio for ratio in decision.costs),
        ),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value]
    return math.exp(math.fsum(map(math.log, known)) / len(known)) if known else None


@contextmanager
def _arms(
    places: lab.Places, known: Sequence[Server], a: str, b: str | None, revisions: str | None
) -> Iterator[tuple[duel.Arm, duel.Arm]]:
    if (b is None) == (revisions is None):
        raise LabError("name two stacks, or one stack and `--revisions`", "./fairground compare SERVER:ONE SERVER:TWO")
    if b is not None:
        one, other = (_stack(known, name) for name in (a, b))
        labels = (one.id, other.id) if one.id != other.id else (one.id, f"{other.id} again")
        yield duel.Arm(labels[0], one), duel.Arm(labels[1], other)
        return
    old, _, new = str(revisions).partition(",")
    if not old or not new:
        raise LabError(f"`--revisions {revisions}` should be two revisions", "for instance --revisions main,.")
    if old == new:
        raise LabError(f"`--revisions {revisions}` names one revision twice", "for instance --revisions HEAD~1,HEAD")
    stack = _stack(known, a)
    with _checked_out(places, old, stack) as first, _checked_out(places, new, stack) as second:
        yield duel.Arm(f"{stack.id}@{old}", first), duel.Arm(f"{stack.id}@{new}", second)


@contextmanager
def _checked_out(places: lab.Places, revision: str, stack: Stack) -> Iterator[Stack]:
    """The stack as it is in a revision: in a worktree of its own, kept in the cache by commit so that it is built once."""
    if revision == ".":
        yield stack
        return
    commit = _git(places.servers, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    if commit is None:
        raise LabError(f"`{revision}` is no revision of this checkout", "`git log --oneline` shows some")
    top = Path(_git(places.servers, "rev-parse", "--show-toplevel") or places.root)
    tree = places.cache / "revisions" / commit[:12]
    if not tree.exists():
        _git(places.servers, "worktree", "prune")
        if _git(places.servers, "worktree", "add", "--detach", str(tree), commit) is None:
            raise LabError(f"git could not check out `{revision}` in {tree}", "remove the folder, and try again", exit_code=3)
    there = manifest.load_servers(tree / places.servers.resolve().relative_to(top.resolve()))
    found = [one for server in there for one in server.stacks if one.id == stack.id]
    if not found:
        raise LabError(f"the revision `{revision}` has no stack `{stack.id}`", f"it has: {', '.join(one.id for one in there)}")
    yield found[0]


def _git(folder: Path, *words: str) -> str | None:
    """What git prints, or None where it fails."""
    done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def _stack(known: Sequence[Server], name: str) -> Stack:
    found = manifest.find_stack(known, name)
    if len(found) > 1:
        raise LabError(f"`{name}` has {len(found)} stacks", f"name one: {', '.join(stack.id for stack in found)}")
    return found[0]


def _is_stack(known: Sequence[Server], name: str) -> bool:
    return any(name in (server.id, *(stack.id for stack in server.stacks)) for server in known)


# ---------------------------------------------------------------- two runs


def _of_runs(a: Run, b: Run) -> Comparison:
    """Cells that both runs have; a cell's trials of different runs are not paired, so the blocks' spread of both is counted."""
    cells = [
        cell for cell in dict.fromkeys(slot.cell for slot in a.plan.slots) if any(cell == slot.cell for slot in b.plan.slots)
    ]
    if not cells:
        raise LabError(f"the runs `{a.id}` and `{b.id}` have no cell in common", "compare runs of one suite")
    kept = [(cell, _levels(a, cell), _levels(b, cell)) for cell in cells]
    found = differences.table({cell.id: _crossed(one, other) for cell, one, other in kept if one and other})
    lines = [
        Line(cell.id, "goodput", "per second", _mean(one), _mean(other), found[cell.id], True, _crossed(one, other))
        for cell, one, other in kept
        if cell.id in found
    ]
    notes = ["the runs were made at different times: what the machine did meanwhile is in the ratios"]
    if a.machine.hostname_hash != b.machine.hostname_hash:
        notes.append("the runs are of different machines")
    if a.machine.awake != b.machine.awake:
        notes.append("the processors were kept from idling in one of the runs only, which alone changes rates and tails")
    return Comparison(f"{b.id} against {a.id}", a.id, b.id, tuple(lines), tuple(notes), None)


def _crossed(a: Sequence[float], b: Sequence[float]) -> tuple[float, ...]:
    return tuple(differences.crossed(a, b))


def _levels(run: Run, cell: Cell) -> list[float]:
    return [trial.goodput_per_s for trial in run.trials if trial.cell == cell and trial.goodput_per_s]


# ---------------------------------------------------------------- small things


def _say(found: Comparison, markdown: Path | None, as_json: bool) -> None:
    sentences = [comparison.sentence(line, found.a, found.b) for line in found.lines]
    text = comparison.markdown(found.title, found.a, found.b, found.lines, [*sentences, *found.notes])
    document = {"a": found.a, "b": found.b, "lines": comparison.rows(found.lines), "notes": list(found.notes)}
    if found.folder is not None:
        (found.folder / "compare.md").write_text(text, encoding="utf-8")
        page = comparison.html(found.title, found.a, found.b, found.lines, found.notes, f"Fairground {lab.lab_version()}")
        (found.folder / "compare.html").write_text(page, encoding="utf-8")
        extra = {"machine": asdict(machine.fingerprint(found.awake)), "lab": lab.lab_version()}
        (found.folder / "compare.json").write_text(json.dumps(document | extra, indent=2), encoding="utf-8")
    if markdown is not None:
        markdown.write_text(text, encoding="utf-8")
    if as_json:
        say.document(document | {"folder": str(found.folder) if found.folder else None})
        return
    for line in [*sentences, *found.notes]:
        say.out.print(line, highlight=False, soft_wrap=True, markup=False)
    if found.folder is not None:
        say.out.print(f"page  {found.folder / 'compare.html'}", highlight=False, soft_wrap=True)


def _new_folder(places: lab.Places, word: str) -> Path:
    stamp = time.strftime("%Y-%m-%d-%H%M%S", time.gmtime())
    folder = places.results / f"{stamp}-{word}"
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise LabError(f"`{folder}` cannot be made ({error.strerror})", "choose another folder with --results") from error
    return folder


def _rule(text: str | None) -> tuple[str, float] | None:
    if text is None:
        return None
    found = FAIL_ON.fullmatch(text)
    if found is None:
        raise LabError(f"`--fail-on {text}` is no rule", "for instance --fail-on slower:5%, dearer:5% or any:5%")
    return found[1], float(found[2]) / 100
