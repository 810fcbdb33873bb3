"""The file of `--requests`: TOML as a contract's workloads have it, commands of curl, an HTTP archive, or an OpenAPI document."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

from fairground.inputs import files, requests
from fairground.inputs.calls import Call, load_requests, unique_names
from fairground.inputs.curl_commands import read_commands
from fairground.inputs.data_tables import check_tables, require_names
from fairground.inputs.http_archive import read_archive
from fairground.inputs.openapi import read_document
from fairground.inputs.requests import RequestPlaces
from fairground.inputs.workload_files import SingleRequest, tables_of
from fairground.model import Expectation, LabError, LoadRequest
from fairground.model.contract import NO_CONTRACT, DataTable
from fairground.model.request_mix import RequestMix
from fairground.model.slot import FoundSlot, literal_of, slots_of
from fairground.model.source import STRICT, Source, location_text

OF_A_CONTRACT = {"table": "right answers by SQL", "verified": "cases"}
"""Rules of bodies that need what only a contract has."""
OF_OPENAPI = (".json", ".yaml", ".yml")


@dataclass(frozen=True, kw_only=True)
class TriedRequest(SingleRequest):
    """One `[[request]]`. Without `expect` the first answer says what status is good, or it is 200 where a slot is no cell."""

    method: str = "GET"
    name: str = ""
    weight: int = 1
    expect: Expectation | None = None
    keep: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class TriedRequests:
    """The whole file."""

    __pydantic_config__: ClassVar[Mapping[str, object]] = STRICT
    request: tuple[TriedRequest, ...]
    data: dict[str, DataTable] = field(default_factory=dict)


def read_requests(path: Path, url: str, typed: Collection[str] = ()) -> RequestMix:
    """Read the requests to the service at `url`. A mistake is a LabError with file and line.

    `typed`: names of headers that a person gives. What was recorded once goes without them: its token may have expired. So do
    the examples of a document.
    """
    source, names = files.read(path, depth=1), {name.lower() for name in typed}
    digest = hashlib.sha256(source.text.encode()).hexdigest()
    if path.suffix == ".toml":
        return _from_toml(source, RequestMix(path.name, digest, ()))
    if path.suffix in OF_OPENAPI:
        return _from_openapi(path, urlsplit(url).path.rstrip("/"), names, RequestMix(path.name, digest, ()))
    if path.suffix == ".har":
        calls: Iterable[Call] = (call.without(names) for call in read_archive(path.name, source.text))
    else:
        calls = read_commands(path.name, source.text, names)
    asked, unsettled = load_requests(path.name, calls, url)
    return RequestMix(path.name, digest, asked, unsettled=unsettled)


def _from_openapi(path: Path, below: str, names: Collection[str], empty: RequestMix) -> RequestMix:
    """Each GET of a document, once, with its examples; the first answer says what status is good.

    Where the document has no base of its own, it is asked `below` the URL's path. `names`: headers without an example of its own.
    """
    document = read_document(path)
    if not document.questions:
        elsewhere = next((one for one in document.left_out if "`$ref`" in one), None)
        raise LabError(f"`{path}` has no GET", elsewhere or "write what the service is asked in TOML, or as commands of curl")
    asked = tuple(
        LoadRequest(
            one.id,
            "GET",
            literal_of((document.base or below) + one.example),
            tuple((name, literal_of(text)) for name, text in one.headers.items() if name.lower() not in names),
            None,
            Expectation(one.status),
        )
        for one in document.questions
    )
    return replace(empty, requests=asked, unsettled=frozenset(one.name for one in asked))


def _from_toml(source: Source, empty: RequestMix) -> RequestMix:
    file = source.parse(TriedRequests)
    if not file.request:
        raise source.error(("request",), "`request` is empty in", "write a table [[request]] for each")
    names = unique_names(f"{one.method} {one.path}" for one in file.request)
    asked = [
        LoadRequest(
            one.name or name, one.method.upper(), one.path, tuple(one.headers.items()), one.body, one.expect or Expectation(200),
            weight=one.weight, keep=one.keep,
        )
        for one, name in zip(file.request, names, strict=True)
    ]  # fmt: skip
    placed = [(one, RequestPlaces(("request", i), ("request", i), ("request", i))) for i, one in enumerate(asked)]
    for one, at in placed:
        for location, text in requests.texts_of(one, at):
            require_names(source, location, text, {})
        for kind in set(one.expect.body or {}) & set(OF_A_CONTRACT):
            place = (*at.around, "expect", "body")
            hint = f"{OF_A_CONTRACT[kind]} need a contract: ./fairground init"
            raise source.error(place, f"`{location_text(place)}` is a `{kind}` in", hint)
    requests.check(source, placed, {})
    for name, table in file.data.items():
        if table.sql:
            hint = "write its `rows`, or make a contract: ./fairground init"
            raise source.error(("data", name, "sql"), f"`data.{name}` asks a database, and a try has none, in", hint)
    tables = tables_of(source, placed, replace(NO_CONTRACT, tables=check_tables(source, file.data, {})))
    open_ones = (one for one, written in zip(asked, file.request, strict=True) if written.expect is None)
    unsettled = frozenset(one.name for one in open_ones if all(_is_a_cell(slot, tables) for slot in slots_of(one)))
    return replace(empty, requests=tuple(asked), tables=tables, unsettled=unsettled)


def _is_a_cell(slot: FoundSlot, tables: Mapping[str, DataTable]) -> bool:
    """True if the first row fills a slot as well as any. What is taken out for good is left for the load."""
    return slot.source in tables and not slot.filling.endswith(":once")
