"""Drawing in a child process: what fails or dies costs one chart and no more."""

from __future__ import annotations

import sys
from typing import Any
from xml.etree import ElementTree

from fairground.report.charts import figures, render
from report import fixture

SPEC = figures.specs(fixture.one_block())["cpu.tx.880"]


def test_charts_are_drawn_as_well_formed_svg() -> None:
    """Each form becomes SVG with marks that a screen reader can name, and ids of its own."""
    specs = figures.specs(fixture.one_block())
    wanted = {name: specs[name] for name in ("latency.tx.880", "cpu.tx.880", "steadiness.tx.360")}
    drawn = render.svg(wanted)
    assert drawn.keys() == wanted.keys()
    for name, text in drawn.items():
        assert text is not None, name
        root = ElementTree.fromstring(text)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert all(name.replace(".", "-") in element.get("id", name.replace(".", "-")) for element in root.iter())
    assert 'aria-label="birch:pool: server 281 µs"' in (drawn["cpu.tx.880"] or "")
    assert "birch:pool" in (drawn["latency.tx.880"] or "")


def test_a_chart_that_cannot_be_drawn_is_none_and_the_next_is_drawn() -> None:
    """A broken specification is refused by the renderer; its neighbours do not notice."""
    broken: dict[str, Any] = {"mark": "no such mark", "encoding": {"x": {"field": 3}}}
    drawn = render.svg({"a": SPEC, "b": broken, "c": SPEC})
    assert drawn["b"] is None
    assert drawn["a"] is not None and drawn["c"] is not None


def test_a_child_that_dies_costs_the_chart_it_died_of() -> None:
    """The first chart without an answer is given up, and a new child draws the rest."""
    mortal = (
        "import json, os, sys\n"
        "for name in json.load(sys.stdin):\n"
        "    if name == 'b': os._exit(134)\n"
        "    print(json.dumps({'name': name, 'svg': '<svg xmlns=\"http://www.w3.org/2000/svg\"/>'}), flush=True)\n"
    )
    drawn = render.svg({"a": SPEC, "b": SPEC, "c": SPEC}, command=(sys.executable, "-c", mortal))
    assert drawn["b"] is None
    assert drawn["a"] is not None and drawn["c"] is not None


def test_a_drawing_with_foreign_elements_is_refused() -> None:
    """Nothing but shapes and text may enter the page, whatever the renderer writes."""
    hostile = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
    child = f"import json; print(json.dumps({{'name': 'a', 'svg': {hostile!r}}}))"
    assert render.svg({"a": SPEC}, command=(sys.executable, "-c", child)) == {"a": None}
