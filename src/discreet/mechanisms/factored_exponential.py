"""The factored exponential mechanism: a candidate by the sum of each row's scores (Williams and McSherry 2010).

Candidate z is drawn with probability ∝ exp(η Σ_i s(z, x_i)), s(z, x) = log φ(z, x) moved into a declared interval
[low, high] of width w. What a row says is clamped, so that nobody has to understand the score to trust the bound; and
the law of the draw factors over rows, so that models can be inferred from it (``discreet.inference``).

*Proof.* Take the middle of the interval off each score: it changes no probability. A row that comes or goes moves the
sums by c(z) ∈ [−w/2, w/2], moves that differ from one another by at most w. A row that is replaced moves them by
c'(z) − c(z) ∈ [−w, w]: at most 2w. The rows of a unit add up: m times that. So the log-ratio of two neighbours' output
laws has a range of at most η·spread, spread = mw or 2mw, and it is bounded range ε at η = ε/spread. (Sums beyond n·w/2
are moved back, which brings each move nearer to 0 and leaves it in an interval around 0 of that length.) Computed
sums are off by at most E each, two neighbours' over two candidates: the spread grows by 4E. The rest of the floats
is ``exponential.rate``'s. Attained: by rows whose scores are low for one candidate and high for another.

A score must look at one row at a time. Where it fails on some rows together, it is called again with fewer, down to one
row: so what stands for a row does not depend on its neighbours. BLAS may round in another way for other numbers of
rows: a score is charged as if it could differ by 2⁻⁴⁰w in other company. Made-up rows, alone and together, show before
anything is spent whether that holds for them. It is no theorem for a score with jumps: there a rounding moves a row by
all of w, so such a score must be computed without matrix products.

Section 2 of the paper counts φ in [1/e, e] as 2ε; by its range that is ε·w = 2ε under add-remove and 4ε for a row that
is replaced.
"""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any, Unpack

import numpy as np

from discreet.arguments import shown
from discreet.door import Bound, Curator, Declarations, open_rows
from discreet.door.part import Part
from discreet.door.passages import Passage, Plan, Setting
from discreet.door.question import Question
from discreet.door.registry import registered
from discreet.door.selection import Selection
from discreet.guarantees import Guarantee, Loss, Neighbors
from discreet.mechanisms.exponential import Choice, rate
from discreet.mechanisms.own import Array, Own, made_up
from discreet.noise import Bits, categorical
from discreet.records import Block, Box, Records
from discreet.records.guard import attempt_rows
from discreet.records.reading import to_host

__all__ = ["FactoredChoice", "FactoredExponential", "FactoredSum"]

ONE_AT_A_TIME = threading.RLock()  # blocks may come from several threads: no two meet in an array that a score reuses

LARGEST, SMALLEST = 1e200, 1e-200  # of a score, and of the width: sums of any number of rows stay in range
COMPANY = 2.0**-40  # of the width: what a score may differ by when other rows stand beside its own
AT_A_TIME = 2**20  # scores that are held
ALONE = 8  # made-up rows that are also tried by themselves


@dataclass(frozen=True, eq=False, repr=False)
class FactoredChoice(Choice):
    """A candidate that was chosen, with all that inference needs to know of how.

    Attributes
    ----------
    rate : float
        η: the candidate was drawn with probability ∝ exp(η·its summed scores).
    mechanism : FactoredExponential
    """

    rate: float
    mechanism: FactoredExponential


@dataclass(frozen=True, eq=False)
class FactoredExponential:
    """One of some candidates, by scores of each row that are clamped and summed.

    What rests on trust: that ``score`` looks at each row by itself, keeps no state, does not write, print or send what
    it sees, and takes as long for one row as for another. A row's score may change by rounding with the rows beside it,
    and that is charged; so a score with jumps must not come from a matrix product, where a rounding could move it
    across one.

    Parameters
    ----------
    score : callable
        From rows, an array of shape (n, columns) in the data's units (numbers first, then the number of each
        category), and the candidates to an array of shape (n, candidates): log φ, larger is better. Where it is NaN, or
        raises for a row by itself, the score is ``low``.
    candidates : sequence or array
        Public.
    low, high : float
        Scores are moved in between.

    Examples
    --------
    The chance of heads, by the log-likelihood of each throw:

    >>> import numpy as np
    >>> def score(rows, chances):
    ...     return np.log(np.where(rows == 1, chances, 1 - np.array(chances)))
    >>> coin = FactoredExponential(score, [0.1, 0.3, 0.5, 0.7, 0.9], low=np.log(0.1), high=np.log(0.9))
    >>> rows = np.repeat([0.0, 1.0], [1400, 600])
    >>> found = coin.draw(rows, bounds=(0, 1), epsilon=1.0)
    >>> found.value, f"{found.rate:.4f}"
    (0.3, '0.2276')
    """

    score: Callable[[Array, Any], Any]
    candidates: Any
    low: float = -1.0
    high: float = 1.0

    def __post_init__(self) -> None:
        if not callable(self.score):
            raise ValueError(f"score={shown(self.score)}: expected a function of rows and candidates")
        kept = _kept(self.candidates)
        if not len(kept):
            raise ValueError(f"candidates={shown(self.candidates)}: expected at least one")
        object.__setattr__(self, "candidates", kept)
        try:
            low, high = float(self.low), float(self.high)
        except (TypeError, ValueError, OverflowError):
            low, high = math.nan, math.nan
        if not (max(abs(low), abs(high)) <= LARGEST and high / 2 - low / 2 >= SMALLEST):
            raise ValueError(
                f"low={shown(self.low)}, high={shown(self.high)}: expected low < high, finite numbers of at "
                f"most {LARGEST:g} in size; write for example low=-1.0, high=1.0"
            )
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def half_width(self) -> float:
        """How far a score can be from the middle; rounded up."""
        return math.nextafter(self.high / 2 - self.low / 2, math.inf)

    def draw(
        self, data: Any, *, epsilon: float, bits: Bits | None = None, **declared: Unpack[Declarations]
    ) -> FactoredChoice:
        """Choose a candidate, the better its summed scores the likelier.

        Parameters
        ----------
        data : Curator, Records, array, data frame, path of Parquet files or Dask collection
        epsilon : float
        bits : SeededBits
            For a test.
        declared
            See ``discreet.door.Declarations``.
        """
        curator = open_rows(data, **declared)
        promise = Guarantee(epsilon, 0.0, curator.neighbors)
        self._rehearse(curator)
        query = FactoredSum(self, len(curator.columns), tuple(map(len, curator.categories)))
        eta = query.rate(query.usual_loss(promise), curator.setting)
        release = curator.measure(query, promise, bits=bits)
        index = int(release["selected"][0])
        return FactoredChoice.of(
            self.candidates[index], curator, promise, [release], index=index, rate=eta, mechanism=self
        )

    def log_scores(self, rows: Array) -> Array:
        """Return log φ of each row and candidate, between ``low`` and ``high``; never an error, never a warning."""
        with ONE_AT_A_TIME:
            found = attempt_rows(partial(self._asked, rows), len(rows), len(self.candidates), self.low)
        return np.asarray(np.clip(np.where(np.isnan(found), self.low, found), self.low, self.high))

    def _asked(self, rows: Array, some: slice) -> Any:
        """Return what the function makes of some rows; it is given copies, and may write into them."""
        return self.score(np.array(rows[some]), deepcopy(self.candidates))

    def _rehearse(self, curator: Curator) -> None:
        """Call the score with made-up rows, together and one by one, and raise where that goes wrong."""
        rows = made_up(curator)
        shape = (len(rows), len(self.candidates))
        box = Box(self.low, self.high).for_columns(1)
        Own(lambda rows: self.score(rows, deepcopy(self.candidates)), box, shape, np.array([self.low])).rehearse(
            curator, "score"
        )
        together = self.log_scores(rows)
        alone = np.concatenate([self.log_scores(rows[i : i + 1]) for i in range(ALONE)])
        turned = self.log_scores(rows[::-1])[::-1]
        apart = max(np.abs(together[:ALONE] - alone).max(), np.abs(together - turned).max())
        if apart > COMPANY * 2.0 * self.half_width:
            raise ValueError(
                "score: expected a function of each row by itself; a made-up row scores differently among other rows, "
                "or in another order; write what it takes from all rows (a mean, a count) as a public number"
            )
        if shape[1] > 1 and np.ptp(together, axis=1).max() == 0.0:
            warnings.warn(
                f"score: on made-up rows all candidates score alike between low={self.low:g} and high={self.high:g}; "
                "the choice may be blind; write bounds that the scores vary between",
                stacklevel=3,
            )


def _kept(candidates: Any) -> Any:
    """Return candidates that nobody can change afterwards: an array, or a tuple."""
    if isinstance(candidates, str | bytes | Mapping | Set) or not isinstance(candidates, Iterable):
        raise ValueError(f"candidates={shown(candidates)}: expected a list or an array of them, in an order")
    if hasattr(candidates, "to_numpy"):
        candidates = candidates.to_numpy()
    if not isinstance(candidates, np.ndarray):
        try:
            return tuple(deepcopy(list(candidates)))
        except RecursionError:
            raise ValueError("candidates: expected values that are not so deep") from None
    if candidates.ndim == 0:
        raise ValueError(f"candidates={shown(candidates)}: expected a list or an array of them, in an order")
    kept = np.array(candidates)
    kept.setflags(write=False)
    return kept


def _steep(rows: Array, candidates: Sequence[float]) -> Array:
    return np.asarray(5.0 * rows[:, :1] * np.asarray(candidates))


@registered(
    lambda rng, d, radius: [
        FactoredSum(FactoredExponential(_steep, (-2.0, -1.0, 1.0), -1.0, 1.0), d),
        FactoredSum(FactoredExponential(_steep, tuple(rng.choice([-1.0, 1.0], 5)), -0.5, 3.0), d),
    ]
)
@dataclass(frozen=True, eq=False)
class FactoredSum(Selection):
    """The sums of all rows' scores, their middle taken off.

    A row contributes h = w/2 at most in each coordinate: h√|Z| in L2, h|Z| in L1, twice that when it is replaced; all
    attained. What is drawn rests on ``spread``.
    """

    mechanism: FactoredExponential
    numbers: int
    categories: tuple[int, ...] = ()
    name = "factored exponential mechanism"

    @property
    def dimension(self) -> int:
        """The number of numeric columns."""
        return self.numbers

    @property
    def passage(self) -> Passage:
        """The draw."""
        return Factored()

    @property
    def parts(self) -> Mapping[str, Part]:
        """One sum a candidate."""
        return {"scores": Part((len(self.mechanism.candidates),))}

    @property
    def bound(self) -> Bound:
        """See the class."""
        half = self.mechanism.half_width
        return Bound(l2=half * math.sqrt(self.size), l1=half * self.size)

    @property
    def roundoff(self) -> float:
        """A score in other company, in half widths."""
        return 2.0 * COMPANY

    def contributions(self, block: Block) -> Array:
        """Return the scores of each row, between −h and h."""
        return np.concatenate([np.empty((0, self.size)), *self._pieces(block)])

    def sum(self, block: Block) -> Array:
        """Return their sum; few rows are scored at a time, however many candidates there are."""
        return np.asarray(sum((piece.sum(axis=0) for piece in self._pieces(block)), np.zeros(self.size)))

    def _pieces(self, block: Block) -> Iterator[Array]:
        rows = np.concatenate([to_host(block.x), to_host(block.codes)[:, : len(self.categories)]], axis=1)
        half = self.mechanism.half_width
        middle = self.mechanism.low / 2 + self.mechanism.high / 2
        step = max(AT_A_TIME // self.size, 1)
        for start in range(0, len(rows), step):
            yield np.clip(self.mechanism.log_scores(rows[start : start + step]) - middle, -half, half)

    def collect(self, records: Records, setting: Setting) -> Array:
        """Return the sum over all rows; a database sends them, since it cannot score them."""
        most = self.largest_score(setting)
        return np.clip(records.reduce(self.sum, self.size), -most, most)

    def scores(self, values: Array) -> Array:
        """Return the sums."""
        return values

    def spread(self, setting: Setting) -> float:
        """Return mw under add-remove, 2mw under replace-one, and four times the error of a computed sum."""
        half = self.mechanism.half_width
        error = setting.rows * half * (self.roundoff + setting.accumulation * (1.0 + self.roundoff))
        ideal = setting.max_rows * 2.0 * half * (1.0 if setting.neighbors is Neighbors.ADD_REMOVE else 2.0)
        return (ideal + 4.0 * error) * (1.0 + 2.0**-50)

    def largest_score(self, setting: Setting) -> float:
        """Return half the width times the bound on the number of rows."""
        return setting.rows * self.mechanism.half_width * (1.0 + 1e-6)

    def rate(self, loss: Loss, setting: Setting) -> float:
        """Return η for a ``BoundedRangeLoss``."""
        return rate(loss, self.spread(setting), self.largest_score(setting))


class Factored(Passage):
    """The draw of a candidate; see the module for the proof."""

    kind = "selection"

    def plan(self, query: Question, loss: Loss, setting: Setting) -> Plan:
        """Return the draw for a ``BoundedRangeLoss``."""
        if not isinstance(query, FactoredSum):
            raise ValueError(f"query={query.name!r}: expected the sum of a factored exponential mechanism")
        eta = query.rate(loss, setting)

        def draw(values: Array, bits: Bits | None) -> Array:
            return np.array([float(categorical(eta * values, bits))])

        return Plan(self.kind, loss, None, True, {"selected": Part((1,))}, draw)
