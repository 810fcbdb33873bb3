"""`host`: the machines that measure one run together. The scheduler, a machine that joins, and who is there."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import Annotated, Any

import typer

from fairground import fleet
from fairground.cli import columns, streams
from fairground.cli.options import Json
from fairground.fleet import tls
from fairground.inputs.hosts import HostsAsked
from fairground.lab.places import Places
from fairground.model import LabError

TLS = Annotated[Path | None, typer.Option("--tls", metavar="DIR", help="The folder of the fleet's certificate.")]
Where = Annotated[str, typer.Argument(metavar="ADDRESS", help="Where `host serve` listens: tls://10.0.0.5:8786.")]

host = typer.Typer(
    help="Several machines that measure one run: a scheduler, hosts that join it, and who is there.\n\n"
    "Examples: ./fairground host serve · ./fairground host join 127.0.0.1:8786 --allow servers/ · "
    "./fairground host list 127.0.0.1:8786",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    no_args_is_help=True,
)


@host.command()
def serve(
    address: Annotated[str, typer.Option("--address", help="Where to listen; beyond loopback it is TLS.")] = "127.0.0.1:8786",
    tls_folder: Annotated[
        Path | None, typer.Option("--tls", metavar="DIR", help="The certificate's folder, made if there is none in it.")
    ] = None,
    as_json: Json = False,
) -> None:
    """The scheduler that hosts join and `run --hosts` asks; Dask's.

    Examples: ./fairground host serve · ./fairground host serve --address 10.0.0.5 --tls certificate
    """
    fleet.require_dask()
    at = tls.address(address, tls_folder)
    from fairground.fleet import scheduler  # loads Dask, for most of a second

    folder = tls_folder or Places.of(os.environ).cache / "tls"
    certificate = tls.make_certificate(folder) if at.tls else None

    def say_started(there: str) -> None:
        join = f"./fairground host join {there} --allow servers/" + (" --tls DIR" if certificate else "")
        if as_json:
            streams.document({"address": there, "tls": str(folder) if certificate else None})
            sys.stdout.flush()
        else:
            streams.line(f"scheduler  {there}")
            streams.note(f"on each machine: {join}")
        if certificate:
            streams.note(
                f"certificate  {folder}, valid until {tls.expiry_of(certificate):%Y-%m-%d}: copy it to each machine by a safe"
                " way; who has it can run programs on all hosts"
            )

    scheduler.serve(at, certificate, say_started)


@host.command()
def join(
    address: Where,
    allow: Annotated[
        list[str] | None,
        typer.Option(
            "--allow", metavar="WHAT", help="Servers that may run: a folder as it is here, an id, or `all`; repeatable."
        ),
    ] = None,
    role: Annotated[
        list[str] | None,
        typer.Option("--role", metavar="ROLE", help="Only this role: server, database or generator; repeatable (default: all)."),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="What it is called (default: the host's name).")
    ] = None,
    tls_folder: TLS = None,
) -> None:
    """This machine takes part, until it is interrupted: it builds and measures what it is given.

    Examples: ./fairground host join tls://10.0.0.5:8786 --allow servers/ --tls certificate
    """
    fleet.require_dask()
    at, certificate = tls.link(address, tls_folder)
    from fairground.fleet import here
    from fairground.lab import setup

    places = Places.of(os.environ)
    said = here.about_here(name, allow or (), role or (), setup.lab_version(), places.environ.get("PATH"))
    from fairground.fleet import worker
    from fairground.lab import joining

    one = joining.worker_of(places, said, HostsAsked(str(at), tls_folder))
    worker.join(at, certificate, one, here.resources(said), lambda: streams.note(f"host {said.name} has joined {at}"))


@host.command("list")
def list_(address: Where, tls_folder: TLS = None, as_json: Json = False) -> None:
    """Show who has joined: what each machine is, which roles it takes, and whether it can measure for this lab.

    Examples: ./fairground host list 127.0.0.1:8786 · ./fairground host list tls://10.0.0.5:8786 --tls certificate --json
    """
    fleet.require_dask()
    at, certificate = tls.link(address, tls_folder)
    from fairground.fleet import choice
    from fairground.lab import setup

    rows = choice.rows(at, certificate, setup.lab_version())
    if as_json:
        streams.document({"hosts": rows})
        return
    if not rows:
        streams.note(f"no host has joined {address}")
        return
    heads = ("host", "kind", "cores", "GiB", "architecture", "roles", "state")
    for text in columns.table(heads, [[_shown(row[head]) for head in heads] for row in rows]):
        streams.line(text)


def _shown(value: Any) -> str:
    if value is None:
        return "?"
    return ",".join(value) if isinstance(value, list) else f"{value:.1f}" if isinstance(value, float) else str(value)


@host.command(hidden=True)
def share(
    name: Annotated[str, typer.Option("--name", help="Of this host.")],
    hosts: Annotated[str, typer.Option("--hosts", help="Where the hosts of other roles have joined.")] = "",
    tls_folder: TLS = None,
) -> None:
    """Carry out the order on standard input. A host's worker starts this.

    Examples: ./fairground host share --name HOST < ORDER
    """
    from fairground.fleet.order import Order
    from fairground.lab.share import answer

    try:
        order = Order.from_json(sys.stdin.buffer.readline())
    except ValueError:
        raise LabError(
            "what came on standard input is no order of a lab", "a host's worker starts this, and nobody else"
        ) from None
    threading.Thread(target=_end_with_parent, daemon=True).start()
    answered = answer(order, Places.of(os.environ), name, HostsAsked(hosts, tls_folder)).to_json()
    sys.stdout.buffer.write(answered)
    sys.stdout.buffer.flush()


def _end_with_parent() -> None:
    """Interrupt this process when the worker that started it is gone: it holds the other end of our input."""
    import signal

    os.read(sys.stdin.fileno(), 1)  # of the descriptor: a thread that held the stream's lock would break the interpreter's end
    os.kill(os.getpid(), signal.SIGTERM)
