"""The scheduler of workers: it shares out units of tests in their order, and the niced worker takes only those that may wait."""

from __future__ import annotations

from typing import Any

from xdist.scheduler import LoadScopeScheduling

from workers import NICED, is_patient, unit


class Units(LoadScopeScheduling):
    """Shares out units in the order of the tests, in place of scopes by their size."""

    def _split_scope(self, nodeid: str) -> str:
        return unit(nodeid)

    def _assign_work_unit(self, node: Any) -> None:
        """Give a worker the next unit; the niced one the next that may wait, and its end where there is none."""
        if node.gateway.id == NICED:
            one = next(filter(is_patient, self.workqueue), None)
            if one is None:
                return node.shutdown()
            self.workqueue.move_to_end(one, last=False)
        super()._assign_work_unit(node)
