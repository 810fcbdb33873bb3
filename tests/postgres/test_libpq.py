"""Sessions of the lab's are deaf to the shell, and read the texts of any encoding."""

from __future__ import annotations

import os
import subprocess
import sys

import psycopg
import pytest

from builders.paths import ROOT
from fairground.model import LabError
from fairground.postgres import Database, DatabaseAddress, libpq
from fairground.postgres.given import _address

LOUD = {
    "PGDATESTYLE": "German",
    "PGTZ": "Asia/Tokyo",
    "PGOPTIONS": "-c statement_timeout=1 -c search_path=nowhere",
    "PGSERVICE": "nobody-knows-it",
    "PGHOSTADDR": "192.0.2.1",
    "PGTARGETSESSIONATTRS": "read-only",
    "PGSSLMODE": "require",
    "PGSSLROOTCERT": "system",
    "PGREQUIREAUTH": "none",
    "PGCHANNELBINDING": "require",
    "PGCLIENTENCODING": "LATIN1",
}
"""What a shell may say that is set up for another database."""
ASKS = """
import sys
from fairground.postgres import libpq
with libpq.open_session(sys.argv[1]) as one:
    print(one.execute("SELECT current_setting('DateStyle'), current_setting('TimeZone'), current_setting('statement_timeout')").fetchone())
"""


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("postgresql://me:pw@127.0.0.1/shop?schema=public", "says `schema`, which libpq does not know"),
        ("postgresql://me:pw@127.0.0.1/shop?sslmode=disable&connection_limit=5", "says `connection_limit`, which"),
        ("postgresql://me:p/a?secret=word@127.0.0.1/shop", "is not a connection URL"),
        ("mysql://nobody", "is not a connection URL"),
        ("host=h password=a?secret=1 shop", "is not a connection URL"),
    ],
)
def test_a_word_of_another_client_is_named(url: str, says: str) -> None:
    """Nothing else of the URL is: a password may be anywhere in it."""
    with pytest.raises(LabError) as refused:
        libpq.read_url(url, "as it should be")
    assert f"`--database` {says}" in refused.value.message and "secret" not in refused.value.message
    assert refused.value.hint == ("as it should be" if "URL" in says else "leave it out of the URL")


@pytest.mark.live
def test_a_shell_that_is_set_up_for_another_database_changes_nothing(database: Database) -> None:
    """A process with all of these variables has the session that one without them has."""
    command = [sys.executable, "-c", ASKS, database.admin.url("postgres")]
    quiet = {**{name: value for name, value in os.environ.items() if not name.startswith("PG")}, "PYTHONPATH": str(ROOT / "src")}
    told, untold = (
        subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout for env in ({**quiet, **LOUD}, quiet)
    )
    assert told == untold and "ISO" in told


def test_what_the_shell_says_of_tls_is_for_given_databases(monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes with the address, unless the URL says something else; a password is heard by libpq itself."""
    monkeypatch.setattr("fairground.postgres.given.SHELL_TLS", {"sslmode": "verify-full", "sslcert": "/mine"})
    assert _address("postgresql://u:p@h/x").libpq == (("sslmode", "verify-full"), ("sslcert", "/mine"))
    assert dict(_address("postgresql://u:p@h/x?sslmode=require").libpq)["sslmode"] == "require"
    assert not {"PGPASSWORD", "PGPASSFILE"} & set(libpq.UNHEARD)
    known = {one.envvar.decode() for one in psycopg.pq.Conninfo.get_defaults() if one.envvar is not None}
    assert known <= {*libpq.UNHEARD, *libpq.HEARD}


def test_text_of_another_encoding_is_read() -> None:
    """A letter of LATIN1, or half of one, is replaced; a text of UTF-8 is as it was."""
    read = libpq.TextOfAnybody(25).load
    assert read(b"m\xfcller") == "m�ller" and read("Ж".encode()[:1]) == "�"
    assert read("müller".encode()) == "müller"


@pytest.mark.parametrize(("user", "host", "url"), [
    ("lab", "::1", "postgresql://lab:p@[::1]:5432/x"),
    ("a/b c", "h", "postgresql://a%2Fb%20c:p@h:5432/x"),
    ("lab", "127.0.0.1", "postgresql://lab:p@127.0.0.1:5432/x"),
])  # fmt: skip
def test_a_url_says_what_the_address_says(user: str, host: str, url: str) -> None:
    """An address of IPv6 has its brackets, and a name no letter that ends it."""
    assert DatabaseAddress(host, 5432, user, "p").url("x") == url
    said = psycopg.conninfo.conninfo_to_dict(url)
    assert (said["host"], said["user"]) == (host, user)


@pytest.mark.parametrize(
    "url", ["postgresql:///postgres?host=/var/run/postgresql", "postgresql://a,b/postgres", "host=@abstract"]
)
def test_servers_need_one_host(url: str) -> None:
    """A socket in the file system and a list of hosts are no address for every driver."""
    with pytest.raises(LabError, match="servers under test connect to one host, by TCP") as caught:
        _address(url)
    assert caught.value.exit_code == 2
