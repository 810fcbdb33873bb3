"""A small shop: log in, list the orders of a person, place one. By `--indexed` it finds a person's orders without reading all."""

from __future__ import annotations

import argparse
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PEOPLE, ORDERS = 1000, 20_000
TOKEN = "shop-token-of-ada"
orders = [{"id": number, "person": number % PEOPLE, "total": number * 7 % 501} for number in range(ORDERS)]
by_person: dict[int, list[dict[str, int]]] = {}
for order in orders:
    by_person.setdefault(order["person"], []).append(order)


class Shop(BaseHTTPRequestHandler):
    """The requests: POST /login, GET /orders, POST /orders."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1
    indexed = False

    def do_GET(self) -> None:
        if self.headers.get("authorization") != f"Bearer {TOKEN}":
            self.answer(401, {"error": "log in"})
        elif self.indexed:
            self.answer(200, by_person[7])
        else:
            self.answer(200, [order for order in orders if order["person"] == 7])

    do_HEAD = do_GET

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.path == "/login":
            self.answer(200, {"token": TOKEN})
        else:
            self.answer(201, {"id": ORDERS})

    def answer(self, status: int, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        """Write no access log."""


class Listening(ThreadingHTTPServer):
    """A server with room for a thousand connections at once."""

    request_queue_size = 1024
    daemon_threads = True


if __name__ == "__main__":
    asked = argparse.ArgumentParser()
    asked.add_argument("--port", type=int, default=3000)
    asked.add_argument("--indexed", action="store_true")
    given = asked.parse_args()
    Shop.indexed = given.indexed
    Listening(("127.0.0.1", given.port), Shop).serve_forever()
