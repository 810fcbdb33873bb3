"""A healthy server that cannot be built here."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import Healthy

if __name__ == "__main__":
    Healthy.run()
