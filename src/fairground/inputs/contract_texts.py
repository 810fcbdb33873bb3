"""The texts of a contract that is begun: its files, with a mark `decide` on each line where only a person can know."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fairground.inputs.openapi import OpenQuestion
from fairground.inputs.shell_words import ASSIGNED
from fairground.inputs.toml_text import lines_of, text_of, value_of
from fairground.model import foreign

TOLD = ("host", "port", "database_url")
"""What an application is told unless somebody says otherwise, each by its own name in capitals."""
LINE = 110
QUOTED = re.compile(r"""\\.|'[^']*'|"(?:\\.|[^"\\])*\"""", re.DOTALL)
OF_A_SHELL = re.compile(r"[&|;<>*?`\n]|\$\(|\$\{?[A-Z_]")
"""What only a shell understands; `$port`, in small letters, is the lab's to fill in."""
FILLED_IN = re.compile(r"`|\$\(|\$\{?[A-Z_]")
"""What a shell fills in between double quotes, too; where it is escaped there, only a shell takes the escape away."""
SCHEMA = """-- decide: the tables of your application as CREATE statements, or its own migrations by [schema] in contract.toml
"""
SEED = """-- decide: the rows, such as INSERT INTO person SELECT i FROM generate_series(1, $people) AS i
-- with `people` below [numbers.scaled] in contract.toml
"""
RIGHTS = """-- What a server's role may do in its database. The lab owns the tables; the role `fairground_rights` has the rights.
-- decide: give it no more than its statements need

DO $$
DECLARE
    home name;
BEGIN
    FOR home IN SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' LOOP
        EXECUTE format('REVOKE CREATE ON SCHEMA %I FROM PUBLIC', home);
        EXECUTE format('GRANT USAGE ON SCHEMA %I TO fairground_rights', home);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %I TO fairground_rights', home);
        EXECUTE format('GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA %I TO fairground_rights', home);
    END LOOP;
END $$;
"""
AUDIT = """
# decide: what one answer asks of the database (docs/contracts.md); until then nothing is held there, and the page says so
# [audit]
# writes = false
# commits_per_answer = 1
# rows_per_answer = 1
# statements = ["SELECT … WHERE id = $1"]
# tables = { NAME = { scans = 1, rows = 1 } }
"""


@dataclass(frozen=True)
class ProjectWords:
    """The words of a person for a project's files; what is empty was not said."""

    title: str = ""
    build: str = ""
    serve: str = ""
    ready: str = ""
    migrate: str = ""


def contract_toml(name: str, default: str, base: str, told: ProjectWords, ready: str, left_out: Sequence[str]) -> str:
    """The file `contract.toml`. `ready`: the path that is proposed where nobody said one."""
    lines = [f"title   = {text_of(told.title)}", f"default = {text_of(default)}      # asked where a command names no workload"]
    if base:
        lines += [
            "",
            "[paths]",
            "# decide: is this before each path where your application runs alone, too? A manifest may say otherwise",
        ]
        lines += [f"base = {text_of(base)}"]
    lines += [
        "",
        "# [numbers.scaled]",
        "# people = 1_000      # rows for each unit of --scale: `$people` in any text of this folder",
    ]
    lines += ["", "[ready]"]
    lines += [] if told.ready else ["# decide: the path and the status by which the lab learns that your application is ready"]
    lines += [f"path   = {text_of(told.ready or ready or '/')}", "status = 200"]
    if told.migrate:
        lines += ["", "# In place of schema.sql, the application's own migrations. `folder` is where they run, from here."]
        lines += ["# decide: the `files` that they read there, and the names by which they are told where the database is"]
        lines += ["[schema]", f"run         = {value_of(words_of(told.migrate))}"]
        lines += [f"environment = {{ {_variable('database_url')} }}", f'folder      = "../../servers/{name}"']
    lines += ["", "# decide: the names by which your application is told these; leave out what it is not told"]
    lines += [
        "[environment]",
        *map(_variable, TOLD),
        f"# {_variable('pool_size')}      # who is told no size of a pool is held to none",
    ]
    lines += ["", "# [errors]             # what each answer from 400 on has", '# content_type = "application/json"']
    return "\n".join([*lines, "", *(f"# left out: {foreign.line(one)}" for one in left_out), ""])


def workload_toml(one: OpenQuestion, origin: str) -> str:
    """The file of a workload that asks one question."""
    lines = [f"# Begun from `{one.operation}` of {origin}.", f"title = {text_of(one.title)}", f"why = {text_of(one.about)}"]
    lines += ["", "[request]", *_marked(one.marks), 'method = "GET"', f"path = {text_of(one.path)}"]
    lines += [f"# not sent: {', '.join(one.others)}"] if one.others else []
    lines += [f"headers = {value_of(one.headers)}"] if one.headers else []
    lines += [
        "",
        "[expect]",
        *_marked(one.answer_marks),
        f"status = {one.status}",
        *_types(one),
    ]
    return "\n".join([*lines, *(() if one.body is None else _body(one.body, "expect")), AUDIT])


def case_toml(one: OpenQuestion) -> str:
    """The file of the case that tries the same question once."""
    headers = [f"{name}: {value}" for name, value in one.headers.items()]
    lines = ["[[case]]", f"id = {text_of(one.id)}", f"title = {text_of(f'`{one.operation}` answers as its document says')}"]
    lines += [f"workloads = [{text_of(one.id)}]", "quick = true"]
    lines += [f"request = {{ line = {text_of(f'GET {one.example}')}, headers = {value_of(headers)} }}"]
    lines += ["", "[case.expect]", f"status = {one.status}", *_types(one)]
    return "\n".join([*lines, *(() if one.body is None else _body(one.body, "case", "expect")), ""])


def server_toml(name: str, told: ProjectWords) -> str:
    """The manifest of the application itself."""
    undecided = f"echo 'servers/{name}/server.toml does not say how your application is started' >&2; exit 1"
    lines = ["# decide: what your application is. Its sources belong into this folder: it is built and started here"]
    lines += [
        f"title    = {text_of(told.title)}",
        'language = "unknown"',
        'homepage = "unknown"',
        f"about    = {text_of(told.title)}",
    ]
    lines += [f"contract = {text_of(name)}"]
    lines += [] if told.build else ['# decide: the commands that build it, such as [["npm", "ci"]], and the tools that they need']
    lines += ["needs    = []", f"build    = {value_of([words_of(told.build)] if told.build else [])}"]
    lines += ["# decide: a command that prints the versions of its language and framework", 'version  = ["echo", "unknown"]']
    lines += [] if told.serve else ["# decide: the command that starts it"]
    lines += [f"serve    = {value_of(words_of(told.serve) if told.serve else ['sh', '-c', undecided])}"]
    return "\n".join([*lines, "", "[variants.default]", 'about    = "as it is"', 'approach = "documented"', ""])


def readme(name: str, title: str) -> str:
    """The project's README: what is there, and what to type next."""
    return f"""# {title}, measured with Fairground

`contracts/{name}` says what the application must do, and `servers/{name}` how it is built and started. Run these in this folder.
The first says, line by line, what is still to be decided:

```
fairground check --contract {name}
fairground check {name}
fairground run --stack {name}
fairground compare --revisions HEAD,. {name}:default
```

An installed lab keeps its results in `results/` of this folder. In a checkout of Fairground the command is that checkout's
`fairground`, by its path. It keeps them in the checkout; for those of this folder add `--results results` to each.
"""


def words_of(command: str) -> list[str]:
    """The words of a command as a manifest has them. What only a shell understands is one word for a shell."""
    if OF_A_SHELL.search(QUOTED.sub(_unquoted, command)):
        return ["sh", "-c", command]
    words = shlex.split(command)
    return ["env", *words] if ASSIGNED.match(command.lstrip()) else words


def _unquoted(quoted: re.Match[str]) -> str:
    """The part of a quoted text that is a shell's, behind something that stands for the rest."""
    return "_" + "".join(FILLED_IN.findall(quoted[0]) if quoted[0].startswith('"') else ())


def home_question() -> OpenQuestion:
    """The question where no document says more: the first page."""
    marks = ("which requests your application is asked: one file here for each of them",)
    answer = ("content type and body of a good answer: nothing is held against them",)
    about = "The first page. Say here what the request is, and why it is worth measuring."
    return OpenQuestion("home", "GET /", "The first page", about, "/", "/", {}, 200, (), None, marks, answer)


def _variable(name: str) -> str:
    return f"{name.upper()} = {text_of(f'${name}')}"


def _types(one: OpenQuestion) -> Sequence[str]:
    types = one.content_types
    return [f"content_type = {text_of(types[0]) if len(types) == 1 else value_of(types)}"] if types else []


def _marked(marks: Sequence[str]) -> Iterator[str]:
    return (f"# decide: {foreign.line(one)}" for one in marks)


def _body(body: Mapping[str, object], *place: str) -> Iterator[str]:
    line = f"body = {value_of(body)}"
    if len(line) <= LINE:
        yield line
    else:
        yield from lines_of({"body": body}, *place)
