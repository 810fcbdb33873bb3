"""Starts WORKERS processes of Robyn, whose pools share POOL_SIZE, and starts anew one that dies."""

import asyncio
import gc
import mmap
import multiprocessing
import os
import platform
import signal
import sys
import time
from collections.abc import Mapping
from importlib.metadata import version
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess

import asyncpg
from app import Routes, create_app
from robyn import Robyn
from robyn.processpool import spawn_process
from robyn.robyn import SocketHeld
from store import BROKEN, Store

RETRY_S = 0.2
STOP_S = 2
COLUMNS = ("account_id", "name", "email", "plan", "currency", "balance_cents", "active", "created_at", "region", "note")
PACKAGES = ("robyn", "uvloop", "asyncpg", "orjson")

Accounts = Mapping[str, Mapping[str, object]]


def main() -> None:
    if sys.argv[1:] == ["--version"]:
        receipt = ", ".join([f"python {platform.python_version()}", *(f"{name} {version(name)}" for name in PACKAGES)])
        sys.stdout.write(f"{receipt}\n")
        return
    accounts = asyncio.run(load_accounts(os.environ["DATABASE_URL"]))
    # What lives from here on until the end need not be looked at by each collection.
    gc.collect()
    gc.freeze()
    pool_size = int(os.environ["POOL_SIZE"])
    supervise(min(int(os.environ["WORKERS"]), pool_size), pool_size, accounts)


def supervise(workers: int, pool_size: int, accounts: Accounts) -> None:
    """Keep `workers` processes running until SIGTERM; the sum of their shares of the pool is `pool_size`."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))
    # A socket per process (Robyn sets SO_REUSEPORT) lets the kernel deal connections out. They are opened here, so that who
    # connects while a process is started anew waits instead of being refused.
    sockets = [SocketHeld(os.environ["HOST"], int(os.environ["PORT"])) for _ in range(workers)]
    listening = mmap.mmap(-1, workers)
    processes: list[BaseProcess] = []

    def start(index: int) -> BaseProcess:
        share = pool_size // workers + (index < pool_size % workers)
        arguments = (sockets[index], share, accounts, listening, index)
        process = multiprocessing.get_context("fork").Process(target=run_worker, args=arguments)
        process.start()
        return process

    try:
        processes += [start(index) for index in range(workers)]
        while dead := wait([process.sentinel for process in processes]):
            for index, process in enumerate(processes):
                if process.sentinel in dead:
                    listening[index] = 0
                    processes[index] = start(index)
            time.sleep(RETRY_S)
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.join(STOP_S)
            process.kill()


def run_worker(socket: SocketHeld, pool_size: int, accounts: Accounts, listening: mmap.mmap, index: int) -> None:
    """Serve in this process until SIGTERM; `listening[index]` turns 1 once it takes requests."""
    wait_ms, prepared = os.environ.get("POOL_WAIT_MS"), os.environ.get("PREPARED") != "off"
    store = Store(os.environ["DATABASE_URL"], pool_size, int(wait_ms) / 1000 if wait_ms else None, prepared)

    async def open_store() -> None:
        await store.open()
        listening[index] = 1

    app = create_app(Routes(store, accounts, lambda: all(listening[:])))
    app.startup_handler(open_store)
    serve(app, socket)


def serve(app: Robyn, socket: SocketHeld) -> None:
    """Robyn's own start of a process. `app.start` would open the socket itself, and leave a process that dies dead."""
    spawn_process(
        directories=app.directories,
        request_headers=app.request_headers,
        routes=app.router.get_routes(),
        global_middlewares=app.middleware_router.get_global_middlewares(),
        route_middlewares=app.middleware_router.get_route_middlewares(),
        web_sockets=app.web_socket_router.get_routes(),
        event_handlers=app.event_handlers,
        socket=socket,
        workers=1,
        response_headers=app.response_headers,
        excluded_response_headers_paths=app.excluded_response_headers_paths,
    )


async def load_accounts(url: str) -> Accounts:
    """Map each account id to its row. Before the database answers there is nothing to serve, so this retries until it does."""
    while True:
        try:
            connection = await asyncpg.connect(url)
            try:
                rows = await connection.fetch(f"SELECT {', '.join(COLUMNS)} FROM accounts")
            finally:
                await connection.close()
            return {row[0]: dict(zip(COLUMNS, row, strict=True)) for row in rows}
        except BROKEN:
            await asyncio.sleep(RETRY_S)


if __name__ == "__main__":
    main()
