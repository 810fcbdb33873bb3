"""Records: one folder for each measurement, written as it goes on and read again. A run is a record with files beside it.

`journal` writes files that survive a crash, `shapes` says what each holds, `store` keeps one record, and `runs` knows what a run
has of its own. `listing` finds records in a folder of results, `removal` clears it, and `hold` says which are measured into.
`memory` keeps what runs scattered by, in the cache.
"""

from fairground.records.hold import hold_record, is_held, require_unheld
from fairground.records.journal import scrub_folder
from fairground.records.listing import Damaged, find, find_run, is_kind, list_all, of_kind, size
from fairground.records.memory import add_run, foretell, load_memory
from fairground.records.removal import SERVE_WORD, SITE, KeptFolder, clear, own_of
from fairground.records.runs import (
    ATTEMPTS,
    append_limit,
    append_trial,
    create_run,
    done_of,
    end_run,
    judged_runs_of,
    left_of,
    load_run,
    reopen_run,
    run_of,
    run_so_far,
    trial_folder,
    trial_of,
    with_budget,
    write_judged,
    write_qualification,
)
from fairground.records.shapes import ENTRIES, HEAD, SHAPES, json_schema
from fairground.records.store import (
    append,
    create,
    discard,
    end,
    kind_of,
    load,
    read_head,
    require_database,
    require_same,
    require_unchanged,
)

__all__ = [
    "ATTEMPTS",
    "ENTRIES",
    "HEAD",
    "SERVE_WORD",
    "SHAPES",
    "SITE",
    "Damaged",
    "KeptFolder",
    "add_run",
    "append",
    "append_limit",
    "append_trial",
    "clear",
    "create",
    "create_run",
    "discard",
    "done_of",
    "end",
    "end_run",
    "find",
    "find_run",
    "foretell",
    "hold_record",
    "is_held",
    "is_kind",
    "json_schema",
    "judged_runs_of",
    "kind_of",
    "left_of",
    "list_all",
    "load",
    "load_memory",
    "load_run",
    "of_kind",
    "own_of",
    "read_head",
    "reopen_run",
    "require_database",
    "require_same",
    "require_unchanged",
    "require_unheld",
    "run_of",
    "run_so_far",
    "scrub_folder",
    "size",
    "trial_folder",
    "trial_of",
    "with_budget",
    "write_judged",
    "write_qualification",
]
