"""The tables of a database that runs, as SQL by pg_dump, which is told to read no rows. A password goes by its environment."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from fairground.host import Keeper, build, server
from fairground.model import LabError, foreign
from fairground.model.known import KNOWN
from fairground.postgres import libpq, packages

VARIABLES: Mapping[str, str] = {
    "host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "password": "PGPASSWORD", "dbname": "PGDATABASE",
    "sslmode": "PGSSLMODE", "sslrootcert": "PGSSLROOTCERT", "sslcert": "PGSSLCERT", "sslkey": "PGSSLKEY",
    "channel_binding": "PGCHANNELBINDING", "gssencmode": "PGGSSENCMODE", "passfile": "PGPASSFILE", "options": "PGOPTIONS",
    "connect_timeout": "PGCONNECT_TIMEOUT", "application_name": "PGAPPNAME", "target_session_attrs": "PGTARGETSESSIONATTRS",
}  # fmt: skip
"""What a URL may say, and the variable that tells a program of PostgreSQL the same."""
ARGUMENTS = (
    "--schema-only", "--encoding=UTF8", "--no-owner", "--no-privileges", "--no-publications", "--no-subscriptions",
    "--no-security-labels", "--no-tablespaces", "--no-password",
)  # fmt: skip
DUMPS_S = 300.0
QUOTED = r"""(?P<quoted>--[^\n]*|'[^']*'|"[^"]*"|(?P<dollars>\$(?:[A-Za-z_]\w*)?\$).*?(?P=dollars))"""
"""A text within a dump: what stands in it, such as the body of a function, stays as it is."""
NAME = r"(?:\"[^\"]*\"|[^\s\";,])+"
OF_A_SESSION = re.compile(
    r"^(?:\\[^\n]*|SET (?!check_function_bodies)\w+ = [^;\n]*;|SELECT pg_catalog\.set_config\('search_path'[^\n]*)\n"
    r"|^CREATE USER MAPPING FOR (?P<user>\"[^\"]*\"|\S+) SERVER (?P<server>\"[^\"]*\"|[^\s;]+)(?:'[^']*'|[^';])*;"
    r"|^CREATE MATERIALIZED VIEW (?P<view>" + NAME + r")"
    r"|^CREATE POLICY (?P<policy>"
    + NAME
    + r") ON "
    + NAME
    + r"(?: AS RESTRICTIVE)?(?: FOR \w+)? TO (?P<role>"
    + NAME
    + ")|"
    + QUOTED,
    re.DOTALL | re.MULTILINE,
)
"""Lines for psql, or for the session that reads the dump: others follow it here, and rely on what a session has. Then the mapping
of a user to a foreign server, whose options may be a password; views whose rows are left behind, and policies for a role."""
LINES = re.compile(r"\n{3,}|" + QUOTED, re.DOTALL)


def dump_schema(keeper: Keeper, url: str, folder: Path) -> str:
    """The tables, functions and types of the database at a URL. `folder`: where the dump may lie meanwhile."""
    said = libpq.read_url(url, "postgresql://USER:PASSWORD@HOST:PORT/NAME")
    KNOWN.remember(str(said.get("password") or ""))
    if other := sorted(set(said) - set(VARIABLES)):
        raise LabError(f"`--database` says `{other[0]}`, which the lab does not pass on", "leave it out of the URL")
    told = {VARIABLES[name]: str(value) for name, value in said.items()}
    own = {name: keeper.environ[name] for name in ("PGPASSWORD",) if name in keeper.environ}
    file = folder / "schema.sql"
    words = (str(packages.own() / "pg_dump"), *ARGUMENTS, f"--file={file}")
    env = {**server.bare_environment(keeper.environ), **own, **told}
    code, output = build.BuildCommand(keeper, words, folder, env=env).end(DUMPS_S)
    if code != 0:
        lines = [line for line in output.splitlines() if line.strip()] or ["it said nothing"]
        why = (
            f"took longer than {DUMPS_S:.0f} s"
            if code is None
            else KNOWN.scrub(foreign.line(lines[0], foreign.SENTENCE_CHARACTERS))
        )
        raise LabError(
            f"the schema cannot be read from the given database: {why}",
            "mend what it says; its user must be able to read all tables",
        )
    try:
        return _for_a_contract(file.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        sentence = "the schema of the given database has bytes that are no UTF-8, as one of the encoding SQL_ASCII may"
        raise LabError(sentence, "dump it yourself: `pg_dump --schema-only`, then `iconv`") from error


def _for_a_contract(dump: str) -> str:
    """The dump without what is about its own session, and without what may be a password."""

    def text_of(found: re.Match[str]) -> str:
        if found["server"] is not None:
            return f"-- decide: the user mapping of {found['user']} for {found['server']} is left out: it may hold a password"
        if found["view"] is not None:
            said = f"{found['view']} has no rows: write `REFRESH MATERIALIZED VIEW {found['view']};` into seed.sql"
            return f"-- decide: {said}\n{found[0]}"
        if found["policy"] is not None:
            said = f"the policy {found['policy']} is for {found['role']}, which must be there: servers are in `fairground_rights`"
            return f"-- decide: {said}\n{found[0]}"
        return found["quoted"] or ""

    return LINES.sub(lambda found: found["quoted"] or "\n\n", OF_A_SESSION.sub(text_of, dump))
