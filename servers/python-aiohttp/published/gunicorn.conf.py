"""How gunicorn starts: WORKERS processes of aiohttp's worker on asyncio, as the author has it."""

import os

from aiohttp.worker import GunicornWebWorker


class Worker(GunicornWebWorker):
    def notify(self) -> None:
        """Called when the worker starts to serve, and each second: aiohttp had made the socket listen with its backlog of 128."""
        for listener in self.sockets:
            listener.listen(self.cfg.backlog)
        super().notify()


pool_size = int(os.environ["POOL_SIZE"])
workers = min(int(os.environ["WORKERS"]), pool_size)
os.environ["POOL_SHARE"] = str(pool_size // workers)

worker_class = Worker
host = os.environ["HOST"]
bind = f"[{host}]:{os.environ['PORT']}" if ":" in host else f"{host}:{os.environ['PORT']}"
backlog = 4096
keepalive = 75
graceful_timeout = 2
control_socket_disable = True
loglevel = "error"
