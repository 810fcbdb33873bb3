"""The reference server: threads and sockets, and one connection's requests and answers."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import threading
import time
from collections.abc import Collection, Iterator
from typing import Any
from urllib.parse import unquote_plus

from fairground.contract.case import ProcedureSettings
from reference import items
from reference.database import Database, DatabaseFailed, Session, Transaction
from reference.rows import ACCOUNT_IDS, ACCOUNTS, USER_KEYS, USERS, caesar, iso_milliseconds
from reference.talk import Talk


class Refused(Exception):
    """An error answer: status and message."""


class Server:
    """Threads and sockets; `faults` are looked up where they bite."""

    def __init__(self, database: Database, settings: ProcedureSettings, faults: Collection[str] = ()) -> None:
        self.faults, self.database, self.settings = frozenset(faults), database, settings
        size = 50 if "overdraws-when-full" in self.faults else settings.pool_size - ("uses-half-its-pool" in self.faults)
        self._slots, self._idle = threading.Semaphore(size), list[Session]()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port: int = self._listener.getsockname()[1]
        self._clients = set[socket.socket]()
        self.alive, self._gave_up, self._answered = True, False, 0
        threading.Thread(target=self._accept, daemon=True).start()

    def stop(self) -> None:
        self.alive = False
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for client in list(self._clients):
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while self.alive:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._clients.add(client)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            Talk(self, client).go_on()
            self._clients.discard(client)
            return
        self._clients.discard(client)
        if "leaks-on-hang-up" in self.faults:
            self._slots.acquire(timeout=5)

    # ------------------------------------------------------------ routes

    def answer(self, method: str, target: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
        """Status and body; 204 has none."""
        path, _, query = target.partition("?")
        try:
            return self._route("GET" if method == "HEAD" else method, path, query, headers, body)
        except (Refused, items.NoItem) as refused:
            status, message = refused.args
        except DatabaseFailed as error:
            status, message = 500, str(error)
            if "dies-with-its-database" in self.faults:
                self.stop()
        if "errors-are-200" in self.faults:
            status = 200
        if "errors-without-ok" in self.faults:
            return status, json.dumps({"message": message}).encode()
        return status, b"oops" if "errors-are-text" in self.faults else json.dumps({"ok": False, "message": message}).encode()

    def _route(self, method: str, path: str, query: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
        gets = {"/ready": self._ready, "/ping": self._ping, "/time": self._time}
        gets |= {"/db/ping": self._db_ping, "/db/time": self._db_time, "/users": self._users}
        if path in gets and (method == "GET" or "any-method" in self.faults):
            return gets[path]()
        if path in ("/tx", "/transfer") and (method == "POST" or "any-method" in self.faults):
            return (self._tx if path == "/tx" else self._transfer)(self._numbers(path, query))
        if path == "/lookup" and method == "POST":
            return self._lookup(headers, body)
        if (item := items.PATH.fullmatch(path)) and method in ("GET", "PUT" if item[1] else "POST"):
            return items.answer(self.database, self.faults, (method, item[1]), query, body)
        if "errors-are-200" in self.faults:
            return 200, b'{"ok":true,"message":"OK"}'
        raise Refused(405 if path in (*gets, "/tx", "/transfer", "/lookup") else 404, "not here")

    def _ready(self) -> tuple[int, bytes]:
        return 204, b""

    def _ping(self) -> tuple[int, bytes]:
        return 200, b'{"ok": true, "message": "OK"}' if "spaces" in self.faults else b'{"ok":true,"message":"OK"}'

    def _time(self) -> tuple[int, bytes]:
        now_s = int(time.time()) - 100 * ("stale" in self.faults)
        return 200, (b'{"serverTime": %d}' if "spaces" in self.faults else b'{"serverTime":%d}') % now_s

    def _db_ping(self) -> tuple[int, bytes]:
        with self._session() as session:
            session.begin()
            if "slow-database" in self.faults:
                time.sleep(0.02)
        return 200, b'{"ok":true,"message":"OK"}' if "compact" in self.faults else b'{"ok" : true, "message" : "OK"}'

    def _db_time(self) -> tuple[int, bytes]:
        now_s = int(time.time()) - 100 * ("stale" in self.faults)
        return 200, (b'{"serverTime":%d}' if "compact" in self.faults else b'{"serverTime" : %d}') % now_s

    def _users(self) -> tuple[int, bytes]:
        users: list[dict[str, Any]] = [dict(zip(USER_KEYS, row, strict=True)) for row in USERS]
        for user in users:
            user["address"] = caesar(user["address"], 13 if "rotates-by-13" in self.faults else 14)
            user["birthdate"] = iso_milliseconds(user["birthdate"]).replace(
                ".000" if "no-milliseconds" in self.faults else "\0", ""
            )
        if "reversed" in self.faults:
            users.reverse()
        self._answered += 1
        self.alive = "stops-quietly" not in self.faults
        return 200, json.dumps(users, sort_keys="changing-bytes" in self.faults and self._answered % 2 == 0).encode()

    def _lookup(self, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
        if "needs-content-type" in self.faults and headers.get("content-type") != "application/json":
            raise Refused(415, "unsupported")
        if "compares-bytes" in self.faults and not body.startswith(b'{"account_id":"1'):
            raise Refused(400, "malformed")
        try:
            value = json.loads(body.decode())
            key = value["account_id"]
        except (ValueError, KeyError, TypeError):
            raise Refused(500 if "stumbles-over-json" in self.faults else 400, "malformed") from None
        if not isinstance(key, str):
            raise Refused(400, "not a text")
        account = ACCOUNTS.get(ACCOUNT_IDS[0] if "same-account" in self.faults else str(key))
        if account is None:
            raise Refused(404, "unknown account")
        return 200, json.dumps(account).encode()

    def _tx(self, numbers: dict[str, int]) -> tuple[int, bytes]:
        with self._session() as session:
            transaction = session.begin()
            for _ in range(2 if "writes-twice" in self.faults else 1):
                for table, column, key in (
                    ("accounts", "abalance", "aid"),
                    ("tellers", "tbalance", "tid"),
                    ("branches", "bbalance", "bid"),
                ):
                    transaction.add(f"pgbench_{table}", column, key, numbers[key], numbers["delta"])
                transaction.note(numbers["aid"])
            transaction.rollback() if "forgets-to-commit" in self.faults else transaction.commit()
        return 200, b'{"ok":true}'

    def _transfer(self, numbers: dict[str, int]) -> tuple[int, bytes]:
        if numbers["from"] == numbers["to"] and "transfers-to-oneself" not in self.faults:
            raise Refused(400, "the same user")
        steps = [(numbers["from"], -numbers["amount"]), (numbers["to"], numbers["amount"])]
        if "credits-first" in self.faults:
            steps.reverse()
        with self._session() as session:
            transaction = session.begin()
            try:
                for user, amount in steps:
                    self._pay(transaction, user, amount)
            except (Refused, DatabaseFailed) as error:
                transaction.commit() if "keeps-the-debit" in self.faults else transaction.rollback()
                if "conflict" in self.faults and "deadlock" in str(error):
                    raise Refused(409, "deadlock") from None
                raise
            transaction.rollback() if "forgets-to-commit" in self.faults else transaction.commit()
        return 200, b'{"ok":true}'

    def _pay(self, transaction: Transaction, user: int, amount: int) -> None:
        if "does-not-lock" not in self.faults:
            transaction.lock(user)
        if "fails-after-waiting" in self.faults and transaction.waited:
            raise DatabaseFailed("waited too long")
        if not transaction.add("web_users", "credits", "id", user, amount):
            raise Refused(404, "unknown user")
        if "commits-between" in self.faults:
            transaction.commit()

    def _numbers(self, path: str, query: str) -> dict[str, int]:
        """The parameters of a route, as the contract allows them, and as faulty servers do."""
        decode = (lambda text: text) if "does-not-decode" in self.faults else unquote_plus
        given = {decode(name): decode(value) for name, _, value in (pair.partition("=") for pair in query.split("&"))}
        names = ("aid", "tid", "bid", "delta") if path == "/tx" else ("from", "to", "amount")
        numbers = {}
        for name in names:
            text, low = given.get(name, ""), -(2**31) if name == "delta" and "refuses-negatives" not in self.faults else 1
            low = 0 if name == "delta" and "refuses-negatives" in self.faults else low
            try:
                found = (re.match if "lenient-numbers" in self.faults else re.fullmatch)(r"-?[0-9]+", text)
                number = int(found[0] if found else text)
                if not found or not (low <= number < 2**31 or "any-range" in self.faults):
                    raise ValueError
            except ValueError:
                if text or "missing-is-one" not in self.faults:
                    raise Refused(400, f"`{name}` must be an integer") from None
                number = 1
            numbers[name] = number
        return numbers

    @contextlib.contextmanager
    def _session(self) -> Iterator[Session]:
        """A connection of the pool, or 503."""
        if "connects-each-time" in self.faults:
            fresh = self.database.connect()
            yield fresh
            time.sleep(0.02)
            self.database.sessions.discard(fresh)
            return
        if "needs-no-database" in self.faults:
            yield Session(self.database)
            return
        if self._gave_up:
            raise Refused(503, "no connection ever again")
        wait_ms = self.settings.pool_wait_ms
        wait_ms = (
            0 if "refuses-at-once" in self.faults else 700 if "waits-too-long" in self.faults and wait_ms is not None else wait_ms
        )
        if not self._slots.acquire(timeout=wait_ms / 1000 if wait_ms is not None else 20):
            self._gave_up = "stays-exhausted" in self.faults
            raise Refused(503, "no connection in time")
        session: Session | None = self._idle.pop() if self._idle else None
        failed = True
        try:
            session = session or self.database.connect()
            yield session
            failed = False
        finally:
            if session is not None and (not session.dead or "keeps-dead-connections" in self.faults):
                self._idle.append(session)
            if not (failed and "leaks-on-error" in self.faults):
                self._slots.release()
