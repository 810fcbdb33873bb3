"""Charts as specifications: what is drawn, what is not, and that every colour can turn dark."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import altair
import pytest

from fairground.report.boards import boards, pooled
from fairground.report.charts import figures
from fairground.report.charts.curves import spread
from fairground.report.charts.palette import DARK, LIGHT
from report import fixture, golden


@pytest.fixture(scope="module")
def specs() -> dict[str, dict[str, Any]]:
    return figures.specs(fixture.two_blocks())


def test_specs_are_the_golden_ones(specs: dict[str, dict[str, Any]]) -> None:
    """The names of all charts, and those of one workload in full."""
    shown = {name: spec if name.split(".")[1] == "transfer" else "…" for name, spec in specs.items()}
    golden.check("specs.json", json.dumps(shown, indent=1, ensure_ascii=False) + "\n")


def test_specs_are_valid_vega_lite(specs: dict[str, dict[str, Any]]) -> None:
    """Altair accepts every specification against the schema."""
    for spec in specs.values():
        altair.Chart.from_dict(spec)


def test_every_chart_exists_at_both_widths(specs: dict[str, dict[str, Any]]) -> None:
    """The style sheet chooses between two drawings, so both must be there."""
    wide, narrow = ({name.rpartition(".")[0] for name in specs if name.endswith(f".{width}")} for width in figures.WIDTHS_PX)
    assert wide == narrow
    assert len(wide) == 9


def test_every_colour_of_a_chart_is_in_the_table_and_turns_dark(specs: dict[str, dict[str, Any]]) -> None:
    """A colour outside the table would stay light on a dark page; two equal ones could not be told apart by the style sheet."""
    used = set(re.findall(r"#[0-9a-fA-F]{3,8}\b", json.dumps({name: spec for name, spec in specs.items()})))
    assert used <= set(LIGHT.values())
    assert LIGHT.keys() == DARK.keys()
    assert len(set(LIGHT.values())) == len(LIGHT)


def test_rejected_and_void_trials_draw_no_number(specs: dict[str, dict[str, Any]]) -> None:
    """cedar lost money and dogwood was disturbed: their windows hold the word, and no curve or bar is theirs."""
    windows = [
        value for value in specs["steadiness.transfer.880"]["data"]["values"] if value["stack"] in ("cedar:plain", "dogwood:orm")
    ]
    assert {(value["stack"], value["ok"], value["note"]) for value in windows} == {
        ("cedar:plain", None, "rejected"),
        ("dogwood:orm", None, "void"),
    }
    for form in ("latency", "cpu"):
        text = json.dumps(specs[f"{form}.transfer.880"])
        assert "cedar" not in text and "dogwood" not in text
        assert "alder" in text


def test_a_repeated_trial_replaces_the_void_one(specs: dict[str, dict[str, Any]]) -> None:
    """birch's second attempt in block 2 is what its panel shows."""
    values = specs["steadiness.tx.880"]["data"]["values"]
    assert len([value for value in values if value["stack"] == "birch:pool" and value["block"] == "block 2" and value["ok"]]) == 5


def test_histograms_add() -> None:
    """The pooled histogram of two trials holds the samples of both."""
    row = next(row for row in boards(fixture.two_blocks())[1].rows if row.stack == "alder:inline")
    added, singles = pooled(row.numbered), [pooled([trial]) for trial in row.numbered]
    assert added is not None and len(singles) > 1
    good = sum(trial.result.window.ok for trial in row.numbered if trial.result)
    assert added.total == sum(single.total for single in singles if single) == good
    assert sorted(added.values_us) == sorted({value for single in singles if single for value in single.values_us})


def test_decoding_gives_back_what_was_recorded() -> None:
    """Values come back to three digits, as the upper ends of their buckets."""
    trial = next(one for one in fixture.two_blocks().trials if one.result)
    assert trial.result is not None
    latency = fixture.latency_of(1000, 5000.0, 0.0)
    found = pooled([replace(trial, result=replace(trial.result, latency_ok=latency))])
    assert found is not None and (found.values_us, found.counts) == ((5003.0,), (1000,))


def test_labels_are_pushed_apart_and_stay_inside() -> None:
    """Names at the right edge keep their order and 14 px, and none falls below the plot."""
    placed = spread([10.0, 12.0, 195.0, 199.0], 14.0, 200.0)
    assert placed == [10.0, 24.0, 186.0, 200.0]
