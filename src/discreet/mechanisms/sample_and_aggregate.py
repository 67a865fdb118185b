"""Sample and aggregate: apply a user's function to random blocks of rows, and release a private centre of its results.

The function may be arbitrary (Nissim, Raskhodnikova and Smith 2007), because each row is in one block only. The only
assumption is that its result on a block depends on no other block.

The proofs of the two centres, mean and median, are in ``queries.functions.blocks``.
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
from discreet.mechanisms.trial import try_function
from discreet.noise import Bits
from discreet.queries.functions.blocks import BlockMean, BlockMechanism, BlockMedian
from discreet.queries.functions.user_functions import Array, UserFunction, WholeRows

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
        """Return confidence intervals for the mean of the blocks' results before noise, at this ``level``.

        They account for the noise alone, not for how the function's results on small blocks differ from its result on
        all rows.
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
    """Release a private centre of a function's results on random blocks of rows.

    No sensitivity is needed. One assumption is not checked: that f has no side effects and keeps no state between
    calls. A random generator that is created outside of f is such state: with a seed, the draws for one block change
    those for the next. Create it inside f. The method works well if results on a small sample are close to the result
    on all rows. The error of the mean is the width of ``output`` over blocks·ε, plus the difference between blocks and
    all rows; the median is insensitive to a wide ``output``.

    Parameters
    ----------
    f : callable
        From rows to one number, or to ``size`` numbers; as in ``output_perturbation``. Where it fails, the middle of
        ``output`` is used in its place.
    data, output, size, bits, declared
        As in ``output_perturbation``.
    epsilon, delta : float
        The median spends ε only.
    aggregate : str
        ``"mean"`` (Gaussian noise, or Laplace at δ = 0) or ``"median"`` (exponential mechanism, each number by itself).
    blocks : int
        The number of blocks, k; by default √n, where n is public. It must not be chosen by looking at the rows.
    least : int
        A block with fewer rows than this counts as a failure.
    cells : int
        For the median: the number of cells that ``output`` is divided into.

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
    function = try_function(UserFunction.with_output(f, output, size), curator)
    fewest, count = integer("least", least, least=0), integer("cells", cells, least=1, most=MOST_CELLS)
    mean, median = BlockMean(function, k, fewest), BlockMedian(function, k, fewest, count)
    way: BlockMechanism = mean if aggregate == "mean" else median

    def answer(release: Release) -> Aggregate:
        value = way.in_units(release["value"])
        width = function.as_output(np.asarray(function.box.high) - np.asarray(function.box.low))
        return Aggregate.from_releases(function.as_output(value), curator, guarantee, [release], blocks=k, width=width)

    return Inquiry.of_one(curator, guarantee, WholeRows.for_rows(curator, way), answer, bits=bits)
