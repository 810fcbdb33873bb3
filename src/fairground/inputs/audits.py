"""Check what a workload's audit says: names that a database can have, numbers that mean something, integer arithmetic."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from fairground.model import Audit, LoadRequest, Needs, Written
from fairground.model.contract import NAMED
from fairground.model.slot import has_slot, is_number, names_of, sources_of
from fairground.model.source import Location, Source, location_text, names_hint, nearest
from fairground.model.work import WRITES
from fairground.model.workload import GOOD

MOST_NAME = 63
"""The bytes of a name in PostgreSQL, at most."""


def texts_of(audit: Audit) -> list[tuple[Location, str]]:
    """Every text of an audit that may have `$names`, with its place."""
    found: list[tuple[Location, str]] = []
    for i, invariant in enumerate(audit.invariants):
        found += [(("audit", "invariants", i, "sql"), invariant.sql), (("audit", "invariants", i, "equals"), invariant.equals)]
    found += [(("audit", "ledgers", i, "sql"), ledger.sql) for i, ledger in enumerate(audit.ledgers)]
    if (written := audit.written) is not None:
        found += [(("audit", "written", "sql"), written.sql), (("audit", "written", "holds"), written.holds)]
    return found


def check(source: Source, audit: Audit, asked: Sequence[LoadRequest]) -> None:
    """Raise LabError for what cannot hold of a workload that asks these requests."""
    if (one := audit.written) is not None:
        _check_written(source, one, _writer(source, "written", one.of, asked))
    if (history := audit.history) is not None:
        request = _writer(source, "history", history.of, asked)
        for i, slot in enumerate(history.slots):
            if not has_slot(request, slot):
                problem = f"the request has no slot `{slot}` for `audit.history` of"
                raise source.error(("audit", "history", "slots", i), problem, names_hint(names_of(request), "slots"))
            if not is_number(request, slot):
                problem = f"the slot `{slot}` of `audit.history` holds words, and the log of answers has numbers alone, in"
                raise source.error(("audit", "history", "slots", i), problem, "name slots that draw numbers, such as {int:1..9}")
    names = [one.name for one in asked if one.expect.status < 400] if len(asked) > 1 else []
    for i, invariant in enumerate(audit.invariants):
        location = ("audit", "invariants", i, "equals")
        unknown = [name for name in GOOD.findall(invariant.equals) if name not in names]
        if unknown:
            hint = names_hint(names, "requests of the mix")
            said = f"there is no request for `good.{unknown[0]}`"
            if unknown[0] in (one.name for one in asked):
                said = f"right answers to `{unknown[0]}` are errors, which `good.{unknown[0]}` would not count,"
            raise source.error(location, f"{said} in `{location_text(location)}` of", hint)
        if not is_expression(NAMED.sub("1", invariant.equals)):
            hint = "use `before`, `acknowledged`, whole numbers, +, - and *"
            raise source.error(
                location, f"`{invariant.equals}` is not a valid expression for `{location_text(location)}` of", hint
            )
    sums = {entry.name for one in asked for entry in one.ledger}
    for i, ledger in enumerate(audit.ledgers):
        if ledger.name not in sums:
            hint = nearest(ledger.name, sums, "ledgers")
            raise source.error(("audit", "ledgers", i, "name"), f"no `[[ledger]]` is named `{ledger.name}` in", hint)


def _writer(source: Source, part: str, of: str, asked: Sequence[LoadRequest]) -> LoadRequest:
    """The request whose writes are looked for. It names nothing that was kept of an earlier answer."""
    found = next((one for one in asked if one.name == of), asked[0] if not of and len(asked) == 1 else None)
    place = ("audit", part, "of")
    if found is None:
        names = names_hint([one.name for one in asked], "requests")
        said = f"there is no request `{of}` for" if of else "a mix needs"
        raise source.error(place, f"{said} `audit.{part}.of` of", names)
    if found.expect.status >= 400:
        problem = f"right answers to `{found.name}` are errors, and write nothing for `audit.{part}` of"
        raise source.error(place, problem, names_hint([one.name for one in asked if one.expect.status < 400], "requests"))
    kept = sources_of(found) & {one.name for one in asked if one.keep}
    if kept:
        hint = "look for the writes of a request that needs no earlier answer"
        raise source.error(place, f"`audit.{part}.of` names what `{min(kept)}` keeps, in", hint)
    return found


def _check_written(source: Source, written: Written, request: LoadRequest) -> None:
    if bool(written.holds) == bool(written.sql):
        hint = "give it `slot` and `sql`, or `holds` where the answer says what was written"
        raise source.error(("audit", "written"), "`audit.written` is unclear in", hint)
    if written.holds:
        return
    named: list[tuple[Location, str]] = [(("audit", "written"), written.slot)]
    if (own := written.own) is not None:
        named += [(("audit", "written", "own"), slot) for slot in own.slots]
        if own.high - own.low < len(own.slots):
            hint = "give `high` a number far above `low`, so that nobody can foresee which are the lab's"
            raise source.error(("audit", "written", "own", "high"), "there are too few numbers for `audit.written.own` of", hint)
    for place, slot in named:
        if not has_slot(request, slot):
            raise source.error(
                place, f"the request has no slot `{slot}` for `{location_text(place)}` of", names_hint(names_of(request), "slots")
            )


def check_needs(source: Source, here: Location, needs: Needs) -> None:
    """Check what one answer needs of the database: numbers that mean something, and names that the database can have."""

    for i, statement in enumerate(needs.statements):
        source.require_text((*here, "statements", i), statement)
    if needs.statements_per_answer <= 0:
        place, hint = (*here, "statements_per_answer"), "write how many statements one answer needs"
        raise source.error(place, f"`{location_text(place)}` is not above 0 in", hint)
    most = needs.most_commits_per_answer
    if most is not None and most < max(needs.commits_per_answer, 1):
        hint = "write the most commits that an honest answer makes, or leave it out"
        place = (*here, "most_commits_per_answer")
        raise source.error(place, f"`{location_text(place)}` is below what one answer needs in", hint)
    numbers = [((*here, "functions", name), name, calls) for name, calls in needs.functions.items()]
    numbers += [
        ((*here, "tables", name), name, min(need.scans, need.rows, *(getattr(need, way) for way in WRITES)))
        for name, need in needs.tables.items()
    ]
    for location, name, least in numbers:
        if not 0 < len(name.encode()) <= MOST_NAME or not name.isprintable():
            problem = f"`{name}` is not a valid name for `{location_text(location[:-1])}` of"
            raise source.error(location, problem, "write it as the database has it, without its schema")
        if least < 0:
            raise source.error(location, f"`{location_text(location)}` is below 0 in", "write what one good answer needs")


def is_expression(text: str, names: Collection[str] = ("before", "acknowledged")) -> bool:
    """True if the text is arithmetic on whole numbers, the names, and `good.NAME`."""
    try:
        tree = ast.parse(GOOD.sub("1", text).strip(), mode="eval")
    except SyntaxError:
        return False
    grammar = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.Add, ast.Sub, ast.Mult, ast.USub, ast.Load)
    return all(
        isinstance(node, grammar)
        or (isinstance(node, ast.Name) and node.id in names)
        or (isinstance(node, ast.Constant) and type(node.value) is int)
        for node in ast.walk(tree)
    )
