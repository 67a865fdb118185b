"""An error's argument is a flag here: ``--draws 3`` where Python has ``draws=3``.

Errors name Python's arguments, for most users write Python. A command knows which flags it has; here stands what is
called otherwise in Python. Only words that the library wrote come here (``refusals``); no row is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from discreet.arguments import ArgumentError

__all__ = ["Flags", "flags_of", "in_flags", "refused_in_flags"]

Flags = Mapping[str, str]  # of each argument of Python that a command takes, what is written for it

OWN_NAMES = {
    "n_components": "components", "n_clusters": "clusters", "n_steps": "steps", "max_iter": "steps",
    "covariance_type": "covariance", "scale_by_bounds": "scale", "levels": "q", "interval": "level", "n": "rows",
    "d": "dimensions", "dataset": "name", "expected_head": "head", "budget": "limit", "guarantee": "guarantee",
    "column": "columns",
}  # fmt: skip
UNWRITTEN = (None, "None", "True", "[]")  # what a flag is without a value, or where it is left out
OWN_EXAMPLES = {
    "Table(location, table, per_unit=True)": "--per-unit",
    "Table('clinic.duckdb', 'visits')": "--table visits",
    "[0.25, 0.5, 0.75], or quantile(…)": "--q 0.25,0.5,0.75, or quantile",
    "0.9, or quantiles(…)": "--q 0.9, or quantiles",
}


def flags_of(parameters: Iterable[Any]) -> dict[str, str]:
    """Return the flags of a command, and the names of what stands without one, by Python's names."""
    flags: dict[str, str] = {}
    for one in parameters:
        if one.param_type_name == "argument":
            flags[one.name] = one.metavar
        else:
            flags |= {option.removeprefix("--").replace("-", "_"): option for option in one.opts}
    return flags | {name: flags[own] for name, own in OWN_NAMES.items() if own in flags}


def refused_in_flags(error: ArgumentError, flags: Flags) -> str:
    """Return what an error says, in a command's words.

    >>> refused_in_flags(ArgumentError("n_steps", 0, "a whole number"), {"n_steps": "--steps"})
    '--steps 0: expected a whole number'
    """
    head = ", ".join(_given(name, value, flags) for name, value in error.given.items())
    write = "" if error.write is None else f"; write {in_flags(error.write, flags)}"
    return f"{head}: expected {in_flags(error.expected, flags)}{write}"


def _given(name: str, value: str | None, flags: Flags) -> str:
    if name in flags:
        return flags[name] if value in UNWRITTEN else f"{flags[name]} {value}"
    return name if value is None else f"{name}={value}"


def in_flags(text: str, flags: Flags) -> str:
    """Return a text with flags in the place of arguments.

    >>> in_flags("write max_iter=5, or LaplaceLoss(epsilon=2.0)", {"max_iter": "--steps", "epsilon": "--epsilon"})
    'write --steps 5, or LaplaceLoss(epsilon=2.0)'
    """
    for example, own in OWN_EXAMPLES.items():
        text = text.replace(example, own)
    return " ".join(_word(word, flags) for word in text.split(" "))


def _word(word: str, flags: Flags) -> str:
    name, equals, value = word.partition("=")
    if not equals or value.startswith("=") or name not in flags:
        return word
    return f"no {flags[name]}" if value == "None" else f"{flags[name]} {value}".removesuffix(" True")
