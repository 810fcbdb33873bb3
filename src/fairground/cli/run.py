"""`run`, the verb that measures what one names, and what every measuring verb does: measure, report, exit code."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

import typer

from fairground import fleet, records
from fairground.cli import count, placed, say, typed
from fairground.cli.arguments import is_typed, refuse_beside_resume, takes
from fairground.cli.follow import Voice, Work, follow
from fairground.cli.options import BAD_ANSWER, NOTHING_MEASURED
from fairground.cli.seats import tell_seats
from fairground.inputs import asked, manifest, numbers, options, placing
from fairground.inputs.options import Given
from fairground.inputs.placing import Placed
from fairground.lab import elsewhere, reasons, setup
from fairground.lab.events import Reported
from fairground.lab.places import Places
from fairground.lab.preparation import Inputs
from fairground.lab.run import dry_run, resume_run, run_suite
from fairground.model import LabError, Seats, Suite, Verdict

MAY_GO_ON = ("progress", "budget", "why", "hosts", "tls", "place")
"""The options that may be given for a run that goes on."""


@takes(*options.OPTIONS)
def run(context: typer.Context, given: Given) -> None:
    """Measure a suite, or the stacks and workloads you name.

    Examples: ./fairground run suites/matrix.toml · ./fairground run -s SERVER:VARIANT -w WORKLOAD --connections 10,100 --blocks 3
    """
    places = Places.of(os.environ, given["servers"], given["results"])
    if given["count"]:
        count.run(context, given, places)
        return
    count.refuse_without(given)
    voice = Voice(given["quiet"], given["as_json"], given["progress"])
    if voice.progress and not voice.as_json:
        raise LabError("`--progress` needs `--json`", "without them the terminal shows what goes on")
    why_s = reasons.budget_s(given["why"])
    inputs = Inputs(places, typed.command(), given["database"], why_s=why_s, prior=not given["no_prior"])
    place = placed.placed_roles(given)
    if given["resume"] is not None:
        refuse_beside_resume(context, MAY_GO_ON, "run")
        _resume(given, place, inputs, voice)
        return
    if place and elsewhere.SERVER not in dict(place):
        _with_roles_elsewhere(context, given, place, inputs, voice)
    elif given["hosts"] is not None:
        _on_hosts(context, given, place, inputs, voice)
    else:
        chosen = _suite(context, places, given, setup.machine_seats(given["database"]))
        _measure_here(chosen, given, inputs, voice)


def _measure_here(chosen: Suite, given: Given, inputs: Inputs, voice: Voice) -> None:
    """Print the plan of a suite, or measure it on this machine."""
    if given["dry_run"]:
        say.the_plan(dry_run(chosen, inputs), voice.as_json)
    else:
        measure_suite(chosen, inputs, voice)


def _with_roles_elsewhere(context: typer.Context, given: Given, place: Placed, inputs: Inputs, voice: Voice) -> None:
    """A new run on this machine, whose load or database is on other hosts."""
    chosen = placing.suite(_suite(context, inputs.places, given, setup.machine_seats(given["database"])), place)
    elsewhere.check(chosen, inputs.why_s, place)
    with placed.hosts_of(given, place) as there:
        _measure_here(chosen, given, replace(inputs, elsewhere=there), voice)


def _resume(given: Given, place: Placed, inputs: Inputs, voice: Voice) -> None:
    """Go on with a run, here or on hosts."""
    folder = records.find_run(inputs.places.results, given["resume"])
    budget_s = numbers.seconds("--budget", given["budget"]) if given["budget"] else None
    if budget_s is not None:
        voice = replace(voice, again=f"{voice.again} --budget {given['budget']}")
    elsewhere.same(folder.name, elsewhere.placed_of(records.read_head(folder).asked), place)
    if (place and elsewhere.SERVER not in dict(place)) or given["hosts"] is None:
        with placed.hosts_of(given, place) as there:
            finish(lambda sink: resume_run(folder, replace(inputs, elsewhere=there), budget_s, sink), voice)
        return
    fleet.require_dask()
    from fairground.lab import hosts

    with hosts.fleet(*placed.of_server(given, place)) as there:
        finish(lambda _: hosts.resume(folder, there, inputs, budget_s), voice)


def _on_hosts(context: typer.Context, given: Given, place: Placed, inputs: Inputs, voice: Voice) -> None:
    """A new run, in the seats of the hosts' machines: of all that have joined, or of that which has the server."""
    fleet.require_dask()
    from fairground.lab import hosts

    with hosts.fleet(*placed.of_server(given, place)) as there:
        chosen = placing.suite(_suite(context, inputs.places, given, there.seats), place)
        if place:
            elsewhere.check(chosen, inputs.why_s, place)
        if given["dry_run"]:
            say.the_plan(hosts.dry_run(chosen, inputs, len(there.members)), voice.as_json)
        else:
            finish(lambda _: hosts.run(chosen, there, inputs), voice)


def _suite(context: typer.Context, places: Places, given: Given, seats: Seats) -> Suite:
    """The suite that is named, or one of what is named, in these seats; with what is said of it as a whole."""
    path, stacks, profile = given["suite"], given["stack"], given["profile"]
    if path is None and stacks is None:
        raise LabError("name a suite or at least one `--stack`", "./fairground run suites/demo.toml, or: run --stack SERVER")
    if path is not None and stacks is not None:
        raise LabError("a suite and `--stack` are both given, and a suite names its stacks", "leave one of them out")
    if profile is not None and path is None:
        raise LabError(f"`--profile {profile}` needs a suite", "./fairground run suites/matrix.toml --profile full")
    if path is not None:
        _refuse_with_suite(context)
        file = places.suite(path)
        chosen = manifest.load_suite(file, profile, seats, given["seats"])
    else:
        known = places.load_servers()
        named = [one.id for name in stacks for one in manifest.find_stack(known, name)]
        chosen = replace(asked.suite(given, title_of(stacks), named, seats), fits=not is_typed(context, "window", "warmup"))
    anchor = given["anchor"]
    return asked.overridden(
        chosen, given if anchor is None else {**given, "anchor": asked.one_stack(places.load_servers(), anchor).id}
    )


def _refuse_with_suite(context: typer.Context) -> None:
    """A suite says itself what is measured and how: an option that would be passed over is an error."""
    for option in options.SUITE_HAS_ITS_OWN:
        if is_typed(context, option.name):
            raise LabError(
                f"`{option.spelling}` goes with `--stack`: a suite says its own", "leave it out, or edit a copy of the suite"
            )


def measure_suite(suite: Suite, inputs: Inputs, voice: Voice) -> None:
    """Measure a suite and report it; the exit code says what came of it."""
    if not voice.quiet:
        tell_seats([one.settings for one in suite.groups])
    finish(lambda sink: run_suite(suite, inputs, sink), voice)


def finish(work: Work, voice: Voice) -> None:
    """Show a run as it is made, then its end."""
    (end,) = follow(work, voice)
    assert isinstance(end, Reported), "a run ends with its report"
    say.the_summary(end.run, end.path, voice.as_json, end.tried)
    verdicts = {trial.verdict for trial in end.run.trials}
    if not verdicts - {Verdict.VOID}:
        raise typer.Exit(NOTHING_MEASURED)
    if Verdict.REJECTED in verdicts:
        raise typer.Exit(BAD_ANSWER)


def title_of(stacks: Sequence[str]) -> str:
    """The title of a run that was asked for by stacks."""
    return " ".join(stacks[:3]) + (" and more" if len(stacks) > 3 else "")
