"""Influence function and gross error sensitivity of an estimator, for public or synthetic rows. Not private.

**NOT PRIVATE.** The functions here read rows exactly and return exact numbers. They help to choose an estimator before
anything is spent, on published data, on made-up rows, or on rows drawn from a released model (for example the
``sample`` of a private density). Never use them on the rows that are to be protected.

With F the distribution of the rows and δ_x a point mass, the influence of x on the estimator T at scale ρ is

    IF_ρ(x) = (T((1 − ρ)·F + ρ·δ_x) − T(F))/ρ,

and its largest size over x is the gross error sensitivity, GES_ρ. Chaudhuri and Hsu (2012) show that privacy adds an
error of order GES_ρ/(ε·n) to an estimate from n rows, with ρ of order 1/(ε·n): some private estimator attains it, and
every accurate one has at least this error, either at F or close by. So the predicted error is right up to a constant,
which suffices to compare estimators. The supremum is searched over candidates: a grid over the bounds, the rows' own
quantiles, and both ends.

The estimators (``weighted_mean`` and so on) are plain functions of one-dimensional rows and weights; exact, and so not
private.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.arguments import (
    UNSHOWN,
    ArgumentError,
    as_numbers,
    axes,
    choice,
    format_value,
    integer,
    positive,
    probability,
)
from discreet.door import Curator
from discreet.records import Records
from discreet.records.declared.bounds import read_pair

Array = NDArray[np.float64]
Estimator = Callable[[Array, Array], float]

GRID = 257


def weighted_mean(rows: Array, weights: Array) -> float:
    """Return the weighted mean.

    >>> weighted_mean(np.array([0.0, 4.0]), np.array([3.0, 1.0]))
    1.0
    """
    return float(weights @ rows / weights.sum())


def weighted_median(rows: Array, weights: Array) -> float:
    """Return the weighted median; the midpoint where it is an interval.

    >>> weighted_median(np.array([3.0, 1.0, 2.0, 9.0]), np.ones(4))
    2.5
    """
    order = np.argsort(rows, kind="stable")
    below = np.cumsum(weights[order]) / weights.sum()
    first = min(int(np.searchsorted(below, 0.5 - 1e-12)), len(rows) - 1)
    second = min(int(np.searchsorted(below, 0.5 + 1e-12)), len(rows) - 1)
    return float(rows[order[first]] / 2.0 + rows[order[second]] / 2.0)


def weighted_trimmed_mean(rows: Array, weights: Array, trim: float = 0.1) -> float:
    """Return the mean after removing a share ``trim`` of the weight at each end.

    >>> weighted_trimmed_mean(np.array([-99.0, 1.0, 2.0, 3.0, 99.0]), np.ones(5), trim=0.2)
    2.0
    """
    order = np.argsort(rows, kind="stable")
    shares = np.concatenate([[0.0], np.cumsum(weights[order]) / weights.sum()])
    kept = np.diff(np.clip(shares, trim, 1.0 - trim))
    return float(kept @ rows[order] / kept.sum())


def weighted_huber(rows: Array, weights: Array, k: float | None = None) -> float:
    """Return the Huber location; by default k is 1.345 standard deviations, estimated by the median deviation.

    >>> round(weighted_huber(np.array([1.0, 2.0, 3.0, 1000.0]), np.ones(4), k=1.0), 3)
    2.5
    """
    middle = weighted_median(rows, weights)
    width = 1.345 * 1.4826 * weighted_median(np.abs(rows - middle), weights) if k is None else k
    if width <= 0.0:
        return middle
    low, high = float(rows.min()), float(rows.max())
    for _ in range(80):
        theta = low / 2.0 + high / 2.0
        up = float(weights @ np.clip(rows - theta, -width, width)) > 0.0
        low, high = (theta, high) if up else (low, theta)
    return low / 2.0 + high / 2.0


ESTIMATORS: dict[str, Estimator] = {
    "mean": weighted_mean,
    "median": weighted_median,
    "trimmed": weighted_trimmed_mean,
    "huber": weighted_huber,
}


@dataclass(frozen=True, eq=False)
class Influence:
    """The influence of points on an estimator. Exact, and so not private.

    Attributes
    ----------
    points : ndarray
        The candidate points, sorted.
    values : ndarray
        The influence of each point.
    estimate : float
        The estimate from the rows alone.
    scale : float
        The weight ρ of the added point.
    """

    points: Array
    values: Array
    estimate: float
    scale: float

    @property
    def gross_error_sensitivity(self) -> float:
        """The largest absolute influence."""
        return float(np.abs(self.values).max())

    @property
    def where(self) -> float:
        """A point at which the gross error sensitivity is attained."""
        return float(self.points[np.abs(self.values).argmax()])

    def extra_error(self, epsilon: float, n: int) -> float:
        """Return GES/(ε·n), the error that privacy adds to an estimate from ``n`` rows, up to a constant."""
        return self.gross_error_sensitivity / (positive("epsilon", epsilon) * integer("n", n, least=1, most=2**53))

    def plot(self, ax: Any = None) -> Any:
        """Draw the influence over the points, and return the axes. Needs matplotlib."""
        if ax is None:
            from matplotlib.figure import Figure

            ax = Figure(figsize=(6.0, 3.5), layout="constrained").subplots()
        axes(ax)
        ax.plot(self.points, self.values)
        ax.plot([self.where], [self.values[np.abs(self.values).argmax()]], "o")
        ax.axhline(0.0, linewidth=0.5, color="gray")
        ax.set_xlabel("x")
        ax.set_ylabel(f"influence at scale {self.scale:.3g}")
        ax.set_title(f"gross error sensitivity {self.gross_error_sensitivity:.4g}")
        return ax

    def __repr__(self) -> str:
        return (
            f"<influence at scale {self.scale:.3g}, exact and NOT PRIVATE: at most "
            f"{self.gross_error_sensitivity:.6g} in size, at {self.where:.6g}>"
        )


def influence(
    estimator: str | Estimator,
    rows: ArrayLike,
    *,
    bounds: tuple[float, float],
    scale: float | None = None,
    epsilon: float | None = None,
    n: int | None = None,
    candidates: ArrayLike | None = None,
    **options: Any,
) -> Influence:
    """Return the influence of points on an estimator. NOT PRIVATE: for public or synthetic rows only.

    Parameters
    ----------
    estimator : str or callable
        ``"mean"``, ``"median"``, ``"trimmed"`` or ``"huber"``; or a function of rows and weights that returns a number.
    rows : array of one dimension
        Public rows: published, made up, or drawn from a released model. The result shows them exactly.
    bounds : (low, high)
        The bounds of the rows; the supremum is over this interval.
    scale : float
        ρ, above 0 and below 1.
    epsilon : float
        In place of ``scale``: then ρ = 1/(ε·n).
    n : int
        The future number of rows; by default that of ``rows``.
    candidates : array
        The points to evaluate, in place of a grid.
    **options
        For a named estimator: ``trim`` of the trimmed mean, ``k`` of the Huber location.

    Returns
    -------
    Influence

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=1000)
    >>> mean = influence("mean", rows, bounds=(-100, 100), epsilon=1.0)
    >>> median = influence("median", rows, bounds=(-100, 100), epsilon=1.0)
    >>> round(mean.gross_error_sensitivity), abs(mean.where), median.gross_error_sensitivity < 5.0
    (100, 100.0, True)
    >>> median.extra_error(1.0, 1000) < 0.005
    True
    """
    if isinstance(rows, Curator | Records | str):
        raise ArgumentError(
            "rows",
            UNSHOWN,
            f"an array of public rows, got a {type(rows).__name__}; what is computed here is exact and not private, "
            "so write for example rows=density(...).sample(1000)",
        )
    compute = _find_estimator(estimator, options)
    x = as_numbers(rows, "rows")
    if x.ndim != 1 or not len(x) or not np.all(np.isfinite(x)):
        raise ArgumentError("rows", UNSHOWN, f"at least one finite number in one dimension, got shape {x.shape}")
    column = read_pair("bounds", bounds, "of the rows; write for example bounds=(0, 120)")
    low, high = column.low, column.high
    rho = _scale(scale, epsilon, len(x) if n is None else integer("n", n, least=1, most=2**53))
    points = _candidates(candidates, x, low, high)
    inside = np.clip(x, low, high)
    both = np.append(inside, 0.0)
    weights = np.append(np.full(len(x), (1.0 - rho) / len(x)), rho)
    estimate = float(compute(inside, np.full(len(x), 1.0 / len(x))))
    values = np.empty(len(points))
    for place, point in enumerate(points):
        both[-1] = point
        values[place] = (float(compute(both.copy(), weights.copy())) - estimate) / rho
    return Influence(points, values, estimate, rho)


def gross_error_sensitivity(estimator: str | Estimator, rows: ArrayLike, **arguments: Any) -> float:
    """Return the gross error sensitivity, sup_x |IF_ρ(x)|. NOT PRIVATE: for public or synthetic rows only.

    Parameters
    ----------
    estimator, rows, **arguments
        As for ``influence``, whose result also has the point where it is attained.

    Examples
    --------
    >>> rows = np.linspace(-1.0, 1.0, 1001)
    >>> round(gross_error_sensitivity("mean", rows, bounds=(-1, 1), scale=0.01), 6)
    1.0
    """
    return influence(estimator, rows, **arguments).gross_error_sensitivity


def _find_estimator(estimator: str | Estimator, options: dict[str, Any]) -> Estimator:
    if callable(estimator):
        if options:
            raise ValueError(f"{next(iter(options))}: expected no option, since the estimator is a function")
        return estimator
    name = choice("estimator", estimator, ESTIMATORS)
    takes = {"trimmed": "trim", "huber": "k"}.get(name)
    if options.keys() - {takes}:
        raise ValueError(f"{next(iter(options))}: expected {takes or 'no'} option for estimator={name!r}")
    if "trim" in options and not probability("trim", options["trim"]) < 0.5:
        raise ArgumentError("trim", options["trim"], "a share below 0.5")
    if options.get("k") is not None:
        positive("k", options["k"])
    return partial(ESTIMATORS[name], **options) if options else ESTIMATORS[name]


def _scale(scale: float | None, epsilon: float | None, n: int) -> float:
    if (scale is None) == (epsilon is None):
        raise ArgumentError(("scale", "epsilon"), (scale, epsilon), "one of them", write="for example epsilon=1.0")
    rho = 1.0 / (positive("epsilon", epsilon) * n) if scale is None else positive("scale", scale)
    if not rho < 1.0:
        given = f"scale={format_value(scale)}" if epsilon is None else f"epsilon={format_value(epsilon)}, n={n}"
        raise ValueError(f"{given}: expected a scale ρ = 1/(ε·n) below 1, got {rho:.3g}")
    return rho


def _candidates(candidates: ArrayLike | None, rows: Array, low: float, high: float) -> Array:
    if candidates is None:
        own = np.quantile(np.clip(rows, low, high), np.linspace(0.0, 1.0, 101))
        return np.unique(np.concatenate([np.linspace(low, high, GRID), own]))
    points = np.unique(as_numbers(candidates, "candidates"))
    if points.ndim != 1 or not len(points) or not np.all((points >= low) & (points <= high)):
        raise ArgumentError("candidates", UNSHOWN, "points within the bounds, at least one")
    return points
