"""Secrets in what a person gave: which names have one, and where it stands in a command, a URL, a header or a sentence.

`redact` and `redact_words` put HIDDEN in its place, and are the one way by which a command, a URL or an error's words are kept.
A name decides, and seldom a value: `X-Api-Key: …` is hidden, and `X-Request-Id: …` is not. What is hidden twice stays the same.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from urllib.parse import unquote

HIDDEN = "(hidden)"
"""What stands in place of a secret."""
PRIVATE, PRIVATE_FOLDER = 0o600, 0o700
"""The modes of files and folders that may hold what is nobody else's business: logs, samples of answers, journals."""
PLACEHOLDERS = frozenset({HIDDEN, "…", "PASSWORD", "PASS"})
"""Values that are none: the lab's own words for one."""

_PIECES = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
"""The words of a name: `X-Api-Key`, `apiKey`, `API_KEY`."""
_ENDINGS = ("password", "passwd", "passphrase", "passcode", "secret", "token", "apikey", "accesskey", "secretkey", "privatekey",
            "cookie", "authorization", "sessid", "sessionid", "credential", "credentials", "signature")  # fmt: skip
_WORDS = frozenset({
    "auth", "authentication", "oauth", "bearer", "jwt", "pass", "passwords", "pw", "pwd", "psw", "pswd", "secrets", "cookies",
    "cred", "creds", "session", "sid", "sig", "sas", "otp", "totp", "csrf", "xsrf", "key", "salt", "pepper",
})  # fmt: skip
_OF_NO_SECRET = frozenset({
    "file", "path", "dir", "folder", "type", "mode", "method", "name", "user", "username", "email", "ttl", "length", "len",
    "size", "limit", "limits", "count", "timeout", "expires", "expiry", "age", "url", "uri", "endpoint", "host", "port",
    "policy", "algorithm", "alg", "format", "version", "enabled", "required", "min", "max", "prefix", "provider", "server",
    "realm", "scope", "sock", "socket",
})  # fmt: skip
"""A name that ends with one of these tells of a secret, and is none: `PGPASSFILE`, `token_type`."""
_PLAIN_KEYS = frozenset({
    "idempotency", "sort", "primary", "foreign", "partition", "routing", "cache", "surrogate", "row", "range", "shard", "group",
    "public", "websocket", "lookup",
})  # fmt: skip
"""Words before `key` that make it one of another kind."""
_OTHER_PASSES = frozenset({"bypass", "compass", "encompass", "surpass", "overpass", "underpass", "trespass"})
_DIRECTORIES = frozenset({"PWD", "OLDPWD"})
"""Where a shell stands and stood."""

_ADDRESS = re.compile(r"(?<![A-Za-z0-9+.-])(?>[A-Za-z0-9+.-]*?\b(?=[A-Za-z]))(?P<scheme>[A-Za-z0-9+.-]++)://")
"""A URL's beginning. A text may be anybody's: here as below, no word of it is looked through from each of its letters."""
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*+://")
_WEB = frozenset({"http", "https", "ws", "wss"})
"""Schemes in whose URLs a name alone may be a token."""
_LOGIN = re.compile(r"(?<![^\s@/'\"`])[^\s@/'\"`]++(?=@(?!sha256\b)[\w\[])")
_USER = re.compile(r"(?<![\w/:@.+-])[\w.+-]++:(?=.)")
"""`me:word@host`, a URL without its scheme: what stands before the `@`, and where the name in it ends."""
_ELEMENT = re.compile(r"<(?P<name>[A-Za-z_][\w.:-]*)>(?P<value>[^<]+)(?=</)")
_NAMED = re.compile(r"(?P<name>[A-Za-z_](?:[\w.\[\]-]|%[0-9A-Fa-f]{2})*+)(?:\\?[\"']?\s*+(?P<sign>[=:])\s*+(?=\S))?")
"""A word, with the sign after it where it names something."""
_QUOTED = re.compile(r"\\?\"(?:[^\"\\]|\\.)*?(?:\\?\"|$)|'(?:[^'\\]|\\.)*(?:'|$)")
_ENDS = {"query": re.compile(r"[&;#\s\"'`<>]"), "=": re.compile(r"[\s\"'`]"), ":": re.compile(r"[\n\"`']")}
"""Where a value ends that has no quotes around it: in a query, after a `=`, after a `:`."""
_TELLING = re.compile(
    r"(?<=\bBearer )\S+|(?<=\bBasic )(?=\S*[0-9A-Z=])[\w+/=-]{6,}|(?<=\bDigest )\S.*"
    r"|\b(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-|[sr]k_(?:live|test)_|AKIA)[\w-]{8,}"
)
_JWT = re.compile(r"(?<![\w-])(?P<begin>(?>[\w-]*?\b(?=eyJ)))(?P<value>[\w-]{4,}+\.[\w-]++\.[\w-]*)")
"""Values that are known for secrets by how they look."""
_AFTER_OPTION = re.compile(r"(?<![\w-])--(?P<name>[A-Za-z][\w-]*)[ \t]+(?P<value>[^\s\"'`-][^\s\"'`]*)")
"""An option and its value within a text, as in a command for a shell."""
_ASKING = frozenset({"mysql", "mysqladmin", "mysqldump", "mariadb", "mariadb-admin", "mariadb-dump"})
"""Programs that ask for a password where none is glued to `-p`: the next word is something else."""
_BY_LETTER = {"redis-cli": "-a", "sshpass": "-p", **dict.fromkeys(_ASKING, "-p")}
"""Programs that are given a password by an option of one letter, and that option."""
_LETTERED = re.compile(
    rf"(?<![\w.-])(?P<program>{'|'.join(sorted(_BY_LETTER, key=len, reverse=True))})(?![\w.-])"
    r"(?P<between>[^\n|;&]{0,300}?[ \t])(?P<letter>-[ap])(?P<space>(?:[ \t]+(?!-))?)[\"']?"
    r"(?P<value>(?<=\")[^\"]+|(?<=')[^']+|[^\s\"'`]+)"
)
_SQL = re.compile(r"(?P<begin>\bPASSWORD\s+E?')(?P<value>(?:[^']|'')+)(?=')", re.IGNORECASE)
"""The password of a role in a statement of SQL."""
_SQL_NAMED = re.compile(
    r"(?P<begin>(?:\b\w+\(\s*E?'(?P<argument>[A-Za-z_][\w.-]*)'\s*,|\bSET\s+(?:(?:SESSION|LOCAL)\s+)?(?P<setting>[A-Za-z_][\w.]*)"
    r"\s+TO)\s*E?')(?P<value>(?:[^']|'')+)(?=')",
    re.IGNORECASE,
)
"""A function's first argument that names the second, as in `set_config('app.token', '…')`, and `SET app.token TO '…'`."""
_OPTION = re.compile(r"(?P<dashes>-{0,2})(?P<name>[A-Za-z_][\w.-]*)=(?P<value>.*)", re.DOTALL)
_HEADER = re.compile(r"(?P<option>--header=|-[A-Za-z]*?H)(?P<text>.+)", re.DOTALL)

Hide = Callable[[str], str]


@lru_cache(maxsize=4096)
def is_secret(name: str) -> bool:
    """True if what has this name is a secret: a header, a variable, an option or a key of a query."""
    if name in _DIRECTORIES:
        return False
    pieces = [piece.lower() for piece in _PIECES.findall(unquote(name))]
    if not pieces or pieces[-1] in _OF_NO_SECRET or pieces[0] == "no" or pieces[-1].endswith(("file", "path")):
        return False
    return any(_is_telling(pieces, place) for place in range(len(pieces)))


def redact(text: str) -> str:
    """A text without the secrets in it."""
    return _rewrite(text, _hide)


def redact_words(words: Sequence[str]) -> list[str]:
    """The words of a command without the secrets in them."""
    return list(_rewrite_words(words, _hide))


def redact_command(command: str) -> str:
    """A command line, as a shell reads it, without the secrets in it; as a text where it is none."""
    try:
        words = shlex.split(command)
    except ValueError:
        return redact(command)
    found = redact_words(words)
    return command if found == words else shlex.join(found)


def redact_header(name: str, value: str) -> str:
    """The value of a header as it may be kept."""
    return _header_value(name, value, _hide)


def secrets_of(words: Sequence[str]) -> tuple[str, ...]:
    """The secrets in the words of a command, in their order."""
    found = list[str]()

    def take(value: str) -> str:
        if value not in PLACEHOLDERS:
            found.append(value)
        return HIDDEN

    for _ in _rewrite_words(words, take):
        pass
    return tuple(found)


def _hide(value: str) -> str:
    return value if value in PLACEHOLDERS else HIDDEN


def _is_telling(pieces: Sequence[str], place: int) -> bool:
    piece = pieces[place]
    if piece == "key":
        return place == 0 or pieces[place - 1] not in _PLAIN_KEYS
    return piece in _WORDS or piece.endswith(_ENDINGS) or piece.endswith("pass") and piece not in _OTHER_PASSES


# ---------------------------------------------------------------- words of a command


def _rewrite_words(words: Sequence[str], hide: Hide) -> Iterator[str]:
    before, program = "", ""
    for word in words:
        name = word.rpartition("/")[2]
        program = name if name in _BY_LETTER else program
        letter = _BY_LETTER.get(program)
        if letter and word.startswith(letter) and word != letter:
            yield letter + hide(word.removeprefix(letter))
        elif letter and before == letter and program not in _ASKING and not word.startswith("-"):
            yield hide(word)
        else:
            yield _word_after(before, word, hide)
        before = word


def _word_after(before: str, word: str, hide: Hide) -> str:
    """A word of a command. After an option that takes one, it is that option's value."""
    if re.fullmatch(r"--header|-[A-Za-z]*H", before):
        return _header(word, hide)
    if before in ("-u", "--user") and ":" in word:
        user, _, value = word.partition(":")
        return f"{user}:{hide(value)}"
    if before.startswith("-") and "=" not in before and not word.startswith(("-", "@")) and is_secret(before.lstrip("-")):
        return hide(word)
    return _word(word, hide)


def _word(word: str, hide: Hide) -> str:
    """A word of a command. Of `--set=name=value` each part is looked at, unless it is a sentence or a query."""
    begin, ends = 0, re.search(r"[\s&]|://", word)
    while True:
        if (header := _HEADER.fullmatch(word, begin)) and not word.startswith("--H", begin):
            return word[:begin] + header["option"] + _header(header["text"], hide)
        option = _OPTION.fullmatch(word, begin)
        if option is None:
            break
        value = option.start("value")
        if is_secret(option["name"]) and value < len(word) and word[value] != "@":
            return word[:value] + hide(word[value:])
        if ends is not None and ends[0] != "://":
            break
        begin = value
    rest = word[begin:]
    return word[:begin] + _rewrite(_login(rest, hide, whole=True) if _URL.match(rest) else rest, hide)


def _header(text: str, hide: Hide) -> str:
    """A header as it is typed. Without a colon nobody can tell its name from its value."""
    if text.startswith("@"):
        return text
    name, colon, value = text.partition(":")
    if not colon:
        return hide(text)
    lead = value[: len(value) - len(value.lstrip())]
    return f"{name}:{lead}{_header_value(name, value.strip(), hide)}"


def _header_value(name: str, value: str, hide: Hide) -> str:
    if value and is_secret(name):
        return hide(value)
    return _rewrite(value, hide)


# ---------------------------------------------------------------- a text


def _rewrite(text: str, hide: Hide) -> str:
    text = _LOGIN.sub(lambda found: _after_user(found, hide), _login(text, hide))
    text = _AFTER_OPTION.sub(
        lambda found: found[0].removesuffix(found["value"]) + hide(found["value"]) if is_secret(found["name"]) else found[0], text
    )
    text = _SQL.sub(lambda found: found["begin"] + hide(found["value"]), text)
    text = _SQL_NAMED.sub(
        lambda found: found["begin"] + hide(found["value"]) if is_secret(found["argument"] or found["setting"]) else found[0],
        text,
    )
    text = _LETTERED.sub(lambda found: _lettered(found, hide), text)
    text = _ELEMENT.sub(
        lambda found: f"<{found['name']}>{hide(found['value'])}" if is_secret(found["name"]) else found[0], _named(text, hide)
    )
    text = _TELLING.sub(lambda found: hide(found[0]), text)
    return _JWT.sub(lambda found: found["begin"] + hide(found["value"]), text)


def _after_user(found: re.Match[str], hide: Hide) -> str:
    """The part before an `@` without the password in it; as it is where no user is named."""
    user = _USER.search(found.string, found.start(), found.end())
    return found[0] if user is None else found.string[found.start() : user.end()] + hide(found.string[user.end() : found.end()])


def _lettered(found: re.Match[str], hide: Hide) -> str:
    """A command within a text whose program is given a password by a letter; as it is where the letter means no password."""
    program, space = found["program"], found["space"]
    if found["letter"] != _BY_LETTER[program] or space and program in _ASKING:
        return found[0]
    return found[0].removesuffix(found["value"]) + hide(found["value"])


def _login(text: str, hide: Hide, whole: bool = False) -> str:
    """The URLs of a text without what their logins hold. `whole`: the text is one URL, whatever characters are in it."""
    made, at = list[str](), 0
    while found := _ADDRESS.search(text, at):
        made.append(text[at : found.end()])
        end = len(text) if whole else _end(text, found.end(), re.compile(r"[\s\"'<>`]"))
        made.append(_without_login(found["scheme"].lower(), text[found.end() : end], hide))
        at = end
    return "".join([*made, text[at:]])


def _without_login(scheme: str, rest: str, hide: Hide) -> str:
    """The part of a URL after its scheme. A character that should be percent-encoded may stand in its password."""
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    port = authority.rpartition(":")[2] if ":" in authority and not authority.endswith("]") else ""
    at = authority.rfind("@")
    if at < 0 and "@" in rest and (port and not port.isdigit() or scheme not in _WEB and "=" not in rest[: rest.rfind("@")]):
        at = rest.rfind("@")
    if at < 0:
        return rest
    user, colon, password = rest[:at].partition(":")
    if scheme in _WEB or not user and not colon:
        return hide(rest[:at]) + rest[at:]
    return f"{user}{colon}{hide(password) if password else ''}{rest[at:]}"


def _named(text: str, hide: Hide) -> str:
    """A text without the values of what is named like a secret: `password=…`, `"token": "…"`, `Cookie: …`."""
    made, at = list[str](), 0
    while found := _NAMED.search(text, at):
        made.append(text[at : found.end()])
        at = found.end()
        if found["sign"] is None or text[at - 1 : at + 2] == "://" or not is_secret(found["name"]):
            continue
        if quoted := _QUOTED.match(text, at):
            quote = re.match(r"\\?[\"']", quoted[0])
            assert quote is not None, "it begins with a quote"
            inner = quoted[0][quote.end() :].removesuffix(quote[0])
            made.append(quote[0] + hide(inner) + (quote[0] if quoted[0][quote.end() :].endswith(quote[0]) else ""))
            at = quoted.end()
            continue
        query = found["sign"] == "=" and text.endswith(("?", "&", ";"), 0, found.start())
        end = _end(text, at, _ENDS["query" if query else found["sign"]])
        made.append(hide(text[at:end].rstrip()) if text[at:end].strip() else "")
        at = end
    return "".join([*made, text[at:]])


def _end(text: str, begin: int, stop: re.Pattern[str]) -> int:
    found = stop.search(text, begin)
    return len(text) if found is None else found.start()
