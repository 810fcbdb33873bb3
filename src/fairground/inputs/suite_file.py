"""The shape of a suite's file, `suites/<id>.toml`: its keys with the words that docs/reference/suites.md says of each.

`manifest.load_suite` holds a file against it, and `make reference` writes the page from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass
from typing import ClassVar

from fairground.inputs.conditions import SettingsTable
from fairground.inputs.published import Publication
from fairground.model.source import STRICT, shape_key


@dataclass(frozen=True)
class GroupTable:
    """The keys of a `[[group]]`, and of the top of the file for groups that lack them."""

    stacks: tuple[str, ...] | None = shape_key(
        "ids (`SERVER:VARIANT`), servers for all of their variants, `all`, an approach (`documented`, `published`, `tuned`,"
        " `engine`), or `deployed`: the documented variants of each server, and the first of one that has none"
    )
    workloads: tuple[str, ...] | None = shape_key("ids of `./fairground list workloads`, or `all`")
    contract: str | None = shape_key("the contract whose workloads these are; without it, that of the stacks")
    connections: tuple[int, ...] | None = shape_key("connections at once; several numbers are several loads")
    keep_alive: bool | None = shape_key("`false`: a new connection for each request")
    window_s: float | None = shape_key("seconds measured; rare events may need more")
    warmup: tuple[float, float] | None = shape_key("least and most seconds of warm-up: `[2.0, 20.0]`")
    timeout_ms: int | None = shape_key("the longest wait for an answer")
    generator: str | None = shape_key("`engine`, `wrk`, `ab`, `hey`, `k6`, `vegeta` or `oha`")
    threads: int | None = shape_key("threads of the generator")
    rate_per_s: float | None = shape_key("open loop: this many requests are due each second, whatever comes back")
    arrivals: str | None = shape_key("how these are spaced: `poisson` or `constant`")
    requests: int | None = shape_key("this many requests in place of a window")
    think_ms: float | None = shape_key("closed loop: the pause of a connection before its next request")
    stages: tuple[tuple[float, int], ...] | None = shape_key(
        "closed loop: `[[20.0, 600], [10.0, 0]]` goes from `connections` to 600 within 20 s, and to none within 10 s. They make"
        " the window. k6 alone has them"
    )
    faults: tuple[str, ...] | None = shape_key("what goes wrong in the window")
    proxies: tuple[str, ...] | None = shape_key("before the server: `none`, `nginx`, `nginx-close`")
    poolers: tuple[str, ...] | None = shape_key(
        "behind it: `none`, `pgbouncer-session`, `pgbouncer-tx`, `pgcat-session`, `pgcat-tx`"
    )
    pooler_size: int | None = shape_key("connections of the pooler to the database")
    pooler_clients: int | None = shape_key("connections that the pooler accepts")
    wires: tuple[str, ...] | None = shape_key('distances, as what a round trip takes: `["none", "database=1ms"]`')
    postgres_versions: tuple[str, ...] | None = shape_key(
        'major versions of the lab\'s own PostgreSQL, `["16", "17", "18"]`: each has cells of its own'
    )
    settings: SettingsTable | None = shape_key("`[settings]`: what servers and database are told, see below")
    seats: str | None = shape_key("cores of the roles: `apart`, `shared`, or `server=0-1,database=2,generator=3`")
    blocks: int | None = shape_key("its cells are measured so often at least")
    only: tuple[str, ...] | None = shape_key("in a group: the profiles that it belongs to; all without it")


@dataclass(frozen=True)
class ProfileTable:
    """The keys of a `[profiles.NAME]`, which stand in for those of the file. Its stacks are those of groups that name none."""

    stacks: tuple[str, ...] | None = None
    blocks: int | None = None
    window_s: float | None = None
    turns_s: float | None = None
    warmup: tuple[float, float] | None = None


@dataclass(frozen=True, kw_only=True)
class SuiteFile(GroupTable, Publication):
    """The keys of the file as a whole."""

    __pydantic_config__: ClassVar[Mapping[str, object]] = STRICT
    title: str = shape_key("what it is called", MISSING)
    about: str = shape_key("what it asks", MISSING)
    blocks: int = shape_key(
        "how often every cell is measured. Intervals need two, and narrow with more. In a group: so often at least", MISSING
    )
    seed: int = shape_key("of the order of trials and of their requests", MISSING)
    anchor: str | None = shape_key(
        "the stack that the others are held against; without it, the first documented one of those in most workloads"
    )
    controls: bool | None = shape_key(
        "whether the run holds trials of itself: the anchor once more, and slowed down. From three blocks on by default"
    )
    turns_s: float | None = shape_key(
        "how many seconds each stack is loaded in turns with the others, in each block. As long as its window by default"
    )
    group: tuple[GroupTable, ...] = shape_key(
        "`[[group]]`: a part with keys of its own. What it leaves out is as the top of the file says", ()
    )
    profiles: dict[str, ProfileTable] = shape_key(
        "`[profiles.NAME]` with other `stacks`, `blocks`, `window_s`, `turns_s` or `warmup`, for `--profile NAME`", {}
    )
