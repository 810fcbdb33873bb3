"""Which servers two commits differ in, as one stack each: `stacks=[…]`, the matrix of a workflow.

A stack is the first variant of a server whose folder was touched and is still there. Lockstep changes of many servers are cut
off at `MOST`, since each comparison takes minutes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

MOST = 4


def stacks(root: Path, base: str, head: str) -> list[str]:
    """The stacks to be compared, in the order of their folders."""
    command = ["git", "-C", str(root), "diff", "--name-only", "-z", "--end-of-options", f"{base}...{head}", "--", "servers"]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\0")
    folders = sorted({Path(name).parts[1] for name in names if len(Path(name).parts) > 2})
    manifests = [root / "servers" / folder / "server.toml" for folder in folders]
    found = [f"{path.parent.name}:{_first_variant(path)}" for path in manifests if path.is_file() and _was(root, base, path)]
    if len(found) > MOST:
        sys.stderr.write(f"{len(found)} servers differ; the first {MOST} are compared: {', '.join(found[:MOST])}\n")
    return found[:MOST]


def _first_variant(manifest: Path) -> str:
    return next(iter(tomllib.loads(manifest.read_text())["variants"]))


def _was(root: Path, base: str, manifest: Path) -> bool:
    """Whether the base has the server, too: a new one has nothing to be held against."""
    name = f"{base}:{manifest.relative_to(root).as_posix()}"
    return subprocess.run(["git", "-C", str(root), "cat-file", "-e", name], capture_output=True).returncode == 0


if __name__ == "__main__":
    words = stacks(Path(os.environ["GITHUB_WORKSPACE"]), os.environ["BASE"], os.environ["HEAD"])
    with open(os.environ["GITHUB_OUTPUT"], "a") as outputs:
        outputs.write(f"stacks={json.dumps(words)}\n")
