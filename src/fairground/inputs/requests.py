"""Check the requests of a workload: paths, right answers, ledgers, what is kept, and the names of slots that they speak of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from urllib.parse import quote

from fairground.inputs import audits, edges
from fairground.inputs.slot_fillings import SPELLINGS, slot_mistakes
from fairground.inputs.variants import NAME
from fairground.model import LoadRequest, Needs, shape
from fairground.model.contract import header_mistake
from fairground.model.data import COLUMN
from fairground.model.slot import has_slot, is_number, names_of, place_edge, place_values, slots_of, sources_of
from fairground.model.source import Location, Source, location_text, names_hint, nearest

ANY_CASE = "any_case"
"""Beside a shape: keys have any case."""
WITHOUT_BODY = (204, 304)
"""The statuses of answers that have no body."""
SHAPES = {"json", "list", "object"}
BODY_RULES = {"exact", "table", "verified", *SHAPES}
ENGINES_OWN = {"content-length", "transfer-encoding", "connection"}
"""Headers that the engine writes itself, and refuses."""
UNSENT = re.compile(r"[^!\"$-~]")
"""A character that no request line can hold as it is."""


@dataclass(frozen=True)
class RequestPlaces:
    """The places in a file where the parts of one request are written."""

    request: Location
    """Its method, path, headers and body."""
    around: Location
    """Its right answer, its ledger and its edges."""
    needs: Location


def texts_of(request: LoadRequest, at: RequestPlaces) -> list[tuple[Location, str]]:
    """Every text of a request that may have `$names`, with its place."""
    found: list[tuple[Location, str]] = [((*at.request, "path"), request.path), ((*at.request, "body"), request.body or "")]
    found += [((*at.request, "headers", name), value) for name, value in request.headers]
    for i, edge in enumerate(request.edges):
        found += [((*at.around, "edge", i, "values", slot), text) for slot, text in edge.values.items()]
        found += [((*at.around, "edge", i, "headers", header), text) for header, text in edge.headers.items()]
    return found


def texts_of_answer(rule: object, here: Location) -> Iterator[tuple[Location, str]]:
    """Yield the texts at any depth of a right body, but for statements: the database refuses a `$name` there."""
    if isinstance(rule, str):
        yield here, rule
    elif isinstance(rule, Mapping):
        for key, value in rule.items():
            yield from texts_of_answer(value, (*here, key)) if key != "table" else ()
    elif isinstance(rule, list | tuple):
        for number, value in enumerate(rule):
            yield from texts_of_answer(value, (*here, number))


def check(source: Source, asked: Sequence[tuple[LoadRequest, RequestPlaces]], values: Mapping[str, object]) -> None:
    """Raise LabError for the first request that cannot be meant. `values` stand for `$names` in its slots."""
    names: list[str] = []
    for one, at in asked:
        if not NAME.fullmatch(one.name) or one.name in names:
            problem = f"`{one.name}` is not a name of its own for a request in"
            raise source.error((*at.request, "name"), problem, "use a-z, 0-9 and - only, and each name once")
        if one.weight < 1:
            hint = "write a whole number from 1 on"
            raise source.error((*at.request, "weight"), f"`{location_text((*at.request, 'weight'))}` is below 1 in", hint)
        names.append(one.name)
        _check_request(source, one, at, values)
    for one, at in asked:
        _check_kept(source, one, at, [other for other, _ in asked])


def _check_request(source: Source, one: LoadRequest, at: RequestPlaces, values: Mapping[str, object]) -> None:
    place = (*at.request, "path")
    if not one.path.startswith(("/", "$")):
        raise source.error(place, f"`{location_text(place)}` is `{one.path}` in", "begin it with `/`")
    for place, wrong in slot_mistakes(one.fill(values), at.request, at.around):
        raise source.error(place, f"{wrong}, in `{location_text(place)}` of", f"slots: {SPELLINGS}")
    _check_line(source, one, at)
    _check_answer(source, one, at.around, values)
    _check_ledger(source, one, at.around)
    audits.check_needs(source, at.needs, one.need)
    _check_refusal(source, one, at)
    edges.check(source, at.around, one)
    _check_edges(source, one, at.around)


def _check_line(source: Source, one: LoadRequest, at: RequestPlaces) -> None:
    """Refuse what the engine could not send: a method, a path, or a header of the connection's own."""
    if not re.fullmatch("[A-Z]+", one.method) or one.method == "CONNECT":
        hint = "write GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS"
        raise source.error((*at.request, "method"), f"`{one.method}` is no method that can be sent, in", hint)
    paths = [((*at.request, "path"), one.path)]
    paths += [((*at.around, "edge", i, "values"), place_values(one.path, edge.values)) for i, edge in enumerate(one.edges)]
    for place, path in paths:
        if (found := UNSENT.search(path)) is not None:
            shown = f"`{found[0]}` in a path must be percent-encoded, in `{location_text(place)}` of"
            raise source.error(place, shown, f"write {quote(found[0])}; cells of tables are encoded by the lab")
    for name, _ in one.headers:
        if name.lower() in ENGINES_OWN:
            problem = f"the header `{name}` is the connection's own, in"
            raise source.error((*at.request, "headers", name), problem, "leave it out; `--close` loads without kept connections")


def _check_edges(source: Source, one: LoadRequest, around: Location) -> None:
    """Refuse an edge without `status` that has lost a slot of its right answer or its ledger."""
    body = {key: value for key, value in (one.expect.body or {}).items() if key != ANY_CASE}
    named = [str(slot) for _, slot in _named_slots(source, body, (*around, "expect"))]
    named += [slot for entry in one.ledger for slot in (entry.account, entry.add.removeprefix("-")) if slot != "1"]
    for i, edge in enumerate(one.edges):
        there = place_edge(one, edge)
        lost = next((slot for slot in named if not edge.status and not has_slot(there, slot)), None)
        if lost is not None:
            problem = f"the edge `{edge.name}` has no slot `{lost}`, which its right answer or its ledger names, in"
            hint = f"let its value be a slot of that name, such as {{{lost}=int:1..1}}, or give it a `status`"
            raise source.error((*around, "edge", i, "values"), problem, hint)


def _check_answer(source: Source, one: LoadRequest, around: Location, values: Mapping[str, object]) -> None:
    here = (*around, "expect")
    shown = location_text((*here, "body"))
    if one.expect.check_one_in < 1:
        place = (*here, "check_one_in")
        raise source.error(place, f"`{location_text(place)}` is below 1 in", "1 checks every body")
    body = {key: value for key, value in (one.expect.body or {}).items() if key != ANY_CASE}
    if one.expect.body is not None and (len(body) != 1 or not set(body) <= BODY_RULES):
        hint = f"give it one of the keys {', '.join(sorted(BODY_RULES))}"
        raise source.error((*here, "body"), f"`{shown}` is unclear in", hint)
    if not 200 <= one.expect.status <= 599:
        problem = f"`{one.expect.status}` is no status of an answer, in"
        raise source.error((*here, "status"), problem, "write one from 200 to 599")
    kind = next(iter(body), None)
    if kind in SHAPES and (wrong := shape.mistake({kind: body[kind]}, "the body", values)) is not None:
        raise source.error((*here, "body"), f"`{shown}` is unclear ({wrong}) in", "docs/contracts.md has the grammar")
    folds = (one.expect.body or {}).get(ANY_CASE, False)
    if not isinstance(folds, bool) or folds and kind not in SHAPES:
        hint = f"write true beside one of {', '.join(sorted(SHAPES))}, or leave it out"
        raise source.error((*here, "body", ANY_CASE), f"`{shown}.{ANY_CASE}` is out of place in", hint)
    _check_keep(source, one, around)
    for header, rule in one.expect.headers.items():
        if (wrong := header_mistake(rule)) is not None:
            place = (*here, "headers", header)
            raise source.error(place, f"`{location_text(place)}` {wrong} in", "docs/contracts.md has the grammar")
    for place, slot in _named_slots(source, body, here):
        if not isinstance(slot, str) or not has_slot(one, slot):
            raise no_slot(source, one, place, str(slot))
        if place[-1] == "length" and not _can_count(one, slot):
            problem = f"the slot `{slot}` holds words, and no length for `{location_text(place)}` of"
            raise source.error(place, problem, "name one that holds whole numbers")


def _check_refusal(source: Source, one: LoadRequest, at: RequestPlaces) -> None:
    """Refuse needs and a ledger of a request whose right answer is an error: what is refused is counted for neither."""
    needed = [(*at.needs, key.name) for key in fields(Needs) if getattr(one.need, key.name) != getattr(Needs(), key.name)]
    placed: list[Location] = [*needed, *([(*at.around, "ledger")] if one.ledger else [])]
    if placed and one.expect.status >= 400:
        problem = f"`{location_text(placed[0])}` is said of a request whose right answer is an error, and would not be held, in"
        raise source.error(placed[0], problem, "leave it out, or 0: what is refused needs nothing of the database")


def _check_keep(source: Source, one: LoadRequest, around: Location) -> None:
    """Refuse rules of a body that no answer has, and what is kept under no name or from no place."""
    told = f"an answer to {one.method}" if one.method == "HEAD" else f"an answer of status {one.expect.status}"
    if one.method == "HEAD" or one.expect.status in WITHOUT_BODY:
        for place, rule in (((*around, "expect", "body"), one.expect.body), ((*around, "keep"), one.keep)):
            if rule:
                raise source.error(place, f"{told} has no body for `{location_text(place)}` of", "leave it out")
    for name, path in one.keep.items():
        if not COLUMN.fullmatch(name) or not all(path.removesuffix("?").split(".")):
            hint = "write a name of letters, digits, _ and -, and a place such as `id`, `list.0.id` or `next?`"
            raise source.error((*around, "keep", name), f"nothing can be kept as `{name}` from `{path}`, in", hint)


def _can_count(one: LoadRequest, name: str) -> bool:
    """False for a slot of words that are no numbers. Those of tables and answers are not known yet."""
    words = [
        slot.filling.removeprefix("choice:").split("|") for slot in slots_of(one) if slot.name == name and slot.source is None
    ]
    return is_number(one, name) or all(re.fullmatch("[0-9]+", word) for some in words for word in some)


def _named_slots(source: Source, body: Mapping[str, object], here: Location) -> list[tuple[Location, object]]:
    """The slots that the rule of a body speaks of, with their places."""
    named: list[tuple[Location, object]] = []
    if isinstance(table := body.get("table"), Mapping):
        place = (*here, "body", "table")
        named.append(((*place, "by"), table.get("by")))
        if not isinstance(table.get("sql"), str):
            hint = "a SELECT of two columns: value, answer"
            raise source.error(place, f"`{location_text(place)}` has no `sql` in", hint)
    for kind in SHAPES & set(body):
        for place in _counted_texts({kind: body[kind]}, (*here, "body")):
            hint = "write a number or a range, or leave it out"
            raise source.error(place, f"no slot can be the length of a text, as in `{location_text(place)}` of", hint)
        named += _slots_of_rule({kind: body[kind]}, (*here, "body"))
    return named


def _slots_of_rule(rule: object, here: Location) -> Iterator[tuple[Location, object]]:
    """Yield the slots that a rule speaks of, at any depth: `length` of a list may be one, too."""
    if not isinstance(rule, Mapping):
        return
    for key, value in rule.items():
        match key:
            case "slot":
                yield here, value
            case "json" | "object" if isinstance(value, Mapping):
                for name, one in value.items():
                    yield from _slots_of_rule(one, (*here, key, name))
            case "list" | "optional" | "nullable" | "length" | "each":
                yield from _slots_of_rule(value, (*here, key))


def _counted_texts(rule: object, here: Location) -> Iterator[Location]:
    """Yield each place where a text's length is a slot. Cases may have that, and the engine has no such rule."""
    if isinstance(rule, Mapping):
        for key, value in rule.items():
            if key == "text" and isinstance(value, Mapping) and isinstance(value.get("length"), Mapping):
                yield (*here, key, "length")
            yield from _counted_texts(value, (*here, key)) if key not in ("equals", "one_of") else ()


def _check_ledger(source: Source, one: LoadRequest, around: Location) -> None:
    for i, entry in enumerate(one.ledger):
        for key, slot in (("account", entry.account), ("add", entry.add.removeprefix("-"))):
            if not has_slot(one, slot) and not (key == "add" and slot == "1"):
                place = (*around, "ledger", i, key)
                problem = f"the request has no slot `{slot}` for `{location_text((*around, 'ledger'))}` of"
                raise source.error(place, problem, names_hint(names_of(one), "slots"))
            if key == "add" and slot != "1" and not is_number(one, slot):
                problem = f"the slot `{slot}` holds words and cannot be added, in"
                raise source.error((*around, "ledger", i, key), problem, "name one that draws a number, such as {int:1..9}, or 1")


def _check_kept(source: Source, one: LoadRequest, at: RequestPlaces, all_of_them: Sequence[LoadRequest]) -> None:
    """Refuse a slot for what no request keeps: of one answer of another request, and of one alone."""
    keepers = {other.name: other for other in all_of_them if other.keep}
    used = sorted(sources_of(one) & set(keepers))
    place = (*at.request, "path")
    if len(used) > 1 or one.name in used:
        hint = "let it name what one other request keeps"
        raise source.error(place, f"`{one.name}` names what {' and '.join(f'`{name}`' for name in used)} keeps, in", hint)
    for slot in slots_of(one):
        key = (slot.filling.removesuffix(":once")).partition(".")[2]
        if slot.source in keepers and key not in keepers[slot.source].keep:
            hint = nearest(key, list(keepers[slot.source].keep), "names")
            raise source.error(place, f"the request `{slot.source}` keeps no `{key}` for `{location_text(place)}` of", hint)
    kept = {slot.name for slot in slots_of(one) if slot.source in keepers}
    for i, entry in enumerate(one.ledger):
        if entry.account in kept or entry.account.partition(".")[0] in used:
            problem = f"`{entry.account}` is kept of an answer, and no account for `{location_text((*at.around, 'ledger'))}` of"
            raise source.error((*at.around, "ledger", i, "account"), problem, "name a slot that draws, or a cell of a table")


def no_slot(source: Source, one: LoadRequest, place: Location, slot: str) -> Exception:
    """The error of a place that names a slot which the request has not."""
    hint = names_hint(names_of(one), "slots")
    return source.error(place, f"the request has no slot `{slot}` for `{location_text(place)}` of", hint)
