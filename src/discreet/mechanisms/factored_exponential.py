"""The factored exponential mechanism: a candidate by the sum of each row's scores (Williams and McSherry 2010).

The question and its proof are in ``discreet.queries.functions.factored_scores``. Here is what a user calls: it
tries the score on made-up rows, alone and together, before anything is spent.
"""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping, Set
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any, Unpack

import numpy as np

from discreet.arguments import UNSHOWN, ArgumentError
from discreet.door import Curator, Declarations, Release, open_rows
from discreet.door.inquiry import Inquiry
from discreet.guarantees import Guarantee
from discreet.mechanisms.exponential import Choice
from discreet.mechanisms.trial import made_up, tried
from discreet.noise import Bits
from discreet.queries.functions.factored_scores import COMPANY, FactoredSum
from discreet.queries.functions.user_functions import Array, Own, attempt_rows
from discreet.records import Box

ONE_AT_A_TIME = threading.RLock()  # blocks may come from several threads: no two meet in an array that a score reuses

LARGEST, SMALLEST = 1e200, 1e-200  # of a score, and of the width: sums of any number of rows stay in range
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
    >>> result = coin.draw(rows, bounds=(0, 1), epsilon=1.0)
    >>> result.value, f"{result.rate:.4f}"
    (0.3, '0.2276')
    """

    score: Callable[[Array, Any], Any]
    candidates: Any
    low: float = -1.0
    high: float = 1.0

    def __post_init__(self) -> None:
        if not callable(self.score):
            raise ArgumentError("score", self.score, "a function of rows and candidates")
        candidates = _frozen(self.candidates)
        if not len(candidates):
            raise ArgumentError("candidates", self.candidates, "at least one")
        object.__setattr__(self, "candidates", candidates)
        try:
            low, high = float(self.low), float(self.high)
        except (TypeError, ValueError, OverflowError):
            low, high = math.nan, math.nan
        if not (max(abs(low), abs(high)) <= LARGEST and high / 2 - low / 2 >= SMALLEST):
            raise ArgumentError(
                ("low", "high"),
                (self.low, self.high),
                f"low < high, finite numbers of at most {LARGEST:g} in size",
                write="for example low=-1.0, high=1.0",
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
        return self.plan(data, epsilon=epsilon, bits=bits, **declared).run()

    def plan(
        self, data: Any, *, epsilon: float, bits: Bits | None = None, **declared: Unpack[Declarations]
    ) -> Inquiry[FactoredChoice]:
        """Return what ``draw`` would ask; nothing is spent."""
        curator = open_rows(data, **declared)
        guarantee = Guarantee(epsilon, 0.0, curator.neighbors)
        self._try(curator)
        query = FactoredSum(self, len(curator.columns), tuple(map(len, curator.categories)))
        eta = query.rate(query.default_loss(guarantee), curator.setting)

        def answer(release: Release) -> FactoredChoice:
            index = int(release["selected"][0])
            facts = {"index": index, "rate": eta, "mechanism": self}
            return FactoredChoice.from_releases(self.candidates[index], curator, guarantee, [release], **facts)

        return Inquiry.of_one(curator, guarantee, query, answer, bits=bits)

    def log_scores(self, rows: Array) -> Array:
        """Return log φ of each row and candidate, between ``low`` and ``high``; never an error, never a warning."""
        with ONE_AT_A_TIME:
            result = attempt_rows(partial(self._ask, rows), len(rows), len(self.candidates), self.low)
        return np.asarray(np.clip(np.where(np.isnan(result), self.low, result), self.low, self.high))

    def _ask(self, rows: Array, some: slice) -> Any:
        """Return what the function makes of some rows; it is given copies, and may write into them."""
        return self.score(np.array(rows[some]), deepcopy(self.candidates))

    def _try(self, curator: Curator) -> None:
        """Call the score with made-up rows, together and one by one, and raise where that goes wrong."""
        rows = made_up(curator)
        shape = (len(rows), len(self.candidates))
        box = Box(self.low, self.high).for_columns(1)
        own = Own(lambda rows: self.score(rows, deepcopy(self.candidates)), box, shape, np.array([self.low]))
        tried(own, curator, "score")
        together = self.log_scores(rows)
        alone = np.concatenate([self.log_scores(rows[i : i + 1]) for i in range(ALONE)])
        turned = self.log_scores(rows[::-1])[::-1]
        apart = max(np.abs(together[:ALONE] - alone).max(), np.abs(together - turned).max())
        if apart > COMPANY * 2.0 * self.half_width:
            raise ArgumentError(
                "score",
                UNSHOWN,
                "a function of each row by itself; a made-up row scores differently among other rows, or in another "
                "order",
                write="what it takes from all rows (a mean, a count) as a public number",
            )
        if shape[1] > 1 and np.ptp(together, axis=1).max() == 0.0:
            warnings.warn(
                f"score: on made-up rows all candidates score alike between low={self.low:g} and high={self.high:g}; "
                "the choice may be blind; write bounds that the scores vary between",
                stacklevel=3,
            )


def _frozen(candidates: Any) -> Any:
    """Return candidates that nobody can change afterwards: an array, or a tuple."""
    if isinstance(candidates, str | bytes | Mapping | Set) or not isinstance(candidates, Iterable):
        raise ArgumentError("candidates", candidates, "a list or an array of them, in an order")
    if hasattr(candidates, "to_numpy"):
        candidates = candidates.to_numpy()
    if not isinstance(candidates, np.ndarray):
        try:
            return tuple(deepcopy(list(candidates)))
        except RecursionError:
            raise ArgumentError("candidates", UNSHOWN, "values that are not so deep") from None
    if candidates.ndim == 0:
        raise ArgumentError("candidates", candidates, "a list or an array of them, in an order")
    frozen = np.array(candidates)
    frozen.setflags(write=False)
    return frozen
