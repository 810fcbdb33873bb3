"""Manifests, workloads and suites: what is read from them, and every sentence about a mistake in them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from builders.contracts import CONTRACTS, SEEDS
from builders.paths import ROOT, TESTS
from builders.requests import asking
from fairground.inputs import contracts, manifest, workload_files
from fairground.model import Approach, CellSettings, Durability, LabError, Load, Server, Stack, Tuning

BAD = TESTS / "bad"
WORKLOADS = tuple(workload.id for workload in workload_files.load_workloads(SEEDS))

GOOD = """
title = "Example"
language = "Shell"
homepage = "https://example.org"
about = "A server for the tests."
needs = [["sh", "--version"], ["true"]]
build = [["sh", "build.sh"]]
version = ["./server", "--version"]
serve = ["./server"]
[variants.plain]
about = "As it is"
approach = "documented"
[variants.other]
about = "Otherwise"
approach = "documented"
env = { DRIVER = "other" }
[skip]
users = "It has no users."
"""


def put(folder: Path, identity: str, text: str = GOOD) -> Path:
    """Write a manifest into a folder of servers."""
    path = folder / "servers" / identity / "server.toml"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return folder / "servers"


def said(error: LabError) -> str:
    """An error as a person sees it."""
    return f"{error.message}\nhint: {error.hint}\n"


def read_bad(case: Path, folder: Path) -> None:
    """Read one file of `tests/bad` as what its folder says it is."""
    if case.parent.name == "server":
        manifest.load_servers(put(folder, "example", case.read_text()), CONTRACTS, WORKLOADS)
        return
    if case.parent.name == "contract":
        (mine := folder / "contracts" / "mine").mkdir(parents=True)
        (mine / "contract.toml").write_text(case.read_text())
        contracts.read_contract(mine)
        return
    path = folder / "mine" / f"{case.parent.name}s" / "example.toml"
    path.parent.mkdir(parents=True)
    path.write_text(case.read_text())
    if case.parent.name == "workload":
        workload_files.load_workloads(replace(SEEDS, folder=folder / "mine", default="example"))
    else:
        manifest.load_suite(path)


@pytest.mark.parametrize("case", sorted(BAD.glob("*/*.toml")), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_mistake_is_named_with_place_and_remedy(case: Path, tmp_path: Path) -> None:
    """Each wrong file is refused with exactly the sentence and hint that stand beside it."""
    with pytest.raises(LabError) as raised:
        read_bad(case, tmp_path)
    assert said(raised.value) == case.with_suffix(".txt").read_text()
    assert raised.value.exit_code == 2


def test_every_bad_file_has_its_sentence() -> None:
    """No file in `tests/bad` stands alone."""
    inputs = {path.with_suffix("") for path in BAD.glob("*/*.toml")}
    assert len(inputs) > 50
    assert inputs == {path.with_suffix("") for path in BAD.glob("*/*.txt")}


def test_manifest_becomes_server(tmp_path: Path) -> None:
    """Every key of a manifest lands in the field of its name."""
    (server,) = manifest.load_servers(put(tmp_path, "example"), CONTRACTS, WORKLOADS)
    assert server == Server(
        id="example",
        title="Example",
        language="Shell",
        homepage="https://example.org",
        about="A server for the tests.",
        folder=tmp_path / "servers" / "example",
        needs=(("sh", "--version"), ("true",)),
        build=(("sh", "build.sh"),),
        version=("./server", "--version"),
        serve=("./server",),
        variants=server.variants,
        skip={"users": "It has no users."},
        contract=SEEDS,
    )
    assert [(one.name, one.about, one.env) for one in server.variants.values()] == [
        ("plain", "As it is", {}),
        ("other", "Otherwise", {"DRIVER": "other"}),
    ]


def test_an_optional_workload_is_asked_of_those_that_serve_it(tmp_path: Path) -> None:
    """A variant says what it serves, or its server for all of them; of the others a sentence says that they do not."""
    first, second, *more = SEEDS.optional
    said = f'serves = ["{first}", "{second}"]'
    text = GOOD.replace('approach = "documented"\nenv', f'approach = "documented"\n{said}\nenv')
    plain, other = manifest.load_servers(put(tmp_path, "example", text), CONTRACTS)[0].stacks
    assert plain.skip == {"users": "It has no users."} | {one: f"does not serve `{one}`" for one in SEEDS.optional}
    assert other.skip == {"users": "It has no users."} | {one: f"does not serve `{one}`" for one in more}
    (tmp_path / "servers" / "example" / "server.toml").write_text(text.replace('title = "Example"', 'title = "Example"\n' + said))
    (server,) = manifest.load_servers(tmp_path / "servers", CONTRACTS)
    assert [set(stack.variant.serves) for stack in server.stacks] == [{first, second}] * 2


def test_an_optional_workload_is_there() -> None:
    """A contract names none that it does not have."""
    with pytest.raises(LabError, match="there is no workload `reed` for `optional` of") as raised:
        workload_files.load_workloads(replace(SEEDS, optional=("page", "reed")))
    assert (raised.value.hint or "").startswith("did you mean `read`?")


TUNED = (
    'approach = "tuned"\ntuning = [{ what = "X=1", why = "less work", source = "https://example.org/x" }]\nserve = ["./other"]\n'
)


def test_variant_says_how_it_is_written(tmp_path: Path) -> None:
    """Approach, tuning and a command of its own are the variant's; another variant is started as the server is."""
    text = GOOD.replace('about = "Otherwise"\napproach = "documented"\n', f'about = "Otherwise"\n{TUNED}')
    plain, other = manifest.load_servers(put(tmp_path, "example", text), CONTRACTS)[0].stacks
    assert (plain.variant.approach, plain.variant.tuning, plain.serve) == (Approach.DOCUMENTED, (), ("./server",))
    assert (other.variant.approach, other.serve) == (Approach.TUNED, ("./other",))
    assert other.variant.tuning == (Tuning("X=1", "less work", "https://example.org/x"),)


def test_manifest_of_the_past_need_not_say_it(tmp_path: Path) -> None:
    """In an older revision the approach is unknown; what it says is held to the same rule."""
    folder = put(tmp_path, "example", GOOD.replace('approach = "documented"\n', ""))
    with pytest.raises(LabError, match="does not say its `approach`"):
        manifest.load_servers(folder, CONTRACTS)
    assert {one.variant.approach for one in manifest.load_servers(folder, CONTRACTS, of_past=True)[0].stacks} == {None}
    (folder / "example" / "server.toml").write_text(GOOD.replace('"documented"', '"tuned"'))
    with pytest.raises(LabError, match="does not say what is tuned"):
        manifest.load_servers(folder, CONTRACTS, of_past=True)


def test_folders_without_manifest_are_passed_over(tmp_path: Path) -> None:
    """A folder of servers may hold other things; servers come by id."""
    put(tmp_path, "b")
    folder = put(tmp_path, "a")
    (folder / "notes").mkdir()
    (folder / "README.md").write_text("about servers")
    assert [server.id for server in manifest.load_servers(folder, CONTRACTS)] == ["a", "b"]


def test_skip_is_checked_only_when_workloads_are_known(tmp_path: Path) -> None:
    """Without the workloads' ids any skip is taken."""
    folder = put(tmp_path, "example", GOOD.replace("users =", "something-else ="))
    assert manifest.load_servers(folder, CONTRACTS)[0].skip == {"something-else": "It has no users."}


@pytest.mark.parametrize("identity", ["Example", "ex_ample", "ex.ample"])
def test_folder_name_must_be_an_id(identity: str, tmp_path: Path) -> None:
    """A server's folder is its id, and ids are plain."""
    with pytest.raises(LabError) as raised:
        manifest.load_servers(put(tmp_path, identity), CONTRACTS)
    assert said(raised.value) == (
        f"`{identity}` is not a valid id for a server, in `servers/{identity}/server.toml`\n"
        "hint: name its folder with a-z, 0-9 and - only\n"
    )


@pytest.mark.parametrize("name", SEEDS.environment)
def test_variant_may_not_set_what_the_lab_sets(name: str, tmp_path: Path) -> None:
    """No variable of the contract can be altered by a manifest."""
    folder = put(tmp_path, "example", GOOD.replace("DRIVER", name))
    with pytest.raises(LabError, match=f"sets `{name}`, which only the lab may set"):
        manifest.load_servers(folder, CONTRACTS)


def test_contract_names_are_those_of_the_contract() -> None:
    """The lab guards exactly the variables that the contract's table of the environment lists."""
    text = (SEEDS.folder / "README.md").read_text()
    table = text.split("## Environment")[1].split("## ")[0]
    listed = [name for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)]
    assert sorted(listed) == sorted(SEEDS.environment)


def test_manifest_that_is_not_text_is_refused(tmp_path: Path) -> None:
    """A binary file is an error in a sentence."""
    folder = put(tmp_path, "example")
    (folder / "example" / "server.toml").write_bytes(b"title = '\xff'")
    with pytest.raises(LabError, match="`servers/example/server.toml` is not UTF-8 text"):
        manifest.load_servers(folder, CONTRACTS)


def test_missing_folder_is_refused(tmp_path: Path) -> None:
    """A folder that is not there is an error, not an empty list."""
    with pytest.raises(LabError, match="there is no folder"):
        manifest.load_servers(tmp_path / "nowhere", CONTRACTS)


def test_line_is_found_behind_multiline_text(tmp_path: Path) -> None:
    """What stands inside a multi-line string is no key."""
    text = GOOD.replace('"A server for the tests."', '"""\nserve = 1\n[variants.x]\n"""').replace('["./server"]\n', "3\n")
    with pytest.raises(LabError) as raised:
        manifest.load_servers(put(tmp_path, "example", text), CONTRACTS)
    assert raised.value.message.endswith("line 12")


# ---------------------------------------------------------------- stacks


def two_servers(tmp_path: Path) -> tuple[Server, ...]:
    """Two servers of two variants each."""
    put(tmp_path, "alpha-http")
    return manifest.load_servers(put(tmp_path, "beta-http"), CONTRACTS)


@pytest.mark.parametrize(
    ("text", "found"),
    [("alpha-http:other", ["alpha-http:other"]), ("beta-http", ["beta-http:plain", "beta-http:other"])],
)
def test_stack_is_found(text: str, found: list[str], tmp_path: Path) -> None:
    """A stack's id names one stack, a server's id all of its variants."""
    stacks = manifest.find_stack(two_servers(tmp_path), text)
    assert [stack.id for stack in stacks] == found
    assert all(isinstance(stack, Stack) for stack in stacks)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("alpha-htp", "did you mean `alpha-http` or `alpha-http:plain` or `alpha-http:other`?"),
        ("beta-http:plian", "did you mean `beta-http:plain` or `beta-http` or `alpha-http:plain`?"),
        ("zzz", "`./fairground list` shows them all"),
    ],
)
def test_unknown_stack_gets_nearest_names(text: str, hint: str, tmp_path: Path) -> None:
    """A misspelt stack is met with the names that are near."""
    with pytest.raises(LabError) as raised:
        manifest.find_stack(two_servers(tmp_path), text)
    assert said(raised.value) == f"there is no stack `{text}`\nhint: {hint}\n"


# ---------------------------------------------------------------- workloads


def test_lab_has_its_workloads() -> None:
    """The workloads are those that the contract has routes for."""
    asked = "db-ping db-time lookup ping time transfer transfer-ordered tx users"
    assert sorted(WORKLOADS) == sorted([*asked.split(), "read", "page", "create", "update", "crud"])


@pytest.mark.parametrize("identity", WORKLOADS)
def test_workload_is_explained(identity: str) -> None:
    """Each workload says in two to six sentences why it is there."""
    workload = next(one for one in workload_files.load_workloads(SEEDS) if one.id == identity)
    assert 2 <= len(re.findall(r"\.(?:\s|$)", workload.why)) <= 6
    assert workload.uses_database == (workload.limit_sql is not None)
    ledgers = any(one.ledger for one in workload.requests)
    assert ledgers == bool(workload.audit.ledgers) and workload.audit.writes == bool(ledgers or workload.audit.history)


@pytest.mark.parametrize("identity", WORKLOADS)
def test_every_ledger_is_audited(identity: str) -> None:
    """What the engine sums is compared with the database, each sum once."""
    workload = next(one for one in workload_files.load_workloads(SEEDS) if one.id == identity)
    assert {entry.name for one in workload.requests for entry in one.ledger} == {check.name for check in workload.audit.ledgers}


def test_file_name_must_be_an_id(tmp_path: Path) -> None:
    """A workload's file is named by its id, and ids are plain."""
    (tmp_path / "workloads").mkdir()
    (tmp_path / "workloads" / "Db_Ping.toml").write_text((SEEDS.folder / "workloads" / "db-ping.toml").read_text())
    with pytest.raises(LabError, match="`Db_Ping` is not a valid id for a workload"):
        workload_files.load_workloads(replace(SEEDS, folder=tmp_path))


@pytest.mark.parametrize(("scale", "numbers"), [(1, (100_000, 10, 1)), (10, (1_000_000, 100, 10))])
def test_render_fills_in_the_scale(scale: int, numbers: tuple[int, int, int]) -> None:
    """Bounds of accounts, tellers and branches follow the scale, in the request and in the limit's script."""
    raw = next(one for one in workload_files.load_workloads(SEEDS) if one.id == "tx")
    workload = workload_files.render(raw, scale)
    accounts, tellers, branches = numbers
    assert workload.first.path == (
        f"/tx?aid={{int:1..{accounts}}}&tid={{int:1..{tellers}}}&bid={{int:1..{branches}}}&delta={{int:-5000..5000}}"
    )
    assert workload.limit_sql is not None
    assert f"\\set aid random(1, {accounts})" in workload.limit_sql
    assert f"\\set bid random(1, {branches})" in workload.limit_sql
    edges = {edge.name: edge.values for edge in workload.first.edges}
    assert edges["last"] == {"aid": f"{{int:{accounts}..{accounts}}}"}
    assert "$" not in json.dumps([workload.first.path, workload.limit_sql, list(edges.values())])


def test_render_reaches_every_text() -> None:
    """Body and audit are filled in as well as the path."""
    raw = next(one for one in workload_files.load_workloads(SEEDS) if one.id == "transfer")
    invariant = replace(raw.audit.invariants[0], sql="SELECT $tellers", equals="before + $branches")
    check = replace(raw.audit.ledgers[0], sql="SELECT 1, $accounts")
    audit = replace(raw.audit, invariants=(invariant,), ledgers=(check,))
    workload = workload_files.render(replace(asking(raw, body="$scale"), audit=audit), 3)
    assert workload.first.body == "3"
    assert workload.audit.invariants[0].sql == "SELECT 30"
    assert workload.audit.invariants[0].equals == "before + 3"
    assert workload.audit.ledgers[0].sql == "SELECT 1, 300000"


# ---------------------------------------------------------------- suites


def test_group_inherits_from_the_top(tmp_path: Path) -> None:
    """A group has its own keys, and the file's for the rest."""
    path = tmp_path / "example.toml"
    path.write_text(
        'title = "example"\nabout = "For the tests."\nblocks = 3\nseed = 4\nstacks = ["all"]\nconnections = [5, 6]\n'
        "window_s = 7.5\nwarmup = [0.25, 0.5]\n[settings]\nworkers = 8\npool_size = 9\npool_wait_ms = 10\nprepared = false\n"
        'durability = "durable"\nscale = 11\n[[group]]\nworkloads = ["ping"]\n[[group]]\nworkloads = ["tx"]\nstacks = ["a:b"]\n'
        "connections = [12]\nkeep_alive = false\ntimeout_ms = 13\nblocks = 15\nsettings = { scale = 14 }\n"
    )
    suite = manifest.load_suite(path)
    first, second = suite.groups
    assert (suite.id, suite.title, suite.blocks, suite.seed) == ("example", "example", 3, 4)
    assert (first.stacks, first.workloads, second.stacks, second.workloads) == (("all",), ("ping",), ("a:b",), ("tx",))
    assert first.loads == tuple(Load(n, window_s=7.5, warmup_min_s=0.25, warmup_max_s=0.5) for n in (5, 6))
    assert second.loads == (Load(12, False, 7.5, 0.25, 0.5, 13),)
    assert first.settings == CellSettings(8, 9, 10, False, durability=Durability.DURABLE, scale=11)
    assert second.settings == CellSettings(scale=14)
    assert (first.blocks, second.blocks) == (None, 15)


def test_matrix_names_no_server() -> None:
    """The suite of everything has all workloads that each stack is asked. It speaks of no server: adding one changes nothing."""
    suite = manifest.load_suite(ROOT / "suites" / "matrix.toml")
    assert {workload for group in suite.groups for workload in group.workloads} == set(WORKLOADS) - set(SEEDS.optional)
    assert {stack for group in suite.groups for stack in group.stacks} <= {"all", "deployed"}


def test_demo_names_stacks_and_workloads_that_exist() -> None:
    """The demo names its stacks, since its length is promised; all of them exist. It compares: two blocks and more."""
    suite = manifest.load_suite(ROOT / "suites" / "demo.toml")
    stacks = {stack.id for server in manifest.load_servers(ROOT / "servers", CONTRACTS) for stack in server.stacks}
    assert {workload for group in suite.groups for workload in group.workloads} <= set(WORKLOADS)
    assert {stack for group in suite.groups for stack in group.stacks} <= stacks
    assert suite.blocks >= 2


def test_suite_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """A missing suite is an error in a sentence."""
    with pytest.raises(LabError, match="cannot be read"):
        manifest.load_suite(tmp_path / "nothing.toml")


def test_importing_is_cheap() -> None:
    """Reading manifests costs pydantic; importing the module does not."""
    code = "import sys, fairground.inputs.manifest, fairground.records, fairground.run.plan; sys.exit('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, env={"PYTHONPATH": str(ROOT / "src")}).returncode == 0
