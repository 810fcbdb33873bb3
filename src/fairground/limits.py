"""What this machine can do at most on a workload: a null responder for the HTTP side, pgbench with the same SQL for the other.

Both are measured in the run that they belong to, with its connections and pool, because a machine's speed changes by the hour.
So is whether the load engine can measure here at all.
"""

from __future__ import annotations

import json
import os
import re
import socket
import time
from dataclasses import dataclass, replace
from pathlib import Path

from fairground.generators import engine
from fairground.model import Expectation, KnownNumber, LabError, Limit, Load, Qualification, Settings, Workload
from fairground.postgres import Database, binary
from fairground.process import Child, Keeper, free_port

HOST = "127.0.0.1"
WINDOW_S = 2.0
WARMUP_S = 0.5
QUALIFY_S = 30.0
"""What the qualification may take at most; it is meant to take 4 s."""
TPS = re.compile(r"^tps = ([\d.]+) \(without initial connection time\)$", re.MULTILINE)


@dataclass(frozen=True)
class Bench:
    """What measuring a limit needs; `folder` takes the raw outputs."""

    keeper: Keeper
    database: Database
    engine: Path
    folder: Path
    cores: int


def measure(bench: Bench, workload: Workload, load: Load, settings: Settings) -> Limit:
    """The ceiling of one workload under a load: pgbench's where the workload has SQL, else the null responder's.

    Raises LabError when the instrument fails: then the workload has no limit, which the report says.
    """
    bench.folder.mkdir(parents=True, exist_ok=True)
    if workload.limit_sql is None:
        return _http(bench, workload, load)
    return _database(bench, workload, workload.limit_sql, settings)


def _http(bench: Bench, workload: Workload, load: Load) -> Limit:
    """The engine against a responder that parses nothing more than it must and answers one fixed body."""
    port = free_port()
    argv = [str(bench.engine), "null", "--host", HOST, "--port", str(port), "--threads", str(bench.cores)]
    stdin, ours = os.pipe2(os.O_CLOEXEC)  # it serves until its standard input closes
    try:
        child = bench.keeper.spawn(argv, role="null", env={}, stdin=stdin)
    finally:
        os.close(stdin)
    try:
        _listening(child, port)
        # The null responder knows one answer: what a request of this workload costs to send and to receive is what is asked.
        asked = replace(workload, expect=Expectation(200, None, None, 1), ledger=())
        short = replace(load, window_s=WINDOW_S, generator="engine", model="closed", rate_per_s=None, requests=None)
        session = engine.Session(bench.keeper, bench.engine, engine.plan(asked, short, HOST, port, 1, {}), bench.folder)
        try:
            time.sleep(WARMUP_S)
            session.measure()
            while session.event() is not None:
                pass
            result = session.result()
        finally:
            session.stop()
    finally:
        os.close(ours)
        child.stop()
    detail = f"the null responder under {load.connections} connections of the lab's engine, {WINDOW_S:g} s"
    return Limit(workload.id, "null-responder", result.goodput_per_s, detail)


def _listening(child: Child, port: int) -> None:
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline and child.exit_code() is None:
        with socket.socket() as probe:
            if probe.connect_ex((HOST, port)) == 0:
                return
        time.sleep(0.02)
    raise LabError("the null responder did not start", exit_code=3)


def _database(bench: Bench, workload: Workload, script: str, settings: Settings) -> Limit:
    """pgbench, prepared, with as many clients as the pool has connections, on data of its own that is thrown away."""
    bench.database.reset(settings.scale)
    (bench.folder / f"{workload.id}.sql").write_text(script)
    seconds, clients = max(1, round(WINDOW_S)), settings.pool_size
    address = bench.database.app
    argv = [
        str(binary("pgbench")), "--no-vacuum", "--protocol=prepared" if settings.prepared else "--protocol=extended",
        f"--client={clients}", f"--jobs={min(clients, bench.cores)}", f"--time={seconds}", "--random-seed=1", "--max-tries=1000",
        f"--file={bench.folder / f'{workload.id}.sql'}", f"--host={address.host}", f"--port={address.port}",
        f"--username={address.user}", bench.database.server_url().rpartition("/")[2],
    ]  # fmt: skip
    log = bench.folder / f"{workload.id}.pgbench"
    with open(log, "wb") as output:
        child = bench.keeper.spawn(
            argv, role="pgbench", env={"PGPASSWORD": address.password}, cwd=bench.folder, stdout=output, stderr=output
        )
    code = child.wait(seconds + 30.0)
    child.stop()
    return read(workload.id, log.read_text(errors="replace"), code, f"{clients} clients, {seconds} s, {argv[2][2:]}")


def qualify(bench: Bench) -> Qualification:
    """Whether the engine finds latencies that are known by calculation here, in its short form: about 4 s.

    LabError when it does not say.
    """
    bench.folder.mkdir(parents=True, exist_ok=True)
    log, began = bench.folder / "qualify.json", time.monotonic()
    with open(log, "wb") as output:
        argv = [str(bench.engine), "qualify", "--quick", "--json"]
        child = bench.keeper.spawn(argv, role="qualify", env={}, cwd=bench.folder, stdout=output)
    child.wait(QUALIFY_S)
    child.stop()
    return qualification(log.read_text(errors="replace"), time.monotonic() - began)


def qualification(output: str, took_s: float) -> Qualification:
    """The engine's own findings as a Qualification; LabError when there are none."""
    try:
        found = json.loads(output)
        return Qualification(bool(found["can_measure"]), took_s, tuple(KnownNumber(**check) for check in found["checks"]))
    except (ValueError, KeyError, TypeError) as error:
        raise LabError(f"`fairload qualify` gave no findings ({error})", exit_code=3) from error


def read(workload: str, output: str, code: int | None, detail: str) -> Limit:
    """pgbench's own report as a Limit; LabError with its last line when it has none."""
    found = TPS.search(output)
    if code != 0 or found is None:
        last = next((line.strip() for line in reversed(output.splitlines()) if line.strip()), "no output")
        raise LabError(f"pgbench could not measure the limit of {workload}: {last[:200]}", exit_code=3)
    return Limit(workload, "pgbench", float(found[1]), f"pgbench {detail}")
