"""This machine as a host of a fleet, and the process that carries out an order."""

from __future__ import annotations

import os
import sys

from fairground.fleet.about import About
from fairground.fleet.worker import Host, OrderCommand
from fairground.host.awake import wants_awake
from fairground.inputs.hosts import HostsAsked
from fairground.lab.places import Places


def worker_of(places: Places, said: About, at: HostsAsked) -> Host:
    """The host that takes orders here. `at`: where others have joined."""
    return Host(said, _command(places, said.name, at), places.cache, places.engine, wants_awake(places.environ))


def _command(places: Places, name: str, at: HostsAsked) -> OrderCommand:
    """The process that carries out an order: this lab, in an interpreter of its own."""
    words = [sys.executable, "-m", "fairground", "host", "share", "--name", name, "--hosts", at.address]
    words += [] if at.tls is None else ["--tls", str(at.tls.absolute())]
    own = str(places.root.parent if places.installed else places.root / "src")
    path = os.pathsep.join(filter(None, (own, places.environ.get("PYTHONPATH"))))
    return OrderCommand(words, {**places.environ, "PYTHONPATH": path})
