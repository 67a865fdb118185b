"""Columns that are named on the command line, against those that are declared: before any row or ledger is opened."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.arguments import ArgumentError, listed, meant
from discreet.records import Schema

__all__ = ["check_columns", "check_target"]


def check_columns(
    declared: Schema, names: Sequence[str], *, numbers: bool, by: str | None = None, weights: str | None = None
) -> None:
    """Raise where a question is about columns that are not declared, or that it cannot be about."""
    known = declared.names
    for argument, name in [*(("columns", name) for name in names), ("by", by), ("weights", weights)]:
        if name is not None and name not in known:
            raise ArgumentError(argument, name, f"a declared column, one of {listed(known)}{meant(name, known)}")
    for name in names if numbers else ():
        if name in declared.categories:
            raise ArgumentError(
                "columns",
                name,
                f"one of {listed(declared.numbers)}, and this is a category; --by {name} groups by it, and histogram "
                f"{name} counts it",
            )


def check_target(target: str, declared: Schema, *, categories: bool, from_file: bool) -> None:
    """Raise where the column to predict is not declared, or is of the other kind."""
    if target not in declared.names:
        if from_file:
            fields = 'values = ["no", "yes"]' if categories else "low, high"
            write = f"[columns.{target}] into the schema, with {fields}"
        else:
            write = f"--classes {target}=no,yes" if categories else f"--bounds {target}=0:100"
        known = f"a declared column, one of {listed(declared.names)}"
        raise ArgumentError("target", target, known, write=f"{write}{meant(target, declared.names)}")
    if categories and target in declared.numbers:
        write = "values = […] for it in the schema" if from_file else f"--classes {target}=…"
        raise ArgumentError(
            "target",
            target,
            f"a category, one of {listed(declared.categories)}, and this has numbers",
            write=f"{write} where its numbers are names, or fit regression",
        )
    if not categories and target in declared.categories:
        raise ArgumentError(
            "target",
            target,
            f"one of {listed(declared.numbers)}, and this is a category",
            write="fit classifier or fit logistic",
        )
