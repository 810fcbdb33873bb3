"""Which stacks two commits differ in, and what each is asked: `stacks=[{"stack": …, "workload": …}]`, the matrix of a workflow.

What is changed in `documented/` or `published/` is held by the variants of that kind. What is changed elsewhere is held by
the first variant and the documented ones, which may share it. Each is asked `WORKLOAD`, or its contract's default where it has
none of that name. A server whose programs are not here is left out. Changes of many servers are cut off at `MOST`, since each
comparison takes minutes: every server has its first stack before any has a second.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

MOST = 4
KINDS = ("documented", "published")
STANDARD = "seeds"
"""The contract of a manifest that names none."""


def stacks(root: Path, base: str, head: str, workload: str) -> list[dict[str, str]]:
    """The stacks to be compared, and the workload of each: empty for the default of its contract."""
    command = ["git", "-C", str(root), "diff", "--name-only", "-z", "--end-of-options", f"{base}...{head}", "--", "servers"]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\0")
    changed: dict[str, list[Path]] = {}
    for path in (Path(name) for name in sorted(names) if len(Path(name).parts) > 2):
        changed.setdefault(path.parts[1], []).append(Path(*path.parts[2:]))
    found = []
    for server, paths in changed.items():
        manifest = root / "servers" / server / "server.toml"
        if not manifest.is_file():
            continue
        now, before = tomllib.loads(manifest.read_text()), _earlier(root, base, manifest)
        if lacking := [need[0] for need in now.get("needs", ()) if shutil.which(need[0]) is None]:
            sys.stderr.write(f"{server} is not compared: there is no `{lacking[0]}` here\n")
            continue
        chosen = [name for name in _variants(now["variants"], paths) if name in before]
        found += [(rank, f"{server}:{name}", _asked(root, now, workload)) for rank, name in enumerate(chosen)]
    found.sort(key=lambda one: one[0])
    if len(found) > MOST:
        first = ", ".join(stack for _, stack, _ in found[:MOST])
        sys.stderr.write(f"{len(found)} stacks differ; the first {MOST} are compared: {first}\n")
    return [{"stack": stack, "workload": asked} for _, stack, asked in found[:MOST]]


def _variants(variants: dict[str, Any], paths: list[Path]) -> list[str]:
    """The variants that hold these changed files of a server, the documented ones before the others."""
    kinds = {path.parts[0] if path.parts[0] in KINDS else "" for path in paths}
    shown = {"documented"} if "" in kinds else set()
    first = {next(iter(variants))} if "" in kinds else set()
    chosen = [name for name, one in variants.items() if name in first or one["approach"] in kinds | shown]
    return sorted(chosen, key=lambda name: variants[name]["approach"] != "documented")


def _asked(root: Path, manifest: dict[str, Any], workload: str) -> str:
    """The workload, if the server's contract has one of that name and the server serves it; else an empty word."""
    file = root / "contracts" / manifest.get("contract", STANDARD) / "workloads" / f"{workload}.toml"
    return workload if file.is_file() and workload not in manifest.get("skip", ()) else ""


def _earlier(root: Path, base: str, manifest: Path) -> dict[str, Any]:
    """The variants that the base has of a server; none of a new one, which has nothing to be held against."""
    name = f"{base}:{manifest.relative_to(root).as_posix()}"
    done = subprocess.run(["git", "-C", str(root), "show", "--end-of-options", name], capture_output=True, text=True)
    return dict(tomllib.loads(done.stdout)["variants"]) if done.returncode == 0 else {}


if __name__ == "__main__":
    words = stacks(Path(os.environ["GITHUB_WORKSPACE"]), os.environ["BASE"], os.environ["HEAD"], os.environ["WORKLOAD"])
    with open(os.environ["GITHUB_OUTPUT"], "a") as outputs:
        outputs.write(f"stacks={json.dumps(words)}\n")
