"""``SeriesPosterior``: the totals of a private series given its releases, with a model of how totals go on.

The releases are public linear maps of the series with noise, and the model is a linear Gaussian state: a level that
moves, and totals that scatter around it (``signals.state_space``). Where a fit had its model declared, that one is
used. Otherwise the standard deviations of movements and of scatter are unknown, each half-Cauchy with the noise's
standard deviation as its scale, and nothing is known of where the series begins.

Variances are drawn on a grid, where noise is Gaussian and they are at most two. Where each number is the total of a
step, chains draw states by a Kalman smoother and variances in turn, for any number of them, and Laplace noise is exact:
it is normal with an exponential variance, drawn as well. Laplace noise of other sums counts by its variance: there the
noise of a total is a sum of many.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import UNSHOWN, ArgumentError, axes
from discreet.door import Release
from discreet.door.release import describe_rows_of_releases
from discreet.inference.evolution import CHAINS, group_chains, propose
from discreet.inference.posterior import Diagnostics, PosteriorDraws, diagnose, to_data_tree
from discreet.inference.series.linear_sums import GivenVariances, LinearSums, weigh_grid
from discreet.inference.series.state_paths import StatePaths, Variances, find_root, half_cauchy, wide_start
from discreet.queries.series.operators import Identity, Picked, Toeplitz
from discreet.queries.series.series_sums import ColumnSums, SeriesQuery
from discreet.signals import FilteredSignal, Signal, StateSpace
from discreet.signals.state_space import local_level

Array = NDArray[np.float64]

MOST_STEPS, MOST_SUMMED = 2000, 500  # of a series, by either way
WARMUP = 50  # draws of all chains
TURNS = 6  # of the standard deviations, for each draw
NAMES = ("level_sd", "slope_sd", "total_sd")


@dataclass(frozen=True, eq=False)
class ReleasedSums:
    """What was released of a series: some linear sums, and their noise."""

    operator: Any
    values: Array
    variances: Array
    normal: bool


@dataclass(frozen=True, eq=False, repr=False)
class SeriesPosterior(PosteriorDraws):
    """Draws of a series given its releases.

    ``names``: ``totals``, the sum of these rows in each step; ``sums``, those up to each step; ``level``, around which
    totals scatter in the model; and where the model was not declared, the standard deviations ``level_sd`` and
    ``slope_sd`` of its movements and ``total_sd`` of the scatter.

    Attributes
    ----------
    times : array
        The times at which the steps begin.
    """

    times: Array

    def plot(self, name: str = "totals", *, level: float = 0.9, ax: Any = None) -> Any:
        """Draw the mean and the intervals of a series over time, or of another quantity, and return the axes."""
        if name not in ("totals", "sums", "level"):
            return super().plot(name, level=level, ax=ax)
        low, high = self.interval(name, level)
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots()[1]
        axes(ax)
        ax.fill_between(self.times, low, high, step="post", alpha=0.25, linewidth=0, label=f"{level:.0%} interval")
        ax.step(self.times, self.mean(name), where="post", label=f"posterior mean of {name}")
        ax.set_xlabel("time")
        ax.legend()
        return ax


def infer_series(source: Signal | Release, chains: int, draws: int, seed: int | None) -> SeriesPosterior:
    """Return the posterior of a series.

    Parameters
    ----------
    source : Signal or Release
    chains, draws : int
        The shape of the draws.
    seed : int or None
    """
    releases = (source,) if isinstance(source, Release) else source.releases
    questions = [_read_question(release) for release in releases]
    sums = _read_sums(releases, questions)
    fitted = source.model if isinstance(source, FilteredSignal) else None
    declared, near = (None, fitted) if getattr(source, "estimated", True) else (fitted, None)
    rng = np.random.default_rng(secrets.randbits(64) if seed is None else seed)
    unit = math.sqrt(float(np.median(sums.variances)))
    model = _ScaledModel(declared, near, unit)
    members = CHAINS // chains * chains if chains <= CHAINS else chains
    kept = -(-chains * draws // members)
    places = _single_steps(sums.operator)
    small = sums.normal and len(model.unknown) < 3 and sums.operator.count <= MOST_SUMMED
    if places is not None and not small:
        level, totals, logs = _draw_paths(model, sums, places, members, kept, rng)
        sampler = "gibbs" if model.unknown or not sums.normal else "independent"
    else:
        level, totals, logs = _draw_sums(model, sums, members * kept, rng)
        level, totals, logs = (part.reshape(members, kept, *part.shape[1:]) for part in (level, totals, logs))
        sampler = "grid" if model.unknown else "independent"
    level, totals = (group_chains(part * unit, chains)[:, :draws] for part in (level, totals))
    values: dict[str, Any] = {"totals": totals, "sums": np.cumsum(totals, axis=2), "level": level}
    spreads = group_chains(np.exp(logs) * unit, chains)[:, :draws]
    values |= {name: spreads[:, :, j] for j, name in enumerate(model.unknown)}
    question = questions[0]
    start, stop = getattr(question, "start", 0.0), getattr(question, "stop", None)
    count = question.operator.count
    times = np.linspace(start, float(count) if stop is None else stop, count + 1)[:-1]
    which = describe_rows_of_releases(releases)
    likelihood = "exact" if sums.normal or places is not None else "normal"
    facts: dict[str, Any] = {"likelihood": likelihood, "sampler": sampler, "neighbors": releases[0].neighbors.value}
    facts |= {} if which is None else {"which_rows": which}
    dims = {name: ["time"] for name in ("totals", "sums", "level")}
    tree = to_data_tree(values, np.zeros((chains, draws), dtype=bool), dims, {"time": times.tolist()}, facts)
    if sampler == "gibbs":
        found = diagnose(tree, 1.0, sampler, math.nan, own_model=False, remarks=())
    else:
        found = Diagnostics(1.0, float(chains * draws), 0, chains * draws, 1.0, sampler, own_model=False)
    guarantee = None if isinstance(source, Release) else source.guarantee
    return SeriesPosterior(tree, likelihood, found, guarantee, times, which_rows=which).warn()


def _read_question(release: Release) -> SeriesQuery:
    """Return the question of a release of a series."""
    question = release.question
    if release.mechanism != "additive" or not isinstance(question, SeriesQuery) or release.noise is None:
        raise ArgumentError(
            "releases",
            UNSHOWN,
            f"sums of a series with noise, but {release.query!r} was drawn by looking at the series: how many "
            "coefficients to keep depends on those that are not released",
            write="kalman(…), running_sum(…), or fourier(…) with coefficients=…",
        )
    return question


def _read_sums(releases: tuple[Release, ...], questions: list[SeriesQuery]) -> ReleasedSums:
    """Return all sums together; those of persons are moved back from the middle of their bounds."""
    values = []
    for release, question in zip(releases, questions, strict=True):
        middle = question.middle if isinstance(question, ColumnSums) else None
        moved = 0.0 if middle is None else question.operator.apply((release.size.rows or 0) * middle)
        values.append(release.value + moved)
    noises = [release.noise for release in releases]
    variances = [np.full(v.size, noise.variance) for v, noise in zip(values, noises, strict=True) if noise is not None]
    operator = questions[0].operator
    if len(questions) > 1:  # one step each
        steps = [step for one in questions for step in _single_steps(one.operator) or ()]
        order = np.argsort(steps)
        operator = Picked(operator.count, tuple(int(steps[place]) for place in order))
        values = [np.concatenate(values)[order]]
    normal = all(noise is not None and noise.normal for noise in noises)
    return ReleasedSums(operator, np.concatenate(values), np.concatenate(variances), normal)


def _single_steps(operator: Any) -> list[int] | None:
    """Return the steps that the released numbers are the totals of; None where they are other sums."""
    if isinstance(operator, Picked):
        return list(operator.places)
    if isinstance(operator, Identity):
        return list(range(operator.count))
    if isinstance(operator, Toeplitz) and operator.coefficients[0] == 1.0 and not np.any(operator.coefficients[1:]):
        return list(range(operator.count))
    return None


class _ScaledModel:
    """A state-space model in units of the noise, whose standard deviations may be unknown."""

    def __init__(self, declared: StateSpace | None, near: StateSpace | None, unit: float) -> None:
        self._declared, self._near, self._unit = declared, near, unit
        form = declared or near or local_level(1.0)
        self.transition, self.row = np.asarray(form.transition), np.asarray(form.observation[0])
        self.unknown = () if declared is not None else (*NAMES[: form.states], NAMES[2])
        self.start: tuple[Array, Array] | None = None
        if declared is not None and declared.initial_covariance is not None:
            self.start = np.asarray(declared.initial_mean) / unit, np.asarray(declared.initial_covariance) / unit**2

    def guess(self) -> Array:
        """Return logarithms of standard deviations near those of a fit, or of the noise's."""
        if self._near is None or not self.unknown:
            return np.zeros(len(self.unknown))
        found = np.append(np.diag(self._near.process), self._near.measurement) / self._unit**2
        return np.asarray(0.5 * np.log(np.maximum(found, 0.1)))

    def process(self, logs: Array) -> Array:
        """Return Q, given logarithms of standard deviations."""
        if self._declared is not None:
            return np.asarray(self._declared.process) / self._unit**2
        return np.diag(np.exp(2.0 * logs[:-1]))

    def scatter(self, logs: Array) -> float:
        """Return R."""
        if self._declared is not None:
            return self._declared.measurement / self._unit**2
        return math.exp(2.0 * logs[-1])

    def variances(self, logs: Array) -> Variances:
        """Return the variances of each chain, given logarithms of shape (chains, unknown)."""
        if self._declared is not None:
            root = np.tile(find_root(self.process(logs)), (len(logs), 1, 1))
            return Variances(root, np.full(len(logs), self.scatter(logs)))
        return Variances(np.exp(logs[:, :-1, None]) * np.eye(logs.shape[1] - 1), np.exp(2.0 * logs[:, -1]))


def _draw_paths(
    model: _ScaledModel, sums: ReleasedSums, places: list[int], chains: int, kept: int, rng: np.random.Generator
) -> tuple[Array, Array, Array]:
    """Return levels, totals and logarithms of standard deviations, of shape (chains, kept, …)."""
    T = _check_length(sums, MOST_STEPS)
    unit = math.sqrt(float(np.median(sums.variances)))
    series, noise = np.zeros(T), np.ones(T)
    measured = np.isin(np.arange(T), places)
    series[places], noise[places] = sums.values / unit, sums.variances / unit**2
    start = model.start or wide_start(model.transition, model.row, series, measured)
    paths = StatePaths(model.transition, model.row, *start, model.start is not None, measured)
    logs = model.guess() + rng.normal(0.0, 1.0, (chains, len(model.unknown)))
    around, tau = series - paths.offset, np.tile(noise, (chains, 1))
    moving = bool(model.unknown) or not sums.normal

    def height(logs: Array, tau: Array) -> Array:
        run = paths.filter(np.tile(around, (len(tau), 1)), tau, model.variances(logs))
        return run.log_likelihood + half_cauchy(logs)

    def steps() -> Iterator[tuple[Array, Array, Array]]:
        nonlocal tau
        while True:
            for first in (True, False) * TURNS if model.unknown else ():
                half, proposed = propose(logs, first, rng)
                both = height(np.concatenate([proposed, logs[half]]), np.concatenate([tau[half]] * 2))
                taken = np.log(rng.random(len(half))) < both[: len(half)] - both[len(half) :]
                logs[half[taken]] = proposed[taken]
            level, totals = paths.draw(series, tau, model.variances(logs), rng)
            if not sums.normal:  # e is normal of variance τ, τ exponential of mean σ²
                rate = np.sqrt(2.0 / noise)
                missed = np.maximum(np.abs(series - totals), 1e-12)
                tau = np.where(measured, 1.0 / np.maximum(rng.wald(rate / missed, rate**2), 1e-12), noise)
            yield level, totals, logs.copy()

    run = steps()
    for _ in range(WARMUP if moving else 0):
        next(run)
    level, totals, found = (np.stack(part, axis=1) for part in zip(*(next(run) for _ in range(kept)), strict=True))
    return level, totals, found


def _draw_sums(
    model: _ScaledModel, sums: ReleasedSums, count: int, rng: np.random.Generator
) -> tuple[Array, Array, Array]:
    """Return levels, totals and logarithms of standard deviations, of shape (count, …)."""
    T = _check_length(sums, MOST_SUMMED)
    sizes = np.sqrt(sums.variances)
    operator = sums.operator.matrix / sizes[:, None]
    unit = float(np.median(sizes))
    linear = LinearSums(operator * unit, model.transition, model.row, model.start, sums.values / sizes)
    if not model.unknown:
        none = np.zeros(0)
        process = model.process(none)
        level, totals = linear.draw(linear.spread(process), process, model.scatter(none), count, rng)
        return level, totals, np.zeros((count, 0))
    states = len(model.row)
    parts = [linear.spread(np.diag(np.eye(states)[j])) for j in range(states)]

    def levels(logs: Array) -> Array:
        return np.asarray(sum(math.exp(2.0 * one) * part for one, part in zip(logs, parts, strict=False)))

    def log_density(logs: Array) -> float:
        with np.errstate(over="ignore"):
            covariance = levels(logs) + model.scatter(logs) * np.eye(T)
        return GivenVariances(linear, covariance).log_likelihood + float(half_cauchy(logs))

    rough = np.linalg.lstsq(linear.operator, linear.sums, rcond=None)[0]
    top = math.log(10.0 * (1.0 + float(np.abs(np.diff(rough)).max(initial=0.0))))
    points, weights, widths = weigh_grid(log_density, len(model.unknown), top)
    chosen = rng.choice(len(points), size=count, p=weights)
    level, totals = np.empty((count, T)), np.empty((count, T))
    for point in np.unique(chosen):
        here, logs = chosen == point, points[point]
        level[here], totals[here] = linear.draw(
            levels(logs), model.process(logs), model.scatter(logs), int(here.sum()), rng
        )
    return level, totals, points[chosen] + widths * rng.uniform(-0.5, 0.5, (count, len(widths)))


def _check_length(sums: ReleasedSums, most: int) -> int:
    """Return T; raise where there are too many steps."""
    count = int(sums.operator.count)
    if count > most:
        raise ArgumentError(
            "releases",
            UNSHOWN,
            f"a series of at most {most} steps, got {count}; release it in fewer steps, such as weeks for days",
        )
    return count
