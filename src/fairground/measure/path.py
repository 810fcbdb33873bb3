"""The path of one trial: pooler, wires, server and proxy, started from the database outwards and stopped the other way round."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from fairground import topology
from fairground.host import Child, Keeper, Meter, RoleMeter, Stopped, free_port, listens, server, wait_ready, wait_until_silent
from fairground.measure import logs
from fairground.model import Cell, CellSettings, Finding, LabError, MachineError, Severity, Stack
from fairground.model.contract import Ready
from fairground.model.plural import with_verb
from fairground.postgres import Database

STOP_GRACE_S = 5.0
PROXY_TIMEOUT_S = 5.0


class Route:
    """The path between generator and database in one trial. `meters` grows as roles are started."""

    def __init__(self, keeper: Keeper, engine: Path, database: Database, cell: Cell, cores: int, folder: Path) -> None:
        self._keeper, self._engine, self._database, self._cell, self._cores = keeper, engine, database, cell, cores
        self._folder = folder
        self.meters: dict[str, Meter] = {}
        self.server: Child | None = None
        self.server_port = 0
        self._started_s = 0.0
        """When the server was started, by the clock that its wait has."""
        self.pooler: topology.Pooler | None = None
        self.proxy: topology.Hop | None = None
        self.wire: topology.RunningWires | None = None
        self._landing: int | None = None
        """The port of what stands first at the server, where a wire leads to it: chosen before that starts."""
        self.ready = Ready("/", 200)
        """The request by which the server that was started says that it is ready."""
        self.fixed_port: int | None = None
        """Where the server listens, whatever it is told; None: where it is told to."""
        self.under: server.Under | None = None
        """Makes the words that start the server under an emulation; None: it runs natively."""
        self._outside: tuple[str, ...] | None = None
        """The server's processes that had left its group when it was asked to end; None: it was not asked yet."""

    @property
    def host(self) -> str:
        """The address of what of it is started here, and stands before the database."""
        return self._keeper.front

    @property
    def port(self) -> int:
        """The port to which requests go: that of the wire before the server, or of what it leads to where there is none."""
        wired = self.wire.ports.get("server") if self.wire is not None else None
        return wired or self.near_port

    @property
    def near_port(self) -> int:
        """The port at which requests arrive without a wire: the proxy's, or the server's where there is none."""
        return self.proxy.port if self.proxy is not None else self.server_port

    @property
    def near_url(self) -> str:
        """The database as it is reached without a wire: behind the pooler, if there is one."""
        url = self._database.server_url()
        return topology.at(url, self.pooler.host, self.pooler.port) if self.pooler is not None else url

    @property
    def url(self) -> str:
        """The URL of the database that the server is told."""
        port = self.wire.ports.get("database") if self.wire is not None else None
        return self.near_url if port is None else topology.at(self.near_url, self.host, port)

    @property
    def _own_port(self) -> int | None:
        """The port of its own at which a server stands first, where it has one."""
        return self.fixed_port if self._cell.topology.proxy is None else None

    def open_wire(self) -> None:
        """Start the wires of the topology, if it has any: in front of pooler or database, and of what the server will be.

        LabError when they do not start.
        """
        wire = self._cell.topology.wire
        if wire is None:
            return
        far, landing = urlsplit(self.near_url), self._own_port or free_port(host=self.host)
        self._landing = landing if wire.server_ms is not None else None
        ends = {"server": (self.host, landing), "database": (far.hostname or self.host, far.port or 5432)}
        cores = self._cell.settings.cores_of("wire")
        self.wire = topology.start_wire(self._keeper, self._engine, wire, ends, self._folder, cores)
        self.meters["wire"] = RoleMeter(self.wire.child)

    def open_pooler(self) -> None:
        """Pin the database, and put the pooler before it, if the topology has one. LabError when it does not start."""
        settings = self._cell.settings
        if self._database.child is not None:
            self._database.child.pin(settings.cores_of("database"))
        if (meter := self._database.meter()) is not None:
            self.meters["database"] = meter
        if self._cell.topology.pooler is not None:
            self.pooler = self._started_pooler()
            self.meters["pooler"] = RoleMeter(self.pooler.child)
        if topology.is_pooled(self._cell.topology):
            self._database.log_errors()

    def restart_pooler(self) -> None:
        """Kill the pooler, which holds nothing but connections, and start it again on its port. LabError when it cannot."""
        assert self.pooler is not None, "a path without a pooler restarts none"
        meter = self.meters["pooler"]
        assert isinstance(meter, RoleMeter), "a pooler is on the lab's machine"
        spent_ns = meter.cpu_ns()
        self.pooler.child.stop(0.0)
        self.pooler = self._started_pooler(self.pooler.port)
        meter.succeed(self.pooler.child, spent_ns)

    def _started_pooler(self, port: int | None = None) -> topology.Pooler:
        settings = self._cell.settings
        return topology.start_pooler(
            self._keeper,
            self._cell.topology,
            self._database.server_url(),
            self._folder,
            cores=settings.cores_of("pooler"),
            workers=self._workers(settings, "pooler"),
            port=port,
        )

    def open_server(self, stack: Stack, settings: CellSettings | None = None) -> Child:
        """Start the server on the pooler, or on the database where there is none. LabError when it cannot be executed.

        `settings` None: those of the cell. MachineError where another process has the port at which it listens in any case.
        """
        wired = None if self._cell.topology.proxy is not None else self._landing
        self.server_port = self.fixed_port or wired or free_port(host=self.host)  # not before the pooler has its own
        if self.fixed_port is not None and listens(self.host, self.fixed_port):
            taken = f"port {self.fixed_port} is taken, and `{stack.id}` listens there whatever it is told"
            raise MachineError(taken, f"end what listens there: ss -ltnp 'sport = :{self.fixed_port}'")
        self.ready = server.ready_of(stack.server)
        settings, log = settings or self._cell.settings, self._folder / "server.log"
        self._started_s = time.monotonic()
        self.server = server.start(self._keeper, stack, settings, self.host, self.server_port, self.url, log, self.under)
        self.meters["server"] = RoleMeter(self.server)
        return self.server

    def wait(self, timeout_s: float) -> str | None:
        """None once the server is ready, else one phrase on why not. The seconds count from its start."""
        assert self.server is not None
        left_s = self._started_s + timeout_s - time.monotonic()
        return server.wait(self.server, self.ready, self.host, self.server_port, left_s)

    def ways_of_listening(self, backlog: int | None) -> list[Finding]:
        """Warnings when other machines may reach the server, and when its listen queue is shorter than `backlog`."""
        pids = [] if self.server is None else [one.pid for one in self.server.alive()]
        found = server.exposure_of(self.host, self.server_port, pids), server.short_queue(self.server_port, backlog, pids)
        return [one for one in found if one is not None]

    def holders(self) -> tuple[str, ...]:
        """The processes at the server's port that it did not start."""
        return () if self.server is None else server.holders(self.server, self.host, self.server_port)

    def listens(self) -> bool:
        """True if the server accepts connections, ready or not."""
        return self.server is not None and self.server.exit_code() is None and listens(self.host, self.server_port)

    def open_proxy(self, ready: bool) -> None:
        """Put the proxy before the server, if the topology has one; behind a server that is `ready` it must be so, too."""
        settings, name = self._cell.settings, self._cell.topology.proxy
        if name is None:
            return
        self.proxy = topology.start_proxy(
            self._keeper,
            name,
            self.server_port,
            self._folder,
            cores=settings.cores_of("proxy"),
            workers=self._workers(settings, "proxy"),
            port=self._landing,
        )
        self.meters["proxy"] = RoleMeter(self.proxy.child)
        hop = self.proxy
        if not ready:
            return
        if why := wait_ready(
            hop.host, hop.port, self.ready.path, self.ready.status, PROXY_TIMEOUT_S, lambda: hop.child.exit_code() is None
        ):
            raise LabError(f"the proxy `{name}` does not reach the server: {why}", exit_code=3)

    def ask_server(self) -> None:
        """Ask the server to end, and do not wait. What can be seen only while it runs is looked at first."""
        if self.server is not None and self._outside is None:
            self._outside = self.server.outside()
            self.server.ask()

    def close_server(self) -> tuple[Stopped, tuple[Finding, ...]]:
        """Stop the server alone, whose port falls silent then. What did not end as it should is a finding."""
        assert self.server is not None
        stopped, found = self._stop_server(self.server)
        self.server = None
        port, self.server_port = self.server_port, 0
        return stopped, (*found, *_still_listens(self.host, [port]))

    def close(self) -> tuple[Finding, ...]:
        """Stop all of it and prove that nothing of it is left. What did not end as it should is a finding."""
        found: list[Finding] = []
        if self.server is not None:
            found += self._stop_server(self.server)[1]
        hops = [hop for hop in (self.wire, self.proxy, self.pooler) if hop is not None]
        for hop in hops:
            code = hop.child.exit_code()
            hop.stop()
            if code is not None:
                said = hop.log_end(300).strip() or "it said nothing"
                sentence = f"the {hop.role} ended by itself with exit code {code}: {said}"
                found.append(Finding(hop.role, Severity.VOID, sentence, {"exit_code": code}))
        ports = [hop.port for hop in hops]
        found += _still_listens(self.host, [*ports, self.server_port] if self.server_port else ports)
        return tuple(found)

    def _stop_server(self, child: Child) -> tuple[Stopped, list[Finding]]:
        self.ask_server()
        stopped, found = _stop_server(child, self._cell.settings, self._outside or ())
        self._outside = None
        if left_out := logs.shorten(self._folder / "server.log"):
            sentence = f"of what the server wrote to its standard streams {left_out / 1e6:,.0f} MB are not kept, from the middle"
            found.append(Finding("log", Severity.NOTE, sentence, {"left_out_bytes": left_out}))
        if nameless := self._keeper.end_nameless():
            words = "processes without a trace of where they came from ran on after the server had ended, and were killed"
            sentence = f"{len(nameless)} {words}: this server started them, or one that was measured beside it"
            found.append(Finding("strays", Severity.WARN, sentence, {"processes": ", ".join(nameless)[:300]}))
        return stopped, found

    def _workers(self, settings: CellSettings, role: str) -> int:
        """Processes or threads of a hop that can have several: one for each core that it may use."""
        return len(settings.cores_of(role) or ()) or self._cores


def _still_listens(host: str, ports: Sequence[int]) -> list[Finding]:
    """A finding for each port on which somebody still listens."""
    return [
        Finding("port", Severity.VOID, f"something still listens on port {port} after everything was stopped", {"port": port})
        for port in ports
        if not wait_until_silent(host, port)
    ]


def _stop_server(child: Child, settings: CellSettings, outside: Sequence[str]) -> tuple[Stopped, list[Finding]]:
    found, exited, killed = list[Finding](), child.ended_by_itself(), child.group.memory_kills()
    if killed:
        sentence = f"the kernel killed {killed} of the server's processes at its memory limit of {settings.memory_mb} MB"
        found.append(Finding("memory-limit", Severity.REJECT, sentence, {"killed": killed, "memory_mb": settings.memory_mb}))
    if exited is not None:
        sentence = f"the server ended by itself with exit code {exited}"
        found.append(Finding("server-exit", Severity.REJECT, sentence, {"exit_code": exited}))
    if outside:
        sentence = f"{len(outside)} of the server's processes had left its control group, so that nobody counted what they used"
        found.append(Finding("left-group", Severity.REJECT, sentence, {"processes": ", ".join(outside)[:300]}))
    stopped = child.stop(STOP_GRACE_S)
    if stopped.seconds is None:
        sentence = f"the server did not exit within {STOP_GRACE_S:.0f} s of SIGTERM and was killed"
        found.append(Finding("stop", Severity.WARN, sentence))
    if stopped.strays:
        sentence = (
            f"the server left {with_verb(len(stopped.strays), 'process', 'behind, which was', 'behind, which were')} killed"
        )
        found.append(Finding("strays", Severity.WARN, sentence, {"processes": ", ".join(stopped.strays)[:300]}))
    return stopped, found
