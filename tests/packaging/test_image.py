"""The container image: what goes into it, what its scripts do, and where buildah is, the image itself."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from builders.contracts import CONTRACTS
from builders.paths import ROOT
from fairground.host.build import INSTALL
from fairground.inputs import manifest

CONTAINERFILE, COMPOSE, IGNORE = ROOT / "Containerfile", ROOT / "compose.yaml", ROOT / ".containerignore"
PACKAGING = ROOT / "packaging"
TOOLCHAINS, ENTRY, BUILD = PACKAGING / "image" / "toolchains", PACKAGING / "image" / "entry", PACKAGING / "image.sh"
SERVERS = manifest.load_servers(ROOT / "servers", CONTRACTS)


def instructions() -> list[list[tuple[str, str]]]:
    """The stages of the Containerfile, each as its instructions and their words. The first holds what stands before any."""
    text = re.sub(r"^#.*\n", "", CONTAINERFILE.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    stages: list[list[tuple[str, str]]] = [[]]
    for line in filter(None, (line.strip() for line in text.splitlines())):
        name, _, words = line.partition(" ")
        if name == "FROM":
            stages.append([])
        stages[-1].append((name, words))
    return stages


def images() -> dict[str, str]:
    """The images that stages begin with: build argument → its default."""
    return dict(words.split("=", 1) for name, words in instructions()[0] if name == "ARG")


def programs(text: str) -> set[str]:
    """The toolchains that a file asks for where nobody says another."""
    (found,) = re.findall(r'(?i)toolchains(?:=|: \$\{TOOLCHAINS:-)"?([\w+ ]+)["}]', text)
    return set(found.split())


# ---------------------------------------------------------------- what goes in


def test_stages_are_of_one_release_and_new_enough() -> None:
    """Wheels of one release run on the same one; Rust is what the engine asks for, Go as new as the servers' modules ask for."""
    found, suite = images(), re.findall(r" suite=(\w+)", BUILD.read_text())
    assert all(re.search(rf"[:-]{suite[0]}(-slim)?$", image) for image in found.values()), found
    (rust,) = re.findall(r'^rust-version = "([\d.]+)"', (ROOT / "engine" / "Cargo.toml").read_text(), re.MULTILINE)
    assert f":{rust}-" in found["RUST_IMAGE"]
    modules = [re.findall(r"^go (\d+)\.(\d+)", path.read_text(), re.MULTILINE)[0] for path in ROOT.glob("servers/*/go.mod")]
    (version,) = re.findall(r":(\d+)\.(\d+)-", found["GO_IMAGE"])
    assert tuple(map(int, version)) >= max(tuple(map(int, one)) for one in modules)


def test_the_last_stage_takes_wheels_and_scripts_alone() -> None:
    """Nothing of the checkout is copied into the image but its scripts: no results, no sources, no configuration."""
    copied = [words for name, words in instructions()[-1] if name in ("COPY", "ADD")]
    assert copied == ["packaging/image/ /usr/local/libexec/fairground/"]


def test_nobody_is_root_and_what_grows_is_a_volume() -> None:
    """The image runs as an ordinary user; results and the cache outlive a container."""
    stage = dict(instructions()[-1])
    assert stage["USER"] not in ("root", "0") and "useradd" in stage["RUN"]
    order = [name for name, _ in instructions()[-1]]
    assert order.index("USER") < order.index("ENTRYPOINT")
    assert stage["VOLUME"] == '["/lab/results", "/cache"]' and "FAIRGROUND_CACHE=/cache/" in stage["ENV"]


def test_what_is_sent_to_the_build_is_what_the_wheel_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is left out but the wheel's sources and what builds it."""
    monkeypatch.setitem(sys.modules, "maturin", ModuleType("maturin"))
    monkeypatch.syspath_prepend(str(PACKAGING))
    import lab_wheel  # type: ignore[import-not-found]

    lines = [line for line in IGNORE.read_text().splitlines() if line and not line.startswith("#")]
    sources = {name.partition("/")[0] for name in (*lab_wheel.PLACES, *lab_wheel.INPUTS)}
    assert lines[0] == "*"
    assert {line[1:] for line in lines if line.startswith("!")} == sources | {"packaging", "requirements.lock", ".gitignore"}
    assert (ROOT / ".dockerignore").read_text() == IGNORE.read_text()


@pytest.mark.parametrize("path", [CONTAINERFILE, COMPOSE, BUILD], ids=lambda path: path.name)
def test_toolchains_are_needs_of_servers(path: Path) -> None:
    """Each toolchain that is there by default is a program that a server needs."""
    needed = {command[0] for server in SERVERS for command in server.needs}
    assert programs(path.read_text()) and programs(path.read_text()) <= needed


# ---------------------------------------------------------------- the compose file


def compose() -> dict[str, Any]:
    found = yaml.safe_load(COMPOSE.read_text())
    assert isinstance(found, dict)
    return found


def test_ports_are_loopback() -> None:
    """What another machine could reach is published by no service."""
    ports = [port for service in compose()["services"].values() for port in service.get("ports", ())]
    assert ports and all(re.fullmatch(r"127\.0\.0\.1:\d+:\d+", port) for port in ports)


def test_the_lab_measures_a_postgresql_beside_it() -> None:
    """The demo is given a database by the name of its service, and begins when that answers."""
    services = compose()["services"]
    lab = services["lab"]
    assert lab["command"][:2] == ["demo", "--database"]
    host = re.fullmatch(r"postgresql://\w+@(\w+):5432/postgres", lab["command"][2])
    assert host is not None and lab["depends_on"] == {host[1]: {"condition": "service_healthy"}}
    assert re.search(r"/postgres:\d+", services[host[1]]["image"]) and "healthcheck" in services[host[1]]


def test_no_password_is_written_down() -> None:
    """The password is a secret of both sides, and its file is in no commit."""
    found = compose()
    (name,) = found["secrets"]
    assert found["services"]["postgres"]["environment"]["POSTGRES_PASSWORD_FILE"] == f"/run/secrets/{name}"
    assert found["services"]["lab"]["environment"]["FAIRGROUND_PASSWORD_FILE"] == f"/run/secrets/{name}"
    assert not re.search(r"PASSWORD:|://\w+:[^/]", COMPOSE.read_text())
    file = found["secrets"][name]["file"]
    assert subprocess.run(["git", "-C", str(ROOT), "check-ignore", "-q", "--no-index", file]).returncode == 0


def test_what_runs_the_lab_has_no_rights() -> None:
    """Services of the lab's image drop all capabilities, and can win none."""
    ours = [one for one in compose()["services"].values() if "fairground" in one["image"]]
    assert len(ours) == 2
    assert all(one["cap_drop"] == ["ALL"] and one["security_opt"] == ["no-new-privileges:true"] for one in ours)


# ---------------------------------------------------------------- the scripts


@pytest.fixture
def programs_of(tmp_path: Path) -> Path:
    """A folder of programs that write down how they were called, first on PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("apt-get", "fairground"):
        (folder / name).write_text(
            f'#!/bin/sh\necho "$@" >>"{tmp_path}/{name}"\ncp "${{PGPASSFILE:-/dev/null}}" "{tmp_path}/passwords"\n'
        )
        (folder / name).chmod(0o755)
    return folder


def call(script: Path, programs: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run one of the image's scripts with these programs before those of the system."""
    environment: Mapping[str, str] = {**os.environ, "PATH": f"{programs}:/usr/bin:/bin", **variables}
    return subprocess.run([str(script), *words], env=environment, capture_output=True, text=True)


def mounted(folder: Path) -> dict[str, str]:
    """Stages with a Go and a Rust in them, and where they are to be copied, as variables of the script."""
    for name in ("mounts/go/bin/go", "mounts/wheel/some/where/bin/cargo", "mounts/wheel/some/where/bin/rustc",
                 "mounts/wheel/some/where/lib/std", "prefix/x"):  # fmt: skip
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
        path.chmod(0o755)
    (folder / "mounts" / "wheel" / "toolchain").symlink_to("/some/where")
    return {"MOUNTS": str(folder / "mounts"), "PREFIX": str(folder / "prefix")}


def test_every_server_has_a_toolchain(programs_of: Path, tmp_path: Path) -> None:
    """The first program that a server needs names its toolchain, but for programs that no registry has."""
    names = sorted({server.needs[0][0] for server in SERVERS if server.needs[0][0] in INSTALL})
    done = call(TOOLCHAINS, programs_of, *names, **mounted(tmp_path))
    assert done.returncode == 0, done.stderr
    update, install = (tmp_path / "apt-get").read_text().splitlines()
    assert update.startswith("update") and {"nodejs", "npm", "python3-venv"} <= set(install.split())
    made = {str(path.relative_to(tmp_path / "prefix")) for path in (tmp_path / "prefix").rglob("*") if path.is_file()}
    assert made == {"x", "go/bin/go", "rust/bin/cargo", "rust/bin/rustc", "rust/lib/std"}


@pytest.mark.parametrize(
    ("name", "said"), [("cobol", "there is no toolchain `cobol`"), ("go", "GO_IMAGE has no Go"), ("cargo", "Rust")]
)
def test_a_toolchain_that_cannot_be_had_installs_nothing(programs_of: Path, tmp_path: Path, name: str, said: str) -> None:
    """A wrong name, or a stage without the toolchain, ends the build before anything is downloaded."""
    done = call(TOOLCHAINS, programs_of, "python3", name, MOUNTS=str(tmp_path), PREFIX=str(tmp_path))
    assert done.returncode == 2 and said in done.stderr and "hint: " in done.stderr
    assert not (tmp_path / "apt-get").exists()


def test_a_secret_becomes_a_password_file(programs_of: Path, tmp_path: Path) -> None:
    """What is special in a password file is escaped, nobody else may read it, and the lab's words are passed on."""
    secret = tmp_path / "secret"
    secret.write_text("a:b\\c\n")
    (tmp_path / "temporary").mkdir()
    done = call(ENTRY, programs_of, "run", "a b", FAIRGROUND_PASSWORD_FILE=str(secret), TMPDIR=str(tmp_path / "temporary"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "fairground").read_text() == "run a b\n"
    (file,) = (tmp_path / "temporary").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.read_text() == (tmp_path / "passwords").read_text() == "*:*:*:*:a\\:b\\\\c\n"


def test_a_secret_that_cannot_be_read_is_said(programs_of: Path, tmp_path: Path) -> None:
    """One sentence, and the lab does not begin."""
    done = call(ENTRY, programs_of, "run", FAIRGROUND_PASSWORD_FILE=str(tmp_path / "none"))
    assert done.returncode == 2 and "may not read the password file" in done.stderr
    assert not (tmp_path / "fairground").exists()


def test_without_a_secret_the_lab_begins(programs_of: Path, tmp_path: Path) -> None:
    """No secret, no password file."""
    assert call(ENTRY, programs_of, "list", PGPASSFILE="/dev/null").returncode == 0
    assert (tmp_path / "fairground").read_text() == "list\n" and (tmp_path / "passwords").read_text() == ""


@pytest.mark.parametrize("words", [("--nonsense",), ("--suite",)])
def test_wrong_words_build_nothing(programs_of: Path, words: tuple[str, ...]) -> None:
    """Exit code 2 and a sentence."""
    done = call(BUILD, programs_of, *words)
    assert done.returncode == 2 and words[0] in done.stderr and "error: " in done.stderr


# ---------------------------------------------------------------- the image itself


@pytest.mark.live
@pytest.mark.nightly
def test_the_image_is_built_and_measures(tmp_path: Path) -> None:
    """Built by buildah on a base of debootstrap, the image runs as an ordinary user, has a doctor, and measures a server."""
    lacking = subprocess.run([str(BUILD), "--lacking"], capture_output=True, text=True)
    if lacking.returncode == 3:
        pytest.skip(f"no image can be built here: {lacking.stderr.splitlines()[0].removeprefix('error: ')}")
    assert lacking.returncode == 0, lacking.stderr
    done = subprocess.run([str(BUILD), "--work", str(tmp_path)], capture_output=True, text=True, timeout=3000)
    assert done.returncode == 0, done.stderr
    assert "(wheel " in done.stdout and "the image: " in done.stderr
    assert list(tmp_path.iterdir()) == []
