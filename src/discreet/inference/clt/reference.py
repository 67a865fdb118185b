"""The reference point: parameters near the mode of the posterior, and its width there, by Fisher scoring.

Each step draws rows at the parameters so far (``local``) and moves them by

    H⁻¹·(nJᵀW⁻¹(z − n·m) + ∇ln prior),    H = n²JᵀW⁻¹J + the prior's and the public rows' information,

no farther than rows from the one and from the other model can well be told apart (a Kullback-Leibler divergence of
``FARTHEST`` a row), nor than ``LONGEST`` in any coordinate, so that the slope still means something. The parameters
that come out need not be the mode to the last digit: what follows is exact wherever it starts, and only cheaper from
near by.

Where the number of rows N is not public, ln N is one more coordinate, with a flat prior.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import jax
import numpy as np
from numpy.typing import NDArray

from discreet.arguments import UNSHOWN, ArgumentError
from discreet.inference.clt.local_moments import LocalMoments, local_moments
from discreet.inference.measurements import Measurements
from discreet.inference.rows.layout import Rows
from discreet.inference.rows.row_model import RowModel, double_precision

Array = NDArray[np.float64]

SEARCH = 4096  # rows that a step draws
REFINED, PRODUCTS = 32768, 1e11  # rows of the last steps, and the multiplications that these may take
MOST_STEPS, LAST_STEPS = 60, 2
FARTHEST, LONGEST = 0.25, 0.5
NEAR = 0.05  # of a posterior standard deviation, squared, a coordinate
CANDIDATES, FEW = 64, 256  # draws from the prior, to start from the best of them, and rows of each
LEAST_EIGENVALUE = 1e-9


@dataclass(frozen=True, eq=False)
class Problem:
    """What is inferred from what.

    Attributes
    ----------
    model : RowModel
    measured : Measurements
    rows : float or None
        The number of rows, where it is public or given.
    public : Rows or None
        Rows that anybody may see, beside those of the measurements.
    """

    model: RowModel
    measured: Measurements
    rows: float | None
    public: Rows | None = None

    @property
    def size(self) -> int:
        """How many coordinates there are: those of v, and ln N where N is not known."""
        return self.model.size + (self.rows is None)

    def split(self, w: Array) -> tuple[Array, float]:
        """Return v and N."""
        return (w, self.rows) if self.rows is not None else (w[:-1], math.exp(w[-1]))

    def prior_and_public(self, v: Array) -> tuple[Array, Array]:
        """Return the gradient of ln prior and of the public rows' ln likelihood, and their information."""
        gradient = self.model.call("prior_slope", v)
        curvature = -self.model.call("prior_curvature", v)
        values, vectors = np.linalg.eigh((curvature + curvature.T) / 2.0)
        information = (vectors * np.maximum(values, LEAST_EIGENVALUE)) @ vectors.T
        if self.public is not None:
            scores = np.nan_to_num(self.model.call("scores", v, self.public))
            gradient, information = gradient + scores.sum(axis=0), information + scores.T @ scores
        return np.nan_to_num(gradient), information


@dataclass(frozen=True, eq=False)
class Reference:
    """Parameters, and the posterior's width at them.

    Attributes
    ----------
    w : array
        v, and ln N where it is not known.
    precision : array
        H.
    at : LocalMoments
        The expectations at v.
    projection : array of shape (dimension of w, D)
        JᵀW⁻¹: what of the measurements tells the coordinates apart, as well as all of them do near w.
    """

    w: Array
    precision: Array
    at: LocalMoments
    projection: Array

    @property
    def root(self) -> Array:
        """A matrix L with LLᵀ = H⁻¹."""
        values, vectors = np.linalg.eigh(self.precision)
        return np.asarray(vectors / np.sqrt(values))


def find_reference(problem: Problem, start: Array | None, seed: int) -> Reference:
    """Return parameters near the mode, from a start or from the best of some draws of the prior."""
    v = start if start is not None else _best_of_the_prior(problem, seed)
    w = v if problem.rows is not None else np.append(v, _first_guess(problem, v, seed))
    for step in range(MOST_STEPS):
        w, close = _step(problem, w, SEARCH, seed + step)
        if close:
            break
    last = min(max(SEARCH, int(PRODUCTS / problem.measured.value.size**2)), REFINED)
    for step in range(LAST_STEPS):
        w, _ = _step(problem, w, last, seed + MOST_STEPS + step)
    if not math.isfinite(float(problem.model.call("log_prior", problem.split(w)[0]))):
        raise ArgumentError(
            "model",
            UNSHOWN,
            "a prior, with its factors, that is positive where the releases point; it is 0 or no number there",
            write="start=… where it is positive, or look at the model's factors",
        )
    return _scored(problem, w, last, seed + MOST_STEPS + LAST_STEPS)[0]


def _step(problem: Problem, w: Array, draws: int, seed: int) -> tuple[Array, bool]:
    """Return w after a step, and whether it was near already, as far as so many rows can tell."""
    result, move = _scored(problem, w, draws, seed)
    p = problem.model.size
    away = 0.5 * float(move[:p] @ result.at.fisher @ move[:p])
    longest = float(np.abs(move).max())  # along what rows hardly tell, the divergence alone would let it go anywhere
    scale = min(1.0, math.sqrt(FARTHEST / max(away, 1e-300)), LONGEST / max(longest, LONGEST))
    near = float(move @ result.precision @ move) < NEAR * w.size or 0.0 < away < w.size / draws
    return w + scale * move, scale == 1.0 and near


def _scored(problem: Problem, w: Array, draws: int, seed: int) -> tuple[Reference, Array]:
    """Return what is known at w, and the step of Fisher scoring from it."""
    v, rows = problem.split(w)
    at = local_moments(problem.model, problem.measured, v, draws, seed)
    slope = at.slope if problem.rows is not None else np.column_stack([at.slope, at.mean])  # over N
    gradient, information = problem.prior_and_public(v)
    if problem.rows is None:
        gradient, information = np.append(gradient, 0.0), np.pad(information, (0, 1))
        information[-1, -1] = LEAST_EIGENVALUE  # ln N has a flat prior
    noisy = rows * at.covariance + np.diag(problem.measured.variances)
    projection: Array = np.asarray(np.linalg.solve(noisy, slope).T, dtype=np.float64)
    precision = rows * rows * projection @ slope + information
    gradient = gradient + rows * projection @ (problem.measured.value - rows * at.mean)
    reference = Reference(w, (precision + precision.T) / 2.0, at, projection)
    return reference, np.asarray(np.linalg.solve(reference.precision, gradient), dtype=np.float64)


def _first_guess(problem: Problem, v: Array, seed: int) -> float:
    """Return ln N that explains the measurements best at v."""
    at = local_moments(problem.model, problem.measured, v, SEARCH, seed)
    weights = 1.0 / problem.measured.variances
    result = float((weights * at.mean) @ problem.measured.value / ((weights * at.mean) @ at.mean))
    return math.log(max(result, 1.0))


def _best_of_the_prior(problem: Problem, seed: int) -> Array:
    """Return the draw from the prior at which the measurements are likeliest."""
    with double_precision():
        keys = jax.random.split(jax.random.key(seed), CANDIDATES)
        draws = [problem.model.call("prior_draw", key) for key in keys]
    points = problem.model.points
    all_there_are = None if points is None else problem.measured.contributions(points)
    likelihoods = [_likelihood(problem, v, seed + i, all_there_are) for i, v in enumerate(draws)]
    return np.asarray(draws[int(np.argmax(likelihoods))])


def _likelihood(problem: Problem, v: Array, seed: int, c: Array | None) -> float:
    """Return about the log-likelihood at v, from what all rows contribute, or few rows that are drawn."""
    model, measured = problem.model, problem.measured
    if not np.all(np.isfinite(v)):
        return -math.inf
    if c is None:
        weights, c = np.full(FEW, 1.0 / FEW), measured.contributions(model.draw(v, FEW, seed))
    else:
        weights = np.exp(model.call("log_rows", v, model.points))
    mean = weights @ c
    variance = weights @ (c - mean) ** 2
    rows = problem.rows if problem.rows is not None else math.exp(_first_guess(problem, v, seed))
    spread = rows * variance + measured.variances
    if model.points is None:
        spread = spread + rows * rows * variance / FEW
    public = 0.0 if problem.public is None else float(model.call("log_rows", v, problem.public).sum())
    result = public - 0.5 * float(((measured.value - rows * mean) ** 2 / spread + np.log(spread)).sum())
    return result if math.isfinite(result) else -math.inf
