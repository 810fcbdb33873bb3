"""A run's charts as pictures: what is drawn, what is not, that every one is whole, and that every colour can turn dark."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairground.report.boards import add_histograms, boards
from fairground.report.charts import figures, svg
from fairground.report.charts.palette import DARK, LIGHT
from fairground.report.charts.percentiles import curve_of
from fairground.report.run import sections
from fairground.report.trial import sketch
from report import fixture

HOSTILE = "<script>alert(1)</script> & \"'\x1b[2J\u202e"


@pytest.fixture(scope="module")
def pictures() -> dict[str, str]:
    return dict(figures.pictures(fixture.two_blocks()))


def texts(picture: str) -> list[str]:
    """Every text that a picture shows, in its order."""
    return [element.text or "" for element in ElementTree.fromstring(picture).iter("text")]


def labels(picture: str) -> list[str]:
    """The tooltips of a picture's marks."""
    return [element.attrib["aria-label"] for element in ElementTree.fromstring(picture).iter() if "aria-label" in element.attrib]


def test_every_chart_is_whole_has_a_title_and_its_own_size(pictures: dict[str, str]) -> None:
    """Each parses as XML with shapes and text alone, opens with its title, and is as wide as its name says."""
    for name, picture in pictures.items():
        root = ElementTree.fromstring(picture)
        assert root.tag == "svg" and root.attrib["role"] == "img"
        assert root[0].tag == "title" and root[0].text and name.split(".")[1] in root[0].text
        assert root.attrib["width"] == name.rpartition(".")[2]
        assert {element.tag for element in root.iter()} <= {"svg", "title", "desc", "path", "circle", "text"}
        assert "nan" not in picture and "inf " not in picture


def test_every_mark_stands_inside_its_picture(pictures: dict[str, str]) -> None:
    """No line leaves the sheet, and no text begins outside it."""
    for picture in pictures.values():
        root = ElementTree.fromstring(picture)
        width, height = float(root.attrib["width"]), float(root.attrib["height"])
        for element in root.iter("text"):
            assert 0 <= float(element.attrib["x"]) <= width and 0 <= float(element.attrib["y"]) <= height
        for element in root.iter("path"):
            for x, y in re.findall(r"[ML]([\d.-]+) ([\d.-]+)", element.attrib["d"]):
                assert 0 <= float(x) <= width and 0 <= float(y) <= height


def test_windows_of_many_blocks_stay_on_the_sheet() -> None:
    """Only the last blocks that fit are drawn, their heads do not meet, and the caption says how many there are."""
    run = fixture.big_run(stacks=1, workloads=1, blocks=30)
    drawn = {name: picture for name, picture in figures.pictures(run).items() if name.startswith("steadiness.")}
    assert len(drawn) == 2
    for name, picture in drawn.items():
        width = int(name.rpartition(".")[2])
        heads = [one for one in ElementTree.fromstring(picture).iter("text") if one.attrib["y"] == "11"]
        most = figures.most_blocks(width)
        assert [one.text for one in heads] == [str(block) for block in range(31 - most, 31)]
        places = [float(x) for x, _ in re.findall(r"[ML]([\d.-]+) ([\d.-]+)", picture)]
        assert max(places) <= width
    (board,) = boards(run)
    assert sections.steadiness_caption(board).endswith("Of 30 blocks the last 24 are drawn, and the last 8 on a narrow page.")


def test_every_chart_exists_at_both_widths(pictures: dict[str, str]) -> None:
    """The style sheet chooses between two drawings, so both must be there."""
    wide, narrow = ({name.rpartition(".")[0] for name in pictures if name.endswith(f".{width}")} for width in svg.WIDTHS_PX)
    assert wide == narrow
    assert len(wide) == 9


def test_every_colour_of_a_chart_is_in_the_table_and_turns_dark(pictures: dict[str, str]) -> None:
    """A colour outside the table would stay light on a dark page; two equal ones could not be told apart by the style sheet."""
    used = set(re.findall(r"#[0-9a-fA-F]{3,8}\b", "".join(pictures.values())))
    assert used and used <= set(LIGHT.values())
    assert LIGHT.keys() == DARK.keys()
    assert len(set(LIGHT.values())) == len(LIGHT)


def test_rejected_and_void_trials_draw_no_number(pictures: dict[str, str]) -> None:
    """cedar lost money and dogwood was disturbed: their windows hold the word, and no curve or bar is theirs."""
    shown = texts(pictures["steadiness.transfer.880"])
    assert shown.count("rejected") == shown.count("void") == 2
    assert shown.index("cedar:plain") < shown.index("rejected") < shown.index("dogwood:orm") < shown.index("void")
    for form in ("latency", "cpu"):
        picture = pictures[f"{form}.transfer.880"]
        assert "cedar" not in picture and "dogwood" not in picture
        assert "alder" in picture


def test_a_repeated_trial_replaces_the_void_one(pictures: dict[str, str]) -> None:
    """birch's second attempt in block 2 is what its panel shows: a line of five seconds in each of its two blocks."""
    lines = re.findall(r'd="M([^"]*)" stroke="#[0-9a-f]{6}" stroke-width="1.5"', pictures["steadiness.tx.880"])
    assert lines and {len(line.split("L")) for line in lines} == {5}
    assert "void" not in texts(pictures["steadiness.tx.880"])[: texts(pictures["steadiness.tx.880"]).index("birch:pool")]


def test_a_bar_tells_its_roles_and_its_total(pictures: dict[str, str]) -> None:
    """Each segment has its tooltip, and the total stands at the bar's end."""
    picture = figures.pictures(fixture.one_block())["cpu.tx.880"]
    assert "birch:pool: server 281 µs" in labels(picture)
    row = next(row for row in boards(fixture.two_blocks())[1].rows if row.stack == "alder:inline")
    assert round(figures.cpu_total_us(row)) == round(sum(row.cpu_us(role) or 0 for role in ("server", "database")))


def test_foreign_words_are_escaped_and_cleaned() -> None:
    """Neither a text, nor a tooltip, nor a title lets markup or what hides words through."""
    parts = [svg.text(1, 2, HOSTILE), svg.dot(1, 2, "ink", label=HOSTILE), svg.line([(0, 0), (1, 1)], "ink", label=HOSTILE)]
    picture = svg.picture(10, 10, HOSTILE, parts, HOSTILE)
    root = ElementTree.fromstring(picture)
    assert not list(root.iter("script")) and len(list(root.iter())) == 6
    assert "\x1b" not in picture and "\u202e" not in picture
    assert "<script>alert(1)</script>" in texts(picture)[0] and "<script>" in labels(picture)[0]


@given(st.text(), st.floats(20, 900))
def test_a_fitted_text_keeps_to_its_room(words: str, room_px: float) -> None:
    """It is the text, or its beginning with an ellipsis, and at least two letters."""
    found = svg.fit(words, room_px)
    assert found == words or (found.endswith("…") and words.startswith(found[:-1]))
    assert len(found) <= max(2, room_px / svg.LETTER_PX)


def test_the_percentile_curve_rises_and_ends_where_answers_end() -> None:
    """Both coordinates never fall, for a board's rows and for one trial; x stays below the place where the line leaves."""
    rows = [row for board in boards(fixture.two_blocks()) for row in board.numbered]
    found = [curve for row in rows if (curve := curve_of(row.numbered)) is not None]
    assert len(found) > 4 and any(curve.leaves_at for curve in found)
    for curve in found:
        assert all(after[0] > before[0] and after[1] >= before[1] for before, after in pairwise(curve.points))
        assert curve.last_x >= curve.points[-1][0]


def test_one_curve_serves_a_board_and_a_trial() -> None:
    """The picture of a trial has the line of its own curve."""
    trial = next(one for one in fixture.two_blocks().trials if one.goodput_per_s and curve_of([one]) is not None)
    curve, picture = curve_of([trial]), sketch.latencies(trial)
    assert curve is not None and picture is not None
    line = re.search(r'd="M([^"]*)" stroke="#4477aa"', picture)
    assert line is not None and len(line[1].split("L")) == len(curve.points) + (2 if curve.leaves_at else 0)


def test_histograms_add() -> None:
    """The pooled histogram of two trials holds the samples of both."""
    row = next(row for row in boards(fixture.two_blocks())[1].rows if row.stack == "alder:inline")
    added, singles = add_histograms(row.numbered), [add_histograms([trial]) for trial in row.numbered]
    assert added is not None and len(singles) > 1
    good = sum(trial.result.window.ok for trial in row.numbered if trial.result)
    assert added.total == sum(single.total for single in singles if single) == good
    assert sorted(added.values_us) == sorted({value for single in singles if single for value in single.values_us})


def test_decoding_gives_back_what_was_recorded() -> None:
    """Values come back to three digits, as the upper ends of their buckets."""
    trial = next(one for one in fixture.two_blocks().trials if one.result)
    assert trial.result is not None
    latency = fixture.latency_of(1000, 5000.0, 0.0)
    found = add_histograms([replace(trial, result=replace(trial.result, latency_ok=latency))])
    assert found is not None and (found.values_us, found.counts) == ((5003.0,), (1000,))
