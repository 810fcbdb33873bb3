"""The lab behind the pages: what goes on as it is known from processes and files, whoever was killed."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from builders.stored import new, trial
from builders.waiting import eventually
from fairground import records
from fairground.lab.places import Places
from fairground.model import LabError
from fairground.serve import app, job
from fairground.serve.app import Lab
from fairground.serve.job import CHILD, JobProcess

WAITS = "import time, sys; print('begun', file=sys.stderr, flush=True); time.sleep(60)"


@pytest.fixture
def labs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Labs of a folder of results, whose jobs are a program of the test's; all are ended."""
    made = list[Lab]()
    popen = subprocess.Popen

    def of_test(words: Sequence[str], **settings: Any) -> Any:
        program = "pass" if "report" in words else WAITS
        return popen((sys.executable, "-c", program, *words[1:]), **settings)

    def make() -> Lab:
        made.append(Lab(Places(results=tmp_path, environ=dict(os.environ)), tmp_path / ".site"))
        return made[-1]

    monkeypatch.setattr(job.subprocess, "Popen", of_test)
    yield make
    for one in made:
        one.close()


@pytest.mark.parametrize("ahead_s", [-1, 0, 60, 10**9])
def test_a_record_that_nobody_measures_into_keeps_nobody_from_measuring(ahead_s: float, tmp_path: Path, labs: Any) -> None:
    """Interrupted a moment ago, copied in, or of another clock. One that is measured into does, whoever began it."""
    folder = new(tmp_path)
    records.append_trial(folder, trial(1))
    at = time.time() + ahead_s
    os.utime(folder / "entries.jsonl", (at, at))
    lab = labs()
    lab.begin(("run",))
    lab.stop()
    assert eventually(lambda: not lab.state()["here"])
    assert not lab.state()["goes_on"]
    with records.hold_record(folder):
        assert lab.state()["goes_on"]
        with pytest.raises(LabError, match="goes on"):
            lab.begin(("run",))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_job_that_was_killed_keeps_nobody_from_measuring(number: int, tmp_path: Path, labs: Any) -> None:
    """What it wrote last was recent, and it is over all the same: the page offers to begin, and one may."""
    lab = labs()
    lab.begin(("compare",))
    records.append_trial(new(tmp_path), trial(1))
    assert lab.state()["goes_on"]
    os.kill(lab._job.process.pid, number)
    assert eventually(lambda: lab.state()["job"]["code"] is not None)
    lab.begin(("compare",))
    assert lab.state()["here"]


def test_a_lab_that_comes_later_knows_what_was_begun(tmp_path: Path, labs: Any) -> None:
    """Of one that was killed: it is shown, nothing is begun beside it, and it can be stopped from there."""
    orphan = subprocess.Popen((sys.executable, "-c", "import time; time.sleep(60)", CHILD))
    JobProcess(orphan.pid, job.process.look(orphan.pid).began_ticks).write(tmp_path / records.SERVE_WORD)  # type: ignore[union-attr]
    lab = labs()
    assert lab.state()["here"] and lab.state()["goes_on"]
    with pytest.raises(LabError, match="goes on"):
        lab.begin(("run",))
    lab.stop()
    assert orphan.wait(20) != 0
    lab.begin(("run",))


def test_a_state_is_of_one_look(tmp_path: Path, labs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The drawer looks anew at any time: what another server began may be gone a moment after it was there."""
    lab, looks = labs(), itertools.cycle([JobProcess(1, 1), None])
    lab._closed.set()
    lab._drawer.join()
    monkeypatch.setattr(Lab, "_before", property(lambda _: next(looks), lambda *_: None), raising=False)
    assert [lab.state()["here"] for _ in range(2)] == [False, False]


def test_a_lab_beside_this_one_is_known(tmp_path: Path, labs: Any) -> None:
    """What it began builds at first, and has no record yet: nothing is begun beside that. Its word outlives this lab."""
    lab = labs()
    lab.begin(("run",))
    lab.stop()
    assert eventually(lambda: not lab.state()["here"])
    other = subprocess.Popen((sys.executable, "-c", "import time; time.sleep(60)", CHILD))
    try:
        found = JobProcess(other.pid, job.process.look(other.pid).began_ticks)  # type: ignore[union-attr]
        found.write(tmp_path / records.SERVE_WORD)
        with pytest.raises(LabError, match="goes on"):
            lab.begin(("run",))
        assert lab.state()["here"]
        lab.close()
        assert JobProcess.read(tmp_path / records.SERVE_WORD) == found
    finally:
        other.kill()
        other.wait(20)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"pid": 1, "began_ticks": 1}', '{"pid": "x", "began_ticks": 0}', "[" * 100_000, "own"]
)
def test_word_of_no_job_is_nothing(text: str, tmp_path: Path, labs: Any) -> None:
    """Damaged, of another process of that number, or of one that is no job: nothing is stopped, and one may begin."""
    mine = job.process.look(os.getpid())
    assert mine is not None
    own = json.dumps({"pid": os.getpid(), "began_ticks": mine.began_ticks})
    (tmp_path / records.SERVE_WORD).write_text(own if text == "own" else text)
    lab = labs()
    assert not lab.state()["here"]
    lab.stop()
    lab.begin(("run",))


def test_looking_for_new_pages_survives_whatever_is_wrong(monkeypatch: pytest.MonkeyPatch, labs: Any) -> None:
    """The drawing thread tells it, and draws once it can."""
    monkeypatch.setattr(app, "LOOK_S", 0.01)
    looked = list[str]()

    def stamp(_results: Path) -> object:
        looked.append("")
        raise [FileNotFoundError("gone"), PermissionError("closed"), RuntimeError("odd")][len(looked) % 3]

    honest = app._stamp
    monkeypatch.setattr(app, "_stamp", stamp)
    lab = labs()
    assert eventually(lambda: len(looked) > 6)
    assert lab._drawer.is_alive() and "pages are not written" in lab.state()["trouble"]
    monkeypatch.setattr(app, "_stamp", honest)
    assert eventually(lambda: lab._pages is not None and not lab.state()["trouble"])


def test_a_command_of_thousands_of_parts_is_shown(tmp_path: Path, labs: Any) -> None:
    """A made-up head is read to its end, and the lab lives on."""
    folder = new(tmp_path)
    head = json.loads((folder / "head.json").read_text())
    (folder / "head.json").write_text(json.dumps(head | {"command": f"./fairground run {'a=' * 2000}"}))
    assert labs().state()["run"]["run"] == folder.name


def test_whatever_is_wrong_with_a_record_the_lab_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, labs: Any) -> None:
    """An error that nobody foresaw, while it is read and while it is drawn: no run is shown, or no picture, and why is said."""

    def fail(*_: object) -> None:
        raise RuntimeError("odd")

    new(tmp_path)
    lab = labs()
    with monkeypatch.context() as patch:
        patch.setattr(app.RunPicture, "follow", fail)
        drawn = lab.state()
        assert drawn["run"] is not None and "(RuntimeError: odd)" in drawn["trouble"]
    assert "odd" not in lab.state()["trouble"]
    monkeypatch.setattr(app.RunWatch, "state", fail)
    read = lab.state()
    assert read["run"] is None and "(RuntimeError: odd)" in read["trouble"]


def test_a_folder_may_go_while_it_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between its name and its time; the others are seen."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    stat = Path.stat

    def of_b_fails(path: Path, **words: Any) -> os.stat_result:
        if path.name == "b":
            raise FileNotFoundError(2, "gone", str(path))
        return stat(path, **words)

    monkeypatch.setattr(Path, "stat", of_b_fails)
    assert [name for name, _ in app._stamp(tmp_path)] == ["a"]  # type: ignore[attr-defined]


@pytest.mark.live
def test_a_job_ends_with_the_server_that_was_killed(tmp_path: Path) -> None:
    """The real child of a server that got `kill -9`: interrupted, as by Ctrl-C. A server that lives is its twin."""
    (tmp_path / "fairground_stub.py").write_text("")
    program = (
        "import runpy, sys\n"
        "sys.argv = ['child', sys.argv[1]]\n"
        "def stub(*_, **__):\n import time\n"
        " try:\n  print('begun', flush=True)\n  time.sleep(60)\n except KeyboardInterrupt:\n  print('interrupted', flush=True)\n"
        "runpy.run_module = stub\n"
        "from fairground.serve import child\nchild.main()\n"
    )
    server = (
        "import os, subprocess, sys, time\n"
        "subprocess.Popen((sys.executable, '-c', sys.argv[1], str(os.getpid())), stdout=1)\ntime.sleep(60)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    one = subprocess.Popen((sys.executable, "-c", server, program), stdout=subprocess.PIPE, text=True, env=environment)
    assert one.stdout is not None and one.stdout.readline() == "begun\n"
    one.kill()
    assert one.stdout.read() == "interrupted\n"
    one.wait(20)


@pytest.mark.parametrize("what", ["link", "dangling link", "file", "somebody's folder"])
def test_a_site_that_is_none_is_refused(what: str, tmp_path: Path) -> None:
    """A link is not followed, be it of a folder with a site in it; a folder of something else is not served."""
    site, other = tmp_path / "results" / ".site", tmp_path / "other"
    site.parent.mkdir()
    (other / "hostname").parent.mkdir()
    (other / "hostname").write_text("secret")
    (other / ".fairground-site").touch()
    match what:
        case "link":
            site.symlink_to(other)
        case "dangling link":
            site.symlink_to(tmp_path / "nowhere")
        case "file":
            site.touch()
        case _:
            (other / ".fairground-site").unlink()
            other.rename(site)
    with pytest.raises(LabError):
        app.application(Places(results=site.parent, environ=dict(os.environ)), site, "token", ("127.0.0.1:1",))
