"""Writes of the lab's own while a server is loaded: each is looked for at the very moment of its answer.

The database must have it by then and, where it waits for its disk, the disk must have it, too.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import psycopg

from fairground.contract import expected
from fairground.contract.case import Request
from fairground.contract.judge import header_problem
from fairground.contract.wire import HttpAnswer, Trouble
from fairground.generators.slots import Templates, text_of
from fairground.judge import written
from fairground.judge.written import Probe
from fairground.measure.supply import Asker, ServerAddress
from fairground.model import Finding, Load, LoadRequest, OwnRows, Result, Workload
from fairground.model.slot import sources_of
from fairground.postgres import Database

EVERY_S = 0.3
FIRST_NUMBER = 1_000_000_000_000
"""Numbers of the lab's own requests begin here, far above those of any load."""
PATIENCE_S = 2.0
LOOK_EVERY_S = 0.002
LOGGED = "SELECT CASE WHEN current_setting('synchronous_commit') <> 'off' THEN pg_current_wal_insert_lsn()::text END"
"""Where the log is written to now; NULL where the database itself does not wait for the disk."""
FLUSHED = "SELECT pg_current_wal_flush_lsn() > %s::pg_lsn"
REFUSED = (psycopg.ProgrammingError, psycopg.DataError)
"""A statement that the database refuses each time, while it is there."""


class Prober:
    """A thread that probes a server while `loaded` says that it is under load. `probes` holds what it found.

    A request has the bytes of the load's, with values that nobody can foresee, on a connection of the same kind. Where something
    is made to go wrong an answer 5xx tells nothing (`doubts_errors`): the connection may have been cut behind a commit.

    The workload says where a write is seen. Where it does not, only the disk is looked at, and nothing is asked of a server whose
    database does not wait for it. Rows of the lab's own are made at once: psycopg.Error where the database refuses them.
    """

    def __init__(
        self,
        workload: Workload,
        address: tuple[str, int],
        database: Database,
        loaded: Callable[[], bool],
        keep_alive: bool,
        doubts_errors: bool = False,
    ) -> None:
        asked = request_of(workload)
        assert asked is not None, "nobody probes a load none of whose writes can be asked for by itself"
        self.asked, self._written, self._keep_alive = asked, workload.audit.written, keep_alive
        self._dated = workload.contract.answers.headers
        self._templates = Templates.of(asked, workload.rows)
        self._database, self._loaded, self._ending = database, loaded, threading.Event()
        self._doubts_errors = doubts_errors
        self._chance = random.SystemRandom()
        self._own = self._make_rows(self._written.own) if self._written is not None and self._written.own is not None else {}
        self._asker = Asker(ServerAddress(*address))
        self._answer: HttpAnswer | None = None
        self.probes: list[Probe] = []
        self.ended_by: str | None = None
        """What ended the probes before their load was over: a fault of the lab's. None: nothing did."""
        self._thread = threading.Thread(target=self._run, name="prober", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the probes, as the load is over; a probe that is under way ends first."""
        self._ending.set()
        self._thread.join()

    def findings(self, result: Result) -> tuple[Finding, ...]:
        """Judge the probes that were sent beside the load of this result."""
        return written.findings(self.probes, PATIENCE_S, result, self.ended_by)

    def _make_rows(self, own: OwnRows) -> dict[str, int]:
        """Slot → the number of the row that it names."""
        numbers = draw_own_rows(own, self.asked.path, self._chance)
        with self._database.connect() as connection:
            for number in numbers.values():
                _execute(connection, own.sql, str(number))
        return numbers

    def _run(self) -> None:
        try:
            self._probe_on()
        except Exception as error:
            self.ended_by = f"{type(error).__name__}: {error}"

    def _probe_on(self) -> None:
        connection: psycopg.Connection[Any] | None = None
        while not self._ending.wait(EVERY_S):
            if not self._loaded():
                continue
            try:
                connection = connection or self._database.connect()
                self._probe(connection)
            except REFUSED:
                pass  # the probe says so: it could not be looked for
            except psycopg.Error:
                connection = None  # the database is away: the session finds that out itself
        if connection is not None:
            connection.close()
        self._asker.__exit__()

    def _probe(self, connection: psycopg.Connection[Any]) -> None:
        values = draw_values(self._templates, self._chance, self._own)
        slots = held_in(self._templates, values)
        logged = _first(connection, LOGGED)
        if self._written is None and logged is None:
            return
        before: object = None
        refusal: psycopg.Error | None = None
        try:
            before = self._value(connection, slots)
        except REFUSED as error:
            refusal = error
        acknowledged = self._ask(render(self.asked.method, self._templates, values, self._keep_alive))
        answered, answered_us = time.monotonic(), time.time_ns() // 1000
        late_ms: float | None = 0.0
        flushed: object = None
        looked = False
        try:
            if refusal is not None:
                raise refusal
            is_there = self._is_there(connection, slots, before)
            # Its commit was logged after `logged`, so that it is on the disk only if the log is there beyond that.
            flushed = None if logged is None else _first(connection, FLUSHED, [logged])
            while acknowledged and not is_there:
                late_ms = (time.monotonic() - answered) * 1000
                if late_ms > PATIENCE_S * 1000:
                    late_ms = None
                    break
                time.sleep(LOOK_EVERY_S)
                is_there = self._is_there(connection, slots, before)
            looked = True
        finally:
            unflushed = None if flushed is None else not flushed
            header = self._wrong_header()
            self.probes.append(Probe(slots, acknowledged, late_ms, unflushed, answered_us, looked, header))

    def _wrong_header(self) -> str | None:
        """Say which header of the last good answer is wrong. Dates are held to this moment here, and to be there by the load."""
        answer = self._answer
        if answer is None or answer.status >= 400:
            return None
        found = (
            header_problem(name, answer.header(name), self._dated.get(name, rule) if rule == "text" else rule, answer.waited_s)
            for name, rule in self.asked.expect.headers.items()
        )
        return next((one for one in found if one is not None), None)

    def _is_there(self, connection: psycopg.Connection[Any], slots: Mapping[str, str], before: object) -> bool:
        """Tell whether the database has what was acknowledged: a value that is not the one `before`, or what the answer says."""
        if self._written is None or not self._written.holds:
            return self._written is None or self._value(connection, slots) != before

        def ask(statement: str, values: Mapping[str, object] | None = None, /) -> list[tuple[Any, ...]]:
            return connection.execute(statement.encode(), values).fetchall()

        if self._answer is None:
            return True
        try:
            named = {name.rpartition(".")[2]: value for name, value in slots.items()}  # a column goes by its own name
            return expected.disproof(self._answer, self._written.holds, ask, named, any_case=True) is None
        except psycopg.DataError:
            return False  # the answer has a value that no row could have

    def _value(self, connection: psycopg.Connection[Any], slots: Mapping[str, str]) -> object:
        if self._written is None or self._written.holds:
            return None
        return _execute(connection, self._written.sql, slots[self._written.slot]).fetchone()

    def _ask(self, request: Request) -> bool | None:
        """Send a request; True if the server acknowledged it, None where nobody knows what it did with it."""
        try:
            self._answer = None
            answer = self._answer = self._asker.ask(request)
        except Trouble as trouble:
            self._asker.__exit__()
            return False if trouble.unconnected else None
        if not self._keep_alive:
            self._asker.__exit__()
        if answer.status >= 500 and self._doubts_errors:
            return None
        return answer.status == self.asked.expect.status if answer.status < 400 else False


def _execute(connection: psycopg.Connection[Any], statement: str, value: str) -> psycopg.Cursor[Any]:
    """Carry out a statement of the contract's with this value wherever it has `%s`."""
    return connection.execute(expected.place_value(statement, "%(it)s", "%%").encode(), {"it": value})


def _first(connection: psycopg.Connection[Any], statement: str, values: list[object] | None = None) -> object:
    """The first value of a statement; None where the database does not tell us."""
    try:
        row = connection.execute(statement.encode(), values).fetchone()
    except (psycopg.errors.InsufficientPrivilege, psycopg.errors.ObjectNotInPrerequisiteState):
        return None
    return row[0] if row else None


def begin_probes(
    workload: Workload, address: tuple[str, int], database: Database, loaded: Callable[[], bool], load: Load
) -> Prober | None:
    """Begin to probe a server of this load. None where no write of it can be asked for by itself."""
    if request_of(workload) is None:
        return None
    return Prober(workload, address, database, loaded, load.keep_alive, doubts_errors=load.fault is not None)


def request_of(workload: Workload) -> LoadRequest | None:
    """The request that is sent to look for its write. None where each needs an earlier answer, or may write nothing."""
    written, history = workload.audit.written, workload.audit.history
    named = (written.of if written is not None else "") or (history.of if history is not None else "")
    if named or not workload.is_mix:
        asked = workload.request(named)
        return None if asked.writes_at_times and written is None and history is None else asked
    keepers = {one.name for one in workload.requests if one.keep}
    return next((one for one in workload.requests if one.writes and not sources_of(one) & keepers), None)


def draw_values(templates: Templates, chance: random.Random, own: Mapping[str, int]) -> list[str]:
    """A value for each slot, `own` ones where there are some.

    None is 0: a write that moves nothing would look like one that never came.
    """
    drawn = templates.draw(chance, chance.randint(FIRST_NUMBER, 2 * FIRST_NUMBER), zero=False)
    return [str(own.get(slot.name or "", value)) for slot, value in zip(templates.slots, drawn, strict=True)]


def held_in(templates: Templates, values: Sequence[str]) -> dict[str, str]:
    """Read what a request holds, by the names of its slots: as texts, which PostgreSQL takes for what stands beside them."""
    return {
        slot.name: slot.meaning_of(value) for slot, value in zip(templates.slots, values, strict=True) if slot.name is not None
    }


def render(method: str, templates: Templates, values: Sequence[str], keep_alive: bool) -> Request:
    """The request with these values in its slots. Where connections are not kept, it says so as the engine does."""
    body = None if templates.body is None else text_of(templates.body, values).encode()
    headers = tuple((name, text_of(pieces, values)) for name, pieces in templates.headers)
    headers += () if keep_alive else (("connection", "close"),)
    return Request(method, text_of(templates.path, values), body=body, headers=headers)


def draw_own_rows(own: OwnRows, path: str, chance: random.Random) -> dict[str, int]:
    """A number for each slot of the lab's own rows, no two alike; the smaller one first where the path wants that."""
    numbers = chance.sample(range(own.low, own.high + 1), len(own.slots))
    return dict(zip(own.slots, sorted(numbers) if "{low:" in path else numbers, strict=True))
