"""Errors at the boundary: which words are shown, and with which code a command ends.

The words of an error are shown where the library wrote them, for its rooms promise that no row is in them: an
``ArgumentError`` in a command's own flags (``flags``); any other where a ``raise`` statement in a module of
``discreet`` raised it. Other words, those of a parser, a database or ``float``, may quote a row. Then only the type is
told. The operating system's errors say which file, and no more.
"""

from __future__ import annotations

import dis
from types import TracebackType

from discreet.arguments import ArgumentError
from discreet.cli.flags import Flags, in_flags, refused_in_flags
from discreet.cli.would_fit import exceeded_in_words
from discreet.ledger import BudgetExceeded

__all__ = ["EXCEEDED", "FAILED", "code_for", "message_for"]

FAILED, EXCEEDED = 1, 3

EXTRAS = {"numpyro": "bayes", "jax": "bayes", "arviz_base": "bayes", "arviz_stats": "bayes", "xarray": "bayes"}
EXTRAS |= {"duckdb": "sql", "pyarrow": "sql", "adbc_driver_postgresql": "postgresql", "psycopg": "postgresql"}
EXTRAS |= {"matplotlib": "report", "jinja2": "report", "statsmodels": "signals", "pooch": "data"}

UNKNOWN = "this is a bug or a broken file; rerun with --traceback on data you may show"


def code_for(error: Exception) -> int:
    """Return the exit code that an error ends a command with."""
    return EXCEEDED if isinstance(error, BudgetExceeded) else FAILED


def message_for(error: Exception, flags: Flags | None = None) -> str:
    """Return what may be said of an error to somebody who ran a command with these flags.

    >>> message_for(KeyError("a row"))
    'KeyError: this is a bug or a broken file; rerun with --traceback on data you may show'
    >>> message_for(FileNotFoundError(2, "No such file or directory", "people.csv"))
    'people.csv: No such file or directory'
    """
    if isinstance(error, ModuleNotFoundError) and error.name and not error.name.startswith("discreet"):
        library = error.name.partition(".")[0]
        return f"this needs {library}, which is not installed: pip install 'discreet[{EXTRAS.get(library, 'all')}]'"
    if isinstance(error, BudgetExceeded):
        return exceeded_in_words(error)
    if isinstance(error, ArgumentError):
        return refused_in_flags(error, flags or {})
    if _written_here(error.__traceback__):
        return in_flags(str(error), flags or {})
    if isinstance(error, UnicodeEncodeError):
        return "a name or a text is not UTF-8; write it in other letters, or rename the file"
    if isinstance(error, MemoryError):
        return "this needs more memory than there is; write smaller numbers"
    if isinstance(error, OSError) and error.errno is not None and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return f"{type(error).__name__}: {UNKNOWN}"


def _written_here(trace: TracebackType | None) -> bool:
    """Return whether a ``raise`` statement of this library is where an error came from."""
    if trace is None:
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    module = str(trace.tb_frame.f_globals.get("__name__", ""))
    raised = trace.tb_frame.f_code.co_code[trace.tb_lasti] == dis.opmap["RAISE_VARARGS"]
    return raised and module.startswith("discreet.")
