"""Kalman filter and smoother of a released series, by a state-space model.

All of this is post-processing: it sees no row. The variance σ² of the noise is known, so it is not a parameter: the
filter has R + σ² where a textbook has R.

Two quantities can be estimated: the level C·x_t, which is the signal in the model, or the total S_t itself, which
includes v_t. For the total, v_t becomes one more state, of variance R and without memory, and only the noise of
variance σ² is filtered out. As σ² goes to 0 the estimated total goes to z_t; the level does not.

**A diffuse start** assumes nothing about the first state x. For a *given* x everything is an ordinary filter, linear in
x: estimates m_t + H_t·x, and forecast errors e_t + W_t·x of variances F_t. With a flat prior, the posterior of x is the
normal distribution of least squares,

    x̂ = −(ΣW_tᵀW_t/F_t)⁻¹·ΣW_tᵀe_t/F_t,   with that inverse as its covariance.

This adds H_t·x̂ to the estimate and H_t·cov·H_tᵀ to its covariance (Rosenberg 1973; de Jong 1991). A filter takes the
sums up to t, a smoother all of them. Directions in which the sums are zero are unidentified: an estimate that depends
on one of them does not exist.

Only m and e depend on the release. Everything else follows from public numbers. It is computed beforehand, so that a
model that cannot be estimated is refused before anything is spent (``PreparedFilter.check``).

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

LIMIT = 1e14  # times the noise's variance: beyond it floats, of 16 digits, lose that variance
UNSEEN = 1e-9  # singular values of the scaled W/√F below this belong to unidentified directions
BARELY = 1e-5  # the same for a filter, whose singular values are roots of eigenvalues


class StateEstimate(NamedTuple):
    """The estimate from a released series: mean and variance of each step's total or level, and the states."""

    mean: Array
    variance: Array
    states: Array


def import_statsmodels() -> Any:
    """Return statsmodels' module of Kalman smoothers; raise an error that says what to install where it is missing."""
    try:
        return import_module("statsmodels.tsa.statespace.kalman_smoother")
    except ImportError:
        raise ImportError(
            "filtering needs statsmodels, which is not installed: pip install 'discreet[signals]'"
        ) from None


class PreparedFilter:
    """A filter or smoother for a series, with everything computed that does not depend on the release.

    Parameters
    ----------
    model : StateSpace
    noise : array of shape (T,)
        The variance of the noise in the series.
    measured : array of bool of shape (T,)
        Which steps are measured.
    smooth : bool
        Whether each step uses all of the series (Rauch, Tung and Striebel) or its past alone (Kalman).
    target : {"totals", "level"}

    Examples
    --------
    >>> from discreet.signals.state_space import local_level
    >>> measured = np.array([True, False, True])
    >>> smoother = PreparedFilter(local_level(1.0), np.ones(3), measured, smooth=True, target="totals")
    >>> smoother.estimate(np.array([10.0, np.nan, 14.0])).mean.round(6).tolist()
    [11.0, 12.0, 13.0]
    """

    def __init__(self, model: StateSpace, noise: Array, measured: Any, *, smooth: bool, target: str) -> None:
        self.model, self.measured, self.smooth = model, np.asarray(measured, dtype=np.bool_), smooth
        self.scale = math.sqrt(float(np.median(noise)))  # everything is filtered in units of the noise
        self.noise = noise / self.scale**2
        self._whole = _with_own_variance(model) if target == "totals" else model
        self._row = self._whole.observation[0]
        s = self._whole.states
        starts = np.eye(s)[: model.states] if model.diffuse else np.asarray([self._whole.initial_mean]) / self.scale
        with np.errstate(all="ignore"):
            runs = [self._run(np.zeros(len(noise)), start) for start in starts]
            self.variance = np.maximum(np.einsum("i,ijt,j->t", self._row, runs[0].covariances, self._row), 0.0)
            self._forecast = np.where(self.measured, runs[0].forecast_variances, np.inf)  # F
            self._errors = np.stack([run.errors for run in runs], axis=1)  # W, or e for a known start
            self._moves = np.stack([run.means for run in runs], axis=2)  # H: shape (T, s, number of starts)
            parts = (self.variance, self._errors, self._moves, self._forecast[self.measured])
            self._finite = all(bool(np.isfinite(part).all()) for part in parts)
            if model.diffuse and self._finite:
                self._learn_start()

    def _run(self, series: Array, start: Array) -> _Run:
        """Filter or smooth a series, in units of the noise, for a given mean of the first state."""
        given = np.where(self.measured, series, np.nan)
        own = statsmodels_filter(self._whole, given, self.noise, self.scale, start)
        result = own.smooth() if self.smooth else own.filter()
        kind = "smoothed" if self.smooth else "filtered"
        errors = np.where(self.measured, result.forecasts_error[0], 0.0)
        means, covariances = getattr(result, f"{kind}_state").T, getattr(result, f"{kind}_state_cov")
        return _Run(means, covariances, errors, result.forecasts_error_cov[0, 0])

    def _learn_start(self) -> None:
        """Compute how well each step determines the first state: W/√F = U·Σ·Vᵀ·D, D the lengths of its columns."""
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
        """Raise where floats are not precise enough, or a step cannot be estimated; by public numbers."""
        if self.model.diffuse and self._finite and not (self.complete and np.isfinite(self.variance).all()):
            raise ArgumentError(
                "missing",
                UNSHOWN,
                "measured steps that show every state of the model, since nothing is known of its first state",
                write="a StateSpace with an initial_covariance"
                + ("" if self.smooth else ", or smooth=True where only the first steps are missing"),
            )
        largest = max(float((self._forecast / self.noise)[self.measured].max()), float(self.variance.max()) / LIMIT)
        means = 0.0 if self.model.diffuse else float(np.abs(self._errors).max())
        if not (self._finite and max(largest, means) <= LIMIT):
            raise ArgumentError(
                "model",
                UNSHOWN,
                f"one whose forecasts have means and variances of at most {LIMIT:.0e} in units of the noise; beyond "
                "that floats do not hold both. Write the model in the unit of the totals, with smaller variances, with "
                "transitions that grow less, or with shorter gaps",
            )

    def estimate(self, series: Array) -> StateEstimate:
        """Return the estimate from a released series; NaN where nothing was measured."""
        whole, scale = self._whole, self.scale
        start = np.zeros(whole.states) if self.model.diffuse else np.asarray(whole.initial_mean) / scale
        with np.errstate(all="ignore"):
            run = self._run(np.where(self.measured, series, 0.0) / scale, start)
            means = run.means
            if self.model.diffuse:
                sums = np.cumsum(self._errors * (run.errors / self._forecast)[:, None], axis=0)
                turned = np.einsum("tj,tjk->tk", sums[-1 if self.smooth else 0 :] / self._lengths, self._vectors)
                first = -np.einsum("tk,tjk->tj", turned * self._inverse**2, self._vectors) / self._lengths
                means = means + np.einsum("tij,tj->ti", self._moves, np.broadcast_to(first, self._errors.shape))
        return StateEstimate(means @ self._row * scale, self.variance * scale**2, means[:, : self.model.states] * scale)


class _Run(NamedTuple):
    means: Array  # of the states, shape (T, s)
    covariances: Array  # shape (s, s, T)
    errors: Array  # of the forecasts, 0 where nothing was measured
    forecast_variances: Array


def _with_own_variance(model: StateSpace) -> StateSpace:
    """Return the model with v as its last state. For a diffuse start its initial covariance is that of v alone."""
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


def statsmodels_filter(model: StateSpace, series: Array, noise: Array, scale: float, start: Array | None = None) -> Any:
    """Return statsmodels' smoother of a model, in units of the noise.

    Parameters
    ----------
    model : StateSpace
    series, noise : array of shape (T,)
        In units of the noise, ``scale``.
    scale : float
    start : array of shape (s,) or None
        The mean of the first state, whose covariance is the model's, or zero where it has none. None: statsmodels'
        diffuse start.
    """
    library = import_statsmodels()
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
