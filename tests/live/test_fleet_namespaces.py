"""A fleet whose hosts have networks of their own: a host that is cut off in the middle, and what is on the wire meanwhile."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from builders.fleet import Fleet, alive, below
from builders.networks import HOSTS, LAB, LOST, Capture, Network, Segment, begun, segments
from builders.waiting import eventually
from fairground import records
from fairground.records import left_of

pytestmark = [pytest.mark.live, pytest.mark.nightly]

ENDED = (0, 3)
"""Trials that a busy machine made void are measured, too: it is the fleet that is tested here."""
TLS_RECORDS = (20, 21, 22, 23, 24)
"""The first byte of each record: change of cipher, alert, handshake, data, heartbeat."""


@pytest.mark.parametrize("how", ["cut", "stop"])
def test_a_host_that_is_lost_costs_no_trial(fleet: Fleet, network: Network, servers: Path, tmp_path: Path, how: str) -> None:
    """Its share goes to the other host, the run is whole, and what the lost one had started ends with it.

    What passes between the fleet's networks meanwhile is TLS between its addresses, and nothing else.
    """
    capture = Capture(network)
    try:
        run, hosts = begun(fleet, network, servers, tmp_path)
        theirs = below(hosts["b"])
        LOST[how](network, hosts["b"])
        assert run.wait(300) in ENDED, fleet.said("run")
    finally:
        capture.stop()
    (folder,) = (tmp_path / "results").glob("*/")
    found = records.load_run(folder)
    assert not left_of(found) and {one.block for one in found.everything} == {1, 2}, fleet.said("run")
    assert eventually(lambda: not alive(theirs), 60), str(alive(theirs))
    hosts["b"].send_signal(signal.SIGCONT)
    assert_is_tls(segments(capture.packets))


def assert_is_tls(found: list[Segment]) -> None:
    """Nobody else is spoken to, nothing is in the clear, and each connection begins with a record of TLS."""
    spoken = [one for one in found if one.payload]
    assert {one.source for one in spoken} == {LAB, *HOSTS.values()}
    assert {one.target for one in found} <= {LAB, *HOSTS.values()}
    assert not any(b"healthy" in one.payload or b"fairground" in one.payload for one in spoken)
    firsts = {(one.source, one.target): one.payload[0] for one in reversed(spoken)}
    assert set(firsts.values()) <= set(TLS_RECORDS), firsts
