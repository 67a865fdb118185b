"""Error messages of commands: flags in place of Python's arguments, and no text that may quote a row.

**Which messages are shown.** The message of an error is shown if the library wrote it, since its rooms guarantee that
no row is in it: an ``ArgumentError``, and any other error raised by a ``raise`` statement in a module of ``discreet``.
The message of a parser, a database or ``float`` may quote a row, so only the type of such an error is shown. Errors of
the operating system show the name of the file and nothing else.

**Flags.** Errors name Python's arguments, since most users write Python. A command replaces them by its flags:
``--draws 3`` for ``draws=3``. ``OWN_NAMES`` has the arguments whose flags have other names.
"""

from __future__ import annotations

import dis
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any

from discreet.arguments import ArgumentError
from discreet.cli.budget_refusals import explain_refusal
from discreet.ledger import BudgetExceeded
from discreet.ledger.unanswered import STAYS

FAILED, EXCEEDED, INTERRUPTED = 1, 3, 130

EXTRAS = {"numpyro": "bayes", "jax": "bayes", "arviz_base": "bayes", "arviz_stats": "bayes", "xarray": "bayes"}
EXTRAS |= {"duckdb": "sql", "pyarrow": "sql", "adbc_driver_postgresql": "postgresql", "psycopg": "postgresql"}
EXTRAS |= {"matplotlib": "report", "jinja2": "report", "statsmodels": "signals", "pooch": "data"}

UNKNOWN = "this is a bug or a broken file; rerun with --traceback on data you may show"


def exit_code(error: Exception) -> int:
    """Return the exit code that an error ends a command with."""
    return EXCEEDED if isinstance(error, BudgetExceeded) else FAILED


def charges(error: BaseException) -> list[str]:
    """Return what stays charged in spite of an error, as the door has added it to the error."""
    return list(dict.fromkeys(note for note in getattr(error, "__notes__", ()) if STAYS in note))


def message_for(error: Exception, flags: Flags | None = None) -> str:
    """Return the message of an error that may be shown to the user of a command with these flags.

    >>> message_for(KeyError("a row"))
    'KeyError: this is a bug or a broken file; rerun with --traceback on data you may show'
    >>> message_for(FileNotFoundError(2, "No such file or directory", "people.csv"))
    'people.csv: No such file or directory'
    """
    if isinstance(error, ModuleNotFoundError) and error.name and not error.name.startswith("discreet"):
        library = error.name.partition(".")[0]
        return f"this needs {library}, which is not installed: pip install 'discreet[{EXTRAS.get(library, 'all')}]'"
    if isinstance(error, BudgetExceeded):
        return explain_refusal(error)
    if isinstance(error, ArgumentError):
        return argument_error_in_flags(error, flags or {})
    if _raised_here(error.__traceback__):
        return replace_by_flags(str(error), flags or {})
    if isinstance(error, UnicodeEncodeError):
        return "a name or a text is not UTF-8; write it with other characters, or rename the file"
    if isinstance(error, MemoryError):
        return "this needs more memory than there is; ask for fewer rows, bins or draws"
    if isinstance(error, OSError) and error.errno is not None and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return f"{type(error).__name__}: {UNKNOWN}"


def _raised_here(trace: TracebackType | None) -> bool:
    """Return whether an error was raised by a ``raise`` statement of this library."""
    if trace is None:
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    module = str(trace.tb_frame.f_globals.get("__name__", ""))
    raised = trace.tb_frame.f_code.co_code[trace.tb_lasti] == dis.opmap["RAISE_VARARGS"]
    return raised and module.startswith("discreet.")


Flags = Mapping[str, str]  # maps Python's arguments of a command to flags

OWN_NAMES = {
    "n_components": "components", "n_clusters": "clusters", "n_steps": "steps", "max_iter": "steps",
    "covariance_type": "covariance", "scale_by_bounds": "scale", "levels": "q", "interval": "level", "n": "rows",
    "d": "dimensions", "dataset": "name", "expected_head": "head", "budget": "limit",
    "column": "columns", "zeros": "zero",
}  # fmt: skip
UNWRITTEN = (None, "None", "True", "[]")  # values that are not shown after a flag
OWN_EXAMPLES = {
    "Table(location, table, per_unit=True)": "--per-unit",
    "Table('clinic.duckdb', 'visits')": "--table visits",
    "[0.25, 0.5, 0.75], or quantile(…)": "--q 0.25,0.5,0.75, or quantile",
    "0.9, or quantiles(…)": "--q 0.9, or quantiles",
}


def command_flags(parameters: Iterable[Any]) -> dict[str, str]:
    """Return the flags and the positional arguments of a command, by Python's names."""
    flags: dict[str, str] = {}
    for one in parameters:
        if one.param_type_name == "argument":
            flags[one.name] = one.metavar
        else:
            flags |= {option.removeprefix("--").replace("-", "_"): option for option in one.opts}
    return flags | {name: flags[own] for name, own in OWN_NAMES.items() if own in flags}


def argument_error_in_flags(error: ArgumentError, flags: Flags) -> str:
    """Return the message of an error, with flags in place of Python's arguments.

    >>> argument_error_in_flags(ArgumentError("n_steps", 0, "a whole number"), {"n_steps": "--steps"})
    '--steps 0: expected a whole number'
    """
    head = ", ".join(_argument_in_flags(name, value, flags) for name, value in error.given.items())
    write = "" if error.write is None else f"; write {replace_by_flags(error.write, flags)}"
    return f"{error.describe_question()}{head}: expected {replace_by_flags(error.expected, flags)}{write}"


def _argument_in_flags(name: str, value: str | None, flags: Flags) -> str:
    if name in flags:
        return flags[name] if value in UNWRITTEN else f"{flags[name]} {value}"
    return name if value is None else f"{name}={value}"


def replace_by_flags(text: str, flags: Flags) -> str:
    """Replace Python's arguments in a text by flags.

    >>> flags = {"max_iter": "--steps", "epsilon": "--epsilon"}
    >>> replace_by_flags("write max_iter=5, or LaplaceLoss(epsilon=2.0)", flags)
    'write --steps 5, or LaplaceLoss(epsilon=2.0)'
    """
    for example, own in OWN_EXAMPLES.items():
        text = text.replace(example, own)
    return " ".join(_word_in_flags(word, flags) for word in text.split(" "))


def _word_in_flags(word: str, flags: Flags) -> str:
    name, equals, value = word.partition("=")
    if not equals or value.startswith("=") or name not in flags:
        return word
    return f"no {flags[name]}" if value == "None" else f"{flags[name]} {value}".removesuffix(" True")
