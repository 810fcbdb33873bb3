"""Starts WORKERS processes of Robyn, as its `--processes` does, and anew one that dies: a malformed chunk ends a process of Robyn."""

import multiprocessing
import os
import signal
import sys
import time
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess

from app import app, open_pool
from robyn.processpool import spawn_process
from robyn.robyn import SocketHeld

RETRY_S = 0.2
STOP_S = 2


def serve(socket: SocketHeld, share: int) -> None:
    """One process, which Robyn starts the same way. It ends at once on SIGTERM, which Robyn does not obey by itself."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)

    async def start() -> None:
        await open_pool(share)

    app.startup_handler(start)
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


def main() -> None:
    pool_size = int(os.environ["POOL_SIZE"])
    workers = min(int(os.environ["WORKERS"]), pool_size)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))
    # One socket for all of them, as Robyn has it.
    socket = SocketHeld(os.environ["HOST"], int(os.environ["PORT"]))

    def start() -> BaseProcess:
        arguments = (socket.try_clone(), pool_size // workers)
        process = multiprocessing.get_context("fork").Process(target=serve, args=arguments)
        process.start()
        return process

    processes: list[BaseProcess] = []
    try:
        processes += [start() for _ in range(workers)]
        while dead := wait([process.sentinel for process in processes]):
            processes[:] = [start() if process.sentinel in dead else process for process in processes]
            time.sleep(RETRY_S)
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.join(STOP_S)


if __name__ == "__main__":
    main()
