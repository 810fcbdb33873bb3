"""`try`: any HTTP service, without a contract: how it behaves, what it gives, and its load curve."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import typer

from fairground.capacity import objective
from fairground.capacity.service import address
from fairground.capacity.service.behaviour import Encrypted
from fairground.capacity.service.drive import CONNECTIONS, SHARES, WARM_LOOKS, WARM_S, loops_within
from fairground.capacity.service.known import service_of
from fairground.capacity.service.request import is_safe
from fairground.capacity.service.values import OPEN_CONNECTIONS, Visit
from fairground.cli import against, say, typed
from fairground.cli.arguments import refuse_beside_resume, takes
from fairground.cli.follow import Voice, finish, record_to_resume
from fairground.cli.options import BAD_ANSWER, NOTHING_MEASURED
from fairground.inputs import files, numbers, options, request_files
from fairground.inputs.options import Given, Option
from fairground.lab import pages, service, setup
from fairground.lab.events import UnitDone
from fairground.lab.places import Places
from fairground.lab.preparation import Inputs
from fairground.model import CellSettings, LabError, Load, secret
from fairground.model.known import KNOWN
from fairground.model.record import Record, RecordKind, TryAsked
from fairground.model.request_mix import RequestMix
from fairground.report import capacity, visit
from fairground.report.text.words import number, plural

TIMEOUT_MS = 5_000
"""The longest wait for an answer, where the objective needs no longer one."""
MAY_GO_ON = ("what", "url", "header", "body", "requests")
"""What may stand beside `--resume`: what a record does not keep."""
OPTIONS = (
    Option("what", "The URL; or, after --, what starts the service.", list[str] | None, None, argument=True,
           metavar="[URL | -- COMMAND]..."),
    Option("url", "The URL, where a command is given, too; @FILE holds it.", str | None, None, told=True),
    Option("method", "The request's method.", str, "GET"),
    Option("body", "The request's body; @FILE reads it from a file.", str | None, None),
    Option("header", "A header of the request, or @FILE with one a line; repeatable.", list[str] | None, None, short="-H",
           metavar="NAME: VALUE"),
    Option("requests", "Several requests in place of one: TOML, commands of curl, a HAR, or OpenAPI.", Path | None, None,
           metavar="FILE"),
    Option("slo", "What each rate of the load curve is held against.", str, objective.DEFAULT),
    Option("at_least", "Exit with 1 unless this rate keeps the objective, in most of three measurements.", float | None, None,
           metavar="RATE"),
    Option("seconds", "Seconds of each measurement: 3 closed loops and 7 rates.", int, 2, spelled="--window"),
    Option("timeout_ms", "Longest wait for an answer (default: 5000, or what the objective needs).", int | None, None),
    Option("no_load", "Only the checks.", bool, False),
    Option("expect_status", "The status that is good, such as 401; else the answers tell.", int | None, None),
    Option("any_body", "Hold only the status against an answer: bodies may differ.", bool, False),
    Option("follow", "Follow one redirect on the same host.", bool, False),
    Option("mine", "Allow a URL on another machine.", bool, False, spelled="--i-own-this-host"),
    Option("database", "The service's own PostgreSQL, read while it is loaded; @FILE holds its URL.", str | None,
           None, metavar="URL", told=True),
    *against.OPTIONS,
    Option("resume", "Go on with an interrupted try: its id, or `latest`.", str | None, None, metavar="RECORD"),
    Option("ca", "https: certificates that are believed in place of this machine's, in PEM.", str | None, None, metavar="FILE"),
    Option("insecure", "https: believe every certificate; the page says so.", bool, False),
    Option("threads", "Threads of the generator.", int, 1),
    *(one for one in options.SHARED if one.name in ("results", "quiet", "as_json")),
)  # fmt: skip


@takes(*OPTIONS)
def try_(context: typer.Context, given: Given) -> None:
    """Any HTTP service: how it behaves on the wire, and its load curve. It needs no contract.

    Examples: ./fairground try http://127.0.0.1:3000/x · ./fairground try --url http://127.0.0.1:3000/ -- ./my-server --port 3000
    · ./fairground try https://127.0.0.1:3443/ --ca authority.pem · ./fairground try http://127.0.0.1:3000/x --against
    http://127.0.0.1:3001/x
    """
    if given["resume"] is not None and given["against"] is None:
        refuse_beside_resume(context, MAY_GO_ON, "try")
    run(given)


def run(given: Given, confirmations: int = 0) -> None:
    """Carry out a try as it is given. `confirmations`: how often the rate that is told is measured anew."""
    places = Places.of(os.environ, None, given["results"])
    against.require_together(given, [option for option in OPTIONS if option.name in ("slo", "seconds", "at_least")])
    if given["against"] is not None:
        asked, mix = _with_requests(given, _asked(given))
        against.compare(given, places, asked, mix)
        return
    if given["resume"] is not None:
        record = record_to_resume(places.results, given["resume"], RecordKind.TRY)
        inputs = Inputs(places, record.head.command, record=record)
        asked, mix = _same_requests(given, address.restore(record.head.asked, _asked_again(given, record.head.asked)))
    else:
        asked, mix = _with_requests(given, _asked(given, confirmations))
        inputs = Inputs(places, typed.command())
    _warn(asked.command)

    def attempt(asked: TryAsked) -> Record[Any, Any]:
        request = address.request(asked, places.environ, mix)
        if asked.load and not is_safe(asked.method) and not given["quiet"]:
            say.note(_writes(asked))
        voice = Voice(given["quiet"], tell=_tell)
        return finish(lambda sink: service.attempt(inputs, asked, request, sink), voice)

    try:
        record = attempt(asked)
    except Encrypted:
        if not _is_guess(given, asked.url):
            raise
        encrypted = asked.url.replace("http://", "https://", 1)
        say.note(f"the service speaks TLS, so this goes on with {secret.redact(encrypted)}")
        record = attempt(replace(asked, url=encrypted))
    page, found = pages.write(record), service_of(record)
    _say(page, found, given["as_json"])
    if (wrote := _written(found)) is not None and not given["as_json"]:
        say.line(wrote)
    if code := exit_code(found, is_capacity=asked.confirmations > 0):
        raise typer.Exit(code)


def exit_code(found: Visit, is_capacity: bool = False) -> int:
    """Return what a try ends with: 1 where a person would call the service broken, or it misses the rate that it must serve.

    A capacity without a rate ends with 1 where rates missed the objective, and with 3 where none could be judged.
    """
    if found.broken or found.keeps_enough is False:
        return BAD_ANSWER
    if is_capacity and found.kept_per_s is None:
        return BAD_ANSWER if any(point.judgement.low is False for point in found.curve) else NOTHING_MEASURED
    return NOTHING_MEASURED if found.at_least_per_s is not None and found.keeps_enough is None else 0


def _writes(asked: TryAsked) -> str:
    """Say before a load that may write how much it sends."""
    loads = len(loops_within(asked.connections or OPEN_CONNECTIONS)) + len(SHARES)
    return (
        f"{asked.method.upper()} may write: about 30 requests of the checks, and then as many as the service answers in some"
        f" {loads * asked.seconds + WARM_LOOKS * WARM_S:.0f} s or more"
        + ("" if asked.confirmations else ". Only the checks: --no-load")
    )


def _written(found: Visit) -> str | None:
    """Say after such a load how many requests it had and how many were acknowledged; None where it writes nothing."""
    if is_safe(found.method) or not found.acknowledged:
        return None
    return f"{found.method}: {found.acknowledged:,} requests under load were acknowledged, those of the warm-up among them"


def _with_requests(given: Given, asked: TryAsked) -> tuple[TryAsked, RequestMix | None]:
    """Add the file of requests to what is tried, where one is given. LabError for what says nothing beside one."""
    if given["requests"] is None:
        return asked, None
    for option in OPTIONS:
        if option.name in ("method", "body", "expect_status", "any_body", "follow") and given[option.name] != option.default:
            raise LabError(f"`{option.spelling}` is of one request, and `--requests` gives several", "write it into the file")
    mix = request_files.read_requests(given["requests"], asked.url, [name for name, _ in asked.headers])
    KNOWN.remember(*(one for text in mix.texts for one in secret.secrets_of([text])))
    methods = ", ".join(dict.fromkeys(one.method for one in mix.requests))
    return replace(asked, method=methods, requests=f"{mix.title} (sha256 {mix.digest[:12]})"), mix


def _same_requests(given: Given, kept: TryAsked) -> tuple[TryAsked, RequestMix | None]:
    """Take the requests that a record goes on with from their file. LabError where that is missing, or another one."""
    if kept.requests is None:
        if given["requests"] is not None:
            raise LabError("`--requests` cannot be combined with `--resume` of a try of one request", "leave it out")
        return kept, None
    if given["requests"] is None:
        raise LabError(f"the requests of {kept.requests} were not kept", "give them again: --requests FILE")
    asked, mix = _with_requests(given, kept)
    if asked.requests != kept.requests:
        raise LabError(f"`--requests {given['requests']}` holds others than the record's {kept.requests}", "give that file")
    return asked, mix


def _warn(command: Sequence[str] | None) -> None:
    """Say that a service shows a secret to everybody on this machine for as long as it runs."""
    if secret.secrets_of(service.without_settings(command or (), {})[0]):
        say.note("what starts the service holds a secret, and the process list shows it: put it into the environment")


def _asked_again(given: Given, kept: TryAsked) -> TryAsked:
    """Read what is given beside `--resume`, which is what the record did not keep."""
    words = given["what"] or []
    url, command = _address(words, given["url"]) if words and kept.command is None else (given["url"] or "", words)
    return replace(
        kept,
        url=_whole(url, urlsplit(kept.url).scheme) if url else "",
        headers=_headers(given),
        body=_body(given),
        command=tuple(command) or None,
        database=given["database"],
    )


def _asked(given: Given, confirmations: int = 0) -> TryAsked:
    """Read what is tried, and how, from the command line. LabError for what cannot be meant."""
    text, command = _address(given["what"] or [], given["url"])
    url = _whole(text, "https" if given["insecure"] or given["ca"] is not None else "http")
    threads, most, kept = numbers.positive("--threads", given["threads"]), None, objective.parse(given["slo"])
    if given["connections"] is not None and given["against"] is None:
        most = numbers.positive("--connections", given["connections"])
    if not given["no_load"]:
        fewer = "let the shell open more files (ulimit -n 4096)"
        fewer += "" if confirmations else ", or make only the checks: --no-load"
        setup.check_amounts(Load(min(max(CONNECTIONS), most or OPEN_CONNECTIONS), threads=threads), CellSettings(), fewer)
    return TryAsked(
        url,
        given["method"],
        _headers(given),
        _body(given),
        kept.text,
        seconds=numbers.positive("--window", given["seconds"]),
        timeout_ms=_timeout_ms(given, kept),
        load=not given["no_load"],
        other_host=given["mine"],
        command=tuple(command) if command else None,
        threads=threads,
        ca=None if given["ca"] is None else str(Path(given["ca"]).resolve()),
        insecure=given["insecure"],
        expects=_status(given["expect_status"]),
        any_body=given["any_body"],
        follows=given["follow"],
        database=given["database"],
        confirmations=confirmations,
        at_least_per_s=_at_least(given),
        connections=most,
    )


def _timeout_ms(given: Given, kept: objective.Objective) -> int:
    """Read the longest wait for an answer. LabError where it ends before the load curve's objective is missed."""
    if given["timeout_ms"] is None:
        return kept.wait_ms(TIMEOUT_MS)
    wait_ms = numbers.wait_for_answer("--timeout-ms", given["timeout_ms"])
    longest_ms = (kept.longest_us or 0.0) / 1000
    if wait_ms < longest_ms and given["against"] is None and not given["no_load"]:
        raise LabError(
            f"`--timeout-ms {wait_ms}` ends before `--slo '{kept.text}'` is missed: it would cut off answers in time",
            f"--timeout-ms {math.ceil(longest_ms)} or more, or leave it out",
        )
    return wait_ms


def _at_least(given: Given) -> float | None:
    """Read the rate that must keep the objective. LabError where nothing could tell."""
    rate: float | None = given["at_least"]
    if rate is None:
        return None
    if given["no_load"]:
        raise LabError("`--at-least` asks for a load, and `--no-load` for none", "leave one of them out")
    return numbers.rate("--at-least", rate)


def _status(given: int | None) -> int | None:
    if given is not None and not 200 <= given <= 599:
        raise LabError(f"`--expect-status {given}` should be 200 to 599", "for instance --expect-status 401")
    return given


def _tell(event: UnitDone) -> None:
    """A line for each closed loop and for the curve."""
    part = event.record.entries[-1]
    if part.closed is not None:
        say.note(f"closed loop, {plural(part.closed.connections, 'connection')}: {part.closed.goodput_per_s:,.0f}/s")
    if part.curve:
        rates = [point.step.rate_per_s for point in part.curve]
        say.note(f"load curve, {number(min(rates))} to {number(max(rates))}/s")


def _address(what: Sequence[str], url: str | None) -> tuple[str, list[str]]:
    """The URL as it is written, and the command that starts the service (empty: it runs already)."""
    words = list(what)
    if words and "://" in words[0] or url is None and len(words) == 1 and address.guess_url(words[0]):
        if url is not None:
            raise LabError("two URLs are given", "leave out `--url`, or give a command after `--`")
        if len(words) > 1:
            raise LabError(f"`{words[1]}` follows the URL", "to start a service: ./fairground try --url URL -- COMMAND")
        return words[0], []
    if url is None:
        hint = "./fairground try http://127.0.0.1:3000/, or: try --url http://127.0.0.1:3000/ -- ./my-server --port 3000"
        raise LabError("the URL of the service is missing", hint)
    return url, words


def _whole(text: str, scheme: str) -> str:
    """The URL, with the scheme that is meant where none is written; what was taken for it is said. LabError where it is none."""
    found = None if "://" in text else address.guess_url(text, scheme)
    if found is not None:
        say.note(f"`{secret.redact(text)}` is taken for {secret.redact(found)}")
    address.split_url(found or text)
    return found or text


def _is_guess(given: Given, url: str) -> bool:
    """True if the URL was written with a port but without a scheme, so that another scheme can be tried."""
    if given["resume"] is not None:
        return False
    text, _ = _address(given["what"] or [], given["url"])
    return "://" not in text and urlsplit(url).port is not None


def _headers(given: Given) -> tuple[tuple[str, str], ...]:
    """The headers that are typed, and those of files, one a line."""
    found = list[tuple[str, str]]()
    for text in given["header"] or ():
        lines = files.text_of("--header", text).splitlines() if text.startswith("@") else [text]
        found += [_header(line.strip(), text) for line in lines if line.strip()]
    KNOWN.remember(*(one for name, value in found for one in secret.secrets_of([f"{name}: {value}"])))
    return tuple(found)


def _body(given: Given) -> str | None:
    """The body that is typed, or that of a file."""
    if given["body"] is None:
        return None
    body = files.text_of("--body", given["body"])
    KNOWN.remember(*secret.secrets_of([body]))
    return body


def _header(text: str, where: str) -> tuple[str, str]:
    """A header's name and value. `where` names what is wrong, as far as it may be shown."""
    name, colon, value = text.partition(":")
    if not colon or not name.strip() or not all(letter.isprintable() and letter.isascii() for letter in text):
        (_, shown) = secret.redact_words(["--header", where])
        raise LabError(f"`--header {shown}` should be a name and a value", "for instance --header 'Accept: text/html'")
    return name.strip(), value.strip()


def _say(page: Path, found: Visit, as_json: bool) -> None:
    if as_json:
        say.document({**visit.rows(found), "folder": str(page.parent)})
        return
    told = *visit.lines(found), *visit.sentences(found), *visit.request_lines(found)
    for line in (*told, *capacity.text_curve(found.curve), *found.notes):
        say.line(line)
    say.line(f"page  {page}")
