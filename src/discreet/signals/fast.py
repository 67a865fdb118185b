"""FAST: a series watched as it goes, with a Kalman filter and a controller that says when to look (Fan and Xiong 2012).

At each step the total is predicted, from a random walk of variance Q a step. At sampling steps it is measured through
the door, and the prediction is corrected by the Kalman gain. How much the correction was, relative to the estimate, is
the feedback error of a PID controller, which sets the next interval: a series that moves is looked at more often. At
most M steps are measured, and after the last of them there are predictions only.

**What it costs.** *Wide* rows: a person may be in every step, so each of M measurements has its share of the budget:
μ/√M of Gaussian noise, or ε/M of Laplace noise as in the paper. All M are paid for at the start, at their exact
composed cost, and none is refunded. M looks at ε/M tell 1/M of what one look at ε tells, so with Laplace noise it pays
to look away. M Gaussian looks tell as much together as one, so there it does not.

*Long* rows: each row falls into one step, and a step is measured once at most. So all measurements together are at most
one release of the whole series, whichever steps are looked at: with m rows a person, a neighbour moves them by at most
m·B in L1, and so in L2 (twice that where rows are replaced), and one release of all steps at the whole budget covers
them (parallel composition, adaptive or not). Here that release is made, and FAST reads from it: this is
post-processing, and looking away saves nothing.

So all steps are looked at, in one release, but for wide rows with Laplace noise or where ``samples`` says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import ArgumentError, integer, nonnegative, positive
from discreet.door import Declarations, Release
from discreet.door.inquiry import Inquiry, Measure, planned
from discreet.guarantees import GaussianLoss, LaplaceLoss, Loss, calibrate
from discreet.noise import Bits, NoiseDistribution
from discreet.queries.question import Question
from discreet.queries.series.operators import Identity, Picked
from discreet.signals.beliefs import LIMIT
from discreet.signals.kalman import Filtered, Places, measured_steps
from discreet.signals.series import Series, Steps
from discreet.signals.signal import quietest, spent_delta
from discreet.signals.state_space import local_level


@dataclass(frozen=True)
class Controller:
    """A PID controller of the sampling interval, with the defaults of Fan and Xiong.

    Parameters
    ----------
    proportional, integral, derivative : float
        The gains C_p, C_i, C_d.
    window : int
        Over how many errors the integral is taken.
    growth : float
        θ: by how many steps the interval grows, at most, at a time.
    target : float
        ξ: the feedback error at which the interval stays as it is.
    pace : float
        An interval is never shorter than this part of the even spacing of the looks that are left; 0 for the paper's,
        which may spend all of them on the first steps.

    Examples
    --------
    >>> controller = Controller()
    >>> controller.next_interval(4.0, [0.1], [0]) , round(controller.next_interval(4.0, [0.0], [0]), 3)
    (4.0, 10.321)
    """

    proportional: float = 0.9
    integral: float = 0.1
    derivative: float = 0.0
    window: int = 5
    growth: float = 10.0
    target: float = 0.1
    pace: float = 0.5

    def __post_init__(self) -> None:
        for name in ("proportional", "integral", "derivative"):
            nonnegative(name, getattr(self, name))
        integer("window", self.window, least=1)
        positive("growth", self.growth)
        positive("target", self.target)
        nonnegative("pace", self.pace)

    def next_interval(self, interval: float, errors: Sequence[float], places: Sequence[int]) -> float:
        """Return max(1, I + θ·(1 − e^((Δ − ξ)/ξ))), Δ the PID error after these feedback errors at these steps."""
        recent = errors[-self.window :]
        error = self.proportional * errors[-1] + self.integral * sum(recent) / len(recent)
        if len(errors) > 1:
            error += self.derivative * (errors[-1] - errors[-2]) / (places[-1] - places[-2])
        excess = min((error - self.target) / self.target, 50.0)
        return max(1.0, interval + self.growth * -math.expm1(excess))


Array = NDArray[np.float64]
Look = Callable[[int], tuple[float, float]]  # of a step: what was measured, and the variance of its noise
Plan = tuple[Sequence[tuple[Question, Loss]], Callable[[Measure], Look]]

SHARE = 4  # a look for so many steps, where looks are expensive


@dataclass(frozen=True, eq=False, repr=False)
class Watched(Filtered):
    """A private series that was measured at some steps and predicted at the others.

    Attributes
    ----------
    sampled : array of bool of shape (T,)
        Which steps were looked at.
    """

    sampled: NDArray[np.bool_] | None = None


@planned
def fast(
    data: Any,
    *,
    time: str | int | None = None,
    value: str | int | None = None,
    steps: int | Steps | None = None,
    samples: int | None = None,
    process: float | None = None,
    controller: Controller | None = None,
    missing: Any = None,
    epsilon: float,
    delta: float = 1e-6,
    method: str | None = None,
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Inquiry[Watched]:
    """Return a private series as it would be published step by step: predictions, corrected where it was measured.

    Parameters
    ----------
    data, time, value, steps
        The rows and the steps, as in ``running_sum``.
    samples : int or None
        M: how many steps are measured at most. None: a quarter of the steps where rows are persons and the noise is
        Laplace's, else all of them, since there a look that is not taken saves nothing. All are paid for at the
        start; those that the controller leaves over are not refunded.
    process : float or None
        Q: the variance of the series' movement from one step to the next; None learns it as it goes, from what was
        released up to then. ``std`` takes what was learnt in the end for true, so after few looks it is
        optimistic.
    controller : Controller or None
        When to look; None for the published gains. Not asked where all steps are looked at.
    missing : array of bool of shape (T,), list of int, or None
        Public: steps in which nothing was recorded. They are predicted.
    epsilon, delta : float
    method : {"gaussian", "laplace"} or None
        The noise. Laplace noise is the paper's, and spends no δ. None: Laplace where ``delta=0``; else the one of lower
        variance where all is released at once and no ledger records, and Gaussian for single looks.
    bits : Bits
        Seeded bits, for a test.
    **declared
        ``bounds``, ``classes``, ``schema``, ``neighbors``, ``unit``, ``max_rows``: see ``discreet.door.Declarations``.

    Returns
    -------
    Watched
        Each step knows its past alone. For a series that is over ``kalman`` looks both ways, and is the better choice.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import signals
    >>> persons = np.random.default_rng(0).binomial(1, 0.3, (20_000, 40))
    >>> result = signals.fast(persons, samples=8, epsilon=1.0, bounds=(0, 1))
    >>> result.level, int(result.sampled.sum()) <= 8, bool(abs(result.value.mean() - 6000) < 1000)
    ('user', True, True)
    """
    spent = spent_delta("method", method, delta)
    series = Series.from_rows(
        data, time=time, value=value, steps=steps, epsilon=epsilon, delta=spent, bits=bits, declared=declared
    )
    moves = None if process is None else nonnegative("process", process)
    if controller is not None and not isinstance(controller, Controller):
        raise ArgumentError("controller", controller, "a Controller, for example Controller(target=0.05)")
    there = measured_steps(missing, series.count)
    open_ = np.arange(series.count, dtype=np.int64) if there is None else there
    expensive = series.layout == "wide" and not series.guarantee.delta
    default = math.ceil(len(open_) / SHARE) if expensive else len(open_)
    most = default if samples is None else integer("samples", samples, least=1, most=len(open_))
    chooser = None if most == len(open_) else controller or Controller()
    plan = _at_once if chooser is None or series.layout == "long" else _one_by_one
    asked, look_through = plan(series, open_, most, method, moves)

    def answer(measure: Measure) -> Watched:
        releases: list[Release] = []

        def noted(question: Question) -> Release:
            releases.append(measure(question))
            return releases[-1]

        look = look_through(noted)
        values, variances, sampled, movement = _watch(series.count, open_, most, chooser, moves, look)
        facts = {"model": local_level(movement), "target": "totals", "states": values[:, None], "sampled": sampled}
        return Watched.from_series(values, series, releases, std=np.sqrt(variances), **facts)

    name = "fast" if plan is _one_by_one else None
    return Inquiry(series.curator, series.guarantee, asked, answer, name, bits)


def _checked(process: float | None, noise: NoiseDistribution) -> float:
    """Return the variance of the noise; refuse a movement that it would be lost in."""
    if process is not None and not process <= LIMIT * noise.variance:
        raise ArgumentError(
            "process",
            process,
            f"at most {LIMIT:.0e} times the noise's variance, which is {noise.variance:.3g}; beyond that floats do not "
            "hold both",
        )
    return noise.variance


def _at_once(series: Series, places: Places, most: int, method: str | None, process: float | None) -> Plan:
    """Return a release of all steps, and how to look at one of them."""
    whole = len(places) == series.count
    operator = Identity(series.count) if whole else Picked(series.count, tuple(places.tolist()))
    query = series.query(operator)
    loss, noise = quietest(series, query, method)
    variance = _checked(process, noise)

    def look_through(measure: Measure) -> Look:
        totals = series.totals_of(measure(query), operator)
        seen = dict(zip(places.tolist(), totals.tolist(), strict=True))
        return lambda step: (seen[step], variance)

    return [(query, loss)], look_through


def _one_by_one(series: Series, places: Places, most: int, method: str | None, process: float | None) -> Plan:
    """Return as many looks as are paid for, and how to take one."""
    guarantee = series.guarantee
    if guarantee.delta:
        losses: Sequence[Loss] = calibrate(guarantee, [GaussianLoss(1.0, guarantee.neighbors)] * most).losses
    else:
        losses = [LaplaceLoss(guarantee.epsilon / most, guarantee.neighbors)] * most
    operators = {step: Picked(series.count, (step,)) for step in places.tolist()}
    queries = {step: series.query(operator) for step, operator in operators.items()}
    for query in queries.values():
        _checked(process, series.noise(query, losses[0]))

    def look_through(measure: Measure) -> Look:
        def look(step: int) -> tuple[float, float]:
            release = measure(queries[step])
            assert release.noise is not None
            return float(series.totals_of(release, operators[step])[0]), release.noise.variance

        return look

    return list(zip(queries.values(), losses, strict=False)), look_through


def _watch(
    count: int, places: Places, most: int, controller: Controller | None, process: float | None, look: Look
) -> tuple[Array, Array, NDArray[np.bool_], float]:
    """Return estimates, their variances, which steps were looked at, and the movement; from what ``look`` returned.

    The first open step is always looked at. The steps before it have its estimate and grow uncertain backwards. The
    movement is learnt from successive looks z, z' with g steps between them and noise of variances r, r': the
    expectation of (z − z')² is g·Q + r + r', so Q is near Σ((z − z')² − r − r')/Σg, with one more step that moved as
    much as the noise to start with. That is uncertain by some r/√Σg, which is added: a movement that is taken for too
    small shuts the filter, and one that is too large costs little.

    The gains K are those of what was known at each step. How far off the estimates are is said with the movement that
    was learnt in the end: from v, v + Q a step, and (1 − K)²·v + K²·r where it was looked at, which holds for any K.
    """
    open_ = np.isin(np.arange(count), places)
    values, gains, noises = np.zeros(count), np.zeros(count), np.zeros(count)
    first = int(places[0])
    value, variance = look(first)
    values[: first + 1], gains[first], noises[first] = value, 1.0, variance
    before, errors, looked = (value, variance), [0.0], [first]
    interval = max(1.0, len(places) / most)
    spare, gaps = variance, 1
    moves = variance if process is None else process
    for step in range(first + 1, count):
        due = controller is None or step >= looked[-1] + round(interval)
        looks = due and open_[step] and len(looked) < most
        if looks:
            seen, noise = look(step)
            if process is None:
                spare += (seen - before[0]) ** 2 - before[1] - noise
                gaps += step - looked[-1]
                moves = max(spare / gaps, 0.0) + noise / math.sqrt(gaps)
            variance += moves
            predicted, gain = value, variance / (variance + noise)
            value += gain * (seen - value)
            variance *= noise / (variance + noise)
            errors.append(abs(value - predicted) / max(abs(value), math.sqrt(noise)))
            looked.append(step)
            before, gains[step], noises[step] = (seen, noise), gain, noise
            if controller is not None:
                even = (count - step) / max(most - len(looked), 1)
                interval = max(controller.next_interval(interval, errors, looked), controller.pace * even)
                interval = min(interval, float(count))
        else:
            variance += moves
        values[step] = value
    variances, variance = np.zeros(count), 0.0
    for step in range(first, count):
        variance = (1.0 - gains[step]) ** 2 * (variance + moves) + gains[step] ** 2 * noises[step]
        variances[step] = variance
    variances[:first] = variances[first] + moves * np.arange(first, 0, -1)
    return values, variances, np.isin(np.arange(count), looked), moves
