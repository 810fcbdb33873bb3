"""Where a scheduler cannot listen: one sentence, and exit code 2."""

from __future__ import annotations

import socket

import pytest

from fairground.fleet import scheduler, tls
from fairground.model import LabError


@pytest.mark.parametrize("what", ["taken", "not of this machine"])
def test_an_address_where_nothing_can_listen_is_told(what: str) -> None:
    """One that somebody has, and one that no interface has; a free one is told as started."""
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
        at = tls.address(f"127.0.0.1:{port}") if what == "taken" else tls.SchedulerAddress("192.0.2.1", 0, False)
        with pytest.raises(LabError, match="nothing can listen at") as raised:
            scheduler.serve(at, None, lambda _: None)
    assert raised.value.exit_code == 2 and "--address" in (raised.value.hint or "")


def test_a_free_address_is_told() -> None:
    """With its port, once it listens."""
    told = list[str]()

    def started(there: str) -> None:
        told.append(there)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        scheduler.serve(tls.address("127.0.0.1:0"), None, started)
    assert told and not told[0].endswith(":0")
