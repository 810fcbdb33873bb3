"""What a hop costs: pairs of cells that differ in one hop, and what the page and the comment say of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fairground.model import Result, RoleUse, Run, Topology, Trial, Verdict
from fairground.model.contract import SqlFile
from fairground.report.boards import boards
from fairground.report.run import hops, page
from report import fixture

STACK, WORKLOAD = "alder:inline", "tx"
SLOWER = 0.8
"""Goodput through the hop over that without it, in every block."""


def through(trial: Trial, path: Topology, share: float = SLOWER) -> Trial:
    """The same trial through a topology: fewer good answers, the CPU of the other roles as before, and a proxy's."""
    result = trial.result
    assert isinstance(result, Result)
    completed = round(result.completed_ok * share)
    roles = {role: replace(use, cpu_us=(use.cpu_us or 0.0) * share) for role, use in trial.roles.items()}
    if path.proxy:
        roles["proxy"] = RoleUse(50.0 * completed, 1_000_000, 2, "cgroup2")
    slower = fixture.latency_of(result.window.ok, 20_000.0, 0.4)
    return replace(
        trial,
        number=trial.number + 5000,
        cell=replace(trial.cell, topology=path),
        result=replace(result, completed_ok=completed, latency_ok=slower),
        roles=roles,
    )


def run(blocks: int, *paths: Topology, **others: object) -> Run:
    """The report's fixture with one stack on one workload alone, and the same through topologies."""
    whole = fixture.run(blocks)
    plain = [trial for trial in whole.trials if (trial.cell.stack, trial.cell.workload) == (STACK, WORKLOAD)]
    assert len(plain) == blocks
    more = [replace(through(trial, path), **others) for path in paths for trial in plain]  # type: ignore[arg-type]
    slots = tuple(slot for slot in whole.plan.slots if (slot.cell.stack, slot.cell.workload) == (STACK, WORKLOAD))
    return replace(whole, trials=(*plain, *more), plan=replace(whole.plan, slots=slots))


def costs(found: Run) -> tuple[hops.HopCost, ...]:
    """The costs of a run's hops."""
    return hops.hop_costs(boards(found))


def test_pairs_differ_in_one_hop() -> None:
    """Proxy and pooler are each compared with the cell that lacks it alone, and with nothing else."""
    both = Topology("nginx", "pgbouncer-tx", 20)
    found = costs(run(2, Topology("nginx"), Topology(pooler="pgbouncer-tx", pooler_size=20), both))
    named = {(cost.hop, cost.without.cell.topology.id, cost.through.cell.topology.id) for cost in found}
    assert named == {
        ("nginx", "direct", "nginx"),
        ("pgbouncer-tx-20", "direct", "pgbouncer-tx-20"),
        ("nginx", "pgbouncer-tx-20", "nginx+pgbouncer-tx-20"),
        ("pgbouncer-tx-20", "nginx", "nginx+pgbouncer-tx-20"),
    }
    assert costs(run(2, both)) == ()
    assert costs(run(2)) == ()


def test_ratio_is_paired_by_block() -> None:
    """A ratio that is the same in every block is known exactly, however much the blocks differ."""
    (cost,) = costs(run(3, Topology("nginx")))
    assert cost.ratio is not None and cost.middle_ratio is not None
    assert (cost.ratio.middle, cost.middle_ratio) == (pytest.approx(SLOWER, rel=1e-3), pytest.approx(SLOWER, rel=1e-3))
    assert cost.ratio.count == 3 and cost.ratio.high - cost.ratio.low < 1e-3
    assert hops.sentence(cost).startswith(f"{STACK} with nginx gives 20.0 % fewer good answers (95 % CI 0.800–0.800 ×, 3 blocks)")


def test_one_block_is_not_judged() -> None:
    """One block gives a ratio without an interval, and the sentence says that it is not judged."""
    (cost,) = costs(run(1, Topology("nginx")))
    assert (cost.ratio, cost.middle_ratio) == (None, pytest.approx(SLOWER, rel=1e-3))
    assert hops.sentence(cost) == f"{STACK} with nginx gives 0.800 × as many good answers, in one block: that is not judged."


def test_cpu_and_latency() -> None:
    """CPU is told per good answer and role, the hop's own among them, and the tail from added histograms."""
    (cost,) = costs(run(2, Topology("nginx")))
    cpu = cost.cpu_us()
    assert cpu["proxy"] == (None, pytest.approx(50.0))
    assert cpu["server"][0] == pytest.approx(cpu["server"][1], rel=1e-3)
    assert cost.cpu_difference_us == pytest.approx(50.0, rel=0.01)
    without, with_hop = cost.p99_us
    assert without is not None and with_hop is not None
    assert with_hop > 20_000 and cost.p99_difference_us == with_hop - without


def test_cell_without_a_number_says_why() -> None:
    """A hop that broke the server has no ratio, and the sentence quotes the reason."""
    (cost,) = costs(run(2, Topology(pooler="pgbouncer-tx"), verdict=Verdict.REJECTED))
    assert (cost.ratio, cost.middle_ratio) == (None, None)
    assert hops.sentence(cost).startswith(f"{STACK} with pgbouncer-tx: there is no number with it: ")


def test_the_page_shows_hops() -> None:
    """The page has a section with its link and a line for each pair; that of a run of one topology has neither."""
    with_hop, plain = run(2, Topology("nginx")), run(2)
    html = page.details(with_hop)
    assert '<section id="hops">' in html and '<a href="#hops">' in html and "0.800 ×" in html
    assert f"<li>{WORKLOAD}: {STACK} with nginx gives 20.0 % fewer good answers" in html
    assert 'id="hops"' not in page.details(plain)


def test_resources_are_disclosed() -> None:
    """What the server was held to stands in the header, and how it was held in the disclosure."""
    found = run(1)
    (trial,) = found.trials
    settings = replace(
        trial.cell.settings,
        cpus=1.5,
        memory_mb=1000,
        pin=(("database", (1,)),),
        postgres=(("work_mem", "8MB"),),
        sql_before=SqlFile("index.sql", "CREATE INDEX"),
    )
    cell = replace(trial.cell, settings=settings)
    server = replace(trial.roles["server"], bounds={"cpus": "cgroup2 quota of 1.5"})
    slots = tuple(replace(slot, cell=cell) for slot in found.plan.slots)
    found = replace(
        found, trials=(replace(trial, cell=cell, roles={**trial.roles, "server": server}),), plan=replace(found.plan, slots=slots)
    )
    assert "1.5 CPUs · 1,000 MB · database on core 1 · after index.sql · work_mem = 8MB" in page.html(found)
    assert "cpus: cgroup2 quota of 1.5" in page.details(found)
