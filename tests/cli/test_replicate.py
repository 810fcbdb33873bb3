"""`replicate` on a run that is there: verdicts as data, as a page, and spliced into a Markdown file."""

from __future__ import annotations

from pathlib import Path

from builders.paths import ROOT
from cli.command import Run, document, stored
from report.fixture import six_blocks


def test_claims_on_cells_that_a_run_lacks_cannot_be_tested(lab: Run, tmp_path: Path) -> None:
    """Every claim has a verdict even where nothing was measured, and so has the Markdown; what stood in its place is replaced."""
    run = six_blocks()
    folder = stored(run, tmp_path / "results")
    (tmp_path / "told.md").write_text("# Mine\n\n<!-- transfer -->\nold\n<!-- /transfer -->\n")
    words = ("replicate", "transfer", "--run", "latest", "--results", "results", "--markdown", "told.md", "--json")
    found = document(lab(*words))
    assert found["suite"] == "transfer" and len(found["claims"]) > 10
    assert {one["verdict"] for one in found["claims"]} == {"cannot be tested here", "its own table supports it"}
    assert {one["id"] for one in found["claims"] if one["verdict"] == "its own table supports it"} == {
        "go-is-not-faster-than-python",
        "no-timeouts-for-nostos",
    }
    assert all("was not measured" in one["sentence"] for one in found["claims"] if one["test"])
    assert (folder / "replicate-transfer.html").exists() and found["page"].endswith("replicate-transfer.html")
    told = (tmp_path / "told.md").read_text()
    assert told.startswith("# Mine\n\n<!-- transfer -->\n") and "\nold\n" not in told
    assert told.count("<!-- transfer -->") == 1 and "○ cannot be tested here" in told


def test_one_run_is_not_judged_by_all_suites(lab: Run) -> None:
    """`all` measures: a run that is there belongs to one suite, and the sentence says so."""
    done = lab("replicate", "all", "--run", "latest", "--results", "results")
    assert done.returncode == 2 and "`--run` judges the run of one suite, and `all` names several" in done.stderr


def test_blocks_are_of_a_new_run(lab: Run) -> None:
    """A run that goes on has its plan; of all suites, `--blocks` says how those after it are measured."""
    done = lab("replicate", "users", "--blocks", "2", "--resume", "latest", "--results", "results")
    assert done.returncode == 2 and "`--blocks` goes with a new run, and `--resume` goes on with one" in done.stderr


def test_it_goes_on_until_it_is_decided_and_for_nothing_else(lab: Run) -> None:
    """Another end is for `run`, and what is none is told."""
    done = lab("replicate", "users", "--until", "narrow", "--results", "results")
    assert done.returncode == 2 and "`--until narrow` is for `run`" in done.stderr
    done = lab("replicate", "users", "--until", "decided", "--resume", "latest", "--results", "results")
    assert done.returncode == 2 and "`--until decided` begins anew" in done.stderr


def test_a_plan_measures_nothing(lab: Run, tmp_path: Path) -> None:
    """One suite has its slots, all of them a line each with its time; a run that is there has no plan."""
    words = ("--servers", str(ROOT / "servers"), "--dry-run")
    whole, (one, *_) = lab("replicate", "all", *words), sorted((ROOT / "suites").glob("lookup.toml"))
    lines = whole.stdout.splitlines()
    assert whole.returncode == 0 and len(lines) == 6, whole.stderr
    assert lines[-1].startswith("5 suites, about ") and lines[1].startswith(f"{one.stem}: ")
    trials = int(lines[1].split()[1])
    assert len(document(lab("replicate", one.stem, *words, "--json"))["plan"]["slots"]) == trials
    assert set(document(lab("replicate", "all", *words, "--json"))) >= {"lookup", "transfer"}
    assert not (tmp_path / "results").exists()
    done = lab("replicate", "all", *words, "--resume", "latest")
    assert done.returncode == 2 and "a run that is there needs no plan" in done.stderr
