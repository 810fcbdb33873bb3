"""The picture that a link to a run shows where people share it: its first sentences, and bars of one workload. Pure.

Other pages fetch it as a PNG by `og:image`, so it stands alone: no style sheet, and one font that the renderer has.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from markupsafe import escape

from fairground.model import foreign
from fairground.report.boards import Board
from fairground.report.charts.palette import LIGHT
from fairground.report.run.bars import Bar, picture
from fairground.report.text import words

NAME = "card.png"
WIDTH, HEIGHT = 1200, 630
"""In px: the size that pages of links crop least."""
MARGIN, BARS_AT, BAR = 64, 330, 44
MOST_BARS, MOST_LINES = 5, 3
HEADING, SMALL = 46, 24
EM = 0.52
"""Mean width of a letter of the font, as a share of its size."""
FONT = "Liberation Sans, Arial, sans-serif"


def svg(story: Sequence[str], boards: Sequence[Board], foot: str) -> str:
    """The card of a run: `story` are its sentences, and the bars are those of the board with most numbers, the fastest first."""
    heading = textwrap.wrap(_plain(story[0]), int((WIDTH - 2 * MARGIN) / (EM * HEADING)), max_lines=MOST_LINES, placeholder=" …")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="{FONT}">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{LIGHT["paper"]}"/>',
        _text(MARGIN, 84, SMALL, "soft", "Fairground"),
        *(_text(MARGIN, 150 + 58 * place, HEADING, "ink", line, weight="bold") for place, line in enumerate(heading)),
        *_bars(max(boards, key=lambda one: len(one.numbered), default=None)),
        _text(MARGIN, HEIGHT - 26, SMALL, "soft", _plain(foot)),
        "</svg>",
    ]
    return "".join(parts)


def _bars(board: Board | None) -> Iterator[str]:
    if board is None or not board.numbered:
        return
    shown = picture(board)
    left, room = MARGIN + 340, WIDTH - 2 * MARGIN - 340 - 130
    yield _text(MARGIN, BARS_AT - 14, SMALL, "soft", f"right answers per second on {board.workload}")
    for place, bar in enumerate(shown.bars[:MOST_BARS]):
        top = BARS_AT + BAR * place
        width = max(2.0, room * bar.width / 100)
        yield _text(MARGIN, top + 27, SMALL, "ink", _short(bar.row.stack))
        yield f'<rect x="{left}" y="{top + 4}" width="{width:.0f}" height="{BAR - 12}" rx="3" fill="{_colour(bar)}"/>'
        yield _text(round(left + width) + 12, top + 27, SMALL, "ink", words.number(bar.row.middle))


def _colour(bar: Bar) -> str:
    return LIGHT[f"tier-{bar.tier.colour}"] if bar.tier.colour else LIGHT["good"]


def _short(name: str) -> str:
    most = int(330 / (EM * SMALL))
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _plain(sentence: str) -> str:
    return foreign.line(sentence.replace("`", ""))


def _text(x: int, y: int, size: int, colour: str, text: str, weight: str = "normal") -> str:
    style = f'font-size="{size}" font-weight="{weight}" fill="{LIGHT[colour]}"'
    return f'<text x="{x}" y="{y}" {style}>{escape(foreign.line(text))}</text>'
