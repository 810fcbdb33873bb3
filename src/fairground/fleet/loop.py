"""The event loop of a host or a scheduler, which runs until it is told to end."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any

LEFT_S = 10.0
"""How long one that ends waits for what it has cancelled."""
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run(main: Coroutine[Any, Any, None]) -> None:
    """Run until `main` is done; KeyboardInterrupt once a signal says to end.

    What does not end when it is cancelled is left behind: some of Dask's tasks wait on for a scheduler that is gone, where this
    machine stood still for a while. LEFT_S is their time.
    The loop takes the signals, but for the SIGHUP that `nohup` has asked to ignore: an exception that a handler raises in the
    middle of Dask's work may be caught there, and then the signal is lost. In the main thread alone.
    """
    loop = asyncio.new_event_loop()
    before = {number: signal.getsignal(number) for number in ENDING}
    try:
        loop.run_until_complete(_until_told(main))
    finally:
        if left := asyncio.all_tasks(loop):
            for task in left:
                task.cancel()
            loop.run_until_complete(asyncio.wait(left, timeout=LEFT_S))
        loop.close()
        for number, handler in before.items():
            signal.signal(number, handler)


async def _until_told(main: Coroutine[Any, Any, None]) -> None:
    told = asyncio.Event()
    for number in ENDING:
        if number is signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN:
            continue
        asyncio.get_running_loop().add_signal_handler(number, told.set)
    doing = asyncio.ensure_future(main)
    await asyncio.wait((doing, asyncio.ensure_future(told.wait())), return_when=asyncio.FIRST_COMPLETED)
    if not doing.done():
        raise KeyboardInterrupt
    doing.result()
