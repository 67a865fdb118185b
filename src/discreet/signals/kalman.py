"""``kalman``: private series by Kalman filters, with noise on the totals or on the filter's output.

**Input perturbation.** The series is released with noise of known variance σ² at every step. A filter or smoother of a
model of the series, with R + σ² in place of R, is post-processing (``smoothing``), whatever the model is. The variances
of a named model are estimated from the released series as well (``fit_variances``), with the noise known.

**Output perturbation** (Le Ny and Pappas 2014). The steady-state filter of a public model is a public linear map of the
totals. With P the fixed point of the Riccati equation, K = P·Cᵀ/(C·P·Cᵀ + R) and M = (I − K·C)·A,

    x̂_t = M·x̂_{t−1} + K·S_t,    so    C·x̂_t = Σ_j (C·M^j·K)·S_{t−j} + C·M^t·(I − K·C)·m:

a convolution of the totals, plus a part that depends only on the public mean m of the first state. The convolution goes
through the door as any other operator (``Toeplitz``): one event moves it by B·‖h‖₂, h_j = C·M^j·K cut off at T. The
operator is the one with the computed floats h, so rounding errors in h cost nothing. The release is the filter's
estimate plus noise. A smoother is not possible, since it would need the totals.

Which is better depends on the model. A filter that averages little gains nothing by being applied before the noise,
while the smoother after it uses past and future. Compare both on public or simulated series that resemble yours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, solve_discrete_are

from discreet.arguments import UNSHOWN, ArgumentError, choice
from discreet.door import Declarations, Release
from discreet.door.inquiry import Inquiry, planned
from discreet.noise import Bits
from discreet.queries.series.operators import Identity, Operator, Picked, Toeplitz
from discreet.signals.series import Series, Steps
from discreet.signals.signal import Signal, choose_noise, spent_delta
from discreet.signals.smoothing import LIMIT, PreparedFilter, import_statsmodels, statsmodels_filter
from discreet.signals.state_space import NAMED, StateSpace, local_level, local_linear_trend

Array = NDArray[np.float64]

MEDIAN = 0.455  # median of a squared standard normal


def fit_variances(name: str, series: Array, noise: Array) -> StateSpace:
    """Return the named model with maximum likelihood variances for a released series with noise of known variance.

    The likelihood is maximised over the logarithms of R and of the diagonal of Q, all of them between 10⁻⁶ and 10¹²
    times the noise's variance. Any finite series gives a valid model. Where T is too short to estimate variances, all
    of the movement is attributed to the noise.

    Parameters
    ----------
    name : {"local level", "local linear trend"}
    series, noise
        The released series, NaN where nothing was measured, and the variance of its noise at each step.
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
        llf = float(statsmodels_filter(one, series / scale, noise / unit, scale).loglike())
        return -llf if math.isfinite(llf) else 1e300

    # Successive differences estimate the total variance; the search starts from the likeliest of some ways to split it.
    steps = np.diff(series[measured])
    spare = max(float(np.median(steps**2)) / MEDIAN / unit - 2.0, 1e-2)
    shares = product((1e-3, 0.1, 0.5), (1e-4, 1e-2, 0.1, 1.0), *[(1e-5, 1e-3)] * (count - 2))
    starts = [np.clip(np.log(spare * np.array(share)), least, most) for share in shares]
    result = minimize(cost, min(starts, key=cost), method="L-BFGS-B", bounds=[(least, most)] * count)
    return model(np.clip(result.x, least, most))


Places = NDArray[np.int64]

INSIDE = 1.0 - 1e-9  # the largest modulus of eigenvalues at which a filter forgets its start


@dataclass(frozen=True, eq=False, repr=False)
class FilteredSignal(Signal):
    """A private series that a state-space model has filtered or smoothed.

    Attributes
    ----------
    value : array of shape (T,)
        The conditional expectation of each step's total (or level), given the releases.
    std : array of shape (T,)
        Its conditional standard deviation if the model holds: from the noise and the movement of the series together.
        For a series that the model does not describe it can be too small, and so can ``interval``, which uses it.
    model : StateSpace
        The model, with estimated variances where they were not given.
    target : str
        ``"totals"`` or ``"level"``.
    states : array of shape (T, s) or None
        The conditional expectations of the states; None for output perturbation.
    estimated : bool
        Whether the variances of the model were estimated from the releases.
    """

    model: StateSpace | None = None
    target: str = "totals"
    states: Array | None = None
    estimated: bool = False


def measured_steps(missing: Any, count: int) -> Places | None:
    """Return the indices of the measured steps if some are declared missing; None if all are measured.

    >>> measured_steps([1], 3), measured_steps([False, True, True], 3)
    (array([0, 2]), array([0]))
    """
    if missing is None:
        return None
    result = np.asarray(missing)
    if result.dtype == bool and result.shape == (count,):
        mask = result
    elif result.size == 0:
        return None
    elif result.dtype.kind in "iu" and result.ndim == 1 and result.min() >= 0 and result.max() < count:
        mask = np.zeros(count, dtype=bool)
        mask[result] = True
    else:
        raise ArgumentError(
            "missing",
            UNSHOWN,
            f"a mask of {count} booleans, or a list of steps from 0 to {count - 1}",
            write="for example missing=[0, 7, 14] for steps in which nothing was recorded",
        )
    if mask.all():
        raise ArgumentError("missing", UNSHOWN, "at least one step that is measured")
    return np.flatnonzero(~mask).astype(np.int64) if mask.any() else None


def steady_filter(model: StateSpace, count: int) -> tuple[Array, Array, float]:
    """Return the impulse response of a model's steady-state filter, its response to the initial mean, and its variance.

    Examples
    --------
    >>> from discreet.signals import StateSpace
    >>> response, start, variance = steady_filter(StateSpace([[1.0]], [[1.0]], [[0.5]], 1.0, [8.0]), 3)
    >>> response.tolist(), start.tolist(), variance
    ([0.5, 0.25, 0.125], [4.0, 2.0, 1.0], 0.5)
    """
    A, C, s = model.transition, model.observation, model.states
    if model.measurement == 0.0:
        raise ArgumentError(
            "measurement",
            0.0,
            "a variance above 0 for output perturbation; without it the filter returns the totals unchanged: write "
            "method='input'",
        )
    for value in np.linalg.eigvals(A):
        seen = np.vstack([A - value * np.eye(s), C])
        if abs(value) >= INSIDE and np.linalg.matrix_rank(seen, tol=1e-9) < s:
            raise ArgumentError(
                "model",
                UNSHOWN,
                "a detectable one, whose totals show every state that does not decay; leave out the states that the "
                "observation does not see, or write method='input'",
            )
    try:
        with np.errstate(all="ignore"):
            P = solve_discrete_are(A.T, C.T, model.process, np.array([[model.measurement]]))
            gain = (P @ C.T) / (C @ P @ C.T + model.measurement)
            step = (np.eye(s) - gain @ C) @ A
            settled = bool(np.abs(np.linalg.eigvals(step)).max() < INSIDE) and bool(np.any(gain != 0.0))
    except LinAlgError:
        settled = False
    if not settled:
        raise ArgumentError(
            "model",
            UNSHOWN,
            "one whose filter converges and forgets its start; give every state that does not decay some process "
            "variance, or write method='input'",
        )
    if not float((C @ P @ C.T)[0, 0]) <= LIMIT * model.measurement:
        raise ArgumentError(
            "model",
            UNSHOWN,
            f"forecasts of a variance of at most {LIMIT:.0e} times the measurement's; beyond that the filter returns "
            "the totals unchanged: write method='input'",
        )
    left = np.eye(s) - gain @ C
    columns, power = np.hstack([gain, (left @ np.asarray(model.initial_mean))[:, None]])[:, :, None], step
    while columns.shape[2] < count:  # [x, Mx, …, M^(b−1)x] and M^b: doubled in each pass
        columns = np.concatenate([columns, np.einsum("ij,jcb->icb", power, columns)], axis=2)
        power = power @ power
    response, start = np.einsum("i,icb->cb", C[0], columns[:, :, :count])
    return response, start, float((C @ left @ P @ C.T)[0, 0])


@planned
def kalman(
    data: Any,
    *,
    time: str | int | None = None,
    value: str | int | None = None,
    steps: int | Steps | None = None,
    model: StateSpace | str | None = None,
    method: str = "input",
    smooth: bool | None = None,
    target: str | None = None,
    missing: Any = None,
    noise: str | None = None,
    epsilon: float,
    delta: float = 1e-6,
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Inquiry[FilteredSignal]:
    """Return a private series, filtered or smoothed by a state-space model.

    Parameters
    ----------
    data, time, value, steps
        The rows and the steps, as in ``running_sum``.
    model : StateSpace, "local level", "local linear trend" or None
        A public model, or the name of one whose variances are estimated from the released series, given the noise's
        variance, which costs nothing. None is the local level. Output perturbation needs a ``StateSpace``, since there
        is no released series to estimate variances from. Its filter starts from ``initial_mean``, so give a public
        guess of it.
    method : {"input", "output"}
        Noise on the totals, which are then filtered; or noise on the output of a steady-state filter of the exact
        totals.
    smooth : bool or None
        Whether the estimate of a step uses the whole series or its past alone. None: the whole series with ``"input"``,
        and the past alone with ``"output"``.
    target : {"totals", "level"} or None
        The quantity to estimate: the total of each step, or the level C·x of the model. None: the totals for
        ``"input"``; for ``"output"`` it is always the level.
    missing : array of bool of shape (T,), list of int, or None
        The steps in which nothing was recorded (the office was closed); public. The model fills them in. They are not
        taken as zeros, and rows that fall into them are ignored. Irregular times fall into their step of the grid.
    noise : {"gaussian", "laplace"} or None
        None: the noise of lower variance, which for single events is often Laplace, but Gaussian where there is a
        ledger. Laplace noise spends no δ; with it the filter is the best linear one, and ``interval`` is a little wide.
    epsilon, delta : float
    bits : Bits
        Seeded bits, for a test.
    **declared
        ``bounds``, ``classes``, ``schema``, ``neighbors``, ``unit``, ``max_rows``: see ``discreet.door.Declarations``.

    Returns
    -------
    FilteredSignal
        Its ``std`` is the conditional standard deviation if the model holds.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import signals
    >>> days = np.repeat(np.arange(60) + 0.5, 500)
    >>> result = signals.kalman(days, time=0, steps=60, epsilon=0.5, bounds=(0, 60))
    >>> result.level, bool(abs(result.value.mean() - 500.0) < 30.0)
    ('event', True)
    """
    choice("method", method, ("input", "output"))
    if isinstance(model, str):
        choice("model", model, NAMED)
    elif model is not None and not isinstance(model, StateSpace):
        raise ArgumentError("model", model, f"a StateSpace, None, or one of {', '.join(map(repr, NAMED))}")
    if smooth is not None and not isinstance(smooth, bool | np.bool_):
        raise ArgumentError("smooth", smooth, "True, False, or None for what the method can")
    spent = spent_delta("noise", noise, delta)
    series = Series.from_rows(
        data, time=time, value=value, steps=steps, epsilon=epsilon, delta=spent, bits=bits, declared=declared
    )
    there = measured_steps(missing, series.count)
    if method == "output":
        return _output(series, model, smooth, target, there, noise)
    chosen = choice("target", "totals" if target is None else target, ("totals", "level"))
    return _input(series, NAMED[0] if model is None else model, smooth is None or bool(smooth), chosen, there, noise)


def _check_states(model: StateSpace | str, series: Series, there: Places, smooth: bool) -> None:
    """Raise where the measured steps are too few to determine the model's states."""
    states = model.states if isinstance(model, StateSpace) else 1 + NAMED.index(model)
    if states > series.count:
        raise ArgumentError(
            "model", UNSHOWN, f"at most {series.count} states, as many as there are steps; got {states}"
        )
    if isinstance(model, StateSpace) and not model.diffuse:
        return
    if len(there) < states:
        raise ArgumentError("missing", UNSHOWN, f"at least {states} measured steps, as many as the model has states")
    if isinstance(model, str) and not smooth and there[states - 1] >= states:
        raise ArgumentError(
            "missing",
            UNSHOWN,
            f"the first {states} steps measured, since a filter that starts without knowing anything learns its "
            "states from them",
            write="smooth=True, or a StateSpace with an initial_covariance",
        )


def _input(
    series: Series, model: StateSpace | str, smooth: bool, target: str, there: Places | None, noise: str | None
) -> Inquiry[FilteredSignal]:
    import_statsmodels()
    T = series.count
    places = np.arange(T, dtype=np.int64) if there is None else there
    _check_states(model, series, places, smooth)
    operator: Operator = Identity(T) if there is None else Picked(T, tuple(places.tolist()))
    query = series.query(operator)
    loss, distribution = choose_noise(series, query, noise)
    variances, measured = np.full(T, distribution.variance), np.isin(np.arange(T), places)

    def prepared(known: StateSpace) -> PreparedFilter:
        return PreparedFilter(known, variances, measured, smooth=smooth, target=target)

    if isinstance(model, StateSpace):
        prepared(model).check()

    def answer(release: Release) -> FilteredSignal:
        released = np.full(T, np.nan)
        released[places] = series.read_totals(release, operator)
        known = fit_variances(model, released, variances) if isinstance(model, str) else model
        estimate = prepared(known).estimate(released)
        facts = {"std": np.sqrt(estimate.variance), "model": known, "target": target, "states": estimate.states}
        facts["estimated"] = isinstance(model, str)
        return FilteredSignal.from_series(estimate.mean, series, [release], **facts)

    return series.make_inquiry(query, loss, answer)


def _output(
    series: Series, model: Any, smooth: bool | None, target: str | None, there: Places | None, noise: str | None
) -> Inquiry[FilteredSignal]:
    if not isinstance(model, StateSpace):
        raise ArgumentError(
            "model",
            model,
            "a StateSpace for output perturbation, since nothing is released that its variances could be learnt from",
            write="model=StateSpace(…), or method='input'",
        )
    if smooth:
        raise ArgumentError("smooth", True, "False for output perturbation", write="method='input' to smooth")
    if target not in (None, "level"):
        raise ArgumentError("target", target, "'level', which is what the filter releases", write="method='input'")
    if there is not None:
        raise ArgumentError(
            "missing", UNSHOWN, "None for output perturbation", write="method='input' where steps are missing"
        )
    _check_states(model, series, np.arange(series.count, dtype=np.int64), False)
    response, start, variance = steady_filter(model, series.count)
    operator = Toeplitz(response)
    query = series.query(operator)
    loss, distribution = choose_noise(series, query, noise)
    std = np.full(series.count, math.sqrt(distribution.variance + variance))
    if not float(np.abs(start).max()) <= LIMIT * std[0]:
        raise ArgumentError("initial_mean", UNSHOWN, f"one of at most {LIMIT:.0e} times the noise")

    def answer(release: Release) -> FilteredSignal:
        values = series.read_totals(release, operator) + start
        return FilteredSignal.from_series(values, series, [release], std=std, model=model, target="level")

    return series.make_inquiry(query, loss, answer)
