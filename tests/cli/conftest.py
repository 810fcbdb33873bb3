"""Fixtures of the command line: it is run in processes of its own, with a cache and results of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.command import MANIFEST, PLAIN, ROOT, Done, Run

FORKING = """
import functools, gc, json, os, sys
import numpy, scipy.stats, typer._adapters, typer._click.decorators
from fairground.cli import main, verbs
from fairground.lab.places import Places
from fairground.report import frame
verbs.Verb.load = functools.cache(verbs.Verb.load)
Places().load_servers()
for name, verb in verbs.VERBS.items():
    for one in verb.load(name).params:
        one.get_runtime_param()
for name in frame.environment().list_templates(("html", "css")):
    frame.environment().get_template(name)
gc.freeze()
gc.disable()
for line in sys.stdin:
    order = json.loads(line)
    child = os.fork()
    if child == 0:
        os.chdir(order["cwd"])
        os.environ.update(order["environment"])
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for descriptor, path in ((1, order["stdout"]), (2, order["stderr"])):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
        sys.argv = ["fairground", *order["words"]]
        try:
            main()
        except SystemExit as ended:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(ended.code or 0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""Runs the command line once for each order, each time in a process of its own that has all imports, commands and templates behind it: they take
longer than most verbs."""


@pytest.fixture
def lab(tmp_path: Path, fairground: Run) -> Run:
    """Runs the command line on two made-up servers, with a cache and results of its own."""
    for name, need in (("alder-one", "true"), ("birch-two", "no-such-compiler")):
        folder = tmp_path / "servers" / name
        folder.mkdir(parents=True)
        (folder / "server.toml").write_text(MANIFEST.format(title=name.title(), need=need))
        (folder / "main.c").write_text("int main;")
        (folder / "out").write_text("built")
        (folder / ".gitignore").write_text("out\n")

    def run(*words: str, **environment: str) -> Done:
        return fairground(*words, cwd=tmp_path, FAIRGROUND_CACHE=str(tmp_path / "cache"), **environment)

    return run


@pytest.fixture(scope="package")
def fairground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """One run of the command line in a process of its own: its exit code, standard output and standard error."""
    place = tmp_path_factory.mktemp("cli")
    inherited = {name: value for name, value in os.environ.items() if name not in ("GITHUB_ACTIONS", "CI", "FORCE_COLOR")}
    server = subprocess.Popen(
        [sys.executable, "-c", FORKING], env=inherited | PLAIN, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert server.stdin is not None and server.stdout is not None
    orders, codes, files = server.stdin, server.stdout, {name: str(place / name) for name in ("stdout", "stderr")}

    def run(*words: str, cwd: Path = ROOT, **environment: str) -> Done:
        orders.write(json.dumps({"words": words, "cwd": str(cwd), "environment": environment, **files}) + "\n")
        orders.flush()
        code = int(codes.readline())
        return subprocess.CompletedProcess(words, code, *(Path(file).read_text() for file in files.values()))

    yield run
    orders.close()
    server.wait()
