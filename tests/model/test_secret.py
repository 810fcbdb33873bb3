"""What is secret in a command, a URL, a header or a sentence is hidden, and all else stays readable."""

from __future__ import annotations

import shlex

import pytest

from builders.limited import printed
from fairground.cli.verbs import VERBS
from fairground.model import secret

WORD = "S3cr3t-pa55"
"""The secret that is planted."""

ONE_WORD = (
    # URLs of any scheme; characters in the password that should be percent-encoded
    f"--database=postgresql://lab:{WORD}@127.0.0.1:5432/postgres",
    f"postgresql://lab:{WORD}@host/db",
    f"postgresql://lab:p%40{WORD}@host/db",
    f"postgresql://lab:p@{WORD}@host/db",
    f"postgresql://lab:p:{WORD}@host/db",
    f"postgresql://lab:p/{WORD}@host/db",
    f"postgresql://lab:1/{WORD}@host/db",
    f"postgresql://lab:1?{WORD}@host/db",
    f"postgresql://lab:a b'{WORD}@host/db",
    f"postgresql://lab@host/db?password={WORD}&sslmode=require",
    f"mysql://lab:{WORD}@[::1]:3306/db",
    f"redis://:{WORD}@host",
    f"jdbc:postgresql://host/db?user=x&password={WORD}",
    f"lab:{WORD}@127.0.0.1:5432/db",
    f"http://me:{WORD}@host/x",
    f"https://{WORD}@host/x",
    f"host=h password={WORD} user=x",
    f"host=h password='{WORD} x' user=x",
    # queries
    f"http://host/x?api_key={WORD}",
    f"http://host/x?a=1&token={WORD}&b=2",
    f"--url=http://host/x?token={WORD}=",
    f"http://host/x?X-Amz-Signature={WORD}",
    f"http://host/?access_token={WORD}#x",
    f"127.0.0.1:3000/x?key={WORD}",
    f"http://host/x?login[token]={WORD}",
    f"http://host/x?pass%77ord={WORD}",
    # headers
    f"--header=X-Api-Key: {WORD}",
    f"--header=Proxy-Authorization:Basic {WORD}",
    f"--header=Authorization {WORD}",
    f"-HAuthorization: Bearer {WORD}",
    f"-Hcookie: theme=dark; sid={WORD}",
    f"-qHX-Auth-Token: {WORD}",
    f"-HX-Custom: Bearer {WORD}",
    # settings and options
    f"PGPASSWORD={WORD}",
    f"DB_PASS={WORD}&x",
    f"APP_SECRET_KEY_BASE={WORD}",
    f"STRIPE_KEY={WORD}",
    f"DATABASE_URL=postgresql://u:{WORD}@host/db",
    f"--api-key={WORD}",
    f"--set=password={WORD}",
    # bodies, sentences, commands in a word
    f'{{"user":"x","password":"{WORD}"}}',
    f'{{"access_token" : "{WORD}"}}',
    f"<login><password>{WORD}</password></login>",
    f"user=a&password={WORD}&y=1",
    f"connecting to postgresql://u:{WORD}@host/db failed",
    f"PGPASSWORD='{WORD}' ./server --port 1",
    f"./server --db-password {WORD} --port 1",
    f"mysql -h db -p{WORD} shop",
    f"cd app && /usr/bin/mariadb-dump -u me -p{WORD} shop | gzip",
    f"redis-cli -h cache -a {WORD} PING",
    f"mysql -u 'me' -p'{WORD}' shop",
    f'sshpass -p "two {WORD}" ssh host',
    f"mysql -p-{WORD} shop",
    f"ALTER ROLE lab PASSWORD '{WORD}'; SELECT 1",
    f"create user x encrypted password E'it''s {WORD}'",
    f"SELECT set_config('app.api_key', '{WORD}', false)",
    f"select jsonb_build_object( 'password', E'{WORD}' )",
    f"SET LOCAL app.token TO '{WORD}'",
)
TWO_WORDS = (
    ("-H", f"Authorization: {WORD}"),
    ("--header", f"X-Api-Key: {WORD}"),
    ("-qH", f"Cookie: a={WORD}"),
    ("-H", WORD),
    ("--password", WORD),
    ("--requirepass", WORD),
    ("--dbPassword", WORD),
    ("-u", f"me:{WORD}"),
    ("-e", f"PGPASSWORD={WORD}"),
    ("--env", f"API_TOKEN={WORD}"),
    ("--body", f'{{"password": "{WORD}"}}'),
)
READABLE = (
    "X-Request-Id: abc",
    "--header=X-Request-Id: abc",
    "-HX-Request-Id: abc",
    "Idempotency-Key: 17",
    "Accept: text/html",
    'If-Match: "a"',
    "http://127.0.0.1:3000/tokens",
    "http://host:1/tokens?page=2&limit=3",
    "http://host/users/@me",
    "http://[::1]:3000/login/session",
    "postgresql://lab@host/db?application_name=a@b",
    "postgresql://host:5432/db",
    "postgresql://USER:PASSWORD@HOST:PORT/postgres",
    "PGPASSFILE=/home/me/.pgpass",
    "POSTGRES_PASSWORD_FILE=/run/secrets/word",
    "SECRET_KEYFILE=/run/secrets/word",
    "--password-file=/x",
    "PWD=/home/me",
    "PORT=3000",
    "--pin=server=1",
    "--place=database=HOST",
    "--fault=stall=500ms@3s",
    "postgres:16@sha256:abc",
    "git@github.com:owner/name",
    "--max-tokens=100",
    "--bypass=1",
    "http://host/x?filter[page]=1",
    "<page>1</page>",
    "TOKENIZER=x",
    "author=me",
    "the token bucket: 5",
    "healthy:plain",
    '{"page": 1, "tokens": 3}',
    "@/run/secrets/header",
    "mysql -u me -p shop",
    "psql -h db -p5432 shop",
    "ALTER ROLE lab PASSWORD NULL",
    "SELECT set_config('work_mem', '64MB', false)",
    "SET search_path TO 'tokens'",
    "SELECT name FROM kinds WHERE name IN ('token', 'cookie')",
    "SELECT password FROM logins WHERE name = 'ada'",
    "mysql shop; serve -p 8080",
)
PROGRAMS = (
    ("mysql", "-h", "db", f"-p{WORD}"),
    ("/usr/bin/mysqldump", f"-p{WORD}", "shop"),
    ("env", "LANG=C", "redis-cli", "-a", WORD),
    ("sshpass", "-p", WORD, "ssh", "host"),
    ("sshpass", f"-p{WORD}", "ssh", "host"),
)
"""Commands whose program is given a password by one letter."""


@pytest.mark.parametrize("word", ONE_WORD)
def test_a_secret_in_a_word_is_hidden(word: str) -> None:
    """Nothing of it is left, `(hidden)` stands there, and hiding it again changes nothing."""
    (shown,) = secret.redact_words([word])
    assert WORD not in shown and secret.HIDDEN in shown
    assert secret.redact_words([shown]) == [shown]
    assert WORD in "".join(secret.secrets_of([word])), "who looks for its echo must know it"


@pytest.mark.parametrize("words", TWO_WORDS)
def test_a_secret_after_an_option_is_hidden(words: tuple[str, str]) -> None:
    """The word before says what it is."""
    option, shown = secret.redact_words(words)
    assert option == words[0] and WORD not in shown and secret.HIDDEN in shown
    assert secret.redact_words([option, shown]) == [option, shown]


@pytest.mark.parametrize("words", PROGRAMS)
def test_a_letter_is_a_password_to_some_programs(words: tuple[str, ...]) -> None:
    """The program says what the letter means; the other words stay, and to other programs the letter is something else."""
    shown = secret.redact_words(words)
    assert WORD not in " ".join(shown) and len(shown) == len(words)
    assert [one for one, other in zip(shown, words, strict=True) if one == other] == [one for one in words if WORD not in one]
    assert secret.redact_words(shown) == shown and secret.secrets_of(words) == (WORD,)
    assert secret.redact_words(["serve", "-p8080", "-a", "all"]) == ["serve", "-p8080", "-a", "all"]
    assert secret.redact_words(["serve", " x", ""]) == ["serve", " x", ""]
    assert secret.redact_words(["mysql", "-p", "shop"]) == ["mysql", "-p", "shop"]


@pytest.mark.parametrize("word", READABLE)
def test_what_is_no_secret_stays(word: str) -> None:
    """A name that sounds alike, a file's name, and the lab's own words."""
    assert secret.redact_words([word]) == [word] and secret.secrets_of([word]) == ()


@pytest.mark.parametrize("name", ["--header", "-H"])
def test_an_honest_header_stays(name: str) -> None:
    """A header's name decides, however it is typed."""
    assert secret.redact_words([name, "X-Request-Id: abc"]) == [name, "X-Request-Id: abc"]


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_no_option_of_the_lab_is_taken_for_a_secret(verb: str) -> None:
    """No option of a verb has a name by which its value would be hidden."""
    options = [name for one in VERBS[verb].load(verb).params for name in one.opts]
    assert [name for name in options if secret.is_secret(name.lstrip("-"))] == []


def test_a_command_is_hidden_as_a_shell_reads_it() -> None:
    """A command that was kept with its secrets loses them; one without stays to the letter."""
    found = secret.redact_command(shlex.join(["./fairground", "try", "-H", f"Cookie: {WORD}", "http://host/x"]))
    assert found == "./fairground try -H 'Cookie: (hidden)' http://host/x"
    for command in ("./fairground run -s  a   'x y'", "an unclosed 'quote"):
        assert secret.redact_command(command) == command


def test_a_word_of_thousands_of_parts_is_read_to_its_end() -> None:
    """Each `name=` is looked at, however many stand one after the other."""
    begun = "--set=" + "a=" * 5000
    assert secret.redact_words([f"{begun}password={WORD}", f"{begun}x"]) == [f"{begun}password={secret.HIDDEN}", f"{begun}x"]


PARTS = (
    "a",
    ".a",
    ",a:b",
    "eyJ-",
    "a=",
    "token=a&",
    "token='",
    "mysql -p ",
    "--a ",
    "f('a',",
    "http://a:b@c ",
    "<a>",
    "a1",
    "a@b:",
)
REDACTS = """
import sys
from fairground.model import secret
for part in sys.argv[1:]:
    text = part * (50_000 // len(part))
    for end in ("", " @", "!"):
        secret.redact(text + end)
    secret.redact_words([text])
    print(part, flush=True)
"""


def test_a_long_text_is_read_once() -> None:
    """A record or a service may send any: no word of it is read from each of its letters on, which would take many minutes."""
    assert printed(REDACTS, *PARTS).splitlines() == list(PARTS)
