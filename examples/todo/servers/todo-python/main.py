"""Runs uvicorn, as `uvicorn app:app --workers N` would."""

import os
import platform
import sys
from importlib.metadata import version

import uvicorn

if __name__ == "__main__":
    if "--version" in sys.argv:
        packages = ("fastapi", "uvicorn", "uvloop", "asyncpg", "pyjwt")
        print(", ".join([f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in packages)]))
        sys.exit()
    pool_max = int(os.environ["DB_POOL_MAX"])
    workers = min(int(os.environ["WEB_CONCURRENCY"]), pool_max)
    os.environ["POOL_SHARE"] = str(pool_max // workers)
    uvicorn.run(
        "app:app",
        host=os.environ["HOST"],
        port=int(os.environ["PORT"]),
        workers=workers,
        backlog=4096,
        log_level="error",
        access_log=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=2,
    )
