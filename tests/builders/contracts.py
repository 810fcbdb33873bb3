"""The lab's own contracts, and that of the example, as the tests share them."""

from __future__ import annotations

from builders.paths import ROOT
from fairground import contract
from fairground.inputs import contracts, workload_files

CONTRACTS = contracts.load_contracts(ROOT / "contracts")
EXAMPLES = contracts.load_contracts(ROOT / "examples" / "todo" / "contracts")
"""The contract of an application that is not the lab's."""
SEEDS = CONTRACTS["seeds"]
CASES = contract.load(SEEDS)
WORKLOADS = {one.id: one for one in workload_files.load_workloads(SEEDS)}
"""Its workloads by id, with `$names` in their texts."""
EVERY_CASE = tuple(case for one in CONTRACTS.values() for case in contract.load(one))
EVERY_WORKLOAD = tuple(workload for one in CONTRACTS.values() for workload in workload_files.load_workloads(one))
