"""Make the signature of a verb, which the command line's parser reads, from the table of options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Sequence
from typing import Annotated, Any, get_args

import typer

from fairground.inputs import files, numbers
from fairground.inputs.options import SHARED, Given, Option
from fairground.model import LabError, secret
from fairground.model.known import KNOWN

Verb = Callable[[typer.Context, Given], None]


def takes(*options: Option) -> Callable[[Verb], Callable[..., None]]:
    """Make a function of a context and what is given into a verb with these options, in this order."""

    def wrap(verb: Verb) -> Callable[..., None]:
        def call(context: typer.Context, **given: Any) -> None:
            lists = [one for one in options if one.separated and given[one.name]]
            told = {
                one.name: files.text_of(one.spelling, given[one.name]).strip() for one in options if one.told and given[one.name]
            }
            KNOWN.remember(*secret.secrets_of(list(told.values())))
            verb(context, given | told | {one.name: numbers.split_names(one.spelling, given[one.name]) for one in lists})

        context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
        return _shaped(call, verb, [context, *_parameters(options)])

    return wrap


def options_of(context: typer.Context) -> dict[str, str]:
    """Name → spelling of the options that stand on the command line. Of arguments, those that were given stand there."""
    found = {}
    for one in context.command.params:
        name, source = str(one.name), context.get_parameter_source(str(one.name))
        if source is not None and source.name == "COMMANDLINE" and context.params.get(name) not in (None, (), []):
            found[name] = (one.metavar or name.upper()).strip("[].") if one.param_type_name == "argument" else one.opts[0]
    return found


def is_typed(context: typer.Context, *names: str) -> bool:
    """True if one of these options stands on the command line."""
    return not options_of(context).keys().isdisjoint(names)


def refuse_beside_resume(context: typer.Context, may: Collection[str], noun: str) -> None:
    """LabError for an option that says what a new one is: what goes on is measured as it began.

    `may`: the names of those that are no part of it, beside those of every verb.
    """
    refuse_others(context, {"resume", *may}, f"goes with a new {noun}, and `--resume` goes on with one")


def refuse_others(context: typer.Context, may: Collection[str], why: str) -> None:
    """LabError for an option on the command line that would be passed over. `may`: those that say something here."""
    everywhere = {one.name for one in SHARED}
    for name, spelling in options_of(context).items():
        if name not in everywhere and name not in may:
            raise LabError(f"`{spelling}` {why}", "leave it out")


def _shaped(call: Callable[..., None], verb: Verb, parameters: Sequence[inspect.Parameter]) -> Callable[..., None]:
    """A function under a verb's name and text, with these parameters."""
    setattr(call, "__signature__", inspect.Signature(parameters))  # noqa: B010  (no attribute that mypy knows)
    call.__annotations__ = {one.name: one.annotation for one in parameters}
    call.__doc__, call.__name__ = verb.__doc__, verb.__name__
    return call


def _parameters(options: Sequence[Option]) -> list[inspect.Parameter]:
    kind = inspect.Parameter.KEYWORD_ONLY
    return [inspect.Parameter(one.name, kind, default=_default(one), annotation=_annotation(one)) for one in options]


def _default(option: Option) -> object:
    return inspect.Parameter.empty if option.default is ... else option.default


def _annotation(option: Option) -> Any:
    if option.argument:
        return Annotated[option.kind, typer.Argument(metavar=option.metavar, help=option.help)]
    # A flag that may be left open has a second spelling, `--no-…`, which the parser makes where none is told.
    spellings = () if option.kind == bool | None else (option.spelling, *([option.short] if option.short else []))
    metavar = "<seconds>" if option.kind is numbers.Seconds else option.metavar
    return Annotated[option.kind, typer.Option(*spellings, metavar=metavar, help=option.help, parser=_parser(option))]


def _parser(option: Option) -> Callable[[Any], Any] | None:
    """Return the function that reads a number and reports a wrong one in the lab's words.

    None: the command line's parser knows the kind.
    """
    kind, *_ = get_args(option.kind) or (option.kind,)
    parse = {int: numbers.whole, float: numbers.number, numbers.Seconds: numbers.time_s}.get(kind)
    if parse is None:
        return None

    def parser(typed: Any) -> Any:
        return parse(option.spelling, typed) if isinstance(typed, str) else typed

    parser.__name__ = "seconds" if kind is numbers.Seconds else kind.__name__
    return parser
