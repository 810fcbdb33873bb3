"""How a host ends."""

from __future__ import annotations

import asyncio

import pytest

from fairground.fleet import worker


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
    monkeypatch.setattr(worker, "LEFT_S", 0.2)
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
            raise KeyboardInterrupt
        assert len(kept) == 2

    if interrupted:
        with pytest.raises(KeyboardInterrupt):
            worker.run(main())
    else:
        worker.run(main())
    assert ended == ["orderly"]
