"""A stack whose server is counted, as a rule under an emulation, with fixed work for its load; else it is as any other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from fairground.host import counters, emulation
from fairground.host.emulation import CountReader
from fairground.host.emulation.reading import EXECUTES
from fairground.host.process import Process, tasks
from fairground.measure.arm import ArmWindow, CountedArm
from fairground.measure.schedule import Counted
from fairground.measure.stack import StartedStack
from fairground.model import Doing, Severity
from fairground.model.count import UNCOUNTED, CountAsked, WorkCount
from fairground.model.secret import PRIVATE_FOLDER

STARTED_ANEW = "a program that a server starts runs natively, outside of the emulation"


def require(path: str | None, asked: CountAsked) -> None:
    """LabError where nothing can be counted here as it is asked. `path`: where programs are."""
    if asked.counters:
        return counters.require()
    emulation.require(path)
    if asked.where:
        emulation.require_nm(path)


class WorkReader(Protocol):
    """The one who knows what a server has carried out so far."""

    def read(self) -> WorkCount:
        """All that was counted so far."""

    def outside(self, alive: Iterable[Process]) -> tuple[str, ...]:
        """The commands of those processes that nobody counts."""

    def forget(self) -> None:
        """Give back what it holds: nobody reads any more."""


@dataclass
class CountedStack(StartedStack):
    """One stack whose work is counted. What it does natively has no number, and is found."""

    reader: WorkReader = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        assert isinstance(self.arm, CountedArm)
        if self.arm.emulator is None:
            self.reader = counters.CounterReader(self._threads)
            return
        # A proof of the password is 20 million instructions under the emulation, which has none of the processor's own for
        # SHA-256. Logins would be most of the work of a start.
        self.database.plain_login = True
        emulator, counts = self.arm.emulator, self.folder / "counts"
        counts.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
        locator = self.arm.locator
        self.reader = CountReader(counts, emulator.calls, emulator.program, locator)
        path = self.bench.keeper.environ.get("PATH")
        self.path.under = lambda words, folder: emulator.words(words, folder, path, counts, locator is not None)

    def ready(self) -> None:
        """Prepare for the load as any stack, unless its server has left the emulation already."""
        self._find_natives()
        super().ready()

    def count(self, ask: Counted, number: int) -> ArmWindow | None:
        """Let it answer this many requests, and count. None where it could not, which is among its findings."""
        taking = self.begin_turns(ask.load)
        if not ask.warm_up:
            taking.measure()
        self.on(self.arm.label, Doing("warmup" if ask.warm_up else "window", 0.0, 0.0))
        self.seen.open_window(afresh=False)
        work, told, probed = self.reader.read(), taking.told, self._probed()
        taking.work_off(ask.requests)
        done, now, probes = self.reader.read() - work, taking.told - told, self._probed() - probed
        self.seen.close_window()
        self.notice_end()
        self._find_natives()
        if not ask.warm_up and (started := sum(done.system_calls.get(name, 0) for name in EXECUTES)):
            programs = "a program" if started == 1 else f"{started} programs"
            self._leave_uncounted(f"the server started {programs} while it was counted: {STARTED_ANEW}")
        if not self.failed and now.ok == 0:
            sentence = f"it gave no good answer in a whole window ({now.not_ok:,} others)"
            self.find("no-good-answer", Severity.REJECT, sentence)
        if self.failed:
            return None
        window = ArmWindow(
            arm=self.arm.label,
            number=number,
            load=ask.load,
            ok=now.ok + probes,
            not_ok=now.not_ok,
            window_s=now.active_s,
            roles={},
            host=None,
            machine=(),
            warm_up=ask.warm_up,
            work=done,
        )
        self.windows.append(window)
        return window

    def close(self) -> None:
        """Stop it. All counts have been read."""
        super().close()
        self.reader.forget()

    def _threads(self) -> list[int]:
        """The threads of its processes."""
        return [] if self.path.server is None else [one for process in self.path.server.alive() for one in tasks(process.pid)]

    def _probed(self) -> int:
        """The requests of the lab's own so far that were answered: the server works for them, too."""
        return 0 if self.prober is None else sum(1 for one in self.prober.probes if one.acknowledged)

    def _find_natives(self) -> None:
        """Find the server's processes that run natively."""
        if self.failed or self.path.server is None:
            return
        if natives := self.reader.outside(self.path.server.alive()):
            sentence = f"`{natives[0]}` of the server is not counted: {STARTED_ANEW}"
            workers = self.arm.cell.settings.workers
            self._leave_uncounted(sentence if workers == 1 else f"{sentence}; with --workers 1 it may not be needed")

    def _leave_uncounted(self, sentence: str) -> None:
        self.find(UNCOUNTED, Severity.VOID, sentence)
        self.failed = True
