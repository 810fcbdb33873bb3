"""The frame of every page: templates of the package with the report's words at hand, scripts under their hashes, moments in UTC.

Pure: templates are the package's own, and no clock is read.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from fairground.model import Verdict, foreign
from fairground.report.charts import forest, palette
from fairground.report.charts.dots import axis, dots
from fairground.report.run import controls, crossing, grid, mixes, sections
from fairground.report.run.bars import picture
from fairground.report.text import words
from fairground.report.text.rows import diagnosis_text, interval_text, percentile_text, rank_text, rate_text, tail_text

FRAMED_SCRIPTS = ("page.js", "drawn.js", "save.js")


def render(template: str, **values: object) -> str:
    """A page from one of the package's templates."""
    return environment().get_template(template).render(values)


def frame_page(template: str, title: str, story: Sequence[str], **values: object) -> str:
    """A page about one thing, in the frame that a run's page has. `story` are its sentences, the first of them its heading."""
    script, digest = script_of(*FRAMED_SCRIPTS)
    told = tuple(story) or (title,)
    return render(template, title=title, story=told, script=script, script_hash=digest, **values)


def script_of(*names: str) -> tuple[Markup, str]:
    """Scripts of the package as one, and the hash by which a page's policy admits it and no other. Comments stay behind."""
    whole = "\n".join(environment().get_template(name).render() for name in names)
    script = "\n".join(line for text in whole.splitlines() if (line := text.strip()) and not line.startswith("//"))
    return Markup(script), base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def minute(unix_s: float) -> str:
    """A moment in UTC, to the minute."""
    return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _breakable(name: str) -> Markup:
    """A stack's id that may be broken after its colon, where a narrow column needs it."""
    return escape(name).replace(":", Markup(":<wbr>"))


def _coded(text: str) -> Markup:
    """A sentence whose names between backticks are set as code; everything in it is escaped."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return Markup(escape(text))  # a backtick without a partner is one of somebody's own
    code = Markup("<code>{}</code>")
    return Markup("").join(code.format(part) if place % 2 else escape(part) for place, part in enumerate(parts))


def _shown(value: object) -> object:
    """Clean what a template prints. Text may be foreign, charts and parts of a page hold some: all of it is cleaned here."""
    if isinstance(value, Markup):
        return Markup(foreign.clean(value))
    return value if value is None or isinstance(value, int | float) else foreign.clean(str(value))


@cache
def environment() -> Environment:
    """The templates of the package with the report's words at hand; everything that they print is cleaned and escaped."""
    environment = Environment(
        loader=PackageLoader("fairground.report", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=_shown,
    )
    environment.globals |= {
        "words": words,
        "palette": palette,
        "sections": sections,
        "mix_rows": mixes.mix_rows,
        "mix_heads": mixes.HEADS,
        "dots": dots,
        "axis": axis,
        "interval_text": interval_text,
        "diagnosis_text": diagnosis_text,
        "percentile_text": percentile_text,
        "tail_text": tail_text,
        "Verdict": Verdict,
        "forest": forest.forest,
        "forest_axis": forest.axis,
        "forest_scale": forest.scale,
        "forest_class": lambda row: forest.CLASSES[row.difference.word],
        "forest_glyph": lambda row: forest.GLYPHS[row.difference.word],
        "rank_text": rank_text,
        "control_sentence": controls.sentence,
        "crossing_sentences": crossing.sentences,
        "meaning": grid.meaning,
        "picture": picture,
    }
    environment.filters |= {
        "number": words.number,
        "rate": rate_text,
        "count": words.count,
        "ms": words.milliseconds,
        "percent": words.percent,
        "size": words.size,
        "seconds": words.seconds,
        "breakable": _breakable,
        "coded": _coded,
        "plural": words.plural,
    }
    return environment
