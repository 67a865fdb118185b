"""Private minima and maxima: quantiles as close to the ends as noise allows.

The smallest value itself cannot be released. One row decides what it is: without that row it may be anything up to the
next one, and with another row anything down to the lower bound. So what is drawn is a quantile near the end, and the
answer says which one.

**Which one.** A candidate is drawn with probability ∝ e^(−η·d), where d is by how many rows it misses the quantile
(``queries.ranks``). All candidates below the smallest row miss a quantile with k rows below it by k. Together they are
outweighed by one near it if η·k is above the logarithm of their number; more than e^10 times as many are not expected,
and e^3 is left as a margin. So k = (min(ln(candidates), 10) + 3)/η, and the level of the minimum is k/n, but at most a
quarter. The number of rows n is the public one, or a public guess of it. The level depends on public numbers alone.

The interval is that of the quantile. The true minimum is at most its upper end, with the level of the interval; from
below only the declared bound holds it.
"""

from __future__ import annotations

import builtins
import math
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from discreet.door import Declarations
from discreet.guarantees import BoundedRangeLoss
from discreet.noise import Bits
from discreet.statistics.groups import By
from discreet.statistics.quantile_answers import Quantile
from discreet.statistics.quantiles import INTERVALS, AnyQuantileRequest
from discreet.statistics.request import Request, planning_rows, statistic

Array = NDArray[np.float64]

WIDEST, MARGIN = 10.0, 3.0  # logarithms: of how many candidates lie beyond the rows, and of how they are outweighed
MOST_SHARE = 0.25  # the quantile farthest from an end


@dataclass(frozen=True, eq=False, repr=False)
class Extreme(Quantile):
    """A private minimum or maximum: the quantile near that end which noise allows to draw.

    Attributes
    ----------
    levels : tuple of float
        The level of the quantile that was drawn.
    """

    _for_population: ClassVar[str | None] = None  # its intervals are worst-case ones

    @property
    def about(self) -> str:
        """What was drawn, in words."""
        (level,) = self.levels
        if level < 0.5:
            return f"the {level:.2%} quantile, since the smallest value itself is that of a single row"
        return f"the {level:.2%} quantile, since the largest value itself is that of a single row"

    def table(self, level: float = 0.95, of: str | None = None) -> list[dict[str, Any]]:
        """Return a row for each number; ``quantile`` is the level of the quantile that was drawn."""
        return [row | {"quantile": self.levels[0]} for row in super().table(level, of)]

    @property
    def notes(self) -> tuple[str, ...]:
        """What was drawn, beside the notes of every answer."""
        return (self.about, *super().notes)


@dataclass(frozen=True, kw_only=True)
class ExtremeRequest(AnyQuantileRequest[Extreme]):
    """A request for a quantile near an end; the level follows from the guarantee.

    Attributes
    ----------
    upper : bool
        Whether it is the maximum.
    guess : int or None
        A public guess of the number of rows.
    """

    upper: bool
    guess: int | None

    kind: ClassVar[type[Any]] = Extreme

    def __post_init__(self) -> None:
        super().__post_init__()
        draws = self.draws
        rows = builtins.max(planning_rows(self.curator, self.guess) / draws.number, 1.0)
        relation, share = self.guarantee.neighbors, 1.0 if self.interval is None else 1.0 - INTERVALS
        question = draws.end(0.0, draws.scale, False, 1.0)  # of a level near 0
        loss = BoundedRangeLoss(share * self.guarantee.epsilon, relation)
        eta = question.way.eta(question, loss, self.curator.setting)
        beyond = builtins.min(math.log(draws.scale.count + 1.0), WIDEST) + MARGIN
        level = builtins.min(beyond / eta / rows, MOST_SHARE)
        object.__setattr__(self, "levels", (1.0 - level if self.upper else level,))

    def read(self, values: Array, others: Array) -> Array:
        """Return the quantiles in the column's own units."""
        return self.scales[0].to_own(values)[:, 0]


@statistic()
def min(  # noqa: A001  # as in NumPy: it is read statistics.min
    data: Any,
    column: Any = None,
    *,
    epsilon: float,
    delta: float = 0.0,
    by: By | None = None,
    weights: str | int | None = None,
    step: float | None = None,
    interval: float | None = 0.95,
    rows: int | None = None,
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Request[Extreme]:
    """Return a private quantile near the smallest value of a column, as close to it as noise allows.

    The smallest value itself cannot be released: it is that of a single row. The answer says which quantile was drawn
    (``levels``, ``about``). The more rows and the larger ε, the closer it is to 0.

    Parameters
    ----------
    data, column, epsilon, delta, by, weights, step, interval, bits
        As in ``quantiles``. With weights, ``rows`` is about their sum over the largest weight.
    rows : int, optional
        A public guess of how many rows there are, where that is not public; 1000 by default. It decides which quantile
        is drawn.
    **declared
        ``bounds``, ``classes``, ``schema``, ``neighbors``, ``unit``, ``max_rows``: see ``discreet.door.Declarations``.

    Returns
    -------
    Extreme

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import statistics
    >>> ages = np.random.default_rng(0).uniform(20.0, 90.0, 20_000)
    >>> result = statistics.min(ages, epsilon=1.0, bounds=(0, 120), step=1)
    >>> result.value in (20.0, 21.0), result.about
    (True, 'the 0.13% quantile, since the smallest value itself is that of a single row')
    """
    options: dict[str, Any] = {
        "interval_kind": "worst-case",
        "levels": (0.5,),
        "step": step,
        "interval": interval,
        "upper": False,
        "guess": rows,
    }
    return ExtremeRequest.from_columns(data, column, epsilon, delta, declared, bits, by, weights, **options)


@statistic()
def max(  # noqa: A001  # as in NumPy: it is read statistics.max
    data: Any,
    column: Any = None,
    *,
    epsilon: float,
    delta: float = 0.0,
    by: By | None = None,
    weights: str | int | None = None,
    step: float | None = None,
    interval: float | None = 0.95,
    rows: int | None = None,
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Request[Extreme]:
    """Return a private quantile near the largest value of a column; see ``min`` for the arguments.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import statistics
    >>> ages = np.random.default_rng(0).uniform(20.0, 90.0, 20_000)
    >>> 89.0 <= statistics.max(ages, epsilon=1.0, bounds=(0, 120), step=1).value <= 90.0
    True
    """
    options: dict[str, Any] = {
        "interval_kind": "worst-case",
        "levels": (0.5,),
        "step": step,
        "interval": interval,
        "upper": True,
        "guess": rows,
    }
    return ExtremeRequest.from_columns(data, column, epsilon, delta, declared, bits, by, weights, **options)
