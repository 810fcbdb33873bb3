"""pgbench as an arm: what this machine's database does at most with a workload's statements. It is its own generator.

The database has its own processors, as under a stack, and pgbench has the server's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import psycopg

from fairground.host import Limits, Moment, Streams, machine_between
from fairground.judge import answers
from fairground.measure.arm import ArmWindow, Ended, PgbenchArm
from fairground.measure.loaded import Loaded
from fairground.measure.schedule import Whole
from fairground.model import Doing, Severity, foreign
from fairground.model.cause import INSTRUMENT
from fairground.postgres import Database, binary

TPS = re.compile(r"^tps = ([\d.]+) \(without initial connection time\)$", re.MULTILINE)
GRACE_S = 30.0


@dataclass
class Pgbench(Loaded):
    """pgbench with as many clients as a load has connections, on data of its own that is thrown away."""

    database: Database = field(kw_only=True)

    @property
    def pgbench_arm(self) -> PgbenchArm:
        """The arm, which is pgbench's."""
        assert isinstance(self.arm, PgbenchArm)
        return self.arm

    @property
    def _name(self) -> str:
        """The workload's id as the name of a file."""
        return self.workload.id.replace("/", "-")

    def open(self) -> None:
        """Make fresh data and write the script, with the database on its processors."""
        self.on(self.arm.label, Doing("reset"))
        if self.database.child is not None:
            self.database.child.pin(self.arm.cell.settings.cores_of("database"))
        try:
            self.database.reset(self.arm.data)
        except psycopg.Error as error:
            self.find(INSTRUMENT.id, Severity.VOID, foreign.line(str(error), foreign.SENTENCE_CHARACTERS))
            return
        (self.folder / f"{self._name}.sql").write_text(self.pgbench_arm.script, encoding="utf-8")

    def whole(self, ask: Whole, number: int) -> ArmWindow | None:
        """Run pgbench once, and return its own report as a window. None, and a finding with its last line, where it has none."""
        seconds = max(1, round(ask.load.window_s))
        before = Moment(self.bench.keeper.spun_ns())
        output, code = self._run(seconds, ask.load.connections, number)
        rate = rate_per_s(output, code)
        if rate is None:
            self.find("instrument", Severity.VOID, last_line(output))
            return None
        _, use = machine_between(before, Moment(self.bench.keeper.spun_ns()), (), False)
        spoiled = self.bench.disturbances(float(seconds), use, {}, self.arm.cell)
        window = ArmWindow(self.arm.label, number, ask.load, round(rate * seconds), 0, float(seconds), {}, use, spoiled)
        self.windows.append(window)
        return window

    def _run(self, seconds: int, clients: int, number: int) -> tuple[str, int | None]:
        settings, address = self.arm.cell.settings, self.database.admin
        argv = [
            str(binary("pgbench")), "--no-vacuum", f"--protocol={self.pgbench_arm.protocol}", f"--client={clients}",
            f"--jobs={min(clients, self.bench.cores)}", f"--time={seconds}", "--random-seed=1", "--max-tries=1000",
            f"--file={self._name}.sql", f"--host={address.host}", f"--port={address.port}",
            f"--username={address.user}", self.database.name,
        ]  # fmt: skip
        cores, log = settings.cores_of("server"), self.folder / f"{self._name}-{number}.pgbench"
        with open(log, "wb") as output:
            child = self.bench.keeper.spawn(
                argv, role="pgbench", env=self._environment(), cwd=self.folder, streams=Streams.into(output),
                limits=Limits(cores=cores),
            )  # fmt: skip
        code = child.wait(seconds + GRACE_S)
        child.stop()
        return log.read_text(errors="replace"), code

    def _environment(self) -> dict[str, str]:
        """The variables that libpq reads: on a given server the settings, too, that servers under test have there."""
        address = self.database.admin
        options = {} if self.database.owner is not None else {"PGOPTIONS": address.options}
        return {"PGPASSWORD": address.password, **options}

    def close(self) -> None:
        """Its process ended with its window."""

    def judge(self) -> Ended:
        """Audit nothing of it: it writes what it likes, and its rate is a ceiling, not a result."""
        return Ended(self.arm, answers.verdict(self.findings), tuple(self.findings), windows=tuple(self.windows))


def rate_per_s(output: str, code: int | None) -> float | None:
    """Transactions per second of pgbench's own report, connecting left out; None where it failed or has no number."""
    found = TPS.search(output)
    return float(found[1]) if code == 0 and found else None


def last_line(output: str) -> str:
    """Return the last line that it wrote: why it failed, in its own words."""
    return next((line.strip() for line in reversed(output.splitlines()) if line.strip()), "no output")[:200]
