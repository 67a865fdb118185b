"""The decorator of all commands: ``--json``, ``--traceback``, groups of flags, errors, and help with examples."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from traceback import format_exception
from typing import Annotated, Any, get_type_hints

import typer

import discreet
from discreet.cli.error_messages import (
    FAILED,
    INTERRUPTED,
    Flags,
    charges,
    command_flags,
    exit_code,
    message_for,
    replace_by_flags,
)
from discreet.cli.options import FlagGroup
from discreet.cli.printing import CommandOutput, note, show
from discreet.ledger.unanswered import answering

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
Traceback = Annotated[
    bool,
    typer.Option("--traceback", help="Show where an error came from. It may show rows: only on data you may show."),
]

LIBRARY = Path(discreet.__file__).parent

Command = Callable[..., CommandOutput]


def command(*examples: str, table: str = "") -> Callable[[Command], Callable[..., None]]:
    """Return a decorator that turns a function which returns a ``CommandOutput`` into a command.

    A parameter of the function that is annotated with a ``FlagGroup`` stands for all flags of that group.

    Parameters
    ----------
    *examples : str
        Command lines that run as they are, for the help.
    table : str
        Preformatted lines that the help shows before them.
    """

    def decorated(ask: Command) -> Callable[..., None]:
        @wraps(ask)
        def run(*, as_json: bool, traceback: bool, context: Any = None, **arguments: Any) -> None:
            flags = {} if context is None else command_flags(context.command.params)
            code = _run(ask, arguments, flags, traceback, as_json)
            if code:
                raise typer.Exit(code)

        flags = _parameters(ask)
        flags |= {"as_json": (Json, False), "traceback": (Traceback, False), "context": (typer.Context, None)}
        run.__annotations__ = {name: hint for name, (hint, _) in flags.items()}
        run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [
                inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)
                for name, (hint, default) in flags.items()
            ]
        )
        run.__doc__ = _help(ask, examples, table)
        del run.__wrapped__  # the signature is this one's own
        return run

    return decorated


def _parameters(ask: Callable[..., Any]) -> dict[str, tuple[Any, Any]]:
    """Return the type and the default of each flag of a function, those of a group in the place of the group."""
    hints = get_type_hints(ask, include_extras=True)
    result: dict[str, tuple[Any, Any]] = {}
    for name, parameter in inspect.signature(ask).parameters.items():
        group = hints[name]
        if isinstance(group, type) and issubclass(group, FlagGroup):
            result |= _parameters(group)
        else:
            result[name] = (group, parameter.default)
    return result


def _with_groups(ask: Command, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a function, with the flags of each group collected into the group."""
    result = dict(arguments)
    for name, group in get_type_hints(ask).items():
        if isinstance(group, type) and issubclass(group, FlagGroup):
            result[name] = group(**{flag: result.pop(flag) for flag in _parameters(group)})
    return result


def _help(ask: Command, examples: tuple[str, ...], table: str) -> str:
    # The mark \b keeps line breaks.
    shown = "\n".join(f"  {line}" for line in examples)
    text = inspect.cleandoc(ask.__doc__ or "") + (f"\n\n\b\n{table}" if table else "")
    return f"{text}\n\n\b\n{'Examples' if len(examples) > 1 else 'Example'}:\n{shown}"


def _run(ask: Command, arguments: dict[str, Any], flags: Flags, traceback: bool, as_json: bool) -> int:
    """Run a command, show its output and return its exit code; or write a message that shows no row."""
    _check_texts(arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = _notes(flags)
        try:
            with answering():
                return _show(ask(**_with_groups(ask, arguments)), as_json)
        except (typer.Exit, typer.Abort, typer.BadParameter, BrokenPipeError):
            raise  # BrokenPipeError: the reader of our output has closed it
        except (KeyboardInterrupt, SystemExit) as stop:  # Ctrl-C, or a signal to terminate
            note(f"discreet: stopped; {'; '.join(charges(stop)) or 'nothing was charged'}")
            code = stop.code if isinstance(stop, SystemExit) and isinstance(stop.code, int) else INTERRUPTED
        except Exception as error:
            note("".join(format_exception(error)) if traceback else f"discreet: {message_for(error, flags)}")
            for charge in charges(error):
                note(f"note: {charge}")
            code = exit_code(error)
    return code


def _show(answer: CommandOutput, as_json: bool) -> int:
    """Show the output of a command, and return the exit code."""
    try:
        show(answer, as_json=as_json)
    except OSError:  # a full disk, or a closed pipe
        note("discreet: it was done, and is recorded if there is a ledger; but the answer could not be written")
        return FAILED
    return answer.code


def _notes(flags: Flags) -> Callable[..., None]:
    """Return a function that writes each warning of the library as a note, once, when it comes.

    A warning about a guarantee comes before anything is spent.
    """
    said: set[str] = set()

    def show_warning(message: Warning, category: type[Warning], filename: str, *_: Any) -> None:
        text = f"note: {replace_by_flags(str(message), flags)}"
        if _is_ours(category, filename) and text not in said:
            said.add(text)
            note(text)

    return show_warning


def _check_texts(arguments: dict[str, Any]) -> None:
    """Raise where a text holds the character NUL, for which Python would raise an error of its own."""
    for name, given in arguments.items():
        for one in given if isinstance(given, list | tuple) else [given]:
            if isinstance(one, str | Path) and "\0" in str(one):
                raise typer.BadParameter("expected text without the character NUL", param_hint=name)


def _is_ours(category: type[Warning], filename: str) -> bool:
    """Return whether a warning is one of the library's, whose message is public; others may quote rows."""
    if category.__module__.startswith("discreet."):
        return True
    return category is UserWarning and Path(filename).is_relative_to(LIBRARY)
