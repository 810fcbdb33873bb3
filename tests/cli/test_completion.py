"""What a shell is told when it completes a word: the candidates, the protocol of each shell, and what it loads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import typer

from cli.command import MANIFEST, PLAIN, Golden
from fairground.cli import candidates, columns, completion, verbs
from fairground.cli.candidates import Table
from fairground.inputs.names import Name
from fairground.model.record import RecordKind

HELP = {"--help": ["Show this message and exit.", False], "-h": ["Show this message and exit.", False]}


def entry(sentence: str, command: Any) -> dict[str, Any]:
    """A verb as the parser knows it."""
    arguments = {one.name: one.nargs == -1 for one in command.params if one.param_type_name == "argument"}
    options = {
        spelling: [one.help or "", not one.is_flag]
        for one in command.params
        if one.param_type_name == "option"
        for spelling in (*one.opts, *one.secondary_opts)
    }
    return {"sentence": sentence, "arguments": arguments, "options": options | HELP}


def as_json(value: object) -> str:
    """On one line, with its letters as they are."""
    return json.dumps(value, ensure_ascii=False)


def as_text(table: Table) -> str:
    """The table as it is stored: a line for each option."""
    rows = []
    for verb, told in table.items():
        options = ",\n".join(f"  {as_json(name)}: {as_json(value)}" for name, value in told["options"].items())
        head = f'"sentence": {as_json(told["sentence"])}, "arguments": {as_json(told["arguments"])}'
        rows.append(f' {as_json(verb)}: {{{head}, "options": {{\n{options}\n }}}}')
    return "{\n" + ",\n".join(rows) + "\n}\n"


def test_the_table_is_what_the_parser_knows(golden: Golden) -> None:
    """The stored verbs, arguments and options are those of the verbs themselves, with their texts."""
    known = {"": entry("", typer.main.get_command(verbs.app))}
    known |= {name: entry(verb.sentence, verb.load(name)) for name, verb in verbs.VERBS.items()}
    golden(completion.WORDS, as_text(known))


def test_what_has_names_is_there() -> None:
    """Each option, argument and kind of record that is completed is one of the verbs', and no `--resume` is forgotten."""
    table = completion.table()
    taking = {spelling for told in table.values() for spelling, (_, takes) in told["options"].items() if takes}
    assert set(candidates.OPTIONS) <= taking
    assert {verb for verb, told in table.items() if "--resume" in told["options"]} == set(candidates.RESUMES)
    assert {*candidates.RESUMES.values(), RecordKind.COUNT} == {str(kind) for kind in RecordKind}
    assert all(len(named) <= len(table[verb]["arguments"]) for verb, named in candidates.ARGUMENTS.items())
    assert {one.value for one in candidates.ARGUMENTS["list"][0](Fair())} == set(columns.WIDTHS)


# ---------------------------------------------------------------- candidates


class Fair:
    """Two servers, two workloads, a suite, and a record of each kind."""

    def servers(self) -> Iterable[Name]:
        return [Name("alder"), Name("birch")]

    def stacks(self) -> Iterable[Name]:
        return [Name("alder"), Name("alder:plain"), Name("alder:fancy"), Name("birch"), Name("birch:plain")]

    def workloads(self) -> Iterable[Name]:
        return [Name("ping"), Name("tx")]

    def suites(self) -> Iterable[Name]:
        return [Name("demo", "All of it.")]

    def records(self, kind: str | None) -> Iterable[Name]:
        return [Name("latest"), *(Name(f"2026-{one}") for one in RecordKind if kind in (None, one))]


RUNS = ["latest", "2026-run"]
STACKS = ["alder", "alder:plain", "alder:fancy", "birch", "birch:plain"]


def values(line: str) -> list[str]:
    """What the last word of a line may become; a blank at its end begins a new one."""
    *words, typed = line.split(" ")
    table = completion.table()
    return [one.value for one in candidates.candidates(candidates.read_words(words, table), typed, table, Fair())]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", list(verbs.VERBS)),
        ("co", ["compare"]),
        ("--ver", ["--version"]),
        ("--version lis", ["list"]),
        ("run --stack ", STACKS),
        ("run -s alder:", ["alder:plain", "alder:fancy"]),
        ("run --stack=b", ["--stack=birch", "--stack=birch:plain"]),
        ("run --stack alder --workload t", ["tx"]),
        ("run --stack alder -w p", ["ping"]),
        ("run --anchor b", ["birch", "birch:plain"]),
        ("run --pool-s", ["--pool-size"]),
        ("run suites/d", ["suites/demo.toml"]),
        ("run --resume ", RUNS),
        ("capacity --resume ", ["latest", "2026-capacity"]),
        ("replicate ", ["demo", "all"]),
        ("replicate demo --run ", RUNS),
        ("compare ", [*STACKS, *RUNS]),
        ("compare alder:plain 2026", ["2026-run"]),
        ("compare --width 1 alder:plain birch", ["birch", "birch:plain"]),
        ("why ", RUNS),
        ("why latest birch", ["birch", "birch:plain"]),
        ("why latest birch:plain t", ["tx"]),
        ("check alder:plain b", ["birch", "birch:plain"]),
        ("report 2026-c", ["2026-comparison", "2026-capacity", "2026-check", "2026-cross-check", "2026-count"]),
        ("new mine --from a", ["alder"]),
        ("list w", ["workloads"]),
    ],
)
def test_what_a_word_may_become(line: str, expected: Sequence[str]) -> None:
    """Verbs, options, and the names of what there is, where a verb takes them; only those that begin as the word does."""
    assert values(line) == expected


@pytest.mark.parametrize(
    "line",
    [
        "nothing ", "run suites/demo.toml ", "run --connections ", "run --connections=", "compare a b ", "doctor ", "serve --port ",
        "run --results ", "try -- --st", "try -- ./x ", "check zebra", "report --site ", "run --no-such=a", "new ",
    ],
)  # fmt: skip
def test_what_has_no_name_is_left_to_the_shell(line: str) -> None:
    """Numbers, files, foreign commands and words that nothing begins with have no candidates."""
    assert values(line) == []


def test_options_that_follow_a_value() -> None:
    """A value that looks like an option is one no more, and an option that takes none does not swallow the next word."""
    assert values("run --stack --close -") == values("run -")
    assert values("check --all b") == ["birch", "birch:plain"]
    assert {"--stack", "--close", "--no-controls", "-s", "--help"} < set(values("run -"))


# ---------------------------------------------------------------- shells


@pytest.mark.parametrize(
    ("text", "index", "words", "typed", "kept"),
    [
        ("fairground\nrun\n", "2", ["run"], "", ""),
        ("fairground\nrun\n-s\nalder\n:\npl", "5", ["run", "-s"], "alder:pl", "alder:"),
        ("fairground\nrun\n-s\nalder\n:", "4", ["run", "-s"], "alder:", "alder:"),
        ("fairground\nrun\n-s\nalder\n:\n", "5", ["run", "-s", "alder:"], "", ""),
        ("fairground\nrun\n--stack\n=\nal", "4", ["run"], "--stack=al", "--stack="),
        ("fairground\nrun\n--stack\n=\nalder\n:\npl", "6", ["run"], "--stack=alder:pl", "--stack=alder:"),
        ("fairground\nrun\n-s\nalder:pl", "3", ["run", "-s"], "alder:pl", ""),
        ("fairground\nrun\n-s\nal\n-w\nping", "3", ["run", "-s"], "al", ""),
        ("fairground\ntry\n--slo\n'p99<50ms'\n--me", "4", ["try", "--slo", "p99<50ms"], "--me", ""),
        ("fairground run --stack ", "3", ["run", "--stack"], "", ""),
        ("fairground run -s 'al", "", ["run", "-s", "al"], "", ""),
    ],
)
def test_a_line_of_bash(text: str, index: str, words: Sequence[str], typed: str, kept: str) -> None:
    """Words that bash broke are put together again, and what stands before the break is kept by the shell itself."""
    assert completion.of_bash(text, index) == (words, typed, kept)


@pytest.mark.parametrize(
    ("text", "words", "typed"),
    [
        ("fairground ", [], ""),
        ("fairground ru", [], "ru"),
        ("fairground run -s alder:pl", ["run", "-s"], "alder:pl"),
        ("fairground run -s alder ", ["run", "-s", "alder"], ""),
        ("fairground run -s 'alder", ["run", "-s"], "alder"),
        ("", [], ""),
    ],
)
def test_a_line_of_zsh_and_fish(text: str, words: Sequence[str], typed: str) -> None:
    """The line up to the cursor is split as a shell splits it, with a quote that is still open."""
    assert completion.of_text(text) == (words, typed, "")


def test_zsh_is_told_what_to_evaluate() -> None:
    """Words stand with their sentences; colons, quotes and dollars are kept; without a word zsh offers files."""
    told = completion.for_zsh([Name("alder:plain", "as it's"), Name("birch", 'for "$5"')])
    assert told == r"""_arguments '*: :(("alder\\:plain":"as it'\''s"@"birch":"for \"\$5\""))'""".replace("@", "\n")
    assert completion.for_zsh([]) == "_files"


def test_another_shell_is_left_to_the_parser() -> None:
    """Scripts of other shells, and the question for a script, are answered by the argument parser."""
    assert completion.answer("complete_powershell", {}) is None and completion.answer("source_bash", {}) is None


# ---------------------------------------------------------------- whole


HEAVY = (
    "typer",
    "rich",
    "pydantic",
    "numpy",
    "scipy",
    "jinja2",
    "psutil",
    "psycopg",
    "fairground.model",
    "fairground.inputs.options",
)
LOADED = f"""
import atexit, sys
atexit.register(lambda: print(*[name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr))
from fairground.cli import main
main()
"""


def asked(folder: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """The answer of a process of its own, which says on standard error what it has loaded that is heavy."""
    words = [sys.executable, "-c", LOADED]
    return subprocess.run(words, cwd=folder, env=os.environ | PLAIN | environment, capture_output=True, text=True)


def test_shells_are_answered_without_loading_the_lab(tmp_path: Path) -> None:
    """bash, zsh and fish each get the stacks of a given folder in their own form, from a process that loads nothing heavy."""
    manifest = tmp_path / "own" / "alder-one" / "server.toml"
    manifest.parent.mkdir(parents=True)
    manifest.write_text(MANIFEST.format(title="Alder-One", need="true"))
    line = "fairground run --servers own --stack alder-one:f"
    pieces = ["fairground", "run", "--servers", "own", "--stack", "alder-one", ":", "f"]
    bash = {"_FAIRGROUND_COMPLETE": "complete_bash", "COMP_WORDS": "\n".join(pieces), "COMP_CWORD": "7"}
    zsh = {"_FAIRGROUND_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": line}
    fish = {"_FAIRGROUND_COMPLETE": "complete_fish", "_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    expected = ("fancy\n", '_arguments \'*: :(("alder-one\\\\:fancy":"with more"))\'\n', "alder-one:fancy\twith more\n")
    for environment, text in zip((bash, zsh, fish), expected, strict=True):
        done = asked(tmp_path, environment)
        assert (done.returncode, done.stdout, done.stderr) == (0, text, "\n")


@pytest.mark.parametrize(("line", "exit_code"), [("fairground check -", 0), ("fairground check zebra", 1)])
def test_fish_asks_whether_there_is_anything(line: str, exit_code: int) -> None:
    """Exit code 1 lets fish offer files; nothing is printed."""
    environment = {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "is-args"}
    assert completion.answer("complete_fish", environment) == ("", exit_code)
