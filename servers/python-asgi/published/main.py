"""Runs uvicorn as the author does: `uvicorn --workers $(nproc) --loop EVENT_LOOP`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from documented.main import run

if __name__ == "__main__":
    run("published.app:app")
