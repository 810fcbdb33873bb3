"""Who measures without hosts loads no Dask."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from builders.paths import ROOT

LOADED = """
import sys
from fairground.cli import main
sys.argv = ["fairground", *{words!r}]
try:
    main()
except SystemExit:
    pass
print([name for name in ("dask", "distributed", "tornado", "cryptography") if name in sys.modules], file=sys.stderr)
"""


@pytest.mark.live
@pytest.mark.parametrize("words", [("run", "suites/demo.toml", "--dry-run", "--json"), ("host", "--help"), ("list", "suites")])
def test_no_dask_without_hosts(words: tuple[str, ...]) -> None:
    """A plan, a help and a list are made without it."""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-c", LOADED.format(words=words)], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0 and done.stdout, done.stderr
    assert done.stderr.splitlines()[-1] == "[]"


@pytest.mark.live
def test_modules_of_a_run_load_no_dask() -> None:
    """Nor do the use cases, the pages and the lab in a browser."""
    program = "import sys, fairground.lab.run, fairground.lab.share, fairground.serve.app; print('dask' in sys.modules)"
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "False\n"), done.stderr
