"""One variant of a server that was copied."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from builders.contracts import CONTRACTS
from fairground.inputs import lone_variant, manifest

MANIFEST = """title    = "Old"
language = "Shell"
homepage = "https://example.org"
about    = "A server for the tests."
version  = ["true"]
serve    = ["sh", "old.sh"]

[variants.fast]
about    = "tuned [as far as it goes]"
approach = "tuned"
tuning   = [
    { what = "X=1", why = "less work", source = "none" },
]

[variants.shown]
about    = "as the guide shows"
approach = "documented"
serve    = ["sh", "documented/serve.sh"]

[skip]
users = "it has none"
"""


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """The copy of a server with a folder for each of two approaches."""
    folder = tmp_path / "servers" / "mine"
    for name in ("documented/serve.sh", "published/serve.sh", "old.sh", "README.md"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("old")
    (folder / "package.json").write_text('{ "name": "mine-too", "main": "old" }')
    (folder / "server.toml").write_text(MANIFEST)
    return folder


def test_one_variant_is_left(copied: Path) -> None:
    """The manifest has that variant alone, and another title; folders of other approaches are gone, and the README asks."""
    (source,) = manifest.load_servers(copied.parent, CONTRACTS)
    lone_variant.keep(copied, source, "shown")
    left = tomllib.loads((copied / "server.toml").read_text())
    assert (left["title"], list(left["variants"]), left["skip"]) == ("mine", ["shown"], {"users": "it has none"})
    assert sorted(path.name for path in copied.iterdir()) == ["README.md", "documented", "old.sh", "package.json", "server.toml"]
    assert (copied / "README.md").read_text().startswith("# mine\n\n- Which page")
    (again,) = manifest.load_servers(copied.parent, CONTRACTS)
    assert [stack.id for stack in again.stacks] == ["mine:shown"]


def test_a_folder_that_a_command_names_stays(copied: Path) -> None:
    """A variant of another approach may be started by the program of this one."""
    text = MANIFEST.replace('approach = "tuned"', 'approach = "tuned"\nserve    = ["sh", "documented/serve.sh"]')
    (copied / "server.toml").write_text(text)
    (source,) = manifest.load_servers(copied.parent, CONTRACTS)
    lone_variant.keep(copied, source, "fast")
    assert (copied / "documented").exists() and not (copied / "published").exists()
    assert list(tomllib.loads((copied / "server.toml").read_text())["variants"]) == ["fast"]


def test_a_folder_that_a_tools_manifest_names_stays(copied: Path) -> None:
    """Cargo refuses a package of which a program lacks its sources, even where another one is built."""
    (copied / "Cargo.toml").write_text('[[bin]]\nname = "documented"\npath = "documented/main.rs"\n')
    (source,) = manifest.load_servers(copied.parent, CONTRACTS)
    lone_variant.keep(copied, source, "fast")
    assert (copied / "documented").exists() and not (copied / "published").exists()


def test_names_of_packages_are_the_new_ones(tmp_path: Path) -> None:
    """What was called as the server that was copied is called as the new one."""
    text = MANIFEST.replace('serve    = ["sh", "old.sh"]', 'serve    = ["target/lab-old"]')
    assert "target/lab-mine" in lone_variant.manifest(text, "mine", "old", "shown")
