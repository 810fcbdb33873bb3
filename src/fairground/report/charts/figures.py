"""A run's charts as Vega-Lite specifications: pure, one at each width, in the light colours of `palette`.

Names are `form.board.width`, `latency.tx.880` say. The page shows one of the two widths by style; `render` draws them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fairground.model import Run, Verdict
from fairground.report.boards import ROLES, Board, Row, boards, stack_colours
from fairground.report.charts.curves import latency
from fairground.report.charts.frame import MOST_STACKS, WIDTHS_PX, Spec, framed, short
from fairground.report.charts.palette import LIGHT
from fairground.stats import intervals

MOST_CELLS = 36
"""Windows drawn on one steadiness chart."""
FORMS = ("latency", "cpu", "steadiness")


def specs(run: Run) -> dict[str, Spec]:
    """All charts of a run at both widths. A board without the numbers for a form has no chart of that form."""
    shown = boards(run, judged=False)
    colours = stack_colours(shown)
    drawn: dict[str, Spec] = {}
    for board in shown:
        for width_px in WIDTHS_PX:
            made = (latency(board, colours, width_px), _cpu(board, width_px), _steadiness(board, colours, width_px))
            for form, spec in zip(FORMS, made, strict=True):
                if spec is not None:
                    drawn[f"{form}.{board.id}.{width_px}"] = spec
    return drawn


def cpu_rows(board: Board) -> tuple[Row, ...]:
    """The rows whose server's CPU is known, cheapest first; the first `MOST_STACKS` are drawn."""
    return tuple(sorted((row for row in board.numbered if row.cpu_us("server") is not None), key=cpu_total_us))


def steadiness_rows(board: Board) -> tuple[Row, ...]:
    """The rows with numbers per second; the first `most_windows` are drawn."""
    return tuple(row for row in board.rows if any(trial.result and trial.result.seconds for trial in row.trials))


def most_windows(rows: Sequence[Row]) -> int:
    """How many rows of windows fit on one chart."""
    return max(2, MOST_CELLS // max(1, len(_blocks(rows))))


def cpu_total_us(row: Row) -> float:
    """CPU of all roles but the generator in µs per good answer, as far as it is known."""
    return sum(row.cpu_us(role) or 0.0 for role in ROLES)


def _cpu(board: Board, width_px: int) -> Spec | None:
    """CPU in µs per good answer: one bar per stack, a segment per role, the generator as a thin bar of its own."""
    rows = cpu_rows(board)[:MOST_STACKS]
    if not rows:
        return None
    longest = max(max(cpu_total_us(row), row.cpu_us("generator") or 0.0) for row in rows)
    wide = width_px > 500
    label_px = 150 if wide else 118
    x = {
        "type": "quantitative",
        "title": "CPU, µs per good answer",
        "scale": {"domain": [0, short(longest * 1.1)], "nice": False},
        "axis": {"tickCount": 6 if wide else 3},
    }
    axis = {"labelLimit": label_px, "domain": False, "ticks": False, "grid": False}
    y = {"field": "stack", "type": "nominal", "sort": [row.stack for row in rows], "title": None, "axis": axis}
    layers = _bars(rows, longest * (0.07 if wide else 0.16), x)
    spec = {"width": width_px - label_px - 24, "height": {"step": 30}, "encoding": {"y": y}, "layer": layers}
    return framed(spec, f"CPU per good answer by role, {board.workload}")


def _bars(rows: Sequence[Row], room_us: float, x: Spec) -> list[Spec]:
    """Segments, the generator's thin bar, the numbers inside segments wider than `room_us`, and the totals."""
    segments = [segment for row in rows for segment in _segments(row)]
    totals = []
    for row in rows:
        total = cpu_total_us(row)
        generator = short(row.cpu_us("generator") or 0.0)
        totals.append({"stack": row.stack, "total": short(total), "text": intervals.significant(total), "generator": generator})
    bar = {"type": "bar", "height": 14, "stroke": LIGHT["paper"], "strokeWidth": 1, "aria": True}
    thin = {"type": "bar", "height": 3, "yOffset": 11, "color": LIGHT["generator"], "aria": False}
    inside = {"type": "text", "fontSize": 10, "color": LIGHT["on-role"], "aria": False}
    after = {"type": "text", "align": "left", "dx": 5, "fontSize": 11, "color": LIGHT["ink"], "aria": False}
    filled = {"fill": {"field": "colour", "scale": None}, "description": {"field": "label"}}
    text = {"text": {"field": "text"}}
    roomy = [segment for segment in segments if segment["to"] - segment["from"] > room_us]
    return [
        {"data": {"values": segments}, "mark": bar, "encoding": {"x": x | {"field": "from"}, "x2": {"field": "to"}} | filled},
        {"data": {"values": totals}, "mark": thin, "encoding": {"x": x | {"field": "generator"}, "x2": {"datum": 0}}},
        {"data": {"values": roomy}, "mark": inside, "encoding": {"x": x | {"field": "mid"}} | text},
        {"data": {"values": totals}, "mark": after, "encoding": {"x": x | {"field": "total"}} | text},
    ]


def _segments(row: Row) -> list[dict[str, Any]]:
    """One piece of a bar per role that used CPU, end to end in the order of the request's path."""
    pieces, start = [], 0.0
    for role in ROLES:
        cost = row.cpu_us(role)
        if not cost:
            continue
        text = intervals.significant(cost)
        ends = {"from": short(start), "to": short(start + cost), "mid": short(start + cost / 2)}
        label = f"{row.stack}: {role} {text} µs"
        pieces.append({"stack": row.stack, "label": label, "text": text, "colour": LIGHT[role]} | ends)
        start += cost
    return pieces


def _steadiness(board: Board, colours: Mapping[str, int], width_px: int) -> Spec | None:
    """Goodput per second, a row per stack, a column per block, one scale for all."""
    rows = steadiness_rows(board)
    rows = rows[: most_windows(rows)]
    blocks = _blocks(rows)
    values: list[dict[str, Any]] = []
    for row in rows:
        colour = LIGHT[f"stack-{colours[row.stack]}"] if row.stack in colours else LIGHT["soft"]
        for block in blocks:
            values += _window(row, block, colour)
    highest = max((value["ok"] for value in values if value["ok"] is not None), default=0)
    if not highest:
        return None
    panel_px = max(24, (width_px - 48) // len(blocks) - 10)
    x = {
        "field": "second",
        "type": "quantitative",
        "title": None,
        "axis": {"tickCount": 3, "tickMinStep": 1, "grid": False, "format": "d"},
    }
    y = {
        "field": "ok",
        "type": "quantitative",
        "title": None,
        "scale": {"domain": [0, highest * 1.08], "nice": False},
        "axis": {"tickCount": 2, "grid": False, "format": "~s"},
    }
    line = {
        "mark": {"type": "line", "strokeWidth": 1.5, "aria": False},
        "encoding": {"x": x, "y": y, "stroke": {"field": "colour", "scale": None}},
    }
    note = {
        "transform": [{"filter": "datum.note != ''"}],
        "mark": {"type": "text", "fontSize": 10, "color": LIGHT["void"], "aria": True},
        "encoding": {"text": {"field": "note"}, "x": {"value": panel_px / 2}, "y": {"value": 20}},
    }
    name = {  # inside the first panel of a row: beside the panels it would take a quarter of a narrow chart
        "transform": [{"filter": f"datum.block == 'block {blocks[0]}' && (!datum.second || datum.note != '')"}],
        "mark": {"type": "text", "align": "left", "fontSize": 11, "color": LIGHT["ink"], "aria": False},
        "encoding": {"text": {"field": "stack"}, "x": {"value": 0}, "y": {"value": -7}},
    }
    header = {"title": None, "labelFontSize": 11, "labelColor": LIGHT["soft"], "labelPadding": 18}
    facet = {
        "row": {"field": "stack", "sort": [row.stack for row in rows], "header": {"title": None, "labels": False}},
        "column": {"field": "block", "sort": [f"block {block}" for block in blocks], "header": header},
    }
    panel = {"width": panel_px, "height": 40, "layer": [line, note, name]}
    spec = {"data": {"values": values}, "facet": facet, "spacing": {"row": 20, "column": 10}, "spec": panel}
    return framed(spec, f"Goodput per second of each window, {board.workload}")


def _window(row: Row, block: int, colour: str) -> list[dict[str, Any]]:
    """The seconds of the last attempt of a block, or the word for why there are none."""
    tried = [trial for trial in row.trials if trial.block == block]
    base = {"stack": row.stack, "block": f"block {block}", "colour": colour}
    if not tried or tried[-1].result is None or not tried[-1].result.seconds:
        return [base | {"second": None, "ok": None, "note": "not measured"}]
    if tried[-1].verdict in (Verdict.VOID, Verdict.REJECTED):
        return [base | {"second": None, "ok": None, "note": str(tried[-1].verdict)}]
    return [base | {"second": second.second, "ok": second.ok, "note": ""} for second in tried[-1].result.seconds]


def _blocks(rows: Iterable[Row]) -> tuple[int, ...]:
    return tuple(sorted({trial.block for row in rows for trial in row.trials}))
