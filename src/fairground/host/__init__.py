"""Processes: start them so that nothing survives the lab, know what they use, stop them and prove that they are gone."""

from fairground.host.awake import keep_awake
from fairground.host.cgroup import Limits
from fairground.host.child import Child, Keeper, Stopped
from fairground.host.network import LOOPBACK, family_of, free_address, free_port, listens, netloc, wait_ready, wait_until_silent
from fairground.host.process import open_descriptors
from fairground.host.resident import Resident, listener
from fairground.host.streams import Streams
from fairground.host.usage import CpuClock, HostReading, Meter, Moment, RoleMeter, host_use, machine_between, stolen_us

__all__ = [
    "LOOPBACK",
    "Child",
    "CpuClock",
    "HostReading",
    "Keeper",
    "Limits",
    "Meter",
    "Moment",
    "Resident",
    "RoleMeter",
    "Stopped",
    "Streams",
    "family_of",
    "free_address",
    "free_port",
    "host_use",
    "keep_awake",
    "listener",
    "listens",
    "machine_between",
    "netloc",
    "open_descriptors",
    "stolen_us",
    "wait_ready",
    "wait_until_silent",
]
