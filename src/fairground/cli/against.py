"""`try --against`: two services, held against each other by the same request."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from fairground.capacity.service import address
from fairground.capacity.service.request import is_safe
from fairground.capacity.service.values import OPEN_CONNECTIONS
from fairground.cli import compared, say, typed
from fairground.cli.follow import Voice, finish
from fairground.inputs import numbers
from fairground.inputs.options import Given, Option
from fairground.lab import against, pages
from fairground.lab.places import Places
from fairground.lab.preparation import Inputs
from fairground.model import LabError, Load, secret
from fairground.model.pair import Round
from fairground.model.record import ComparisonAsked, TryAsked
from fairground.model.request_mix import RequestMix
from fairground.report import fail_on
from fairground.report.compared import comparison_of

BUDGET, CONNECTIONS = "1m", 100
ANEW = "begin anew: ./fairground try URL --against URL_B"
HOLD_TIME = "hold time against one: --fail-on slower:5%"
OPTIONS = (
    Option("against", "Take turns with the same request to this URL: whether it differs, and by how much.", str | None, None,
           metavar="URL"),
    Option("against_command", "What starts the service at that URL, as one word.", str | None, None, metavar="COMMAND"),
    Option("connections", f"Most connections of a load; with --against those at once (default: {OPEN_CONNECTIONS:,}; with"
           f" --against {CONNECTIONS}).", int | None, None),
    Option("budget", f"With --against: most time to spend (default: {BUDGET}).", str | None, None),
    Option("fail_on", "With --against: exit with 1 when B's whole interval is worse by more, as slower:5%.", str | None, None,
           metavar="RULE"),
    Option("markdown", "With --against: write the summary for a pull request to this file.", Path | None, None),
)  # fmt: skip


def require_together(given: Given, curve: Sequence[Option]) -> None:
    """LabError for an option that needs `--against`, or says nothing beside it, as those of a load `curve`."""
    if given["against"] is None:
        for option in OPTIONS[1:]:
            if option.name != "connections" and given[option.name] is not None:
                raise LabError(f"`{option.spelling}` goes with `--against`", "./fairground try URL --against URL_B")
        return
    for name in ("resume", "no_load", "database"):
        if given[name]:
            raise LabError(f"`--{name.replace('_', '-')}` cannot be combined with `--against`", "leave it out")
    for option in curve:
        if given[option.name] != option.default:
            raise LabError(f"`{option.spelling}` is of the load curve, which `--against` does not make", "leave it out")


def compare(given: Given, places: Places, a: TryAsked, mix: RequestMix | None) -> None:
    """Hold the service B against A, show what that found, and exit as `compare` does. `mix`: what both are asked, if several."""
    rule = None if given["fail_on"] is None else fail_on.parse(given["fail_on"], HOLD_TIME)
    b = replace(a, url=_url_of(given["against"], a), command=_command(given["against_command"]))
    connections = CONNECTIONS if given["connections"] is None else numbers.positive("--connections", given["connections"])
    budget_s = numbers.seconds("--budget", given["budget"] or BUDGET)
    load = Load(
        connections,
        window_s=1.0,
        warmup_min_s=2.0,
        warmup_max_s=15.0,
        timeout_ms=a.timeout_ms,
        threads=min(a.threads, connections),
    )
    asked = against.comparison_asked(a, b, load, budget_s)
    measure(Inputs(places, typed.command()), asked, given, rule, mix)


def measure(
    inputs: Inputs, asked: ComparisonAsked, given: Given, rule: fail_on.Rule | None, mix: RequestMix | None = None
) -> None:
    """Carry a comparison of services out, or go on with one, under lines of progress."""
    assert asked.services is not None
    a, b = (address.request(one, inputs.places.environ, mix) for one in asked.services)
    if (warning := describe_writes(asked)) is not None and not given["quiet"]:
        say.note(warning)
    voice = Voice(given["quiet"], tell=compared.tell, can_go_on=is_kept(asked))
    record = finish(lambda sink: against.compare_services(inputs, asked, (a, b), sink), voice)
    pages.write(record)
    found = comparison_of(record)
    compared.show(found, record.folder, given["markdown"], given["as_json"])
    if (wrote := describe_written(asked, record.entries)) is not None and not given["as_json"]:
        say.line(wrote)
    compared.leave(found, rule)


def describe_writes(asked: ComparisonAsked) -> str | None:
    """Say before a load that may write how much it sends; None where it writes nothing."""
    method = _method(asked)
    if is_safe(method):
        return None
    return (
        f"{method} may write: to each service about 30 requests of the checks, and then as many as both answer in some"
        f" {asked.budget_s:.0f} s or more"
    )


def describe_written(asked: ComparisonAsked, rounds: Sequence[Round]) -> str | None:
    """Say after such a load how many requests were acknowledged; None where it writes nothing."""
    method = _method(asked)
    if is_safe(method) or not rounds:
        return None
    a, b = (sum(getattr(pair, side).ok for one in rounds for pair in one.pairs) for side in ("a", "b"))
    return f"{method}: {a:,} requests to A and {b:,} to B were acknowledged in the windows, and those of the warm-ups beside them"


def _method(asked: ComparisonAsked) -> str:
    """The methods that both services are asked with."""
    return "" if asked.services is None else asked.services[0].method.upper()


def is_kept(asked: ComparisonAsked) -> bool:
    """True if a record of what is asked holds all that it takes to go on."""
    try:
        restore(asked.without_secrets())
    except LabError:
        return False
    return True


def restore(asked: ComparisonAsked) -> ComparisonAsked:
    """Take from a record what it goes on with. LabError where it held a secret, which was not kept."""
    assert asked.services is not None
    if asked.services[0].requests is not None:
        raise LabError(f"the requests of {asked.services[0].requests} were not kept", ANEW)
    nothing: dict[str, Any] = {"url": "", "headers": (), "body": None, "command": None, "database": None}
    try:
        a, b = (address.restore(one, replace(one, **nothing)) for one in asked.services)
    except LabError as error:
        raise LabError(error.message, ANEW) from None
    return replace(asked, services=(a, b))


def _command(text: str | None) -> tuple[str, ...] | None:
    try:
        return None if text is None else tuple(shlex.split(text))
    except ValueError as error:
        shown, hint = secret.redact(text or ""), f"as a shell reads it: {str(error).lower()}"
        raise LabError(f"`--against-command {shown}` is no command", hint) from None


def _url_of(text: str, a: TryAsked) -> str:
    """The URL of B. One without a path is asked what A is asked."""
    url = text if "://" in text else address.guess_url(text, urlsplit(a.url).scheme) or text
    other, own = address.split_url(url), urlsplit(a.url)
    if other.path in ("", "/") and not other.query and (own.path, own.query) != (other.path, ""):
        url = urlunsplit((other.scheme, other.netloc, own.path, own.query, ""))
        say.note(f"B is asked what A is asked: {secret.redact(url)}")
    return url
