"""``fourier``: private series by their leading Fourier coefficients, for smooth series.

One *event* moves k of T coefficients by B·√(k/T) (``fourier_operator``). Noise of standard deviation σ on each
coefficient becomes σ·√(k/T) at each step: k/T of the noise in a plain release of the series. One *person* in all steps
moves the constant as far as all coefficients together. So fewer coefficients do not need less noise each, but there are
fewer of them.

**Laplace noise** is the method of Rastogi and Nath (2010, FPA_k). They scale it by √k·Δ₂/ε for k complex coefficients.
These are 2k real numbers, so √(2k)·Δ₂/ε is needed. Here k counts real numbers, and the L1 norm is over those.

**Number of coefficients.** For events k is chosen by the exponential mechanism (``fourier_choice``). If the noise on a
coefficient does not depend on k (persons with Gaussian noise), no private choice is needed: all coefficients are
released, and k is then chosen to minimise an unbiased estimate of the error,

    Σ_{i>k} (c_i² − σ²) + k·σ².

After a private choice the same rule may drop some more. Where ε is above 1000, far beyond any useful protection, the
noise is small and all coefficients are released as well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from discreet.door import Declarations, Release
from discreet.door.inquiry import Inquiry, Measure, planned
from discreet.guarantees import BoundedRangeLoss, GaussianLoss, Guarantee, LaplaceLoss, Loss, calibrate
from discreet.noise import Bits
from discreet.queries.series.fourier_choice import FourierCount
from discreet.queries.series.fourier_operator import Fourier
from discreet.queries.series.operators import Identity
from discreet.queries.series.series_sums import ColumnSums, StepSums, WaveSums
from discreet.signals.series import Series, Steps
from discreet.signals.signal import Signal, choose_noise, spent_delta

Array = NDArray[np.float64]

CHOOSING = 0.1  # share of the budget that chooses the number of coefficients
AMPLE = 1000.0  # ε above which all are released: their noise is small, and the composed cost slow to compute


@dataclass(frozen=True, eq=False, repr=False)
class FourierSignal(Signal):
    """A private series of few Fourier coefficients.

    Attributes
    ----------
    kept : int
        The number of coefficients that were kept; the others are 0.
    spectrum : array of shape (kept,)
        These coefficients, in the order of ``Fourier``. Where rows are persons and their number is public, they are of
        the rows centred at the middle of their bounds.
    """

    kept: int = 0
    spectrum: Array | None = None

    def _shown(self) -> str:
        return f"{super()._shown()}, of {self.kept} Fourier coefficients"


@planned
def fourier(
    data: Any,
    *,
    time: str | int | None = None,
    value: str | int | None = None,
    steps: int | Steps | None = None,
    coefficients: int | None = None,
    epsilon: float,
    delta: float = 1e-6,
    method: str | None = None,
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Inquiry[FourierSignal]:
    """Return a private series by its leading Fourier coefficients.

    Parameters
    ----------
    data, time, value, steps
        The rows and the steps, as in ``running_sum``.
    coefficients : int or None
        The number of coefficients to keep: odd, for a constant and pairs of sine and cosine, or the number of steps. A
        cycle of p steps needs more than 2T/p. None: chosen privately. For events the exponential mechanism chooses, at
        a tenth of the budget; for persons with Gaussian noise the choice is made from all released coefficients, which
        costs nothing. Coefficients that are mostly noise are then set to 0.
    epsilon, delta : float
    method : {"gaussian", "laplace"} or None
        The noise. Laplace noise spends no δ. It grows with the L1 norm and so faster with k; Rastogi and Nath (2010)
        use it. None: Laplace if ``delta=0``; else the one of lower variance where ``coefficients`` are given and there
        is no ledger, and Gaussian where they are chosen.
    bits : Bits
        Seeded bits, for a test.
    **declared
        ``bounds``, ``classes``, ``schema``, ``neighbors``, ``unit``, ``max_rows``: see ``discreet.door.Declarations``.

    Returns
    -------
    FourierSignal
        Its ``std`` and ``interval`` account for the noise alone, not for the coefficients that were dropped.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import signals
    >>> hours = np.repeat(np.arange(48) + 0.5, 1000 + (300 * np.sin(np.arange(48) * np.pi / 12)).astype(int))
    >>> result = signals.fourier(hours, time=0, steps=48, coefficients=5, epsilon=1.0, bounds=(0, 48))
    >>> bool(abs(result.value[6] - 1300) < 30), result.level, bool(result.std[0] < 1.0)
    (True, 'event', True)
    """
    spent = spent_delta("method", method, delta)
    series = Series.from_rows(
        data, time=time, value=value, steps=steps, epsilon=epsilon, delta=spent, bits=bits, declared=declared
    )
    T = series.count
    if coefficients is not None or T == 1:
        operator = Fourier(T, 1 if coefficients is None else coefficients)
        query = _query(series, operator)
        loss = choose_noise(series, query, method)[0]
        return series.make_inquiry(query, loss, lambda release: _fourier_signal(series, operator, [release]))
    norm = "l2" if series.guarantee.delta else "l1"
    fewest, all_ = (series.curator.setting.sensitivity(_query(series, Fourier(T, k)), norm) for k in (1, T))
    if all_ <= (1.0 + 1e-6) * fewest or series.guarantee.epsilon > AMPLE:
        query, loss = series.query(Identity(T)), series.loss()
        series.noise(query, loss)
        return series.make_inquiry(
            query, loss, lambda release: _fourier_signal(series, Fourier(T, T), [release], trim=True)
        )
    choosing, measuring = _losses(CHOOSING, series.guarantee)
    candidates = _candidates(T)
    queries = [_query(series, Fourier(T, k)) for k in candidates]
    energies = tuple(k * series.noise(query, measuring).variance for k, query in zip(candidates, queries, strict=True))
    kept = FourierCount(series.query(Identity(T)), candidates, energies)

    def answer(measure: Measure) -> FourierSignal:
        chosen = measure(kept)
        place = int(chosen.value[0])
        return _fourier_signal(series, Fourier(T, candidates[place]), [chosen, measure(queries[place])], trim=True)

    asked = [(kept, choosing), (queries[0], measuring)]
    return Inquiry(series.curator, series.guarantee, asked, answer, "fourier", bits)


def _candidates(count: int) -> tuple[int, ...]:
    """Return 1, 3, 5, 9, 17, … and T.

    >>> _candidates(20)
    (1, 3, 5, 9, 17, 20)
    """
    return (1, *(k for k in (2**i + 1 for i in range(1, 23)) if k < count), count)


def _query(series: Series, operator: Fourier) -> StepSums | ColumnSums:
    """Return the query for F·S, with the bound of ``WaveSums`` for events; for S itself where F is square.

    All coefficients together are the series in other coordinates. In its own coordinates one event moves one number, so
    the L1 norm is 1.
    """
    query = series.query(Identity(series.count) if operator.kept == series.count else operator)
    if query.operator is not operator:
        return query
    if isinstance(query, StepSums):
        return WaveSums(query.space, operator, query.time, query.value, query.start, query.stop)
    return query


@lru_cache(maxsize=64)  # it takes a second, and is often repeated
def _losses(share: float, guarantee: Guarantee) -> tuple[Loss, Loss]:
    """Return the losses of the choice and of the measurement: ρ = ε²/8 and μ²/2 split by ``share``, or ε if δ = 0."""
    if not guarantee.delta:
        each = share * guarantee.epsilon, (1.0 - share) * guarantee.epsilon
        return BoundedRangeLoss(each[0], guarantee.neighbors), LaplaceLoss(each[1], guarantee.neighbors)
    relative: list[Loss] = [
        BoundedRangeLoss(math.sqrt(8.0 * share), guarantee.neighbors),
        GaussianLoss(math.sqrt(2.0 * (1.0 - share)), guarantee.neighbors),
    ]
    choosing, measuring = calibrate(guarantee, relative).losses
    return choosing, measuring


def _fourier_signal(
    series: Series, operator: Fourier, releases: Sequence[Release], *, trim: bool = False
) -> FourierSignal:
    """Return the series from the coefficients of the last release; with ``trim``, from those with the least risk."""
    noise, spectrum, T = releases[-1].noise, np.array(releases[-1].value), operator.count
    assert noise is not None
    peak = noise.scale * (1.0 if operator.kept == T else math.sqrt((1.0 if operator.kept == 1 else 2.0) / T))
    if operator.kept == T:
        spectrum = operator.apply(spectrum)
    if trim:
        ks = np.array([k for k in _candidates(T) if k <= operator.kept])
        risks = np.append(np.cumsum((spectrum**2 - noise.variance)[::-1])[::-1], 0.0)[ks] + ks * noise.variance
        operator = Fourier(T, int(ks[risks.argmin()]))
        spectrum = spectrum[: operator.kept]
    values = operator.back(spectrum)
    rows, query = series.curator.size.rows, series.query(Identity(T))
    if isinstance(query, ColumnSums) and query.centred and rows is not None:
        values = values + rows * query.middle
    std = math.sqrt(noise.variance) * operator.column_norm("l2")
    return FourierSignal.from_series(
        values,
        series,
        releases,
        std=np.full(T, std),
        peak=np.full(T, peak),
        kept=operator.kept,
        spectrum=spectrum,
    )
