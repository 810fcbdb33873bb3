"""How uvicorn runs, with the lab's settings."""

import os

import uvicorn


def run(app: str, loop: str = "auto", http: str = "auto") -> None:
    """As `uvicorn APP --workers N` would."""
    pool_size = int(os.environ["POOL_SIZE"])
    workers = min(int(os.environ["WORKERS"]), pool_size)
    os.environ["POOL_SHARE"] = str(pool_size // workers)
    uvicorn.run(
        app,
        host=os.environ["HOST"],
        port=int(os.environ["PORT"]),
        workers=workers,
        loop=loop,  # type: ignore[arg-type]
        http=http,  # type: ignore[arg-type]
        backlog=4096,
        log_level="error",
        access_log=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=2,
    )
