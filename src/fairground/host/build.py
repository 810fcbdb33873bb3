"""Building servers: what they need, whether they are built, and the receipt that proves it.

A build is cached on the content of the server's folder: the files that its `.gitignore` does not name. Its stamp says which
commands were carried out, since variants may have commands of their own. The stamp lies in the cache, the build itself in the
folder, where its own tools expect it. A folder that is only read is copied into the cache first.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairground.host import Child, Keeper, sources
from fairground.host.streams import Streams
from fairground.model import LabError, MachineError, Server, Stack, StackInfo, foreign, storing
from fairground.model.known import KNOWN
from fairground.model.secret import PRIVATE

Command = tuple[str, ...]
"""The words of a command."""

DIGEST_CHARACTERS = 16
"""This much of a digest is shown: enough to tell two copies apart."""
PLACE_CHARACTERS = 10
"""This much of a digest tells two folders of a server apart."""
BUILD_TIMEOUT_S = 1800.0
ERROR_LINE = re.compile(r"(?i)(?<![\w-])(?:error|fatal)(?:\[\w+\])?(?::| \w)")
"""A line of a build's output that names an error, such as `error[E0425]: …` or `npm error code …`."""
PARENT = re.compile(r"(?<!\.)\.\.(?![\w.])")  # `./...` is within the folder
RECEIPT_TIMEOUT_S = 60.0
INSTALL = {
    "go": "install Go ≥ 1.24 from your distribution or its makers",
    "node": "apt-get install nodejs npm, or Node ≥ 20 from its makers",
    "npm": "apt-get install npm",
    "cargo": "install Rust with rustup",
    "nginx": "apt-get install nginx-light",
    "python3": "apt-get install python3 python3-venv",
    "mvn": "apt-get install maven",
    "java": "apt-get install openjdk-17-jdk-headless",
    "javac": "apt-get install openjdk-17-jdk-headless",
    "ruby": "apt-get install --no-install-recommends ruby-rails ruby-pg puma",
    "bundle": "apt-get install --no-install-recommends ruby-bundler",
    "g++": "apt-get install g++",
    "cmake": "apt-get install cmake",
    "cc": "apt-get install gcc",
    "make": "apt-get install make",
}
"""What gets a program that is missing."""


@dataclass(frozen=True)
class BuiltServer:
    """A server of which these stacks are ready to be started, and what their receipts say of versions."""

    server: Server
    content_hash: str
    receipts: Mapping[Command, str]
    """A command that prints versions → what it printed."""
    seconds: float
    """The time that building took now; 0 when it was already built."""


@dataclass(frozen=True)
class StampedBuild:
    """A build that is remembered: the hash of what its folder held, and command → the seconds that it took."""

    content: str
    seconds: Mapping[Command, float]


@dataclass(frozen=True)
class Unavailable:
    """A server that cannot be had here: why, and what would mend it."""

    server: Server
    reason: str
    hint: str | None


def missing(keeper: Keeper, server: Server) -> Unavailable | None:
    """Try each of the server's `needs` anew; the first that fails makes it unavailable. `needs` asks many servers at once."""
    for command in server.needs:
        if shutil.which(command[0], path=keeper.environ.get("PATH")) is None:
            return lacks_program(server, command)
        code, output = BuildCommand(keeper, command, server.folder).end(RECEIPT_TIMEOUT_S)
        if code != 0:
            return fails(server, command, output)
    return None


def lacks_program(server: Server, command: Command) -> Unavailable:
    """Say that the server needs a command whose program is not on PATH."""
    return Unavailable(server, f"needs `{command[0]}` on PATH", INSTALL.get(command[0]))


def fails(server: Server, command: Command, output: str) -> Unavailable:
    """Say that the server needs a command that failed with this output."""
    return Unavailable(server, f"`{' '.join(command)}` failed: {_last_line(output)}", INSTALL.get(command[0]))


def find_built(server: Server, cache: Path) -> dict[Command, float]:
    """The commands that were carried out on what the server's folder holds now → seconds. Those that reach beyond it are none."""
    stamped = read_stamp(_stamp(server, cache))
    if stamped is None or stamped.content != sources.content_hash(server.folder):
        return {}
    return {words: seconds for words, seconds in stamped.seconds.items() if not any(map(PARENT.search, words))}


def read_stamp(stamp: Path) -> StampedBuild | None:
    """Read what a stamp says of a build; None where there is none, or a full disk cut it off."""
    try:
        told = json.loads(stamp.read_bytes())
        return StampedBuild(str(told["content"]), {tuple(words): float(seconds) for words, seconds in told["built"]})
    except (OSError, ValueError, TypeError, KeyError):
        return None


def build(
    keeper: Keeper, stacks: Sequence[Stack], cache: Path, say: Callable[[str], None] = lambda _: None
) -> BuiltServer | Unavailable:
    """Build what these stacks of one server lack, and ask for receipts. `say` is told of each command as it starts.

    A failed build makes the server unavailable, with the end of what the tools said; it never raises for that.
    """
    server, began = stacks[0].server, time.monotonic()
    if lacking := missing(keeper, server):
        return lacking
    digest, done, stamp = sources.content_hash(server.folder), find_built(server, cache), _stamp(server, cache)
    wanted = commands_of(stacks)
    undone, receipts = tuple(words for words in wanted if words not in done), dict[Command, str]()
    for commands in dict.fromkeys([undone, wanted]):  # all of them where what was built before is lost
        if (failed := _carry_out(keeper, server, commands, cache, say, done)) is not None:
            return failed
        receipts = {words: _receipt(keeper, server, words) for words in dict.fromkeys(stack.version for stack in stacks)}
        if all(receipts.values()):
            break
    silent = next((words for words, text in receipts.items() if not text), None)
    if silent is not None:
        return Unavailable(
            server, f"it was built, but `{' '.join(silent)}` does not print its versions", f"see {_log(server, cache)}"
        )
    if not commands:
        return BuiltServer(server, digest, receipts, 0.0)
    with storing(stamp):
        stamp.write_text(json.dumps({"content": digest, "folder": str(server.folder), "built": list(done.items())}))
    return BuiltServer(server, digest, receipts, time.monotonic() - began)


def group_stacks(stacks: Iterable[Stack]) -> dict[Path, list[Stack]]:
    """Folder of a server → its stacks."""
    found = dict[Path, list[Stack]]()
    for stack in stacks:
        found.setdefault(stack.server.folder, []).append(stack)
    return found


def commands_of(stacks: Iterable[Stack]) -> tuple[Command, ...]:
    """The commands that build these stacks of one server, each once."""
    return tuple(dict.fromkeys(words for stack in stacks for words in stack.build))


def _carry_out(
    keeper: Keeper,
    server: Server,
    commands: Sequence[Command],
    cache: Path,
    say: Callable[[str], None],
    done: dict[Command, float],
) -> Unavailable | None:
    """Carry out commands of a build, and note in `done` how long each took; the first that fails makes the server unavailable."""
    if not commands:
        return None
    log = _log(server, cache)
    with storing(log):
        log.parent.mkdir(parents=True, exist_ok=True)
        log.unlink(missing_ok=True)
        log.touch(PRIVATE)  # a build sees the whole environment, and may say it
    if any(words[0] == "cargo" for words in commands):
        _touch(server.folder)
    for words in commands:
        say(" ".join(words))
        began = time.monotonic()
        code, output = BuildCommand(keeper, words, server.folder, log, cache).end(BUILD_TIMEOUT_S)
        with storing(log):
            log.write_bytes(KNOWN.scrub_bytes(log.read_bytes()))
        if code != 0:
            why = "took too long" if code is None else f"failed: {_telling_line(output)}"
            return Unavailable(server, f"`{' '.join(words)}` {why}", f"the whole output is in {log}")
        done[words] = time.monotonic() - began
    return None


def _touch(folder: Path) -> None:
    """Make a folder's Rust sources newer than all that was built.

    Cargo takes two checkouts of one package for one in the folder of builds that they share, and tells by times alone what is
    old: without this a revision's server would be the binary of the one that was built before.
    """
    for path in sources.walk(folder):
        if path.suffix == ".rs":
            with contextlib.suppress(OSError):  # a folder that cannot be written has no second checkout
                os.utime(path)


def _stamp(server: Server, cache: Path) -> Path:
    """One stamp for each folder, so that two checkouts do not take each other's builds for their own."""
    place = hashlib.sha256(str(server.folder.resolve()).encode()).hexdigest()[:PLACE_CHARACTERS]
    return cache / "builds" / f"{server.id}-{place}.json"


def _log(server: Server, cache: Path) -> Path:
    return _stamp(server, cache).with_suffix(".log")


def _receipt(keeper: Keeper, server: Server, words: Command) -> str:
    """The versions that a command prints of what was built; nothing where it fails."""
    code, output = BuildCommand(keeper, words, server.folder).end(RECEIPT_TIMEOUT_S)
    return foreign.line(output, foreign.SENTENCE_CHARACTERS) if code == 0 else ""


class BuildCommand:
    """One command that runs under the keeper, so that it cannot outlive the lab. One that builds is told of the lab's cache.

    `env`: all that it is told, in place of what a build is.
    """

    def __init__(
        self,
        keeper: Keeper,
        words: Command,
        folder: Path,
        log: Path | None = None,
        cache: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self._output, self._refusal = CommandOutput(log), ""
        self._child: Child | None = None
        descriptor, own = self._output.fileno(), environment(keeper.environ, cache) if env is None else env
        try:
            self._child = keeper.spawn(words, role="build", env=own, cwd=folder, streams=Streams.into(descriptor))
        except MachineError:
            raise
        except LabError as error:
            self._refusal = error.message

    def end(self, timeout_s: float) -> tuple[int | None, str]:
        """Wait for its exit code (None: still running after `timeout_s` seconds), end it, and read its output.

        A program that could not be started is told as a shell would: code 127, and why.
        """
        with self._output as output:
            if self._child is None:
                return 127, self._refusal
            code = self._child.wait(timeout_s)
            self._child.stop(grace_s=1.0)
            return code, output.text()


class CommandOutput:
    """The file that a command's output goes to: the end of a log that is kept, or a file without a name."""

    def __init__(self, log: Path | None) -> None:
        self._file = open(log, "a+b") if log else open(os.memfd_create("output"), "w+b")
        self._start = os.fstat(self._file.fileno()).st_size

    def __enter__(self) -> CommandOutput:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def fileno(self) -> int:
        return self._file.fileno()

    def text(self) -> str:
        self._file.seek(self._start)
        return self._file.read().decode(errors="replace")


def environment(own: Mapping[str, str], cache: Path | None = None) -> Mapping[str, str]:
    """Give a command the machine's own settings (registries, proxies, caches), and a folder of the lab's cache for cargo.

    Dependencies that several servers share compile once there; cargo puts what it built into the server's own `target`.
    """
    shared = {"CARGO_BUILD_BUILD_DIR": str(cache / "builds" / "cargo")} if cache is not None else {}
    return {**shared, **own, "CI": "1", "NO_COLOR": "1"}


def _telling_line(text: str) -> str:
    """The first line that names an error and says more than that there is one; the last line where none does."""
    found = next((line for line in foreign.clean(text).splitlines() if ERROR_LINE.search(line)), None)
    return _last_line(text) if found is None else foreign.line(found.strip(), foreign.SENTENCE_CHARACTERS)


def _last_line(text: str) -> str:
    lines = [line for line in foreign.clean(text).splitlines() if line.strip()]
    return foreign.line(lines[-1], foreign.SENTENCE_CHARACTERS) if lines else "no output"


def stack_infos(stacks: Sequence[Stack], builds: Mapping[Path, BuiltServer | Unavailable]) -> dict[str, StackInfo]:
    """Describe the stacks of a run, the unavailable ones among them. `builds`: folder of a server → what came of it."""
    infos = {}
    for stack in stacks:
        server, made = stack.server, builds[stack.server.folder]
        built = made if isinstance(made, BuiltServer) else None
        reason = None if built else made.reason if isinstance(made, Unavailable) else None
        infos[stack.id] = StackInfo(
            stack.id,
            server.title,
            server.language,
            stack.variant.about or server.about,
            server.homepage,
            built.receipts[stack.version] if built else None,
            reason,
            built.content_hash if built else None,
            stack.variant.approach,
            stack.variant.tuning,
        )
    return infos


def contract_versions(stacks: Iterable[Stack]) -> dict[str, str]:
    """The digest of each contract of these stacks, as a version: one that changed is another one."""
    found = {stack.server.contract.id: stack.server.contract for stack in stacks}
    return {f"contract {one.id}": sources.sources_hash(one.folder)[:DIGEST_CHARACTERS] for one in found.values()}
