"""A contract on paper with a mix of requests: lists that are read, entries that are made, changed and thrown away."""

from __future__ import annotations

from pathlib import Path

from fairground.inputs import contracts, workload_files
from fairground.model import Workload
from fairground.model.contract import Contract

CONTRACT = """
title = "Lists"
default = "day"
[numbers]
people = 3
[paths]
entries = "/entries"
[ready]
path = "/health"
status = 200
[answers]
content_type = "application/json"
[errors]
content_type = "application/json"
[data.people]
sql = "SELECT person, email FROM people LIMIT $people"
[data.sessions]
for_each = "people"
request = { method = "POST", path = "/login", headers = { content-type = "application/json" }, body = '{{"email":"{people.email}"}' }
keep = { token = "token" }
"""
DAY = """
title = "A day"
why = "People read, add, change and throw away. One in four writes."

[[request]]
name = "page"
weight = 6
method = "GET"
path = "$entries?page={int:1..2}"
headers = { authorization = "Bearer {sessions.token}" }
expect = { status = 200, body = { json = { total = "integer" } } }
needs = { commits_per_answer = 1, rows_per_answer = 10, statements = ["SELECT id FROM entries WHERE person = $1"], tables = { entries = { scans = 1, rows = 10 } } }

[[request.edge]]
name = "no-token"
share = 0.01
headers = { authorization = "Bearer nobody" }
status = [401]

[[request]]
name = "create"
weight = 2
method = "POST"
path = "$entries"
headers = { authorization = "Bearer {sessions.token}", content-type = "application/json" }
body = '{{"title":"{choice:milk|bread}"}'
expect = { status = 201, body = { json = { id = "integer", title = { slot = "title" } } } }
needs = { commits_per_answer = 1, statements = ["INSERT INTO entries"], tables = { entries = { inserted = 1 } } }
keep = { id = "id" }
[[request.ledger]]
name = "lists"
account = "sessions.person"
add = "1"

[[request]]
name = "remove"
weight = 1
method = "DELETE"
path = "$entries/{create.id:once}"
headers = { authorization = "Bearer {sessions.token}" }
expect = { status = 204 }
needs = { commits_per_answer = 2, tables = { entries = { scans = 1, deleted = 1 } } }
[[request.ledger]]
name = "lists"
account = "sessions.person"
add = "-1"

[audit]
writes = true
[[audit.invariants]]
id = "entries"
sentence = "there are as many entries as were made and not thrown away"
sql = "SELECT count(*) FROM entries"
equals = "before + good.create - good.remove"
[[audit.ledgers]]
name = "lists"
sql = "SELECT person, count(*) FROM entries GROUP BY person"
[audit.written]
of = "create"
holds = "SELECT EXISTS (SELECT FROM entries WHERE id = (:answer->>'id')::int AND title = :title AND person = :person)"
"""


def contract_at(folder: Path, text: str = CONTRACT) -> Contract:
    """The contract `lists` in a folder."""
    where = folder / "lists"
    (where / "workloads").mkdir(parents=True, exist_ok=True)
    (where / "contract.toml").write_text(text)
    return contracts.read_contract(where)


def day_at(folder: Path, text: str = DAY, contract: str = CONTRACT) -> Workload:
    """Its workload `day`, from this text."""
    found = contract_at(folder, contract)
    path = found.folder / "workloads" / "day.toml"
    path.write_text(text)
    return workload_files.read_workload(path, found)
