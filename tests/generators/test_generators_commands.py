"""Load generators from elsewhere: the commands that start them, the files that these name, and what they are refused."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders.jobs import WORKLOADS, job
from builders.requests import asking
from fairground import generators
from fairground.generators.slots import Templates
from fairground.model import Cell, CellSettings, LabError, Load, Topology

COMMANDS = [
    ("wrk", {}, "-t 1 -c 4 -d 1s --timeout 1s -s requests.lua -H accept: application/json http://127.0.0.1:17123/ping"),
    ("wrk", {"threads": 2, "keep_alive": False, "window_s": 10.0},
     "-t 2 -c 4 -d 10s --timeout 1s -s requests.lua -H accept: application/json -H Connection: close http://127.0.0.1:17123/ping"),
    ("ab", {}, "-q -r -l -c 4 -s 1 -t 1 -n 400000 -k -H accept: application/json -e percentiles.csv http://127.0.0.1:17123/ping"),
    ("ab", {"requests": 1000, "connections": 128, "keep_alive": False},
     "-q -r -l -c 128 -s 1 -n 1000 -H accept: application/json -e percentiles.csv http://127.0.0.1:17123/ping"),
    ("hey", {"window_s": 1.5},
     "-c 4 -t 1 -m GET -z 1.5s -disable-redirects -H accept: application/json http://127.0.0.1:17123/ping"),
    ("hey", {"requests": 1000, "keep_alive": False},
     "-c 4 -t 1 -m GET -n 1000 -disable-redirects -disable-keepalive -H accept: application/json http://127.0.0.1:17123/ping"),
    ("oha", {"window_s": 0.5},
     "--no-tui --output-format json --worker-threads 1 -c 4 -z 0.5s -w -t 1000ms -m GET --redirect 0"
     " -H accept: application/json http://127.0.0.1:17123/ping"),
    ("oha", {"rate_per_s": 300.0, "model": "open", "arrivals": "constant", "keep_alive": False, "threads": 2},
     "--no-tui --output-format json --worker-threads 2 -c 4 -z 1s -w -t 1000ms -m GET --redirect 0 -q 300"
     " --latency-correction --disable-keepalive -H accept: application/json http://127.0.0.1:17123/ping"),
    ("k6", {}, "run --quiet --no-color --no-usage-report --address  requests.js"),
    ("vegeta", {"rate_per_s": 2.5, "model": "open", "arrivals": "constant"},
     "attack -format=json -targets=targets.jsonl -rate=2500/1000s -duration=1s -workers=4 -max-workers=4 -connections=4"
     " -timeout=1000ms -max-body=0 -http2=false -redirects=-1 -output=results.bin"),
    ("vegeta", {"keep_alive": False},
     "attack -format=json -targets=targets.jsonl -rate=0 -duration=1s -workers=4 -max-workers=4 -connections=4"
     " -timeout=1000ms -max-body=0 -http2=false -redirects=-1 -keepalive=false -output=results.bin"),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "load", "words"), COMMANDS)
def test_commands(tool: str, load: dict[str, Any], words: str, tmp_path: Path) -> None:
    """The exact words that each tool is started with."""
    assert " ".join(generators.TOOLS[tool].command(job(folder=tmp_path, **load))) == words


@pytest.mark.parametrize("tool", list(generators.TOOLS))
def test_files_of_a_command_are_written(tool: str, tmp_path: Path) -> None:
    """Every file that a command names is there when the tool starts, and its body goes with it."""
    for workload in ("lookup", "ping"):
        load = job(workload, tmp_path)
        if generators.TOOLS[tool].refusal(load.load, load.workload) is None:
            words = generators.TOOLS[tool].command(load)
            named = [word for word in words if word in ("requests.lua", "requests.js", "body", "bodies", "addresses")]
            assert all((tmp_path / name).stat().st_size for name in named)


def test_k6_script_says_the_load(tmp_path: Path) -> None:
    """Virtual users, an even rate or a number of iterations; keep-alive and the timeout as asked."""
    from fairground.generators.k6 import _options  # what the script holds as JSON

    def scenario(**load: Any) -> Any:
        return _options(job(folder=tmp_path, **load))["scenarios"]["load"]  # type: ignore[index]

    assert scenario() == {"executor": "constant-vus", "vus": 4, "duration": "1s", "gracefulStop": "2s"}
    assert scenario(requests=50)["iterations"] == 50 and scenario(requests=50)["executor"] == "shared-iterations"
    evenly = scenario(rate_per_s=2.5, model="open", arrivals="constant")
    assert (evenly["executor"], evenly["rate"], evenly["timeUnit"]) == ("constant-arrival-rate", 2500, "1000s")
    assert _options(job(keep_alive=False))["noConnectionReuse"] is True


def test_k6_ramps_through_the_stages_of_a_load(tmp_path: Path) -> None:
    """The script as k6 gets it: users to begin with, and those that each stage ends with; its warm-up has no stages."""
    from fairground.generators.k6 import _options

    ramp = job(folder=tmp_path, stages=((20.0, 150), (10.5, 0)), window_s=30.5)
    generators.TOOLS["k6"].command(ramp)
    told = (tmp_path / "requests.js").read_text().split("export const options = ")[1].split(";\n")[0]
    assert json.loads(told)["scenarios"]["load"] == {
        "executor": "ramping-vus",
        "startVUs": 4,
        "stages": [{"duration": "20s", "target": 150}, {"duration": "10.5s", "target": 0}],
        "gracefulRampDown": "2s",
        "gracefulStop": "2s",
    }
    warming: Any = _options(replace(ramp, stages=(), seconds=2.0))
    assert warming["scenarios"]["load"]["executor"] == "constant-vus" and warming["scenarios"]["load"]["vus"] == 4


@pytest.mark.parametrize("name", ["engine", *(one for one in generators.TOOLS if one != "k6")])
def test_others_refuse_stages(name: str) -> None:
    """A generator that keeps its connections is refused before anything is started."""
    load = Load(connections=4, stages=((20.0, 150),), window_s=20.0, timeout_ms=1000, generator=name)
    cell = Cell("a:x", "ping", Topology(), load, CellSettings())
    with pytest.raises(LabError, match="keeps its number of connections, and has no stages"):
        generators.check([cell], WORKLOADS)


def test_k6_sleeps_where_the_load_pauses(tmp_path: Path) -> None:
    """Each virtual user sleeps after its answer for as long as the load says, in seconds; without a pause the script has no sleep."""
    for load, sleeps in (({"think_ms": 5.0}, True), ({}, False)):
        generators.TOOLS["k6"].command(job(folder=tmp_path, **load))
        script = (tmp_path / "requests.js").read_text()
        assert ("failed[1000]).add(1);\n  sleep(0.005);\n}" in script) is sleeps is ("sleep(" in script)


def test_vegeta_targets_carry_bodies(tmp_path: Path) -> None:
    """Each target is a line of JSON with its method, address, headers and body; the same seed gives the same targets."""
    generators.TOOLS["vegeta"].command(job("lookup", tmp_path))
    lines = (tmp_path / "targets.jsonl").read_text().splitlines()
    first = json.loads(lines[0])
    assert len(lines) == 20_000 and len(set(lines)) > 5_000
    assert (first["method"], first["url"]) == ("POST", "http://127.0.0.1:17123/lookup")
    assert first["header"]["content-type"] == ["application/json"]
    assert 100_000_001 <= int(json.loads(base64.b64decode(first["body"]))["account_id"]) <= 100_010_000
    generators.TOOLS["vegeta"].command(job("lookup", tmp_path))
    assert (tmp_path / "targets.jsonl").read_text().splitlines() == lines


# ---------------------------------------------------------------- refusals

OPEN = {"model": "open", "rate_per_s": 100.0, "arrivals": "constant"}
REFUSALS = [
    ("engine", "ping", {"requests": 100}, "measures a time, and not a number of requests"),
    ("wrk", "ping", OPEN, "cannot keep a rate of arrivals"),
    ("wrk", "ping", {"requests": 100}, "measures a time, and not a number of requests"),
    ("wrk", "ping", {"window_s": 1.5}, "measures whole seconds"),
    ("wrk", "ping", {"timeout_ms": 1500}, "waits whole seconds for an answer"),
    ("wrk", "ping", {"threads": 3}, "would open fewer connections than asked: 4 cannot be shared out among 3 threads"),
    ("ab", "ping", OPEN, "cannot keep a rate of arrivals"),
    *(
        (name, "ping", {"think_ms": 1.0}, "cannot pause between an answer and the next request")
        for name in ("wrk", "ab", "hey", "vegeta", "oha")
    ),
    ("ab", "transfer", {}, "sends one and the same request all the time"),
    ("ab", "lookup", {}, "sends one and the same request all the time"),
    ("ab", "ping", {"threads": 2}, "cannot be told how many threads to use"),
    ("ab", "ping", {"requests": 3}, "needs at least as many requests as connections (4)"),
    ("hey", "tx", {}, "sends one and the same request all the time"),
    ("hey", "ping", OPEN, "cannot keep a rate of arrivals"),
    ("hey", "ping", {"requests": 102}, "sends the same number on each connection, and 102 requests do not divide by 4"),
    ("hey", "ping", {"timeout_ms": 1500}, "waits whole seconds for an answer"),
    ("k6", "ping", OPEN | {"arrivals": "poisson"}, "spaces its arrivals evenly, and not `poisson`"),
    ("vegeta", "ping", {"requests": 100}, "measures a time, and not a number of requests"),
    ("oha", "ping", {"threads": 5}, "cannot share 4 connections among 5 threads"),
]


def cell(generator: str, workload: str, load: dict[str, Any]) -> Cell:
    """A cell of four connections under a generator."""
    shape = Load(**({"connections": 4, "window_s": 1.0, "timeout_ms": 1000, "generator": generator} | load))
    return Cell("server:variant", workload, Topology(), shape, CellSettings())


SECRET_REQUESTS = [
    {"headers": (("Authorization", "Bearer S3cr3t-1"), ("accept", "text/html"))},
    {"headers": (("X-Api-Key", "S3cr3t-1"),)},
    {"path": "/ping?token=S3cr3t-1"},
]


@pytest.mark.parametrize("differs", SECRET_REQUESTS)
def test_no_secret_of_a_request_is_in_a_tools_words(differs: dict[str, Any], tmp_path: Path) -> None:
    """A tool reads it from a file, or refuses: the process list shows words to everybody. An honest header is no matter."""
    secret, honest = asking(WORKLOADS["ping"], **differs), asking(WORKLOADS["ping"], headers=(("X-Request-Id", "abc"),))
    for name, tool in generators.TOOLS.items():
        asked = replace(job(folder=tmp_path), workload=secret, templates=Templates.of(secret.first))
        if tool.refusal(asked.load, secret) is None:
            words = tool.command(asked)
            assert "S3cr3t-1" not in " ".join(words), name
            assert any("S3cr3t-1" in path.read_text() for path in tmp_path.iterdir()), "it is sent all the same"
        else:
            assert "a secret in them would be in the process list" in str(tool.refusal(asked.load, secret)), name
        assert tool.refusal(asked.load, honest) is None, name
        for path in tmp_path.iterdir():
            path.unlink()
    refusing = {name for name, tool in generators.TOOLS.items() if tool.refusal(Load(4, window_s=1.0), secret)}
    assert refusing == {"ab", "hey", "oha"}


@pytest.mark.parametrize(("generator", "workload", "load", "said"), REFUSALS)
def test_refusals(generator: str, workload: str, load: dict[str, Any], said: str) -> None:
    """What a generator cannot do is refused in one sentence, with exit code 2, before anything is started."""
    asked = cell(generator, workload, load)
    with pytest.raises(LabError) as caught:
        generators.check([asked], WORKLOADS)
    assert caught.value.message == f"`{generator}` {said}: it cannot load `{workload}` as {asked.load.id}"
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(("generator", "workload"), [
    ("engine", "transfer"), ("wrk", "transfer"), ("wrk", "lookup"), ("k6", "tx"), ("k6", "lookup"), ("oha", "transfer-ordered"),
    ("oha", "lookup"), ("vegeta", "transfer"), ("ab", "users"), ("hey", "db-ping"),
])  # fmt: skip
def test_what_can_be_done_is_not_refused(generator: str, workload: str) -> None:
    """A plain closed load of a workload whose values the generator can draw."""
    generators.check([cell(generator, workload, {})], WORKLOADS)


def test_unknown_generator() -> None:
    """A name that is none gets the nearest one."""
    with pytest.raises(LabError) as caught:
        generators.generator_name("wrrk")
    hint = "did you mean `wrk`? known generators: ab, engine, hey, k6, oha, vegeta, wrk"
    assert (caught.value.message, caught.value.hint) == ("there is no generator `wrrk`", hint)


def test_a_tool_that_is_missing_is_not_found(tmp_path: Path) -> None:
    """Nothing on the path: None. A program that tells no version is found all the same."""
    assert generators.find("k6", str(tmp_path)) is None
    (tmp_path / "k6").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "k6").chmod(0o755)
    found = generators.find("k6", str(tmp_path))
    assert found is not None and (found.version, found.title) == (None, "k6 (does not tell its version)")


def test_names_of_loads_tell_generators_apart() -> None:
    """Two loads that differ in what they do differ in their ids; the engine's closed loop is as it always was."""
    loads = [
        Load(), Load(generator="wrk"), Load(threads=2), Load(requests=1000), Load(rate_per_s=5.0, model="open"),
        Load(rate_per_s=5.0, model="open", arrivals="constant"), Load(keep_alive=False),
    ]  # fmt: skip
    assert [load.id for load in loads] == [
        "c100", "c100-wrk", "c100-2threads", "c100-1000requests", "c100-5rps", "c100-5rps-constant", "c100-close",
    ]  # fmt: skip
