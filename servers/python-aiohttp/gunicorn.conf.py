"""How gunicorn starts the workers; their pools share POOL_SIZE."""

import gc
import logging
import mmap
import os

import app
from aiohttp.http import HttpProcessingError
from aiohttp.worker import GunicornUVLoopWebWorker
from gunicorn.arbiter import Arbiter
from gunicorn.sock import create_sockets


class Worker(GunicornUVLoopWebWorker):
    def notify(self) -> None:
        """Called when the worker starts to serve, and each second: aiohttp had made the socket listen with its backlog of 128."""
        for listener in self.sockets:
            listener.listen(self.cfg.backlog)
        super().notify()


pool_size = int(os.environ["POOL_SIZE"])
workers = min(int(os.environ["WORKERS"]), pool_size)
worker_class = Worker
host = os.environ["HOST"]
bind = f"[{host}]:{os.environ['PORT']}" if ":" in host else f"{host}:{os.environ['PORT']}"
backlog = 4096
reuse_port = True
keepalive = 3600
max_requests = 0
# No heartbeat is asked for: a worker that is busy for long is not one that hangs.
timeout = 0
graceful_timeout = 3
worker_tmp_dir = "/dev/shm"
preload_app = True
control_socket_disable = True
accesslog = None
loglevel = "error"

listening = mmap.mmap(-1, workers)


def on_starting(server: Arbiter) -> None:
    """Nothing listens yet: load what every worker needs, once, and let no collection of theirs look at it again."""
    logging.getLogger("gunicorn.error").addFilter(is_no_fault_of_a_client)
    app.is_ready = lambda: all(listening[:])
    app.load_accounts()
    gc.collect()
    gc.freeze()


def when_ready(server: Arbiter) -> None:
    """Close the socket that all workers would share: who wakes first takes most of the connections."""
    for listener in server.LISTENERS:
        listener.close()
    server.LISTENERS = []


def pre_fork(server: Arbiter, worker: Worker) -> None:
    """Give the worker the first place that no living one has."""
    worker.place = min(set(range(workers)) - {other.place for other in server.WORKERS.values()})


def post_fork(server: Arbiter, worker: Worker) -> None:
    """Open a socket of the worker's own on the port; the kernel deals the connections out (SO_REUSEPORT)."""
    worker.sockets = create_sockets(worker.cfg, worker.log)
    listening[worker.place] = 1
    # The sum of all shares of the pool is POOL_SIZE.
    os.environ["POOL_SIZE"] = str(pool_size // workers + (worker.place < pool_size % workers))


def child_exit(server: Arbiter, worker: Worker) -> None:
    listening[worker.place] = 0


def is_no_fault_of_a_client(record: logging.LogRecord) -> bool:
    """aiohttp reports an error when a client sends no HTTP, and when one hangs up in the middle of its body."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, HttpProcessingError | ConnectionResetError)
