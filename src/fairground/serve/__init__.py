"""The lab in a browser: records as pages, a run as it goes on, and measurements started and stopped by a click.

It measures nothing itself. A measurement is a process of its own, started as a person would start it. So what serves pages is
no part of what is measured.
"""

from __future__ import annotations

from importlib.util import find_spec

from fairground.model import LabError

LIBRARIES = ("starlette", "uvicorn")


def require_libraries() -> None:
    """Raise LabError if what serves pages is not installed. It comes with an extra of the package."""
    for name in LIBRARIES:
        if find_spec(name) is None:
            hint = "pip install 'fairground[serve]'; the page of a record is a file in its folder, and needs no server"
            raise LabError(f"the lab in a browser needs `{name}`, which is not installed", hint, 3)
