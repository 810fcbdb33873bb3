"""A server that does not escape."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.juggler import Juggler

HOW = os.environ["HOW"]


class Trusting(Juggler):
    """The honest variant escapes each character that is no letter, digit or space."""

    def escaped(self, text: str) -> str:
        if HOW == "numbers":
            return "".join(one if one.isalnum() or one == " " else f"&#{ord(one)};" for one in text)
        return text if HOW == "always" or self.under_load else super().escaped(text)


if __name__ == "__main__":
    Trusting.run()
