"""Read releases of one data set, with their questions, as one joint measurement (``Measurements``).

Given the rows, releases are independent: each is a sum of the rows' contributions, plus its own noise. Given the
parameters of a model they are not independent, because the same rows are in all of them. So all releases of a data set
are treated as one sum of one long contribution vector. This also holds for a release whose question depended on earlier
releases: once these are known, its question is a fixed function of a row, and the density of all releases given the
rows is the product of the noise densities.
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
from discreet.guarantees import Neighbors, ObjectiveLoss
from discreet.inference.measured_sums import Measurement, View, read_minima
from discreet.inference.rows.layout import Layout, Rows
from discreet.mechanisms import FactoredChoice
from discreet.queries.objectives.minimum import Minimum
from discreet.queries.question import Query
from discreet.records import Block, Space

Array = NDArray[np.float64]

MIN_BITS = 30  # two releases with independent noise are equal with a probability of at most 2^−MIN_BITS


def concatenate_contributions(views: Sequence[View], block: Block) -> Any:
    """Return the contributions to several questions, one after the other. Works in any array library; JAX compiles it.

    Parameters
    ----------
    views : sequence of View
    block : Block
        Complete rows.
    """
    return array_namespace(block.x).concat([view.contributions(block) for view in views], axis=1)


@dataclass(frozen=True, eq=False)
class Measurements:
    """All releases of one data set.

    Attributes
    ----------
    sums : tuple of Measurement
        Sums with noise.
    layout : Layout
        The columns that any of the releases reads.
    choices : tuple of FactoredChoice
        Draws of the factored exponential mechanism from the same rows.
    """

    sums: tuple[Measurement, ...]
    layout: Layout
    choices: tuple[FactoredChoice, ...] = ()

    @property
    def releases(self) -> tuple[Release, ...]:
        """All releases: of sums, then of choices."""
        every = (*(one.release for one in self.sums), *(one.release for one in self.choices))
        return tuple({id(release): release for release in every}.values())  # several minima are one release

    @property
    def values(self) -> Array:
        """The released sums, concatenated."""
        return np.concatenate([one.value for one in self.sums])

    @property
    def variances(self) -> Array:
        """The variance of the noise on each of ``values``."""
        return np.concatenate([np.full(one.value.size, one.noise.variance) for one in self.sums])

    @property
    def is_laplace(self) -> NDArray[np.bool_]:
        """Which of ``values`` have Laplace noise."""
        return np.concatenate([np.full(one.value.size, not one.noise.normal) for one in self.sums])

    @property
    def rows(self) -> int | None:
        """The number of rows, where it is public."""
        known = {release.size.rows for release in self.releases}
        return known.pop() if len(known) == 1 else None

    @property
    def neighbors(self) -> Neighbors:
        """The neighbour relation, the same for all releases."""
        return self.releases[0].neighbors

    @cached_property
    def views(self) -> tuple[View, ...]:
        """For each of ``sums`` the part of a row that it reads."""
        return tuple(self._view(one) for one in self.sums)

    def _view(self, one: Measurement) -> View:
        columns = tuple(self.layout.columns.index(name) for name in one.columns)
        codes = tuple(self.layout.category_columns.index(name) for name in one.category_columns)
        declared = one.release.declared.get("space")
        space = None if declared is None or not columns else Space.from_dict(declared)
        return View(one.question, columns, codes, space, getattr(one, "positive", None), one.used)

    def contributions(self, rows: Rows) -> Array:
        """Return the contribution of each row to all of ``sums``, shape (n, numbers)."""
        return np.asarray(concatenate_contributions(self.views, self.layout.to_block(rows)), dtype=np.float64)


def read_measurements(releases: Any) -> Measurements:
    """Return the measurements in any object that holds releases, and check that they can be combined.

    Parameters
    ----------
    releases : Release, Answer, fitted estimator, (Query, Release), FactoredChoice, or several of them
        A question that a user wrote must stand beside its release, which does not know it.
    """
    everything = tuple(_read_each(releases))
    if not everything:
        raise ArgumentError("releases", UNSHOWN, "at least one")
    sums = tuple(one for one in everything if isinstance(one, Measurement))
    choices = tuple(one for one in everything if isinstance(one, FactoredChoice))
    every = [one.release for one in everything if getattr(one, "place", 0) == 0]
    _check_one_source(every)
    _check_distinct(every)
    columns = [one.columns for one in sums] + [tuple(one.release.declared.get("columns") or ()) for one in choices]
    return Measurements(sums, Layout(tuple(dict.fromkeys(sum(columns, ()))), *_categories(every)), choices)


def _check_one_source(releases: Sequence[Release]) -> None:
    """Raise an error unless all releases are of the same rows of one data set, under one neighbour relation."""
    if len({release.neighbors for release in releases}) > 1:
        expected = (
            "all of them under one neighbour relation, got add-remove and replace-one; they are of differently "
            "declared data: infer from each apart"
        )
    elif len(names := {release.dataset for release in releases}) > 1:
        expected = (
            f"all of one data set, got {sorted(map(str, names))}; infer from each apart, or give the curator one name "
            "for both"
        )
    elif len(sizes := {release.size.rows for release in releases} - {None}) > 1:
        several = sorted(size for size in sizes if size is not None)
        expected = (
            f"all of one data set, got some of {several[0]} rows and some of {several[-1]}; infer from each apart"
        )
    elif len(conditions := {release.declared.get("where") for release in releases}) > 1:
        expected = f"all of the same rows, got rows where {sorted(map(str, conditions))}; infer from each apart"
    else:
        return
    raise ArgumentError("releases", UNSHOWN, expected)


def _check_distinct(releases: Sequence[Release]) -> None:
    """Raise an error if a release is given twice: the same noise twice holds no new information."""
    seen: set[Any] = set()
    for release in releases:
        key = (release.query, release.value.tobytes()) if _has_fine_noise(release) else id(release)
        if key in seen:
            raise ArgumentError(
                "releases",
                UNSHOWN,
                f"each release once, got that of {release.query!r} twice; a fit or an answer holds its releases "
                "already",
            )
        seen.add(key)


def _has_fine_noise(release: Release) -> bool:
    """Return whether two equal releases must be the same release, because the noise is too fine to repeat by chance.

    Two independent draws of noise on a grid agree in one number with a probability of at most grid/scale, so in m
    numbers with one of at most 2^(−m·log2(scale/grid)). A selection among few candidates, or a count with integer
    noise, often repeats by chance.
    """
    noise = release.noise
    bits = 0.0 if noise is None else math.log2(noise.scale / noise.grid)
    return release.value.size > 0 and release.value.size * bits >= MIN_BITS


def _categories(releases: Sequence[Release]) -> tuple[tuple[str, ...], tuple[tuple[Any, ...], ...]]:
    """Return the columns of categories that any release reads, and their declared values."""
    categories: dict[str, tuple[Any, ...]] = {}
    for release in releases:
        names, values = (release.declared.get(part) or () for part in ("category_columns", "categories"))
        for name, some in zip(names, values, strict=True):
            if categories.setdefault(name, tuple(some)) != tuple(some):
                raise ArgumentError("releases", UNSHOWN, f"the same categories of {name!r} in all of them")
    return tuple(categories), tuple(categories.values())


def _read_each(what: Any, outer: tuple[Any, ...] = ()) -> Iterable[Measurement | FactoredChoice]:
    """Yield every measurement in an object that holds releases, which is in the outer ones."""
    if isinstance(what, Release):
        yield from _read_release(what.question, what)
    elif isinstance(what, FactoredChoice):
        yield what
    elif isinstance(what, Answer):
        yield from _read_each(what.releases)
    elif hasattr(what, "releases_"):
        yield from _read_each(what.releases_)
    elif isinstance(what, tuple) and len(what) == 2 and isinstance(what[0], Query) and isinstance(what[1], Release):
        yield from _read_release(*what)
    elif isinstance(what, Iterable) and not isinstance(what, str | bytes):
        if any(what is one for one in outer):
            raise ArgumentError("releases", UNSHOWN, "a list that is not in itself")
        for one in what:
            yield from _read_each(one, (*outer, what))
    elif hasattr(what, "get_params"):
        raise ValueError(f"{type(what).__name__}: expected a fitted one; call fit first")
    else:
        raise ValueError(
            f"releases={type(what).__name__}: expected releases, answers of statistics, or a fitted estimator; from a "
            "file write dp.Release.from_json(text)"
        )


def _read_release(question: Any, release: Release) -> Iterable[Measurement]:
    """Yield a release with its question, if its density is known; otherwise raise an error."""
    name = release.query
    if isinstance(question, Minimum) and isinstance(release.loss, ObjectiveLoss):
        yield from read_minima(question, release)
        return
    if release.mechanism != "additive" or not (question is None or isinstance(question, Query)):
        raise ArgumentError(
            "releases",
            UNSHOWN,
            f"sums with Gaussian or Laplace noise, but {name!r} is a {release.mechanism} release, whose density is not "
            "known here; of FactoredExponential give the answer that draw returned, for quantiles release a histogram",
        )
    if question is None:
        raise ArgumentError(
            "releases",
            UNSHOWN,
            f"the question beside the release of {name!r}, since it is not one of this library or the release was "
            "made by hand",
            write="(query, release)",
        )
    if release.noise is None or not release.noise.independent:
        raise ArgumentError("releases", UNSHOWN, f"Gaussian or Laplace noise on {name!r}, got {release.noise!r}")
    if dict(question.parts) != dict(release.parts):
        raise ArgumentError(
            "releases", UNSHOWN, f"the parts that the question of {name!r} has; this is not its release"
        )
    yield Measurement(question, release)
