"""Filter and smoother: what a released series says of its totals, by a state-space model.

All here is post-processing: no row is seen. The noise is known, so it is no parameter: the filter has R + σ² where a
textbook has R.

Two things can be asked for: the level C·x_t, which is what the model calls the signal, or the total S_t itself, whose
own v_t is part of what the rows did. For the total v_t becomes one more state, of variance R without memory, and σ²
alone is left to be filtered out. As σ² goes to 0 the estimated total goes to z_t; the level does not.

**A diffuse start** knows nothing of the first state x. For a *given* x everything is an ordinary filter, linear in x:
estimates m_t + H_t·x, forecast errors e_t + W_t·x of variances F_t. So x has a flat distribution to begin with, and
afterwards the normal one of least squares, x̂ = −(ΣW_tᵀW_t/F_t)⁻¹·ΣW_tᵀe_t/F_t with that inverse as its covariance;
this adds H_t·x̂ and H_t·cov·H_tᵀ (Rosenberg 1973; de Jong 1991). A filter takes the sums up to t. Directions in which
the sums are zero are not known at all: what looks into one of them has no estimate.

Only m and e depend on what is released. Everything else follows from public numbers, so it is computed beforehand, and
what could not be answered is refused before anything is spent (``Prepared.check``).

The recursions are those of statsmodels (``statsmodels.tsa.statespace``); ``pip install 'discreet[signals]'``.
"""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import UNSHOWN, ArgumentError
from discreet.signals.state_space import StateSpace

Array = NDArray[np.float64]

LIMIT = 1e14  # times the noise: a variance beyond that swallows the noise's own, which has 16 digits
UNSEEN = 1e-9  # of the singular values of the scaled W/√F: a direction that was not seen
BARELY = 1e-5  # the same for a filter, which has the root of an eigenvalue


class Belief(NamedTuple):
    """What the released series says: the mean and variance of each step's total or level, and the states."""

    mean: Array
    variance: Array
    states: Array


def need_statsmodels() -> Any:
    """Return statsmodels' Kalman smoother; an error that says what to install where it is absent."""
    try:
        return import_module("statsmodels.tsa.statespace.kalman_smoother")
    except ImportError:
        raise ImportError(
            "filtering needs statsmodels, which is not installed: pip install 'discreet[signals]'"
        ) from None


def believed(model: StateSpace, series: Array, noise: Array, *, smooth: bool = True, target: str = "totals") -> Belief:
    """Return what a released series says of its totals, or of the level behind them.

    Parameters
    ----------
    model : StateSpace
    series : array of shape (T,)
        Released; NaN where nothing was measured.
    noise : array of shape (T,)
        The variance of the noise in it.
    smooth : bool
        Whether each step looks at all of the series (Rauch, Tung and Striebel) or at its past alone (Kalman).
    target : {"totals", "level"}

    Examples
    --------
    >>> from discreet.signals.state_space import local_level
    >>> result = believed(local_level(1.0), np.array([10.0, np.nan, 14.0]), np.ones(3))
    >>> result.mean.round(6).tolist()
    [11.0, 12.0, 13.0]
    """
    return Prepared(model, noise, np.isfinite(series), smooth=smooth, target=target).belief(series)


class Prepared:
    """A filter or smoother that is ready for a series: all that does not depend on what will be released.

    Parameters
    ----------
    model : StateSpace
    noise : array of shape (T,)
    there : array of bool of shape (T,)
        Which steps are measured.
    smooth, target
        As in ``believed``.
    """

    def __init__(self, model: StateSpace, noise: Array, there: Any, *, smooth: bool, target: str) -> None:
        self.model, self.there, self.smooth = model, np.asarray(there, dtype=np.bool_), smooth
        self.scale = math.sqrt(float(np.median(noise)))  # all is filtered in the unit of the noise
        self.noise = noise / self.scale**2
        self._whole = _with_own_variance(model) if target == "totals" else model
        self._row = self._whole.observation[0]
        s = self._whole.states
        starts = np.eye(s)[: model.states] if model.diffuse else np.asarray([self._whole.initial_mean]) / self.scale
        with np.errstate(all="ignore"):
            runs = [self._run(np.zeros(len(noise)), start) for start in starts]
            self.variance = np.maximum(np.einsum("i,ijt,j->t", self._row, runs[0].covariances, self._row), 0.0)
            self._forecast = np.where(self.there, runs[0].forecast_variances, np.inf)  # F
            self._errors = np.stack([run.errors for run in runs], axis=1)  # W, or e for a known start
            self._moves = np.stack([run.means for run in runs], axis=2)  # H: shape (T, s, number of starts)
            parts = (self.variance, self._errors, self._moves, self._forecast[self.there])
            self._finite = all(bool(np.isfinite(part).all()) for part in parts)
            if model.diffuse and self._finite:
                self._learn_start()

    def _run(self, series: Array, start: Array) -> _Run:
        """Filter or smooth a series in the unit of the noise for a given mean of the first state."""
        given = np.where(self.there, series, np.nan)
        own = machine(self._whole, given, self.noise, self.scale, start)
        result = own.smooth() if self.smooth else own.filter()
        kind = "smoothed" if self.smooth else "filtered"
        errors = np.where(self.there, result.forecasts_error[0], 0.0)
        means, covariances = getattr(result, f"{kind}_state").T, getattr(result, f"{kind}_state_cov")
        return _Run(means, covariances, errors, result.forecasts_error_cov[0, 0])

    def _learn_start(self) -> None:
        """Find how well each step knows the first state: W/√F = U·Σ·Vᵀ·D, D the lengths of its columns."""
        weighted = self._errors / np.sqrt(self._forecast)[:, None]
        squares = np.cumsum(weighted[:, :, None] * weighted[:, None, :], axis=0)[-1 if self.smooth else 0 :]
        lengths = np.sqrt(np.einsum("tii->ti", squares))
        self._lengths = np.where(lengths > 0.0, lengths, 1.0)  # D
        if self.smooth:
            sizes, vectors = np.linalg.svd(weighted / self._lengths, full_matrices=False)[1:]
            missing = len(vectors.T) - len(vectors)  # orthonormal rows of a square matrix, where steps are few
            vectors = np.linalg.svd(vectors)[2] if missing else vectors
            sizes, self._vectors = np.append(sizes, np.zeros(missing))[None], vectors.T[None]
        else:
            values, self._vectors = np.linalg.eigh(squares / (self._lengths[:, :, None] * self._lengths[:, None, :]))
            sizes = np.sqrt(np.maximum(values, 0.0))
        known = sizes > (UNSEEN if self.smooth else BARELY)
        self._inverse = np.where(known, 1.0 / np.where(known, sizes, 1.0), 0.0)  # Σ⁻¹
        self.complete = bool(known[-1].all())
        looks = np.einsum("i,tij->tj", self._row, self._moves) / self._lengths
        turned = np.einsum("tj,tjk->tk", looks, np.broadcast_to(self._vectors, (len(looks), *self._vectors.shape[1:])))
        blind = (np.abs(np.where(known, 0.0, turned)) > BARELY * np.linalg.norm(turned, axis=1)[:, None]).any(axis=1)
        self.variance = self.variance + np.where(blind, np.inf, ((turned * self._inverse) ** 2).sum(axis=1))

    def check(self) -> None:
        """Raise where the answer would not be true in floats, or a step could not be told; by public numbers."""
        if self.model.diffuse and self._finite and not (self.complete and np.isfinite(self.variance).all()):
            raise ArgumentError(
                "missing",
                UNSHOWN,
                "measured steps that show every state of the model, since nothing is known of its first state",
                write="a StateSpace with an initial_covariance"
                + ("" if self.smooth else ", or smooth=True where only the first steps are missing"),
            )
        largest = max(float((self._forecast / self.noise)[self.there].max()), float(self.variance.max()) / LIMIT)
        means = 0.0 if self.model.diffuse else float(np.abs(self._errors).max())
        if not (self._finite and max(largest, means) <= LIMIT):
            raise ArgumentError(
                "model",
                UNSHOWN,
                f"one whose forecasts have means, variances and gaps to bridge of at most {LIMIT:.0e} in the unit of "
                "the noise; beyond that floats do not hold both. Write the model in the unit of the totals, with "
                "smaller variances, or with transitions that grow less",
            )

    def belief(self, series: Array) -> Belief:
        """Return what a released series says."""
        whole, scale = self._whole, self.scale
        start = np.zeros(whole.states) if self.model.diffuse else np.asarray(whole.initial_mean) / scale
        with np.errstate(all="ignore"):
            run = self._run(np.where(self.there, series, 0.0) / scale, start)
            means = run.means
            if self.model.diffuse:
                sums = np.cumsum(self._errors * (run.errors / self._forecast)[:, None], axis=0)
                turned = np.einsum("tj,tjk->tk", sums[-1 if self.smooth else 0 :] / self._lengths, self._vectors)
                first = -np.einsum("tk,tjk->tj", turned * self._inverse**2, self._vectors) / self._lengths
                means = means + np.einsum("tij,tj->ti", self._moves, np.broadcast_to(first, self._errors.shape))
        return Belief(means @ self._row * scale, self.variance * scale**2, means[:, : self.model.states] * scale)


class _Run(NamedTuple):
    means: Array  # of the states, shape (T, s)
    covariances: Array  # shape (s, s, T)
    errors: Array  # of the forecasts, 0 where nothing was measured
    forecast_variances: Array


def _with_own_variance(model: StateSpace) -> StateSpace:
    """Return the model whose last state is v. Where the start is diffuse its covariance is that of v alone."""
    s = model.states
    transition, process, covariance = np.zeros((s + 1, s + 1)), np.zeros((s + 1, s + 1)), np.zeros((s + 1, s + 1))
    transition[:s, :s] = model.transition
    process[:s, :s] = model.process
    if model.initial_covariance is not None:
        covariance[:s, :s] = model.initial_covariance
    process[s, s] = covariance[s, s] = model.measurement
    mean = np.append(np.asarray(model.initial_mean), 0.0)
    row = np.append(model.observation[0], 1.0)
    return StateSpace(transition, row, process, 0.0, mean, covariance)


def machine(model: StateSpace, series: Array, noise: Array, scale: float, start: Array | None = None) -> Any:
    """Return statsmodels' smoother of a model in the unit of the noise.

    Parameters
    ----------
    model : StateSpace
    series, noise : array of shape (T,)
        In the unit of the noise, ``scale``.
    scale : float
    start : array of shape (s,) or None
        The mean of the first state, whose covariance is the model's, or zero where it has none. None: statsmodels'
        diffuse start.
    """
    library = need_statsmodels()
    s = model.states
    own = library.KalmanSmoother(k_endog=1, k_states=s, k_posdef=s)
    own.bind(np.asarray(series, dtype=np.float64)[:, None].copy(order="C"))
    own["design"] = np.array(model.observation)
    own["transition"] = np.array(model.transition)
    own["selection"] = np.eye(s)
    own["state_cov"] = model.process / scale**2
    own["obs_cov"] = (noise + model.measurement / scale**2)[None, None, :].copy(order="F")
    first = import_module("statsmodels.tsa.statespace.initialization").Initialization(s)
    if start is None:
        first.set((0, s), "diffuse")
    else:
        covariance = np.zeros((s, s)) if model.diffuse else np.asarray(model.initial_covariance)
        first.set((0, s), "known", constant=start, stationary_cov=covariance / scale**2)
    own.initialize(first)
    return own
