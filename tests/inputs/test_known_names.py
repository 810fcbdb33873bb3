"""Names for a shell's completion: what the lab itself knows, and silence about what cannot be read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from builders.full import full
from builders.stored import START, new
from fairground import model, records
from fairground.inputs.names import Names
from fairground.inputs.roots import ROOT
from fairground.lab.places import Places
from fairground.model import Machine, StackInfo
from fairground.model.record import Head, RecordKind

MANIFEST = 'title = "One"\n[variants.plain]\nabout = "as it\\n comes"\n[variants.fancy]\n'


def values(names: object) -> list[str]:
    """The words without what is said of them."""
    assert isinstance(names, list)
    return [one.value for one in names]


def add(folder: Path, name: str, text: str) -> None:
    """A server's manifest."""
    (folder / name).mkdir(parents=True)
    (folder / name / "server.toml").write_text(text)


def test_names_are_those_that_the_lab_reads() -> None:
    """Servers, stacks, workloads and suites of the checkout are the same, in the same order, as those that are read with all checks."""
    names, places = Names(), Places()
    servers = places.load_servers()
    assert values(names.servers()) == [server.id for server in servers]
    assert values(names.stacks()) == [word for server in servers for word in (server.id, *(stack.id for stack in server.stacks))]
    assert values(names.workloads()) == [workload.id for workload in places.workloads()]
    assert values(names.suites()) == sorted(path.stem for path in (ROOT / "suites").glob("*.toml"))
    assert all(one.help for one in (*names.stacks(), *names.workloads(), *names.suites()))


def test_servers_of_the_current_folder_are_beside_the_labs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project's servers stand among those of an installed lab; a folder that is given stands alone."""
    data = tmp_path / "data"
    add(data / "servers", "birch", MANIFEST)
    add(tmp_path / "project" / "servers", "alder", MANIFEST)
    monkeypatch.chdir(tmp_path / "project")
    assert values(Names(data).servers()) == ["alder", "birch"]
    assert values(Names(data, servers=Path("servers")).stacks()) == ["alder", "alder:plain", "alder:fancy"]


def test_what_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    """A manifest that is no TOML, or holds something else, leaves the server's name; a folder that is not there leaves nothing."""
    add(tmp_path / "servers", "broken", "title = ")
    add(tmp_path / "servers", "odd", "title = 1\nvariants = 2\n")
    add(tmp_path / "servers", "plain", MANIFEST)
    (tmp_path / "servers" / "binary").mkdir()
    (tmp_path / "servers" / "binary" / "server.toml").write_bytes(b"\xff\xfe")
    names = Names(tmp_path, servers=tmp_path / "servers", results=tmp_path / "none")
    assert values(names.stacks()) == ["binary", "broken", "odd", "plain", "plain:plain", "plain:fancy"]
    assert names.stacks()[-2].help == "as it comes"
    assert names.records(None) == [] and names.workloads() == []


def test_records_are_told_by_kind(tmp_path: Path) -> None:
    """Records of each kind are found as they are written, the latest first; folders that hold none are not."""
    run = new(tmp_path)
    kept = {RecordKind.RUN: run.name}
    for later, kind in enumerate((kind for kind in RecordKind if kind is not RecordKind.RUN), 1):
        asked, info = full(records.SHAPES[kind].asked, 100), {"one:plain": full(StackInfo, 300)}
        head = Head(model.SCHEMA_VERSION, kind, "", "command", START, full(Machine, 200), {}, {}, info, asked)
        kept[kind] = records.create(tmp_path, str(kind), replace(head, started_unix_s=START + 60 * later)).id
    (tmp_path / "2027-01-01-0000-notes").mkdir()
    (tmp_path / "2027-01-01-0000-file").touch()
    names = Names(results=tmp_path)
    for kind, id in kept.items():
        assert values(names.records(str(kind))) == ["latest", id]
    assert values(names.records(None)) == ["latest", *sorted(kept.values(), reverse=True)]
    assert names.records("run")[0].help == run.name
