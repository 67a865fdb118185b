"""The library's words in those of the command line: ``--draws 3`` where an error says ``draws=3``.

Errors name Python's arguments, for most users write Python. Here is the one place that knows which flag an argument is.
Only words that the library wrote come here (``refusals``); no row is looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["as_flags", "as_toml", "listed", "meant"]

FLAGS = {name: f"--{name.replace('_', '-')}" for name in (
    "epsilon", "delta", "where", "draws", "warmup", "chains", "level", "share", "at_most", "max_rows", "unit", "bins",
    "trim", "step", "by", "weights", "method", "name", "neighbors", "whole", "q", "levels", "target", "gap", "width",
    "spread", "density", "dimensions", "prior", "rows", "cells", "loose", "table", "unit_type", "order",
)}  # fmt: skip
FLAGS |= {"n_components": "--components", "n_clusters": "--clusters", "n_steps": "--steps", "max_iter": "--steps"}
FLAGS |= {"covariance_type": "--covariance", "budget": "--limit", "levels": "--q", "interval": "--level", "n": "--rows"}
ARGUMENT = re.compile(rf"(?<![\w(=.-])({'|'.join(FLAGS)})=(?!=) ?")  # not in LaplaceLoss(epsilon=2.0)
NAMED = re.compile(r"(?:expected one of|expected some of|there are) ('[^']*'(?:, '[^']*')*)")
SYNTAX = "a condition in Python's syntax"
WRITE_CONDITION = (
    "between comparisons write and, or, not in small letters, and == for equal: --where \"age >= 18 and ward == 'a'\""
)
UNFILLED = "or values = […]"
EXAMPLES = {
    r"(for example )?Date\(('[^']*', ){2}missing='fill', fill='([^']*)'\)": r'missing = "fill" and fill = \3',
    r"(for example )?Date\('([^']*)', '([^']*)'\)": r"low = \2 and high = \3",
    r"(for example )?'(2020-01-01)' or datetime\.date\(2020, 1, 1\)": r"\2",
    r"(for example )?Number\(1, 1e6, log=True\)": "low = 1, high = 1e6 and log = true",
    r"\blog=True": "log = true",
    r"(for example )?Number\(0, 120, missing='fill', fill=40\)": 'missing = "fill" and fill = 40',
    r"(for example )?Number\(0, 120\)": "low = 0 and high = 120",
    r"(for example )?Category\((\[[^]]*\]), missing='fill', fill=([^)]*)\)": r'missing = "fill" and fill = \3',
    r"(for example )?Category\((\[[^]]*\])\)": r"values = \2",
    r"\b(low|high|fill|unit|max_rows|missing|values)=": r"\1 = ",
}


def as_flags(text: str) -> str:
    """Return a message with flags in the place of arguments, and with the name that may have been meant.

    >>> as_flags("draws=3: expected a whole number, at least 4")
    '--draws 3: expected a whole number, at least 4'
    >>> as_flags("columns='aeg': expected a declared column; there are 'age', 'hours'")
    "columns='aeg': expected a declared column; there are 'age', 'hours'; did you mean 'age'?"
    """
    known = NAMED.search(text)
    told = text
    if known is not None and "did you mean" not in text:
        names = re.findall(r"'([^']*)'", known[1])
        asked = re.findall(r"'([^']*)'", text[: known.start()])
        told += meant(asked[-1], names) if asked else ""
    if SYNTAX in told:
        told += f"; {WRITE_CONDITION}"
    told = told.replace("Table(location, table, per_unit=True)", "--per-unit")
    return ARGUMENT.sub(lambda found: f"{FLAGS[found[1]]} ", told)


def as_toml(text: str) -> str:
    """Return a message about a schema in the words of its file.

    >>> as_toml("low=9.0 is not below high=1.0: expected low < high; write for example Number(0, 120)")
    'low = 9.0 is not below high = 1.0: expected low < high; write low = 0 and high = 120'
    """
    for pattern, written in EXAMPLES.items():
        text = re.sub(pattern, written, text)
    if text.endswith(UNFILLED):
        text += ", or take this section out; a column of ids is named in unit = …"
    return text


def listed(names: Iterable[str]) -> str:
    """Return names as an error lists them."""
    return ", ".join(map(repr, names)) or "none"


def meant(name: str, known: Iterable[str]) -> str:
    """Return a question after the name that is most like one that is not known; nothing where none is.

    >>> meant("systlic", ["age", "systolic"]), meant("x", ["age"])
    ("; did you mean 'systolic'?", '')
    """
    among = [one for one in known if one != name]
    near = get_close_matches(name.lower(), [one.lower() for one in among], n=1)
    return f"; did you mean {next(one for one in among if one.lower() == near[0])!r}?" if near else ""
