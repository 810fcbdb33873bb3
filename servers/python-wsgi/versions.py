"""Prints the versions that serve."""

import platform
import sys
from importlib.metadata import version

PACKAGES = ("gunicorn", "psycopg", "psycopg-pool", "orjson")
sys.stdout.write(", ".join([f"python {platform.python_version()}", *(f"{name} {version(name)}" for name in PACKAGES)]) + "\n")
