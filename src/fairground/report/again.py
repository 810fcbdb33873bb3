"""The command that measures a trial's cell again, with the same stream of requests."""

from __future__ import annotations

import shlex

from fairground.model import Durability, Load, PoolScope, Settings, Topology, Trial


def command(trial: Trial) -> str:
    """`./fairground run --stack … --workload … --stream …`, as one would type it."""
    cell = trial.cell
    words = ["run", "--stack", cell.stack, "--workload", cell.workload]
    words += [*_load(cell.load), *_path(cell.topology), *_settings(cell.settings), "--stream", str(trial.seed)]
    return "./fairground " + shlex.join(words)


def _load(load: Load) -> list[str]:
    said = ["--connections", str(load.connections), "--window", f"{load.window_s:g}"]
    said += ["--warmup", f"{load.warmup_min_s:g},{load.warmup_max_s:g}", "--timeout-ms", str(load.timeout_ms)]
    if not load.keep_alive:
        said.append("--close")
    if load.rate_per_s is not None:
        said += ["--rate", f"{load.rate_per_s:g}", "--arrivals", load.arrivals]
    if load.requests is not None:
        said += ["--requests", str(load.requests)]
    if load.generator != Load.generator:
        said += ["--generator", load.generator]
    return said + (["--threads", str(load.threads)] if load.threads != Load.threads else [])


def _path(topology: Topology) -> list[str]:
    said = ["--proxy", topology.proxy] if topology.proxy else []
    if topology.pooler:
        said += ["--pooler", topology.pooler, "--pooler-size", str(topology.pooler_size)]
        said += ["--pooler-clients", str(topology.pooler_clients)]
    return said


def _settings(settings: Settings) -> list[str]:
    said = ["--workers", str(settings.workers), "--pool-size", str(settings.pool_size), "--scale", str(settings.scale)]
    flags = {
        "--pool-per-worker": settings.pool_scope is PoolScope.PER_WORKER,
        "--no-prepared": not settings.prepared,
        "--durable": settings.durability is Durability.DURABLE,
    }
    said += [flag for flag, given in flags.items() if given]
    amounts = {"--pool-wait-ms": settings.pool_wait_ms, "--cpus": settings.cpus, "--memory-mb": settings.memory_mb}
    for option, amount in amounts.items():
        said += [] if amount is None else [option, str(amount)]
    for role, cores in settings.pin:
        said += ["--pin", f"{role}={','.join(map(str, cores))}"]
    for name, value in settings.postgres:
        said += ["--postgres", f"{name}={value}"]
    return said
