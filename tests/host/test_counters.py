"""Instructions of processes, by a kernel that is none: which threads are counted, what is scaled, and what is unknown."""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterator

import pytest

from fairground.host import counters
from fairground.host.counters import CounterReader, Instructions, count
from fairground.model import LabError
from fairground.model.count import WorkCount


class FakeKernel:
    """Counts that are given: thread → instructions, ns wanted, ns counted. `refuses`: errors by thread."""

    def __init__(self, counts: dict[int, tuple[int, int, int]] | None = None, refuses: dict[int, int] | None = None) -> None:
        self.counts, self.refuses, self.opened = counts or {}, refuses or {}, set[int]()

    def open(self, thread: int) -> int:
        """The descriptor is the thread's number and a hundred."""
        if thread in self.refuses:
            raise OSError(self.refuses[thread], "refused")
        self.opened.add(thread + 100)
        return thread + 100

    def read(self, descriptor: int) -> tuple[int, int, int]:
        """An error where it is closed."""
        if descriptor not in self.opened:
            raise OSError(errno.EBADF, "closed")
        return self.counts[descriptor - 100]

    def close(self, descriptor: int) -> None:
        """It must be open."""
        self.opened.remove(descriptor)


def test_all_threads_are_added_up_and_shared_counters_scaled() -> None:
    """A counter that ran for half of its time has seen half."""
    kernel = FakeKernel({1: (1000, 50, 50), 2: (300, 80, 40)})
    counted = count(lambda: [1, 2], kernel)
    assert counted is not None and counted.read() == 1600


def test_a_counter_that_never_ran_is_unknown() -> None:
    """Not 0: other threads' counts are no sum then."""
    counted = count(lambda: [1, 2], FakeKernel({1: (1000, 50, 50), 2: (0, 50, 0)}))
    assert counted is not None and counted.read() is None


def test_what_is_closed_counts_no_longer() -> None:
    """Every descriptor is given back, and a late reading is unknown."""
    kernel = FakeKernel({1: (1000, 50, 50)})
    counted = count(lambda: [1], kernel)
    assert counted is not None and kernel.opened == {101}
    counted.close()
    assert kernel.opened == set() and counted.read() is None
    assert Instructions([101], kernel).read() is None


def test_threads_that_come_meanwhile_begin_it_anew() -> None:
    """Nobody knows whether they are counted with those who started them; where they never rest, nothing is counted."""
    lists: Iterator[list[int]] = iter([[1], [1, 2], [1, 2], [1, 2]])
    kernel = FakeKernel({1: (10, 5, 5), 2: (20, 5, 5)})
    counted = count(lambda: next(lists), kernel)
    assert counted is not None and counted.read() == 30 and kernel.opened == {101, 102}
    restless = iter(range(1, 100))
    assert count(lambda: [next(restless)], other := FakeKernel()) is None and other.opened == set()


def test_a_reader_counts_from_its_first_reading_on() -> None:
    """Only instructions; it is told where there were none to be had, and what it holds is given back."""
    kernel = FakeKernel({1: (1000, 50, 50)})
    reader = CounterReader(lambda: [1], kernel)
    assert reader.read() == WorkCount(1000) and reader.outside([]) == () and kernel.opened == {101}
    reader.forget()
    assert kernel.opened == set()
    with pytest.raises(LabError, match="^the processor's counters could not be read all along$"):
        reader.read()
    with pytest.raises(LabError, match="^the processor's counters could not be read all along$"):
        CounterReader(lambda: [1], FakeKernel(refuses={1: errno.EACCES})).read()


def test_what_is_missing_for_counters_is_said() -> None:
    """One sentence and what mends it, exit code 3; nothing where they are there."""
    counters.require(FakeKernel())
    with pytest.raises(LabError, match="^`--counters` cannot be had here: the processor shows no performance counters") as caught:
        counters.require(FakeKernel(refuses={0: errno.ENOENT}))
    assert (caught.value.hint, caught.value.exit_code) == ("leave `--counters` out", 3)
    with pytest.raises(LabError, match="^`--counters` cannot be had here: kernel.perf_event_paranoid is") as caught:
        counters.require(FakeKernel(refuses={0: errno.EACCES}))
    assert caught.value.hint == "sysctl -w kernel.perf_event_paranoid=2"


@pytest.mark.parametrize("error", [errno.EACCES, errno.ENOENT, errno.ENOSYS])
def test_a_machine_that_refuses_counts_nothing(error: int) -> None:
    """No descriptor is left open, and no part of a server is taken for all of it."""
    kernel = FakeKernel(refuses={2: error})
    assert count(lambda: [1, 2], kernel) is None and kernel.opened == set()
    assert count(list[int], kernel) is None


def test_a_thread_that_has_ended_is_no_refusal() -> None:
    """It is looked for once more."""
    lists = iter([[1, 2], [1], [1]])
    counted = count(lambda: next(lists), FakeKernel({1: (10, 5, 5)}, {2: errno.ESRCH}))
    assert counted is not None and counted.read() == 10


@pytest.mark.parametrize(
    ("error", "words", "fix"),
    [
        (errno.EACCES, "kernel.perf_event_paranoid is", "sysctl -w kernel.perf_event_paranoid=2"),
        (errno.ENOENT, "the processor shows no performance counters", None),
    ],
)
def test_the_doctor_says_what_is_absent(error: int, words: str, fix: str | None) -> None:
    """A right that is lacking has a remedy; a processor without counters has none."""
    line = counters.check(FakeKernel(refuses={0: error}))
    assert (line.state, line.fix) == ("note", fix) and line.sentence.startswith(words)
    assert counters.check(FakeKernel()).state == "ok"


def test_the_kernel_is_asked_for_user_space_and_for_what_threads_start() -> None:
    """The first version of the structure, in which the kernel's own work and the hypervisor's are left out."""
    made = counters._attributes()
    assert len(made) == struct.unpack_from("I", made, 4)[0] == 64
    kind, _, config, _, _, reads, flags = struct.unpack_from("IIQQQQQ", made)
    assert (kind, config, reads) == (0, 1, 3)
    assert flags == sum(1 << bit for bit in (1, 5, 6))


def test_this_machine_answers_one_way_or_the_other() -> None:
    """Either its counters grow with what is done, or the doctor says why they cannot be had."""
    line = counters.check()
    counted = count(lambda: [0])
    assert (line.state == "ok") == (counted is not None)
    if counted is not None:
        before = counted.read()
        assert sum(range(100_000)) > 0
        after = counted.read()
        counted.close()
        assert before is not None and after is not None and after - before > 100_000
    else:
        assert line.sentence.endswith("CPU time is")
