"""Draw charts as SVG in a child process, so that a renderer that runs out of memory ends the child and not the lab.

`svg` is the parent's side; `python -m fairground.report.charts.render` the child's: specifications as one JSON object on
stdin, one JSON line per drawn chart on stdout. A chart that the renderer refuses, or dies of, is None; the page then shows its
table. `png` has a child of its own: a drawing goes in, a picture comes out.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import IO, Any
from xml.etree import ElementTree

CHARTS_PER_CHILD = 40
"""The renderer's memory grows with each chart: a fresh child now and then keeps it bounded."""
TIMEOUT_S = 120
PNG = "png"

_ID = re.compile(r'(\bid="|url\(#)([\w-]+)')
_LONG_NUMBER = re.compile(r"-?\d+\.\d{2,}")
_NEEDLESS = re.compile(
    r'<path class="(?:background|foreground)" aria-hidden="true" d="[^"]*"(?: pointer-events="none")?(?: display="none")?/>'
    r'| pointer-events="none"| opacity="1"| aria-roledescription="[^"]*"| role="graphics-[a-z]+"(?! aria)| aria-hidden="true"'
    r'| xmlns:xlink="[^"]*"| version="1.1"'
    r'| stroke-miterlimit="10"| class="mark-[^"]*"| font-family="[^"]*"| text-anchor="start"'
)
_SPACE = "{http://www.w3.org/2000/svg}"
_TAGS = {
    "svg",
    "g",
    "path",
    "text",
    "line",
    "rect",
    "circle",
    "clipPath",
    "defs",
    "title",
    "desc",
    "tspan",
    "linearGradient",
    "stop",
}


def svg(specs: Mapping[str, Mapping[str, Any]], command: tuple[str, ...] | None = None) -> dict[str, str | None]:
    """Draw every specification; None where it could not be drawn. Never raises for a bad chart. `command` replaces the child."""
    command = command or (sys.executable, "-m", "fairground.report.charts.render")
    drawn: dict[str, str | None] = {}
    waiting = list(specs)
    while waiting:
        batch = waiting[:CHARTS_PER_CHILD]
        answered = _batch({name: specs[name] for name in batch}, command)
        drawn |= answered
        if len(answered) < len(batch):  # the child died of the first chart that it left unanswered
            drawn[next(name for name in batch if name not in answered)] = None
        waiting = [name for name in waiting if name not in drawn]
    return {name: drawn[name] for name in specs}


def png(drawing: str) -> bytes | None:
    """An SVG as a PNG of its own size; None where it could not be drawn."""
    command = (sys.executable, "-m", "fairground.report.charts.render", PNG)
    try:
        child = subprocess.run(command, input=drawing.encode(), capture_output=True, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return None
    return child.stdout if child.returncode == 0 and child.stdout else None


def _batch(specs: Mapping[str, Mapping[str, Any]], command: tuple[str, ...]) -> dict[str, str | None]:
    """The charts that one child drew before it ended."""
    try:
        child = subprocess.run(
            command,
            input=json.dumps(specs),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        lines = child.stdout
    except subprocess.TimeoutExpired as expired:
        lines = (expired.stdout or b"").decode(errors="replace") if isinstance(expired.stdout, bytes) else expired.stdout or ""
    answers: dict[str, str | None] = {}
    for line in lines.splitlines():
        try:
            answer = json.loads(line)
        except json.JSONDecodeError:
            break  # the line was being written when the child ended
        answers[answer["name"]] = _tidy(answer["svg"], answer["name"]) if answer["svg"] else None
    return answers


def _tidy(text: str, name: str) -> str | None:
    """Make a drawing fit to stand in a page among others: no foreign elements, ids of its own, no needless digits."""
    root = ElementTree.fromstring(_NEEDLESS.sub("", text))
    if any(element.tag.removeprefix(_SPACE) not in _TAGS for element in root.iter()):
        return None
    _unwrap(root)
    ElementTree.register_namespace("", _SPACE.strip("{}"))
    prefix = re.sub(r"[^\w-]", "-", name)
    text = _ID.sub(lambda match: f"{match[1]}{prefix}-{match[2]}", ElementTree.tostring(root, encoding="unicode"))
    return _LONG_NUMBER.sub(lambda match: f"{float(match[0]):.1f}".removesuffix(".0"), text)


def _unwrap(element: ElementTree.Element) -> None:
    """Take away groups that say nothing or hold nothing: half of what the renderer writes."""
    kept: list[ElementTree.Element] = []
    for child in element:
        _unwrap(child)
        if child.get("transform") == "translate(0,0)":
            del child.attrib["transform"]
        if child.tag != f"{_SPACE}g" or (child.attrib and len(child)):
            kept.append(child)
        else:
            kept.extend(child)
    element[:] = kept


def _draw(specs: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str | None]]:
    import vl_convert

    for name, spec in specs.items():
        try:
            yield name, vl_convert.vegalite_to_svg(dict(spec), allowed_base_urls=[])
        except ValueError:
            yield name, None


def _picture(source: IO[bytes], sink: IO[bytes]) -> None:
    import vl_convert

    sink.write(vl_convert.svg_to_png(source.read().decode()))


def _main(source: IO[str], sink: IO[str]) -> None:
    for name, drawing in _draw(json.load(source)):
        sink.write(json.dumps({"name": name, "svg": drawing}) + "\n")
        sink.flush()


if __name__ == "__main__":
    if sys.argv[1:] == [PNG]:
        _picture(sys.stdin.buffer, sys.stdout.buffer)
    else:
        _main(sys.stdin, sys.stdout)
