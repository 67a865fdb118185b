"""Find a reference point, parameters near the mode of the posterior, and the posterior's precision, by Fisher scoring.

Each step estimates the moments at the current parameters from drawn rows (``local_moments``) and adds

    H⁻¹·(nJᵀW⁻¹(z − n·m) + ∇ln prior),    H = n²JᵀW⁻¹J + the information of the prior and of the public rows.

All steps of a search use the same random numbers, so that moves shrink. W, which takes most of the time where many
numbers were released, is computed at the first step, and again only where the search has converged with the last one
or its moves do not shrink. A search whose moves have not shrunk for ``PATIENCE`` steps ends where it is.

The length of a step is limited so that the linearisation stays valid: the Kullback-Leibler divergence between the
models before and after is at most ``MAX_DIVERGENCE`` a row, and no coordinate changes by more than ``MAX_MOVE``. The
reference need not be the exact mode: the likelihood that is built on it is valid for any reference, and only cheaper
near the mode.

Where the number of rows N is not public, ln N is one more coordinate, with a flat prior.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from discreet.arguments import UNSHOWN, ArgumentError
from discreet.inference.clt.local_moments import LocalMoments, compute_local_moments
from discreet.inference.measurements import Measurements
from discreet.inference.rows.layout import Rows
from discreet.inference.rows.row_model import RowModel, double_precision, make_keys
from discreet.statistics.population import largest_clusters

Array = NDArray[np.float64]

SEARCH_ROWS = 4096  # drawn by a step of the search
FINAL_ROWS, MAX_PRODUCTS = 32768, 1e10  # at the reference, and the multiplications that they may take
MAX_STEPS, PATIENCE, SHRUNK = 60, 10, 0.7  # steps, those without a move that is so much shorter than all before
MAX_DIVERGENCE, MAX_MOVE = 0.25, 0.5
CONVERGED = 0.05  # the squared length of a step in posterior standard deviations, for each coordinate
PRIOR_DRAWS, PRIOR_ROWS = 64, 256  # candidates for the start, and rows drawn at each
LEAST_EIGENVALUE = 1e-9


@dataclass(frozen=True, eq=False)
class Problem:
    """A model of one row, and the data to infer its parameters from.

    Attributes
    ----------
    model : RowModel
    measured : Measurements
    rows : float or None
        The number of rows, where it is public or given.
    public : Rows or None
        Public rows of the same population, beside the private ones.
    """

    model: RowModel
    measured: Measurements
    rows: float | None
    public: Rows | None = None

    @property
    def clusters(self) -> int:
        """The largest number of rows of a person: if these are alike, the variance of a sum is so many times larger."""
        return max(largest_clusters(release.declared) for release in self.measured.releases)

    @property
    def size(self) -> int:
        """The number of coordinates of w: those of v, and ln N where N is not known."""
        return self.model.size + (self.rows is None)

    def split(self, w: Array) -> tuple[Array, float]:
        """Return v and N from w."""
        return (w, self.rows) if self.rows is not None else (w[:-1], math.exp(w[-1]))

    def prior_and_public(self, v: Array) -> tuple[Array, Array]:
        """Return the gradient of the log-prior and of the public rows' log-likelihood, and their information."""
        _, gradient, hessian = self.model.call("expand_prior", v)
        values, vectors = np.linalg.eigh(-(hessian + hessian.T) / 2.0)
        information = (vectors * np.maximum(values, LEAST_EIGENVALUE)) @ vectors.T
        if self.public is not None:
            scores = np.nan_to_num(self.model.call("scores", v, self.public))
            gradient, information = gradient + scores.sum(axis=0), information + scores.T @ scores
        return np.nan_to_num(gradient), information


@dataclass(frozen=True, eq=False)
class Reference:
    """Parameters near the mode, and the precision of the posterior there.

    Attributes
    ----------
    w : array
        v, and ln N where it is not known.
    precision : array
        H.
    moments : LocalMoments
        The expectations at v.
    projection : array of shape (dimension of w, D)
        JᵀW⁻¹. The projected measurements have as much information about w, near w, as all of them.
    factor : (array of shape (D, D), bool)
        The Cholesky factor of W, as SciPy has it.
    """

    w: Array
    precision: Array
    moments: LocalMoments
    projection: Array
    factor: Any

    @property
    def root(self) -> Array:
        """A matrix L with LLᵀ = H⁻¹."""
        values, vectors = np.linalg.eigh(self.precision)
        return np.asarray(vectors / np.sqrt(values))


def find_reference(problem: Problem, start: Array | None, seed: int) -> Reference:
    """Return parameters near the mode, searched from a start or from the best of some draws of the prior."""
    v = start if start is not None else _best_prior_draw(problem, seed)
    w = v if problem.rows is not None else np.append(v, _guess_log_rows(problem, v, seed))
    w = _search(problem, w, seed)
    draws = int(min(max(SEARCH_ROWS, MAX_PRODUCTS / problem.measured.values.size**2), FINAL_ROWS))
    result, move = _score_step(problem, w, draws, seed + 1)
    if not _is_small(result, move):
        result, _ = _score_step(problem, result.w + _limit(problem, result, move) * move, draws, seed + 1)
    w = result.w
    log_prior, *_ = problem.model.call("expand_prior", problem.split(w)[0])
    if not math.isfinite(float(log_prior)):
        raise ArgumentError(
            "model",
            UNSHOWN,
            "a prior, with its factors, that is positive where the releases point; it is 0 or not a number there",
            write="start=… where it is positive, or look at the model's factors",
        )
    return result


def _search(problem: Problem, w: Array, seed: int) -> Array:
    """Return parameters near the mode."""
    factor: Any = None  # of W
    shortest, since = math.inf, 0
    for _ in range(MAX_STEPS):
        fresh = factor is None
        here, move = _score_step(problem, w, SEARCH_ROWS, seed, factor)
        length, share = math.sqrt(float(move @ here.precision @ move)), _limit(problem, here, move)
        w = np.asarray(w + share * move)
        if _is_small(here, move):
            if fresh:
                break
            factor = None
        elif length < SHRUNK * shortest or share < 1.0:  # shortened moves come nearer, though the next is as long
            shortest, since, factor = length, 0, here.factor
        else:
            since, factor = since + 1, here.factor if fresh else None
            if since == PATIENCE:
                break
    return w


def _is_small(here: Reference, move: Array) -> bool:
    """Return whether a move is small in posterior standard deviations."""
    return float(move @ here.precision @ move) < CONVERGED * move.size


def _limit(problem: Problem, here: Reference, move: Array) -> float:
    """Return the share of a move that is made: less than 1 where the linearisation would not hold."""
    p = problem.model.size
    divergence = 0.5 * float(move[:p] @ here.moments.fisher @ move[:p])
    largest = float(np.abs(move).max())  # the divergence alone does not limit directions on which rows hardly depend
    return min(1.0, math.sqrt(MAX_DIVERGENCE / max(divergence, 1e-300)), MAX_MOVE / max(largest, MAX_MOVE))


def _score_step(problem: Problem, w: Array, draws: int, seed: int, factor: Any = None) -> tuple[Reference, Array]:
    """Return the reference at w, and the step of Fisher scoring from it; ``factor`` is that of another step's W."""
    v, rows = problem.split(w)
    moments = compute_local_moments(problem.model, problem.measured, v, draws, seed, with_covariance=factor is None)
    jacobian = moments.jacobian  # over N
    if problem.rows is None:
        jacobian = np.column_stack([moments.jacobian, moments.mean])
    gradient, information = problem.prior_and_public(v)
    if problem.rows is None:
        gradient, information = np.append(gradient, 0.0), np.pad(information, (0, 1))
        information[-1, -1] = LEAST_EIGENVALUE  # ln N has a flat prior
    if factor is None:
        sampling = rows * problem.clusters * moments.covariance
        factor = cho_factor(sampling + np.diag(problem.measured.variances), lower=True)
    projection: Array = cho_solve(factor, jacobian).T
    precision = rows * rows * projection @ jacobian + information
    gradient = gradient + rows * projection @ (problem.measured.values - rows * moments.mean)
    reference = Reference(w, (precision + precision.T) / 2.0, moments, projection, factor)
    return reference, np.asarray(np.linalg.solve(reference.precision, gradient), dtype=np.float64)


def _guess_log_rows(problem: Problem, v: Array, seed: int) -> float:
    """Return ln N for the N that fits the measurements best at v, by weighted least squares."""
    moments = compute_local_moments(problem.model, problem.measured, v, SEARCH_ROWS, seed)
    weights = 1.0 / problem.measured.variances
    weighted = weights * moments.mean
    return math.log(max(float(weighted @ problem.measured.values / (weighted @ moments.mean)), 1.0))


def _best_prior_draw(problem: Problem, seed: int) -> Array:
    """Return the draw from the prior at which the likelihood of the measurements is largest."""
    with double_precision():
        keys = make_keys(seed, PRIOR_DRAWS)
        draws = [problem.model.call("prior_draw", key) for key in keys]
    points = problem.model.points
    contributions = None if points is None else problem.measured.contributions(points)
    likelihoods = [_rough_log_likelihood(problem, v, seed + i, contributions) for i, v in enumerate(draws)]
    return np.asarray(draws[int(np.argmax(likelihoods))])


def _rough_log_likelihood(problem: Problem, v: Array, seed: int, c: Array | None) -> float:
    """Return an approximate log-likelihood at v, from the contributions of all possible rows or of a few drawn rows."""
    model, measured = problem.model, problem.measured
    if not np.all(np.isfinite(v)):
        return -math.inf
    if c is None:
        weights, c = (
            np.full(PRIOR_ROWS, 1.0 / PRIOR_ROWS),
            measured.contributions(model.draw_evenly(v[None], PRIOR_ROWS, seed)),
        )
    else:
        weights = np.exp(model.call("log_rows", v, model.points))
    mean = weights @ c
    variance = weights @ (c - mean) ** 2
    rows = problem.rows if problem.rows is not None else math.exp(_guess_log_rows(problem, v, seed))
    spread = rows * variance + measured.variances
    if model.points is None:
        spread = spread + rows * rows * variance / PRIOR_ROWS
    public = 0.0 if problem.public is None else float(model.call("log_rows", v, problem.public).sum())
    result = public - 0.5 * float(((measured.values - rows * mean) ** 2 / spread + np.log(spread)).sum())
    return result if math.isfinite(result) else -math.inf
