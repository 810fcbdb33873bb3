"""`try`: any HTTP service, without a contract: how it behaves, what it gives, and its load curve."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from fairground.capacity import objective
from fairground.cli import recorded, say
from fairground.cli.arguments import also_takes
from fairground.cli.options import BAD_ANSWER, Json, Results
from fairground.inputs import numbers, options
from fairground.inputs.options import Given
from fairground.lab import address, pages, service, setup
from fairground.lab.measuring import Inputs, UnitDone
from fairground.lab.places import Places
from fairground.model import LabError, Load, Settings
from fairground.model.record import Kind, TryAsked
from fairground.report import capacity as curves
from fairground.report import visit as words
from fairground.report.text import words as texts
from fairground.service.values import Visit


@also_takes(*options.some("threads", "quiet"))
def try_(
    what: Annotated[
        list[str] | None, typer.Argument(metavar="[URL | -- COMMAND]...", help="The URL; or, after --, what starts the service.")
    ] = None,
    url: Annotated[str | None, typer.Option("--url", help="The URL, where a command is given, too.")] = None,
    method: Annotated[str, typer.Option(help="The request's method.")] = "GET",
    body: Annotated[str | None, typer.Option(help="The request's body; @FILE reads it from a file.")] = None,
    header: Annotated[
        list[str] | None, typer.Option("--header", "-H", metavar="NAME: VALUE", help="A header of the request; repeatable.")
    ] = None,
    slo: Annotated[str, typer.Option("--slo", help="What each rate of the load curve is held against.")] = objective.DEFAULT,
    seconds: Annotated[int, typer.Option("--window", help="Seconds of each measurement: 3 closed loops and 7 rates.")] = 2,
    timeout_ms: Annotated[int, typer.Option(help="Longest wait for an answer.")] = 5_000,
    no_load: Annotated[bool, typer.Option("--no-load", help="Only the checks.")] = False,
    mine: Annotated[bool, typer.Option("--i-own-this-host", help="Allow a URL on another machine.")] = False,
    resume: Annotated[
        str | None, typer.Option("--resume", metavar="RECORD", help="Go on with an interrupted try: its id, or `latest`.")
    ] = None,
    results: Results = None,
    given: Given = options.NOTHING,
    as_json: Json = False,
) -> None:
    """Any HTTP service: how it behaves on the wire, and its load curve. It needs no contract.

    Examples: ./fairground try http://127.0.0.1:3000/x · ./fairground try --url http://127.0.0.1:3000/ -- ./my-server --port 3000
    """
    places, headers = Places.of(os.environ, None, results), tuple(_header(text) for text in header or [])
    if resume is not None:
        recorded.refuse_beside_resume(URL=what or None, **{"--url": url})
        record = recorded.resumed(places, resume, Kind.TRY)
        inputs, asked = Inputs(places, record.head.command, record=record), record.head.asked
    else:
        at, command = _address(what or [], url)
        asked = TryAsked(
            at, method, address.kept(headers), None if body is None else _body(body), objective.parse(slo).text,
            numbers.positive("--window", seconds), numbers.positive("--timeout-ms", timeout_ms), not no_load, mine,
            tuple(command) if command else None, _threads(given["threads"]),
        )  # fmt: skip
        inputs = Inputs(places, _command(sys.argv[1:]))
    request = address.request(asked, headers)
    record = recorded.follow(service.attempt(inputs, asked, request), "try", _tell, given["quiet"])
    page, found = pages.write(record), service.found(record)
    _say(page, found, as_json)
    if found.broken:
        raise typer.Exit(BAD_ANSWER)


def _threads(given: int | None) -> int:
    threads = 1 if given is None else numbers.positive("--threads", given)
    setup.check_amounts(Load(threads=threads), Settings())
    return threads


def _command(words: Sequence[str]) -> str:
    """The command line, without what is secret in its headers."""
    names = tuple(f"{name}:" for name in address.SECRET)
    shown = [f"{word.partition(':')[0]}: …" if word.lower().startswith(names) else word for word in words]
    return "./fairground " + shlex.join(shown)


def _tell(event: UnitDone) -> None:
    """A line for each closed loop and for the curve."""
    part = event.record.entries[-1]
    if part.closed is not None:
        say.note(f"closed loop, {part.closed.connections} connections: {part.closed.goodput_per_s:,.0f}/s")
    if part.curve:
        rates = [point.step.rate_per_s for point in part.curve]
        say.note(f"load curve, {texts.number(min(rates))} to {texts.number(max(rates))}/s")


def _address(what: Sequence[str], url: str | None) -> tuple[str, list[str]]:
    """The URL, and the command that starts the service (empty: it runs already)."""
    words = list(what)
    if words and "://" in words[0] or url is None and len(words) == 1 and address.guessed(words[0]):
        if url is not None:
            raise LabError("two URLs are given", "leave out `--url`, or give a command after `--`")
        if len(words) > 1:
            raise LabError(f"`{words[1]}` follows the URL", "to start a service: ./fairground try --url URL -- COMMAND")
        return _whole(words[0]), []
    if url is None:
        hint = "./fairground try http://127.0.0.1:3000/, or: try --url http://127.0.0.1:3000/ -- ./my-server --port 3000"
        raise LabError("the URL of the service is missing", hint)
    return _whole(url), words


def _whole(text: str) -> str:
    """The URL, with the scheme that is meant where none is written; what was taken for it is said."""
    found = None if "://" in text else address.guessed(text)
    if found is not None:
        say.note(f"`{text}` is taken for {found}")
    return found or text


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip() or not all(letter.isprintable() and letter.isascii() for letter in text):
        raise LabError(f"`--header {text}` should be a name and a value", "for instance --header 'Accept: text/html'")
    return name.strip(), value.strip()


def _body(text: str) -> str:
    if not text.startswith("@"):
        return text
    try:
        return Path(text[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LabError(f"`--body {text}` cannot be read ({error})", "a text file in UTF-8") from None


def _say(page: Path, found: Visit, as_json: bool) -> None:
    if as_json:
        say.document({**words.rows(found), "folder": str(page.parent)})
        return
    for line in (*words.lines(found), *words.sentences(found), *curves.text_curve(found.curve), *found.notes):
        say.line(line)
    say.line(f"page  {page}")
