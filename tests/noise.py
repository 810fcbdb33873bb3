"""What a restless machine does to tests: findings that come and go and say nothing of the server, and failures to be tried again."""

from __future__ import annotations

from collections import Counter

import psutil
import pytest

from fairground.run import retry

OF_THE_MACHINE = frozenset(["generator", "steadiness", "steady-median", "steady-cost", "warm-up"] + list(retry.OF_THE_MACHINE))
STEAL_MOST = 0.03
"""Above this share of steal a trial is void (`thresholds.toml`, which a test holds), and so is what a test saw of a live server."""
RERUNS = 4


class Restless:
    """A test that failed while the hypervisor withheld the machine is tried again, as a run repeats a void trial.

    So is, once, each live test: neighbours spoil what it measures in ways that no counter shows. pytest says so of each (`RERUN`).
    What is wrong fails each time, and a test that starts nothing fails at once on a machine that is left alone.
    """

    NAME = "restless"

    def __init__(self) -> None:
        self._before, self._tries, self._live = psutil.cpu_times(), Counter[str](), False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self._before = psutil.cpu_times()  # one file: of four thousand tests each begins so
        self._tries = Counter({item.nodeid: self._tries[item.nodeid] + 1})
        self._live = item.get_closest_marker("live") is not None

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        again = pytest.mark.flaky(reruns=RERUNS, condition=f"config.pluginmanager.getplugin({self.NAME!r}).again()")
        for item in items:
            item.add_marker(again)

    def again(self) -> bool:
        """Whether the test that has just failed is worth another try."""
        return self.disturbed() or (self._live and self._tries.total() == 1)

    def disturbed(self) -> bool:
        """Whether too much was withheld since the test began."""
        now = psutil.cpu_times()
        spent = sum(now) - sum(self._before)
        return spent > 0 and (now.steal - self._before.steal) / spent > STEAL_MOST
