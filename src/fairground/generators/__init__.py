"""Load generators, one file each, all with one Result."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from fairground.generators import ab, engine, engine_plan, hey, k6, oha, running, vegeta, wrk
from fairground.generators.running import EngineHost, Running
from fairground.generators.session import GeneratorSession, LoadTask
from fairground.generators.tool import Installed, Tool, ToolSession
from fairground.host import Keeper
from fairground.host.machine import MachineCheck
from fairground.model import Cell, LabError, Load, Result, RoleUse, Workload
from fairground.model.source import nearest

__all__ = [
    "ENGINE",
    "TOOLS",
    "EngineHost",
    "Installed",
    "LoadTask",
    "Running",
    "check",
    "checks",
    "find",
    "find_all",
    "generator_name",
    "install_words",
    "start",
    "tool_versions",
    "with_share",
]

ENGINE = "engine"
"""The lab's own generator: the only one that keeps a ledger, compares bodies and accounts for every request."""
TOOLS: Mapping[str, Tool] = {one.TOOL.name: one.TOOL for one in (wrk, ab, hey, k6, vegeta, oha)}
"""Those from elsewhere, by name."""


def generator_name(name: str) -> str:
    """The name of a generator. LabError when there is none of that name."""
    names = (ENGINE, *TOOLS)
    if name not in names:
        raise LabError(f"there is no generator `{name}`", nearest(name, names, "generators"))
    return name


def check(cells: Iterable[Cell], workloads: Mapping[str, Workload]) -> None:
    """LabError for the first cell whose load its generator cannot make. Ask before anything is started."""
    for load, workload in dict.fromkeys((cell.load, cell.workload) for cell in cells):
        name = generator_name(load.generator)
        said = _engine_refusal(load, workloads[workload]) if name == ENGINE else TOOLS[name].refusal(load, workloads[workload])
        if said is not None:
            raise LabError(
                f"`{name}` {said}: it cannot load `{workload}` as {load.id}", "choose another generator, load or workload"
            )


def find(name: str, path: str) -> Installed | None:
    """A tool as it is found on `path` (folders, as in PATH), with its version; None when it is not there."""
    tool = TOOLS[name]
    program = shutil.which(name, path=path)
    if program is None:
        return None
    argv = [word.format(program=program) for word in tool.version]
    try:
        ran = subprocess.run(argv, capture_output=True, encoding="utf-8", errors="replace", timeout=10, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return Installed(tool, Path(program), None)
    told = re.search(tool.version_pattern, ran.stdout + ran.stderr)
    return Installed(tool, Path(program), told[1] if told else None)


def find_all(names: Iterable[str], path: str) -> dict[str, Installed | None]:
    """The load generators from elsewhere among these names, with None for one that is not here."""
    return {name: find(name, path) for name in names if name != ENGINE}


def tool_versions(found: Mapping[str, Installed]) -> dict[str, str]:
    """Versions of load generators from elsewhere."""
    return {name: tool.version or "it tells none" for name, tool in found.items()}


def install_words(name: str, folder: Path) -> str:
    """The command that gets a load generator, or the sentence that says why there is none. `folder`: where the lab keeps some."""
    return TOOLS[name].install.format(tools=folder)


def checks(path: str, folder: Path) -> Iterator[MachineCheck]:
    """The doctor's lines about load generators from elsewhere."""
    for name in TOOLS:
        id, tool = f"generator-{name}", find(name, path)
        if tool is not None:
            yield MachineCheck(id, "ok", f"load generator {tool.title} is at {tool.program}")
        else:
            yield MachineCheck(id, "optional", f"load generator {name} is not installed", install_words(name, folder))


def start(
    keeper: Keeper, binary: Path, tools: Mapping[str, Installed], task: LoadTask, elsewhere: EngineHost | None = None
) -> GeneratorSession:
    """Start the load's generator. `binary` is the engine's, `tools` those of others that are installed.

    `elsewhere`: the host on which the engine runs; None: it runs here.
    """
    if task.load.generator == ENGINE:
        plan = engine_plan.plan(task.workload, task.load, task.host, task.port, task.seed, task.bodies, task.rates)
        return engine.EngineSession(
            running.start_engine(keeper, binary, task.folder, elsewhere), engine_plan.by_tls(plan, task.tls)
        )
    return ToolSession(keeper, tools[task.load.generator], task)


def with_share(result: Result, load: Load, use: RoleUse) -> Result:
    """The result with the share of the window in which a tool of one thread was busy; of several threads it is not known."""
    if load.generator == ENGINE or use.cpu_us is None or not result.window_s:
        return result
    alone = TOOLS[load.generator].one_thread or (TOOLS[load.generator].threads and load.threads == 1)
    return replace(result, busiest_thread_share=min(1.0, use.cpu_us / 1e6 / result.window_s)) if alone else result


def _engine_refusal(load: Load, workload: Workload) -> str | None:
    if workload.pipeline > 1 and (load.model == "open" or not load.keep_alive):
        return "sends several requests at once in a closed loop on kept connections alone"
    if load.stages:
        return "keeps its number of connections, and has no stages"
    return "measures a time, and not a number of requests" if load.requests is not None else None
