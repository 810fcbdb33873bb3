"""Runs uvicorn with the lab's settings, as `uvicorn app_asyncpg:app --workers N` would."""

import os
import platform
import sys
from importlib.metadata import version

import uvicorn

if __name__ == "__main__":
    if "--version" in sys.argv:
        packages = ("fastapi", "uvicorn", "uvloop", "asyncpg", "sqlalchemy")
        print(", ".join([f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in packages)]))
        sys.exit()
    pool_size = int(os.environ["POOL_SIZE"])
    workers = min(int(os.environ["WORKERS"]), pool_size)
    os.environ["POOL_SHARE"] = str(pool_size // workers)
    uvicorn.run(
        f"app_{os.environ['MAPPER']}:app",
        host=os.environ["HOST"],
        port=int(os.environ["PORT"]),
        workers=workers,
        backlog=4096,
        log_level="error",
        access_log=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=2,
    )
