"""Rules of a JSON value: kinds, ranges, lists, objects. The engine has the same ones, in docs/engine-protocol.md."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from fairground.model.shape import KINDS

NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
"""As JSON spells one."""


def difference(value: Any, rule: object, sent: Mapping[str, object], where: str = "the body") -> str | None:
    """Return the first place where `value` breaks `rule`, or None. `sent`: slot → what the request had there."""
    if isinstance(rule, str):
        right = isinstance(value, KINDS[rule]) and (rule in ("boolean", "any") or not isinstance(value, bool))
        return None if right else f"{where} is {show_value(value)}, expected any {rule}"
    assert isinstance(rule, Mapping)
    ((key, wanted),) = rule.items()
    match key:
        case "equals":
            return equal(value, wanted, where)
        case "one_of":
            right, said = any(equal(value, one, where) is None for one in wanted), f"one of {show_value(wanted)}"
        case "slot":
            right, said = _is_sent(value, str(sent.get(str(wanted)))), show_value(sent.get(str(wanted)))
        case "unix_now_within_s":
            return _moment(value, float(wanted), where)
        case "integer" | "number":
            least, most = wanted
            right = difference(value, key, sent, where) is None and least <= value <= most
            said = f"{'an integer' if key == 'integer' else 'a number'} from {least} to {most}"
        case "text":
            right, span = _fits(len(value) if isinstance(value, str) else None, wanted["length"], sent)
            said = f"a text of {span} characters"
        case "nullable" if value is None:
            return None
        case "optional" | "nullable":
            return difference(value, wanted, sent, where)
        case "list":
            return _list(value, wanted, sent, where)
        case _:
            return _fields(value, wanted, sent, where, others=key == "json")
    return None if right else f"{where} is {show_value(value)}, expected {said}"


def equal(got: object, expected: object, where: str) -> str | None:
    """The first place where two JSON values differ, types included. Numbers count by their value: 10 is 10.0."""
    if isinstance(expected, list | tuple) and isinstance(got, list):
        if len(got) != len(expected):
            return f"{where} has {len(got)} elements, expected {len(expected)}"
        pairs = enumerate(zip(got, expected, strict=True))
        return next((found for number, (a, b) in pairs if (found := equal(a, b, f"element {number} of {where}"))), None)
    if isinstance(expected, Mapping) and isinstance(got, Mapping):
        if set(got) != set(expected):
            return f"{where} has the keys {', '.join(map(str, got))}; expected {', '.join(expected)}"
        return next((found for key in expected if (found := equal(got[key], expected[key], f"`{key}` in {where}"))), None)
    if isinstance(got, bool) is not isinstance(expected, bool) or got != expected:
        return f"{where} is {show_value(got)}, expected {show_value(expected)}"
    return None


def fold_keys(value: Any) -> Any:
    """The value with its keys in lower case. Of two that become one the last counts."""
    if isinstance(value, Mapping):
        return {str(key).lower(): fold_keys(one) for key, one in value.items()}
    return [fold_keys(one) for one in value] if isinstance(value, list) else value


def show_value(value: object, limit: int = 120) -> str:
    """A JSON value for a sentence, escaped and shortened."""
    text = json.dumps(value, default=str).replace("`", "'")
    return f"`{text[:limit]}`" + (f" and {len(text) - limit} characters more" if len(text) > limit else "")


def _is_sent(value: Any, sent: str) -> bool:
    """True if a value is what was sent. A number may be spelled otherwise: a price of 2.50 is 2.5 in much JSON."""
    if (json.dumps(value) if isinstance(value, bool) else str(value)) == sent:
        return True
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and NUMBER.fullmatch(sent) is not None and value == json.loads(sent)


def _moment(value: Any, within_s: float, where: str) -> str | None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return f"{where} is {show_value(value)}, expected a time in Unix seconds"
    try:
        off_s = value - time.time()
    except OverflowError:  # an integer beyond any float
        return f"{where} is {show_value(value)}, expected a time in Unix seconds"
    return None if abs(off_s) <= within_s else f"the time in {where} is off by {off_s:.0f} s (allowed: {within_s:g} s)"


def _list(value: Any, wanted: Mapping[str, Any], sent: Mapping[str, object], where: str) -> str | None:
    if not isinstance(value, list):
        return f"{where} is {show_value(value)}, expected a list"
    if "length" in wanted:
        right, span = _fits(len(value), wanted["length"], sent)
        if not right:
            return f"{where} has {len(value)} elements, expected {span}"
    each = wanted.get("each", "any")
    wrong = (found for number, one in enumerate(value) if (found := difference(one, each, sent, f"element {number} of {where}")))
    return next(wrong, None) or (_fall(value, wanted["ascending"], where) if "ascending" in wanted else None)


def _fall(value: Sequence[Mapping[str, Any]], field: str, where: str) -> str | None:
    """Return the first place where a field of the objects falls: numbers go by value, texts by their characters."""
    told = [one[field] if field in one else one[field.lower()] for one in value]  # keys may have been folded
    for number, (before, now) in enumerate(pairwise(told), 1):
        is_text, is_number = (
            all(isinstance(one, kind) and not isinstance(one, bool) for one in (before, now)) for kind in (str, int | float)
        )
        if not (is_text or is_number) or before > now:
            place = f"`{field}` in element {number} of {where}"
            return f"{place} is {show_value(now)} after {show_value(before)}, and does not ascend"
    return None


def _fields(value: Any, wanted: Mapping[str, Any], sent: Mapping[str, object], where: str, others: bool) -> str | None:
    if not isinstance(value, Mapping):
        return f"{where} is {show_value(value)}, expected an object"
    must = {name for name, rule in wanted.items() if not (isinstance(rule, Mapping) and "optional" in rule)}
    if missing := sorted(must - set(value)):
        return f"{where} has no key `{missing[0]}`; it has {', '.join(map(str, value)) or 'none'}"
    if not others and (more := sorted(set(value) - set(wanted))):
        return f"{where} has the key `{more[0]}`; expected {', '.join(wanted)}"
    given = ((name, rule) for name, rule in wanted.items() if name in value)
    return next((found for name, rule in given if (found := difference(value[name], rule, sent, f"`{name}` in {where}"))), None)


def _fits(length: int | None, wanted: object, sent: Mapping[str, object]) -> tuple[bool, str]:
    """Hold a length against a number, a range, or what was sent in a slot, and say that."""
    if isinstance(wanted, Mapping):
        told = str(sent.get(str(wanted["slot"])))
        return told.isdecimal() and length == int(told), f"`{told}` of `{wanted['slot']}`"
    least, most = wanted if isinstance(wanted, list | tuple) else (wanted, wanted)
    return length is not None and least <= length <= most, f"{least}" if least == most else f"{least} to {most}"
