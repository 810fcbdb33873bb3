"""How tests are shared out where several are at work at once (`-n 2`), and which of them are never at work beside others."""

from __future__ import annotations

from typing import Any

import pytest

BY_THEIR_IDS = frozenset(["test_stack_fulfils_the_contract", "test_fault_is_found", "test_right_server_passes_procedure"])
"""Tests that no file keeps together: those whose ids begin alike, up to a colon, are one worker's, such as the stacks of a server."""


def unit(nodeid: str) -> str:
    """What a test belongs to: its file, and with it what the file starts once, or others of its kind."""
    file, _, test = nodeid.partition("::")
    name, _, id = test.partition("[")
    return f"{file}::{name}[{id.partition(':')[0]}" if name in BY_THEIR_IDS else file


class Workers:
    """A test that `measures` is live, too. Workers take whole units, and first those that start servers, so that short tests fill the
    end. Without workers the order is pytest's own."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        for item in items:
            if item.get_closest_marker("measures"):
                item.add_marker(pytest.mark.live)
        if hasattr(config, "workerinput"):
            items.sort(key=lambda item: item.get_closest_marker("live") is None)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        from xdist.scheduler import LoadScopeScheduling

        class Units(LoadScopeScheduling):
            """Shares out units in the order of the tests, in place of scopes by their size."""

            def _split_scope(self, nodeid: str) -> str:
                return unit(nodeid)

        config.option.loadscopereorder = False
        return Units(config, log)
