"""Sample and aggregate: a function of one's own on random blocks of rows, and a private centre of its results.

Nothing is asked of the function (Nissim, Raskhodnikova and Smith 2007): whatever it does, a row is in one block only.
Nothing but that it is one: that what it makes of a block depends on no other block.

The proof stands beside the two centres, in ``queries.functions.blocks``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from discreet.arguments import ArgumentError, choice, integer, probability
from discreet.door import Answer, Declarations, Release, open_rows
from discreet.door.inquiry import Inquiry, planned
from discreet.guarantees import Guarantee
from discreet.mechanisms.exponential import MOST_CELLS
from discreet.mechanisms.trial import tried
from discreet.noise import Bits
from discreet.queries.functions.blocks import MeanOfBlocks, MedianOfBlocks, OfBlocks
from discreet.queries.functions.user_functions import Array, Own, WholeRows

MOST_BLOCKS = 2**24


@dataclass(frozen=True, eq=False, repr=False)
class Aggregate(Answer):
    """A private centre of a function's results on blocks.

    Attributes
    ----------
    blocks : int
        How many blocks there were.
    width : float or array
        The declared width of ``output``.
    """

    blocks: int
    width: Any

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """Return intervals for the mean of the blocks' results, before noise.

        Each holds its number with probability ``level``. They are about the noise alone: not about how a function's
        results on small blocks differ from its result on all rows.
        """
        noise = self.release.noise
        if noise is None:
            raise ArgumentError("aggregate", "median", "'mean' for an interval; a median has no additive noise")
        half = self.width * noise.half_width(level)
        return self.value - half, self.value + half


@planned
def sample_and_aggregate(
    f: Callable[[Array], Any],
    data: Any,
    *,
    output: Any,
    epsilon: float,
    delta: float = 0.0,
    aggregate: str = "mean",
    blocks: int | None = None,
    size: int | None = None,
    least: int = 1,
    cells: int = 1024,
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Inquiry[Aggregate]:
    """Return a private centre of what any function makes of random blocks of rows.

    Nothing has to be known of the function; that it has no side effects and keeps no state between calls rests on
    trust. A random generator that was made outside of f is state: with a seed, how much one block draws from it changes
    what the next ones get. Make it inside. f suits if its results on a small sample are near the one on all rows. The
    mean's error is the width of ``output`` over blocks·ε, and what blocks lose against all rows; the median does not
    mind a wide ``output``.

    Parameters
    ----------
    f : callable
        From rows to one number, or ``size`` of them; as in ``output_perturbation``. Where it raises, or
        returns NaN or infinity or another shape, the middle of ``output`` takes its place.
    data : Curator, Records, array, data frame, path of Parquet files or Dask collection
    output : (low, high)
        What the results are moved into, a number each or ``size`` of them; public.
    epsilon, delta : float
        A median keeps ε alone.
    aggregate : str
        ``"mean"`` (Gaussian noise, or Laplace at δ = 0) or ``"median"`` (exponential mechanism, each number by itself).
    blocks : int
        k; by default √n, where n is public. It must not be chosen by looking at the rows.
    size : int
        How many numbers f returns; None for one.
    least : int
        A block of fewer rows than this counts as a failure.
    cells : int
        For the median: in how many cells ``output`` is cut.
    bits : SeededBits
        For a test.
    declared
        See ``discreet.door.Declarations``.

    Returns
    -------
    Aggregate

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0, 10, 10_000)
    >>> rows = np.column_stack([x, 3 * x + rng.normal(0, 1, x.size)])
    >>> def slope(rows):
    ...     return np.polyfit(rows[:, 0], rows[:, 1], 1)[0]
    >>> result = sample_and_aggregate(slope, rows, bounds=(-40, 40), output=(0, 10), epsilon=1.0)
    >>> result.blocks, bool(1 < result.value < 5)
    (100, True)
    """
    curator = open_rows(data, **declared)
    failure = probability("delta", delta)
    kept = 0.0 if choice("aggregate", aggregate, ("mean", "median")) == "median" else failure
    guarantee = Guarantee(epsilon, kept, curator.neighbors)
    if blocks is None:
        if curator.size.units is None:
            raise ArgumentError(
                "blocks", None, "how many, since the number of rows is not public", write="for example blocks=100"
            )
        blocks = max(1, round(math.sqrt(curator.size.units)))
    k = integer("blocks", blocks, least=1, most=MOST_BLOCKS)
    own = tried(Own.with_output(f, output, None if size is None else integer("size", size, least=1)), curator)
    fewest, count = integer("least", least, least=0), integer("cells", cells, least=1, most=MOST_CELLS)
    mean, median = MeanOfBlocks(own, k, fewest), MedianOfBlocks(own, k, fewest, count)
    way: OfBlocks = mean if aggregate == "mean" else median

    def answer(release: Release) -> Aggregate:
        value = way.in_units(release["value"])
        width = own.shown(np.asarray(own.box.high) - np.asarray(own.box.low))
        return Aggregate.from_releases(own.shown(value), curator, guarantee, [release], blocks=k, width=width)

    return Inquiry.of_one(curator, guarantee, WholeRows.for_rows(curator, way), answer, bits=bits)
