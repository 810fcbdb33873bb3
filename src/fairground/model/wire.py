"""The bytes of a request and the TLS about them, in one place: checks, probes and loads must not be told apart by them."""

from __future__ import annotations

from dataclasses import dataclass

ACCEPT = ("accept", "application/json")
"""What each request of the lab's own workloads says that it takes."""
BODY_METHODS = ("POST", "PUT", "PATCH")
"""They say how long their body is, also where they have none."""


@dataclass(frozen=True)
class Tls:
    """The terms of TLS with a service: what its certificate must be for, and whose certificates are believed.

    `ca` is a file of certificates in PEM that are believed in place of this machine's authorities. `insecure`: all are.
    """

    name: str
    ca: str | None = None
    insecure: bool = False


def with_accept(headers: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """The headers, with `accept` before them where they have none of their own."""
    return headers if any(name.lower() == ACCEPT[0] for name, _ in headers) else (ACCEPT, *headers)


def request_bytes(
    line: tuple[str, str], authority: str, headers: tuple[tuple[str, str], ...], body: bytes | None, version: str = "1.1"
) -> bytes:
    """The bytes of a request as the load engine writes them. `line` is its method and target.

    `host` comes first and the length last, unless `headers` have them.
    """
    method, target = line
    given = {name.lower() for name, _ in headers}
    rows = [*([] if "host" in given else [("host", authority)]), *headers]
    if not given & {"content-length", "transfer-encoding"} and (body is not None or method in BODY_METHODS):
        rows.append(("content-length", str(len(body or b""))))
    head = f"{method} {target} HTTP/{version}\r\n" + "".join(f"{name}: {value}\r\n" for name, value in rows)
    return head.encode("utf-8") + b"\r\n" + (body or b"")
