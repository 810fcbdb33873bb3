"""`try`: any HTTP service, without a contract: how it behaves, what it gives, and its load curve."""

from __future__ import annotations

import ipaddress
import json
import os
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from fairground import conduct, machine, objective, visit
from fairground.cli import lab, numbers, say
from fairground.cli.capacity import new_folder
from fairground.cli.run import BAD_ANSWER, Json, Quiet, Results
from fairground.conduct import Asked
from fairground.model import SCHEMA_VERSION, LabError, Machine
from fairground.process import Child, Keeper, RoleMeter, listener, listens
from fairground.report import capacity as curves
from fairground.report import render
from fairground.report import visit as words
from fairground.service import Visit
from fairground.stand import Target

READY_S = 30.0


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
    seconds: Annotated[int, typer.Option(help="Seconds of each measurement: 3 closed loops and 7 rates.")] = 2,
    timeout_ms: Annotated[int, typer.Option(help="Longest wait for an answer.")] = 5_000,
    no_load: Annotated[bool, typer.Option("--no-load", help="Only the checks.")] = False,
    mine: Annotated[bool, typer.Option("--i-own-this-host", help="Allow a URL on another machine.")] = False,
    results: Results = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Any HTTP service: how it behaves on the wire, and its load curve. It needs no contract.

    Examples: ./fairground try http://127.0.0.1:3000/x · ./fairground try --url http://127.0.0.1:3000/ -- ./my-server --port 3000
    """
    address, command = _address(what or [], url)
    asked = _asked(address, method, body, header or [], mine)
    kept = objective.parse(slo)
    seconds = numbers.positive("--seconds", seconds)
    timeout_ms = numbers.positive("--timeout-ms", timeout_ms)
    places = lab.Places.of(os.environ, None, results)
    talk = (lambda _: None) if quiet else _tell
    engine = places.engine
    if command and listens(asked.host, asked.port):
        raise LabError(f"something listens on port {asked.port} already", "end it, or try it without a command")
    folder = new_folder(places, "try")
    with ExitStack() as held:
        held.enter_context(_unless_empty(folder))
        keeper = held.enter_context(lab.keeping())
        child = held.enter_context(_started(keeper, command, asked, folder))
        talk(f"{asked.method} {address}: checks")
        seen = conduct.examine(asked)
        metered, server = _metered(child, asked)
        found = Visit(address, asked.method, kept.text, kept.deadline_us, seen, server)
        if not no_load:
            lab.keep_awake(held, keeper, places, talk)
            target = Target(keeper, engine, folder, asked.host, asked.port, visit.workload(asked, seen), {}, metered)
            found = visit.measure(found, target, kept, seconds, machine.cores(), timeout_ms, talk)
        measured_on = machine.fingerprint(keeper.awake)
    _write(folder, found, measured_on)
    _say(folder, found, as_json)
    if found.conduct.broken:
        raise typer.Exit(BAD_ANSWER)


@dataclass(frozen=True)
class _Place:
    """A URL's parts as they are needed."""

    host: str
    port: int
    authority: str
    target: str


def _address(what: Sequence[str], url: str | None) -> tuple[str, list[str]]:
    """The URL, and the command that starts the service (empty: it runs already)."""
    words = list(what)
    if words and "://" in words[0]:
        if url is not None:
            raise LabError("two URLs are given", "leave out `--url`, or give a command after `--`")
        if len(words) > 1:
            raise LabError(f"`{words[1]}` follows the URL", "to start a service: ./fairground try --url URL -- COMMAND")
        return words[0], []
    if url is None:
        hint = "./fairground try http://127.0.0.1:3000/, or: try --url http://127.0.0.1:3000/ -- ./my-server --port 3000"
        raise LabError("the URL of the service is missing", hint)
    return url, words


def _asked(url: str, method: str, body: str | None, headers: Sequence[str], mine: bool) -> Asked:
    """The request, its address looked up. LabError for what cannot be asked, and for other people's machines."""
    place = _place(url)
    verb = method.upper()
    if not verb.isalpha():
        raise LabError(f"`--method {method}` is no method", "for instance --method POST")
    given = tuple(_header(text) for text in headers)
    visit.check_headers(given)
    content = None if body is None else _body(body)
    if verb in ("GET", "HEAD") and content is not None:
        raise LabError(f"a {verb} has no body", "add --method POST")
    if verb == "HEAD":
        raise LabError("`--method HEAD` says nothing of a service's answers", "HEAD is among the checks of a GET")
    return Asked(_host(place, mine), place.port, place.authority, verb, place.target, given, content)


def _place(url: str) -> _Place:
    try:
        parts = urlsplit(url)
        port = parts.port or 80
    except ValueError as error:
        raise LabError(f"`{url}` is no URL ({error})", "for instance http://127.0.0.1:3000/") from None
    if parts.scheme == "https":
        raise LabError(f"`{url}` is encrypted, and the load engine speaks plain HTTP/1.1", "try the service behind its TLS proxy")
    if parts.scheme != "http" or not parts.hostname:
        raise LabError(f"`{url}` is no http URL", "for instance http://127.0.0.1:3000/")
    if parts.username is not None:
        raise LabError("a name and password in a URL are not sent", "--header 'Authorization: …'")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if not target.isascii() or not target.isprintable() or " " in target:
        raise LabError(f"`{target}` should be percent-encoded", "only ASCII without spaces can be sent")
    return _Place(parts.hostname, port, parts.netloc, target)


def _host(place: _Place, mine: bool) -> str:
    """The address of a host, which must be this machine unless its owner says otherwise."""
    try:
        known = {str(one[4][0]) for one in socket.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)}
    except OSError as error:
        raise LabError(f"`{place.host}` has no address ({error.strerror or error})", "check the URL", exit_code=3) from None
    found = sorted(known, key=lambda address: (":" in address, address))[0]
    if not mine and not ipaddress.ip_address(found.partition("%")[0]).is_loopback:
        raise LabError(
            f"`{place.host}` is not this machine, and load against other people's machines is an attack",
            "if it is yours: --i-own-this-host",
        )
    return found


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip() or not all(letter.isprintable() and letter.isascii() for letter in text):
        raise LabError(f"`--header {text}` should be a name and a value", "for instance --header 'Accept: text/html'")
    return name.strip(), value.strip()


def _body(text: str) -> bytes:
    if not text.startswith("@"):
        return text.encode()
    try:
        return Path(text[1:]).read_text(encoding="utf-8").encode()
    except (OSError, UnicodeDecodeError) as error:
        raise LabError(f"`--body {text}` cannot be read ({error})", "a text file in UTF-8") from None


@contextmanager
def _unless_empty(folder: Path) -> Iterator[None]:
    """A folder that a failure left without anything in it is removed again."""
    try:
        yield
    except LabError:
        if not any(folder.iterdir()):
            folder.rmdir()
        raise


@contextmanager
def _started(keeper: Keeper, command: Sequence[str], asked: Asked, folder: Path) -> Iterator[Child | None]:
    """The service, where a command is given, until it listens; it is stopped at the end."""
    if not command:
        yield None
        return
    log = folder / "server.log"
    with open(log, "wb") as stream:
        child = keeper.spawn(command, role="server", env=os.environ, cwd=Path.cwd(), stdout=stream, stderr=stream)
    try:
        deadline = time.monotonic() + READY_S
        while not listens(asked.host, asked.port):
            if child.exit_code() is not None:
                raise LabError(f"`{command[0]}` ended with exit code {child.exit_code()}", f"its words: {log}", exit_code=1)
            if time.monotonic() > deadline:
                raise LabError(
                    f"`{command[0]}` does not listen on port {asked.port} after {READY_S:.0f} s", f"its words: {log}", 1
                )
            time.sleep(0.02)
        yield child
        if child.exit_code() is not None:
            raise LabError(
                f"`{command[0]}` ended by itself, with exit code {child.exit_code()}", f"its words: {log}", exit_code=1
            )
    finally:
        child.stop()


def _metered(child: Child | None, asked: Asked) -> tuple[dict[str, RoleMeter], str | None]:
    """Whose CPU is read, and in words: the process that was started or, on this machine, the one that listens."""
    if child is not None:
        return {"server": RoleMeter(child)}, f"the process {child.pid} that was started"
    if not ipaddress.ip_address(asked.host.partition("%")[0]).is_loopback:
        return {}, None
    found = listener(asked.port)
    if found is None:
        return {}, None
    pids = ", ".join(map(str, found.pids))
    return {"server": RoleMeter(found)}, f"process {pids}, which listens on port {asked.port}"


def _write(folder: Path, found: Visit, measured_on: Machine) -> None:
    """try.json and try.html."""
    version = lab.lab_version()
    document = {"schema": SCHEMA_VERSION, **words.rows(found), "machine": say.plain(measured_on), "lab": version}
    (folder / "try.json").write_text(json.dumps(document, indent=2), encoding="utf-8")
    facts = (
        measured_on.cpu_model or "unknown CPU",
        f"{measured_on.cores} cores{', kept from idling' if measured_on.awake else ''}",
        time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
    )
    page = words.html(found, render.svg(words.specs(found)), facts, f"Fairground {version}")
    (folder / "try.html").write_text(page, encoding="utf-8")


def _tell(line: str) -> None:
    say.talk.print(line, highlight=False, soft_wrap=True, markup=False)


def _say(folder: Path, found: Visit, as_json: bool) -> None:
    if as_json:
        say.document({**words.rows(found), "folder": str(folder)})
        return
    for line in (*words.lines(found), *words.sentences(found), *curves.text_curve(found.curve), *found.notes):
        say.out.print(line, highlight=False, soft_wrap=True, markup=False)
    say.out.print(f"page  {folder / 'try.html'}", highlight=False, soft_wrap=True)
