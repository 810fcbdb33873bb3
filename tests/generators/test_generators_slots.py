"""Request templates outside the engine: rendered with a seed, and written as Lua and JavaScript."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from builders.contracts import SEEDS
from fairground.generators.slots import Templates, javascript, lua
from fairground.inputs import workload_files
from fairground.model import LabError, LoadRequest
from fairground.model.data import Rows

WORKLOADS = {one.id: workload_files.render(one, 1) for one in workload_files.load_workloads(SEEDS)}


def request(path: str, body: str | None = None) -> LoadRequest:
    """A request of this."""
    return replace(WORKLOADS["ping"].first, path=path, body=body)


def rendered(path: str, count: int = 2000, body: str | None = None) -> list[tuple[str, str | None]]:
    """So many requests of a template."""
    return list(Templates.of(request(path, body)).requests(7, count))


def numbers(path: str) -> list[tuple[int, ...]]:
    """The numbers in each of many requests of a path."""
    return [tuple(int(text) for text in re.findall(r"-?\d+", line)) for line, _ in rendered(path)]


def test_int_reaches_both_ends_and_nothing_beyond() -> None:
    """`{int:a..b}` is uniform over a to b, both included, below zero too."""
    assert {value for (value,) in numbers("/x?a={int:-2..3}")} == {-2, -1, 0, 1, 2, 3}


def test_int_that_differs_from_another() -> None:
    """`{int:a..b!=name}` is never the other's value, and every other value comes, also where the ranges differ."""
    pairs = set(numbers("/x?a={int:1..4}&b={int:1..3!=a}"))
    assert pairs == {(a, b) for a in (1, 2, 3, 4) for b in (1, 2, 3) if a != b}


def test_low_and_high_are_one_draw_in_order() -> None:
    """`{low}` and `{high}` are two distinct numbers, the smaller first; two pairs are drawn apart."""
    found = set(numbers("/x?a={low:1..3}&b={high:1..3}&c={low:1..3}&d={high:1..3}"))
    ordered = {(1, 2), (1, 3), (2, 3)}
    assert found == {(*one, *other) for one in ordered for other in ordered}


def test_choice_and_seq() -> None:
    """`{choice}` takes each of its words, `{seq}` counts from 1 without a gap."""
    lines = [line for line, _ in rendered("/x?w={choice:red|green}&n={seq}", 50)]
    assert {line.split("w=")[1].split("&")[0] for line in lines} == {"red", "green"}
    assert [int(line.split("n=")[1]) for line in lines] == list(range(1, 51))


def test_slots_in_a_body_are_named_by_their_key() -> None:
    """A JSON key names the slot behind it, a doubled brace is a brace, and path and body share their names."""
    for path, body in rendered("/x?a={int:1..2}", 40, '{{"b":"{int:1..2!=a}","c": {int:5..5}}'):
        assert body == f'{{"b":"{3 - int(path[-1])}","c": 5}}'


@pytest.mark.parametrize(
    ("type", "body", "sent"),
    [
        (None, '{{"q":"{t.c}"}', '{"q":"a \\"b\\"/ü&+"}'),
        ("application/json; charset=utf-8", "{t.c}", 'a \\"b\\"/ü&+'),
        ("application/ld+json", "{t.c}", 'a \\"b\\"/ü&+'),
        ("Application/X-WWW-Form-Urlencoded", "q={t.c}", "q=a%20%22b%22%2F%C3%BC%26%2B"),
        ("text/plain", "q={t.c}", 'q=a "b"/ü&+'),
        (None, "q={t.c}", 'q=a "b"/ü&+'),
    ],
)
def test_a_cell_stays_one_value(type: str | None, body: str, sent: str) -> None:
    """It is written as the engine writes it: by the content type of a body; percent-encoded in a path."""
    headers = () if type is None else (("Content-Type", type),)
    asked = LoadRequest("x", "POST", "/x?a={t.c}", headers, body)
    (told,) = Templates.of(asked, {"t": Rows(("c",), (('a "b"/ü&+',),))}).requests(7, 1)
    assert told == ("/x?a=a%20%22b%22%2F%C3%BC%26%2B", sent)


def test_a_seed_gives_the_same_requests() -> None:
    """The same seed gives the same stream, another one another."""
    templates = Templates.of(WORKLOADS["transfer"].first)
    assert list(templates.requests(3, 20)) == list(templates.requests(3, 20)) != list(templates.requests(4, 20))


@pytest.mark.parametrize(
    "slot",
    [
        "{int:5..4}",
        "{int:1..2!=nobody}",
        "{high:1..2}",
        "{low:1..1}",
        "{choice:a||b}",
        "{float:1..2}",
        "{seq:1}",
        "{int:1-2}",
        "{file:names}",
    ],
)
def test_what_is_no_slot_is_refused(slot: str) -> None:
    """A slot that the engine would refuse is refused here, never sent as text."""
    with pytest.raises(LabError, match="is not a slot that a generator other than the engine can fill"):
        Templates.of(request(f"/x?a={slot}"))


EVERY = request(
    "/x?a={int:1..9}&b={int:1..9!=a}&c={low:1..9}&d={high:1..9}&w={choice:red|green}&n={seq}", '{{"q":"\\"{int:-5..5}"}'
)


def test_lua() -> None:
    """Every kind of slot as statements in Lua: places from 1, quotes and braces escaped."""
    draws, path, body = lua(Templates.of(EVERY))
    assert draws == [
        "v[1] = int(1, 9)", "v[2] = other_than(1, 9, v[1])", "v[3], v[4] = pair(1, 9)", 'v[5] = choice({"red", "green"})',
        "v[6] = seq()", "v[7] = int(-5, 5)",
    ]  # fmt: skip
    assert path.startswith('"/x?a=" .. text(v[1]) .. "&b=" .. text(v[2])') and path.endswith("text(v[6])")
    assert body == r'"{\034q\034:\034\092\034" .. text(v[7]) .. "\034}"'


def test_javascript() -> None:
    """The same in JavaScript: places from 0."""
    draws, path, body = javascript(Templates.of(EVERY))
    assert draws[1:4] == ["v[1] = other_than(1, 9, v[0])", "[v[2], v[3]] = pair(1, 9)", 'v[4] = choice(["red", "green"])']
    assert path.startswith('"/x?a=" + text(v[0])') and body == r'"{\"q\":\"\\\"" + text(v[6]) + "\"}"'


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_javascript_draws_what_it_should() -> None:
    """The functions of k6's script, run by another interpreter, stay in their ranges, reach their ends and keep their order."""
    from fairground.generators.k6 import SCRIPT

    functions = SCRIPT[SCRIPT.index("let state") : SCRIPT.index("function seq")].replace("%%", "%")
    program = f"""
        const SEED = 5, exec = {{vu: {{idInTest: 1}}}};
        {functions}
        const seen = {{int: new Set(), other: new Set(), pair: new Set()}};
        for (let i = 0; i < 20000; i++) {{
          seen.int.add(int(-1, 1)); seen.other.add(other_than(1, 3, 2)); seen.pair.add(pair(1, 3).join());
        }}
        console.log([...seen.int].sort((a, b) => a - b).join() + ' ' + [...seen.other].sort().join() + ' ' + [...seen.pair].sort().join(';'));
    """
    ran = subprocess.run(["node", "-e", program], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["-1,0,1", "1,3", "1,2;1,3;2,3"]


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@pytest.mark.parametrize("workload", ["ping", "lookup", "transfer", "transfer-ordered", "tx"])
def test_scripts_for_k6_are_javascript(workload: str, tmp_path: Path) -> None:
    """The whole script of each workload is valid as a module, for another interpreter that only reads it."""
    from fairground.generators import TOOLS
    from fairground.generators.tool import ToolJob
    from fairground.model import Load

    asked = WORKLOADS[workload]
    TOOLS["k6"].command(ToolJob(Load(), asked, Templates.of(asked.first), "127.0.0.1", 1, 7, 1.0, None, 1, tmp_path))
    script = (tmp_path / "requests.js").rename(tmp_path / "requests.mjs")
    subprocess.run(["node", "--check", str(script)], check=True)
