"""Processes: start them so that nothing survives the lab, know what they use, stop them and prove that they are gone."""

from fairground.host.awake import keep_awake
from fairground.host.cgroup import Limits
from fairground.host.child import Child, Keeper, Stopped, Streams
from fairground.host.network import LOOPBACK, free_port, listens, netloc, wait_ready, wait_until_silent
from fairground.host.resident import Resident, listener
from fairground.host.usage import Clock, HostReading, RoleMeter, host_use, stolen_us

__all__ = [
    "LOOPBACK",
    "Child",
    "Clock",
    "HostReading",
    "Keeper",
    "Limits",
    "Resident",
    "RoleMeter",
    "Stopped",
    "Streams",
    "free_port",
    "host_use",
    "keep_awake",
    "listener",
    "listens",
    "netloc",
    "stolen_us",
    "wait_ready",
    "wait_until_silent",
]
