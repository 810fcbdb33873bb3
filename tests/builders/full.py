"""Values of the model with every field filled, each differently."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import StrEnum
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints


def filled(kind: Any, count: Iterator[int]) -> Any:
    """A value of a type of `model` in which every number and every text occurs once."""
    origin, parts = get_origin(kind), get_args(kind)
    if is_dataclass(kind) and isinstance(kind, type):
        hints = get_type_hints(kind)
        return kind(**{one.name: filled(hints[one.name], count) for one in fields(kind)})
    if origin in (Union, UnionType):
        return filled(parts[0], count)
    if origin is tuple:
        return tuple(filled(part, count) for part in (parts if Ellipsis not in parts else (parts[0], parts[0])))
    if origin is Mapping or (isinstance(origin, type) and issubclass(origin, Mapping)):
        return {filled(parts[0], count): filled(parts[1], count) for _ in range(2)}
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return list(kind)[next(count) % len(kind)]
    makers: dict[Any, Any] = {int: int, float: lambda n: n + 0.5, str: lambda n: f"text {n} “ü”\n", bool: lambda n: n % 2 == 0}
    return makers[kind](next(count))


def full(kind: Any, seed: int = 1000) -> Any:
    """One such value."""
    return filled(kind, itertools.count(seed))
