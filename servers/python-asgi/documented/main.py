"""Runs uvicorn with the lab's settings, as `uvicorn documented.app:app --workers N` would."""

import os
from pathlib import Path

import uvicorn


def run(app: str) -> None:
    pool_size = int(os.environ["POOL_SIZE"])
    workers = min(int(os.environ["WORKERS"]), pool_size)
    os.environ["POOL_SHARE"] = str(pool_size // workers)
    uvicorn.run(
        app,
        app_dir=str(Path(__file__).parents[1]),
        host=os.environ["HOST"],
        port=int(os.environ["PORT"]),
        workers=workers,
        loop=os.environ.get("EVENT_LOOP", "auto"),
        backlog=4096,
        log_level="error",
        access_log=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=2,
    )


if __name__ == "__main__":
    run("documented.app:app")
