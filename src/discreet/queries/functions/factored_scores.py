"""The factored exponential mechanism: a choice by the sum of the rows' scores (Williams and McSherry 2010), with proof.

Candidate z is drawn with probability ∝ exp(η Σ_i s(z, x_i)), s(z, x) = log φ(z, x) clipped to a declared interval
[low, high] of width w. Scores are clipped, so the bound holds for any score function. The distribution of the draw
factors over rows, so that models can be inferred from it (``discreet.inference``).

*Proof.* Subtract the middle of the interval from each score, which changes no probability. A row that is added or
removed changes the sums by c(z) ∈ [−w/2, w/2], and these changes differ from one another by at most w. A row that is
replaced changes them by c'(z) − c(z) ∈ [−w, w], and these differ by at most 2w. The rows of a unit add up: m times
that. So the log-ratio of two neighbours' output distributions has a range of at most η·spread, spread = mw or 2mw, and
the loss is bounded range ε at η = ε/spread. (Sums beyond n·w/2 are clipped, which brings each change closer to 0 and
leaves it in an interval around 0 of that length.) Computed sums are off by at most E each; for two neighbours and two
candidates the spread grows by 4E. The other float errors are those of ``score_queries.exponential_rate``. The bound is
attained by rows whose scores are low for one candidate and high for another.

A score must look at one row at a time. Where it fails on several rows together, it is called again with fewer, down to
one row, so that the value used for a row does not depend on other rows. BLAS may round differently for other numbers of
rows, so a score is charged as if it could differ by 2⁻⁴⁰w beside other rows. Made-up rows, alone and together, check
this before anything is spent. For a score with jumps it is not guaranteed: a rounding error may change such a score by
all of w, so it must be computed without matrix products.

Section 2 of the paper counts φ in [1/e, e] as 2ε; by its range that is ε·w = 2ε under add-remove and 4ε for a replaced
row.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from discreet.arguments import ArgumentError
from discreet.guarantees import Loss, Neighbors
from discreet.noise.draws import Choose
from discreet.queries.bound import Bound, Setting
from discreet.queries.functions.score_queries import exponential_rate
from discreet.queries.functions.user_functions import Array
from discreet.queries.mechanism import Mechanism, Plan
from discreet.queries.question import Part, Question, Selection
from discreet.records import Block, Records
from discreet.records.generic_arrays import to_host

COMPANY = 2.0**-40  # how much a score may differ beside other rows, in widths
AT_A_TIME = 2**20  # how many scores are in memory at a time


class RowScores(Protocol):
    """Clamped scores of each row (``discreet.mechanisms.FactoredExponential``)."""

    @property
    def candidates(self) -> Any:
        """Public."""

    @property
    def low(self) -> float:
        """The least score."""

    @property
    def high(self) -> float:
        """The largest score."""

    @property
    def half_width(self) -> float:
        """How far a score can be from the middle; rounded up."""

    def log_scores(self, rows: Array) -> Array:
        """Return a score for each row and candidate, between ``low`` and ``high``; total."""


class FactoredMechanism(Mechanism):
    """The draw of a candidate; see the module for the proof."""

    kind = "selection"

    def plan(self, question: Question, loss: Loss, setting: Setting) -> Plan:
        """Return the draw for a ``BoundedRangeLoss``."""
        if not isinstance(question, FactoredSum):
            raise ArgumentError("query", question.name, "the sum of a factored exponential mechanism")
        eta = question.rate(loss, setting)
        return Plan(
            kind=self.kind,
            loss=loss,
            parts={"selected": Part((1,))},
            draw=Choose(),
            target=lambda values: eta * values,
        )


@dataclass(frozen=True, eq=False)
class FactoredSum(Selection):
    """The sums of all rows' scores, after subtracting the middle of [low, high].

    A row contributes at most h = w/2 in each coordinate: h√|Z| in L2, h|Z| in L1, and twice that for a replaced row;
    all are attained. The loss of the draw follows from ``spread``.
    """

    scored: RowScores
    numbers: int
    categories: tuple[int, ...] = ()
    name = "factored exponential mechanism"
    mechanism = FactoredMechanism()

    @property
    def dimension(self) -> int:
        """The number of numeric columns."""
        return self.numbers

    @property
    def parts(self) -> Mapping[str, Part]:
        """One sum a candidate."""
        return {"scores": Part((len(self.scored.candidates),))}

    @property
    def bound(self) -> Bound:
        """See the class."""
        half = self.scored.half_width
        return Bound(l2=half * math.sqrt(self.size), l1=half * self.size)

    @property
    def roundoff(self) -> float:
        """The change of a score beside other rows, in half widths."""
        return 2.0 * COMPANY

    def contributions(self, block: Block) -> Array:
        """Return the scores of each row, between −h and h."""
        return np.concatenate([np.empty((0, self.size)), *self._pieces(block)])

    def sum(self, block: Block) -> Array:
        """Return their sum; few rows are scored at a time, however many candidates there are."""
        return np.asarray(sum((piece.sum(axis=0) for piece in self._pieces(block)), np.zeros(self.size)))

    def _pieces(self, block: Block) -> Iterator[Array]:
        rows = np.concatenate([to_host(block.x), to_host(block.codes)[:, : len(self.categories)]], axis=1)
        half = self.scored.half_width
        middle = self.scored.low / 2 + self.scored.high / 2
        step = max(AT_A_TIME // self.size, 1)
        for start in range(0, len(rows), step):
            yield np.clip(self.scored.log_scores(rows[start : start + step]) - middle, -half, half)

    def collect(self, records: Records, setting: Setting) -> Array:
        """Return the sum over all rows; a database sends them, since it cannot score them."""
        most = self.largest_score(setting)
        return np.clip(records.reduce(self.sum, self.size, self.scored.half_width), -most, most)

    def scores(self, values: Array) -> Array:
        """Return the sums."""
        return values

    def spread(self, setting: Setting) -> float:
        """Return mw under add-remove, 2mw under replace-one, and four times the error of a computed sum."""
        half = self.scored.half_width
        error = setting.rows * half * (self.roundoff + setting.accumulation * (1.0 + self.roundoff))
        ideal = setting.max_rows * 2.0 * half * (1.0 if setting.neighbors is Neighbors.ADD_REMOVE else 2.0)
        return (ideal + 4.0 * error) * (1.0 + 2.0**-50)

    def largest_score(self, setting: Setting) -> float:
        """Return half the width times the bound on the number of rows."""
        return setting.rows * self.scored.half_width * (1.0 + 1e-6)

    def rate(self, loss: Loss, setting: Setting) -> float:
        """Return η for a ``BoundedRangeLoss``."""
        return exponential_rate(loss, self.spread(setting), self.largest_score(setting))
