"""A server that rotates addresses by 13."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from animal.healthy import Healthy, make_cipher


class WrongCipher(Healthy):
    """Has the wrong table; the answer's length stays right."""

    def __init__(self) -> None:
        super().__init__()
        self.cipher = make_cipher(13)


if __name__ == "__main__":
    WrongCipher.run()
