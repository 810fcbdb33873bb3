"""Orders and hosts, with Dask's own scheduler and workers in this process and made-up work."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from distributed import Client, LocalCluster, get_worker

from fairground.fleet import about, cluster, link, worker
from fairground.fleet.cluster import Member
from fleet.made import host

AT_ONCE = threading.Barrier(3)
BUSY = threading.Event()


@dataclass(frozen=True)
class Three:
    """Three hosts, `0` to `2`, and who asks them."""

    made: LocalCluster
    client: Client

    @property
    def members(self) -> list[Member]:
        return cluster.members(self.client)

    def lose(self, name: str) -> None:
        """One of them is gone."""
        one = next(one for one in self.made.workers.values() if str(one.name) == name)
        self.made.sync(one.close, executor_wait=False)


@pytest.fixture
def three() -> Iterator[Three]:
    """Made anew for each test, and gone after it."""
    link.settle()
    with (
        LocalCluster(
            n_workers=3, threads_per_worker=1, processes=False, protocol="tcp", host="127.0.0.1", dashboard_address=link.NOT_SERVED,
            worker_dashboard_address=link.NOT_SERVED, resources=dict.fromkeys(about.ROLES, 1.0),
            startup_information={worker.NAME: lambda one: host(str(one.name)).to_json()},
        ) as made,
        Client(made) as client,
    ):  # fmt: skip
        yield Three(made, client)


def here(order: bytes) -> bytes:
    """Who carried the order out."""
    return f"{order.decode()} on {get_worker().name}".encode()


def together(order: bytes) -> bytes:
    """Ends when three of its kind go on at once: never, where they wait for each other."""
    AT_ONCE.wait(60)
    return here(order)


def stuck_on_0(order: bytes) -> bytes:
    """On host 0 it goes on until that host is gone."""
    one = get_worker()
    while str(one.name) == "0" and one.status.name == "running":
        BUSY.set()
        time.sleep(0.01)
    return here(order)


def broken(order: bytes) -> bytes:
    """Fails on every host."""
    raise RuntimeError("so it is")


def orders(three: Three, count: int) -> list[tuple[bytes, list[Member]]]:
    """Any host may carry out each of them."""
    return [(f"order {number}".encode(), three.members) for number in range(count)]


def test_hosts_say_who_they_are(three: Three) -> None:
    """The lab reads what each said of itself when it joined."""
    assert [one.about.name for one in three.members] == ["0", "1", "2"]


def test_three_hosts_need_a_third_of_the_rounds(three: Three) -> None:
    """Six orders, of which three go on at once each time: each host has two of them."""
    AT_ONCE.reset()
    done = list(cluster.carried_out(three.client, orders(three, 6), together))
    assert sorted(one.place for one in done) == list(range(6))
    names = sorted((one.answer or b"").decode().split(" on ")[1] for one in done)
    assert names == ["0", "0", "1", "1", "2", "2"]


def test_an_order_goes_to_its_own_host(three: Three) -> None:
    """What was begun on a machine goes on there."""
    only = [three.members[1]]
    done = list(cluster.carried_out(three.client, [(b"x", only), (b"y", only)], here))
    assert sorted(one.answer or b"" for one in done) == [b"x on 1", b"y on 1"]


def test_a_lost_hosts_order_is_given_to_another(three: Three) -> None:
    """The order that goes on there is carried out elsewhere, and no answer is missing."""
    BUSY.clear()
    given = orders(three, 4)

    def lose() -> None:
        assert BUSY.wait(60)
        three.lose("0")

    losing = threading.Thread(target=lose)
    losing.start()
    done = list(cluster.carried_out(three.client, given, stuck_on_0))
    losing.join()
    assert sorted(one.place for one in done) == [0, 1, 2, 3]
    assert {(one.answer or b"").decode()[-1] for one in done} <= {"1", "2"}


def test_when_no_host_is_left_the_rest_is_missing(three: Three, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told, in place of waiting for ever."""
    monkeypatch.setattr(cluster, "GONE_S", 0.5)
    monkeypatch.setattr(cluster, "LOOK_S", 0.2)
    only = [three.members[2]]
    three.lose("2")
    done = list(cluster.carried_out(three.client, [(b"x", only)], here))
    assert [(one.place, one.answer, one.failure) for one in done] == [(0, None, "no host is left that could measure it")]


def test_without_a_scheduler_the_rest_is_missing(three: Three) -> None:
    """It is told when the scheduler ends on the way."""
    BUSY.clear()
    ending = threading.Thread(target=lambda: BUSY.wait(60) and three.made.close())
    ending.start()
    done = list(cluster.carried_out(three.client, [(b"x", three.members[:1])], stuck_on_0))
    ending.join()
    assert [(one.answer, one.failure) for one in done] == [(None, "the scheduler is gone")]


def test_an_order_that_breaks_everywhere_is_told(three: Three) -> None:
    """With the words of the failure; the others are carried out."""
    done = list(cluster.carried_out(three.client, [(b"x", three.members)], broken))
    assert [(one.answer, one.failure) for one in done] == [(None, "so it is")]
