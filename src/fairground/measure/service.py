"""Arms without a database: an address that somebody else serves, and the null responder."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

from fairground.host import Child, Limits, RoleMeter, Streams, free_port, listens
from fairground.measure.arm import NullArm, ServiceArm
from fairground.measure.loaded import Loaded
from fairground.model import Doing, LabError, Severity

LISTENS_WITHIN_S = 5.0


@dataclass
class Reached(Loaded):
    """A service that runs already. Only what it answers, and whose CPU can be read, is known."""

    def open(self) -> None:
        """Start nothing; meter the roles that can be metered."""
        assert isinstance(self.arm, ServiceArm)
        self.host, self.port, self.tls = self.arm.host, self.arm.port, self.arm.tls
        if self.arm.server is not None:
            self.seen.meters["server"] = RoleMeter(self.arm.server)
        if self.arm.database is not None:
            self.seen.database = self.arm.database.name
            if self.arm.database.process is not None:
                self.seen.meters["database"] = RoleMeter(self.arm.database.process)

    def exit_code(self) -> int | None:
        server = self.arm.server if isinstance(self.arm, ServiceArm) else None
        return server.exit_code() if isinstance(server, Child) else None

    def close(self) -> None:
        """Do nothing: whoever started it stops it."""


@dataclass
class NullResponder(Loaded):
    """The engine's responder that parses nothing more than it must and answers one fixed body, on the server's processors."""

    child: Child | None = None
    stdin: int | None = None

    def open(self) -> None:
        """Start it; one that does not listen is the instrument's fault."""
        assert isinstance(self.arm, NullArm)
        self.on(self.arm.label, Doing("start"))
        keeper = self.bench.keeper
        self.host, self.port = keeper.front, free_port(host=keeper.front)
        argv = [str(self.bench.engine), "null", "--host", self.host, "--port", str(self.port), "--threads", str(self.arm.threads)]
        theirs, self.stdin = os.pipe2(os.O_CLOEXEC)  # it serves until its standard input closes
        try:
            limits = Limits(cores=self.arm.cell.settings.cores_of("server"))
            self.child = keeper.spawn(argv, role="null", env={}, streams=Streams(stdin=theirs), limits=limits)
            self.seen.meters["server"] = RoleMeter(self.child)
            if not self._listens():
                self.find("instrument", Severity.VOID, "the null responder did not start")
        except LabError as error:
            self.find("instrument", Severity.VOID, error.message)
        finally:
            os.close(theirs)

    def _listens(self) -> bool:
        deadline = time.monotonic() + LISTENS_WITHIN_S
        while time.monotonic() < deadline and self.exit_code() is None:
            if listens(self.host, self.port):
                return True
            time.sleep(0.02)
        return False

    def exit_code(self) -> int | None:
        return None if self.child is None else self.child.exit_code()

    def close(self) -> None:
        """Close its standard input, with which it ends, and stop it in any case."""
        if self.stdin is not None:
            os.close(self.stdin)
            self.stdin = None
        if self.child is not None:
            self.child.stop()
