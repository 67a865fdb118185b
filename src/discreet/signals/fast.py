"""``fast``: FAST, a private series by adaptive sampling and a Kalman filter (Fan and Xiong 2012).

At each step the total is predicted, by a random walk of variance Q per step. At sampling steps it is measured through
the door, and the Kalman gain corrects the prediction. The size of the correction, relative to the estimate, is the
feedback error of a PID controller, which sets the next sampling interval: a series that moves is sampled more often. At
most M steps are measured; after the last of them there are predictions only.

**What it costs.** *Wide* rows: a person may be in every step, so each of M measurements gets its share of the budget:
μ/√M with Gaussian noise, or ε/M with Laplace noise as in the paper. All M are paid for at the start, at their exact
composed cost, and none is refunded. M Laplace measurements at ε/M have together 1/M of the precision of one measurement
at ε, so with Laplace noise it pays to sample fewer steps. M Gaussian measurements have together the precision of one,
so with Gaussian noise it does not.

*Long* rows: each row falls into one step, and each step is measured at most once. So all measurements together reveal
at most one release of the whole series, whichever steps are sampled. With m rows per person, a neighbour moves the
series by at most m·B in L1, and so in L2 (twice that where rows are replaced), and one release of all steps at the
whole budget covers them (parallel composition, adaptive or not). This module makes that one release, and FAST samples
from it. This is post-processing, so sampling fewer steps saves nothing.

So by default all steps are sampled, in one release, except for wide rows with Laplace noise.
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
from discreet.signals.kalman import FilteredSignal, Places, measured_steps
from discreet.signals.series import Series, Steps
from discreet.signals.signal import choose_noise, spent_delta
from discreet.signals.smoothing import LIMIT
from discreet.signals.state_space import local_level


@dataclass(frozen=True)
class Controller:
    """A PID controller of the sampling interval, with the defaults of Fan and Xiong.

    Parameters
    ----------
    proportional, integral, derivative : float
        The gains C_p, C_i, C_d.
    window : int
        The number of errors over which the integral is taken.
    growth : float
        θ: the most steps by which the interval grows at a time.
    target : float
        ξ: the feedback error at which the interval stays the same.
    pace : float
        An interval is never shorter than this fraction of the even spacing of the remaining samples. 0 is the paper's
        controller, which may spend all samples on the first steps.

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
Sampler = Callable[[int], tuple[float, float]]  # takes a step, returns its measurement and the variance of its noise
SamplingPlan = tuple[Sequence[tuple[Question, Loss]], Callable[[Measure], Sampler]]

SPARSITY = 4  # steps per sample by default, where samples are expensive


@dataclass(frozen=True, eq=False, repr=False)
class SampledSignal(FilteredSignal):
    """A private series that was measured at some steps and predicted at the others.

    Attributes
    ----------
    sampled : array of bool of shape (T,)
        Which steps were measured.
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
) -> Inquiry[SampledSignal]:
    """Return a private series as it would be published step by step: predictions, corrected by measurements.

    Parameters
    ----------
    data, time, value, steps
        The rows and the steps, as in ``running_sum``.
    samples : int or None
        M: the largest number of measured steps. None: a quarter of the steps for wide rows with Laplace noise, else all
        of them, since fewer samples save nothing there. All are paid for at the start; samples that the controller does
        not use are not refunded.
    process : float or None
        Q: the variance of the series' movement from one step to the next. None estimates it along the way, from earlier
        releases. ``std`` uses the final estimate as if it were exact, so after few samples it is optimistic.
    controller : Controller or None
        Decides when to sample; None for the published gains. Not used where all steps are sampled.
    missing : array of bool of shape (T,), list of int, or None
        The steps in which nothing was recorded; public. They are predicted.
    epsilon, delta : float
    method : {"gaussian", "laplace"} or None
        The noise. The paper uses Laplace noise, which spends no δ. None: Laplace if ``delta=0``; else Gaussian for
        separate measurements, and the one of lower variance for one release of all steps without a ledger.
    bits : Bits
        Seeded bits, for a test.
    **declared
        ``bounds``, ``classes``, ``schema``, ``neighbors``, ``unit``, ``max_rows``: see ``discreet.door.Declarations``.

    Returns
    -------
    SampledSignal
        Each step uses its past alone. For a complete series ``kalman`` uses past and future, and is the better choice.

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
    recorded = np.arange(series.count, dtype=np.int64) if there is None else there
    expensive = series.layout == "wide" and not series.guarantee.delta
    default = math.ceil(len(recorded) / SPARSITY) if expensive else len(recorded)
    most = default if samples is None else integer("samples", samples, least=1, most=len(recorded))
    chooser = None if most == len(recorded) else controller or Controller()
    plan = _plan_one_release if chooser is None or series.layout == "long" else _plan_separate_releases
    asked, make_sampler = plan(series, recorded, most, method, moves)

    def answer(measure: Measure) -> SampledSignal:
        releases: list[Release] = []

        def measure_and_keep(question: Question) -> Release:
            releases.append(measure(question))
            return releases[-1]

        sampler = make_sampler(measure_and_keep)
        values, variances, sampled, movement = _filter_samples(series.count, recorded, most, chooser, moves, sampler)
        facts = {"model": local_level(movement), "target": "totals", "states": values[:, None], "sampled": sampled}
        facts["estimated"] = process is None
        return SampledSignal.from_series(values, series, releases, std=np.sqrt(variances), **facts)

    name = "fast" if plan is _plan_separate_releases else None
    return Inquiry(series.curator, series.guarantee, asked, answer, name, bits)


def _check_movement(process: float | None, noise: NoiseDistribution) -> float:
    """Return the variance of the noise; raise where the movement is so large that floats would lose the noise."""
    if process is not None and not process <= LIMIT * noise.variance:
        raise ArgumentError(
            "process",
            process,
            f"at most {LIMIT:.0e} times the noise's variance, which is {noise.variance:.3g}; beyond that floats do not "
            "hold both",
        )
    return noise.variance


def _plan_one_release(
    series: Series, places: Places, most: int, method: str | None, process: float | None
) -> SamplingPlan:
    """Return one question for all steps, and how to sample steps from its release."""
    whole = len(places) == series.count
    operator = Identity(series.count) if whole else Picked(series.count, tuple(places.tolist()))
    query = series.query(operator)
    loss, noise = choose_noise(series, query, method)
    variance = _check_movement(process, noise)

    def make_sampler(measure: Measure) -> Sampler:
        totals = series.read_totals(measure(query), operator)
        by_step = dict(zip(places.tolist(), totals.tolist(), strict=True))
        return lambda step: (by_step[step], variance)

    return [(query, loss)], make_sampler


def _plan_separate_releases(
    series: Series, places: Places, most: int, method: str | None, process: float | None
) -> SamplingPlan:
    """Return a question for each sample that is paid for, and how to measure a step."""
    guarantee = series.guarantee
    if guarantee.delta:
        losses: Sequence[Loss] = calibrate(guarantee, [GaussianLoss(1.0, guarantee.neighbors)] * most).losses
    else:
        losses = [LaplaceLoss(guarantee.epsilon / most, guarantee.neighbors)] * most
    operators = {step: Picked(series.count, (step,)) for step in places.tolist()}
    queries = {step: series.query(operator) for step, operator in operators.items()}
    for query in queries.values():
        _check_movement(process, series.noise(query, losses[0]))

    def make_sampler(measure: Measure) -> Sampler:
        def sample(step: int) -> tuple[float, float]:
            release = measure(queries[step])
            assert release.noise is not None
            return float(series.read_totals(release, operators[step])[0]), release.noise.variance

        return sample

    return list(zip(queries.values(), losses, strict=False)), make_sampler


def _filter_samples(
    count: int, places: Places, most: int, controller: Controller | None, process: float | None, sample: Sampler
) -> tuple[Array, Array, NDArray[np.bool_], float]:
    """Return estimates, their variances, which steps were sampled, and Q, from the measurements of ``sample``.

    The first recorded step is always sampled. The steps before it have its estimate, with a variance that grows
    backwards. Where Q is not given, it is estimated from successive samples z, z' with g steps between them and noise
    of variances r, r'. The expectation of (z − z')² is g·Q + r + r', so Q is about Σ((z − z')² − r − r')/Σg, where the
    sums start with one artificial step that moved by r. This estimate has a standard error of about r/√Σg, which is
    added: an estimate of Q that is too small closes the filter, and one that is too large costs little.

    The gains K use the Q known at each step. The variances of the estimates use the final Q: a prediction turns v into
    v + Q, and a sample turns v into (1 − K)²·v + K²·r, which holds for any K.
    """
    recorded = np.isin(np.arange(count), places)
    values, gains, noises = np.zeros(count), np.zeros(count), np.zeros(count)
    first = int(places[0])
    value, variance = sample(first)
    values[: first + 1], gains[first], noises[first] = value, 1.0, variance
    before, errors, sampled = (value, variance), [0.0], [first]
    interval = max(1.0, len(places) / most)
    spare, gaps = variance, 1
    moves = variance if process is None else process
    for step in range(first + 1, count):
        due = controller is None or step >= sampled[-1] + round(interval)
        if due and recorded[step] and len(sampled) < most:
            measured, noise = sample(step)
            if process is None:
                spare += (measured - before[0]) ** 2 - before[1] - noise
                gaps += step - sampled[-1]
                moves = max(spare / gaps, 0.0) + noise / math.sqrt(gaps)
            variance += moves
            predicted, gain = value, variance / (variance + noise)
            value += gain * (measured - value)
            variance *= noise / (variance + noise)
            errors.append(abs(value - predicted) / max(abs(value), math.sqrt(noise)))
            sampled.append(step)
            before, gains[step], noises[step] = (measured, noise), gain, noise
            if controller is not None:
                even = (count - step) / max(most - len(sampled), 1)
                interval = max(controller.next_interval(interval, errors, sampled), controller.pace * even)
                interval = min(interval, float(count))
        else:
            variance += moves
        values[step] = value
    variances, variance = np.zeros(count), 0.0
    for step in range(first, count):
        variance = (1.0 - gains[step]) ** 2 * (variance + moves) + gains[step] ** 2 * noises[step]
        variances[step] = variance
    variances[:first] = variances[first] + moves * np.arange(first, 0, -1)
    return values, variances, np.isin(np.arange(count), sampled), moves
