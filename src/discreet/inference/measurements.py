"""``Measurements``: releases of one data set together with their questions, to be inferred from jointly.

Given the rows, releases are independent: each is a sum of what every row contributed, and its own noise. Given the
parameters of a model they are not, since the same rows are in all of them. So all releases of a data set stand side by
side here as one sum of one long contribution, also those whose question followed from earlier releases: once these
are known, a question is a fixed function of a row, and the density of all releases given the rows is the product of
the noise's densities.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from discreet.arguments import UNSHOWN, ArgumentError
from discreet.door import Answer, Release
from discreet.guarantees import Neighbors
from discreet.inference.rows.layout import Layout, Rows
from discreet.mechanisms import FactoredChoice
from discreet.noise import NoiseDistribution
from discreet.queries.question import Query
from discreet.records import Block, Space

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Measurement:
    """A release, and the question that it answers."""

    question: Query
    release: Release

    @property
    def columns(self) -> tuple[str, ...]:
        """The numeric columns that the question sees."""
        return tuple(self.release.declared.get("columns") or (f"x{j}" for j in range(self.question.dimension)))

    @property
    def category_columns(self) -> tuple[str, ...]:
        """The columns of categories that it sees."""
        return tuple(self.release.declared.get("category_columns") or ())

    @property
    def noise(self) -> NoiseDistribution:
        """The noise: Gaussian or Laplace."""
        assert self.release.noise is not None  # seen in ``_measurement``
        return self.release.noise


@dataclass(frozen=True, eq=False)
class View:
    """A question, and what it sees of a row: some columns, moved into the declared space as a curator does."""

    question: Query
    columns: tuple[int, ...]
    codes: tuple[int, ...]
    space: Space | None

    def contributions(self, whole: Block) -> Any:
        """Return what rows contribute to the question."""
        x = whole.x[:, np.array(self.columns, dtype=int)]
        codes = whole.codes[:, np.array(self.codes, dtype=int)]
        return self.question.contributions(Block(x if self.space is None else self.space.clip(x), codes))


def side_by_side(views: Sequence[View], whole: Block) -> Any:
    """Return contributions to several questions, of rows of any array library; JAX can compile it."""
    return array_namespace(whole.x).concat([view.contributions(whole) for view in views], axis=1)


@dataclass(frozen=True, eq=False)
class Measurements:
    """All that was released of one data set.

    Attributes
    ----------
    each : tuple of Measurement
    layout : Layout
        The columns that any of them sees.
    chosen : tuple of FactoredChoice
        Draws of the factored exponential mechanism from the same rows.
    """

    each: tuple[Measurement, ...]
    layout: Layout
    chosen: tuple[FactoredChoice, ...] = ()

    @property
    def releases(self) -> tuple[Release, ...]:
        """All of them."""
        return (*(one.release for one in self.each), *(one.release for one in self.chosen))

    @property
    def value(self) -> Array:
        """All released numbers, one after the other."""
        return np.concatenate([one.release.value for one in self.each])

    @property
    def variances(self) -> Array:
        """The variance of the noise on each of them."""
        return np.concatenate([np.full(one.release.value.size, one.noise.variance) for one in self.each])

    @property
    def laplace(self) -> NDArray[np.bool_]:
        """Which of them have Laplace noise."""
        return np.concatenate([np.full(one.release.value.size, not one.noise.normal) for one in self.each])

    @property
    def rows(self) -> int | None:
        """How many rows there are, where that is public."""
        known = {release.size.rows for release in self.releases}
        return known.pop() if len(known) == 1 else None

    @property
    def neighbors(self) -> Neighbors:
        """The relation of all of them."""
        return self.releases[0].neighbors

    @cached_property
    def views(self) -> tuple[View, ...]:
        """What each of them sees of a row."""
        return tuple(self._view(one) for one in self.each)

    def _view(self, one: Measurement) -> View:
        columns = tuple(self.layout.columns.index(name) for name in one.columns)
        codes = tuple(self.layout.category_columns.index(name) for name in one.category_columns)
        declared = one.release.declared.get("space")
        space = None if declared is None or not columns else Space.from_dict(declared)
        return View(one.question, columns, codes, space)

    def contributions(self, rows: Rows) -> Array:
        """Return what each row contributes to all of them, shape (n, numbers)."""
        return np.asarray(side_by_side(self.views, self.layout.block(rows)), dtype=np.float64)


def read_measurements(what: Any) -> Measurements:
    """Return the measurements in whatever holds releases.

    Parameters
    ----------
    what : Release, Answer, fitted estimator, (Query, Release), or several of them
        With the question beside it where a user wrote it, since a release does not know that one.
    """
    everything = tuple(_each(what))
    if not everything:
        raise ArgumentError("releases", UNSHOWN, "at least one")
    result = tuple(one for one in everything if isinstance(one, Measurement))
    chosen = tuple(one for one in everything if isinstance(one, FactoredChoice))
    releases = [one.release for one in everything]
    relations = {release.neighbors for release in releases}
    if len(relations) > 1:
        raise ArgumentError(
            "releases",
            UNSHOWN,
            "all of them under one neighbour relation, got add-remove and replace-one; they are of differently "
            "declared data: infer from each apart",
        )
    names = {release.dataset for release in releases}
    if len(names) > 1:
        raise ArgumentError(
            "releases",
            UNSHOWN,
            f"all of one data set, got {sorted(map(str, names))}; infer from each apart, or give the curator one name "
            "for both",
        )
    sizes = {release.size.rows for release in releases if release.size.rows is not None}
    if len(sizes) > 1:
        raise ArgumentError(
            "releases",
            UNSHOWN,
            f"all of one data set, got some of {min(sizes)} rows and some of {max(sizes)}; infer from each apart",
        )
    _check_once(releases)
    conditions = {release.declared.get("where") for release in releases}
    if len(conditions) > 1:
        raise ArgumentError(
            "releases",
            UNSHOWN,
            f"all of the same rows, got rows where {sorted(map(str, conditions))}; infer from each apart",
        )
    seen = [one.columns for one in result] + [tuple(one.release.declared.get("columns") or ()) for one in chosen]
    return Measurements(result, Layout(tuple(dict.fromkeys(sum(seen, ()))), *_categories(releases)), chosen)


def _check_once(releases: Sequence[Release]) -> None:
    """Raise where a release is there twice: noise that is the same says nothing anew."""
    seen: set[Any] = set()
    for release in releases:
        key = (release.query, release.value.tobytes()) if _unlike_any_other(release) else id(release)
        if key in seen:
            raise ArgumentError(
                "releases",
                UNSHOWN,
                f"each release once, got that of {release.query!r} twice; a fit or an answer holds its releases "
                "already",
            )
        seen.add(key)


def _unlike_any_other(release: Release) -> bool:
    """Whether two releases with the same numbers are surely one: the noise is finer than chance could repeat.

    Two draws of a noise with steps much finer than its scale agree with a chance of at most grid/scale a number. What
    was selected of a few candidates, and counts with noise in whole numbers, agree by chance often enough.
    """
    noise = release.noise
    fineness = 0.0 if noise is None else math.log2(noise.scale / noise.grid)
    return release.value.size > 0 and release.value.size * fineness >= 30


def _categories(releases: Sequence[Release]) -> tuple[tuple[str, ...], tuple[tuple[Any, ...], ...]]:
    """Return the columns of categories that any release sees, and their declared values."""
    categories: dict[str, tuple[Any, ...]] = {}
    for release in releases:
        names, values = (release.declared.get(part) or () for part in ("category_columns", "categories"))
        for name, some in zip(names, values, strict=True):
            if categories.setdefault(name, tuple(some)) != tuple(some):
                raise ArgumentError("releases", UNSHOWN, f"the same categories of {name!r} in all of them")
    return tuple(categories), tuple(categories.values())


def _each(what: Any) -> Iterable[Measurement | FactoredChoice]:
    if isinstance(what, Release):
        yield _measurement(what.question, what)
    elif isinstance(what, FactoredChoice):
        yield what
    elif isinstance(what, Answer):
        yield from _each(what.releases)
    elif hasattr(what, "releases_"):
        yield from _each(what.releases_)
    elif isinstance(what, tuple) and len(what) == 2 and isinstance(what[0], Query) and isinstance(what[1], Release):
        yield _measurement(*what)
    elif isinstance(what, Iterable) and not isinstance(what, str | bytes):
        for one in what:
            yield from _each(one)
    elif hasattr(what, "get_params"):
        raise ValueError(f"{type(what).__name__}: expected a fitted one; call fit first")
    else:
        raise ValueError(
            f"releases={type(what).__name__}: expected releases, answers of statistics, or a fitted estimator; from a "
            "file write dp.Release.from_json(text)"
        )


def _measurement(question: Any, release: Release) -> Measurement:
    name = release.query
    if question is None:
        raise ArgumentError(
            "releases",
            UNSHOWN,
            f"the question beside the release of {name!r}, since it is not one of this library or the release was "
            "made by hand",
            write="(query, release)",
        )
    if release.mechanism != "additive" or not isinstance(question, Query):
        raise ArgumentError(
            "releases",
            UNSHOWN,
            f"sums with Gaussian or Laplace noise, but {name!r} is a {release.mechanism} release, whose density this "
            "does not know; of FactoredExponential give the answer that draw returned",
        )
    if release.noise is None or not release.noise.independent:
        raise ArgumentError("releases", UNSHOWN, f"Gaussian or Laplace noise on {name!r}, got {release.noise!r}")
    if dict(question.parts) != dict(release.parts):
        raise ArgumentError(
            "releases", UNSHOWN, f"the parts that the question of {name!r} has; this is not its release"
        )
    return Measurement(question, release)
