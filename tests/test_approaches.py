"""What a server's manifest says of its approach, held against its commands, its environment and its sources.

Only flags that are known can be found: that code reads as its documentation shows is for who reviews it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from builders.contracts import CONTRACTS
from builders.paths import ROOT
from fairground.host import sources
from fairground.inputs import manifest
from fairground.model import Approach, Server, Stack, Tuning, Variant

STACKS = [stack for server in manifest.load_servers(ROOT / "servers", CONTRACTS) for stack in server.stacks]
DOCUMENTED = [stack for stack in STACKS if stack.variant.approach is Approach.DOCUMENTED]
ENVIRONMENT = re.compile(
    r"GOGC|GOMEMLIMIT|GODEBUG|GOEXPERIMENT|MALLOC_\w+|MIMALLOC_\w+|LD_PRELOAD|NODE_OPTIONS|UV_THREADPOOL_SIZE|JAVA_TOOL_OPTIONS"
    r"|JDK_JAVA_OPTIONS|RUBYOPT|RUBY_\w+|PYTHON(OPTIMIZE|MALLOC|GC)\w*|RUSTFLAGS"
)
OPTIONS = {
    "node": r"--(?!enable-source-maps)",
    "java": r"-X|--add-",
    "python": r"-[OX]",
    "python3": r"-[OX]",
    "ruby": r"--\w*jit",
}
"""Program → how options of its runtime begin, which stand before the file that it runs."""
CODE = re.compile(
    r"mimalloc|jemalloc|snmalloc|tcmalloc|^lto\s*=|^codegen-units|gc\.(?:freeze|disable|set_threshold)\(|GC\.(?:disable|compact)|SetGCPercent"
    r"|SetMemoryLimit|bytedance/sonic|easyjson|goccy/go-json|setFlagsFromString|new pg\.Query|get_reset_query",
    re.MULTILINE,
)
APART = "documented"
"""The folder of what only documented variants run, in the folder of a server whose other variants are tuned."""


def flags(stack: Stack) -> Iterator[str]:
    """What in the variant's environment and command is known to tune a runtime."""
    yield from (name for name in stack.variant.env if ENVIRONMENT.fullmatch(name))
    program = Path(stack.serve[0]).name
    for word in stack.serve[1:]:
        if not word.startswith("-"):
            break
        if program in OPTIONS and re.match(OPTIONS[program], word):
            yield word.partition("=")[0]


def tuned_code(stack: Stack) -> Iterator[str]:
    """What in the files that the variant runs is known to tune: `file: what`."""
    apart = any(APART in Path(word).parts for word in stack.serve)
    for path in sorted(sources.walk(stack.server.folder)):
        place = path.relative_to(stack.server.folder)
        if (APART in place.parts) == apart and place.suffix not in (".md", ".lock", ".sum", ".mod"):
            text = path.read_text(encoding="utf-8", errors="replace") if place.name != "server.toml" else ""
            yield from (f"{place}: {found[0]}" for found in CODE.finditer(text))


PAGE = re.compile(r"\]\(https://[^)\s]+\)")
PART = re.compile(r"^## .*`documented.*\n", re.MULTILINE)
"""Where the documented variants begin in the README of a server that has others, too."""
PROGRAM = ("-m", "-jar")
"""Options that say which program runs, and not how."""


def readme(stack: Stack) -> str:
    """What the server's README says of its documented variants: their part where there is one, else all of it."""
    text = (stack.server.folder / "README.md").read_text(encoding="utf-8")
    found = PART.search(text)
    return text[found.end() :] if found else text


def untold(stack: Stack) -> list[str]:
    """What a documented variant owes its reader: a page of documentation, each variable, and each option of its command.

    A variable is told by its name, or by its value in the manifest's words, such as that of a driver.
    """
    text, words = readme(stack), stack.variant.about
    options = [word.partition("=")[0] for word in stack.serve[1:] if word.startswith("-") and word not in PROGRAM]
    return [
        *([] if PAGE.search(text) else ["a page"]),
        *(name for name, value in stack.variant.env.items() if name not in words + text and value not in words),
        *(option for option in options if option not in words + text),
    ]


def unnamed(stack: Stack) -> list[str]:
    """What a variant should name, or should not have."""
    if stack.variant.approach is Approach.DOCUMENTED:
        return [*flags(stack), *tuned_code(stack)]
    told = " ".join(one.what for one in stack.variant.tuning)
    return [flag for flag in flags(stack) if flag not in told]


@pytest.mark.parametrize("stack", STACKS, ids=lambda stack: stack.id)
def test_variant_is_what_its_manifest_says(stack: Stack) -> None:
    """A documented variant has no flag, collector setting, allocator or serialiser that tunes; a tuned one names each flag."""
    assert unnamed(stack) == []


@pytest.mark.parametrize("stack", DOCUMENTED, ids=lambda stack: stack.id)
def test_documented_variant_tells_its_pages_and_settings(stack: Stack) -> None:
    """The README links to a page behind the documented variant, and nothing is set that neither manifest nor README names."""
    assert untold(stack) == []


NAMED = [stack for stack in STACKS if re.search(r"-\d+-\d+$", stack.id)]


def pinned(stack: Stack, built: Stack) -> list[str]:
    """The lines that pin a package to the version in a stack's name, of the files that the build of a stack names."""
    version = r"\.".join(stack.id.split("-")[-2:])
    files = [stack.server.folder / word.rpartition("=")[2] for words in built.build for word in words]
    lines = [line for file in files if file.is_file() for line in file.read_text().splitlines()]
    return [line for line in lines if re.search(rf"(~>|==) ?{version}\b", line)]


@pytest.mark.parametrize("stack", NAMED, ids=lambda stack: stack.id)
def test_a_version_in_a_name_is_the_one_that_is_built(stack: Stack) -> None:
    """What its build names allows no other, so the name is true wherever it is built. The server's other variants may differ."""
    assert pinned(stack, stack)
    assert not any(pinned(stack, other) for other in stack.server.stacks if other not in NAMED)


@pytest.fixture
def stack(tmp_path: Path) -> Stack:
    """A documented variant with nothing to hide, in a folder of its own."""
    (tmp_path / "server.toml").write_text("")
    (tmp_path / "main.py").write_text("import gc\ngc.collect()\n")
    variant = Variant("plain", "as it is", {"NODE_ENV": "production"}, Approach.DOCUMENTED)
    return Stack(Server("one", "One", "C", "", "", tmp_path, (), (), (), ("node", "main.js", "--port"), {}, {}), variant)


def test_a_plain_variant_is_documented(stack: Stack) -> None:
    """Neither an environment that tunes nothing nor an option of the program itself is a flag."""
    assert unnamed(stack) == []


@pytest.mark.parametrize(
    ("env", "serve", "found"),
    [
        ({"GOGC": "400"}, ("./server",), "GOGC"),
        ({"MALLOC_ARENA_MAX": "2"}, ("./server",), "MALLOC_ARENA_MAX"),
        ({"NODE_OPTIONS": "--jitless"}, ("node", "main.js"), "NODE_OPTIONS"),
        ({}, ("node", "--initial-old-space-size=128", "main.js"), "--initial-old-space-size"),
        ({}, ("/usr/bin/java", "-XX:+UseParallelGC", "-jar", "x.jar"), "-XX:+UseParallelGC"),
    ],
)
def test_a_flag_must_be_named(stack: Stack, env: dict[str, str], serve: tuple[str, ...], found: str) -> None:
    """A flag is refused in a documented variant, and in a tuned one whose `tuning` does not name it."""
    variant = replace(stack.variant, env=env, serve=serve)
    assert unnamed(Stack(stack.server, variant)) == [found]
    other = replace(variant, approach=Approach.TUNED, tuning=(Tuning("something else", "", "none"),))
    assert unnamed(Stack(stack.server, other)) == [found]
    named = replace(other, tuning=(*other.tuning, Tuning(f"it has {found}=1", "", "none")))
    assert unnamed(Stack(stack.server, named)) == []


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("main.py", "gc.freeze()"),
        ("Cargo.toml", 'lto = "fat"'),
        ("main.rs", "use mimalloc::MiMalloc;"),
        ("a.js", "new pg.Query(x)"),
    ],
)
def test_tuned_code_is_refused_where_the_variant_runs_it(stack: Stack, file: str, text: str) -> None:
    """Code that tunes is found in the files of a documented variant, and not in those that only the others run."""
    (stack.server.folder / file).write_text(text)
    assert len(unnamed(stack)) == 1
    apart = replace(stack.variant, serve=("node", f"{APART}/main.js"))
    assert unnamed(Stack(stack.server, apart)) == []
    (stack.server.folder / APART).mkdir()
    (stack.server.folder / APART / file).write_text(text)
    assert len(unnamed(Stack(stack.server, apart))) == 1


@pytest.mark.parametrize(
    ("text", "env", "serve", "found"),
    [
        ("", {}, ("./server",), ["a page"]),
        ("[here](http://example.org)", {}, ("./server",), ["a page"]),
        ("[here](https://example.org)\n## The variant `documented`\nIts code.", {}, ("./server",), ["a page"]),
        ("[here](https://example.org)", {"MODE": "fast"}, ("./server",), ["MODE"]),
        ("[here](https://example.org) `MODE=fast`", {"MODE": "fast", "DRIVER": "plain"}, ("./server",), []),
        ("[here](https://example.org)", {}, ("java", "-jar", "x.jar", "--turbo=1", "-q"), ["--turbo", "-q"]),
        ("[here](https://example.org) `--turbo`", {}, ("java", "-jar", "x.jar", "--turbo=1"), []),
    ],
)
def test_what_a_documented_variant_does_not_tell_is_found(
    stack: Stack, text: str, env: dict[str, str], serve: tuple[str, ...], found: list[str]
) -> None:
    """A page, a variable and an option count where the documented part names them; a value counts in the manifest's words."""
    (stack.server.folder / "README.md").write_text(text)
    variant = replace(stack.variant, about="with a plain driver", env=env, serve=serve)
    assert untold(Stack(stack.server, variant)) == found
