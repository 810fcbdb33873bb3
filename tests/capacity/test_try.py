"""`try` as a person uses it: a service that runs, one that is started for it, and what is left afterwards."""

from __future__ import annotations

import gzip
import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from builders import quiet
from builders.odd import answer, odd
from builders.paths import ROOT
from builders.service import served
from fairground import records
from fairground.capacity.service import address
from fairground.host import free_port, listens
from fairground.inputs import files
from fairground.lab import service
from fairground.model import LabError
from fairground.model.record import TryAsked

pytestmark = pytest.mark.live


def attempt(*words: str) -> subprocess.CompletedProcess[str]:
    """Run `try` with these words."""
    environment = os.environ | {"PYTHONPATH": quiet.PATH, "CI": "1", "NO_COLOR": "1"}
    return subprocess.run(
        [sys.executable, "-m", "fairground", "try", *words], env=environment, capture_output=True, text=True, timeout=120
    )


def test_a_service_that_runs(tmp_path: Path) -> None:
    """Checks, closed loops and a load curve of a service that is up; its process is found and metered; page and JSON are kept."""
    with served("null") as port:
        must = ("--at-least", "50", "--slo", "p50<2s,errors<50%")
        done = attempt(f"http://localhost:{port}/x?a=1", "--window", "1", *must, "--results", str(tmp_path), "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["schema"] == 1 and found["status"] == 200 and found["same_bodies"]
    # Beside other tests the service may stand still for want of a processor.
    assert {check["severity"] for check in found["checks"] if check["id"] != "stalls"} == {"note"}
    assert [one["connections"] for one in found["closed"]] == [1, 10, 100]
    assert all(one["goodput_per_s"] > 0 and one["not_ok"] == 0 and one["server_us_per_answer"] > 0 for one in found["closed"])
    rates = [one["rate_per_s"] for one in found["curve"]]
    assert len(set(rates)) == 8 and rates == sorted(rates), "a rate may be measured again"
    assert found["keeps_enough"] and rates.count(50) == 3
    kept = r"It keeps p50<2s,errors<50% at the 50 requests a second that are asked for, in (\d) of \1 measurements?"
    told = re.fullmatch(
        rf"{kept}(?:, and (\d) cannot be judged)?", found["sentences"][0]
    )  # by the machine's doing, which is no miss
    assert told is not None and int(told[1]) + int(told[2] or 0) == 3
    folder = Path(found["folder"])
    assert folder.parent == tmp_path and "<svg" in (folder / "try.html").read_text()
    assert json.loads((folder / "try.json").read_text())["sentences"] == found["sentences"]


@pytest.mark.nightly
def test_a_rate_that_it_must_serve(tmp_path: Path) -> None:
    """Each answer takes longer than the objective allows: no rate keeps it, and that is exit code 1."""
    with served("faulty", "--script", "[[rule]]\non = {every = 1}\noutcome = 'ok'\npieces = 2\ngap_ms = 100") as port:
        words = ("--at-least", "50", "--slo", "p50<50ms", "--window", "1", "--results", str(tmp_path), "--json")
        done = attempt(f"http://127.0.0.1:{port}/", *words)
    assert (done.returncode, json.loads(done.stdout)["keeps_enough"]) == (1, False), done.stdout


def test_a_service_that_is_started_for_it(tmp_path: Path) -> None:
    """A command is started, waited for, checked, and gone afterwards."""
    port = free_port()
    command = [sys.executable, str(ROOT / "examples" / "own-service" / "shop.py"), "--port", str(port)]
    asked = ("--url", f"http://127.0.0.1:{port}/", "--expect-status", "401", "--no-load")
    done = attempt(*asked, "--results", str(tmp_path), "--json", "--", *command)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["closed"] == [] and "that was started" in found["server"]
    assert not listens("127.0.0.1", port)


def test_broken_conduct_is_exit_code_one(tmp_path: Path) -> None:
    """A service that clients will break on ends with 1, and the summary names the check."""
    with served("faulty", "--script", "[[rule]]\non = {every = 2, from = 1}\nstatus = 404") as port:
        done = attempt(f"http://127.0.0.1:{port}/", "--no-load", "--results", str(tmp_path), "-q")
    assert done.returncode == 1 and done.stderr == ""
    assert "✗ status      the same request got the statuses 200, 404" in done.stdout


def test_errors_alone_are_not_loaded(tmp_path: Path) -> None:
    """A service that refuses everybody ends with 1 after the checks, and is told how to go on; one that is meant to is measured."""
    with odd(lambda *_: answer(401)) as port:
        done = attempt(f"http://127.0.0.1:{port}/", "--results", str(tmp_path))
        meant = attempt(f"http://127.0.0.1:{port}/", "--expect-status", "401", "--no-load", "--results", str(tmp_path))
    assert done.returncode == 1 and "every answer has status 401: it asks who you are" in done.stdout
    assert (
        "nothing was loaded, for no answer is good; if 401 is: --expect-status 401" in done.stdout
        and "closed loop" not in done.stderr
    )
    assert meant.returncode == 0, meant.stderr


@pytest.mark.nightly
def test_a_capacity_without_a_rate_is_a_bad_answer(tmp_path: Path) -> None:
    """No rate keeps the objective: that is exit code 1, as of a stack. The options of a service are those of `try`."""
    with served("faulty", "--script", "[[rule]]\non = {every = 1}\noutcome = 'ok'\npieces = 2\ngap_ms = 30") as port:
        environment = os.environ | {"PYTHONPATH": quiet.PATH, "CI": "1", "NO_COLOR": "1"}
        words = ("capacity", f"http://127.0.0.1:{port}/", "--slo", "p50<5ms", "--timeout-ms", "900", "--results", str(tmp_path))
        done = subprocess.run(
            [sys.executable, "-m", "fairground", *words], env=environment, capture_output=True, text=True, timeout=180
        )
    assert done.returncode == 1, done.stderr


def test_a_lie_in_a_compressed_body_is_found(tmp_path: Path) -> None:
    """One answer in ten holds something else, as gzip: the load finds it."""

    def lies(number: int, _: bytes) -> bytes:
        text = b"another" if number > 100 and number % 10 == 0 else b"the one"
        return answer(200, gzip.compress(text, mtime=number), "content-encoding: gzip")

    with odd(lies) as port:
        done = attempt(f"http://127.0.0.1:{port}/", "--window", "1", "--results", str(tmp_path))
    assert done.returncode == 1 and "wrong body" in done.stdout, done.stdout + done.stderr
    assert "are compared under load (as gzip: what they hold)" in done.stdout


def test_a_name_with_one_address_that_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name may have several addresses, and the service listens on one of them alone; IPv4 is asked first."""
    both = [(socket.AF_INET6, 1, 6, "", ("::1", 80, 0, 0)), (socket.AF_INET, 1, 6, "", ("127.0.0.1", 80))]
    with odd(lambda *_: answer(), "::1") as port:
        monkeypatch.setattr(address.socket, "getaddrinfo", lambda *_, **__: both)
        asked = TryAsked(f"http://name:{port}/", "GET", (), None, "p99<50ms", 1, 700, False, False, None)
        request = address.request(asked)
        monkeypatch.undo()
        there = service.answering_address(request)
    assert (request.host, request.others, request.patience_s) == ("127.0.0.1", ("::1",), 0.7)
    assert there is not None and (there.host, there.others) == ("::1", ("127.0.0.1",))
    assert service.answering_address(request) is None, "it has ended"


def test_few_open_files_are_told_with_what_helps(tmp_path: Path) -> None:
    """The hint names no option that `try` has not; the checks alone need few."""
    with odd(lambda *_: answer()) as port:
        words = f"exec {sys.executable} -m fairground try http://127.0.0.1:{port}/ --results {tmp_path}"
        environment = os.environ | {"PYTHONPATH": quiet.PATH, "CI": "1", "NO_COLOR": "1"}
        few = [
            subprocess.run(
                ["sh", "-c", f"ulimit -n {files}; {words} {more}"], env=environment, capture_output=True, text=True, timeout=60
            )
            for files, more in ((80, ""), (60, "--no-load"))
        ]
    assert few[0].returncode == 2 and "100 connections are more than can be opened" in few[0].stderr
    assert "ulimit -n 4096" in few[0].stderr and "--connections" not in few[0].stderr
    assert few[1].returncode == 0, few[1].stderr


def test_a_body_is_its_bytes(tmp_path: Path) -> None:
    """No line end of a file is changed; what is no text is refused with a sentence."""
    (tmp_path / "body").write_bytes(b"a\r\nb\n\r")
    assert files.text_of("--body", f"@{tmp_path / 'body'}") == "a\r\nb\n\r" and files.text_of("--body", "plain") == "plain"
    (tmp_path / "body").write_bytes(b"\xff")
    with pytest.raises(LabError, match="cannot be read"):
        files.text_of("--body", f"@{tmp_path / 'body'}")


def test_a_command_that_ends_is_a_finding(tmp_path: Path) -> None:
    """A command that ends before it listens has a record that says so, with exit code 1."""
    done = attempt("--url", f"http://127.0.0.1:{free_port()}/", "--results", str(tmp_path), "--", "false")
    assert done.returncode == 1 and "`false` ended with exit code 1" in done.stdout
    (folder,) = tmp_path.iterdir()
    record = records.load(folder)
    assert record.end is not None and [one.id for part in record.entries for one in part.findings] == ["server-exit"]
    assert "ended with exit code 1" in (folder / "try.html").read_text()


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    """A command is not started where something listens already: its answers would be taken for the command's."""
    with served("null") as port:
        done = attempt("--url", f"http://127.0.0.1:{port}/", "--results", str(tmp_path), "--", "true")
    assert done.returncode == 2 and f"something listens on port {port} already" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_scheme_is_guessed_and_said(tmp_path: Path) -> None:
    """`localhost:8000` is what people type: it is taken for http, and that is said."""
    with served("null") as port:
        done = attempt(f"localhost:{port}", "--no-load", "--results", str(tmp_path), "--json")
    assert done.returncode == 0, done.stderr
    assert f"`localhost:{port}` is taken for http://localhost:{port}/" in done.stderr
    assert json.loads(done.stdout)["url"] == f"http://localhost:{port}/"


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("localhost", "http://localhost/"),
        (":3000/x?a=1", "http://localhost:3000/x?a=1"),
        ("127.0.0.1/x", "http://127.0.0.1/x"),
        ("[::1]:80", "http://[::1]:80/"),
        ("my-host:80", "http://my-host:80/"),
        ("my-server", None),
        ("./my-server", None),
        ("/usr/bin/server:80", None),
        ("", None),
    ],
)
def test_what_is_taken_for_a_url(text: str, url: str | None) -> None:
    """Addresses without a scheme; a name alone or a path could be a program."""
    assert address.guess_url(text) == url
