"""`try --against` as a person uses it: two services in turns, one that is started for it, one that refuses, and tries compared."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from builders import quiet
from builders.odd import answer, odd
from builders.paths import ENGINE
from builders.service import served
from fairground.host import free_port, listens

pytestmark = pytest.mark.live

BRIEF = ("--connections", "4", "--budget", "8s")


def lab(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the lab with these words."""
    environment = os.environ | {"PYTHONPATH": quiet.PATH, "CI": "1", "NO_COLOR": "1"}
    return subprocess.run(
        [sys.executable, "-m", "fairground", *words], env=environment, capture_output=True, text=True, timeout=180
    )


def test_two_that_run(tmp_path: Path) -> None:
    """Both are loaded in turns; the record is a comparison, with its page."""
    with served("null") as a, served("null") as b:
        done = lab("try", f"http://127.0.0.1:{a}/x?q=1", "--against", f"http://127.0.0.1:{b}", *BRIEF, "--results", str(tmp_path),
                   "--markdown", str(tmp_path / "summary.md"), "--json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert f"B is asked what A is asked: http://127.0.0.1:{b}/x?q=1" in done.stderr
    found = json.loads(done.stdout)
    assert [line["quantity"] for line in found["lines"]] == ["goodput", "server CPU"]
    assert all(line["a"] > 0 and line["b"] > 0 for line in found["lines"])
    page = (Path(found["folder"]) / "compare.html").read_text()
    assert f"http://127.0.0.1:{b}/x?q=1" in page and "PostgreSQL" not in page
    assert "A is `http" in (tmp_path / "summary.md").read_text()
    again = lab("report", found["folder"], "--results", str(tmp_path))
    assert again.returncode == 0, again.stderr


@pytest.mark.nightly
def test_two_that_are_started(tmp_path: Path) -> None:
    """Each start of the comparison starts both anew, and nothing is left."""
    ports = free_port(), free_port()
    one, other = (f"sleep 60 | {shlex.quote(str(ENGINE))} null --port {port}" for port in ports)
    done = lab("try", "--url", f"http://127.0.0.1:{ports[0]}/", "--against", f"http://127.0.0.1:{ports[1]}/",
               "--against-command", f"sh -c {shlex.quote(other)}", "--connections", "4", "--budget", "50s",
               "--results", str(tmp_path), "--", "sh", "-c", one)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "starts of both services" in done.stdout
    assert not any(listens("127.0.0.1", port) for port in ports)


@pytest.mark.parametrize(("status", "code", "hint"), [(401, 2, "--header 'Authorization: …'"), (500, 1, "the service's log")])
def test_errors_are_not_compared(tmp_path: Path, status: int, code: int, hint: str) -> None:
    """A side that refuses everybody ends it with 2 and what to give, one that fails with 1; no record is left."""
    with served("null") as a, odd(lambda *_: answer(status)) as b:
        done = lab("try", f"http://127.0.0.1:{a}/", "--against", f"http://127.0.0.1:{b}/", *BRIEF, "--results", str(tmp_path))
    assert done.returncode == code and f"answers with status {status}: there is nothing to compare" in done.stderr
    assert hint in done.stderr and f"--expect-status {status}" in done.stderr and not list(tmp_path.iterdir())


@pytest.mark.nightly
def test_tries_are_compared(tmp_path: Path) -> None:
    """Two records of `try` have their ratio; a URL is sent to the verb that takes it."""
    with served("null") as port:
        for _ in range(2):
            assert lab("try", f"http://127.0.0.1:{port}/", "--window", "1", "--results", str(tmp_path), "-q").returncode == 0
    a, b = sorted(path.name for path in tmp_path.iterdir())
    done = lab("compare", a, b, "--results", str(tmp_path))
    assert done.returncode == 0 and "without an interval" in done.stdout and "try URL --against URL_B" in done.stdout
    twice = lab("compare", a, a, "--results", str(tmp_path))
    assert twice.returncode == 2 and "named twice" in twice.stderr
    assert "try URL_A --against URL_B" in lab("compare", "http://127.0.0.1:1/", "http://127.0.0.1:2/").stderr


def test_more_connections_than_can_be_held_are_refused(tmp_path: Path) -> None:
    """Two bodies of 3 MB on each of a hundred connections are too much for the load engine, and no fault of the service."""
    with odd(lambda *_: answer(200, b"x" * 3_000_000)) as a:
        at = f"http://127.0.0.1:{a}/"
        done = lab("try", at, "--against", at + "?b", "--connections", "100", "--budget", "8s", "--results", str(tmp_path))
    assert (
        done.returncode == 2 and "gives answers of 3.0 MB, and the load engine cannot hold them on 100 connections" in done.stderr
    )
    assert "--connections 44 at most" in done.stderr and not list(tmp_path.iterdir())
