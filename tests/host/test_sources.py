"""The sources of a server: what is content, and what a copy of it holds."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

import pytest

from fairground.host import sources


@pytest.mark.parametrize("ignored", ["out", "built/deep/thing", "built/new", "lib/trace.log", "__pycache__/main.pyc", "new.log"])
def test_content_ignores_what_builds_leave(folder: Path, ignored: str) -> None:
    """What .gitignore names is no content, in folders too, and neither is what Python caches."""
    before = sources.content_hash(folder)
    (folder / ignored).write_text("other")
    assert sources.content_hash(folder) == before


def test_content_changes_with_content_names_and_modes(folder: Path) -> None:
    """Another byte, another name, another file, a file fewer, or the right to execute is another content each."""
    seen = [sources.content_hash(folder)]
    (folder / "main.c").write_text("int main2;")
    seen.append(sources.content_hash(folder))
    (folder / "main.c").rename(folder / "main2.c")
    seen.append(sources.content_hash(folder))
    (folder / "lib" / "more.c").write_text("")
    seen.append(sources.content_hash(folder))
    (folder / "lib" / "part.c").unlink()
    seen.append(sources.content_hash(folder))
    (folder / "main2.c").chmod(0o755)
    seen.append(sources.content_hash(folder))
    (folder / ".gitignore").write_text("out\n")
    seen.append(sources.content_hash(folder))
    assert len(set(seen)) == len(seen)


def test_content_is_stable(folder: Path) -> None:
    """Times and the order of a folder do not matter, and reading changes nothing."""
    before = sources.content_hash(folder)
    os.utime(folder / "main.c", (1, 1))
    assert sources.content_hash(folder) == before == sources.content_hash(folder)


def test_what_is_no_file_is_no_content(folder: Path, tmp_path: Path) -> None:
    """An editor's lock is a link to nothing, and a server leaves its socket: neither ends the lab, nor holds it up."""
    before = sources.content_hash(folder), sources.sources_hash(folder)
    (folder / ".#main.c").symlink_to("me@here.4711:1796000000")
    os.mkfifo(folder / "lib" / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "one.sock"))
    assert (sources.content_hash(folder), sources.sources_hash(folder)) == before
    sources.copy_sources(folder, tmp_path / "two")
    assert sources.pack_sources(folder).keys() == {".gitignore", "main.c", "lib/part.c"}


def test_a_linked_folder_is_content(folder: Path, tmp_path: Path) -> None:
    """A change behind a link is another content, but for what is ignored there or here; a loop has an end."""
    for name in ("api/main.go", "api/.git/index", "api/out", "api/target/api", "api/deep/part.go"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1")
    (tmp_path / "api" / ".gitignore").write_text("/target\n")
    for link, there in (
        ("src", "../api"),
        ("lib/again", "../../api/deep"),
        ("lib/web", "../../api"),
        ("self", "."),
        ("src/back", "../one"),
        ("src/up", ".."),
    ):
        (folder / link).symlink_to(there)
    own = {".gitignore", "main.c", "lib/part.c"}
    linked = {"src/.gitignore", "src/main.go", "src/deep/part.go", "lib/again/part.go"}
    assert sources.pack_sources(folder).keys() >= own | linked | {"lib/web/main.go"}
    seen = sources.content_hash(folder)
    for name in ("api/.git/index", "api/out", "api/target/api"):
        (tmp_path / name).write_text("2")
        assert sources.content_hash(folder) == seen
    for name in ("api/main.go", "api/deep/part.go"):
        (tmp_path / name).write_text("2")
        assert seen != (seen := sources.content_hash(folder))
    sources.copy_sources(folder, tmp_path / "two")
    assert (tmp_path / "two" / "src" / "main.go").read_text() == "2" and not (tmp_path / "two" / "src").is_symlink()
    assert (tmp_path / "two" / "lib" / "web" / "main.go").read_text() == "2"


def test_folders_that_link_to_each_other_are_walked_once(folder: Path, tmp_path: Path) -> None:
    """As the packages of a workspace do: behind a link each is there once, and not on every way between them."""
    names = [f"p{number}" for number in range(9)]
    for name in names:
        (tmp_path / "all" / name).mkdir(parents=True)
        (tmp_path / "all" / name / "code.js").write_text(name)
        for other in names:
            (tmp_path / "all" / name / other).symlink_to(f"../{other}")
    (folder / "used").symlink_to("../all/p0")
    linked = [name for name in sources.pack_sources(folder) if name.endswith("code.js")]
    assert len(linked) == len(names) and "used/code.js" in linked


def test_copy_sources(folder: Path, tmp_path: Path) -> None:
    """A copy holds the sources with their modes, and nothing that was built."""
    (folder / "main.c").chmod(0o755)
    target = tmp_path / "two"
    sources.copy_sources(folder, target)
    found = {str(path.relative_to(target)) for path in target.rglob("*") if path.is_file()}
    assert found == {".gitignore", "main.c", "lib/part.c"}
    assert (target / "main.c").read_text() == "int main;"
    assert stat.S_IMODE((target / "main.c").stat().st_mode) == 0o755
