"""The text of a `server.toml` that is made of a framework's test: keys and commands, and as comments what was not taken over."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict

from fairground.inputs.frameworks import FrameworkTest, ImportRules
from fairground.inputs.recipe import Recipe, Remark
from fairground.inputs.toml_text import text_of, value_of
from fairground.model import foreign
from fairground.model.contract import CompiledDatabase, Contract


def write(
    contract: Contract, rules: ImportRules, test: FrameworkTest, recipe: Recipe, compiled: CompiledDatabase | None
) -> tuple[str, list[Remark]]:
    """Write the manifest of a test; and all that was not taken over, which it has as comments."""
    paths, remarks = _paths(contract, rules, test)
    remarks = [*remarks, *recipe.remarks]
    skip = {name: "the framework has no such test" for name in dict.fromkeys(rules.paths.values()) if name not in paths}
    ready = contract.ready.path.removeprefix("$")
    needs = [list(one) for one in recipe.needs]
    port = test.keys.get("port")
    if not isinstance(port, int) or isinstance(port, bool) or not 1 <= port <= 65535:
        remarks.append(Remark(rules.config, None, f"`port` of `{test.name}` is {port!r}, so the lab chooses one"))
        port = None
    told = {} if test.database == "none" else dict(rules.environment)
    told |= {key: rules.tell(value) for key, value in recipe.environment.items()}
    lines = [
        *(f"# Not taken over: {foreign.line(str(one))}" for one in remarks),
        f"title    = {text_of(test.text('display_name') or test.id)}",
        f"language = {text_of(test.text('language') or 'unknown')}",
        f"homepage = {text_of(contract.source or 'unknown')}",
        f"about    = {text_of(f'The test `{test.name}` of {test.framework}, from {rules.config} and {test.dockerfile}.')}",
        f"contract = {text_of(contract.id)}",
        *([f"port     = {port}"] if port is not None else []),
        f"needs    = {value_of(needs)}",
        "build    = [",
        *(f"    {value_of(one)}," for one in recipe.build),
        "]",
        f"version  = {value_of(needs[0] if needs else ['echo', f'from the image {recipe.image}'])}",
        f"serve    = {value_of(recipe.serve or ())}",
        *_table("paths", paths),
        *(
            []
            if ready in paths or not paths
            else ["", "[ready]", f"path   = {text_of(next(iter(paths.values())))}", "status = 200"]
        ),
        "",
        "[environment]",
        *(f"{key} = {text_of(value)}" for key, value in told.items()),
        *(
            ["", "[database]", *(f"{key} = {value_of(value)}" for key, value in asdict(compiled).items())]
            if compiled is not None
            else []
        ),
        *_table("skip", skip),
        "",
        f"[variants.{_variant(test)}]",
        f"about    = {text_of(_about(test))}",
        'approach = "tuned"',
        'tuning   = [{ what = "as its authors wrote it", '
        'why = "it was made for another benchmark, and nobody reviewed it", source = "none" }]',
    ]
    return "\n".join(lines) + "\n", remarks


def _paths(contract: Contract, rules: ImportRules, test: FrameworkTest) -> tuple[dict[str, str], list[Remark]]:
    """The paths of a test by their names, in the contract's order; and keys that are no path of the contract."""
    found, remarks = dict[str, str](), list[Remark]()
    for key, value in test.keys.items():
        if not key.endswith("_url"):
            continue
        if key not in rules.paths:
            remarks.append(Remark(rules.config, None, f"`{key}` of `{test.name}`: the contract has no such workload"))
        elif not isinstance(value, str) or not value.startswith("/"):
            remarks.append(Remark(rules.config, None, f"`{key}` of `{test.name}` is `{value}`, which is no path"))
        else:
            found[rules.paths[key]] = value
    return {name: found[name] for name in contract.paths if name in found}, remarks


def _variant(test: FrameworkTest) -> str:
    return re.sub(r"[^a-z0-9]+", "-", test.text("orm").lower()).strip("-") or "default"


def _about(test: FrameworkTest) -> str:
    said = {key: test.text(key) for key in ("approach", "classification", "orm", "platform", "webserver")}
    return ", ".join(f"{key} {value}" for key, value in said.items() if value and value.lower() != "none") or "its only variant"


def _table(name: str, values: Mapping[str, str]) -> list[str]:
    return ["", f"[{name}]", *(f"{key} = {text_of(value)}" for key, value in values.items())] if values else []
