"""Several machines that measure one run: hosts join a Dask scheduler, and each share of a plan is measured on one of them.

Finding hosts, giving work to them and noticing that one died is Dask's. Ours is what a share is (`shares`), what is sent and
answered (`order`), who may join (`tls`), what a host says of itself (`about`) and does (`worker`), and the lab's side
(`cluster`, `choice`, `tasks`, `alike`). Nobody who measures without hosts loads Dask.
"""

from __future__ import annotations

from importlib.util import find_spec

from fairground.model import LabError


def require_dask() -> None:
    """Raise LabError if Dask's `distributed` is not installed. It comes with an extra of the package."""
    if find_spec("distributed") is None:
        hint = "pip install 'fairground[hosts]', or in a checkout: make setup"
        raise LabError("hosts need Dask's `distributed`, which is not installed", hint, 3)
