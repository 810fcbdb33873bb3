"""Options and exit codes that several verbs share. This module loads nothing that measures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

BAD_ANSWER, NOTHING_MEASURED = 1, 3

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout.")]
Servers = Annotated[Path | None, typer.Option("--servers", metavar="DIR", help="Read servers from another folder.")]
Results = Annotated[Path | None, typer.Option("--results", metavar="DIR", help="Where runs are kept (default: results).")]
