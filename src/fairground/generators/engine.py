"""The lab's own load engine: speaks docs/engine-protocol.md to the `fairload` binary."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from fairground.generators.engine_plan import PROTOCOL
from fairground.generators.running import NOTHING_MEASURED, WORDS, Running
from fairground.host import Child, Meter, Stopped
from fairground.model import (
    BadAnswer,
    Gap,
    Handshakes,
    LabError,
    Latency,
    LedgerRow,
    Load,
    Outcomes,
    RateStep,
    RequestResult,
    Result,
    Second,
    foreign,
)
from fairground.model.answerlog import AnswerLog

DRAIN_SLACK_S = 10.0
ARGV = ("fairload", *WORDS)
"""As results tell its command."""


class EngineSession:
    """One running engine. Read `event` until it is None, then take the `result`; tell it `measure` when the warm-up has settled.

    To take turns: `go`, wait as long as the turn shall last, `hold`, and read events up to `held`, which `settled_part` reads.
    A plan that begins held says `held` once before its first `go`. While held no clock of the load runs: the result of
    many turns reads as that of one run. A `measure` while held begins the window with the next `go`.
    Once the window has ended, `hold` and `go` do nothing and no `held` comes: read events up to `held` or None.
    """

    def __init__(self, running: Running, plan: Mapping[str, object]) -> None:
        load = cast(Any, plan["load"])
        self._timeout_ms, self._pipeline = int(load["timeout_ms"]), int(load.get("pipeline", 1))
        self._running, self._pending, self._complaint, self._over = running, b"", "", False
        self.log = AnswerLog()
        """When good answers came, where the plan asks for that and the engine is on this machine: it is told at the end."""
        self._send(plan)

    @property
    def child(self) -> Child | None:
        """The process; None where it is on another host."""
        return self._running.child

    def meter(self) -> Meter:
        """A new meter of what it uses."""
        return self._running.meter()

    def pin(self, cores: Sequence[int] | None) -> None:
        """Let it run on these cores only, where it is on the lab's machine."""
        self._running.pin(cores)

    def event(self, timeout_s: float = 15.0) -> dict[str, Any] | None:
        """The next event, or None at the end. A line that is not an event (a panic's text) becomes `{"event": "noise"}`.

        What the engine tells of the log of answers goes to `log`.

        Raises LabError when the engine, which speaks every second, is silent for `timeout_s`.
        """
        while (found := self._told(timeout_s)) is not None and found["event"] == "answers":
            if self.child is not None:  # another machine has another clock
                self.log.add(found["rows"], found["one_in"], found["clock_moved_us"])
        return found

    def _told(self, timeout_s: float) -> dict[str, Any] | None:
        """The next event, whatever it is."""
        while b"\n" not in self._pending:
            if not self._over and not self.speaks(timeout_s):
                raise LabError(f"the load engine has been silent for {timeout_s:.0f} s", exit_code=3)
            if self._over:
                return None
        line, _, self._pending = self._pending.partition(b"\n")
        try:
            found = json.loads(line)
        except ValueError:
            found = None
        if not isinstance(found, dict) or "event" not in found:
            found = {"event": "noise", "message": line.decode(errors="replace")}
        self._note(found["event"], str(found.get("message", "")))
        return found

    def _note(self, event: str, message: str) -> None:
        """Remember what it complains of. A panic has several lines, and the one about backtraces says nothing."""
        if event == "error":
            self._complaint = message
        elif event == "noise" and not message.startswith("note:"):
            self._complaint = foreign.line(f"{self._complaint} {message}", foreign.SENTENCE_CHARACTERS)

    def speaks(self, within_s: float) -> bool:
        """True if an event, or the end, is there within this many seconds."""
        if b"\n" in self._pending or self._over:
            return True
        said = self._running.read(within_s)
        if said is None:
            return False
        self._pending, self._over = self._pending + said, not said
        return True

    def measure(self, window_s: float | None = None) -> None:
        """End the warm-up: the window begins. It lasts `window_s` seconds; None: as long as the plan says."""
        self._send({"command": "measure"} if window_s is None else {"command": "measure", "window_s": window_s})

    def hold(self) -> None:
        """Hold requests back; once all answers are there the event `held` comes."""
        self._send({"command": "hold"})

    def go(self, requests: int | None = None) -> None:
        """Begin the next turn, after `hold` or where the plan begins held. Before the event `held` it waits for it.

        `requests`: it ends by itself once this many were sent, and `held` comes.
        """
        self._send({"command": "go"} if requests is None else {"command": "go", "requests": requests})

    def halt(self) -> None:
        """End the load now; the result still comes."""
        self._send({"command": "stop"})

    def stop(self) -> Stopped:
        """End the engine, whatever it is doing."""
        return self._running.stop()

    def result(self) -> Result:
        """The result, after the last event. Raises LabError when the engine has none: that is the instrument's fault.

        A target that never accepted a connection (exit code 3) is a result too: no request could connect.
        """
        code, document = self._running.document(self._timeout_ms / 1000 + DRAIN_SLACK_S)
        if code not in (0, NOTHING_MEASURED) or not document:
            raise LabError(
                f"the load engine ended with exit code {code} and no result: {self._complaint or 'it said nothing'}", exit_code=3
            )
        try:
            return dataclasses.replace(parse(json.loads(document), ARGV), pipeline=self._pipeline)
        except ValueError as error:
            raise LabError(f"the load engine's result is not JSON: {error}", exit_code=3) from error

    def _send(self, message: Mapping[str, object]) -> None:
        self._running.write(json.dumps(message).encode() + b"\n")


@dataclasses.dataclass(frozen=True)
class SettledPart:
    """The part of a turn in which all connections were busy: after the burst that begins it and before the hold.

    Both are 0 where the turn was too short for one, and in an open loop.
    """

    ok: int
    """Good answers."""
    active_s: float


def settled_part(event: Mapping[str, Any]) -> SettledPart:
    """Read the settled part of the turn that an event `held` ends. Raises LabError where the engine is too old to tell one."""
    if "settled" not in event:
        raise LabError("the load engine says nothing of its turns: it is older than this lab", hint="make setup", exit_code=3)
    found = event["settled"]
    return SettledPart(ok=found["ok"], active_s=found["active_us"] / 1e6)


def parse(document: Mapping[str, Any], command: tuple[str, ...]) -> Result:
    """The engine's document as a Result. Raises LabError when it speaks another protocol or its counts do not add up."""
    if document.get("protocol") != PROTOCOL:
        raise LabError(
            f"the load engine speaks protocol {document.get('protocol')}, and this lab speaks {PROTOCOL}",
            hint="make setup",
            exit_code=3,
        )
    window, own = document["window"], document["self"]
    outcomes = _outcomes(window["outcomes"])
    if outcomes.total != window["sent"] + (outcomes.unsent or 0):
        raise LabError(
            f"the load engine's counts do not add up: {window['sent']} sent, {outcomes.total} accounted for", exit_code=3
        )
    return Result(
        generator=str(document["engine"]),
        command=command,
        window_s=window["duration_us"] / 1e6,
        window=outcomes,
        life=_outcomes(document["life"]["outcomes"]),
        completed=window["completed"],
        completed_ok=window["completed_ok"],
        in_flight_start=window["in_flight_start"],
        in_flight_end=window["in_flight_end"],
        bytes_received=window["bytes_received"],
        bodies_checked=window["bodies_checked"],
        latency_ok=_latency(window["latency"]["ok"]),
        latency_all=_latency(window["latency"]["all"]),
        connect=_latency(window["connect"]),
        seconds=tuple(Second(**{name: row.get(name) for name in _names(Second)}) for row in document["seconds"]),
        ledgers={name: _ledger(ledger) for name, ledger in document["ledger"].items()},
        samples=tuple(BadAnswer(**{name: row.get(name) for name in _names(BadAnswer)}) for row in document["samples"]),
        cpu_us=_sum(own["cpu_user_us"], own["cpu_system_us"]),
        busiest_thread_share=own["busiest_thread_busy_share"],
        send_lag=_latency(window["send_lag"]),
        started_unix_us=window["start_unix_us"],
        gaps=_gaps(window.get("gaps")),
        compared=document["life"].get("bodies_checked"),
        closed=document["life"].get("closed"),
        dropped=document["life"].get("dropped"),
        refused=document["life"].get("refused", 0),
        requests=_by_request(document),
    )


def _by_request(document: Mapping[str, Any]) -> Mapping[str, RequestResult]:
    """Read the counts of each request of a mix, its edges among them. Empty where there is one request."""
    found: dict[str, RequestResult] = {}
    window = {one["kind"]: one for one in document["window"].get("kinds") or ()}
    for one in document["life"].get("kinds") or ():
        name, _, edge = one["kind"].partition("/")
        of_window = window.get(one["kind"])
        if of_window is None:
            continue
        latency = None if edge else _latency(of_window["latency_ok"])
        here = RequestResult(_outcomes(of_window["outcomes"]), _outcomes(one["outcomes"]), latency, one["refused"])
        was = found.get(name)
        found[name] = here if was is None else was.join(here)
    return found if len(found) > 1 else {}


def curve(document: Mapping[str, Any], load: Load) -> tuple[RateStep, ...]:
    """The steps of the engine's document, in their order; an open loop of one rate is one step. Empty without a window."""
    window, share = document["window"], document["self"]["busiest_thread_busy_share"]
    if not window["duration_us"]:
        return ()
    gaps = _gaps(window.get("gaps")) or ()
    whole = {"rate_per_s": load.rate_per_s, "start_us": 0, "due": window["sent"] + window["outcomes"]["unsent"]}
    found = []
    for row in window.get("steps") or [{**window, **whole}]:
        if row["duration_us"]:
            found.append(
                RateStep(
                    rate_per_s=row["rate_per_s"],
                    duration_s=row["duration_us"] / 1e6,
                    due=row["due"],
                    outcomes=_outcomes(row["outcomes"]),
                    completed_ok=row["completed_ok"],
                    latency_ok=_latency(row["latency"]["ok"]),
                    latency_all=_latency(row["latency"]["all"]),
                    service=_latency(row["service"]),
                    send_lag=_latency(row["send_lag"]),
                    in_flight=_in_flight(document, row["start_us"] / 1e6, (row["start_us"] + row["duration_us"]) / 1e6),
                    connections=load.connections,
                    busiest_thread_share=share,
                    gaps=tuple(gap for gap in gaps if 0 <= gap.start_us - row["start_us"] < row["duration_us"]),
                )
            )
    return tuple(found)


def handshakes(document: Mapping[str, Any]) -> Handshakes | None:
    """The TLS handshakes of the load's whole life. None for plain HTTP, and where no connection came so far."""
    found = document.get("tls")
    if found is None:
        return None
    took = found["handshake"]
    return Handshakes(
        count=took["count"],
        p50_us=took["p50_us"],
        p99_us=took["p99_us"],
        failed=found["failed"],
        version=found["version"],
        cipher=found["cipher"],
    )


def tenths(document: Mapping[str, Any]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Good answers, and requests that ended otherwise, in each tenth of a second of the window. LabError where none are told."""
    found = document["window"].get("tenths")
    if found is None:
        raise LabError("the load engine tells no tenths of a second: it is older than this lab", hint="make setup", exit_code=3)
    return tuple(found["ok"]), tuple(found["not_ok"])


def _in_flight(document: Mapping[str, Any], start_s: float, end_s: float) -> tuple[int, ...]:
    """Requests under way at a step's start and at the end of each of its seconds; the window's own counts at its ends."""
    window = document["window"]
    ends = {round(row["second"] + 1): row["in_flight"] for row in document["seconds"]}
    ends |= {0: window["in_flight_start"], round(window["duration_us"] / 1e6): window["in_flight_end"]}
    return tuple(ends[at] for at in range(round(start_s), round(end_s) + 1) if ends.get(at) is not None)


def _sum(*parts: int | None) -> int | None:
    """The sum, or None when a part was not measured."""
    return None if None in parts else sum(part or 0 for part in parts)


def _names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind))


def _outcomes(found: Mapping[str, Any]) -> Outcomes:
    fields = {name: found[name] for name in _names(Outcomes) if name not in ("status", "unclassified")}
    return Outcomes(status={int(code): count for code, count in found["status"].items()}, **fields)


def _latency(found: Mapping[str, Any] | None) -> Latency | None:
    return None if found is None else Latency(**{name: found[name] for name in _names(Latency)})


def _gaps(found: Mapping[str, Any] | None) -> tuple[Gap, ...] | None:
    """The gaps that are told, in their order. None without a window, and from an engine that tells none."""
    return None if found is None else tuple(Gap(**{name: row[name] for name in _names(Gap)}) for row in found["longest"])


def _ledger(found: Mapping[str, Any]) -> dict[str, LedgerRow]:
    empty = {"count": 0, "sum": 0}
    sides = [found["acknowledged"], found["unknown"]]
    rows = {}
    for account in sorted({*sides[0], *sides[1]}):
        (known, maybe) = (side.get(account, empty) for side in sides)
        rows[account] = LedgerRow(known["count"], known["sum"], maybe["count"], maybe["sum"])
    return rows
