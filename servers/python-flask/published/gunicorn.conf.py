"""How gunicorn starts: WORKERS processes with as many threads as there are processors, as the author has it."""

import os

pool_size = int(os.environ["POOL_SIZE"])
workers = min(int(os.environ["WORKERS"]), pool_size)
os.environ["POOL_SHARE"] = str(pool_size // workers)

# More than one thread: gunicorn then takes its threaded worker, which keeps connections.
worker_class = "gthread"
# Where waiting has a limit, as nowhere in that benchmark, who waits for a connection needs a thread to be told so.
threads = (os.cpu_count() or 1) * (4 if os.environ.get("POOL_WAIT_MS") else 1)
host = os.environ["HOST"]
bind = f"[{host}]:{os.environ['PORT']}" if ":" in host else f"{host}:{os.environ['PORT']}"
backlog = 4096
keepalive = 75
graceful_timeout = 2
control_socket_disable = True
loglevel = "error"
