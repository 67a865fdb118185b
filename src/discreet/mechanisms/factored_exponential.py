"""The factored exponential mechanism: choose a candidate by the sum of the rows' scores (Williams and McSherry 2010).

The query and its proof are in ``discreet.queries.functions.factored_scores``. This module has the public class, which
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
from numbers import Real
from typing import Any, Unpack

import numpy as np

from discreet.arguments import UNSHOWN, ArgumentError
from discreet.door import Curator, Declarations, Release, open_rows
from discreet.door.inquiry import Inquiry
from discreet.guarantees import Guarantee
from discreet.mechanisms.exponential import Choice
from discreet.mechanisms.trial import make_up_rows, try_function
from discreet.noise import Bits
from discreet.queries.functions.factored_scores import COMPANY, FactoredSum
from discreet.queries.functions.user_functions import Array, UserFunction, attempt_rows
from discreet.records import Box

ONE_AT_A_TIME = threading.RLock()  # blocks may come from several threads, and a score may reuse an array

LARGEST, SMALLEST = 1e200, 1e-200  # limits of a score and of the width, so that sums over any rows stay in range
ALONE = 8  # how many made-up rows are also tried one by one


@dataclass(frozen=True, eq=False, repr=False)
class FactoredChoice(Choice):
    """The chosen candidate, with the facts about the mechanism that inference needs.

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
    """Choose one of several candidates by the clipped scores of each row, summed over the rows.

    Assumptions that are not checked: ``score`` looks at each row by itself, keeps no state, does not write, print or
    send the rows, and takes the same time for every row. A row's score may change by rounding errors with the rows
    beside it, which is charged. A score with jumps must therefore not use a matrix product, where a rounding error
    could move it across a jump.

    Parameters
    ----------
    score : callable
        From rows, an array of shape (n, columns) in the data's units (numeric columns first, then the code of each
        category), and the candidates to an array of shape (n, candidates): log φ, larger is better. Where it is NaN, or
        raises for a row by itself, the score is ``low``.
    candidates : sequence or array
        The candidates; public.
    low, high : float
        Scores are clipped to [low, high].

    Examples
    --------
    The probability of heads, by the log-likelihood of each toss:

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
        candidates = _freeze(self.candidates)
        if not len(candidates):
            raise ArgumentError("candidates", self.candidates, "at least one")
        object.__setattr__(self, "candidates", candidates)
        ends: tuple[Any, Any] = (self.low, self.high)
        try:
            low, high = (float(end) if isinstance(end, Real) else math.nan for end in ends)
        except OverflowError:
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
        """The largest distance of a score from the middle of [low, high]; rounded up."""
        return math.nextafter(self.high / 2 - self.low / 2, math.inf)

    def draw(
        self, data: Any, *, epsilon: float, bits: Bits | None = None, **declared: Unpack[Declarations]
    ) -> FactoredChoice:
        """Choose a candidate; candidates with higher summed scores are more likely.

        The arguments are as in ``output_perturbation``.
        """
        return self.plan(data, epsilon=epsilon, bits=bits, **declared).run()

    def plan(
        self, data: Any, *, epsilon: float, bits: Bits | None = None, **declared: Unpack[Declarations]
    ) -> Inquiry[FactoredChoice]:
        """Return the plan of ``draw``; nothing is spent."""
        curator = open_rows(data, **declared)
        guarantee = Guarantee(epsilon, 0.0, curator.neighbors)
        self._check_score(curator)
        query = FactoredSum(self, len(curator.columns), tuple(map(len, curator.categories)))
        eta = query.rate(query.default_loss(guarantee), curator.setting)

        def answer(release: Release) -> FactoredChoice:
            index = int(release["selected"][0])
            facts = {"index": index, "rate": eta, "mechanism": self}
            return FactoredChoice.from_releases(self.candidates[index], curator, guarantee, [release], **facts)

        return Inquiry.of_one(curator, guarantee, query, answer, bits=bits)

    def log_scores(self, rows: Array) -> Array:
        """Return log φ of each row and candidate, clipped to [low, high]; it never raises and never warns."""
        with ONE_AT_A_TIME:
            result = attempt_rows(partial(self._ask, rows), len(rows), len(self.candidates), self.low)
        return np.asarray(np.clip(np.where(np.isnan(result), self.low, result), self.low, self.high))

    def _ask(self, rows: Array, some: slice) -> Any:
        """Return the function's scores of some rows; it gets copies, and may write into them."""
        return self.score(np.array(rows[some]), deepcopy(self.candidates))

    def _check_score(self, curator: Curator) -> None:
        """Call the score with made-up rows, together and one by one, and raise where it fails."""
        rows = make_up_rows(curator)
        shape = (len(rows), len(self.candidates))
        box = Box(self.low, self.high).for_columns(1)
        function = UserFunction(
            lambda rows: self.score(rows, deepcopy(self.candidates)), box, shape, np.array([self.low])
        )
        try_function(function, curator, "score")
        together = self.log_scores(rows)
        alone = np.concatenate([self.log_scores(rows[i : i + 1]) for i in range(ALONE)])
        turned = self.log_scores(rows[::-1])[::-1]
        apart = max(np.abs(together[:ALONE] - alone).max(), np.abs(together - turned).max())
        if apart > COMPANY * 2.0 * self.half_width:
            raise ArgumentError(
                "score",
                UNSHOWN,
                "a function of each row by itself; a made-up row has another score among other rows, or in another "
                "order",
                write="what it uses of all rows (a mean, a count) as a public number",
            )
        if shape[1] > 1 and np.ptp(together, axis=1).max() == 0.0:
            warnings.warn(
                f"score: on made-up rows all candidates have equal scores between low={self.low:g} and "
                f"high={self.high:g}, so the choice may be random; write bounds between which the scores vary",
                stacklevel=3,
            )


def _freeze(candidates: Any) -> Any:
    """Return a read-only copy of the candidates: an array, or a tuple."""
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
