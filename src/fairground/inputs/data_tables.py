"""Check the tables `[data.NAME]` of a contract, whose rows requests of a load draw values from."""

from __future__ import annotations

import re
from collections.abc import Mapping

from fairground.inputs.variants import NAME
from fairground.model.contract import DataTable, names_in
from fairground.model.data import COLUMN, column_mistake
from fairground.model.source import Location, Source, location_text, nearest

SLOT = re.compile(r"\{([A-Za-z_][^{}\"]*)\}")
"""What looks like a slot in the request of a table: an object of JSON begins otherwise."""


def require_names(source: Source, here: Location, text: str, known: Mapping[str, object] | tuple[str, ...]) -> None:
    """Refuse a text with a `$name` that is not `known`."""
    for name in names_in(text):
        if name not in known:
            hint = nearest(name, tuple(known), "names")
            raise source.error(here, f"unknown `${name}` in `{location_text(here)}` of", hint)


def check_tables(source: Source, tables: Mapping[str, DataTable], known: Mapping[str, object]) -> Mapping[str, DataTable]:
    """The tables as they are written. LabError for one that cannot be filled."""
    for name, table in tables.items():
        here = ("data", name)
        if not NAME.fullmatch(name):
            raise source.error(here, f"`{name}` is not a valid name for a table of", "use a-z, 0-9 and - only")
        if [bool(table.sql), bool(table.rows), table.request is not None].count(True) != 1:
            hint = "give it `sql` or `rows`; or `for_each`, `request` and `keep`, to ask the server for each row of another table"
            raise source.error(here, f"`{location_text(here)}` is unclear in", hint)
        for i, row in enumerate(table.rows):
            if not row or row.keys() != table.rows[0].keys():
                place, hint = (*here, "rows", i), f"every row has the columns {', '.join(table.rows[0]) or 'of the first'}"
                raise source.error(place, f"`{location_text(place)}` has other columns in", hint)
            for column, cell in row.items() if known else ():  # where nothing has a name a cell is what it says
                require_names(source, (*here, "rows", i, column), str(cell), known)
        beside = tables[table.for_each].rows if table.for_each in tables else ()
        columns = [name for rows in (table.rows, beside) for name in (rows[0] if rows else ())]
        if (wrong := column_mistake([*columns, *table.keep])) is not None:
            part = "keep" if table.keep else "rows"
            raise source.error((*here, part), f"`{location_text(here)}` {wrong}, in", "call it otherwise")
        require_names(source, (*here, "sql"), table.sql, known)
        if table.request is not None:
            _check_asked(source, here, table, tables, known)
    return tables


def _check_asked(
    source: Source, here: Location, table: DataTable, tables: Mapping[str, DataTable], known: Mapping[str, object]
) -> None:
    """Check a table whose cells are asked of the server: of one that does not ask itself, so that no two wait for each other."""
    assert table.request is not None
    parents = [name for name, other in tables.items() if other.request is None]
    if table.for_each not in parents:
        place, hint = (*here, "for_each"), nearest(table.for_each, parents, "tables with `sql` or `rows`")
        raise source.error(place, f"there is no table `{table.for_each}` for `{location_text(place)}` of", hint)
    if not table.keep:
        place, hint = (*here, "keep"), 'name what it keeps: { token = "token" }'
        raise source.error(place, f"`{location_text(place)}` is missing in", hint)
    for name, path in table.keep.items():
        if path.endswith("?"):
            place = (*here, "keep", name)
            raise source.error(
                place, f"`{path}` may be missing, and each row needs it, for `{location_text(place)}` of", "leave out `?`"
            )
    place = (*here, "request", "path")
    texts: dict[Location, str] = {place: table.request.path, (*here, "request", "body"): table.request.body or ""}
    texts |= {(*here, "request", "headers", name): text for name, text in table.request.headers.items()}
    for at, text in texts.items():
        require_names(source, at, text, known)
        _require_cells(source, at, text, table.for_each, tables[table.for_each])
    if not table.request.path.startswith(("/", "$")):
        raise source.error(place, f"`{location_text(place)}` is `{table.request.path}` in", "begin it with `/`")


def _require_cells(source: Source, here: Location, text: str, name: str, parent: DataTable) -> None:
    """Refuse a slot that is no cell of the table `name`: it would be sent as it is written."""
    for found in SLOT.finditer(text.replace("{{", "  ")):
        table, _, column = found[1].partition(".")
        if table != name or not COLUMN.fullmatch(column) or (parent.rows and column not in parent.rows[0]):
            cells = ", ".join(f"{{{name}.{one}}}" for one in parent.rows[0]) if parent.rows else f"{{{name}.COLUMN}}"
            problem = f"`{found[0]}` in `{location_text(here)}` is no cell of `{name}` in"
            raise source.error(here, problem, f"write {cells}; a brace is `{{{{`")
