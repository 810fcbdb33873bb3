"""How gunicorn starts the workers; their pools share POOL_SIZE."""

import gc
import mmap
import os

from app import app, load_accounts, open_store
from gunicorn.arbiter import Arbiter
from gunicorn.sock import create_sockets
from gunicorn.workers.base import Worker

SPARE_THREADS = 32

pool_size = int(os.environ["POOL_SIZE"])
workers = min(int(os.environ["WORKERS"]), pool_size)
worker_class = "gthread"
# More than connections to the database, so that a request which gets none finds a thread to say so, and the rest can go on.
threads = -(-pool_size // workers) + SPARE_THREADS
worker_connections = 16384
host = os.environ["HOST"]
bind = f"[{host}]:{os.environ['PORT']}" if ":" in host else f"{host}:{os.environ['PORT']}"
backlog = 4096
reuse_port = True
keepalive = 3600
max_requests = 0
# No heartbeat is asked for: a worker that is busy for long is not one that hangs.
timeout = 0
graceful_timeout = 2
worker_tmp_dir = "/dev/shm"
preload_app = True
control_socket_disable = True
accesslog = None
loglevel = "error"

listening = mmap.mmap(-1, workers)


def on_starting(server: Arbiter) -> None:
    """Nothing listens yet: load what every worker needs, once, and let no collection of theirs look at it again."""
    app.extensions["is_ready"] = lambda: all(listening[:])
    load_accounts(os.environ["DATABASE_URL"])
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


def post_worker_init(worker: Worker) -> None:
    """The sum of all shares of the pool is POOL_SIZE."""
    wait_ms, prepared = os.environ.get("POOL_WAIT_MS"), os.environ.get("PREPARED") != "off"
    share = pool_size // workers + (worker.place < pool_size % workers)
    open_store(os.environ["DATABASE_URL"], share, int(wait_ms) / 1000 if wait_ms else None, prepared)


def child_exit(server: Arbiter, worker: Worker) -> None:
    listening[worker.place] = 0
