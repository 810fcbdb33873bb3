"""The rows that the reference server reads, lists, makes and updates, and what PostgreSQL would say of them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reference.database import Database

KEYS = ("id", "name", "price_cents", "stock", "revision")
TABLE = "CREATE TABLE items (id INTEGER PRIMARY KEY, name, price_cents, stock, revision DEFAULT 0)"
SEEDED = 1000
PATH = re.compile(r"/items(?:/([^/]*))?")
PAGE = re.compile(r"json_agg\(page\) FROM \(SELECT \* FROM items WHERE id > (\d+)")
ONE = re.compile(r"to_json\(items\) FROM items WHERE id = (\d+)")


class NoItem(Exception):
    """An error answer: status and message."""


def seed(database: Database) -> None:
    """Fill the table."""
    for number in range(1, SEEDED + 1):
        database.run("INSERT INTO items (name, price_cents, stock) VALUES (?, ?, ?)", f"Item {number}", number, number % 7)


def found(database: Database, where: str, *values: object) -> list[dict[str, Any]]:
    """The items that these words select."""
    return [dict(zip(KEYS, row, strict=True)) for row in database.run(f"SELECT * FROM items WHERE {where}", *values)]


def known(database: Database, sql: str, values: Mapping[str, object]) -> list[tuple[Any, ...]] | None:
    """The answer to a statement in PostgreSQL's own words; None where it is none of them."""
    if one := ONE.search(sql):
        return [(found(database, "id = ?", int(one[1]))[0],)]
    if page := PAGE.search(sql):
        return [(found(database, "id > ? ORDER BY id LIMIT 20", int(page[1])),)]
    if "to_jsonb(items) = " in sql:
        told = json.loads(str(values["answer"]))
        return [(told in found(database, "id = ?", told["id"]),)]
    return None


def answer(
    database: Database, faults: frozenset[str], asked: tuple[str, str | None], query: str, body: bytes
) -> tuple[int, bytes]:
    """Status and body of one request: its method, and the id that its path names."""
    method, name = asked
    if name is None:
        return (200, _page(database, faults, query)) if method == "GET" else (201, _made(database, faults, body))
    number = _number(name, 1)
    if number is None:
        raise NoItem(404, "no such item")
    if method == "PUT":
        values = _values(body, faults)
        for _ in range(2 if "writes-twice" in faults else 1):
            change = "UPDATE items SET name = ?, price_cents = ?, stock = ?, revision = revision + 1 WHERE id = ?"
            database.run(change, *values, number)
    one = found(database, "id = ?", 1 if "same-item" in faults else number)
    if not one:
        raise NoItem(404, "no such item")
    return 200, json.dumps(one[0]).encode()


def _page(database: Database, faults: frozenset[str], query: str) -> bytes:
    after = _number(query.removeprefix("after=") or "0", 0)
    if after is None:
        raise NoItem(400, "`after` must be an integer")
    page = found(database, "id > ? ORDER BY id LIMIT 20", after)
    return json.dumps(page[::-1] if "reversed" in faults else page).encode()


def _made(database: Database, faults: frozenset[str], body: bytes) -> bytes:
    values = _values(body, faults)
    for _ in range(2 if "writes-twice" in faults else 1):
        database.run("INSERT INTO items (name, price_cents, stock) VALUES (?, ?, ?)", *values)
    return json.dumps(found(database, "1 ORDER BY id DESC LIMIT 1")[0]).encode()


def _values(body: bytes, faults: frozenset[str]) -> tuple[object, ...]:
    try:
        told = json.loads(body.decode())
        values = tuple(told[key] for key in KEYS[1:4])
    except (ValueError, KeyError, TypeError):
        raise NoItem(400, "malformed") from None
    fits = bool(values[0]) and all(type(one) is int and 0 <= one < 2**31 for one in values[1:])
    if not fits and "takes-any-item" not in faults:
        raise NoItem(400, "no item")
    return values


def _number(text: str, least: int) -> int | None:
    return int(text) if re.fullmatch(r"[0-9]+", text) and least <= int(text) < 2**31 else None
