"""``StateSpace``: linear Gaussian state-space models of a series, given by the user or with estimated variances.

    x_{t+1} = A·x_t + w_t,  w_t ~ N(0, Q);    S_t = C·x_t + v_t,  v_t ~ N(0, R);    z_t = S_t + noise of variance σ_t².

z is the released series, and σ² is public. ``smoothing`` estimates the totals from a released series, and ``kalman``
estimates the variances of a model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.arguments import UNSHOWN, ArgumentError, nonnegative

Array = NDArray[np.float64]

NAMED = ("local level", "local linear trend")
ALMOST = 1e-9
LARGEST = 1e280


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
        Q, the covariance of the state's movement in a step.
    measurement : float
        R, the variance of a total around the level C·x.
    initial_mean : array of shape (s,) or None
        The mean of the first state; zero by default.
    initial_covariance : array of shape (s, s) or None
        The covariance of the first state; None for a diffuse start, which assumes nothing about it.

    Examples
    --------
    A level that moves by about 3 a step, seen with a standard deviation of 10:

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
        transition = np.atleast_1d(_matrix("transition", self.transition))
        s = len(transition)
        self._set("transition", _shaped("transition", transition, (s, s)))
        self._set(
            "observation", _shaped("observation", np.atleast_2d(_matrix("observation", self.observation)), (1, s))
        )
        self._set("process", _covariance("process", self.process, s))
        self._set("measurement", float(_matrix("measurement", nonnegative("measurement", self.measurement))))
        mean = np.zeros(s) if self.initial_mean is None else np.atleast_1d(_matrix("initial_mean", self.initial_mean))
        self._set("initial_mean", _shaped("initial_mean", mean, (s,)))
        if self.initial_covariance is not None:
            self._set("initial_covariance", _covariance("initial_covariance", self.initial_covariance, s))
        elif not self.observable:
            raise ArgumentError(
                "initial_covariance",
                None,
                "the covariance of the first state, since not every state of this model shows in the totals",
                write="initial_covariance=…, or leave the hidden states out",
            )

    def _set(self, name: str, value: Any) -> None:
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
        object.__setattr__(self, name, value)

    @property
    def states(self) -> int:
        """The dimension of the state."""
        return len(self.transition)

    @property
    def observable(self) -> bool:
        """Whether the totals of s steps determine the state."""
        seen = [self.observation / max(float(np.abs(self.observation).max()), 1e-300)]
        for _ in range(self.states - 1):
            step = seen[-1] @ self.transition
            seen.append(step / max(float(np.abs(step).max()), 1e-300))
        return bool(np.linalg.matrix_rank(np.vstack(seen), tol=ALMOST) == self.states)

    @property
    def diffuse(self) -> bool:
        """Whether nothing is assumed about the first state."""
        return self.initial_covariance is None


def local_level(level: float, measurement: float = 0.0) -> StateSpace:
    """Return the local level model: a random walk of variance ``level``, and totals of another variance around it."""
    return StateSpace(np.eye(1), np.ones((1, 1)), np.array([[nonnegative("level", level)]]), measurement)


def local_linear_trend(level: float, slope: float, measurement: float = 0.0) -> StateSpace:
    """Return the local linear trend model: a random walk whose slope is a random walk as well."""
    process = np.diag([nonnegative("level", level), nonnegative("slope", slope)])
    return StateSpace(np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[1.0, 0.0]]), process, measurement)


def _matrix(name: str, value: ArrayLike) -> Array:
    try:
        given = np.asarray(value)
        array = np.array(given, dtype=np.float64) if given.dtype.kind in "biuf" else None
    except ValueError:
        array = None
    if array is None:
        raise ArgumentError(name, UNSHOWN, "an array of numbers")
    if not np.all(np.abs(array) <= LARGEST):
        raise ArgumentError(name, UNSHOWN, f"finite numbers of at most {LARGEST:.0e} in size")
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
        raise ArgumentError(name, UNSHOWN, "a symmetric matrix, a covariance")
    if float(np.linalg.eigvalsh(matrix).min()) < -ALMOST * largest:
        raise ArgumentError(name, UNSHOWN, "a covariance, without negative variances in any direction")
    return (matrix + matrix.T) / 2.0
