"""The private density of one column, smooth or as a histogram: at least 0 and with integral 1.

There are three methods. Each is one release with additive noise, and post-processing. The proofs are in
``queries.counts.grids`` and ``queries.moments.cosines``; ``density_estimates`` has the rules for defaults and the
estimates from a release.

- ``"smooth"`` (the default) estimates the density's coefficients in a cosine basis and shrinks them. With Gaussian
  noise (δ > 0) sums of cosines are released, with less noise on the low frequencies. At δ = 0 the L1 norm of many
  cosines is too large. There the counts of fine bins are released, whose noise does not grow with their number, and
  the coefficients are computed from them.
- ``"histogram"``: the counts of bins (Wasserman and Zhou 2010), denoised by thresholding in a Haar basis unless
  ``denoise=False``.
- ``"functional"``: the kernel density of Hall, Rinaldo and Wasserman (2013), which adds a Gaussian process to the
  function. It follows the paper, except that the constant gets no noise where the number of rows is public. It needs
  δ > 0.

At the same ε the Laplace noise of δ = 0 is the smaller one here. Gaussian noise composes better with other releases.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from discreet.arguments import ArgumentError, axes, choice, integer, positive, probability
from discreet.door import Declarations, Release
from discreet.door.inquiry import Inquiry
from discreet.noise import Bits
from discreet.plots.plot import matplotlib_part
from discreet.queries.moments.cosines import MOST_COSINES, Cosines, heat_weights, power_weights
from discreet.queries.question import Query
from discreet.scales import ColumnScale, as_days
from discreet.statistics.density.density_estimates import (
    DensityEstimate,
    choose_bandwidth,
    choose_bins,
    choose_cosines,
    choose_fine_bins,
    from_fine_bins,
    from_histogram,
    from_sums,
)
from discreet.statistics.density.piecewise import Piecewise
from discreet.statistics.request import ColumnRequest, Request, grid_query, noise_variance, planning_rows, statistic
from discreet.statistics.statistic_plots import interval_text
from discreet.statistics.tabled_answer import TabledAnswer

Array = NDArray[np.float64]

METHODS = ("smooth", "histogram", "functional")


@dataclass(frozen=True, eq=False, repr=False)
class Density(TabledAnswer):
    """The private density of a column: call it with points.

    Attributes
    ----------
    value : ndarray
        The heights at ``grid()``.
    curve : Piecewise
        The density on the measured scale: of logarithms for a log column, of days since 1970-01-01 for dates.
    column : str
    before : ndarray
        The estimate at the points of the grid before it was projected to be at least 0 with integral 1 (and, for a
        histogram, before denoising).
    noise : ndarray
        The standard deviation of the noise in ``before``.
    factors : ndarray
        The factors by which the kernel or shrinkage multiplied the cosine coefficients; empty for a histogram.
    """

    curve: Piecewise
    column: str
    before: Array
    noise: Array
    factors: Array
    _points: Array
    _mixed: bool
    _scale: ColumnScale

    def __call__(self, points: ArrayLike) -> Array:
        """Return the density at points in the column's own units (dates, or days); 0 outside the declared bounds."""
        own = self._own(points)
        heights = self.curve.density(self._scale.to_values(own))
        if self._scale.kind != "log":
            return heights
        return np.where(own > 0.0, heights / np.where(own > 0.0, own, 1.0), 0.0)[()]

    def _own(self, points: Any) -> Array:
        """Return points as numbers in the column's own units."""
        if self._scale.kind == "date":
            return as_days(points)
        return np.asarray(points, dtype=np.float64)

    def distribution(self, points: ArrayLike) -> Array:
        """Return the distribution function: the share of rows below each point."""
        if self._scale.kind != "date" and np.asarray(points).dtype.kind not in "biuf":
            raise ArgumentError("points", points, "numbers")
        own = self._own(points)
        if self._scale.kind == "log":
            own = np.where(own > 0.0, own, np.where(np.isnan(own), own, self._scale.own_ends[0]))
        return self.curve.distribution(self._scale.to_values(own))

    def quantile(self, q: ArrayLike) -> Array:
        """Return the quantiles of the density at levels ``q``; for dates in days since 1970-01-01."""
        try:
            shares = np.asarray(q, dtype=np.float64)
        except (TypeError, ValueError):
            shares = np.full(1, np.nan)
        if not np.all((shares >= 0.0) & (shares <= 1.0)):
            raise ArgumentError("q", q, "shares in [0, 1]")
        return self._scale.to_own(self.curve.quantile(shares))[()]

    def sample(self, n: int, rng: np.random.Generator | None = None) -> NDArray[Any]:
        """Return ``n`` synthetic values, dates as ``datetime64[D]``; any number of them costs nothing more."""
        if not isinstance(rng, np.random.Generator | None):
            raise ArgumentError("rng", rng, "numpy.random.default_rng(…), or None")
        uniform = (rng or np.random.default_rng()).random(integer("n", n, least=0))
        return self._scale.as_rows(np.atleast_1d(self.curve.quantile(uniform)))

    def grid(self) -> tuple[Array, Array]:
        """Return the points at which the density was estimated, and the density there."""
        return self._points, self.value

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Return an interval at each point of ``grid()``, around ``before``.

        Each interval holds, with probability ``level``, the value that the same smoothing would have given without
        noise. It does not account for clipping, smoothing, or how these people were sampled. For a histogram, and for
        "functional" with a public number of rows, the probability is exact. Otherwise it is approximate: "smooth" takes
        the factors as given, though they depend on the noise, and a private number of rows enters to first order.
        """
        noise = self.release.noise
        assert noise is not None  # every release here is additive
        width = noise.half_width(level) / math.sqrt(noise.variance)
        if self._mixed:  # a sum of many Laplace draws: its tails lie between those of one draw and of a normal
            width = max(width, -float(ndtri((1.0 - level) / 2.0)))
        return self.before - width * self.noise, self.before + width * self.noise

    def table(self, level: float = 0.95) -> list[dict[str, Any]]:
        """Return a row for each point of ``grid()``: the density there, and its interval, which is at least 0.

        An interval is that of ``interval``, extended to hold the density that is shown.
        """
        low, high = (np.maximum(end, 0.0) for end in self.interval(probability("level", level)))
        columns = (self._points, self.value, np.minimum(low, self.value), np.maximum(high, self.value))
        name = f"column {self.column}" if self.column in ("value", "low", "high", "which_rows") else self.column
        return [
            {name: self._scale.shown(point), "value": value, "low": least, "high": most} | self._about_rows()
            for point, value, least, most in zip(*(one.tolist() for one in columns), strict=True)
        ]

    def plot(self, *, level: float = 0.95, ax: Any = None) -> Any:
        """Draw the density with a band of its intervals, and return the axes. Needs matplotlib."""
        low, high = (np.maximum(end, 0.0) for end in self.interval(probability("level", level)))
        points: Any = self._scale.as_rows(self._points) if self._scale.kind == "date" else self._points
        if ax is None:
            ax = matplotlib_part("figure").Figure(figsize=(6.4, 4.0), layout="constrained").subplots()
        axes(ax)
        band = np.minimum(low, self.value), np.maximum(high, self.value)
        ax.fill_between(points, *band, alpha=0.2, color="C0", linewidth=0)
        ax.plot(points, self.value, color="C0")
        unit = "" if self._scale.kind != "date" else " a day"
        ax.set(xlabel=self.column.replace("$", r"\$"), ylabel=f"density{unit}", ylim=(0.0, None))
        ax.set_title(interval_text(level, "rows"), fontsize="small")
        if unit:
            ax.tick_params(axis="x", labelrotation=30)
        return ax

    def _shown(self) -> str:
        low, high = self.curve.edges[[0, -1]]
        ends = [self._scale.shown(float(end)) for end in self._scale.to_own([low, high])]
        low_text, high_text = (end if isinstance(end, str) else f"{end:.6g}" for end in ends)
        return f"density of {self.column} over [{low_text}, {high_text}]"


@dataclass(frozen=True, kw_only=True)
class DensityRequest(ColumnRequest[Density]):
    """A request for the density of a column.

    Attributes
    ----------
    method, bandwidth, bins, denoise
        As in ``density``.
    guess : int or None
        A public guess of the number of rows.
    """

    method: str
    bandwidth: float | None
    bins: int | None
    denoise: bool
    guess: int | None

    argument: ClassVar[str] = "column"
    one: ClassVar[bool] = True

    def __post_init__(self) -> None:
        delta = self.guarantee.delta
        if self.bins is not None and (self.method == "functional" or (self.method == "smooth" and delta)):
            raise ArgumentError("bins", self.bins, "None where cosines are summed", write="method='histogram'")
        if self.method == "functional" and not delta:
            raise ArgumentError("delta", delta, "one above 0 for a Gaussian process", write="for example delta=1e-6")

    def plan(self) -> Inquiry[Density]:
        """Return one question, for counts of bins or for sums of cosines."""
        curator, (number,), (scale,) = self.curator, self.places, self.scales
        rows, plan = planning_rows(curator, self.guess), grid_query(curator.space, [number], [2])
        variance = noise_variance(curator, plan, self.losses[0])
        if self.method == "histogram" or not self.guarantee.delta:
            fine = self.method == "smooth"
            least, most = (4, 2**11) if fine else (2, 2**16)
            default = choose_fine_bins(rows, variance) if fine else choose_bins(rows, variance)
            count = default if self.bins is None else integer("bins", self.bins, least=least, most=most)
            made = from_fine_bins if fine else partial(from_histogram, denoise=self.denoise)
            return self._estimate(grid_query(curator.space, [number], [count]), made)
        noise = math.sqrt(variance / plan.bound.sensitivity("l2", curator.neighbors) ** 2)
        width = _width(self.bandwidth, scale, choose_bandwidth(rows, noise))
        functional = self.method == "functional"
        weights = heat_weights(width) if functional else power_weights(choose_cosines(rows, noise))
        sums = Cosines(curator.space, number, weights, 1.0 if curator.size.rows is None else 0.0)
        return self._estimate(sums, partial(from_sums, weights=np.asarray(weights), functional=functional))

    def _estimate(self, question: Query, estimate: Callable[[Release], DensityEstimate]) -> Inquiry[Density]:
        """Return the inquiry that asks one question and estimates the density from its release."""
        return self.make_inquiry([question], lambda measure: self._answer(measure(question), estimate))

    def _answer(self, release: Release, estimate: Callable[[Release], DensityEstimate]) -> Density:
        made, (scale,) = estimate(release), self.scales
        low, high = scale.low, scale.high
        curve, points = made.curve(low, high)
        own = scale.to_own(points)
        jacobian = (high - low) * (own if scale.kind == "log" else 1.0)  # dx = x·d(log x)
        return Density.from_releases(
            curve.density(points) * (high - low) / jacobian,
            self.curator,
            self.guarantee,
            [release],
            curve=curve,
            column=scale.name,
            before=made.before / jacobian,
            noise=made.noise / jacobian,
            factors=made.factors,
            _points=own,
            _scale=scale,
            _mixed=made.mixed,
        )


def _width(bandwidth: float | None, scale: ColumnScale, default: float) -> float:
    """Return the kernel's bandwidth as a share of the column's interval."""
    if bandwidth is None:
        return default
    width = positive("bandwidth", bandwidth) / (scale.high - scale.low)
    if not 2.0 / MOST_COSINES <= width <= 10.0:
        least = 2.0 / MOST_COSINES * (scale.high - scale.low)
        raise ArgumentError("bandwidth", bandwidth, f"at least {least:.3g} and at most ten times the bounds")
    return width


@statistic()
def density(
    data: Any,
    column: str | int | None = None,
    *,
    epsilon: float,
    delta: float = 0.0,
    method: str = "smooth",
    bandwidth: float | None = None,
    bins: int | None = None,
    denoise: bool = True,
    rows: int | None = None,
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Request[Density]:
    """Return the private density of a column.

    For a log column it is estimated over the logarithms and converted to a density of the column itself. For dates it
    is a density over days.

    Parameters
    ----------
    data
        Rows with their bounds, or a Curator; see ``open_rows``.
    column : str or int
        The column; optional where there is only one.
    epsilon, delta : float
        The cost. The noise is Laplace if δ = 0, else Gaussian.
    method : str
        ``"smooth"``, ``"histogram"`` or ``"functional"``; see the module.
    bandwidth : float
        The kernel's bandwidth for "functional", in the column's units (in natural logarithms for a log column, in days
        for dates); by default chosen from public numbers.
    bins : int
        The number of bins, for "histogram", and for "smooth" at δ = 0; by default chosen from public numbers. For whole
        numbers one bin for each possible value is best.
    denoise : bool
        Whether to denoise a histogram by thresholding.
    rows : int
        A public guess of the number of rows for these choices, where it is private; 1000 by default.
    bits : Bits
        Seeded bits, for a test.
    **declared
        What is declared of the rows: bounds or a schema, neighbors, unit; see ``Declarations``.

    Returns
    -------
    Density

    Examples
    --------
    >>> heights = np.random.default_rng(0).normal(170.0, 8.0, 20_000)
    >>> result = density(heights, epsilon=1.0, bounds=(120, 220))
    >>> round(float(result.quantile(0.5)), -1), bool(result(170.0) > 10.0 * result(130.0))
    (170.0, True)
    >>> result.sample(3).shape
    (3,)
    """
    choice("method", method, METHODS)
    if not isinstance(denoise, bool):
        raise ArgumentError("denoise", denoise, "True or False")
    if bandwidth is not None and method != "functional":
        raise ArgumentError("bandwidth", bandwidth, "None, unless method='functional'")
    options: dict[str, Any] = {"method": method, "bandwidth": bandwidth, "bins": bins, "denoise": denoise}
    return DensityRequest.from_columns(data, column, epsilon, delta, declared, bits, **options, guess=rows)
