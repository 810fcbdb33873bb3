"""The request that a service is tried with, from its URL. Its host must be this machine, unless its owner says otherwise."""

from __future__ import annotations

import ipaddress
import re
import shlex
import socket
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from urllib.parse import SplitResult, urlsplit

from fairground.capacity.service import drive
from fairground.capacity.service.request import Asked
from fairground.contract import encryption
from fairground.model import LabError, secret
from fairground.model.record import TryAsked
from fairground.model.request_mix import RequestMix
from fairground.model.wire import Tls

BARE = re.compile(
    r"(?:(?P<host>localhost|\d+\.\d+\.\d+\.\d+|\[[0-9a-fA-F:.]+\]|[A-Za-z0-9][\w.-]*(?=:\d))|(?=:))(?P<port>:\d+)?(?P<target>/.*)?"
)
"""A URL without its scheme. A name alone could be a program's: it needs a port."""


@dataclass(frozen=True)
class _Place:
    """A URL's parts as they are needed."""

    encrypted: bool
    host: str
    port: int
    authority: str
    target: str


def guess_url(text: str, scheme: str = "http") -> str | None:
    """The URL that is meant by `localhost:8000`, `:8000/x` or `127.0.0.1`; None where text is none, such as a command's name."""
    found = BARE.fullmatch(text)
    if found is None:
        return None
    host, port, target = found["host"] or "localhost", found["port"] or "", found["target"] or "/"
    return f"{scheme}://{host}{port}{target}"


def restore(kept: TryAsked, given: TryAsked) -> TryAsked:
    """Make a request whole again with what a record has not kept. LabError where that is not in `given`, or is another."""
    values = {name.lower(): value for name, value in given.headers}
    headers = tuple((name, _value(name, value, values)) for name, value in kept.headers)
    url = _same("URL", kept.url, given.url or None, "try --resume RUN URL")
    body = _same("body", kept.body, given.body, "--body @FILE")
    database = _same("database", kept.database, given.database, "--database URL")
    said = None if kept.command is None else shlex.join(kept.command)
    command = _same("command", said, None if given.command is None else shlex.join(given.command), "-- COMMAND")
    return replace(
        kept,
        url=url or "",
        headers=headers,
        body=body,
        database=database,
        command=None if command is None else tuple(shlex.split(command)),
    )


def _same(noun: str, kept: str | None, given: str | None, option: str) -> str | None:
    """The text itself of which `kept` is without its secrets."""
    if kept is None or secret.HIDDEN not in kept:
        if given is not None:
            raise LabError(f"the {noun} cannot be combined with `--resume`, which knows it", "leave it out")
        return kept
    if given is None:
        raise LabError(f"the {noun} held a secret, which was not kept", f"give it again: {option}")
    if _redacted(noun, given) != kept:
        raise LabError(f"the {noun} is another one than that of the record", f"it was {kept}")
    return given


def _redacted(noun: str, text: str) -> str:
    return secret.redact_command(text) if noun == "command" else secret.redact(text)


def request(asked: TryAsked, environ: Mapping[str, str] = MappingProxyType({}), mix: RequestMix | None = None) -> Asked:
    """Make the request, with its address looked up. `mix`: what is loaded in its place.

    LabError for what cannot be asked, for other people's machines, and for certificates that are missing.
    """
    place, verb = _place(asked.url), "GET" if mix is not None else asked.method.upper()
    if not verb.isalpha():
        raise LabError(f"`--method {asked.method}` is not a method", "for instance --method POST")
    headers = tuple((name, value) for name, value in asked.headers if value is not None)
    drive.check_headers(headers)
    if verb in ("GET", "HEAD") and asked.body is not None:
        raise LabError(f"a {verb} has no body", "add --method POST")
    if verb == "HEAD":
        raise LabError("`--method HEAD` says nothing of a service's answers", "HEAD is among the checks of a GET")
    body = None if asked.body is None else asked.body.encode()
    (host, *others), tls = _hosts(place, asked.other_host), _tls(place, asked, environ.get("SSL_CERT_FILE"))
    patience_s = asked.timeout_ms / 1000
    if asked.follows and verb != "GET":
        raise LabError(f"`--follow` is for GET, and not for {verb}", "leave it out, or ask the place that the redirect names")
    found = Asked(host, place.port, place.authority, verb, place.target, headers, body, tls, tuple(others), patience_s)
    return replace(found, expects=asked.expects, any_body=asked.any_body, follows=asked.follows, mix=mix)


def _tls(place: _Place, asked: TryAsked, usual: str | None) -> Tls | None:
    """The TLS that the request uses; None: plain HTTP. `usual`: certificates that programs here believe, where it is not said."""
    if not place.encrypted:
        if asked.ca is not None or asked.insecure:
            option = "--insecure" if asked.insecure else "--ca"
            raise LabError(
                f"`{option}` is for https, and `{asked.url}` is plain HTTP", f"leave it out, or ask https://{place.authority}"
            )
        return None
    if asked.ca is not None and asked.insecure:
        raise LabError("`--ca` and `--insecure` are given", "leave one of them out")
    tls = Tls(place.host, None if asked.insecure else asked.ca or usual, asked.insecure)
    try:
        encryption.context(tls)
    except OSError as error:
        said = error.strerror or str(error)
        raise LabError(
            f"`{tls.ca}` holds no certificates that can be read ({said})", "--ca FILE, with certificates in PEM"
        ) from None
    return tls


def _value(name: str, value: str | None, given: Mapping[str, str | None]) -> str:
    found = given.get(name.lower()) if value is None else value
    if found is None:
        hint = f"give it again: --header @FILE, with `{name}: …` in the file"
        raise LabError(f"the value of the header `{name}` is secret and was not kept", hint)
    return found


def split_url(url: str) -> SplitResult:
    """Take a service's URL apart. LabError where it is none."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # a ValueError where it is no number
    except ValueError as error:
        raise LabError(f"`{url}` is not a valid URL ({error})", "for instance http://127.0.0.1:3000/") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise LabError(f"`{url}` is not an http or https URL", "for instance http://127.0.0.1:3000/")
    return parts


def _place(url: str) -> _Place:
    parts = split_url(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    if parts.username is not None:
        raise LabError("a name and password in a URL are not sent", "--header @FILE, with `Authorization: …` in the file")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if not target.isascii() or not target.isprintable() or " " in target:
        raise LabError(f"`{target}` should be percent-encoded", "only ASCII without spaces can be sent")
    return _Place(parts.scheme == "https", parts.hostname or "", port, parts.netloc, target)


def _hosts(place: _Place, mine: bool) -> list[str]:
    """The addresses of a host, IPv4 first. They must be this machine's unless its owner says otherwise."""
    try:
        known = {str(one[4][0]) for one in socket.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)}
    except OSError as error:
        raise LabError(f"`{place.host}` has no address ({error.strerror or error})", "check the URL", exit_code=3) from None
    found = sorted((one for one in known if mine or is_here(one)), key=lambda address: (":" in address, address))
    if not found:
        raise LabError(
            f"`{place.host}` is not this machine, and load against other people's machines is an attack",
            "if it is yours: --i-own-this-host",
        )
    return found


def is_here(address: str) -> bool:
    """True if an address is this machine's own: so is the one that a server listens on for all of them."""
    found = ipaddress.ip_address(address.partition("%")[0])
    return found.is_loopback or found.is_unspecified
