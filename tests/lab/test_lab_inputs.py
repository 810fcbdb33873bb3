"""What is resolved before anything is measured: revisions of git, and the request for a service."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from builders.contracts import CONTRACTS
from builders.paths import ROOT
from fairground.capacity.service import address
from fairground.inputs import manifest, revisions
from fairground.lab import run
from fairground.lab.places import Places
from fairground.model import LabError, Stack
from fairground.model.record import TryAsked

SECRETS = (("Accept", "text/html"), ("Authorization", "Bearer x"))
PLAIN = TryAsked("http://127.0.0.1:8/x?a=1", "post", SECRETS, "body", "p99<50ms", 2, 1000, True, False, None)
LOCKED = replace(
    PLAIN,
    url="http://127.0.0.1:8/x?a=1&token=t0",
    body='{"password":"w0"}',
    command=("env", "PGPASSWORD=p0", "./server"),
    headers=(),
)
NOTHING = replace(PLAIN, url="", headers=(), body=None)


@pytest.fixture
def checkout(tmp_path: Path) -> tuple[Places, Stack]:
    """A checkout with one server, committed once, and a stack of it."""
    servers = tmp_path / "lab" / "servers"
    shutil.copytree(ROOT / "tests" / "zoo" / "healthy", servers / "healthy")
    shutil.copytree(ROOT / "tests" / "zoo" / "animal", servers / "animal")
    shutil.copytree(ROOT / "contracts", servers.parent / "contracts")
    for words in (("init", "-q"), ("add", "-A"), ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one")):
        subprocess.run(["git", "-C", str(servers.parent), *words], check=True)
    places = Places(tmp_path / "lab", servers, tmp_path / "results", tmp_path / "cache", {})
    return places, manifest.find_stack(manifest.load_servers(servers, CONTRACTS), "healthy")[0]


def test_a_stack_is_checked_out_as_it_was(checkout: tuple[Places, Stack]) -> None:
    """A revision is the committed state, in a folder of its own; `.` is what stands there now."""
    places, stack = checkout
    (stack.server.folder / "new.txt").write_text("not committed")
    assert revisions.checked_out(places.cache, places.contracts(), ".", stack) is stack
    old = revisions.checked_out(places.cache, places.contracts(), "HEAD", stack)
    assert old.id == stack.id and old.server.folder.is_relative_to(places.cache / "revisions")
    assert not (old.server.folder / "new.txt").exists()
    assert revisions.checked_out(places.cache, places.contracts(), "HEAD", stack) == old


def test_a_revision_that_cannot_be_had_is_refused(checkout: tuple[Places, Stack]) -> None:
    """No such revision, and a revision without the stack, are each a sentence."""
    places, stack = checkout
    with pytest.raises(LabError, match="`none` is not a revision of this checkout"):
        revisions.checked_out(places.cache, places.contracts(), "none", stack)
    other = replace(stack, variant=replace(stack.variant, name="other"))
    with pytest.raises(LabError, match="the revision `HEAD` has no stack `healthy:other`"):
        revisions.checked_out(places.cache, places.contracts(), "HEAD", other)


def test_secrets_are_not_kept() -> None:
    """A record has the names of secret headers, not their values; other headers are whole. So it is with all else."""
    assert PLAIN.without_secrets().headers == (("Accept", "text/html"), ("Authorization", None))
    kept = LOCKED.without_secrets()
    assert kept.url == "http://127.0.0.1:8/x?a=1&token=(hidden)" and kept.body == '{"password":"(hidden)"}'
    assert kept.command == ("env", "PGPASSWORD=(hidden)", "./server")


@pytest.mark.parametrize(("host", "here"), [("0.0.0.0", True), ("[::]", True), ("127.0.0.2", True), ("192.0.2.1", False)])
def test_the_address_of_all_interfaces_is_this_machine(host: str, here: bool) -> None:
    """A server says that it listens on 0.0.0.0: who asks there means this machine."""
    asked = replace(NOTHING, url=f"http://{host}:3000/x")
    if here:
        assert address.request(asked).host == host.strip("[]")
        return
    with pytest.raises(LabError, match="not this machine"):
        address.request(asked)


def test_a_request_is_whole_again_with_its_secrets() -> None:
    """What goes on with a record gives the secrets again; the rest is in it."""
    kept = PLAIN.without_secrets()
    asked = address.request(address.restore(kept, replace(NOTHING, headers=(("authorization", "Bearer x"),))))
    assert (asked.host, asked.port, asked.method, asked.target) == ("127.0.0.1", 8, "POST", "/x?a=1")
    assert asked.headers == SECRETS and asked.body == b"body"
    with pytest.raises(LabError) as raised:
        address.restore(kept, NOTHING)
    assert raised.value.message == "the value of the header `Authorization` is secret and was not kept"
    assert raised.value.hint == "give it again: --header @FILE, with `Authorization: …` in the file"
    assert address.restore(LOCKED.without_secrets(), LOCKED) == LOCKED


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"url": ""}, "the URL held a secret, which was not kept"),
        ({"body": None}, "the body held a secret, which was not kept"),
        ({"command": None}, "the command held a secret, which was not kept"),
        ({"url": "http://127.0.0.1:9/x?a=1&token=t0"}, "the URL is another one than that of the record"),
        ({"command": ("./server",)}, "the command is another one than that of the record"),
    ],
)
def test_a_secret_that_is_not_given_again_is_asked_for(given: dict[str, Any], message: str) -> None:
    """What a record has not kept must come again, and belong to it; no answer shows what was given."""
    with pytest.raises(LabError, match=message) as raised:
        address.restore(LOCKED.without_secrets(), replace(LOCKED, **given))
    assert "t0" not in f"{raised.value.message}{raised.value.hint}"


def test_what_a_record_knows_is_not_given_again() -> None:
    """A URL, a body or a command beside a record that has it whole is refused: it would be passed over."""
    for given in ({"url": "http://127.0.0.1:8/x"}, {"body": "other"}):
        with pytest.raises(LabError) as raised:
            address.restore(replace(PLAIN, headers=()), replace(NOTHING, **given))
        assert raised.value.hint == "leave it out"


def test_a_run_goes_on_with_the_servers_that_it_began_with(checkout: tuple[Places, Stack]) -> None:
    """A stack that is in no server here is wrong input, named with the option that mends it."""
    places, stack = checkout
    left = [cast(Any, SimpleNamespace(cell=SimpleNamespace(stack=id))) for id in (stack.id, "gone:away")]
    known = cast(Any, SimpleNamespace(id="one"))
    run.require_stacks(known, left[:1], [stack], places)
    with pytest.raises(LabError, match="run `one` has stacks that .* has not: gone:away") as caught:
        run.require_stacks(known, left, [stack], places)
    assert (caught.value.exit_code, caught.value.hint) == (2, "name the folder that the run began with: --servers DIR")
