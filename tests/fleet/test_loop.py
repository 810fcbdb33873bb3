"""How a host ends: by itself, when it is told to, and in the middle of somebody else's work."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from fairground.fleet import loop


async def stubborn() -> None:
    """A task that does not end when it is cancelled."""
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            continue


@pytest.mark.parametrize("interrupted", [False, True])
def test_nobody_waits_for_a_task_that_does_not_end(interrupted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host ends all the same, with what interrupted it. What ends by itself has its time."""
    monkeypatch.setattr(loop, "LEFT_S", 0.2)
    ended = list[str]()

    async def orderly() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.01)
            ended.append("orderly")

    async def main() -> None:
        kept = [asyncio.ensure_future(one()) for one in (stubborn, orderly)]
        await asyncio.sleep(0.01)
        if interrupted:
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.sleep(60)
        assert len(kept) == 2

    if interrupted:
        with pytest.raises(KeyboardInterrupt):
            loop.run(main())
    else:
        loop.run(main())
    assert ended == ["orderly"]


@pytest.mark.parametrize("number", loop.ENDING)
def test_a_signal_in_the_middle_of_work_is_not_lost(number: signal.Signals, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work that catches whatever is raised in it catches no signal; handlers are afterwards what they were."""
    monkeypatch.setattr(loop, "LEFT_S", 0.2)
    before = signal.getsignal(number)

    async def main() -> None:
        try:
            os.kill(os.getpid(), number)
            sum(range(100_000))
        except BaseException:
            pytest.fail("the signal was raised in the middle of work")
        await asyncio.sleep(60)

    with pytest.raises(KeyboardInterrupt):
        loop.run(main())
    assert signal.getsignal(number) == before


def test_a_host_under_nohup_outlives_its_terminal() -> None:
    """SIGHUP was ignored when it began, and is."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)

    async def main() -> None:
        os.kill(os.getpid(), signal.SIGHUP)
        await asyncio.sleep(0.01)

    try:
        loop.run(main())
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    except KeyboardInterrupt:
        pytest.fail("the host was ended")
    finally:
        signal.signal(signal.SIGHUP, before)


def test_what_is_wrong_is_told() -> None:
    """An error of the host is the caller's."""

    async def main() -> None:
        raise ValueError("it is so")

    with pytest.raises(ValueError, match="it is so"):
        loop.run(main())
