"""The rules of a JSON value as a contract writes them, held against their own grammar."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from fairground.model.contract import NAMED

KINDS: Mapping[str, type | tuple[type, ...]] = {
    "text": str, "integer": int, "number": (int, float), "boolean": bool, "null": type(None), "any": object,
}  # fmt: skip
"""The words for any value of a kind. A truth value is no number."""
TABLES = (
    "equals", "one_of", "slot", "unix_now_within_s", "integer", "number", "text", "optional", "nullable", "list",
    "object", "json",
)  # fmt: skip
"""The keys of a rule that is a table."""


def mistake(rule: object, where: str = "the rule", names: Collection[str] | None = None, is_field: bool = False) -> str | None:
    """Return what is wrong with a rule itself, or None: so that a contract's author learns of it before a server is asked.

    `names` are those that stand for numbers, as `$name`; None: any.
    """
    if isinstance(rule, str):
        return None if rule in KINDS else f"{where} is `{rule}`, and the kinds are {', '.join(KINDS)}"
    if not isinstance(rule, Mapping) or len(rule) != 1 or (key := next(iter(rule))) not in TABLES:
        return f"{where} is not one of the kinds {', '.join(KINDS)}, nor a table with one of the keys {', '.join(TABLES)}"
    value = rule[key]
    match key:
        case "object" | "json":
            if not isinstance(value, Mapping):
                return f"`{key}` of {where} is no table of fields"
            return next(
                (found for name, one in value.items() if (found := mistake(one, f"`{name}` in {where}", names, is_field=True))),
                None,
            )
        case "list":
            if not isinstance(value, Mapping) or set(value) - {"length", "each", "ascending"}:
                return f"`list` of {where} has other keys than `length`, `each` and `ascending`"
            if "ascending" in value and not _has_field(value.get("each"), value["ascending"]):
                return f"`ascending` of {where} names no field that each object in the list has"
            if "length" in value and not _is_length(value["length"], names):
                return f"`length` of {where} is no number, no range `[least, most]` and no `{{ slot = … }}`"
            return mistake(value["each"], f"`each` of {where}", names) if "each" in value else None
        case "text":
            right = isinstance(value, Mapping) and set(value) == {"length"} and _is_length(value["length"], names)
            return None if right else f"`text` of {where} has no `length` that is a number or a range"
        case "one_of":
            return None if isinstance(value, list | tuple) and value else f"`one_of` of {where} is no list of values"
        case "unix_now_within_s":
            return None if isinstance(value, int | float) else f"`unix_now_within_s` of {where} is no number of seconds"
        case "optional" if not is_field:
            return f"{where} is `optional`, which is for a field of an object"
        case "optional" | "nullable":
            return mistake(value, where, names)
        case "integer" | "number":
            right = _is_range(value, names, int if key == "integer" else (int, float))
            return None if right else f"`{key}` of {where} is not a range `[least, most]`"
    return None


def slots_of(rule: object) -> Iterator[str]:
    """Every slot that a rule names, as a value or as a length."""
    for key, value in rule.items() if isinstance(rule, Mapping) else ():
        if key == "slot":
            yield str(value)
        elif key in ("optional", "nullable"):
            yield from slots_of(value)
        elif key in ("object", "json", "list", "text"):
            for one in value.values():
                yield from slots_of(one)


def _has_field(rule: object, name: object) -> bool:
    """True for the rule of an object in which this field must be."""
    fields = next(iter(rule.values()), None) if isinstance(rule, Mapping) and set(rule) & {"json", "object"} else None
    field = fields.get(name) if isinstance(fields, Mapping) and isinstance(name, str) else None
    return field is not None and not (isinstance(field, Mapping) and "optional" in field)


def _is_length(wanted: object, names: Collection[str] | None) -> bool:
    """True for a number, a range, the name of a number, or a slot."""
    if isinstance(wanted, Mapping):
        return set(wanted) == {"slot"}
    return _is_range(wanted if isinstance(wanted, list | tuple) else [wanted, wanted], names, int)


def _is_range(wanted: object, names: Collection[str] | None, kind: type | tuple[type, ...]) -> bool:
    """True for a least and a most in order, each a number of this kind or the name of one."""
    if not isinstance(wanted, list | tuple) or len(wanted) != 2:
        return False
    named = [NAMED.fullmatch(one) for one in wanted if isinstance(one, str)]
    numbers = [one for one in wanted if not isinstance(one, str)]
    are_named = all(one is not None and (names is None or (one[1] or one[2]) in names) for one in named)
    return (
        are_named and all(isinstance(one, kind) and not isinstance(one, bool) for one in numbers) and numbers == sorted(numbers)
    )
