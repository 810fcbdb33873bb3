"""Services that speak TLS by the standard library, and what they may show, made by openssl."""

from __future__ import annotations

import atexit
import functools
import shutil
import ssl
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from builders.paths import ROOT


@functools.cache
def papers() -> Path:
    """The folder that `engine/tests/certificates.sh` fills; it says what is there."""
    folder = Path(tempfile.mkdtemp(prefix="fairground-tls-"))
    atexit.register(shutil.rmtree, folder)
    subprocess.run([ROOT / "engine" / "tests" / "certificates.sh", folder], check=True)
    return folder


def paper(name: str) -> str:
    """The path of one of them."""
    return str(papers() / f"{name}.pem")


class Answers(BaseHTTPRequestHandler):
    """The same few bytes to each GET and HEAD."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "5")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(b"hello")

    do_HEAD = do_GET

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


class Frames(BaseHTTPRequestHandler):
    """The beginning of HTTP/2, an empty frame of settings, whatever is asked."""

    def handle(self) -> None:
        self.request.recv(1)
        self.request.sendall(b"\0\0\0\4\0\0\0\0\0")


class Service(ThreadingHTTPServer):
    """A client that hangs up, or believes no certificate, is no news."""

    daemon_threads = True
    request_queue_size = 1024

    def handle_error(self, *_: object) -> None:
        """The connection is closed."""


@contextmanager
def encrypted(name: str, protocols: Sequence[str] = (), answers: type[BaseHTTPRequestHandler] = Answers) -> Iterator[int]:
    """A service that shows the certificate `name` for a while, and names `protocols` by ALPN (none: it has no ALPN); its port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(paper(name), paper(name).replace(".pem", ".key"))
    if protocols:
        context.set_alpn_protocols(list(protocols))
    service = Service(("127.0.0.1", 0), answers)
    service.socket = context.wrap_socket(service.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=service.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield service.server_port
    finally:
        service.shutdown()
        thread.join()
        service.server_close()
