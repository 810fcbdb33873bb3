"""The workload of a service without a contract: one request, whose right answer was learned, or a file of several."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace

from fairground.capacity.service import behaviour
from fairground.capacity.service.request import Asked
from fairground.capacity.service.values import Conduct
from fairground.contract.wire import Trouble
from fairground.generators.slots import escape_of, in_url
from fairground.measure import supply
from fairground.measure.supply import ServerAddress
from fairground.model import Audit, Expectation, LabError, LoadRequest, Workload, foreign, secret
from fairground.model.contract import DataTable
from fairground.model.known import KNOWN
from fairground.model.slot import find_slots, literal_of, slots_of

Headers = tuple[tuple[str, str], ...]
SHOWN_BYTES = 120


def ask_before(asked: Asked) -> Workload | None:
    """Make the workload of a file, with the rows that it draws from; None: nothing but the URL is asked.

    It logs in and settles what answers are good; what a login gave is a secret from then on. LabError where the service refuses
    that, and those of `behaviour.examine`.
    """
    mix = asked.mix
    if mix is None:
        return None
    tables = {name: _as_others(asked, table) for name, table in mix.tables.items()}
    found = Workload("try", mix.title, "", mix.requests, Audit(), None, data=tables)
    filled, refused = supply.fill(found, None, ServerAddress(asked.host, asked.port, asked.tls, asked.patience_s))
    if refused is not None:
        behaviour.require_connection(asked)  # who is not there, or not believed, is told as without a file
        raise LabError(refused, f"correct `{mix.file}`, or let the service answer that request")
    KNOWN.remember(*mix.secrets_in(filled.rows))
    settled = [_settled(asked, one, filled) if one.name in mix.unsettled else one for one in mix.requests]
    return replace(filled, requests=tuple(replace(one, headers=_joined(_headers(asked), one.headers)) for one in settled))


def is_starting(asked: Asked) -> bool:
    """True if the service answers as one that still starts. It is asked a file's first GET without slots, else its URL."""
    several = () if asked.mix is None else asked.mix.requests
    one = next((one for one in several if one.method == "GET" and not slots_of(one)), None)
    return behaviour.is_starting(asked if one is None else replace(_sent(asked, one), expects=one.expect.status))


def examine(asked: Asked, several: Workload | None) -> Conduct:
    """Examine a service by its URL; where it is asked `several` requests, by the first GET that can be sent once.

    Errors are those of `behaviour.examine`.
    """
    if several is None:
        return behaviour.examine(asked)
    one = next((one for one in several.requests if one.method == "GET" and _can_be_sent(one, several)), None)
    if one is None:  # the status at the URL is then no word on what is loaded
        seen = replace(behaviour.examine(asked), good=True)
    else:
        seen = behaviour.examine(replace(_sent(asked, _first_of(one, several)), expects=one.expect.status))
    # Under load the file says what is right, and no body is held against the first one.
    unsaid = ("body", "status") if one is None else ("body",)
    findings = tuple(finding for finding in seen.findings if finding.id not in unsaid)
    statuses = {one.name: one.expect.status for one in several.requests}
    largest = max([seen.body_bytes, *_sizes_of(asked, several, one)])
    return replace(seen, body=None, body_bytes=largest, findings=findings, statuses=statuses)


def _sizes_of(asked: Asked, several: Workload, examined: LoadRequest | None) -> Iterator[int]:
    """The bytes of the bodies of all other GETs that can be sent once: a load must be able to hold the largest."""
    for one in several.requests:
        if one.method == "GET" and one is not examined and _can_be_sent(one, several):
            with suppress(Trouble):  # the load tells what fails; nobody waits here, for a file may have hundreds
                yield len(behaviour.ask_once(_sent(asked, _first_of(one, several))).body)


def workload(asked: Asked, conduct: Conduct) -> Workload:
    """Make the one request as the engine asks it.

    Right is the status that was learned and, where bodies were all the same, the body.
    """
    rule = None
    if conduct.body is not None and conduct.is_compared:
        rule = {"bytes": {"base64": base64.b64encode(conduct.body).decode(), "coding": conduct.coding}}
    request = LoadRequest(
        "try",
        asked.method,
        literal_of(conduct.target or asked.target),
        _headers(asked),
        None if asked.body is None else literal_of(asked.body.decode()),
        Expectation(conduct.status, None, rule, 1),
    )
    return Workload("try", f"{asked.method} {secret.redact(asked.target)}", "", (request,), Audit(), None)


def _can_be_sent(one: LoadRequest, workload: Workload) -> bool:
    """True if every slot of a request is a cell of a table: then the first row fills them."""
    return all(slot.source in workload.rows for slot in slots_of(one))


def _first_of(one: LoadRequest, workload: Workload) -> LoadRequest:
    """A request with the cells of the first row of each table, as a template without slots."""

    def fill(text: str, escape: Callable[[str], str] = str) -> str:
        done, end = "", 0
        for slot in find_slots(text):
            rows = workload.rows[slot.source or ""]
            column = slot.filling.removesuffix(":once").partition(".")[2]
            done += text[end : slot.start] + literal_of(escape(str(rows.rows[0][rows.columns.index(column)])))
            end = slot.end
        return done + text[end:]

    headers = tuple((name, fill(value)) for name, value in one.headers)
    body = None if one.body is None else fill(one.body, escape_of(one.headers, one.body))
    return replace(one, path=fill(one.path, in_url), headers=headers, body=body)


def _sent(asked: Asked, one: LoadRequest) -> Asked:
    """A request without slots of a file, as it is sent once."""
    headers = tuple((name, _text_of(value)) for name, value in _joined(asked.headers, one.headers))
    body = None if one.body is None else _text_of(one.body).encode()
    return replace(asked, method=one.method, target=_text_of(one.path), headers=headers, body=body)


def _text_of(template: str) -> str:
    """The text that a template without slots stands for."""
    return template.replace("{{", "{")


def _joined(given: Headers, own: Headers) -> Headers:
    """The headers that a person gave for all requests, but for those of which a request has its own."""
    names = {name.lower() for name, _ in own}
    return (*((name, value) for name, value in given if name.lower() not in names), *own)


def _as_others(asked: Asked, table: DataTable) -> DataTable:
    """The table whose request, if it has one, is sent with the Host and the headers of all others."""
    if table.request is None:
        return table
    headers = dict(_joined(_headers(asked), tuple(table.request.headers.items())))
    return replace(table, request=replace(table.request, headers=headers))


def _settled(asked: Asked, one: LoadRequest, workload: Workload) -> LoadRequest:
    """The request with the status of its first answer, which is good from 200 to 299."""
    sent = _sent(asked, _first_of(one, workload))
    name = f"`{one.name}`, {one.method} {secret.redact(sent.target)},"
    answer = behaviour.ask_first(sent)
    if answer.status >= 300:
        place, right = answer.header("location"), f"if that is right, write TOML: expect = {{ status = {answer.status} }}"
        said, ask = answer.body[:SHOWN_BYTES].decode("utf-8", "replace"), behaviour.advice_of(answer.status)
        if answer.status < 400 and place is not None:
            said, ask = f"a redirect to {secret.redact(place)}", "ask there"
        raise LabError(
            f"{name} was answered with status {answer.status}: {foreign.line(said, foreign.SENTENCE_CHARACTERS)}",
            f"{ask}; {right}",
            exit_code=exit_code_of(answer.status),
        )
    return replace(one, expect=replace(one.expect, status=answer.status))


def exit_code_of(status: int) -> int:
    """The exit code where this status keeps a service from being loaded: from 500 on it failed, else input may be wrong."""
    return 1 if status >= 500 else 2


def _headers(asked: Asked) -> Headers:
    """Host and what a person gave, as templates."""
    host = () if any(name.lower() == "host" for name, _ in asked.headers) else (("host", asked.authority),)
    return (*host, *((name, literal_of(value)) for name, value in asked.headers))
