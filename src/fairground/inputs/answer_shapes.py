"""JSON schemas of a document, as rules of answers: kinds, lists, objects, what may be missing or null. References are resolved.

A rule never asks for more than its schema. Where a schema says nothing, or is inside of itself, anything is right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

Rule = str | dict[str, Any]
DEEPEST, MOST_RULES, MOST_FIELDS = 6, 150, 256
"""The most objects in each other, rules of a body (unless its own object has more), and fields of an object."""
LARGEST = 2**63 - 1
KINDS = {"string": "text", "integer": "integer", "number": "number", "boolean": "boolean", "null": "null"}


class Shapes:
    """The schemas of one document."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root

    def body(self, schema: object) -> dict[str, Any] | None:
        """The rule of a body; None where it is neither an object nor a list. Of deep ones the outer part is told."""
        found: Rule = "any"
        for depth in range(1, DEEPEST + 1):
            deeper = self._rule(schema, depth, ())
            if depth > 1 and (deeper == found or _size(deeper) > MOST_RULES):
                break
            found = deeper
        return found if isinstance(found, dict) and next(iter(found)) in ("json", "object", "list") else None

    def resolve(self, node: object) -> Mapping[str, Any]:
        """A table of the document, or the one that it refers to; empty where there is none. One of another file stays."""
        for _ in range(20):
            if not isinstance(node, Mapping):
                return {}
            if not isinstance(node.get("$ref"), str) or not node["$ref"].startswith("#"):
                return node
            node = self._at(node["$ref"])
        return {}

    def merge(self, schema: object, seen: tuple[str, ...] = ()) -> Mapping[str, Any]:
        """A schema with all parts that it must have at once put together."""
        if not isinstance(schema, Mapping):
            return {}
        if isinstance(schema.get("$ref"), str):
            reference = schema["$ref"]
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            there = {} if reference in seen else self.merge(self._at(reference), (*seen, reference))
            return {**there, **beside}
        parts = schema.get("allOf")
        if not isinstance(parts, list):
            return schema
        whole: dict[str, Any] = {}
        for part in (*(self.merge(one, seen) for one in parts), {key: value for key, value in schema.items() if key != "allOf"}):
            properties = {**_table(whole, "properties"), **_table(part, "properties")}
            required = [*_list(whole, "required"), *_list(part, "required")]
            whole |= part
            whole |= {"properties": properties} if properties else {}
            whole |= {"required": required} if required else {}
        return whole

    def _at(self, reference: str) -> object:
        """The place of this document that a reference names; None for one of another document."""
        if not reference.startswith("#/"):
            return self._root if reference == "#" else None
        node: object = self._root
        for part in reference[2:].split("/"):
            name = unquote(part).replace("~1", "/").replace("~0", "~")
            if isinstance(node, Mapping):
                node = node.get(name, node.get(int(name)) if name.isdigit() else None)
            elif isinstance(node, list) and name.isdigit() and int(name) < len(node):
                node = node[int(name)]
            else:
                return None
        return node

    def _rule(self, schema: object, depth: int, seen: tuple[str, ...]) -> Rule:
        """The rule of a schema. `seen`: the references that it is inside of."""
        references = _references(schema)
        if set(references) & set(seen):
            return "any"
        table, within = self.merge(schema), (*seen, *references)
        may_be_null = table.get("nullable") is True or table.get("x-nullable") is True
        kinds = table.get("type")
        if isinstance(kinds, list):
            may_be_null = may_be_null or "null" in kinds
            left = [one for one in kinds if one != "null"] or ["null"]
            kinds = left[0] if len(left) == 1 else "any"
        values = table.get("enum") if isinstance(table.get("enum"), list) else None
        if "const" in table:
            values = [table["const"]]
        if values is not None:
            may_be_null = may_be_null or None in values
            return _nullable(_one_of([one for one in values if one is not None]), may_be_null)
        for key in ("oneOf", "anyOf"):
            if isinstance(table.get(key), list) and not _table(table, "properties"):
                found, null = self._choice(table[key], depth, within)
                return _nullable(found, null or may_be_null)
        return _nullable(self._of_kind(kinds, table, depth, within), may_be_null)

    def _choice(self, options: Sequence[object], depth: int, seen: tuple[str, ...]) -> tuple[Rule, bool]:
        """The rule that all options keep, and whether one of them is null."""
        rules = [self._rule(one, depth, seen) for one in options]
        plain = [one for one in rules if one != "null"]
        bare = [one["nullable"] if isinstance(one, dict) and "nullable" in one else one for one in plain]
        null = len(plain) < len(rules) or bare != plain
        if len(bare) == 1 or all(one == bare[0] for one in bare):
            return (bare[0] if bare else "null"), null and bool(bare)
        outer = {
            "json" if kind in ("json", "object") else kind
            for kind in (next(iter(one)) if isinstance(one, dict) else "" for one in bare)
        }
        return ({outer.pop(): {}} if outer in ({"json"}, {"list"}) else "any"), null

    def _of_kind(self, kind: object, table: Mapping[str, Any], depth: int, seen: tuple[str, ...]) -> Rule:
        if kind == "object" or (kind is None and ("properties" in table or "additionalProperties" in table)):
            return self._object(table, depth, seen)
        if kind == "array" or (kind is None and "items" in table):
            return self._list(table, depth, seen)
        least: Any = table.get("minimum")
        most: Any = table.get("maximum")
        if kind in ("integer", "number") and _is_number(least) and _is_number(most) and least <= most:
            if kind == "number":
                return {"number": [least, most]}
            return {"integer": [int(least), int(most)]} if max(abs(least), abs(most)) <= LARGEST else "integer"
        if kind == "string" and _is_count(table.get("maxLength")):
            return {"text": {"length": _span(table.get("minLength"), table["maxLength"])}}
        return KINDS.get(str(kind), "any")

    def _object(self, table: Mapping[str, Any], depth: int, seen: tuple[str, ...]) -> Rule:
        if depth == 0:
            return {"json": {}}
        needed, fields = set(map(str, _list(table, "required"))), dict[str, Any]()
        for name, schema in _table(table, "properties").items():
            if isinstance(schema, Mapping) and schema.get("writeOnly") is True:
                continue
            rule = self._rule(schema, depth - 1, seen)
            fields[str(name)] = rule if str(name) in needed else {"optional": rule}
        closed = table.get("additionalProperties") is False and 0 < len(fields) <= MOST_FIELDS
        return {"object" if closed else "json": dict(list(fields.items())[:MOST_FIELDS])}

    def _list(self, table: Mapping[str, Any], depth: int, seen: tuple[str, ...]) -> Rule:
        most, fewest = table.get("maxItems"), table.get("minItems")
        length = {"length": _span(fewest, most)} if _is_count(most) else {}
        each = self._rule(table.get("items"), depth, seen)
        return {"list": {**length, **({} if each == "any" else {"each": each})}}


def _references(schema: object) -> tuple[str, ...]:
    """The references by which a schema is inside of another."""
    if not isinstance(schema, Mapping):
        return ()
    own = (schema["$ref"],) if isinstance(schema.get("$ref"), str) else ()
    parts = schema.get("allOf")
    return (*own, *(one for part in (parts if isinstance(parts, list) else ()) for one in _references(part)))


def _nullable(rule: Rule, is_nullable: bool) -> Rule:
    return {"nullable": rule} if is_nullable and rule not in ("any", "null") else rule


def _one_of(values: list[Any]) -> Rule:
    """One of these values; anything where a contract's file could not hold them."""
    if any(isinstance(one, Mapping | list) for one in values):
        return "any"
    if not values:
        return "null"
    return {"equals": values[0]} if len(values) == 1 else {"one_of": values}


def _size(rule: Rule) -> int:
    """The number of rules in a rule."""
    if not isinstance(rule, dict):
        return 1
    ((key, value),) = rule.items()
    if key in ("json", "object"):
        return 1 + sum(map(_size, value.values()))
    if key == "list":
        return 1 + _size(value.get("each", "any"))
    return _size(value) if key in ("optional", "nullable") else 1


def _table(schema: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = schema.get(key)
    return found if isinstance(found, Mapping) else {}


def _list(schema: Mapping[str, Any], key: str) -> list[Any]:
    found = schema.get(key)
    return found if isinstance(found, list) else []


def _span(fewest: Any, most: Any) -> list[int]:
    return [fewest if _is_count(fewest) and fewest <= most else 0, most]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
