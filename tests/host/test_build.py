"""Building servers: once for each content, with a sentence for whatever keeps a server from being had."""

from __future__ import annotations

import json
import os
import stat
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from builders.children import ENVIRONMENT
from fairground.host import Keeper, Streams, build, sources
from fairground.host.build import BuiltServer, Unavailable
from fairground.host.child import BUILD_NICENESS
from fairground.model import Server, Variant
from fairground.model.known import KnownSecrets


def server(folder: Path, **fields: tuple[object, ...]) -> Server:
    """A server in that folder, whose build writes `out` and counts itself, unless told otherwise."""
    plain = {
        "needs": ((sys.executable, "--version"),),
        "build": (("sh", "-c", "echo once >> count.log; echo made > out"),),
        "version": ("cat", "out"),
    }
    commands = plain | fields
    return Server(
        "one", "One", "C", "", "", folder, commands["needs"], commands["build"], commands["version"], ("true",),  # type: ignore[arg-type]
        {"plain": Variant("plain", "")}, {},
    )  # fmt: skip


def builds(folder: Path) -> int:
    """How often the build was run."""
    log = folder / "count.log"
    return len(log.read_text().splitlines()) if log.exists() else 0


def receipt(made: BuiltServer) -> str:
    """The one receipt of a server that was built."""
    (text,) = made.receipts.values()
    return text


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (("make",), True),
        (("go", "build", "./..."), True),
        (("make", "-C", "../../../api"), False),
        (("sh", "-c", "cd .. && make"), False),
        (("go", "build", "-C=../api", "."), False),
        (("cc", "-I../include", "main.c"), False),
        (("cmake", "-S.."), False),
        (("git", "log", "HEAD..x"), True),
    ],
)
def test_what_is_built_beyond_the_folder_is_built_anew(words: tuple[str, ...], kept: bool, folder: Path, tmp_path: Path) -> None:
    """Nobody sees whether its sources are the same as they were."""
    one = server(folder, build=(words,))
    stamp = build._stamp(one, tmp_path / "cache")
    stamp.parent.mkdir(parents=True)
    stamp.write_text(json.dumps({"content": sources.content_hash(folder), "built": [[words, 1.0]]}))
    assert bool(build.find_built(one, tmp_path / "cache")) == kept


@pytest.mark.live
def test_a_build_is_run_once(keeper: Keeper, folder: Path, tmp_path: Path) -> None:
    """The second time nothing is built; after a change of the sources it is built again."""
    one, cache, said = server(folder), tmp_path / "cache", list[str]()
    assert not build.find_built(one, cache)
    first = build.build(keeper, one.stacks, cache, said.append)
    assert isinstance(first, BuiltServer) and first.seconds > 0 and first.receipts == {("cat", "out"): "made"}
    assert said == ["sh -c echo once >> count.log; echo made > out"]
    assert build.find_built(one, cache)

    second = build.build(keeper, one.stacks, cache, said.append)
    assert second == BuiltServer(one, first.content_hash, first.receipts, 0.0)
    assert (builds(folder), len(said)) == (1, 1)

    (folder / "main.c").write_text("changed")
    assert not build.find_built(one, cache)
    third = build.build(keeper, one.stacks, cache)
    assert isinstance(third, BuiltServer) and third.content_hash != first.content_hash
    assert builds(folder) == 2


@pytest.mark.live
def test_a_lost_build_is_built_again(keeper: Keeper, folder: Path, tmp_path: Path) -> None:
    """When what was built is gone although the sources are the same, the receipt tells, and it is built again."""
    one = server(folder)
    build.build(keeper, one.stacks, tmp_path / "cache")
    (folder / "out").unlink()
    assert isinstance(build.build(keeper, one.stacks, tmp_path / "cache"), BuiltServer)
    assert builds(folder) == 2


@pytest.mark.live
def test_only_what_a_stack_needs_is_built(keeper: Keeper, folder: Path, tmp_path: Path) -> None:
    """A variant may have a build and a receipt of its own; what another variant's build has made is not made again."""
    own = Variant("own", "", build=(("sh", "-c", "echo once >> own.log; echo own > built/own"),), version=("cat", "built/own"))
    plain, other = replace(server(folder), variants={"plain": Variant("plain", ""), "own": own}).stacks
    alone = build.build(keeper, [other], tmp_path / "cache")
    assert isinstance(alone, BuiltServer) and alone.receipts == {("cat", "built/own"): "own"} and builds(folder) == 0
    assert list(build.find_built(plain.server, tmp_path / "cache")) == list(other.build)
    both = build.build(keeper, [plain, other], tmp_path / "cache")
    assert isinstance(both, BuiltServer) and both.receipts == {("cat", "out"): "made", ("cat", "built/own"): "own"}
    assert (builds(folder), (folder / "own.log").read_text()) == (1, "once\n")
    assert set(build.find_built(plain.server, tmp_path / "cache")) == {*plain.build, *other.build}
    (folder / "built" / "own").unlink()
    assert isinstance(build.build(keeper, [other], tmp_path / "cache"), BuiltServer) and builds(folder) == 1


@pytest.mark.live
def test_stacks_with_one_receipt_are_asked_once(keeper: Keeper, folder: Path, tmp_path: Path) -> None:
    """A server's versions are those of all its variants, unless one has a command of its own."""
    both = {name: Variant(name, "") for name in ("plain", "other")}
    asked = server(folder, version=("sh", "-c", "echo asked >> asked.log; cat out"))
    made = build.build(keeper, replace(asked, variants=both).stacks, tmp_path / "cache")
    assert isinstance(made, BuiltServer) and list(made.receipts.values()) == ["made"]
    assert (folder / "asked.log").read_text() == "asked\n"


@pytest.mark.live
def test_two_folders_with_the_same_content_are_two_builds(keeper: Keeper, folder: Path, tmp_path: Path) -> None:
    """A copy of a server in another folder is not taken for built."""
    build.build(keeper, server(folder).stacks, tmp_path / "cache")
    copy = tmp_path / "copy"
    sources.copy_sources(folder, copy)
    assert not build.find_built(server(copy), tmp_path / "cache")


def unavailable(keeper: Keeper, one: Server, cache: Path) -> tuple[str, str | None]:
    """Why a server cannot be had, and what would mend it."""
    made = build.build(keeper, one.stacks, cache)
    assert isinstance(made, Unavailable) and made.server is one
    assert not build.find_built(one, cache)
    return made.reason, made.hint


@pytest.mark.live
def test_a_missing_program(keeper: Keeper, folder: Path, tmp_path: Path) -> None:
    """A program that is not on PATH makes the server unavailable before anything is built."""
    one = server(folder, needs=((sys.executable, "--version"), ("no-such-compiler", "-v")))
    assert unavailable(keeper, one, tmp_path) == ("needs `no-such-compiler` on PATH", None)
    assert builds(folder) == 0


@pytest.mark.live
def test_a_missing_program_that_is_known(folder: Path, tmp_path: Path) -> None:
    """For a program that the lab knows the command that installs it is said."""
    (tmp_path / "empty").mkdir()
    with Keeper({"PATH": str(tmp_path / "empty")}) as bare:
        lacking = build.missing(bare, server(folder, needs=(("nginx", "-v"),)))
    assert lacking is not None
    assert (lacking.reason, lacking.hint) == ("needs `nginx` on PATH", "apt-get install nginx-light")


@pytest.mark.live
def test_a_need_that_fails(keeper: Keeper, folder: Path, tmp_path: Path) -> None:
    """A need that is there and fails is told with its last line."""
    one = server(folder, needs=(("sh", "-c", "echo first; echo version 3 is too old >&2; exit 1"),))
    reason, hint = unavailable(keeper, one, tmp_path)
    assert reason == "`sh -c echo first; echo version 3 is too old >&2; exit 1` failed: version 3 is too old"
    assert hint is None


@pytest.mark.live
def test_a_build_that_fails(keeper: Keeper, folder: Path, tmp_path: Path) -> None:
    """A build that fails is told with its last line, and the whole output is kept; later commands are not run."""
    one = server(
        folder, build=(("sh", "-c", "echo compiling; echo main.c:7: no; exit 2"), ("sh", "-c", "echo once >> count.log"))
    )
    reason, hint = unavailable(keeper, one, tmp_path)
    assert reason == "`sh -c echo compiling; echo main.c:7: no; exit 2` failed: main.c:7: no"
    assert hint is not None and hint.startswith("the whole output is in ")
    assert Path(hint.rpartition(" ")[2]).read_text() == "compiling\nmain.c:7: no\n"
    assert builds(folder) == 0


@pytest.mark.live
def test_a_build_without_words_that_fails(keeper: Keeper, folder: Path, tmp_path: Path) -> None:
    """A build that fails in silence is told as that."""
    assert unavailable(keeper, server(folder, build=(("false",),)), tmp_path)[0] == "`false` failed: no output"


@pytest.mark.live
def test_a_build_command_that_is_not_there(keeper: Keeper, folder: Path, tmp_path: Path) -> None:
    """A build whose program is missing makes the server unavailable; it never raises."""
    reason, _ = unavailable(keeper, server(folder, build=(("no-such-tool",),)), tmp_path)
    assert reason == "`no-such-tool` failed: cannot start `no-such-tool`: no such file or directory"


@pytest.mark.live
def test_a_build_that_takes_too_long(keeper: Keeper, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build that does not end is ended, with all that it started."""
    monkeypatch.setattr(build, "BUILD_TIMEOUT_S", 0.2)
    one = server(folder, build=(("sh", "-c", "sleep 600 & sleep 600"),))
    assert unavailable(keeper, one, tmp_path)[0] == "`sh -c sleep 600 & sleep 600` took too long"


@pytest.mark.live
@pytest.mark.parametrize("version", [("false",), ("true",), ("./absent",)])
def test_a_receipt_that_fails(keeper: Keeper, folder: Path, tmp_path: Path, version: tuple[str, ...]) -> None:
    """A receipt that fails, says nothing or is not there makes a server that was built unavailable."""
    one = server(folder, version=version)
    reason, hint = unavailable(keeper, one, tmp_path)
    assert reason == f"it was built, but `{version[0]}` does not print its versions"
    assert hint is not None and hint.startswith("see ")


@pytest.mark.live
def test_a_receipt_is_one_line(keeper: Keeper, folder: Path, tmp_path: Path) -> None:
    """What a receipt prints over several lines is kept as one."""
    made = build.build(keeper, server(folder, version=("printf", "one 1.2\\n  two 3.4\\n")).stacks, tmp_path)
    assert isinstance(made, BuiltServer) and receipt(made) == "one 1.2 two 3.4"


@pytest.mark.live
def test_builds_see_the_machines_settings(folder: Path, tmp_path: Path) -> None:
    """A build has the environment that the lab was started in, which may name caches and proxies, and is told of no colour."""
    with Keeper({**os.environ, "HTTPS_PROXY": "proxy"}) as kept:
        made = build.build(kept, server(folder, version=("sh", "-c", "echo $HTTPS_PROXY $CI $NO_COLOR")).stacks, tmp_path)
    assert isinstance(made, BuiltServer) and receipt(made) == "proxy 1 1"


@pytest.mark.live
def test_the_log_of_a_build_is_its_owners_and_holds_no_secret(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A build may say the whole environment: what is secret there is hidden in what is kept, and other words stay."""
    known = KnownSecrets()
    known.remember("t0ken-of-mine")
    monkeypatch.setattr(build, "KNOWN", known)
    with Keeper({**os.environ, "API_TOKEN": "t0ken-of-mine"}) as kept:
        build.build(kept, server(folder, build=(("sh", "-c", "echo made > out; echo proxy $API_TOKEN"),)).stacks, tmp_path)
    (log,) = (tmp_path / "builds").glob("*.log")
    assert log.read_text() == "proxy (hidden)\n" and stat.S_IMODE(log.stat().st_mode) == 0o600


@pytest.mark.live
@pytest.mark.parametrize("own", [None, "/of/ones/own"])
def test_servers_share_what_cargo_compiles(folder: Path, tmp_path: Path, own: str | None) -> None:
    """Builds are told of one folder of the cache for cargo, unless the machine's own settings name another."""
    plain = {name: value for name, value in os.environ.items() if name != "CARGO_BUILD_BUILD_DIR"}
    with Keeper(plain | ({} if own is None else {"CARGO_BUILD_BUILD_DIR": own})) as kept:
        told = (("sh", "-c", 'printf %s "$CARGO_BUILD_BUILD_DIR" > out'),)
        made = build.build(kept, server(folder, build=told).stacks, tmp_path / "cache")
    assert isinstance(made, BuiltServer) and receipt(made) == (own or str(tmp_path / "cache" / "builds" / "cargo"))


def test_a_build_stands_back(keeper: Keeper, folder: Path, tmp_path: Path) -> None:
    """It is nice, and so is its session where the kernel shares processors out between sessions; a server is neither."""
    told = (("sh", "-c", "{ nice; cat /proc/self/autogroup 2>/dev/null; } > out"),)
    made = build.build(keeper, server(folder, build=told).stacks, tmp_path / "cache")
    assert isinstance(made, BuiltServer)
    niceness, *session = receipt(made).split()
    assert int(niceness) == min(19, os.getpriority(os.PRIO_PROCESS, 0) + BUILD_NICENESS)
    assert not session or session[-1] == str(BUILD_NICENESS)
    with open(tmp_path / "said", "w+") as said:
        keeper.spawn(["nice"], role="server", env=ENVIRONMENT, streams=Streams.into(said.fileno())).wait(10)
        assert (tmp_path / "said").read_text() == f"{os.getpriority(os.PRIO_PROCESS, 0)}\n"


@pytest.mark.live
def test_checkouts_of_one_package_have_binaries_of_their_own(keeper: Keeper, tmp_path: Path) -> None:
    """Cargo takes them for one in the shared folder, and tells by times alone whether its sources have changed."""
    said = []
    for name in ("old", "new"):
        folder = tmp_path / name
        (folder / "src").mkdir(parents=True)
        (folder / "Cargo.toml").write_text('[package]\nname = "same"\nversion = "0.1.0"\nedition = "2021"\n')
        (folder / "src" / "main.rs").write_text(f'fn main() {{ println!("{name}"); }}')
        os.utime(folder / "src" / "main.rs", (1_700_000_000, 1_700_000_000))
    for name in ("old", "new"):
        words = (("cargo", "build", "--quiet", "--offline"),)
        made = build.build(
            keeper, server(tmp_path / name, build=words, version=("target/debug/same",)).stacks, tmp_path / "cache"
        )
        assert isinstance(made, BuiltServer), made
        said.append(receipt(made))
    assert said == ["old", "new"]
