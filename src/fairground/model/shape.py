"""The rules of a JSON value as a contract writes them, held against their own grammar."""

from __future__ import annotations

from collections.abc import Mapping

KINDS: Mapping[str, type | tuple[type, ...]] = {
    "text": str, "integer": int, "number": (int, float), "boolean": bool, "null": type(None), "any": object,
}  # fmt: skip
"""The words for any value of a kind. A truth value is no number."""
TABLES = (
    "equals", "one_of", "slot", "unix_now_within_s", "integer", "number", "text", "optional", "nullable", "list",
    "object", "json",
)  # fmt: skip
"""The keys of a rule that is a table."""


def mistake(rule: object, where: str = "the rule") -> str | None:
    """Return what is wrong with a rule itself, or None: so that a contract's author learns of it before a server is asked."""
    if isinstance(rule, str):
        return None if rule in KINDS else f"{where} is `{rule}`, and the kinds are {', '.join(KINDS)}"
    if not isinstance(rule, Mapping) or len(rule) != 1 or (key := next(iter(rule))) not in TABLES:
        return f"{where} is not one of the kinds {', '.join(KINDS)}, nor a table with one of the keys {', '.join(TABLES)}"
    value = rule[key]
    match key:
        case "object" | "json":
            if not isinstance(value, Mapping):
                return f"`{key}` of {where} is no table of fields"
            return next((found for name, one in value.items() if (found := mistake(one, f"`{name}` in {where}"))), None)
        case "list":
            if not isinstance(value, Mapping) or set(value) - {"length", "each"}:
                return f"`list` of {where} has other keys than `length` and `each`"
            if "length" in value and not _is_length(value["length"]):
                return f"`length` of {where} is no number, no range `[least, most]` and no `{{ slot = … }}`"
            return mistake(value["each"], f"`each` of {where}") if "each" in value else None
        case "text":
            right = isinstance(value, Mapping) and set(value) == {"length"} and _is_length(value["length"])
            return None if right else f"`text` of {where} has no `length` that is a number or a range"
        case "one_of":
            return None if isinstance(value, list | tuple) and value else f"`one_of` of {where} is no list of values"
        case "unix_now_within_s":
            return None if isinstance(value, int | float) else f"`unix_now_within_s` of {where} is no number of seconds"
        case "optional" | "nullable":
            return mistake(value, where)
        case "integer" | "number":
            right = isinstance(value, list | tuple) and len(value) == 2
            return None if right else f"`{key}` of {where} is not a range `[least, most]`"
    return None


def _is_length(wanted: object) -> bool:
    """True for a number, a range, the name of a number, or a slot."""
    if isinstance(wanted, Mapping):
        return set(wanted) == {"slot"}
    parts = wanted if isinstance(wanted, list | tuple) and len(wanted) == 2 else [wanted]
    return all(isinstance(one, int) or (isinstance(one, str) and one.startswith("$")) for one in parts)
