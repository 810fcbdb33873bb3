"""The variants of a `server.toml`: how each is started, and whether it is written as documentation shows or tuned beyond that."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from fairground.model import Approach, Tuning, Variant
from fairground.model.source import STRICT, Location, Source, location_text

NAME = re.compile(r"[a-z0-9-]+")
ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
SOURCE = re.compile(r"https://[a-z0-9-]+(\.[a-z0-9-]+)+(/\S*)?|none")
CHOICES = ", ".join(f'`"{approach}"`' for approach in Approach)


@dataclass(frozen=True)
class VariantTable:
    """One table below `[variants]`. Its commands and `serves` stand in place of what the server says for all of them."""

    __pydantic_config__: ClassVar[Mapping[str, object]] = STRICT
    about: str
    approach: str | None = None
    tuning: tuple[Tuning, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    build: tuple[tuple[str, ...], ...] | None = None
    version: tuple[str, ...] | None = None
    serve: tuple[str, ...] | None = None
    serves: tuple[str, ...] | None = None


def read_variants(
    source: Source, tables: Mapping[str, VariantTable], told: Collection[str], *, of_past: bool
) -> dict[str, Variant]:
    """The variants by name. None sets what the lab itself tells a server (`told`): it would alter how it is measured.

    A manifest `of_past` may be older than the declaration of approaches, which are then unknown."""
    if not tables:
        raise source.error(("variants",), "there is no variant in", "add at least one: `[variants.default]` with an `about`")
    return {name: _variant(source, name, table, told, of_past) for name, table in tables.items()}


def require_command(source: Source, location: Location, words: tuple[str, ...]) -> None:
    """Refuse a command that is empty, or has an empty word."""
    if not words or not all(words):
        raise source.error(
            location, f"`{location_text(location)}` has an empty command or word in", "a command is a list of words"
        )


def _variant(source: Source, name: str, table: VariantTable, told: Collection[str], of_past: bool) -> Variant:
    here: Location = ("variants", name)
    if not NAME.fullmatch(name):
        raise source.error(here, f"`{name}` is not a valid name for a variant in", "use a-z, 0-9 and - only")
    source.require_text((*here, "about"), table.about)
    for key in ("version", "serve"):
        if (words := getattr(table, key)) is not None:
            require_command(source, (*here, key), words)
    for place, words in enumerate(table.build or ()):
        require_command(source, (*here, "build", place), words)
    _check_environment(source, name, table, told)
    approach = None if of_past and table.approach is None else _approach(source, name, table)
    return Variant(name, table.about, table.env, approach, table.tuning, table.build, table.version, table.serve)


def _check_environment(source: Source, name: str, table: VariantTable, told: Collection[str]) -> None:
    for key in table.env:
        location: Location = ("variants", name, "env", key)
        if key in told:
            hint = f"remove it: {', '.join(told)} are the same for every server"
            raise source.error(location, f"variant `{name}` sets `{key}`, which only the lab may set, in", hint)
        if not ENVIRONMENT_NAME.fullmatch(key):
            hint = "use letters, digits and _, for example `DB_DRIVER`"
            raise source.error(location, f"`{key}` is not a valid name for an environment variable in", hint)


def _approach(source: Source, name: str, table: VariantTable) -> Approach:
    """The approach, held against what the variant says of its tuning."""
    here: Location = ("variants", name)
    if table.approach is None:
        raise source.error(
            here, f"variant `{name}` does not say its `approach` in", f"write {CHOICES}: CONTRIBUTING.md has the rule"
        )
    if table.approach not in set(Approach):
        location = (*here, "approach")
        raise source.error(
            location, f"`{location_text(location)}` is `{table.approach}` in", f"write {CHOICES}: CONTRIBUTING.md has the rule"
        )
    approach = Approach(table.approach)
    if approach is Approach.TUNED and not table.tuning:
        hint = '`tuning = [{ what = "…", why = "…", source = "https://… or none" }]`'
        raise source.error(here, f"variant `{name}` is tuned and does not say what is tuned in", hint)
    if approach is Approach.PUBLISHED and not table.tuning:
        hint = (
            '`tuning = [{ what = "…", why = "…", source = "https://…" }]`, one for each choice, with the page where it was made'
        )
        raise source.error(here, f"variant `{name}` is as published and does not say what its author chose in", hint)
    if approach is Approach.DOCUMENTED and table.tuning:
        hint = 'remove it, or write `approach = "tuned"`'
        raise source.error((*here, "tuning"), f"variant `{name}` is documented and has a `tuning` in", hint)
    for place, one in enumerate(table.tuning):
        at: Location = (*here, "tuning", place)
        source.require_text((*at, "what"), one.what)
        source.require_text((*at, "why"), one.why)
        if not SOURCE.fullmatch(one.source) or (approach is Approach.PUBLISHED and one.source == "none"):
            hint = "write the https address of the page that shows it" + ("" if approach is Approach.PUBLISHED else ", or `none`")
            raise source.error((*at, "source"), f"`{location_text((*at, 'source'))}` is `{one.source}` in", hint)
    return approach
