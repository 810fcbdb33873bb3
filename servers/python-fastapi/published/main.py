"""Runs uvicorn's own workers on asyncio and h11, which it takes where uvloop and httptools are not installed."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "documented")]

from serve import run

if __name__ == "__main__":
    run("app_published:app", loop="asyncio", http="h11")
