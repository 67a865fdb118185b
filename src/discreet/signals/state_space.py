"""State-space models of a series, and what a released series says of it: filter, smoother, likelihood.

    x_{t+1} = A·x_t + w_t,  w_t ~ N(0, Q);    S_t = C·x_t + v_t,  v_t ~ N(0, R);    z_t = S_t + noise of variance σ_t².

z is what was released, σ² is public. All here is post-processing: no row is seen. The noise is known, so it is no
parameter: the filter has R + σ² where a textbook has R.

Two things can be asked for: the level C·x_t, which is what the model calls the signal, or the total S_t itself, whose
own v_t is part of what the rows did. For the total v_t becomes one more state, of variance R without memory, and σ²
alone is left to be filtered out. As σ² goes to 0 the estimated total goes to z_t; the level does not.

The recursions are those of statsmodels (``statsmodels.tsa.statespace``), with its exact diffuse start where nothing is
known of the first state; ``pip install 'discreet[signals]'``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib import import_module
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.arguments import choice, nonnegative

__all__ = [
    "NAMED",
    "Belief",
    "StateSpace",
    "believed",
    "fitted",
    "local_level",
    "local_linear_trend",
    "need_statsmodels",
]

Array = NDArray[np.float64]

NAMED = ("local level", "local linear trend")
ALMOST = 1e-9
MEDIAN = 0.455  # of a squared standard normal


@dataclass(frozen=True, eq=False)
class StateSpace:
    """A public linear Gaussian model of a series of totals.

    Parameters
    ----------
    transition : array of shape (s, s)
        A.
    observation : array of shape (1, s) or (s,)
        C.
    process : array of shape (s, s)
        Q, the covariance of what moves the state.
    measurement : float
        R, the variance of what is in a total beside the level C·x.
    initial_mean : array of shape (s,) or None
        Of the first state; zero by default.
    initial_covariance : array of shape (s, s) or None
        Of the first state; None for a diffuse start, which knows nothing.

    Examples
    --------
    A level that moves by about 3 a step, seen with a deviation of 10:

    >>> model = StateSpace([[1.0]], [[1.0]], [[9.0]], 100.0)
    >>> model.states, model.observable
    (1, True)
    """

    transition: Array
    observation: Array
    process: Array
    measurement: float
    initial_mean: Array | None = None
    initial_covariance: Array | None = None

    def __post_init__(self) -> None:
        transition = _matrix("transition", self.transition)
        s = len(transition)
        self._set("transition", _shaped("transition", transition, (s, s)))
        self._set(
            "observation", _shaped("observation", np.atleast_2d(_matrix("observation", self.observation)), (1, s))
        )
        self._set("process", _covariance("process", self.process, s))
        self._set("measurement", nonnegative("measurement", self.measurement))
        mean = np.zeros(s) if self.initial_mean is None else np.atleast_1d(_matrix("initial_mean", self.initial_mean))
        self._set("initial_mean", _shaped("initial_mean", mean, (s,)))
        if self.initial_covariance is not None:
            self._set("initial_covariance", _covariance("initial_covariance", self.initial_covariance, s))
        elif not self.observable:
            raise ValueError(
                "initial_covariance=None: expected the covariance of the first state, since not every state of this "
                "model shows in the totals; write initial_covariance=…, or leave the hidden states out"
            )

    def _set(self, name: str, value: Any) -> None:
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
        object.__setattr__(self, name, value)

    @property
    def states(self) -> int:
        """How many numbers a state has."""
        return len(self.transition)

    @property
    def observable(self) -> bool:
        """Whether the totals of s steps would tell every state."""
        seen = [self.observation]
        for _ in range(self.states - 1):
            step = seen[-1] @ self.transition
            seen.append(step / max(float(np.abs(step).max()), 1e-300))
        return bool(np.linalg.matrix_rank(np.vstack(seen), tol=ALMOST) == self.states)

    @property
    def diffuse(self) -> bool:
        """Whether nothing is known of the first state."""
        return self.initial_covariance is None


class Belief(NamedTuple):
    """What the released series says: the mean and variance of each step's total or level, and of the states."""

    mean: Array
    variance: Array
    states: Array
    log_likelihood: float


def local_level(level: float, measurement: float = 0.0) -> StateSpace:
    """Return a random walk of this variance a step, and totals of another variance about it."""
    return StateSpace(np.eye(1), np.ones((1, 1)), np.array([[nonnegative("level", level)]]), measurement)


def local_linear_trend(level: float, slope: float, measurement: float = 0.0) -> StateSpace:
    """Return a random walk whose slope is a random walk as well."""
    process = np.diag([nonnegative("level", level), nonnegative("slope", slope)])
    return StateSpace(np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[1.0, 0.0]]), process, measurement)


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
    >>> found = believed(local_level(1.0), np.array([10.0, np.nan, 14.0]), np.ones(3))
    >>> found.mean.round(6).tolist()
    [11.0, 12.0, 13.0]
    """
    scale = math.sqrt(float(np.median(noise)))  # all is filtered in the unit of the noise
    whole, start = _with_own_variance(model) if target == "totals" else (model, model.states)
    machine = _machine(whole, series / scale, noise / scale**2, scale, diffuse=start if model.diffuse else 0)
    if smooth:
        found = machine.smooth()
        means, covariances = found.smoothed_state, found.smoothed_state_cov
    else:
        found = machine.filter()
        means, covariances = found.filtered_state, found.filtered_state_cov
    row = whole.observation[0]
    variance = np.einsum("i,ijt,j->t", row, covariances, row)
    states = means.T[:, : model.states] * scale
    return Belief((row @ means) * scale, np.maximum(variance, 0.0) * scale**2, states, float(found.llf))


def _with_own_variance(model: StateSpace) -> tuple[StateSpace, int]:
    """Return the model whose last state is v, and how many states were there before."""
    s = model.states
    transition, process, covariance = np.zeros((s + 1, s + 1)), np.zeros((s + 1, s + 1)), np.zeros((s + 1, s + 1))
    transition[:s, :s] = model.transition
    process[:s, :s] = model.process
    if model.initial_covariance is not None:
        covariance[:s, :s] = model.initial_covariance
    process[s, s] = covariance[s, s] = model.measurement
    mean = np.append(np.asarray(model.initial_mean), 0.0)
    row = np.append(model.observation[0], 1.0)
    return StateSpace(transition, row, process, 0.0, mean, covariance), s


def _machine(model: StateSpace, series: Array, noise: Array, scale: float, *, diffuse: int) -> Any:
    """Return statsmodels' smoother of a model in the unit of the noise; so many first states start diffuse."""
    library = need_statsmodels()
    s = model.states
    machine = library.KalmanSmoother(k_endog=1, k_states=s, k_posdef=s)
    machine.bind(np.asarray(series, dtype=np.float64)[:, None].copy(order="C"))
    machine["design"] = np.array(model.observation)
    machine["transition"] = np.array(model.transition)
    machine["selection"] = np.eye(s)
    machine["state_cov"] = model.process / scale**2
    machine["obs_cov"] = (noise + model.measurement / scale**2)[None, None, :].copy(order="F")
    start = import_module("statsmodels.tsa.statespace.initialization").Initialization(s)
    if diffuse:
        start.set((0, diffuse), "diffuse")
    if diffuse < s:
        mean, covariance = np.asarray(model.initial_mean), np.asarray(model.initial_covariance)
        start.set(
            (diffuse, s),
            "known",
            constant=mean[diffuse:] / scale,
            stationary_cov=covariance[diffuse:, diffuse:] / scale**2,
        )
    machine.initialize(start)
    return machine


def fitted(name: str, series: Array, noise: Array) -> StateSpace:
    """Return the named model whose variances are the most likely for a released series with noise of known variance.

    The likelihood is maximised over the logarithms of R and of the diagonal of Q, all of them between 10⁻⁶ and 10¹²
    times the noise's variance. It is total: any finite series gives a valid model. Where T is too
    short to tell, all of the movement is taken for noise.

    Parameters
    ----------
    name : {"local level", "local linear trend"}
    series, noise
        As in ``believed``.
    """
    from scipy.optimize import minimize

    choice("model", name, NAMED)
    scale = math.sqrt(float(np.median(noise)))
    unit = scale**2

    def model(logs: Array) -> StateSpace:
        own, *moves = (np.exp(logs) * unit).tolist()
        return local_level(moves[0], own) if name == NAMED[0] else local_linear_trend(moves[0], moves[1], own)

    count = 2 if name == NAMED[0] else 3
    least, most = math.log(1e-6), math.log(1e12)
    measured = np.flatnonzero(np.isfinite(series))
    if len(measured) <= count:
        return model(np.full(count, least))

    def cost(logs: Array) -> float:
        one = model(logs)
        llf = float(_machine(one, series / scale, noise / unit, scale, diffuse=one.states).loglike())
        return -llf if math.isfinite(llf) else 1e300

    # Successive differences say how much there is to share out; the climb starts from the likeliest of some shares.
    steps = np.diff(series[measured])
    spare = max(float(np.median(steps**2)) / MEDIAN / unit - 2.0, 1e-2)
    shares = product((1e-3, 0.1, 0.5), (1e-4, 1e-2, 0.1, 1.0), *[(1e-5, 1e-3)] * (count - 2))
    starts = [np.clip(np.log(spare * np.array(share)), least, most) for share in shares]
    found = minimize(cost, min(starts, key=cost), method="L-BFGS-B", bounds=[(least, most)] * count)
    return model(np.clip(found.x, least, most))


def _matrix(name: str, value: ArrayLike) -> Array:
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: expected an array of numbers") from None
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name}: expected finite numbers")
    return array


def _shaped(name: str, array: Array, shape: tuple[int, ...]) -> Array:
    if array.shape != shape or array.size == 0:
        raise ValueError(f"{name} has shape {array.shape}: expected {shape}, as the transition has {shape[-1]} states")
    return array


def _covariance(name: str, value: ArrayLike, s: int) -> Array:
    """Return a symmetric matrix without negative eigenvalues."""
    matrix = _shaped(name, np.atleast_2d(_matrix(name, value)), (s, s))
    largest = float(np.abs(matrix).max())
    if not np.allclose(matrix, matrix.T, rtol=0.0, atol=ALMOST * largest):
        raise ValueError(f"{name}: expected a symmetric matrix, a covariance")
    if float(np.linalg.eigvalsh(matrix).min()) < -ALMOST * largest:
        raise ValueError(f"{name}: expected a covariance, without negative variances in any direction")
    return (matrix + matrix.T) / 2.0
