"""The command line: the only part of the lab that prints, reads arguments or the environment, or exits."""

from __future__ import annotations

import io
import os
import signal
import sys
from typing import Any

from fairground.cli import door

INTERRUPTED, OUR_FAULT = 130, 70
HELPS = frozenset({"--help", "-h"})
"""Words of a command that only shows a text."""
COMPLETES = "_FAIRGROUND_COMPLETE"
"""The variable with which a shell asks what may be typed next."""


def main() -> None:
    """Run one verb and exit with its code: see `EXIT_CODES` in `cli.verbs`."""
    _take_signals()
    _replace_what_cannot_be_shown()
    door.rename()
    try:
        if COMPLETES in os.environ:
            _complete()
        if sys.argv[1:] and not HELPS & set(door.own_words()):
            from fairground.cli import typed  # it loads the model, which a help does not need

            typed.conceal()
        from fairground.cli.verbs import app

        sys.exit(app(sys.argv[1:] or ["--help"], prog_name="fairground", standalone_mode=False) or 0)
    except SystemExit:
        raise  # an exit is no error, and asking which error it is would load the model
    except _lab_error() as error:
        _complain(error.message, error.hint)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except OSError as error:
        _refused(error)
    except Exception as error:
        _foreign(error)


def _replace_what_cannot_be_shown() -> None:
    """Let no letter end a verb: where the terminal's encoding lacks one, a question mark stands for it."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _complete() -> None:
    """Answer a shell that completes a word, and exit. One that is not known here is left to the argument parser."""
    from fairground.cli import completion

    if (answer := completion.answer(os.environ[COMPLETES], os.environ)) is not None:
        if answer.text:
            print(answer.text)
        sys.exit(answer.exit_code)


def _lab_error() -> Any:
    """The class of errors for persons. It is looked up when something was raised, so that a help does not load the model."""
    from fairground.model import LabError

    return LabError


def _take_signals() -> None:
    """End a verb as Ctrl-C does when it is told to end, or its terminal closes; `nohup` has asked that the latter ends none."""
    signal.signal(signal.SIGTERM, _interrupt)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _interrupt)


def _interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def _complain(message: str, hint: str | None) -> None:
    from fairground.model import foreign, secret

    print(f"error: {foreign.line(secret.redact(message))}", file=sys.stderr)
    if hint:
        print(f"\nhint: {foreign.clean(secret.redact(hint))}", file=sys.stderr)


def _refused(error: OSError) -> None:
    """Exit after the machine refused something, with exit code 3 if the error is known as one of the machine.

    Any other error is a fault of our own.
    """
    from fairground.model import of_machine

    found = of_machine(error, "standard output")
    if found is None:
        _foreign(error)
    else:
        _complain(found.message, found.hint)
        sys.exit(found.exit_code)


def _foreign(error: Exception) -> None:
    """A usage error of the argument parser (exit code 2), or a fault of our own, whose traceback is saved."""
    code = getattr(error, "exit_code", None)
    if isinstance(code, int):
        if hasattr(error, "format_message"):
            path = "fairground" if getattr(error, "ctx", None) is None else error.ctx.command_path  # type: ignore[attr-defined]
            _misused(path, error)
            sys.exit(2)
        sys.exit(code)
    import tempfile
    import traceback

    from fairground.model import secret
    from fairground.model.known import KNOWN

    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", errors="replace", prefix="fairground-", suffix=".log", delete=False
    ) as log:
        log.write(KNOWN.scrub(secret.redact(traceback.format_exc())))
    _complain(
        f"a fault of the lab itself: {type(error).__name__}: {error}", f"the traceback is in {log.name}; finished trials are kept"
    )
    sys.exit(OUR_FAULT)


NUMBERS = (
    ("Input should be a valid integer, unable to parse string as an integer", "it should be a whole number"),
    ("Input should be a valid number, unable to parse string as a number", "it should be a number"),
)
"""What the argument parser's library says of a number → our words."""


def _misused(path: str, error: Any) -> None:
    """A usage error, in the parser's words but for two: an option with a mistake in it, and a URL where none is taken.

    Who gives a URL has a service, and no stack.
    """
    if hasattr(error, "possibilities"):
        import difflib

        near = difflib.get_close_matches(error.option_name, error.possibilities or (), n=1)
        meant = f"did you mean `{near[0]}`? All of them: " if near else ""
        _complain(f"there is no option `{error.option_name}`", f"{meant}./{path} --help")
        return
    if type(error).__name__ == "NoArgsIsHelpError":  # its message is the whole help
        _complain(f"`{path}` needs a word that says what to do", f"./{path} --help")
        return
    sentence = _lower(error.format_message())
    for of_library, meant in NUMBERS:
        sentence = sentence.replace(of_library, meant)
    _, _, named = sentence.partition("unexpected extra argument(s) (")
    url = named.partition(" ")[0].rstrip(")")
    if url.startswith(("http://", "https://")):
        _complain(
            f"`{path.rpartition(' ')[2]}` takes no URL, and `{url}` is one",
            f"a service without a contract: ./fairground try {url}",
        )
    else:
        _complain(sentence, f"./{path} --help")


def _lower(sentence: str) -> str:
    return (sentence[:1].lower() + sentence[1:]).rstrip(".")
