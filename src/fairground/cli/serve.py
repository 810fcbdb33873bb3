"""`serve`: the lab in a browser."""

from __future__ import annotations

import os
import secrets
import socket
from typing import Annotated

import typer

from fairground import records
from fairground.cli import say
from fairground.cli.options import Json, Results, Servers
from fairground.lab.places import Places
from fairground.model import LabError

LOOPBACK = ("127.0.0.1", "localhost", "::1")
EVERYWHERE = ("0.0.0.0", "::", "")
WAITING = 1024
"""Connections that may wait to be accepted. The kernel counts one that finds no room, and a trial would warn of it."""
CLOSING_S = 2
"""Seconds for which a browser that watches may hold up the end."""


def serve(
    port: Annotated[int, typer.Option("--port", help="Where to listen; 0: any that is free.")] = 8600,
    host: Annotated[str, typer.Option("--host", help="Where to listen; beyond loopback others can reach the lab.")] = LOOPBACK[0],
    servers: Servers = None,
    results: Results = None,
    as_json: Json = False,
) -> None:
    """The lab in a browser: all records, a run as it goes on, and measurements started by a click.

    Examples: ./fairground serve · ./fairground serve --port 0 --results elsewhere
    """
    from fairground.serve import require_libraries

    require_libraries()
    from fairground.serve import app
    from fairground.serve.allowance import Allowance
    from fairground.serve.connection import PageServer

    if host in EVERYWHERE:
        raise LabError(
            f"`--host {host}` stands for every address; the lab listens on one", "name the address that the browser opens"
        )
    listener = _listening(host, port)
    port = listener.getsockname()[1]
    token = secrets.token_urlsafe(24)
    names = dict.fromkeys((host, *(LOOPBACK if host in LOOPBACK else ())))
    hosts = [f"[{name}]:{port}" if ":" in name else f"{name}:{port}" for name in names]
    places = Places.of(os.environ, servers, results)
    guarded, lab = app.application(places, places.results / records.SITE, token, hosts)
    address = f"http://{hosts[0]}/?token={token}"
    if as_json:
        say.document({"address": address})
    else:
        say.line(f"lab  {address}")
        say.note("Ctrl-C ends it; a measurement that goes on is ended too, and what is finished is kept")
    if host not in LOOPBACK:
        say.note(f"{host} is not loopback: anybody who reads the address on the network can use the lab")
    server = PageServer(Allowance(guarded, holds=lambda: lab.measures and not server.should_exit), WAITING, CLOSING_S)
    try:
        server.run(sockets=[listener])
    finally:
        lab.close()


def _listening(host: str, port: int) -> socket.socket:
    """A socket that listens. LabError for an address that is none of this machine's, or is taken."""
    if not 0 <= port <= 65_535:
        raise LabError(f"`--port {port}` is not a port number", "write a number from 0 to 65535; 0 is any that is free")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(WAITING)
    except OSError as error:
        listener.close()
        sentence = f"nothing can listen at {host}:{port}: {(error.strerror or str(error)).lower()}"
        raise LabError(sentence, "name another `--port`; 0 is any that is free") from error
    return listener
