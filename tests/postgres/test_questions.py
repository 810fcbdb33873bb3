"""The lab's own connections: one for each question, and one for all of a block; a server that starts anew is asked again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from builders.waiting import eventually
from fairground.host import Keeper
from fairground.model import Durability
from fairground.postgres import Database

pytestmark = pytest.mark.live

OPEN = "SELECT count(*) FROM pg_stat_activity WHERE datname = '{}'"
PID = "SELECT pg_backend_pid()"


@pytest.fixture
def arm(database: Database) -> Iterator[Database]:
    """An arm's database without data."""
    found = database.arm(7)
    found.make_empty()
    yield found
    database.drop_arms()


def test_a_question_has_a_connection_of_its_own(arm: Database) -> None:
    """It is closed afterwards."""
    assert arm.query(PID) != arm.query(PID)
    with arm.connect("postgres") as connection:
        asked = OPEN.format(arm.name).encode()
        assert eventually(lambda: connection.execute(asked).fetchone() == (0,))


def test_a_block_of_questions_has_one_for_each_database(arm: Database) -> None:
    """Blocks inside one another, and an error between two questions, change nothing; after it none is open."""
    with arm.keep_asking():
        first = arm.query(PID)
        with arm.asking() as kept:
            assert not kept.closed
        with arm.keep_asking(), pytest.raises(Exception, match="does not exist"):
            arm.query("SELECT * FROM nowhere")
        assert arm.query(PID) == first
        arm.counters()
        assert arm.query(OPEN.format(arm.name)) == [(1,)]
        assert not kept.closed
    assert kept.closed and arm.query(PID) != first


def test_a_connection_that_is_cut_is_made_anew(arm: Database, keeper: Keeper) -> None:
    """The server that starts anew, and one who cuts the connection, are no error of the next question."""
    with arm.keep_asking():
        ((pid,),) = arm.query(PID)
        with arm.connect("postgres") as other:
            other.execute(f"SELECT pg_terminate_backend({pid}, 5000)".encode())
        assert arm.query(PID) != [(pid,)]
        assert arm.owner is not None
        arm.owner.restart(keeper, Durability.RELAXED)
        assert arm.query("SELECT 1") == [(1,)]


def test_counters_are_whole_after_a_block(arm: Database) -> None:
    """What the block's statements counted is handed in when it ends, not up to ten seconds later."""
    arm.query("CREATE TABLE counted AS SELECT generate_series(1, 10) AS id")
    before = arm.counters().commits
    with arm.keep_asking():
        for _ in range(20):
            arm.query("SELECT 1")
    assert eventually(lambda: arm.counters().commits >= before + 20)
