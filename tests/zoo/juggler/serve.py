"""The healthy server of numbers and fortunes."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.juggler import Juggler

if __name__ == "__main__":
    Juggler.run()
