"""Whether a file of a fitted estimator can be one that a fit wrote: its promise, losses, noise and parameters agree.

All of it follows from public numbers that the file holds, so it is worked out once more:

- the parameters ask for the promise that stands there, and their method for as many releases, at these losses;
- every release is of the same rows, as they were declared, and its question fits them;
- its noise is at least what its loss needs for the sensitivity of its question, float error and grid left out.

This finds a promise that was made smaller, a release that was dropped, a relation that was changed, noise that does not
belong to its loss. It does not prove anything: who changes all numbers together, or makes them all up, is not noticed.
Only whoever fitted the model knows, and a ledger that recorded it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, cast

from discreet.arguments import UNSHOWN, ArgumentError, integer, shown
from discreet.door import Release
from discreet.door.curator import AT_MOST
from discreet.door.release import PublicSize
from discreet.guarantees import LaplaceLoss, Loss, Neighbors
from discreet.queries.bound import Setting
from discreet.queries.mechanism import mechanism_for
from discreet.queries.question import Query
from discreet.records import Space

__all__ = ["PublicRows", "check_losses", "check_release"]

ALIKE = 1e-6  # losses that are found by a search may differ in their last digits from one machine to another
ROUNDING = 1.0 + 1e-9


@dataclass(frozen=True)
class PublicRows:
    """What is public about the rows that a model was fitted to: what its method was chosen from."""

    space: Any
    columns: tuple[str, ...]
    category_columns: tuple[str, ...]
    categories: tuple[tuple[Any, ...], ...]
    declared: Mapping[str, Any]
    size: PublicSize
    setting: Setting

    @property
    def neighbors(self) -> Neighbors:
        """The relation."""
        return self.setting.neighbors

    @classmethod
    def of(cls, releases: Sequence[Release]) -> PublicRows:
        """Return what the releases of one fit say of its rows, all of them the same."""
        first = releases[0]
        told = [(one.size, one.declared, one.neighbors, one.dataset) for one in releases]
        if any(one != told[0] for one in told):
            raise ArgumentError("releases_", UNSHOWN, "releases of the same rows, declared alike")
        declared = first.declared
        for name in ("columns", "category_columns", "categories", "max_rows", "unit", "space"):
            if name not in declared:
                raise ArgumentError("declared", UNSHOWN, f"{name}, as every release has it")
        max_rows = integer("max_rows", declared["max_rows"], least=1)
        whose = declared["unit"]
        if not isinstance(whose, str | None) or (whose is None and max_rows != 1):
            raise ValueError(f"unit={shown(whose)}, max_rows={max_rows}: expected 1 where each row stands for itself")
        columns, labels = tuple(declared["columns"]), tuple(declared["category_columns"])
        space = None if declared["space"] is None else Space.from_dict(declared["space"]).for_columns(len(columns))
        known = first.neighbors is Neighbors.REPLACE_ONE
        if known != (first.size.units is not None) or (first.size.complete and not (known and whose is None)):
            raise ValueError(f"size={first.size}: expected a number of units under replace-one, and none otherwise")
        rows = max(first.size.units or 1, 1) if known and whose is None else AT_MOST
        setting = Setting(first.neighbors, max_rows, rows, 0.0, first.size.complete)
        values = tuple(map(tuple, declared["categories"]))
        return cls(space, columns, labels, values, declared, first.size, setting)


def check_release(release: Release, rows: PublicRows) -> None:
    """Raise where a release of these rows does not have the noise that its loss needs."""
    question = release.question
    additive = release.loss.gaussian is not None or isinstance(release.loss, LaplaceLoss)
    if question is None:
        if release.law is not None or release.passage == "additive" or additive:
            raise ArgumentError("releases_", UNSHOWN, f"the question of the release of {release.query!r}")
        return
    if question.name != release.query:
        raise ArgumentError("releases_", UNSHOWN, f"the question of {release.query!r}, got that of {question.name!r}")
    if question.dimension not in (0, 0 if rows.space is None else rows.space.dimension):
        raise ArgumentError("releases_", UNSHOWN, f"questions about {len(rows.columns)} columns")
    question.check(rows.space, rows.categories)
    usual = mechanism_for(question, release.loss)
    if release.passage not in (usual.kind, "approximate"):
        raise ArgumentError("passage", release.passage, f"{usual.kind!r}, for {release.query!r}")
    if release.passage != "additive" or not isinstance(question, Query):
        return
    if dict(release.parts) != dict(question.parts):
        raise ArgumentError("parts", UNSHOWN, f"those of the question {release.query!r}")
    if release.law is None or release.law.scale * ROUNDING < _least_scale(question, release, rows.setting):
        raise ArgumentError("law", release.law, f"more noise on {release.query!r}, for a loss of {release.loss!r}")


def _least_scale(question: Query, release: Release, setting: Setting) -> float:
    """Return the noise that a loss needs at the least; ∞ where it is not the loss of such noise."""
    assert release.law is not None
    sensitivity = question.bound.sensitivity(release.law.norm, setting.neighbors, max_rows=setting.max_rows)
    return release.law.least_scale(release.loss, sensitivity)


def check_losses(found: Sequence[Loss], asked: Sequence[Loss]) -> None:
    """Raise where the losses of a file are not those that its parameters ask for."""
    if len(found) != len(asked):
        raise ArgumentError("losses_", UNSHOWN, f"{len(asked)} releases, as the parameters ask for; got {len(found)}")
    for one, other in zip(found, asked, strict=True):
        if not _alike(one, other):
            raise ArgumentError("losses_", UNSHOWN, f"{other!r}, as the parameters ask for; got {one!r}")


def _alike(one: Loss, other: Loss) -> bool:
    if type(one) is not type(other):
        return False
    pairs = [(getattr(one, each.name), getattr(other, each.name)) for each in fields(cast(Any, one))]
    return all(
        math.isclose(a, b, rel_tol=ALIKE) if isinstance(a, float) and isinstance(b, float) else a == b for a, b in pairs
    )
