"""The stages of a dockerfile → commands that do the same in a folder, as far as they are plain.

The tree of the image is laid out below `_image`: `/app` is `_image/app`. No command is taken that names another place of the
image, installs beyond the folder, or is no tool of a language. What is not taken is a `Remark` with its line.
"""

from __future__ import annotations

import copy
import posixpath
import re
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from fairground.inputs import dockerfile
from fairground.inputs.dockerfile import BuildStage, Instruction
from fairground.inputs.shell_words import ASSIGNED

IMAGE, FILES = "_image", "files"
TOOLS = {
    "node": "--version", "npm": "--version", "npx": "--version", "yarn": "--version", "pnpm": "--version", "bun": "--version",
    "deno": "--version", "python3": "--version", "go": "version", "cargo": "--version", "mvn": "--version", "gradle": "--version",
    "java": "-version", "javac": "-version", "ruby": "--version", "bundle": "--version", "php": "--version",
    "composer": "--version", "dotnet": "--version", "make": "--version", "cmake": "--version", "g++": "--version",
    "gcc": "--version",
}  # fmt: skip
"""A tool of a language, and what makes it print its version."""
LOOKS_FOR = "command -v "
PYTHONS = frozenset({"python", "python3", "pip", "pip3", "gunicorn", "uvicorn", "hypercorn", "granian"})
OF_A_SHELL = frozenset(
    {"cd", "mkdir", "cp", "mv", "chmod", "rm", "ln", "cat", "echo", "touch", "sed", "export", "test", "true", "jar"}
)
SYSTEM = frozenset({"apt-get", "apt", "apk", "yum", "dnf", "microdnf", "pacman", "zypper", "tdnf"})
BEYOND = re.compile(
    r"^(npm|yarn|pnpm)\b.*\s(-g|--global|--location=global)\b|^yarn global\b|^dotnet tool\b"
    r"|^(go|cargo|gem|pipx|corepack)\s+(install|enable)\b"
)
SILENT = ("EXPOSE", "USER", "VOLUME", "LABEL", "MAINTAINER", "STOPSIGNAL", "HEALTHCHECK", "SHELL")
ROOTS = frozenset(
    {"bin", "boot", "dev", "etc", "home", "lib", "lib64", "proc", "root", "run", "sbin", "sys", "tmp", "usr", "var"}
)
"""Folders of any system: a path below one is of the image, unless the dockerfile itself put something there."""
PROGRAMS = re.compile(r"(?:/usr(?:/local)?)?/bin/")


@dataclass(frozen=True)
class Remark:
    """A part of a file that could not be taken over: the file, the line where there is one, and one clause."""

    file: str
    line: int | None
    text: str

    def __str__(self) -> str:
        return f"{self.file}{f', line {self.line}' if self.line else ''}: {self.text}"


@dataclass
class _Tree:
    """A stage while it is read: its folder below the image's, its places, and its variables."""

    root: str
    workdir: str = "/"
    places: set[str] = field(default_factory=set)
    search: list[str] = field(default_factory=list)
    """Places that its PATH begins with."""
    environment: dict[str, str] = field(default_factory=dict)
    arguments: dict[str, str] = field(default_factory=dict)
    entrypoint: Instruction | None = None
    command: Instruction | None = None

    def copy(self, root: str) -> _Tree:
        """The tree of a stage that begins with this one: what follows there changes nothing here."""
        return copy.deepcopy(replace(self, root=root))

    def absolute(self, path: str) -> str:
        return posixpath.normpath(posixpath.join(self.workdir, path))

    def local(self, path: str) -> str:
        return posixpath.join(self.root, self.absolute(path).lstrip("/")).rstrip("/")

    def knows(self, path: str) -> bool:
        """True for a path that is laid out here, since the dockerfile put something there, or would."""
        return path.split("/")[1] not in {*ROOTS, ""} or self.is_made(path)

    def is_made(self, path: str) -> bool:
        """True for a path at or below one that the dockerfile names; the base image has others."""
        return any(path == place or path.startswith(place + "/") for place in self.places)


class Recipe:
    """The commands and variables of a dockerfile. `sources`: what of its folder they use; `image`: its last base."""

    def __init__(self, file: str, context: Path, stages: Sequence[BuildStage], told: dict[str, str]) -> None:
        self.build: list[tuple[str, ...]] = [("rm", "-rf", IMAGE)]
        self.serve: tuple[str, ...] | None = None
        self.environment: dict[str, str] = {}
        self.remarks: list[Remark] = []
        self.sources: set[str] = set()
        self.programs: list[str] = []
        self._searches = False
        self.image = stages[-1].base
        self._file, self._context, self._trees, self._told = file, context.resolve(), dict[str, _Tree](), told
        for number, stage in enumerate(stages):
            self._stage(stage, IMAGE if len(stages) == 1 else f"{IMAGE}/{number}")

    @property
    def needs(self) -> tuple[tuple[str, ...], ...]:
        """The tools of languages that its commands call, each with what prints its version; and what serves, from PATH."""
        names = ["python3" if name in PYTHONS else name for name in self.programs]
        tools = tuple((name, TOOLS[name]) for name in dict.fromkeys(names) if name in TOOLS)
        served = self.programs[-1] if self.programs else ""
        known = served in {*TOOLS, *PYTHONS, *OF_A_SHELL, ""} or "/" in served or "python3" in names or self._searches
        return tools if known else (*tools, ("sh", "-c", f"{LOOKS_FOR}{served}"))

    def lacks(self, path: str | None) -> tuple[str, ...]:
        """The programs among its needs that are not on this PATH."""
        names = [words[-1].removeprefix(LOOKS_FOR) if words[0] == "sh" else words[0] for words in self.needs]
        return tuple(name for name in names if shutil.which(name, path=path) is None)

    def finish(self, command: str | None) -> None:
        """Read what serves: the last stage's entry point and command, or the `command` that stands in their place."""
        tree = list(self._trees.values())[-1]
        if set(self.programs) & PYTHONS or self._mentions(tree):
            self.build.insert(1, ("python3", "-m", "venv", f"{IMAGE}/.venv"))
        parts = [one for one in (tree.entrypoint, tree.command) if one is not None]
        if command is not None:
            parts = [Instruction("CMD", command, 0)]
        if not parts:
            self._remark(None, "it has neither `CMD` nor `ENTRYPOINT`, so the image's own would serve")
            return
        if len(parts) == 2 and parts[0].words() is None:
            parts = parts[:1]
        text = " ".join(self._text_of(one, tree) for one in parts)
        if (wrong := self._wrong(text, tree, serves=True)) is not None:
            self._remark(parts[0], f"`{parts[0].word} {parts[0].rest}` {wrong}")
            return
        self._searches = bool(tree.search)
        self.environment = {key: value for key, value in tree.environment.items() if not self._has_place(value, tree)}
        self.programs += [program for part, _ in dockerfile.commands(text) if (program := _program(part))]
        pieces = dockerfile.commands(text)
        alone = all(operator in ("&&", "") for _, operator in pieces) and not ASSIGNED.match(pieces[-1][0])
        lines = [f"{part} {operator}".strip() for part, operator in pieces]
        if alone:
            lines[-1] = f"exec {lines[-1]}"
        self.serve = ("sh", "-c", self._script(" ".join(lines), tree, serves=True))

    # ------------------------------------------------------------ instructions

    def _stage(self, stage: BuildStage, root: str) -> None:
        base = self._trees.get(stage.base.lower())
        tree = _Tree(root) if base is None else base.copy(root)
        if base is not None:
            self._shell(f"if [ -d {base.root} ]; then mkdir -p {root} && cp -R {base.root}/. {root}; fi")
        tree.arguments = {**tree.arguments, **self._told}
        self._trees.pop(stage.name, None)
        self._trees[stage.name] = tree
        for one in stage.instructions:
            self._instruction(one, tree)

    def _instruction(self, one: Instruction, tree: _Tree) -> None:
        known = {**tree.arguments, **tree.environment}
        match one.word:
            case "WORKDIR":
                tree.workdir = tree.absolute(dockerfile.expand(one.text, known).strip("\"'"))
                tree.places |= {tree.workdir} - {"/"}
            case "ENV":
                self._variables(one, tree)
            case "ARG":
                tree.arguments = {**dockerfile.assignments(one.text, known), **tree.arguments}
            case "COPY" | "ADD":
                self._copy(Instruction(one.word, dockerfile.expand(one.text, known), one.line), tree)
            case "RUN":
                self._run(one, tree)
            case "CMD":
                tree.command = one
            case "ENTRYPOINT":
                tree.entrypoint, tree.command = one, None
            case word if word not in SILENT:
                self._remark(one, f"`{word} {one.text}` is not taken over")

    def _variables(self, one: Instruction, tree: _Tree) -> None:
        for key, value in dockerfile.assignments(one.text, {**tree.arguments, **tree.environment}).items():
            foreign = [found[0] for found in dockerfile.paths(value) if not tree.knows(found[0].rstrip("/"))]
            before = [part for part in value.split(":") if part not in ("$PATH", "${PATH}")]
            if key == "PATH" and all(part.startswith("/") and tree.knows(part.rstrip("/")) for part in before):
                tree.search = before
            elif key in ("PATH", "HOME") or "$" in value or foreign and value.startswith("/"):
                self._remark(one, f"`ENV {key}` is `{value}`, which is of the image")
            elif not re.fullmatch(r"[A-Za-z_]\w*", key):
                self._remark(one, f"`{key}` is no name of a variable")
            else:
                tree.environment[key] = value

    def _copy(self, one: Instruction, tree: _Tree) -> None:
        words = one.words() or one.rest.split()
        if len(words) < 2 or "<<" in one.rest:
            self._remark(one, f"`{one.word} {one.rest}` is not plain")
            return
        *sources, target = words
        into = target.endswith("/") or target in (".", "./") or len(sources) > 1 or tree.absolute(target) in (tree.workdir, "/")
        origin = one.flags.get("from")
        for source in sources:
            if origin is not None:
                self._copy_from(one, origin, source, target, into, tree)
            else:
                self._copy_files(one, source, target, into, tree)

    def _copy_from(self, one: Instruction, origin: str, source: str, target: str, into: bool, tree: _Tree) -> None:
        """Copy what an earlier stage has built. Only then is known whether it is a folder."""
        stage = self._trees.get(origin.lower())
        if stage is None or not stage.knows(posixpath.normpath("/" + source.lstrip("/"))):
            self._remark(one, f"`{source}` is of the image `{origin}`")
            return
        old = shlex.quote(posixpath.join(stage.root, source.lstrip("/")).rstrip("/")).strip("'")
        new = self._target(target, into, tree, posixpath.basename(source.rstrip("/")))
        folder = shlex.quote(new if into else posixpath.dirname(new))
        kept = shlex.quote(new)
        self._shell(
            f"if [ -d {old} ]; then mkdir -p {kept} && cp -R {old}/. {kept}; else mkdir -p {folder} && cp {old} {kept}; fi"
        )

    def _copy_files(self, one: Instruction, source: str, target: str, into: bool, tree: _Tree) -> None:
        """Copy files of the framework's folder; of a folder, what is in it."""
        pattern = posixpath.normpath(source.lstrip("/")) if source.strip("/") else "."
        if pattern.startswith("..") or "://" in source:
            self._remark(one, f"`{source}` is not in the framework's folder")
            return
        found = [self._context] if pattern == "." else sorted(self._context.glob(pattern))
        if not found:
            self._remark(one, f"there is no `{source}`")
            return
        into = into or len(found) > 1
        for path in found:
            old = path.relative_to(self._context).as_posix()
            self.sources.add(old)
            here = shlex.quote(posixpath.normpath(posixpath.join(FILES, old)))
            new = self._target(target, into and not path.is_dir(), tree, path.name)
            if path.is_dir():
                words = f"mkdir -p {shlex.quote(new)} && cp -R {here}/. {shlex.quote(new)}"
            else:
                folder = new if into else posixpath.dirname(new)
                words = f"mkdir -p {shlex.quote(folder)} && cp {here} {shlex.quote(new)}"
            self._shell(words)

    def _target(self, target: str, into: bool, tree: _Tree, name: str) -> str:
        place = tree.absolute(target)
        tree.places.add(posixpath.join(place, name) if place == "/" and into else place)
        tree.places.discard("/")
        return tree.local(target)

    def _run(self, one: Instruction, tree: _Tree) -> None:
        words = one.words()
        text = one.rest if words is None else shlex.join(words)
        if dockerfile.HERE.search(text):
            self._remark(one, "`RUN` with a here-document is not plain")
            return
        kept = list[str]()
        for step, is_plain in dockerfile.steps(text):
            part = self._unrooted(step, tree)
            wrong = self._wrong(part, tree) if is_plain else "has a pipe or a choice"
            if part.startswith("set ") or wrong is not None and _program(part) == "rm":
                continue  # what is not here needs no removal
            if wrong is not None:
                self._remark(one, f"`{part}` {wrong}")
            else:
                kept.append(part)
        if kept and any(_program(part) not in ("cd", "echo", "true") for part in kept):
            self.programs += [program for part in kept if (program := _program(part))]
            tree.places |= {place[0].rstrip("/") for part in kept for place in dockerfile.paths(part) if place[0].strip("/")}
            self._shell(self._script(" && ".join(kept), tree))

    # ------------------------------------------------------------ words

    def _wrong(self, text: str, tree: _Tree, serves: bool = False) -> str | None:
        """Say why a command is not taken; None where it is plain."""
        program = _program(text)
        if program in SYSTEM:
            return "installs packages of the system: do so by hand where they are needed"
        if BEYOND.search(text):
            return "installs beyond its folder: do so by hand"
        own = program.startswith(("./", "/")) or "/" in program
        if not serves and not own and program not in {*TOOLS, *PYTHONS, *OF_A_SHELL}:
            return f"is of `{program}`, which is no tool of a language that is known here"
        if "`" in text or "$(" in text and not serves or re.search(r"(^|\s)~|\$\{?HOME\b", text):
            return "is not plain"
        if any(text[: found.start()].count("'") % 2 for found in dockerfile.paths(text)):
            return "has a path within quotes, and is not plain"
        other = [found[0] for found in dockerfile.paths(text) if not self._is_free(found[0], tree, serves)]
        return f"names `{other[0]}` of the image" if other else None

    def _is_free(self, path: str, tree: _Tree, serves: bool) -> bool:
        path = path.rstrip("/")
        return path.startswith("/dev/") or (tree.is_made(path) if serves else tree.knows(path))

    def _has_place(self, value: str, tree: _Tree) -> bool:
        return any(tree.knows(found[0].rstrip("/")) for found in dockerfile.paths(value))

    def _mentions(self, tree: _Tree) -> bool:
        parts = [one for one in (tree.entrypoint, tree.command) if one is not None]
        return any(_program(self._text_of(one, tree)) in PYTHONS for one in parts)

    def _text_of(self, one: Instruction, tree: _Tree) -> str:
        words = one.words()
        text = one.rest if words is None else shlex.join(words)
        if (
            words is not None
            and words[:2] in (["sh", "-c"], ["/bin/sh", "-c"], ["bash", "-c"], ["/bin/bash", "-c"])
            and len(words) == 3
        ):
            text = words[2]
        return self._unrooted(text, tree)

    def _unrooted(self, text: str, tree: _Tree) -> str:
        """The command with its program looked for on PATH, where it is the system's."""
        found = PROGRAMS.match(text)
        own = found is not None and any(text.split()[0].endswith(place) for place in tree.places)
        return text if found is None or own else text[found.end() :]

    def _script(self, text: str, tree: _Tree, serves: bool = False) -> str:
        """A shell's text that does this where the stage's tree is laid out."""
        places = {key: value for key, value in tree.environment.items() if self._has_place(value, tree)}
        shown = {} if serves else {**tree.arguments, **tree.environment}
        lines = [f'{key}="{self._moved(value, tree)}"' for key, value in places.items()]
        lines += [f"{key}={shlex.quote(value)}" for key, value in shown.items() if key not in places and value]
        if set(self.programs) & PYTHONS or _program(text.removeprefix("exec ")) in PYTHONS:
            lines.append(f'PATH="$PWD/{IMAGE}/.venv/bin:$PATH"')
        if "bundle" in {*self.programs, _program(text)}:
            lines.append(f'BUNDLE_PATH="$PWD/{IMAGE}/.bundle"')
        if tree.search:
            lines.append(f'PATH="{":".join(f"$IMAGE{part}" for part in tree.search)}:$PATH"')
        moved = self._moved(text, tree)
        root = f'IMAGE="$PWD/{tree.root}"; ' if "$IMAGE" in " ".join([moved, *lines]) else ""
        exported = "".join(f"export {line}; " for line in lines)
        here = tree.local(".")
        made = "" if serves else f"mkdir -p {shlex.quote(here)} && "
        return f"{root}{exported}{made}cd {shlex.quote(here)} && {moved}"

    def _moved(self, text: str, tree: _Tree) -> str:
        """The text with its places of the image where they are laid out."""
        found = [one for one in dockerfile.paths(text) if tree.knows(one[0].rstrip("/"))]
        for one in reversed(found):
            text = f"{text[: one.start()]}$IMAGE{text[one.start() :]}"
        return text

    def _shell(self, text: str) -> None:
        self.build.append(("sh", "-c", text))

    def _remark(self, one: Instruction | None, text: str) -> None:
        line = one.line if one is not None and one.line else None
        self.remarks.append(Remark(self._file, line, " ".join(text.split())))


def _program(text: str) -> str:
    """The program that a command calls, its variables left out."""
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    called = [word for word in words if not ASSIGNED.match(word)]
    called = called[1:] if called[:1] in (["exec"], ["env"]) else called
    return PROGRAMS.sub("", called[0]) if called else ""
