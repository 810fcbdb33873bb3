"""A service as a record knows it. Pure."""

from __future__ import annotations

from dataclasses import replace

from fairground.capacity import objective
from fairground.capacity.service import parts
from fairground.capacity.service.parts import ServicePart
from fairground.capacity.service.values import Visit
from fairground.model.record import Record, TryAsked


def service_of(record: Record[TryAsked, ServicePart]) -> Visit:
    """Return what is known of the service so far."""
    asked = record.head.asked
    kept, of_file = objective.parse(asked.objective), asked.requests is not None
    found = parts.visit(asked.url, asked.method.upper(), kept, record.entries, of_file, asked.seconds)
    return replace(found, at_least_per_s=asked.at_least_per_s, asks=_asks(asked))


def _asks(asked: TryAsked) -> str:
    """Method, path, headers and body, or the file of requests with its digest; not where the service is."""
    path = asked.url.partition("://")[2].partition("/")[2]
    headers = sorted(f"{name}: {value}" for name, value in asked.headers)
    return "\n".join([f"{asked.method.upper()} /{path}", *headers, asked.body or "", asked.requests or ""])
