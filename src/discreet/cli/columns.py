"""Columns that are named on the command line, against those that are declared: before any row or ledger is opened."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.cli.wording import listed, meant
from discreet.records import Schema

__all__ = ["check_columns", "check_declared", "check_target"]


def check_declared(flag: str, names: Sequence[str], known: Sequence[str]) -> None:
    """Raise where a name is not declared."""
    for name in names:
        if name not in known:
            raise ValueError(f"{flag}{name}: expected declared columns, of {listed(known)}{meant(name, known)}")


def check_columns(
    declared: Schema, names: Sequence[str], *, numbers: bool, by: str | None = None, weights: str | None = None
) -> None:
    """Raise where a question is about columns that are not declared, or that it cannot be about."""
    check_declared("", names, declared.names)
    check_declared("--by ", [] if by is None else [by], declared.names)
    check_declared("--weights ", [] if weights is None else [weights], declared.names)
    for name in names if numbers else ():
        if name in declared.categories:
            raise ValueError(
                f"{name} is a category; --by {name} groups by it, and histogram {name} counts it; expected one of "
                f"{listed(declared.numbers)}"
            )
    if by is not None and by in declared.numbers:
        raise ValueError(
            f"--by {by}: it has numbers; expected a category, of which there are {listed(declared.categories)}"
        )


def check_target(target: str, declared: Schema, *, categories: bool, from_file: bool) -> None:
    """Raise where the column to predict is not declared, or is of the other kind."""
    if target in declared.names:
        if categories and target in declared.numbers:
            write = "values = […] for it in the schema" if from_file else f"--classes {target}=…"
            raise ValueError(
                f"--target {target}: it has numbers; expected a category, of which there are "
                f"{listed(declared.categories)}; write {write} where its numbers are names, or fit regression"
            )
        if not categories and target in declared.categories:
            raise ValueError(
                f"--target {target}: it is a category; expected one of {listed(declared.numbers)}, or fit classifier "
                "or logistic"
            )
        return
    if from_file:
        write = f"[columns.{target}] into the schema, with " + ('values = ["no", "yes"]' if categories else "low, high")
    else:
        write = f"--classes {target}=no,yes" if categories else f"--bounds {target}=0:100"
    raise ValueError(
        f"--target {target}: it is not declared; there are {listed(declared.names)}; write {write}"
        f"{meant(target, declared.names)}"
    )
