"""The lab in a browser, for real: a page that begins a measurement, shows it, and leads to its pages; and what it refuses."""

from __future__ import annotations

import http.client
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from builders import quiet
from builders.paths import ROOT, TESTS
from builders.waiting import eventually
from fairground.report import frame
from fairground.report.run import page
from report.browser import Browser, chromium

pytestmark = pytest.mark.live


@dataclass(frozen=True)
class Served:
    """A lab that is served: where, its token, its results, and the process."""

    port: int
    token: str
    results: Path
    process: subprocess.Popen[str]

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    def ask(self, method: str, path: str, body: str = "", **headers: str) -> tuple[int, str]:
        """Status and text of an answer to one who has the cookie, unless `headers` say otherwise."""
        own = f"http://127.0.0.1:{self.port}"
        told = {"cookie": f"fairground-{self.port}={self.token}"} | ({"origin": own} if method == "POST" else {}) | headers
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body, told)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()


@pytest.fixture(scope="module")
def served(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The lab of the zoo's servers, at a free port."""
    results = tmp_path_factory.mktemp("served")
    environ = {**quiet.environment(cache), "FAIRGROUND_AWAKE": "no"}
    words = ("serve", "--port", "0", "--json", "--servers", str(TESTS / "zoo"), "--results", str(results))
    process = subprocess.Popen(
        (sys.executable, "-m", "fairground", *words), cwd=ROOT, env=environ, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    text = ""
    while "}" not in text:
        line = process.stdout.readline()
        assert line, "the server of pages has ended"
        text += line
    found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?token=([\w-]+)", json.loads(text)["address"])
    assert found is not None
    yield Served(int(found[1]), found[2], results, process)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) in (0, 130, -signal.SIGINT)


def test_strangers_are_refused(served: Served) -> None:
    """No token, a foreign Host or Origin, and ways out of the site get nothing of it."""
    assert served.ask("GET", "/", cookie="")[0] == 403
    assert served.ask("GET", "/", host="evil.example")[0] == 403
    assert served.ask("POST", "/stop", "{}", origin="http://evil.example")[0] == 403
    for path in ("/site/../../README.md", "/site/%2e%2e/%2e%2e/etc/passwd", "/site//etc/passwd", "/site/..%2f..%2fREADME.md"):
        assert served.ask("GET", path)[0] in (404, 405), path


def test_the_script_of_each_kind_of_page_may_run(served: Served) -> None:
    """The policy names the scripts of a run's page, of the other records' pages, of the site and of the lab."""
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=30)
    connection.request("GET", "/", headers={"cookie": f"fairground-{served.port}={served.token}"})
    policy = connection.getresponse().getheader("content-security-policy") or ""
    connection.close()
    for names in (page.SCRIPTS, frame.FRAMED_SCRIPTS, ("site.js",), ("live.js",)):
        assert f"'sha256-{frame.script_of(*names)[1]}'" in policy, names


def test_wrong_wishes_get_a_sentence(served: Served) -> None:
    """What is no JSON, no object, too long, or unknown is refused with words, and nothing is started."""
    for body, status, words in (
        ("{", 422, "not JSON"),
        ("[]", 422, "not a JSON object"),
        (json.dumps({"verb": "run", "stacks": ["--help"], "workloads": ["ping"]}), 422, "not among the stacks"),
        ("x" * 100_000, 413, "longer"),
        ("[" * 50_000, 400, "not JSON"),
        ('{"verb": ' + "9" * 5_000 + "}", 400, "not JSON"),
        (r'{"verb": "\ud800"}', 400, "not JSON"),
    ):
        found, text = served.ask("POST", "/begin", body)
        assert found == status and words in json.loads(text)["error"]
    assert list(served.results.glob("*/head.json")) == []


@pytest.mark.skipif(chromium() is None, reason="no chromium on this machine: apt-get install chromium")
def test_a_measurement_by_clicks(served: Served) -> None:
    """Stack and workload are picked and measured; its cell fills, the page says how it ended, and its report is in the site."""
    program = chromium()
    assert program is not None
    before = _begun(served)
    with Browser(program) as browser:
        browser.open(served.address, width_px=1280, height_px=900)
        assert "token" not in browser.evaluate("location.href")
        pick = "for (const one of document.querySelector('#run [name={}]').options) one.selected = one.value === '{}'"
        browser.evaluate(pick.format("stacks", "healthy:asyncio"))
        browser.evaluate(pick.format("workloads", "ping"))
        for name, value in (("blocks", 1), ("window", 1), ("connections", 8)):
            browser.evaluate(f"document.querySelector('#run [name={name}]').value = {value}")
        browser.evaluate("document.querySelector('#run [data-verb=run]').click()")
        assert eventually(lambda: browser.evaluate("!document.getElementById('stop').hidden"), 30)
        second = served.ask("POST", "/begin", json.dumps({"verb": "suite", "suites": "demo"}))
        assert second[0] == 422 and "two would disturb" in second[1]
        assert eventually(lambda: any((one.parent / "report.html").exists() for one in _begun(served) - before), 120)
        assert eventually(lambda: browser.evaluate("document.querySelectorAll('#picture #grid td.number').length") == 1, 30)
        title = "document.getElementById('title').textContent"
        assert eventually(lambda: browser.evaluate(title).startswith("It ended"), 60)
        (folder,) = (path.parent for path in _begun(served) - before)
        assert browser.evaluate(title) == "It ended well."
        assert browser.evaluate("document.querySelectorAll('#picture figure.rates li').length") == 1
        assert eventually(lambda: served.ask("GET", f"/site/{folder.name}/report.html")[0] == 200, 60)
        assert eventually(lambda: browser.evaluate("document.getElementById('open').offsetParent !== null"), 30)
        assert browser.evaluate("document.getElementById('open').href").endswith(f"/site/{folder.name}/report.html")

        def is_listed() -> bool:
            browser.open(f"http://127.0.0.1:{served.port}/site/index.html")
            return bool(browser.evaluate("document.querySelector('tbody a') !== null"))

        assert eventually(is_listed, 60)
        browser.evaluate("document.querySelector('tbody a').click()")
        assert eventually(lambda: browser.evaluate("document.querySelectorAll('#grid tbody tr').length") == 1, 30)
        assert browser.named("Log.entryAdded") == []


def test_a_comparison_can_be_stopped(served: Served) -> None:
    """While it goes on there is a button; stopped, the page says so and shows no other record's name."""
    program = chromium()
    assert program is not None
    with Browser(program) as browser:
        browser.open(served.address, width_px=1280, height_px=900)
        stacks = "document.querySelector('#run [name=stacks]').options"
        browser.evaluate(f"for (const one of {stacks}) one.selected = ['healthy:asyncio', 'padded:asyncio'].includes(one.value)")
        browser.evaluate("document.querySelector('#run [name=workloads]').value = 'ping'")
        browser.evaluate("document.querySelector('#run [name=connections]').value = 8")
        assert browser.evaluate("document.querySelectorAll('#run [name=stacks] option:checked').length") == 2
        browser.evaluate("document.querySelector('#run [data-verb=compare]').click()")
        assert eventually(lambda: browser.evaluate("document.getElementById('stop').offsetParent !== null"), 30)
        assert browser.evaluate("document.getElementById('bar').hidden")
        browser.evaluate("document.getElementById('stop').click()")
        assert eventually(
            lambda: browser.evaluate("document.getElementById('title').textContent").startswith("It was stopped"), 60
        )
        assert "./fairground compare" in browser.evaluate("document.getElementById('command').textContent")


def test_a_stopped_measurement_is_kept(served: Served) -> None:
    """Stopped in its first window it ends as by Ctrl-C, and its record is there to go on with."""
    wish = {"verb": "run", "stacks": ["healthy:asyncio"], "workloads": ["ping"], "blocks": 5, "window": 60, "connections": 8}
    before = _begun(served)
    assert eventually(lambda: served.ask("POST", "/begin", json.dumps(wish))[0] == 200, 60)
    assert eventually(lambda: _begun(served) - before != set(), 60)
    assert served.ask("POST", "/stop", "{}")[0] == 200
    assert eventually(lambda: served.ask("POST", "/begin", "[]")[0] == 422, 5)
    (made,) = _begun(served) - before
    assert eventually(lambda: not _goes_on(served), 60)
    assert (made.parent / "entries.jsonl").exists()


def _begun(served: Served) -> set[Path]:
    """The plans of all runs so far."""
    return set(served.results.glob("*/head.json"))


def _goes_on(served: Served) -> bool:
    """What the first event of a browser that watches says."""
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=30)
    try:
        connection.request("GET", "/events", headers={"cookie": f"fairground-{served.port}={served.token}"})
        line = connection.getresponse().readline().decode()
        return bool(json.loads(line.removeprefix("data: "))["here"])
    finally:
        connection.close()
