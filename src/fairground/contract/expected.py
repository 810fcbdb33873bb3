"""The right answer, wherever a case has it from: a text, a shape, or a statement that the trial's database answers."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Protocol

from fairground.contract import html, rules
from fairground.contract.wire import HttpAnswer
from fairground.model import ContractError, shape

Row = tuple[Any, ...]
BODIES = ("exact", "sql", "json", "object", "list", "html", "any_case")
"""The keys of a case's `body` that is a table; one of them, and `any_case` beside it."""
PLACEHOLDER = r"(?<![:\w]):{}\b"
ANSWER = re.compile(PLACEHOLDER.format("answer"))
MOST_DEPTH = 127
"""As deep as the load engine reads JSON."""

Number = int | Decimal | float
NO_NUMBER = (TypeError, ValueError, OverflowError, IndexError)
"""The errors of reading a number where there is none: nothing, NULL, NaN, a text."""


class AskDatabase(Protocol):
    """Runs one statement in the trial's database, on a connection of the lab's own, and returns its rows.

    `values` stand for `:name` in the statement.
    """

    def __call__(self, statement: str, values: Mapping[str, object] | None = None, /) -> Sequence[Row]: ...


def mistake(body: Mapping[str, object], names: Collection[str]) -> str | None:
    """Return what is wrong with a case's `body` that is a table, or None. `names` are those of numbers."""
    kinds = [key for key in body if key != "any_case"]
    if len(kinds) != 1 or kinds[0] not in BODIES:
        return f"it needs one of the keys {', '.join(BODIES[:-1])}"
    (kind,) = kinds
    value = body[kind]
    if kind in ("exact", "sql"):
        return None if isinstance(value, str) else f"`{kind}` is no text"
    if kind == "html":
        return None if isinstance(value, Mapping) and "sql" in value else "`html` needs `sql`"
    return None if _statement(kind, value) is not None else shape.mistake({kind: value}, names=names)


def statements(body: Mapping[str, object] | None) -> tuple[str, ...]:
    """The SQL of a case's `body`, which the database is asked for the right answer."""
    found = (
        str(value) if kind == "sql" else _statement(kind, value)
        for kind, value in (body or {}).items()
        if kind in ("sql", "json", "html")
    )
    return tuple(one for one in found if one is not None)


def problem(answer: HttpAnswer, body: Mapping[str, Any], probe: AskDatabase | None, sent: Mapping[str, object]) -> str | None:
    """Return what is wrong with the body of a good answer, or None."""
    ((kind, wanted),) = ((key, value) for key, value in body.items() if key != "any_case")
    statement = wanted if kind == "sql" else _statement(kind, wanted)
    known = None
    if statement is not None:
        known = None if probe is None else _known(kind, statement, probe, sent)
        if known is None:
            return f"the database has no right answer: it says nothing to {rules.show_value(' '.join(statement.split()), 80)}"
    if kind in ("exact", "sql"):
        text = str(wanted if kind == "exact" else known).encode()
        return None if answer.body == text else f"expected the body {quote_bytes(text)}, got {quote_bytes(answer.body)}"
    if kind == "html":
        return html.difference(answer.body.decode("utf-8", "replace"), str(known), wanted.get("ignore", ()))
    try:
        value = parse_json(answer.body, twice=bool(body.get("any_case")))
    except ValueError as error:
        return f"the body is not JSON ({error}): {quote_bytes(answer.body)}"
    if body.get("any_case"):
        value, known, wanted = rules.fold_keys(value), rules.fold_keys(known), rules.fold_keys(wanted)
    return rules.equal(value, known, "the body") if statement is not None else rules.difference(value, {kind: wanted}, sent)


def disproof(answer: HttpAnswer, statement: str, probe: AskDatabase, sent: Mapping[str, object], any_case: bool) -> str | None:
    """Say that the database does not confirm an answer, or None. `:answer` in the statement is its JSON, `:body` its text."""
    try:
        value = parse_json(answer.body, twice=any_case) if ANSWER.search(statement) else None
    except ValueError as error:
        return f"the body is not JSON ({error}): {quote_bytes(answer.body)}"
    told = {
        **sent,
        "answer": json.dumps(rules.fold_keys(value) if any_case else value),
        "body": answer.body.decode("utf-8", "replace"),
    }
    rows = ask(probe, ANSWER.sub("(:answer::jsonb)", statement), told)
    if rows and rows[0][0]:
        return None
    return f"the database says otherwise ({rules.show_value(' '.join(statement.split()), 100)}): {quote_bytes(answer.body)}"


def kept_values(answer: HttpAnswer, keep: Mapping[str, str]) -> tuple[dict[str, str], str | None]:
    """Read what is to be kept of an answer: name → text, and the first path that leads to no text or number.

    `keep` is name → path in the JSON answer, as `token`, `user.id` or `items.0.id`.
    """
    try:
        value = parse_json(answer.body)
    except ValueError:
        return {}, next(iter(keep.values()))
    found = dict[str, str]()
    for name, path in keep.items():
        one = value
        for part in path.split("."):
            if isinstance(one, list) and part.isdigit() and int(part) < len(one):
                one = one[int(part)]
            else:
                one = one.get(part) if isinstance(one, Mapping) else None
        if isinstance(one, bool) or not isinstance(one, str | int | float):
            return found, path
        found[name] = str(one).encode("utf-8", "replace").decode()  # half a character could not be sent
    return found, None


def ask(probe: AskDatabase, statement: str, values: Mapping[str, object]) -> Sequence[Row]:
    """Ask the database, with these values for `:name`. A name that is none of them stays as it is."""
    used = {name: values[name] for name in find_names(statement, values)}
    if not used:
        return probe(statement)
    text = statement.replace("%", "%%")
    for name in used:
        text = re.sub(PLACEHOLDER.format(re.escape(name)), f"%({name})s", text)
    return probe(text, used)


def find_names(statement: str, names: Iterable[str]) -> list[str]:
    """Those of the names that a statement has as `:name`."""
    return [name for name in names if re.search(PLACEHOLDER.format(re.escape(name)), statement)]


def number_names(statement: str, names: Collection[str]) -> str:
    """Put `$1`, `$2` … in place of `:answer`, `:body` and these `:names`, as the statement is sent with their values."""
    text = ANSWER.sub("(:answer::jsonb)", statement)
    for number, name in enumerate(find_names(text, dict.fromkeys((*names, "answer", "body"))), 1):
        text = re.sub(PLACEHOLDER.format(re.escape(name)), f"${number}", text)
    return text


def place_value(statement: str, place: str, percent: str) -> str:
    """Put a place for a value where a statement has `%s`. Any other `%` is itself, and `%%` is one of them."""
    return re.sub("%[%s]?", lambda found: place if found[0] == "%s" else percent, statement)


def perfect_body(body: Mapping[str, Any], probe: AskDatabase) -> bytes | None:
    """The bytes that a server without a fault would answer; None where a rule alone says what is right, or nothing does."""
    ((kind, wanted),) = ((key, value) for key, value in body.items() if key != "any_case")
    if kind == "exact":
        return str(wanted).encode()
    statement = wanted if kind == "sql" else _statement(kind, wanted)
    known = None if statement is None else _known(kind, statement, probe, {})
    return None if known is None else (json.dumps(known) if kind == "json" else str(known)).encode()


def parse_json(body: bytes, twice: bool = False) -> Any:
    """JSON as a strict reader takes it: UTF-8, no key twice unless told, no NaN, not too deep. ValueError otherwise."""

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        if len(dict(pairs)) != len(pairs) and not twice:
            raise ValueError("a key occurs twice")
        return dict(pairs)

    def constant(name: str) -> object:
        raise ValueError(f"`{name}` is not JSON")

    try:
        value = json.loads(body.decode("utf-8"), object_pairs_hook=unique, parse_constant=constant)
    except RecursionError:
        raise ValueError("it is too deep") from None
    level, depth = [value], 0
    while level := [one for one in level if isinstance(one, dict | list)]:
        depth += 1
        if depth > MOST_DEPTH:
            raise ValueError("it is too deep")
        level = [one for each in level for one in (each.values() if isinstance(each, dict) else each)]
    return value


def json_of(value: Any) -> Any:
    """A value of the driver's as JSON has it: `numeric` is a number. ValueError names what JSON has not."""
    if isinstance(value, list | tuple):
        return [json_of(one) for one in value]
    if isinstance(value, Mapping):
        return {key: json_of(one) for key, one in value.items()}
    if isinstance(value, Decimal) and value.is_finite():
        return int(value) if value == value.to_integral_value() else float(value)
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise ValueError(f"a value of the kind `{type(value).__name__.lower()}`")


def number_of(value: Any) -> Number:
    """A value of the driver's as a number with all of its fraction. NO_NUMBER's errors where it is none."""
    whole = int(value)
    return value if isinstance(value, Decimal | float) and value != whole else whole


def quote_bytes(data: bytes, limit: int = 120) -> str:
    """Bytes for a sentence: escaped, in quotes, shortened."""
    text = data[:limit].decode("utf-8", "backslashreplace").encode("unicode_escape").decode("ascii").replace("`", "'")
    return f"`{text}`" + (f" and {len(data) - limit} bytes more" if len(data) > limit else "")


def _known(kind: str, statement: str, probe: AskDatabase, sent: Mapping[str, object]) -> Any:
    """The right answer as the database has it: a value of JSON, or the text of any other. None where it says nothing."""
    text = f"SELECT answer::text FROM (\n{statement.strip().rstrip(';')}\n) AS known(answer) LIMIT 1"
    rows = ask(probe, statement if kind == "json" else text, sent)
    if not rows or kind != "json":
        return rows[0][0] if rows else None
    try:
        return json_of(rows[0][0])
    except ValueError as error:
        said = f"`{' '.join(statement.split()).replace('`', chr(39))[:80]}` gives no JSON, but {error}"
        raise ContractError(said, "let it select json, as in SELECT to_json(…)") from None


def _statement(kind: str, wanted: object) -> str | None:
    """The SQL below `json` or `html`; None where that is a table of fields."""
    if kind in ("json", "html") and isinstance(wanted, Mapping) and isinstance(found := wanted.get("sql"), str):
        return None if found in shape.KINDS else found
    return None
