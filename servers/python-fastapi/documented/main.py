"""Starts the application of the driver that DB_DRIVER names."""

import os

from serve import run

if __name__ == "__main__":
    run(f"app_{os.environ['DB_DRIVER']}:app")
