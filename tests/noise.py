"""What a restless machine does to tests: findings that come and go and say nothing of the server, and failures to be tried again."""

from __future__ import annotations

import pytest

from fairground.host import HostReading, host_use
from fairground.run import retry

OF_THE_MACHINE = frozenset(["generator", "steadiness", "steady-median", "steady-cost", "warm-up"] + list(retry.OF_THE_MACHINE))
STEAL_MOST = 0.03
"""Above this share of steal a trial is void (`thresholds.toml`, which a test holds), and so is what a test saw of a live server."""
RERUNS = 4


class Restless:
    """A test that failed while the hypervisor withheld the machine is tried again, as a run repeats a void trial.

    pytest says so of each (`RERUN`). What is wrong fails each time, and on a machine that is left alone every failure is one at once.
    """

    NAME = "restless"

    def __init__(self) -> None:
        self._before = HostReading.now()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        self._before = HostReading.now()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        again = pytest.mark.flaky(reruns=RERUNS, condition=f"config.pluginmanager.getplugin({self.NAME!r}).disturbed()")
        for item in items:
            item.add_marker(again)

    def disturbed(self) -> bool:
        """Whether too much was withheld since the test began."""
        return (host_use(self._before, HostReading.now(), []).steal_share or 0.0) > STEAL_MOST
