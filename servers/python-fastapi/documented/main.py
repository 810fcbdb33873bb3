"""Runs uvicorn with the lab's settings, as `uvicorn app_asyncpg:app --workers N` would."""

import os

import uvicorn

if __name__ == "__main__":
    pool_size = int(os.environ["POOL_SIZE"])
    workers = min(int(os.environ["WORKERS"]), pool_size)
    os.environ["POOL_SHARE"] = str(pool_size // workers)
    uvicorn.run(
        f"app_{os.environ['DB_DRIVER']}:app",
        host=os.environ["HOST"],
        port=int(os.environ["PORT"]),
        workers=workers,
        backlog=4096,
        log_level="error",
        access_log=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=2,
    )
