"""Needs of many servers: which are not met, and what is remembered of those that are."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fairground.host import needs
from fairground.model import Server, Variant


class Site:
    """Servers in folders of their own, and programs on a PATH of their own that count how often they are run."""

    def __init__(self, place: Path) -> None:
        self.place, self.cache, self.count = place, place / "cache", place / "count.log"
        (place / "bin").mkdir()
        self.environ: Mapping[str, str] = {"PATH": f"{place / 'bin'}:{os.environ['PATH']}"}

    def program(self, name: str, code: int = 0) -> None:
        """Put a program on PATH that counts itself and ends with this code."""
        path = self.place / "bin" / name
        path.write_text(f"#!/bin/sh\necho {name} >> {self.count}\necho {name} says no\nexit {code}\n")
        path.chmod(0o755)

    def server(self, name: str, *commands: tuple[str, ...]) -> Server:
        """A server that needs these commands."""
        folder = self.place / name
        folder.mkdir(exist_ok=True)
        (folder / "main.c").write_text("int main;")
        return Server(name, name, "C", "", "", folder, commands, (), ("true",), ("true",), {"plain": Variant("plain", "")}, {})

    def ask(self, *servers: Server, **environ: str) -> dict[str, str]:
        """Server id → why it cannot be had here."""
        found = needs.unavailable(servers, {**self.environ, **environ}, self.cache)
        return {id: one.reason for id, one in found.items()}

    def runs(self) -> int:
        """How many programs were run so far."""
        return len(self.count.read_text().splitlines()) if self.count.exists() else 0

    def files(self) -> list[Path]:
        """What the cache holds."""
        return sorted((self.cache / "builds" / "needs").iterdir())


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A site with a program that is content and one that is not."""
    found = Site(tmp_path)
    found.program("content")
    found.program("cross", 1)
    return found


def test_the_first_unmet_need_is_told(site: Site) -> None:
    """Of each server the first need that fails or lacks its program is told, in the order in which it declares them."""
    servers = (
        site.server("one", ("content",)),
        site.server("two", ("content",), ("cross", "-v"), ("no-such-program",)),
        site.server("three", ("no-such-program",), ("cross",)),
        *(site.server(f"more{number}", ("content",), ("cross",)) for number in range(2 * needs.AT_ONCE)),
    )
    found = site.ask(*servers)
    assert found.pop("two") == "`cross -v` failed: cross says no"
    assert found.pop("three") == "needs `no-such-program` on PATH"
    assert found == {f"more{number}": "`cross` failed: cross says no" for number in range(2 * needs.AT_ONCE)}


def test_a_met_need_is_asked_once(site: Site) -> None:
    """What was met is not asked again; what was not met is, and counts as soon as it is mended."""
    servers = site.server("one", ("content",)), site.server("two", ("cross",))
    first = site.ask(*servers)
    assert (set(first), site.runs()) == ({"two"}, 2)
    assert (site.ask(*servers), site.runs()) == (first, 3)
    site.program("cross")
    assert (site.ask(*servers), site.runs()) == ({}, 4)
    assert (site.ask(*servers), site.runs()) == ({}, 4)


def test_what_an_answer_depends_on_asks_anew(site: Site) -> None:
    """Another program, another time of change, PATH, command, content or folder is another question."""
    one = site.server("one", ("content",))
    site.ask(one)
    asked = [site.runs()]
    os.utime(site.place / "bin" / "content", (1, 1))
    site.ask(one)
    asked.append(site.runs())
    site.ask(one, PATH=f"{site.environ['PATH']}:/nowhere")
    asked.append(site.runs())
    site.ask(site.server("one", ("content", "-v")))
    asked.append(site.runs())
    site.ask(site.server("two", ("content",)))
    asked.append(site.runs())
    (one.folder / "main.c").write_text("int other;")
    site.ask(one)
    asked.append(site.runs())
    (site.place / "bin" / "content").unlink()
    assert site.ask(one) == {"one": "needs `content` on PATH"}
    assert asked == [1, 2, 3, 4, 5, 6]


def test_foreign_content_is_ignored(site: Site) -> None:
    """A file of the cache that is torn or says something else is as good as none, and is written anew."""
    one = site.server("one", ("content",))
    site.ask(one)
    (kept,) = site.files()
    whole = kept.read_bytes()
    for content in ("", "{", "[]", "null", "\udcff", '{"key": "other", "met": true}', '{"met": true}'):
        runs = site.runs()
        kept.write_bytes(content.encode(errors="surrogateescape"))
        assert (site.ask(one), site.runs()) == ({}, runs + 1), content
        assert kept.read_bytes() == whole, content


def test_a_cache_that_cannot_be_written_is_no_error(site: Site) -> None:
    """Where the cache's folder is a file, every need is asked each time."""
    site.cache.write_text("")
    one = site.server("one", ("content",))
    assert [site.ask(one), site.ask(one)] == [{}, {}]
    assert site.runs() == 2


def test_several_labs_write_at_once(site: Site) -> None:
    """Labs that keep the same need at the same time leave one whole file and nothing beside it."""
    memory = needs.Memory(site.cache / "builds" / "needs")
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda _: memory.keep("a" * 64, ("content",)), range(64))) == [None] * 64
    (kept,) = site.files()
    assert json.loads(kept.read_bytes()) == {"key": "a" * 64, "met": True, "command": ["content"]}
    assert memory.has("a" * 64) and not memory.has("b" * 64)
