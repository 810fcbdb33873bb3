"""Failures on a restless machine."""

from __future__ import annotations

from types import SimpleNamespace

import psutil
import pytest

from fairground import records
from fairground.judge import thresholds
from fairground.lab.roots import ROOT
from fairground.run import retry
from noise import RERUNS, STEAL_MOST, Restless

pytest_plugins = ["pytester"]


@pytest.mark.parametrize(("stolen", "expected"), [(0.0, False), (0.02, False), (0.2, True)])
def test_steal_since_the_test_began(monkeypatch: pytest.MonkeyPatch, stolen: float, expected: bool) -> None:
    """A machine is disturbed when more was withheld than a valid trial may lose."""
    start = psutil.cpu_times()
    end = start._replace(idle=start.idle + 1 - stolen, steal=start.steal + stolen)
    readings = iter([start, start, end])
    monkeypatch.setattr(psutil, "cpu_times", lambda: next(readings))
    watch = Restless()
    watch.pytest_runtest_setup(SimpleNamespace(nodeid="one", get_closest_marker=lambda _: None))
    assert watch.disturbed() is expected


@pytest.mark.parametrize(
    ("disturbed", "live", "counts"),
    [
        (True, False, {"rerun": 1 + RERUNS, "passed": 1, "failed": 1}),
        (False, False, {"failed": 2}),
        (False, True, {"rerun": 2, "passed": 1, "failed": 1}),
    ],
)
def test_what_failed_on_a_restless_machine_is_tried_again(
    pytester: pytest.Pytester, disturbed: bool, live: bool, counts: dict[str, int]
) -> None:
    """What fails again and again has failed. On a machine that was left alone a live test has one more try, and no other has any."""
    pytester.makeconftest(
        f"""
        from noise import Restless

        class Planted(Restless):
            def disturbed(self):
                return {disturbed}

        def pytest_configure(config):
            config.pluginmanager.register(Planted(), Restless.NAME)
        """
    )
    pytester.makepyfile(
        f"""
        import pytest

        pytestmark = [pytest.mark.live] if {live} else []
        tries = []

        def test_that_fails_once():
            tries.append(1)
            assert len(tries) > 1

        def test_that_fails():
            assert False
        """
    )
    found = pytester.runpytest_inprocess("-p", "no:cacheprovider").parseoutcomes()
    assert found == counts


def test_the_rules_are_those_of_a_run() -> None:
    """What disturbs a test is what makes a trial void, and every repetition of a run has its pause."""
    assert thresholds.load(ROOT / "src/fairground/judge/thresholds.toml").checks.steal.void == STEAL_MOST
    assert len(retry.PAUSES_S) == records.ATTEMPTS - 1
