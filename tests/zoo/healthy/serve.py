"""A server that does everything right."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.items import Shop

if __name__ == "__main__":
    Shop.run()
