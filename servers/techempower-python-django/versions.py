"""The receipt: what was built."""

import platform
from importlib.metadata import version

packages = ", ".join(f"{name} {version(name)}" for name in ("django", "gunicorn", "psycopg"))
print(f"Python {platform.python_version()}, {packages}")
