"""The lab's side of a fleet: who has joined, and orders that are carried out by whichever host is free."""

from __future__ import annotations

import queue
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from distributed import Client, Future
from distributed.client import FutureCancelledError

from fairground.fleet import link, unpickling, worker
from fairground.fleet.about import ROLES, About
from fairground.fleet.tls import Certificate, SchedulerAddress
from fairground.fleet.unpickling import Unreadable
from fairground.model import LabError

LOOK_S = 2.0
"""How often it is looked whether hosts are still there while nothing is finished."""
GONE_S = 20.0
"""The seconds that all hosts are away before the rest is given up."""
RETRIES = 1
"""How often an order is given again whose process broke; a host that is lost does not count."""


@dataclass(frozen=True)
class Member:
    """A host that has joined: where Dask finds it, and what it says of itself."""

    address: str
    about: About


@dataclass(frozen=True)
class Done:
    """An order that is finished, by its place in the sequence: the answer, or why there is none."""

    place: int
    answer: bytes | None
    failure: str = ""


@contextmanager
def connect(address: SchedulerAddress, certificate: Certificate | None, direct: bool = False) -> Iterator[Client]:
    """A client of the scheduler. LabError where it cannot be reached. What is not finished at the end is withdrawn.

    `direct`: it speaks to hosts itself, and not through the scheduler.
    """
    link.settle()
    secured = link.security(address, certificate)
    with unpickling.known_types_only():
        link.reach(address, secured)
        with Client(str(address), security=secured, timeout=link.CONNECT_S, direct_to_workers=direct) as client:
            yield client


def members(client: Client) -> list[Member]:
    """The hosts that have joined, by name. Workers of something else are passed over."""
    try:
        there: Mapping[str, Any] = client.scheduler_info(n_workers=-1)["workers"]
        found = [Member(str(at), About.from_json(told[worker.NAME])) for at, told in there.items() if worker.NAME in told]
    except (AttributeError, KeyError, TypeError) as error:
        raise LabError(
            "the scheduler says of its hosts what this lab cannot read", "use the address that `host serve` printed"
        ) from error
    return sorted(found, key=lambda one: one.about.name)


def send(client: Client, host: Member, sources: worker.Sources) -> None:
    """Let a host have these sources; those that it has already are not sent. LabError where its owner does not allow them."""
    told = _asked(client, host, worker.lacking, list(sources))
    if not isinstance(told, list) or not all(isinstance(one, str) for one in told):
        raise _unreadable(host)
    if lacking := set(told) & sources.keys():
        _asked(client, host, worker.take, {digest: one for digest, one in sources.items() if digest in lacking})


def _asked(client: Client, host: Member, question: Any, value: object) -> Any:
    try:
        found = client.submit(question, value, workers=[host.address], pure=False, retries=0).result()
    except LabError:
        raise
    except (OSError, FutureCancelledError) as error:
        raise LabError(f"host `{host.about.name}` or the scheduler is gone", "join it again, or leave it out", 3) from error
    except Exception as error:  # it may raise whatever it likes
        raise _unreadable(host) from error
    if isinstance(found, Unreadable):
        raise _unreadable(host) from found
    return found


def _unreadable(host: Member) -> LabError:
    return LabError(f"host `{host.about.name}` answered what cannot be read", "install one version of the lab on all hosts", 3)


def carried_out(
    client: Client,
    orders: Sequence[tuple[bytes, Sequence[Member]]],
    task: Any = worker.carry_out,
    roles: Sequence[str] = ROLES,
) -> Iterator[Done]:
    """Give each order to one of its hosts, earlier ones first, and yield what is finished as it is finished.

    A host takes `roles` while it carries out an order.

    A host that is lost has its order given to another. When no host has been there for a while, the rest fails.
    """
    left: dict[Future[bytes], int] = {
        client.submit(
            task,
            order,
            workers=[host.address for host in hosts],
            resources=dict.fromkeys(roles, 1),
            retries=RETRIES,
            priority=-place,
            pure=False,
        ): place
        for place, (order, hosts) in enumerate(orders)
    }
    finished = queue.SimpleQueue[Future[bytes]]()
    for future in left:
        future.add_done_callback(finished.put)  # to wait for the first of thousands costs as much as all of them, each time
    hosts_of = {place: {host.address for host in hosts} for place, (_, hosts) in enumerate(orders)}
    seen = time.monotonic()
    while left:
        one = _next(finished)
        if one is not None and one.status != "cancelled":
            seen = time.monotonic()
            yield _done(left.pop(one), one)
            continue
        there = None if one is not None else _there(client)
        if there is None:
            yield from (Done(place, None, "the scheduler is gone") for place in left.values())
            return
        if any(hosts_of[place] & there for place in left.values()):
            seen = time.monotonic()
        elif time.monotonic() - seen > GONE_S:
            for future, place in left.items():
                future.cancel()
                yield Done(place, None, "no host is left that could measure it")
            return


def _next(finished: queue.SimpleQueue[Future[bytes]]) -> Future[bytes] | None:
    """Wait for what is finished next; None where nothing is within LOOK_S seconds."""
    try:
        return finished.get(timeout=LOOK_S)
    except queue.Empty:
        return None


def _there(client: Client) -> set[str] | None:
    """The addresses of the hosts; None where the scheduler does not answer."""
    try:
        return set(client.scheduler_info(n_workers=-1)["workers"])
    except OSError:
        return None


def _done(place: int, future: Future[bytes]) -> Done:
    if future.status == "finished":
        found: object = _outcome(future)
        return Done(place, found) if isinstance(found, bytes) else Done(place, None, str(found))
    error = future.exception() if future.status == "error" else None
    return Done(place, None, str(error) if error is not None else "the order was withdrawn")


def _outcome(future: Future[bytes]) -> object:
    """The answer; where there is none, the sentence that says why."""
    try:
        found = future.result()
    except Exception as error:  # a host may send what Dask cannot read
        return f"a host answered what cannot be read ({type(error).__name__})"
    return found if isinstance(found, bytes | Unreadable) else "a host answered what cannot be read"


def ready(client: Client, hosts: Sequence[Member], order: bytes, roles: Sequence[str] = ROLES) -> list[bytes]:
    """The answer of each host to one order. LabError when one of them breaks."""
    found = dict[int, bytes]()
    for done in carried_out(client, [(order, [host]) for host in hosts], roles=roles):
        if done.answer is None:
            raise LabError(f"host `{hosts[done.place].about.name}` cannot be made ready: {done.failure}", None, 3)
        found[done.place] = done.answer
    return [found[place] for place in range(len(hosts))]
