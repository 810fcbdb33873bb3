"""What hosts say of themselves, and which of them may measure one run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fairground.fleet import choice
from fairground.fleet.about import PROTOCOL, About, groups
from fairground.model import LabError
from fleet.made import MACHINE, host, member


def test_what_is_told_is_read() -> None:
    """A host's words survive the way to the lab; words of something else are an error for persons."""
    told = host("a", programs=("go",), allowed=("one", "two"))
    assert About.from_json(told.to_json()) == told
    with pytest.raises(LabError, match="cannot read"):
        About.from_json('{"protocol": 1}')


def test_what_an_owner_allows() -> None:
    """By the hash of sources, by the server's id, or everything; nothing else."""
    told = host("a", allowed=("hash", "named"))
    assert told.allows("any", "hash") and told.allows("named", "other")
    assert not told.allows("any", "other")
    assert host("a", allowed=("all",)).allows("any", "other")


def test_a_server_cannot_be_called_by_the_hash_of_another() -> None:
    """What is allowed by content is allowed under any name, and a name that looks like that content allows nothing."""
    digest = "fae51a1b" * 8
    told = host("a", allowed=(digest, "named"))
    assert told.allows("any", digest) and not told.allows(digest, "0" * 64) and not told.allows(digest, "other")


def test_machines_are_of_a_kind_whatever_they_are_called() -> None:
    """The largest group is first; a kernel of its own makes another kind."""
    other = replace(MACHINE, kernel="6.2")
    found = groups([host("a", machine=other), host("b"), host("c")])
    assert [[one.name for one in group] for group in found] == [["b", "c"], ["a"]]


def test_the_largest_group_of_equal_machines_measures() -> None:
    """Others are told why not: another kind of machine, or a role that they do not take."""
    members = [member("a", machine=replace(MACHINE, cores=8)), member("b"), member("c"), member("d", roles=("server",))]
    found = choice.choose(members, "1", (), "tcp://x")
    assert [one.about.name for one in found.members] == ["b", "c"]
    assert found.remarks == (
        "host d does not take part: it does not take the role database",
        "host a does not take part: it is another kind of machine, and a run is of one",
    )
    assert [one.about.name for one in choice.choose(members, "1", ("a",), "tcp://x").members] == ["a"]


@pytest.mark.parametrize(
    ("members", "wanted", "message"),
    [
        ([], (), "no host has joined `tcp://x`"),
        ([member("a")], ("b",), "host `b` has not joined `tcp://x`"),
        (
            [member("a", roles=("server",))],
            (),
            "no host that has joined `tcp://x` can measure: `a`: it does not take the role database",
        ),
        ([member("a"), member("b", version="2")], (), "host `b` cannot take part: it has fairground 2, and this lab is 1"),
        ([member("a", protocol=PROTOCOL + 1)], (), "host `a` cannot take part: it speaks protocol"),
    ],
)
def test_hosts_that_cannot_measure(members: list, wanted: tuple, message: str) -> None:
    """One sentence, exit code 2, before anything starts."""
    with pytest.raises(LabError, match=message.replace("(", r"\(")) as caught:
        choice.choose(members, "1", wanted, "tcp://x")
    assert caught.value.exit_code == 2
