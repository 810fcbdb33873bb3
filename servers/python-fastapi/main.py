"""Starts the workers: this process alone when there is one, else forked ones whose pools share POOL_SIZE."""

import asyncio
import gc
import importlib
import logging
import mmap
import multiprocessing
import os
import platform
import signal
import socket
import sys
import time
from collections.abc import MutableSequence
from importlib.metadata import version
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess

import uvicorn
import uvloop
from app import create_app
from store import Store, Unavailable

BACKLOG = 4096
RETRY_S = 0.2
STOP_S = 2
COLUMNS = ("account_id", "name", "email", "plan", "currency", "balance_cents", "active", "created_at", "region", "note")
PACKAGES = ("fastapi", "uvicorn", "uvloop", "httptools", "orjson", "asyncpg", "psycopg", "psycopg-pool")
SERVER = {"http": "httptools", "ws": "none", "lifespan": "off", "log_level": "error", "access_log": False}
SERVER |= {"server_header": False, "proxy_headers": False, "timeout_keep_alive": 3600, "timeout_graceful_shutdown": STOP_S}


def main() -> None:
    if sys.argv[1:] == ["--version"]:
        receipt = ", ".join([f"python {platform.python_version()}", *(f"{name} {version(name)}" for name in PACKAGES)])
        sys.stdout.write(f"{receipt}\n")
        return
    pool_size = int(os.environ["POOL_SIZE"])
    workers = min(int(os.environ["WORKERS"]), pool_size)
    if workers == 1:
        run_worker(pool_size, bytearray(1), 0)
    else:
        supervise(workers, pool_size)


def supervise(workers: int, pool_size: int) -> None:
    """Keep `workers` processes running until SIGTERM; the sum of their shares of the pool is `pool_size`."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))
    listening = mmap.mmap(-1, workers)
    processes: list[BaseProcess] = []

    def start(index: int) -> BaseProcess:
        share = pool_size // workers + (index < pool_size % workers)
        process = multiprocessing.get_context("fork").Process(target=run_worker, args=(share, listening, index))
        process.start()
        return process

    try:
        processes += [start(index) for index in range(workers)]
        while dead := wait([process.sentinel for process in processes]):
            time.sleep(RETRY_S)
            for index, process in enumerate(processes):
                if process.sentinel in dead:
                    listening[index] = 0
                    processes[index] = start(index)
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.join(STOP_S * 2)
            process.kill()


def run_worker(pool_size: int, listening: MutableSequence[int], index: int) -> None:
    """Serve in this process until SIGTERM; `listening[index]` turns 1 when its socket listens."""
    # uvicorn raises the signal again once it has finished what it could; what still hangs then ends with the process.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: os._exit(0))
    uvloop.run(serve(pool_size, listening, index))


async def serve(pool_size: int, listening: MutableSequence[int], index: int) -> None:
    """Load what is needed from the database, then listen."""
    wait_ms, prepared = os.environ.get("POOL_WAIT_MS"), os.environ.get("PREPARED") != "off"
    driver = importlib.import_module("store_" + os.environ["DB_DRIVER"])
    store = await driver.open_store(os.environ["DATABASE_URL"], pool_size, int(wait_ms) / 1000 if wait_ms else None, prepared)
    accounts = await load_accounts(store)
    # A socket per worker (SO_REUSEPORT) lets the kernel deal connections out; on a shared one who wakes first takes most.
    host, port = os.environ["HOST"], int(os.environ["PORT"])
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.create_server((host, port), family=family, backlog=BACKLOG, reuse_port=len(listening) > 1)
    listening[index] = 1
    # What lives from here on until the end need not be looked at by each collection.
    gc.collect()
    gc.freeze()
    config = uvicorn.Config(create_app(store, accounts, lambda: all(listening[:])), backlog=BACKLOG, **SERVER)
    logging.getLogger("uvicorn.error").addFilter(is_no_hang_up)
    await uvicorn.Server(config).serve(sockets=[listener])


async def load_accounts(store: Store) -> dict[str, dict[str, object]]:
    """Map each account id to its row. Before the database answers there is nothing to serve, so this retries until it does."""
    while True:
        try:
            rows = await store.fetch(f"SELECT {', '.join(COLUMNS)} FROM accounts")
            return {row[0]: dict(zip(COLUMNS, row, strict=True)) for row in rows}
        except Unavailable:
            await asyncio.sleep(RETRY_S)


def is_no_hang_up(record: logging.LogRecord) -> bool:
    """uvicorn reports an error when a client hangs up while several of its pipelined requests are under way."""
    error = record.exc_info[1] if record.exc_info else None
    return not (isinstance(error, RuntimeError) and "the handler is closed" in str(error))


if __name__ == "__main__":
    main()
