"""The cell of a run that the words of a claim mean. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from fairground.claims.statement import Term
from fairground.model import OWN_MAJOR, Cell, Suite, Topology, Trial


class Untestable(Exception):
    """The reason why a statement cannot be tested on these trials."""


def marks(cell: Cell) -> frozenset[str]:
    """The words by which a claim may tell this cell from others of the same stack and workload."""
    settings, load = cell.settings, cell.load
    return frozenset(
        {
            f"c{load.connections}",
            "keep-alive" if load.keep_alive else "close",
            load.generator,
            f"threads={load.threads}",
            f"think={load.think_ms:g}",
            f"stages={'+'.join(str(ends) for _, ends in load.stages) or 'none'}",
            f"fault={load.fault or 'none'}",
            f"wire={cell.topology.wire or 'none'}",
            *(name for name in (cell.topology.proxy, cell.topology.pooler) if name),
            *([] if cell.topology.proxy or cell.topology.pooler else ["direct"]),
            f"wait={'none' if settings.pool_wait_ms is None else settings.pool_wait_ms}",
            f"pool={settings.pool_size}",
            f"scope={settings.pool_scope}",
            f"workers={settings.workers}",
            f"prepared={'on' if settings.prepared else 'off'}",
            f"postgres={settings.postgres_version or OWN_MAJOR}",
            str(settings.durability),
        }
    )


def plain(suite: Suite) -> frozenset[str]:
    """The marks that a cell has unless a claim says otherwise: what the suite says for all of its groups, and no hops."""
    usual = Cell("", "", Topology(), suite.load, suite.settings)
    return marks(usual) - {f"c{suite.load.connections}"}


def cell_of(term: Term, suite: Suite, trials: Sequence[Trial]) -> Cell:
    """The one cell that a term's words mean: of several, the one with the fewest marks that are not plain. Raises Untestable."""
    stack, workload, *wanted = term.words
    usual = plain(suite) | set(wanted)
    fitting = {
        trial.cell: len(marks(trial.cell) - usual)
        for trial in trials
        if (trial.cell.stack, trial.cell.workload) == (stack, workload) and set(wanted) <= marks(trial.cell)
    }
    if not fitting:
        raise Untestable(f"{' '.join(term.words)} was not measured")
    least = min(fitting.values())
    nearest = [cell for cell, count in fitting.items() if count == least]
    if len(nearest) > 1:
        raise Untestable(f"{' '.join(term.words)} means {len(nearest)} cells of this run")
    return nearest[0]
