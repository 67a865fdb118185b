"""What all commands share: ``--json``, ``--traceback``, how they fail, and help with examples."""

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
from discreet.cli.error_messages import FAILED, Flags, command_flags, exit_code, message_for, replace_by_flags
from discreet.cli.printing import CommandOutput, note, show

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
Traceback = Annotated[
    bool,
    typer.Option("--traceback", help="Show where an error came from. It may show rows: only on data you may show."),
]

LIBRARY = Path(discreet.__file__).parent

Command = Callable[..., CommandOutput]


def command(*examples: str, table: str = "") -> Callable[[Command], Callable[..., None]]:
    """Return a decorator that makes a command of a function that returns a ``CommandOutput``.

    Parameters
    ----------
    *examples : str
        Lines that run as they stand, for the help.
    table : str
        Lines that stand before them as they are.
    """

    def decorated(ask: Command) -> Callable[..., None]:
        @wraps(ask)
        def run(*, as_json: bool, traceback: bool, context: Any = None, **arguments: Any) -> None:
            flags = {} if context is None else command_flags(context.command.params)
            answer = _run(ask, arguments, flags, traceback)
            try:
                show(answer, as_json=as_json)
            except OSError:  # a full disk, or a reader that has gone
                note("discreet: it was done, and is recorded where a ledger is; but the answer could not be written")
                raise typer.Exit(FAILED) from None
            if answer.code:
                raise typer.Exit(answer.code)

        hints = get_type_hints(ask, include_extras=True)
        del hints["return"]
        hints |= {"as_json": Json, "traceback": Traceback, "context": typer.Context}
        defaults = {name: parameter.default for name, parameter in inspect.signature(ask).parameters.items()}
        defaults |= {"as_json": False, "traceback": False, "context": None}
        run.__annotations__ = hints
        run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [
                inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=defaults[name], annotation=hint)
                for name, hint in hints.items()
            ]
        )
        run.__doc__ = _help(ask, examples, table)
        del run.__wrapped__  # the signature is this one's own
        return run

    return decorated


def _help(ask: Command, examples: tuple[str, ...], table: str) -> str:
    # The mark \b keeps lines as they are.
    shown = "\n".join(f"  {line}" for line in examples)
    said = inspect.cleandoc(ask.__doc__ or "") + (f"\n\n\b\n{table}" if table else "")
    return f"{said}\n\n\b\n{'Examples' if len(examples) > 1 else 'Example'}:\n{shown}"


def _run(ask: Command, arguments: dict[str, Any], flags: Flags, traceback: bool) -> CommandOutput:
    """Return what a command answers; or end, with a message that shows no row."""
    _check_texts(arguments)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            return ask(**arguments)
        except (typer.Exit, typer.Abort, typer.BadParameter, BrokenPipeError):
            raise  # the last one: whoever reads our output has seen enough
        except Exception as error:
            note("".join(format_exception(error)) if traceback else f"discreet: {message_for(error, flags)}")
            code = exit_code(error)
        finally:
            for message in dict.fromkeys(str(warning.message) for warning in caught if _is_ours(warning)):
                note(f"note: {replace_by_flags(message, flags)}")
    raise typer.Exit(code)


def _check_texts(arguments: dict[str, Any]) -> None:
    """Raise where a text holds what no path, name or number does, and Python would say so in words of its own."""
    for name, given in arguments.items():
        for one in given if isinstance(given, list | tuple) else [given]:
            if isinstance(one, str | Path) and "\0" in str(one):
                raise typer.BadParameter("expected text without the character NUL", param_hint=name)


def _is_ours(warning: warnings.WarningMessage) -> bool:
    """Return whether a warning is one of the library's, whose words are public; others may quote anything."""
    if warning.category.__module__.startswith("discreet."):
        return True
    return warning.category is UserWarning and Path(warning.filename).is_relative_to(LIBRARY)
