"""TLS by the standard library, for the lab's own requests: whose certificates are believed, and what a failed handshake means."""

from __future__ import annotations

import contextlib
import socket
from functools import cache
from typing import TYPE_CHECKING

from fairground.model.wire import Tls

if TYPE_CHECKING:
    import ssl

PROBE_S = 2.0
HTTP_1, HTTP_2 = "http/1.1", "h2"
"""Protocols as ALPN names them."""
TLS_RECORDS = (b"\x15", b"\x16")
"""How an alert and a handshake begin."""
EXPIRED, NOT_YET, SELF_SIGNED, OTHER_NAMES = 10, 9, 18, (62, 64)
UNKNOWN = (2, 19, 20, 21)
"""What OpenSSL calls what is wrong with a certificate (X509_V_ERR_…)."""


@cache
def context(tls: Tls, protocols: tuple[str, ...] = (HTTP_1,)) -> ssl.SSLContext:
    """The settings of all connections, those of the load engine. OSError where the certificates of `tls.ca` cannot be read."""
    import ssl

    found = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    found.set_alpn_protocols(list(protocols))
    if tls.insecure:
        found.check_hostname, found.verify_mode = False, ssl.CERT_NONE
        return found
    found.hostname_checks_common_name = False
    if tls.ca is None:
        found.load_default_certs()
    else:
        found.load_verify_locations(tls.ca)
        found.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return found


def trouble(error: OSError, tls: Tls) -> tuple[str, str]:
    """Tell what a failed handshake means: its kind and a sentence.

    `expired`, `stranger`, `other-name` and `certificate` are what is wrong with a certificate; `handshake` is anything else.
    """
    import ssl

    if isinstance(error, ssl.SSLCertVerificationError):
        return _certificate(error.verify_code, error.verify_message, tls)
    if isinstance(error, TimeoutError):
        return "handshake", "the TLS handshake did not end in time"
    reason = error.reason if isinstance(error, ssl.SSLError) else error.strerror
    said = (reason or str(error)).lower().replace("_", " ")
    return "handshake", f"the TLS handshake failed ({said})"


def _certificate(code: int, message: str, tls: Tls) -> tuple[str, str]:
    if code == EXPIRED:
        return "expired", "its certificate has expired"
    if code == NOT_YET:
        return "expired", "its certificate is not valid yet, by this machine's clock"
    if code == SELF_SIGNED:
        return "stranger", "its certificate is self-signed: no authority vouches for it"
    if code in UNKNOWN:
        return "stranger", "no authority that is trusted here signed its certificate"
    if code in OTHER_NAMES:
        return "other-name", f"its certificate is not for `{tls.name}`"
    return "certificate", f"its certificate cannot be used ({message})"


def speaks_tls(host: str, port: int) -> bool:
    """True if a port answers the beginning of a TLS connection with a TLS record, even a refusal."""
    import ssl

    sent = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context(Tls(host, insecure=True)).wrap_bio(ssl.MemoryBIO(), sent, server_hostname=host).do_handshake()
    try:
        with socket.create_connection((host, port), timeout=PROBE_S) as plain:
            plain.sendall(sent.read())
            return plain.recv(1) in TLS_RECORDS
    except OSError:
        return False


def chosen_protocol(host: str, port: int, tls: Tls) -> str | None:
    """Offer HTTP/2 and HTTP/1.1 as browsers do (ALPN, RFC 7301), and return what the service chooses.

    Empty: it takes part in no choice. None: the handshake failed, so that nobody knows.
    """
    both = context(tls, (HTTP_2, HTTP_1))
    try:
        with (
            socket.create_connection((host, port), timeout=PROBE_S) as plain,
            both.wrap_socket(plain, server_hostname=tls.name) as encrypted,
        ):
            return encrypted.selected_alpn_protocol() or ""
    except OSError:
        return None


def speaks_http(host: str, port: int) -> bool:
    """True if a port answers a plain request that asks for nothing."""
    try:
        with socket.create_connection((host, port), timeout=PROBE_S) as plain:
            plain.sendall(b"OPTIONS * HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            return plain.recv(16).startswith(b"HTTP/1.")
    except OSError:
        return False
