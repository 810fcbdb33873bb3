"""A project of one's own, from its first word to a measurement: begun from a document, tried by itself, checked and loaded."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from builders import quiet

pytestmark = pytest.mark.live

TODO = {"$ref": "#/components/schemas/Todo"}
DOCUMENT = {
    "openapi": "3.0.3",
    "info": {"title": "Todo list"},
    "servers": [{"url": "http://localhost/v1"}],
    "paths": {
        "/todos": {
            "get": {
                "operationId": "every",
                "parameters": [{"name": "page", "in": "query", "required": True, "schema": {"type": "integer", "minimum": 1, "maximum": 2}}],
                "responses": {"200": {"content": {"application/json": {"schema": {"type": "array", "maxItems": 10, "items": TODO}}}}},
            }
        },
        "/version": {"get": {"operationId": "version", "responses": {"200": {"content": {"text/plain": {}}}}}},
    },
    "components": {
        "schemas": {
            "Todo": {
                "type": "object", "required": ["id", "note"], "additionalProperties": False,
                "properties": {"id": {"type": "integer"}, "note": {"type": "string", "nullable": True}},
            }
        }
    },
}  # fmt: skip
MIGRATE = """import os, psycopg
with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
    connection.execute("CREATE TABLE todo (id serial PRIMARY KEY, note text)")
"""
SERVE = """import http.server, json, os, threading, psycopg
from urllib.parse import urlsplit, parse_qs
connection, lock = psycopg.connect(os.environ["DATABASE_URL"], autocommit=True), threading.Lock()


class Todos(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        url, kind, body = urlsplit(self.path), "text/plain", b"1.0"
        if url.path == "/v1/todos":
            page = int(parse_qs(url.query)["page"][0])
            with lock:
                rows = connection.execute("SELECT id, note FROM todo ORDER BY id LIMIT 10 OFFSET %s", [10 * page - 10]).fetchall()
            kind, body = "application/json", json.dumps([{"id": id, "note": note} for id, note in rows]).encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer((os.environ["HOST"], int(os.environ["PORT"])), Todos).serve_forever()
"""


def call(folder: Path, cache: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a verb in a folder. The machine is quiet to it."""
    return subprocess.run(
        [sys.executable, "-m", "fairground", *words], cwd=folder, env=quiet.environment(cache), stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip


def test_a_project_goes_from_a_document_to_a_measurement(tmp_path: Path, cache: Path) -> None:
    """Each mark has a line and is no mistake; what the document says is held against the answers, under load as well."""
    project = tmp_path / "project"
    (tmp_path / "api.json").write_text(json.dumps(DOCUMENT))
    commands = ("--migrate", f"{sys.executable} migrate.py", "--serve", f"{sys.executable} serve.py", "--ready", "/v1/version")
    begun = call(tmp_path, cache, "init", "project", "--name", "todo", "--openapi", "api.json", *commands)
    assert begun.returncode == 0 and "a contract with 2 workloads" in begun.stdout, begun.stderr
    for name, text in (("migrate.py", MIGRATE), ("serve.py", SERVE)):
        (project / "servers" / "todo" / name).write_text(text)
    (project / "contracts" / "todo" / "seed.sql").write_text(
        "INSERT INTO todo (note) SELECT nullif(i % 3, 0)::text FROM generate_series(1, 15) i;"
    )

    tried = call(project, cache, "check", "--contract", "todo")
    lines = tried.stdout.splitlines()
    assert tried.returncode == 0 and lines[-1].startswith("✓ todo: ") and lines[-1].endswith(" places to decide"), (
        tried.stdout + tried.stderr
    )
    assert lines[:-1] and all(line.startswith("? ") for line in lines[:-1])
    text = (project / "contracts" / "todo" / "workloads" / "every.toml").read_text().splitlines()
    number = next(number for number, line in enumerate(text, 1) if line.startswith("# decide: what one answer asks"))
    assert f"? todo/workloads/every.toml, line {number}: what one answer asks of the database" in tried.stdout

    checked = call(project, cache, "check", "todo")
    assert checked.returncode == 0 and "todo:default: 2 cases passed" in checked.stdout, checked.stdout + checked.stderr
    short = ("--connections", "2", "--window", "1", "--warmup", "1,1", "--blocks", "1", "--no-controls", "--quiet")
    run = call(project, cache, "run", "-s", "todo", "-w", "every,version", "--results", "results", *short)
    assert run.returncode == 0, run.stdout + run.stderr
    (entries,) = (project / "results").glob("*/entries.jsonl")
    trials = [json.loads(line) for line in entries.read_text().splitlines()]
    assert len(trials) == 2 and all(one["verdict"] != "rejected" and one["result"]["completed_ok"] for one in trials), trials

    (project / "servers" / "todo" / "serve.py").write_text(SERVE.replace('"note": note}', '"note": 1}'))
    wrong = call(project, cache, "check", "todo", "--case", "every")
    assert wrong.returncode == 1 and "`note` in element 0 of the body is `1`, expected any text" in wrong.stdout, wrong.stdout
