"""`replicate`: a published benchmark's cells are measured, and each of its claims gets a verdict. Or those of all suites."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fairground import records
from fairground.claims import joined, judgement, tables
from fairground.inputs import manifest
from fairground.lab import pages, run, setup
from fairground.lab.events import Absent, Event, Planned, Replicated, Replicating, Reported, Said, Sink, unheard
from fairground.lab.places import Places
from fairground.lab.preparation import Inputs
from fairground.model import LabError, Plan, Run, Suite, storing
from fairground.model.resume import database_of
from fairground.records import journal
from fairground.report import replication, splice
from fairground.report.replication import Replication
from fairground.run import plan

ALL = "all"
"""The word in place of a suite that stands for all suites with claims."""
NOT_HERE = 3
"""The exit code of what is missing on this machine."""


@dataclass(frozen=True)
class ReplicationAsked:
    """The suite that is replicated, or `ALL`. By name, `of_runs`: judge those runs together and measure nothing.

    `resume`: go on with that run. `decided`: measure what undecided claims rest on again, until none is left that blocks decide.
    """

    suite: str
    profile: str = "quick"
    blocks: int | None = None
    of_runs: tuple[str, ...] = ()
    resume: str | None = None
    markdown: Path | None = None
    """The Markdown file that gets the verdicts, in place of the suite's earlier ones."""
    decided: bool = False

    @property
    def command(self) -> str:
        """The command that a person would type for it."""
        words = f"./fairground replicate {self.suite} --profile {self.profile}"
        return words + ("" if self.blocks is None else f" --blocks {self.blocks}") + (" --until decided" if self.decided else "")


def replicate_suites(inputs: Inputs, asked: ReplicationAsked, sink: Sink = unheard) -> Generator[Event]:
    """Measure the suite's cells, or take runs that are there; the last event is `Replicated`."""
    chosen, carried = suite(inputs, asked), replace(inputs, command=asked.command + database_of(inputs.command))
    if asked.of_runs:
        yield _judged(chosen, _named(chosen, inputs, asked), asked)
    elif asked.decided:
        yield from _until_decided(chosen, carried, asked, sink)
    else:
        for event in _events(chosen, carried, asked, sink):
            yield event
            if isinstance(event, Reported):
                yield _judged(chosen, [event.run], asked)


def _named(chosen: Suite, inputs: Inputs, asked: ReplicationAsked) -> list[Run]:
    """The runs that are judged together, each with its own page written anew. LabError where one is of another suite."""
    folders = [records.find_run(inputs.places.results, name) for name in asked.of_runs]
    found = [pages.report(folder).run for folder in folders]
    for one in found if len(found) > 1 else ():
        suite_of(one, {chosen.id: chosen})
    return found


def _until_decided(chosen: Suite, inputs: Inputs, asked: ReplicationAsked, sink: Sink) -> Iterator[Event]:
    """Measure the suite, and then what its undecided claims rest on, again and again; all runs are judged together."""
    if asked.resume is not None:
        raise LabError("`--until decided` begins anew, and `--resume` goes on", "judge both runs together by --run FIRST,SECOND")
    found, measured = list[Run](), chosen
    while True:
        for event in run.run_suite(measured, inputs, sink):
            yield event
            if isinstance(event, Reported):
                found.append(event.run)
        whole = joined.join(found)
        left = joined.open_claims_of(judgement.judge(chosen, whole.trials, joined.MOST_RUNS))
        if not left or len(found) == joined.MOST_RUNS:
            break
        measured = joined.narrow(chosen, whole, left, len(found))
        sink(Said(f"undecided claims: {len(left)}; what they rest on is measured once more"))
    yield _judged(chosen, found, asked, joined.MOST_RUNS)


def replicate_all(inputs: Inputs, asked: ReplicationAsked, sink: Sink = unheard) -> Generator[Event]:
    """Replicate one suite after the other, by name; each has a run of its own, and `Replicated` at its end.

    With `resume` that run is gone on with, and the suites after its own are measured: those before it have their runs. LabError,
    before anything is measured, for what no machine can measure. A suite that cannot run here is told of and left out.
    """
    if asked.of_runs:
        raise LabError(f"`--run` judges the run of one suite, and `{ALL}` names several", "name the suite of the run")
    places = inputs.places
    chosen = {name: suite(inputs, replace(asked, suite=name)) for name in with_claims(places)}
    begun = None if asked.resume is None else suite_of(records.load_run(records.find_run(places.results, asked.resume)), chosen)
    names = list(chosen) if begun is None else list(chosen)[list(chosen).index(begun) :]
    plans = plans_of(inputs, replace(asked, resume=None))
    for place, name in enumerate(names):
        later_s = sum(plan.estimate_s(plans[later].slots) for later in names[place + 1 :])
        yield Replicating(name, len(chosen) - len(names) + place + 1, len(chosen), later_s)
        one = replace(asked, suite=name, resume=asked.resume if name == begun else None)
        yield from _unless_absent(inputs, one, sink)


def _unless_absent(inputs: Inputs, asked: ReplicationAsked, sink: Sink) -> Generator[Event]:
    """The events of one suite; in place of an error for what is missing here, that it is absent."""
    begun = False
    try:
        for event in replicate_suites(inputs, asked, sink):
            begun = begun or isinstance(event, Planned | Reported)
            yield event
    except LabError as error:
        if begun or error.exit_code != NOT_HERE:
            raise
        yield Absent(f"suite {asked.suite}", error.message)


def suite_of(found: Run, chosen: Mapping[str, Suite]) -> str:
    """The suite that a run measured. LabError where it is none of those."""
    for name, one in chosen.items():
        if one.title == found.plan.title:
            return name
    raise LabError(f"run `{found.id}` is of none of the suites {', '.join(chosen)}", "./fairground list runs")


def with_claims(places: Places) -> list[str]:
    """The suites that can be replicated, by name."""
    return [one.stem for one in sorted(places.suites.glob("[!.]*.toml")) if "[[claims]]" in one.read_text(encoding="utf-8")]


def suite(inputs: Inputs, asked: ReplicationAsked) -> Suite:
    """The suite under its profile. LabError when there is none of that name, or it claims nothing."""
    path = inputs.places.suites / f"{asked.suite}.toml"
    if not path.exists():
        there = ", ".join(with_claims(inputs.places))
        raise LabError(f"there is no suite `{asked.suite}` to replicate", f"suites with claims: {there}; `{ALL}` names them all")
    if not manifest.load_suite(path).claims:  # such a suite has no profiles either
        raise LabError(f"the suite `{asked.suite}` makes no claims", f"./fairground run suites/{asked.suite}.toml")
    found = manifest.load_suite(path, asked.profile, setup.machine_seats(inputs.database_url))
    return found if asked.blocks is None else found.with_blocks(asked.blocks)


def plans_of(inputs: Inputs, asked: ReplicationAsked) -> dict[str, Plan]:
    """Suite → what would be measured of it: of the one that is asked for, or of all. LabError where a run is named as well."""
    if asked.of_runs or asked.resume is not None:
        raise LabError("a run that is there needs no plan", "leave out `--dry-run`, or `--run` and `--resume`")
    names = with_claims(inputs.places) if asked.suite == ALL else [asked.suite]
    carried = replace(inputs, command=asked.command + database_of(inputs.command))
    return {name: run.dry_run(suite(inputs, replace(asked, suite=name)), carried) for name in names}


def _events(chosen: Suite, inputs: Inputs, asked: ReplicationAsked, sink: Sink) -> Iterator[Event]:
    results = inputs.places.results
    if asked.resume is not None:
        return run.resume_run(records.find_run(results, asked.resume), inputs, sink=sink)
    return run.run_suite(chosen, inputs, sink)


def page_of(suite: str) -> str:
    """The name of the page of a replication, in the run's folder."""
    return f"replicate-{suite}.html"


def pages_of(found: Run, suites: Path) -> Iterator[tuple[str, str]]:
    """Yield each suite by which a run was judged, with the page of that replication made anew.

    A page in the run's folder says by its name alone that the suite was judged.
    """
    for path in sorted(suites.glob("[!.]*.toml")):
        there = found.folder / page_of(path.stem)
        if not there.is_file() or there.is_symlink():
            continue
        profile = "full" if "--profile full" in found.plan.command else ReplicationAsked.profile
        chosen = manifest.load_suite(path, profile) if manifest.load_suite(path).claims else None
        if chosen is not None:
            yield path.stem, replication.html(_judge(chosen, *records.judged_runs_of(found, path.stem)), profile)


def _judge(chosen: Suite, found: Sequence[Run], looks: int = 1) -> Replication:
    whole = joined.join(found)
    verdicts = judgement.judge(chosen, whole.trials, looks)
    return Replication(chosen, whole, verdicts, tables.read_tables(chosen, whole.trials), tuple(one.id for one in found))


def _judged(chosen: Suite, found: Sequence[Run], asked: ReplicationAsked, looks: int = 1) -> Replicated:
    """The verdicts, with their page in the folder of the last run."""
    judged = _judge(chosen, found, looks)
    path = found[-1].folder / page_of(chosen.id)
    journal.replace(path, replication.html(judged, asked.profile).encode(), journal.SHARED)
    records.write_judged(path.parent, chosen.id, judged.runs, looks)
    if asked.markdown is not None:
        splice.put(asked.markdown, chosen.id, replication.markdown(judged, asked.profile), "Replications")
        _draw(judged, asked.markdown.parent / "pictures")
    return Replicated(judged, path)


def _draw(judged: Replication, pictures: Path) -> None:
    """Put the claims' plot beside the Markdown that shows it."""
    drawn = replication.forest(judged)
    if drawn is not None:
        with storing(pictures):
            pictures.mkdir(exist_ok=True)
        alone = str(drawn).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" ', 1)
        journal.replace(pictures / f"claims-{judged.suite.id}.svg", alone.encode(), journal.SHARED)
