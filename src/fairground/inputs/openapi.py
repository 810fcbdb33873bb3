"""An OpenAPI document (2.0 to 3.1), as far as a contract can be begun from it: what each GET asks, and what answers it.

What the document does not say is a mark: a sentence for the person who decides it.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from fairground.inputs import files
from fairground.inputs.answer_shapes import Shapes
from fairground.inputs.parameters import Parameter, SentValue, sent_value
from fairground.model import LabError, foreign

YAML = f"{shlex.quote(sys.executable)} -m pip install pyyaml, or make it JSON: npx js-yaml FILE > FILE.json"
OF_A_PATH = "/:@!&'()*+,;=~-._"
"""Characters that stand for themselves in a path."""
PATH_OF_URL = re.compile(r"(?:[A-Za-z][\w+.-]*:)?(?://[^/?#]*)?([^?#]*)")
"""Reads a path, whatever stands in the place of the host: `[your-domain]` is no address."""
BOOLEAN = "tag:yaml.org,2002:bool"
MOST_NAME = 80
NO_BODY = (204, 205)
"""Statuses of good answers that have no body; redirects need none."""
METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")


@dataclass(frozen=True)
class OpenQuestion:
    """One GET of a document. `path` has slots, and `example` one value for each. `body` None: nothing can be said of it."""

    id: str
    operation: str
    """As the document writes it: `GET /pets/{id}`."""
    title: str
    about: str
    path: str
    example: str
    headers: Mapping[str, str]
    status: int
    content_types: tuple[str, ...]
    body: Mapping[str, object] | None
    marks: tuple[str, ...] = ()
    """What of the request must be decided."""
    answer_marks: tuple[str, ...] = ()
    """What of the answer must be decided."""
    others: tuple[str, ...] = ()
    """Parameters that may be left out, and are."""


@dataclass(frozen=True)
class OpenDocument:
    """All that was read of a document. `base`: the path before all others; `left_out`: operations of which nothing is asked."""

    name: str
    title: str
    base: str
    questions: tuple[OpenQuestion, ...]
    left_out: tuple[str, ...]


def read_document(path: Path) -> OpenDocument:
    """Read a document from a file of JSON or YAML. LabError where it is none."""
    source = files.read(path, 1)
    root = _parsed(path, source.text)
    if not isinstance(root, Mapping) or not ({"openapi", "swagger"} & root.keys()) or not isinstance(root.get("paths"), Mapping):
        raise LabError(f"`{path}` is no OpenAPI document", "one has the keys `openapi` (or `swagger`) and `paths`")
    return _Reader(path.name, root).document()


def _parsed(path: Path, text: str) -> Any:
    begins = text.lstrip()[:1]
    try:
        if begins == "{":
            return json.loads(text)
    except ValueError as error:
        if path.suffix == ".json":
            raise LabError(f"`{path}` is not JSON: {error}", "fix the syntax at that place") from None
    try:
        import yaml
    except ImportError:
        raise LabError(f"`{path}` is no JSON, and reading YAML needs the package pyyaml, which is not here", YAML) from None
    try:
        # What YAML takes for a date is a text of the document.
        return yaml.load(text, Loader=_loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    except (yaml.YAMLError, RecursionError) as error:
        raise LabError(
            f"`{path}` is neither JSON nor YAML: {foreign.line(str(error), 200)}", "fix the syntax at that place"
        ) from None


def _loader(usual: Any) -> Any:
    """The loader for which `NO` and `on` are texts, as they are to YAML 1.2 and to whoever lists countries."""
    resolvers = {
        letter: [one for one in found if one[0] != BOOLEAN or letter in "tTfF"]
        for letter, found in usual.yaml_implicit_resolvers.items()
    }
    return type("Loader", (usual,), {"yaml_implicit_resolvers": resolvers})


@dataclass
class _Reader:
    """A document while it is read."""

    name: str
    root: Mapping[str, Any]
    left_out: list[str] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)

    def document(self) -> OpenDocument:
        self.shapes = Shapes(self.root)
        questions, others = list[OpenQuestion](), 0
        for path, item in self.root["paths"].items():
            item = self.shapes.resolve(item)
            if (file := _other_file(item)) is not None:
                self.left_out.append(f"{foreign.line(str(path), 120)}: {file}; bundle all into one document")
            others += sum(method in item for method in METHODS if method != "get")
            if isinstance(item.get("get"), Mapping) and str(path).startswith("/"):
                questions.append(self._question(str(path), item, item["get"]))
        info = self.root.get("info")
        title = foreign.line(str(info.get("title") or ""), 80) if isinstance(info, Mapping) else ""
        if others:
            self.left_out.append(f"other methods than GET ({others}): say in workloads of your own what they write")
        return OpenDocument(self.name, title, self._base(), tuple(questions), tuple(self.left_out))

    def _base(self) -> str:
        """The path before all others, empty where there is none."""
        if "swagger" in self.root:
            text = str(self.root.get("basePath") or "")
        else:
            servers = self.root.get("servers")
            first = servers[0] if isinstance(servers, Sequence) and servers and isinstance(servers[0], Mapping) else {}
            text = str(first.get("url") or "")
            known = first.get("variables") if isinstance(first.get("variables"), Mapping) else {}
            for name, variable in (known or {}).items():
                text = text.replace(f"{{{name}}}", str(variable.get("default", "")) if isinstance(variable, Mapping) else "")
        found = PATH_OF_URL.match(text.strip())
        path = found[1].rstrip("/") if found is not None and "{" not in text else ""
        return f"/{quote(unquote(path).lstrip('/'), safe=OF_A_PATH)}" if path else ""

    def _question(self, path: str, item: Mapping[str, Any], operation: Mapping[str, Any]) -> OpenQuestion:
        told = f"GET {foreign.line(path, 120)}"
        status, answer, marks = self._answer(operation)
        types, body, more = self._body(operation, status, answer)
        parameters, unread = self._parameters(item, operation)
        request = _Request.of(path, parameters)
        headers = {"accept": types[0]} if types else {}
        about = operation.get("description") or operation.get("summary") or told
        title = foreign.line(str(operation.get("summary") or told), 100).rstrip(".")
        return OpenQuestion(
            self._id(path, operation), told, title or told, foreign.line(str(about), 400) or told, request.path, request.example,
            {**headers, **request.headers}, status, types, body, (*request.marks, *unread, *self._asked_for(operation)),
            (*marks, *more), request.others,
        )  # fmt: skip

    def _id(self, path: str, operation: Mapping[str, Any]) -> str:
        text = str(operation.get("operationId") or path)
        words = re.sub(r"([a-z0-9])([A-Z])", r"\1-\2", text).lower()
        name = re.sub(r"[^a-z0-9]+", "-", words).strip("-")[:MOST_NAME].strip("-") or "root"
        name = f"get-{name}" if name == "all" else name
        number, chosen = 2, name
        while chosen in self.taken:
            chosen, number = f"{name}-{number}", number + 1
        self.taken.add(chosen)
        return chosen

    def _parameters(self, item: Mapping[str, Any], operation: Mapping[str, Any]) -> tuple[list[Parameter], list[str]]:
        """The parameters of an operation, its own in place of those of its path; and a mark for each of another file."""
        found, marks = dict[tuple[str, str], Parameter](), list[str]()
        for one in (*_listed(item, "parameters"), *_listed(operation, "parameters")):
            table = self.shapes.resolve(one)
            if (file := _other_file(table)) is not None:
                marks.append(f"a parameter that is not known: {file}")
                continue
            schema = table.get("schema")
            if schema is None and isinstance(table.get("content"), Mapping):
                schema = {}
            parameter = Parameter.of(table, self.shapes.merge(table if schema is None else schema))
            found[parameter.place, parameter.name] = parameter
        return list(found.values()), marks

    def _answer(self, operation: Mapping[str, Any]) -> tuple[int, Mapping[str, Any], tuple[str, ...]]:
        """The status and the table of a good answer, and marks."""
        known = operation.get("responses")
        answers = {str(key): self.shapes.resolve(one) for key, one in known.items()} if isinstance(known, Mapping) else {}
        for code in sorted(answers):
            if re.fullmatch(r"[23]\d\d", code):
                return int(code), answers[code], ()
        for code in ("2XX", "2xx", "default"):
            if code in answers:
                return 200, answers[code], (f"the status of a good answer: the document says `{code}`",)
        return 200, {}, ("the status of a good answer: the document has none",)

    def _body(
        self, operation: Mapping[str, Any], status: int, answer: Mapping[str, Any]
    ) -> tuple[tuple[str, ...], Mapping[str, object] | None, tuple[str, ...]]:
        """Content types and shape of a good answer, and marks."""
        content = answer.get("content")
        if isinstance(content, Mapping):
            tables = {str(key): one if isinstance(one, Mapping) else {} for key, one in content.items()}
        else:  # version 2.0
            produced = _listed(operation, "produces") or _listed(self.root, "produces")
            schema = {"schema": answer["schema"]} if isinstance(answer.get("schema"), Mapping) else {}
            tables = {str(key): schema for key in (produced or (["application/json"] if schema else []))}
        ordered = sorted(tables, key=lambda one: (not _is_json(one), "*" in one))
        if status in NO_BODY or 300 <= status < 400:
            return (), None, ()
        if not ordered or "*" in ordered[0]:
            why = _other_file(answer) or "the document has none"
            return (), None, (f"content type and body of a good answer: {why}, so nothing is held against them",)
        kind = ordered[0]
        if not _is_json(kind):
            return _spellings(kind), None, (f"what is right of a body of {foreign.line(kind, 60)}: nothing is held against it",)
        body = self.shapes.body(tables[kind].get("schema"))
        if body is None:
            of = (
                f", since {file}"
                if (file := _other_file(tables[kind].get("schema")))
                else " that is neither an object nor a list"
            )
            return _spellings(kind), None, (f"what is right of a body{of}: nothing is held against it",)
        return _spellings(kind), body, ()

    def _asked_for(self, operation: Mapping[str, Any]) -> Iterator[str]:
        """A mark for the login that an operation asks for."""
        wanted = operation["security"] if "security" in operation else self.root.get("security")
        wanted = [one for one in wanted if isinstance(one, Mapping)] if isinstance(wanted, Sequence) else []
        if not wanted or any(not one for one in wanted):
            return
        components = self.root.get("components")
        home = components.get("securitySchemes") if isinstance(components, Mapping) else self.root.get("securityDefinitions")
        schemes = home if isinstance(home, Mapping) else {}
        words = (" and ".join(_scheme(str(name), self.shapes.resolve(schemes.get(name))) for name in one) for one in wanted)
        yield f"it asks for {' or '.join(words)}: write into `headers` what a test client sends"


@dataclass
class _Request:
    """A request while it is put together."""

    path: str = ""
    example: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    marks: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    @classmethod
    def of(cls, path: str, parameters: Sequence[Parameter]) -> _Request:
        """The request of these parameters."""
        made = cls()
        named = {one.name: one for one in parameters if one.place == "path"}
        for number, piece in enumerate(re.split(r"\{([^{}]+)\}", path)):
            if number % 2:
                made._add(sent_value(named.get(piece) or Parameter(piece, "path", True, {}, None)))
            else:
                text = quote(unquote(piece), safe=OF_A_PATH)
                made.path, made.example = made.path + text, made.example + text
        join = "&" if "?" in made.path else "?"
        for one in parameters:
            if one.place == "query" and one.is_needed:
                made.path, made.example = (f"{text}{join}{quote(one.name, safe='[]-._~')}=" for text in (made.path, made.example))
                made._add(sent_value(one))
                join = "&"
            elif one.place in ("query", "header") and not one.is_needed:
                made.others += (one.words,)
            elif one.place in ("header", "cookie"):
                value = sent_value(one)
                name = one.name.lower() if one.place == "header" else "cookie"
                if name not in ("accept", "content-type", "authorization"):
                    cookies = [made.headers[name]] if name in made.headers and one.place == "cookie" else []
                    made.headers[name] = (
                        value.plain if one.place == "header" else "; ".join([*cookies, f"{one.name}={value.plain}"])
                    )
                    made.marks += value.marks
        return made

    def _add(self, value: SentValue) -> None:
        self.path += value.slot
        self.example += value.example
        self.marks += value.marks


def _other_file(node: object) -> str | None:
    """Say of a reference to another file that it is one; None for anything else."""
    reference = node.get("$ref") if isinstance(node, Mapping) else None
    if not isinstance(reference, str) or reference.startswith("#"):
        return None
    return f"its `$ref` {foreign.line(reference, 120)} is another file"


def _listed(table: Mapping[str, Any], key: str) -> list[Any]:
    found = table.get(key)
    return list(found) if isinstance(found, list | tuple) else []


def _is_json(content_type: str) -> bool:
    kind = content_type.partition(";")[0].strip().lower()
    return kind == "application/json" or kind.endswith("+json")


def _spellings(content_type: str) -> tuple[str, ...]:
    """The forms in which servers write a content type; upper and lower case are one."""
    kind = foreign.line(content_type, 100).strip()
    bare = kind.partition(";")[0].strip()
    if not (_is_json(bare) or bare.startswith("text/")):
        return (kind,)
    return tuple(dict.fromkeys((bare, kind, f"{bare}; charset=utf-8", f"{bare};charset=utf-8")))


def _scheme(name: str, table: Mapping[str, Any]) -> str:
    shown = f"`{foreign.line(name, 60)}`"
    match table.get("type"):
        case "apiKey":
            where = foreign.line(str(table.get("in") or "header"), 20)
            return f"{shown} (a key in the {where} `{foreign.line(str(table.get('name') or ''), 60)}`)"
        case "http":
            return f"{shown} (the header `authorization`, scheme {foreign.line(str(table.get('scheme') or 'basic'), 20)})"
        case None:
            return shown
    return f"{shown} ({foreign.line(str(table.get('type')), 30)})"
