"""A stack as it is in a revision of git: checked out into a worktree of its own, kept by commit so that it is built once."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from fairground.inputs import manifest
from fairground.model import LabError, Stack
from fairground.model.contract import Contract

FOLDER = "revisions"
"""The folder of the worktrees in the cache. One that was removed is forgotten by git when the next is made."""
WORKING_TREE = "."
"""The name of what is not committed."""


def parse(text: str) -> tuple[str, str]:
    """`OLD,NEW` as two revisions. LabError for anything else."""
    old, _, new = text.partition(",")
    if not old or not new:
        raise LabError(f"`--revisions {text}` should be two revisions", "for instance --revisions main,.")
    if old == new:
        raise LabError(f"`--revisions {text}` names one revision twice", "for instance --revisions HEAD~1,HEAD")
    return old, new


def checked_out(cache: Path, contracts: Mapping[str, Contract], revision: str, stack: Stack) -> Stack:
    """The stack as it is in a revision. LabError where there is no such revision, or no such stack in it."""
    if revision == WORKING_TREE:
        return stack
    servers = stack.server.folder.parent
    commit = _git(servers, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    if commit is None:
        raise LabError(f"`{revision}` is not a revision of this checkout", "`git log --oneline` shows some")
    top = Path(_git(servers, "rev-parse", "--show-toplevel") or servers)
    tree = cache / FOLDER / commit[:12]
    if not tree.exists():
        _git(servers, "worktree", "prune")
        if _git(servers, "worktree", "add", "--detach", str(tree), commit) is None:
            raise LabError(f"git could not check out `{revision}` in {tree}", "remove the folder, and try again", exit_code=3)
    there = manifest.load_servers(tree / servers.resolve().relative_to(top.resolve()), contracts, of_past=True)
    found = [one for server in there for one in server.stacks if one.id == stack.id]
    if not found:
        raise LabError(f"the revision `{revision}` has no stack `{stack.id}`", f"it has: {', '.join(one.id for one in there)}")
    return found[0]


def commit_of(folder: Path) -> str | None:
    """The commit of what a folder holds, shortened, with a `+` where it holds changes; None where it is in no checkout."""
    commit = _git(folder, "rev-parse", "--short=12", "HEAD")
    return commit and commit + "+" * bool(_git(folder, "status", "--porcelain", "--", "."))


def _git(folder: Path, *words: str) -> str | None:
    """Return what git prints, or None where it fails."""
    done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, encoding="utf-8", errors="replace")
    return done.stdout.strip() if done.returncode == 0 else None
