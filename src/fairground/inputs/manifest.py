"""The lab's input files `server.toml` and `suites/<id>.toml` → values of `model`.

Every mistake in them is a `LabError` that says what, in which file and line, and what to do. Inside the lab the values are
trusted. The shape of a file is a dataclass below; `source` holds the file against it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar

from fairground.inputs import conditions, faults, files, numbers, options, published, seating, wires
from fairground.inputs.contracts import check_command, check_told
from fairground.inputs.data_tables import require_names
from fairground.inputs.suite_file import GroupTable, SuiteFile
from fairground.inputs.variants import NAME, VariantTable, read_variants, require_command
from fairground.model import (
    POOLERS,
    PROXIES,
    LabError,
    Load,
    PlanSlot,
    Seats,
    Server,
    Stack,
    Suite,
    SuiteGroup,
    Topology,
)
from fairground.model.contract import STANDARD, CompiledDatabase, Contract, Ready
from fairground.model.source import STRICT, Location, Source, names_hint, nearest

# ---------------------------------------------------------------- servers

HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,252}[A-Za-z0-9])?")
IDENTIFIER = re.compile(r"[A-Za-z_][\w-]{0,62}", re.ASCII)
TAKEN = ("postgres", "template", "pg_", "fairground")
"""What the names of databases and roles begin with that a server cannot have for itself."""


@dataclass(frozen=True)
class _ServerFile:
    __pydantic_config__: ClassVar[Mapping[str, object]] = STRICT
    title: str
    language: str
    homepage: str
    about: str
    version: tuple[str, ...]
    serve: tuple[str, ...]
    variants: dict[str, VariantTable]
    needs: tuple[tuple[str, ...], ...] = ()
    build: tuple[tuple[str, ...], ...] = ()
    skip: dict[str, str] = field(default_factory=dict)
    serves: tuple[str, ...] = ()
    contract: str = STANDARD
    paths: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] | None = None
    port: int | None = None
    ready: Ready | None = None
    database: CompiledDatabase | None = None


def load_servers(
    folder: Path, contracts: Mapping[str, Contract], workloads: Collection[str] | None = None, *, of_past: bool = False
) -> tuple[Server, ...]:
    """Read every `<folder>/<id>/server.toml`, by id; each fulfils one of the `contracts`.

    With the ids of `workloads`, `[skip]` is checked against them. A folder `of_past` is that of an older revision, whose
    manifests may not say how their variants are written.
    """
    if not folder.is_dir():
        raise LabError(
            f"there is no folder `{folder}` to read servers from", "name one with --servers, or start the lab in its checkout"
        )
    paths = sorted(folder.glob("*/server.toml"), key=lambda path: path.parent.name)
    return tuple(_server(path, contracts, workloads, of_past) for path in paths)


def find_stack(servers: Sequence[Server], text: str) -> tuple[Stack, ...]:
    """The stack `server:variant`, or all stacks of `server`."""
    stacks = [stack for server in servers for stack in server.stacks]
    found = tuple(stack for stack in stacks if text in (stack.id, stack.server.id))
    if not found and "://" in text:
        raise LabError(f"`{text}` is a URL, and no stack", f"a service without a contract: ./fairground try {text}")
    if not found:
        names = [server.id for server in servers] + [stack.id for stack in stacks]
        near = [f"`{name}`" for name in difflib.get_close_matches(text, names, n=3, cutoff=0.4)]
        hint = f"did you mean {' or '.join(near)}?" if near else "`./fairground list` shows them all"
        raise LabError(f"there is no stack `{text}`", hint)
    return found


def _server(path: Path, contracts: Mapping[str, Contract], workloads: Collection[str] | None, of_past: bool) -> Server:
    source = files.read(path, depth=3)
    file = source.parse(_ServerFile)
    identity = path.parent.name
    if not NAME.fullmatch(identity):
        problem = f"`{identity}` is not a valid id for a server, in `{source.shown}`"
        raise LabError(problem, "name its folder with a-z, 0-9 and - only")
    for key in ("title", "language", "homepage", "about"):
        source.require_text((key,), getattr(file, key))
    _check_commands(source, file)
    contract = _contract(source, file, contracts)
    skip = {contract.qualify(name): reason for name, reason in file.skip.items()}
    for workload, reason in file.skip.items():
        source.require_text(("skip", workload), reason)
        if workloads is not None and contract.qualify(workload) not in workloads:
            hint = nearest(workload, workloads, "workloads")
            raise source.error(("skip", workload), f"unknown workload `{workload}` in `[skip]` of", hint)
    told = contract.environment if file.environment is None else file.environment
    variants = read_variants(source, file.variants, told, of_past=of_past)
    for name, variant in variants.items():
        variants[name] = replace(variant, serves=_served(source, file, name, contract))
    return Server(
        identity, file.title, file.language, file.homepage, file.about, path.parent, file.needs, file.build, file.version,
        file.serve, variants, skip, contract, file.paths, file.environment, file.port, file.ready,
        file.database,
    )  # fmt: skip


def _served(source: Source, file: _ServerFile, variant: str, contract: Contract) -> tuple[str, ...]:
    """The ids of the optional workloads that a variant serves: by its own `serves`, or by that of its server."""
    own = file.variants[variant].serves
    here: Location = ("serves",) if own is None else ("variants", variant, "serves")
    names = file.serves if own is None else own
    for place, name in enumerate(names):
        if name not in contract.optional:
            hint = nearest(name, contract.optional, "optional workloads") if contract.optional else "leave `serves` out"
            raise source.error((*here, place), f"`{name}` is no optional workload of `{contract.id}` for `serves` of", hint)
    return tuple(contract.qualify(name) for name in names)


def _contract(source: Source, file: _ServerFile, contracts: Mapping[str, Contract]) -> Contract:
    """The contract that a server's manifest names, whose paths and names it may have its own words for."""
    if file.contract not in contracts:
        raise source.error(
            ("contract",), f"there is no contract `{file.contract}` for", nearest(file.contract, contracts, "contracts")
        )
    contract = contracts[file.contract]
    for name, text in file.paths.items():
        if name not in contract.paths:
            hint = nearest(name, contract.paths, "paths")
            raise source.error(("paths", name), f"the contract `{contract.id}` has no path `{name}` for `paths` of", hint)
        if not text.startswith("/"):
            raise source.error(("paths", name), f"`paths.{name}` is `{text}` in", "begin it with `/`")
    if file.port is not None and not 1 <= file.port <= 65535:
        raise source.error(("port",), f"`port` is {file.port} in", "write a number from 1 to 65535")
    _check_database(source, file.database)
    check_told(source, ("environment",), file.environment or {})
    check_command(source, ("serve",), file.serve)
    for name, variant in file.variants.items():
        check_command(source, ("variants", name, "serve"), variant.serve or ())
    if file.ready is not None:
        require_names(source, ("ready", "path"), file.ready.path, contract.paths)
    return contract


def _check_database(source: Source, database: CompiledDatabase | None) -> None:
    """Hold what a server has compiled in against what a file of hosts, and PostgreSQL, can have."""
    if database is None:
        return
    if not HOST.fullmatch(database.host):
        raise source.error(("database", "host"), f"`database.host` is `{database.host}` in", "write a name of `/etc/hosts`")
    if not 1 <= database.port <= 65535:
        raise source.error(("database", "port"), f"`database.port` is {database.port} in", "write a number from 1 to 65535")
    for key in ("name", "user"):
        text = getattr(database, key)
        if not IDENTIFIER.fullmatch(text) or text.startswith(TAKEN):
            hint = "write letters, digits, - and _, and no name of PostgreSQL or the lab"
            raise source.error(("database", key), f"`database.{key}` is `{text}` in", hint)


def _check_commands(source: Source, file: _ServerFile) -> None:
    require_command(source, ("version",), file.version)
    require_command(source, ("serve",), file.serve)
    for key in ("needs", "build"):
        for i, words in enumerate(getattr(file, key)):
            require_command(source, (key, i), words)


# ---------------------------------------------------------------- suites


def load_suite(path: Path, profile: str | None = None, machine: Seats | None = None, seats: str | None = None) -> Suite:
    """Read one suite. A `[[group]]` inherits each key that it lacks from the top of the file.

    With a `profile`, that table's keys stand in for the file's, and groups that name other profiles are left out. `machine`: its
    seats where roles sit apart; None: roles share the machine. `seats` is what a person says in place of the file's key.
    """
    source = files.read(path, depth=2)
    file = _profiled(source, source.parse(SuiteFile), profile)
    for key in ("title", "about"):
        source.require_text((key,), getattr(file, key))
    if file.anchor is not None:
        source.require_text(("anchor",), file.anchor)
    _check_blocks(source, ("blocks",), file.blocks)
    if file.turns_s is not None:
        _parsed(source, ("turns_s",), numbers.turns, "turns_s =", file.turns_s)
    here: list[tuple[Location, GroupTable]] = [(("group", i), group) for i, group in enumerate(file.group)] or [((), file)]
    chosen = [one for one in here if profile is None or one[1].only is None or profile in one[1].only]
    groups = tuple(made for one in chosen for made in _seated(source, *one, file, machine, seats))
    return Suite(
        path.stem, file.title, file.about.strip(), file.blocks, file.seed, groups, anchor=file.anchor, controls=file.controls,
        turns_s=file.turns_s, load=_usual(source, file), settings=(file.settings or conditions.SettingsTable()).settings(),
        **published.read(source, file, profile),
    )  # fmt: skip


def _check_blocks(source: Source, place: Location, blocks: int) -> None:
    if blocks < 1:
        raise source.error(place, "`blocks` is below 1 in", "each block measures every cell once")
    if blocks > numbers.MOST_REPEATS:
        raise source.error(place, f"`blocks` is above {numbers.MOST_REPEATS:,} in", "a budget ends sooner: --budget 1h")


def _usual(source: Source, file: SuiteFile) -> Load:
    """The load that the file gives to groups that say nothing; how many connections it has is for them to say."""
    own = {key.name: getattr(file, key.name) for key in fields(GroupTable)}
    return Load(**_shape(source, own, {key: (key,) for key in own}))


def _profiled(source: Source, file: SuiteFile, profile: str | None) -> SuiteFile:
    if profile is None:
        return file
    if profile not in file.profiles:
        hint = names_hint(file.profiles, "profiles") if file.profiles else "leave `--profile` out"
        raise LabError(f"the suite `{source.shown}` has no profile `{profile}`", hint)
    chosen = file.profiles[profile]
    return replace(file, **{key.name: value for key in fields(chosen) if (value := getattr(chosen, key.name)) is not None})


def _seated(
    source: Source, location: Location, table: GroupTable, file: SuiteFile, machine: Seats | None, said: str | None
) -> tuple[SuiteGroup, ...]:
    """A group in its seats, once for each version of PostgreSQL that it names."""
    group, settings = _group(source, location, table, file), table.settings or file.settings
    text = said or table.seats or file.seats
    if text is not None:
        try:
            seating.parse("--seats", text)
        except LabError as error:
            if said is not None:
                raise
            here: Location = (*location, "seats") if table.seats is not None else ("seats",)
            raise source.error(here, f"`seats` is `{text}` in", f"write {error.hint}") from error
    threads = table.threads if table.threads is not None else file.threads
    wish = seating.Wish(text, settings is not None and settings.workers is not None, threads is not None)
    return conditions.on_versions(seating.group(group, wish, machine), _versions(source, location, table, file))


def _versions(source: Source, location: Location, table: GroupTable, file: SuiteFile) -> tuple[int | None, ...]:
    """The versions of PostgreSQL that a group names; None where nothing does."""
    key, owner = "postgres_versions", (table, location) if table.postgres_versions is not None else (file, ())
    if (said := owner[0].postgres_versions) is None:
        return (None,)
    versions: tuple[int | None, ...] = _parsed(source, (*owner[1], key), numbers.majors, key, ",".join(said))
    return versions


def _group(source: Source, location: Location, group: GroupTable, file: SuiteFile) -> SuiteGroup:
    owner = {key.name: group if getattr(group, key.name) is not None else file for key in fields(GroupTable)}
    merged = {key: getattr(table, key) for key, table in owner.items()}
    place = {key: (*location, key) if table is group else (key,) for key, table in owner.items()}
    for key in ("stacks", "workloads", "connections"):
        if not merged[key]:
            missing = place[key] if merged[key] is not None else (*location, key)
            raise source.error(missing, f"`{key}` is missing or empty in", f"give `{key}` a list, here or at the top")
    if merged["stages"] and group.window_s is not None:
        raise source.error((*location, "window_s"), "`stages` and `window_s` exclude each other in", "stages make the window")
    if min(merged["connections"]) < 1:
        raise source.error(place["connections"], "`connections` has a number below 1 in", "write at least `[1]`")
    _check_blocks(source, place["blocks"], merged["blocks"])
    shortest, longest = merged["warmup"] or (Load.warmup_min_s, Load.warmup_max_s)
    if not 0 <= shortest <= longest:
        raise source.error(place["warmup"], "`warmup` is not a range in", "write `[shortest, longest]` in seconds")
    settings = (merged["settings"] or conditions.SettingsTable()).settings()
    for key, wrong, hint in conditions.mistakes(settings):
        raise source.error((*place["settings"], key), f"`settings.{key}` {wrong} in", hint)
    given = _shape(source, merged, place) | {"warmup_min_s": shortest, "warmup_max_s": longest}
    wrongs = _each(source, merged, place, "faults", faults.parse)
    loads = tuple(Load(count, fault=fault, **given) for count in merged["connections"] for fault in wrongs)
    for load in loads:
        if (found := faults.wrong(load)) is not None:
            raise source.error(place["faults"], f"`faults`: {found[0]}, in", found[1])
    return SuiteGroup(
        merged["stacks"], merged["workloads"], loads, settings, _topologies(source, merged, place), merged["contract"],
        blocks=None if group is file else group.blocks,
    )  # fmt: skip


def _shape(source: Source, merged: Mapping[str, Any], place: Mapping[str, Location]) -> dict[str, Any]:
    """Read what a group says of its load, apart from connections and warm-up. Numbers and words have an option's bounds."""
    for one in (*options.LOADS, *options.HOPS):
        if one.key is not None and isinstance(merged[one.key], int | float | str):
            _parsed(source, place[one.key], one.parse, f"{one.key} =", merged[one.key])
    for key, wrong, hint in conditions.load_mistakes(merged):
        raise source.error(place[key], f"`{key}` {wrong} in", hint)
    given = {key: merged[key] for key in options.OF_A_LOAD if merged[key] is not None}
    if merged["stages"]:
        given["window_s"] = sum(seconds for seconds, _ in merged["stages"])
    return given | {"model": Load.model if merged["rate_per_s"] is None else "open"}


def _each(source: Source, merged: Mapping[str, Any], place: Mapping[str, Location], key: str, parse: options.Parse) -> list[Any]:
    """Parse the texts of a key into one value for each load or path; `[None]` where nothing is said."""
    return list(_parsed(source, place[key], parse, key, ",".join(merged[key] or ())))


def _parsed(source: Source, place: Location, parse: options.Parse, spelling: str, said: object) -> Any:
    """Parse what a key says as an option's value. LabError with the file and the line for what cannot be meant."""
    try:
        return parse(spelling, said)
    except LabError as error:
        raise source.error(place, f"{error.message}, in", error.hint or "leave it out") from error


def _topologies(source: Source, merged: Mapping[str, Any], place: Mapping[str, Location]) -> tuple[Topology, ...]:
    for key, there in (("proxies", PROXIES), ("poolers", POOLERS)):
        for name in merged[key] or ():
            if name not in (conditions.NONE, *there):
                hint = nearest(name, (conditions.NONE, *there), key)
                raise source.error(place[key], f"there is no `{name}` for `{key}` in", hint)
    return conditions.topologies(
        merged["proxies"] or (),
        merged["poolers"] or (),
        size=merged["pooler_size"],
        clients=merged["pooler_clients"],
        wires=_each(source, merged, place, "wires", wires.parse),
    )


def stacks_of(slots: Iterable[PlanSlot], servers: Sequence[Server]) -> list[Stack]:
    """The stacks of these slots, of all that there are."""
    named = {slot.cell.stack for slot in slots}
    return [stack for server in servers for stack in server.stacks if stack.id in named]
