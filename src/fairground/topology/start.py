"""Starting hops: render a configuration into the trial's folder, start the program, wait until it listens.

A program that does not come up is a LabError of one sentence with its own last words, and nothing of it is left.
PgBouncer reads its users from standard input: no password is written into a run's folder. Where the lab is root, hops run in the
user namespace of the embedded PostgreSQL, since PgBouncer refuses to be root.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import IO, TypeVar
from urllib.parse import unquote, urlsplit

import psutil
from jinja2 import Environment, PackageLoader, StrictUndefined

from fairground import model
from fairground.host import Child, Keeper, Limits, Streams, free_port, listens, netloc
from fairground.host.child import OwnView
from fairground.model import LabError, Topology
from fairground.model.secret import HIDDEN
from fairground.topology.hop import Admin, Hop, Pooler, RunningWires
from fairground.topology.kind import KINDS, PREPARED_SINCE, HopKind, version, version_numbers

START_TIMEOUT_S = 10.0
GRAVE = re.compile(r"\b(?:in use|emerg|fatal|error|panic)\b", re.IGNORECASE)

Started = TypeVar("Started", bound=Hop)


def start_proxy(
    keeper: Keeper,
    name: str,
    server_port: int,
    folder: Path,
    cores: tuple[int, ...] | None,
    workers: int,
    port: int | None = None,
) -> Hop:
    """Put the proxy `name` before a server on this host, on `port` (None: a free one).

    `folder` gets its configuration and log; `workers` are its processes.
    """
    kind, host = KINDS[name], keeper.front
    port = port or free_port(host=host)
    binary, config, log = _binary(keeper, kind), folder / "nginx.conf", folder / "proxy.log"
    ends = {"listen": netloc(host, port), "server": netloc(host, server_port)}
    config.write_text(render("nginx.conf", **ends, workers=workers, keep_alive=kind.mode == "keep-alive"), encoding="utf-8")
    scratch = tempfile.TemporaryDirectory(prefix="fairground-proxy-")
    argv = [binary, "-p", scratch.name, "-e", "stderr", "-c", str(config.resolve())]
    try:
        child = _spawn(keeper, kind, argv, log, cores)
    except LabError:
        scratch.cleanup()
        raise
    return _listening(Hop(kind.role, child, host, port, log, scratch), kind.name)


def start_pooler(
    keeper: Keeper,
    topology: Topology,
    database_url: str,
    folder: Path,
    cores: tuple[int, ...] | None,
    workers: int,
    port: int | None = None,
) -> Pooler:
    """Put the topology's pooler before the database of `database_url`, on `port` (None: a free one). `workers` are its threads,
    where it can have several."""
    assert topology.pooler is not None, "a topology without a pooler starts none"
    kind, admin, address = KINDS[topology.pooler], Admin("fairground_lab", secrets.token_urlsafe(18)), keeper.address
    port = port or free_port(host=address)
    binary, found = _binary(keeper, kind), version(kind.program, keeper.environ.get("PATH")) or ""
    url, log = urlsplit(database_url), folder / "pooler.log"
    user, password, database = unquote(url.username or ""), unquote(url.password or ""), url.path.lstrip("/")
    values = {
        "address": address, "port": port, "mode": kind.mode, "size": topology.pooler_size, "clients": topology.pooler_clients,
        "workers": workers, "host": url.hostname, "database_port": url.port or 5432, "database": database, "user": user,
        "admin": admin.user, "auth_type": "scram-sha-256" if password else "trust",
        "prepared": version_numbers(found) >= PREPARED_SINCE[kind.program],
    }  # fmt: skip
    template = {"pgbouncer": "pgbouncer.ini", "pgcat": "pgcat.toml"}[kind.program]
    config = folder / template
    config.write_text(render(template, **values, password=HIDDEN, admin_password=HIDDEN), encoding="utf-8")
    if kind.program == "pgbouncer":
        secret, argv = _users({user: password, admin.user: admin.password}), [str(config.resolve())]
    else:  # the whole configuration on standard input: what is kept has no password
        secret, argv = render(template, **values, password=password, admin_password=admin.password), ["/dev/stdin"]
    with closing(_unnamed(secret)) as stdin:
        child = _spawn(keeper, kind, [binary, *argv], log, cores, stdin)
        pooler = Pooler(kind.role, child, address, port, log, version=found, database=database, admin=admin)
        return _listening(pooler, kind.name)


def start_wire(
    keeper: Keeper,
    engine: Path,
    wire: model.PathWire,
    ends: Mapping[str, tuple[str, int]],
    folder: Path,
    cores: tuple[int, ...] | None,
) -> RunningWires:
    """Start the path's wires, all in one process. `ends`: side → host and port that it leads to; nobody need listen there yet."""
    own, argv, log = keeper.front, [str(engine), "wire"], folder / "wire.log"
    ports = {side: free_port(host=own) for side in wire.sides}
    for side, ms in wire.sides.items():
        near, far = netloc(own, ports[side]), netloc(*ends[side])
        argv += ["--listen", near, "--connect", far, "--delay-us", str(round(ms * 1000))]
    with open(log, "wb") as stream:
        child = keeper.spawn(argv, role="wire", env={"LANG": "C.UTF-8"}, streams=Streams.into(stream), limits=Limits(cores=cores))
    *_, last = ports.values()  # they begin to listen one after the other
    return _listening(RunningWires("wire", child, own, last, log, ports=ports), wire.id)


def render(template: str, **values: object) -> str:
    """A configuration as text."""
    return _templates().get_template(template).render(values)


def _users(passwords: dict[str, str]) -> str:
    """PgBouncer's file of users: each with its password in quotes, in which a quote is doubled."""
    return "".join('"{}" "{}"\n'.format(user, word.replace('"', '""')) for user, word in passwords.items())


def _binary(keeper: Keeper, kind: HopKind) -> str:
    found = shutil.which(kind.program, path=keeper.environ.get("PATH"))
    if found is None:
        raise LabError(f"`{kind.name}` needs `{kind.program}` on PATH", kind.install, exit_code=3)
    return found


def _spawn(
    keeper: Keeper, kind: HopKind, argv: Sequence[str], log: Path, cores: tuple[int, ...] | None, stdin: IO[bytes] | None = None
) -> Child:
    """Start a hop's program. PgBouncer refuses to be root, and nginx as root becomes another user: both see an ordinary one."""
    with open(log, "wb") as stream:
        return keeper.spawn(
            argv,
            role=kind.role,
            env={"PATH": os.defpath, "LANG": "C.UTF-8", "TZ": "UTC"},
            streams=Streams.into(stream, stdin),
            limits=Limits(cores=cores),
            view=OwnView(map_user=os.geteuid() == 0),
        )


def _listening(hop: Started, name: str) -> Started:
    """Wait until it listens; end it and say what it said when it does not."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline and hop.child.exit_code() is None:
        if listens(hop.host, hop.port) and _owns(hop):
            return hop
        time.sleep(0.01)
    code = hop.child.exit_code()
    hop.stop()
    lines = [line.strip() for line in hop.log_end().splitlines() if line.strip()]
    lines = [line for line in lines if GRAVE.search(line)][:1] or lines  # what went wrong first, not what followed from it
    did = "did not listen in time" if code is None else f"ended with exit code {code}"
    raise LabError(f"the {hop.role} `{name}` {did}: {lines[-1][:300] if lines else 'it said nothing'}", exit_code=3)


def _owns(hop: Hop) -> bool:
    """True if it is the hop that listens there, and not somebody who had the port before."""
    try:
        sockets = [one for process in hop.child.processes() for one in process.net_connections("tcp")]
    except psutil.NoSuchProcess:
        return False
    return any(one.status == psutil.CONN_LISTEN and one.laddr.port == hop.port for one in sockets)


def _unnamed(text: str) -> IO[bytes]:
    """A file without a name that holds `text`, to be read from its beginning."""
    file = open(os.memfd_create("config"), "w+b")
    file.write(text.encode())
    file.seek(0)
    return file


@cache
def _templates() -> Environment:
    return Environment(
        loader=PackageLoader("fairground.topology", "templates"),
        autoescape=False,  # configuration is no markup
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
