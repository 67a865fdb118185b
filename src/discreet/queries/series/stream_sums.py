"""Running sums of a stream: numbers that become known one after the other, each released with noise of its own.

At step t the rows of that step are summed to S_t, k private buffers make u_t = (C·S)_t of it (``buffered_toeplitz``),
and u_t is released with Gaussian noise. What comes next may depend on what was released before: people react to
published numbers.

*Adaptivity.* Let two neighbouring streams have distance Σ_t (u_t − u'_t)² ≤ Δ² whatever was released before. Step t is
a Gaussian mechanism of loss μ_t = |u_t − u'_t|/σ, which may depend on earlier releases, and Σμ_t² ≤ (Δ/σ)² always. Such
an adaptive composition is as private as one Gaussian mechanism of μ = Δ/σ (the Gaussian filter; Smith and Thakurta
2022, and Denisov et al. 2022 for streams). On the grid each u_t moves by at most one step for both neighbours, which
adds 2·grid·√D to Δ over D numbers, as ``GaussianNoise.for_query`` charges.

*Sensitivity.* A row is in one step (event-level). With values in [l, h], B = max(|l|, |h|) and N = ‖c[:T]‖₂ the
distance of neighbours is that of ``StepSums``: B·N for a row that comes or goes; where a row is replaced, and may turn
up at another step, at most √2·B·N for values of one sign, since no c is negative, and (h − l)·N where it is more.
Without a horizon C is that of ``factorization.Blocks`` with rational factors in its blocks: N = 1.

*Float error.* S_t is the rounded exact sum of floats (``math.fsum``). A buffer goes from β to θβ + S: two roundings. So
the part of S_s in the computed u_t has passed through at most 2(t − s) + k + 5 of them: one for the sum, two a step,
one for the product with ω, k for the sum of k + 1 numbers, two for the scale. The total of a block takes one a step,
and at most 26 others for the second layer. ω, θ and f are positive, so with A_s the sum of |x| over the rows of step s,
u = 2⁻⁵³ and m = 2T + 30, T the steps of the longest run,

    |ũ_t − u_t| ≤ γ_m·(C·A)_t,  γ_m = mu/(1 − mu),   hence   ‖ũ − u‖₂ ≤ γ_m·N·‖A‖₁ ≤ γ_m·N·n·B

for n rows in all. Twice that is added to the sensitivity. The bound needs a declared n, ``at_most``. And |u_t| ≤ n·B,
as every c_t ≤ 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import ArgumentError
from discreet.guarantees import Loss
from discreet.noise import GaussianNoise
from discreet.queries.bound import UNIT_ROUNDOFF, Bound, Setting
from discreet.queries.mechanism import Mechanism, Plan
from discreet.queries.question import Part, Question
from discreet.queries.series.series_sums import event_distance

ROUNDINGS = 30.0  # beside two a step; see the module


class StreamNoise(Mechanism):
    """Gaussian noise on each number, at the price of all of them together; see the module for the proof."""

    kind = "additive"

    def plan(self, question: Question, loss: Loss, setting: Setting) -> Plan:
        """Return the noise for a Gaussian loss."""
        if not isinstance(question, StreamSums) or loss.gaussian is None:
            raise ArgumentError("loss", loss, f"a GaussianLoss under {setting.neighbors}")
        noise = GaussianNoise.for_query(
            mu=loss.gaussian,
            sensitivity=question.bound.sensitivity("l2", setting.neighbors) + 2.0 * question.error,
            largest=question.largest,
            size=question.numbers,
        )
        return Plan(kind=self.kind, loss=loss, parts={"number": Part((1,))}, draw=noise, noise=noise)


@dataclass(frozen=True)
class StreamSums(Question):
    """The numbers u_1, u_2, … of a stream, one at a time.

    Parameters
    ----------
    low, high : float
        Where values lie.
    norm : float
        N.
    longest : int
        T: the steps of the longest run.
    numbers : int
        D: how many may be released.
    at_most : int
        n: a public bound on the number of rows in all.
    """

    low: float
    high: float
    norm: float
    longest: int
    numbers: int
    at_most: int
    name = "stream of running sums"
    dimension = 0
    mechanism = StreamNoise()

    @property
    def most(self) -> float:
        """B."""
        return max(abs(self.low), abs(self.high))

    @property
    def bound(self) -> Bound:
        """B·N, and the distance of two events."""
        apart = event_distance(self.low, self.high, nonnegative=True) * self.norm
        return Bound(l2=self.most * self.norm, replace_l2=apart)

    @property
    def error(self) -> float:
        """The float error of all numbers together, in L2."""
        roundings = (2.0 * self.longest + ROUNDINGS) * UNIT_ROUNDOFF
        return 1.001 * roundings * self.norm * self.at_most * self.most

    @property
    def largest(self) -> float:
        """A bound on the size of each number."""
        return 1.001 * self.at_most * self.most

    def collect(self, records: Any, setting: Setting) -> NDArray[np.float64]:
        """Return the next number, which the stream's buffers hold, moved into the bound; 0 for what is no number."""
        number = float(records)
        return np.array([min(max(number, -self.largest), self.largest) if number == number else 0.0])
