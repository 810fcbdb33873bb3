"""How gunicorn starts: WORKERS processes of its threaded worker, which share the pool."""

import os

pool_size = int(os.environ["POOL_SIZE"])
workers = min(int(os.environ["WORKERS"]), pool_size)
os.environ["POOL_SHARE"] = str(pool_size // workers)

# The default worker has no keep-alive. Of threads gunicorn recommends two to four for each processor.
worker_class = "gthread"
threads = 4 * (os.cpu_count() or 1)
host = os.environ["HOST"]
bind = f"[{host}]:{os.environ['PORT']}" if ":" in host else f"{host}:{os.environ['PORT']}"
backlog = 4096
keepalive = 75
graceful_timeout = 2
control_socket_disable = True
loglevel = "error"
