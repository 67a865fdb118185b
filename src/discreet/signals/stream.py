"""``Stream``: a private running sum over rows that arrive step by step.

At step t the rows of that step are summed to S_t, and k private buffers compute u_t = (C·S)_t (``buffered_toeplitz``).
The door releases u_t with noise (``door.schedule``), and k public buffers compute the running sum from the releases.
Everything is paid for at the beginning. The buffers are the only private state. The proof, float error included, is
beside the question (``queries.series.stream_sums``).
"""

from __future__ import annotations

import math
import threading
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from array_api_compat import is_torch_array
from numpy.typing import NDArray
from scipy.special import ndtri

from discreet.arguments import UNSHOWN, ArgumentError, integer, positive, probability
from discreet.door import Curator, Release
from discreet.door.schedule import StreamMechanism
from discreet.guarantees import GaussianLoss, Guarantee, Neighbors, calibrate
from discreet.ledger import Ledger
from discreet.noise import Bits
from discreet.queries.series.buffered_toeplitz import BufferedRun, BufferedTotals, fit_factor
from discreet.queries.series.factorization import MOST_BLOCKS, WITHIN
from discreet.queries.series.operators import MOST_STEPS, UP
from discreet.queries.series.stream_sums import StreamSums
from discreet.records import Box
from discreet.records.declared.bounds import read_pair

Array = NDArray[np.float64]

AT_MOST = 10**7
MOST_ERROR = 0.1


class Stream:
    """A private running sum that is updated step by step.

    The guarantee is event-level: each row is in one step. All steps together cost the guarantee once, when the stream
    is opened. The rows may depend on earlier releases.

    Parameters
    ----------
    bounds : (low, high), optional
        The bounds of the values, to which others are clipped. None: rows are counted, whatever they hold.
    horizon : int or None
        The largest number of steps, up to 2²². None: it is unknown, and the noise is 1.3 to 2.1 times as large.
    epsilon, delta : float
        The guarantee; δ above 0.
    name, ledger, budget, who
        As in ``Curator``: the name under which the spend is recorded, and where.
    neighbors : str
        ``"replace-one"`` (a row is replaced by another one, perhaps at another step, so the number of rows of a step is
        private) or ``"add-remove"``.
    at_most : int
        A public bound on the total number of rows. It only affects the bound on float error, and the grid. More rows
        are an error, since the owner's bound was wrong.
    bits : Bits, optional
        Seeded bits, for a test.

    Examples
    --------
    >>> stream = Stream(bounds=(0, 10), horizon=1000, epsilon=1.0, at_most=10**6)
    >>> for day in range(3):
    ...     total = stream.add([5.0] * 1000)
    >>> bool(abs(total - 15_000) < 15 * stream.std), stream.steps
    (True, 3)
    >>> stream
    <Stream at step 3 of 1000, event-level: (ε=1, δ=1e-06) replace-one for each row, NOT RECORDED in any ledger>
    """

    def __init__(
        self,
        *,
        bounds: Any = None,
        horizon: int | None = None,
        epsilon: float,
        delta: float = 1e-6,
        name: str | None = None,
        ledger: Ledger | str | None = None,
        budget: Guarantee | None = None,
        neighbors: Neighbors | str = Neighbors.REPLACE_ONE,
        at_most: int = AT_MOST,
        who: str | None = None,
        bits: Bits | None = None,
    ) -> None:
        failure = probability("delta", delta)
        if not failure:
            raise ArgumentError("delta", 0, "δ above 0, since the noise is Gaussian", write="delta=1e-6")
        self._guarantee = Guarantee(positive("epsilon", epsilon), failure, Neighbors.parse(neighbors))
        self._horizon = None if horizon is None else integer("horizon", horizon, least=1, most=MOST_STEPS)
        self._at_most = integer("at_most", at_most, least=1, most=2**50)
        self._limits = None if bounds is None else _limits(bounds)
        low, high = self._limits or (1.0, 1.0)
        if self._horizon is None:
            longest, numbers, norm = MOST_STEPS // 2, MOST_STEPS - 1 + MOST_BLOCKS, UP
            self._run = _block(1)
        else:
            longest = numbers = self._horizon
            self._run = BufferedRun(fit_factor(longest))
            norm = self._run.factor.norm
        self._totals = BufferedTotals()
        question = StreamSums(low, high, norm, longest, numbers, self._at_most)
        if 2.0 * question.error > MOST_ERROR * question.bound.l2:
            raise ArgumentError(
                "at_most",
                at_most,
                f"a smaller bound on the number of rows, or on that of steps (horizon={horizon!r}); with so many the "
                f"float error would cost more than {MOST_ERROR:.0%} of the noise",
            )
        curator = Curator(
            np.empty((0, 1)),
            space=Box(low, high) if low < high else Box(0.0, 1.0),
            name=name,
            ledger=ledger,
            budget=budget,
            neighbors=neighbors,
            who=who,
        )
        loss = calibrate(self._guarantee, GaussianLoss(1.0, self._guarantee.neighbors)).losses[0]
        self._mechanism = StreamMechanism(curator, question, loss, bits=bits)
        self._before, self._rows = 0.0, 0
        self._last: Release | None = None
        self._steps, self._value = 0, 0.0
        self._lock = threading.Lock()

    def add(self, rows: Any) -> float:
        """Add the rows of the next step, and return the private running sum so far.

        Parameters
        ----------
        rows : sequence of numbers
            The rows of the step, possibly empty. Numbers outside the bounds are clipped to them. NaN, infinities and
            what is not a number are ignored. Without bounds, anything that has a length: each element counts 1.

        Returns
        -------
        float
        """
        if self._steps == self._horizon:
            raise ValueError(
                f"horizon={self._horizon}: all steps of the stream are over; open another stream, with a longer "
                "horizon or with none"
            )
        self._mechanism.check()  # before the lock: in a forked process a lock held by its parent never opens
        with self._lock:
            self._mechanism.check()
            count, number = self._summed(rows)
            if self._rows + count > self._at_most:
                raise ValueError(
                    f"at_most={self._at_most}: expected a public bound that the number of rows does not exceed"
                )
            self._rows += count
            self._last = self._mechanism.draw(self._run.encode(number))
            self._value = self._before + self._run.decode(float(self._last.value[0]))
            self._steps += 1
            if self._horizon is None and self._run.finished:
                self._last = self._mechanism.draw(self._totals.encode(self._run.exact))
                self._value = self._before = self._totals.decode(float(self._last.value[0]))
                self._run = _block(2 * self._run.factor.count)
            return self._value

    def _summed(self, rows: Any) -> tuple[int, float]:
        """Return the number of rows of a step and the sum of their values; errors depend on no row."""
        try:
            count = len(rows) if not isinstance(rows, str | bytes) else None
        except TypeError:
            count = None
        if count is None or (self._limits is not None and getattr(rows, "ndim", 1) != 1):
            raise ArgumentError(
                "rows", UNSHOWN, "the rows of one step in a list, perhaps none", write="add([]) for none"
            )
        if self._limits is None:
            return count, float(count)
        values = _numbers(rows)
        return count, math.fsum(np.clip(values[np.isfinite(values)], *self._limits).tolist())

    @property
    def steps(self) -> int:
        """The number of steps so far."""
        return self._steps

    @property
    def horizon(self) -> int | None:
        """The largest number of steps, or None."""
        return self._horizon

    @property
    def value(self) -> float:
        """The private running sum so far."""
        return self._value

    @property
    def std(self) -> float:
        """The standard deviation of the noise in ``value``."""
        return math.sqrt(self._mechanism.noise.variance * (self._totals.variance + self._run.variance))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return an interval that holds the sum so far with this probability; it is about the noise alone."""
        half = -float(ndtri((1.0 - probability("level", level)) / 2.0)) * self.std
        return self._value - half, self._value + half

    @property
    def release(self) -> Release | None:
        """The release of the last step; its loss is that of the whole stream."""
        return self._last

    @property
    def guarantee(self) -> Guarantee | None:
        """What the whole stream costs; None where the noise came from a seed, which voids the guarantee."""
        return None if self._mechanism.seeded else self._guarantee

    def __repr__(self) -> str:
        of = "" if self._horizon is None else f" of {self._horizon}"
        guarantee = f"{self._guarantee} for each row"
        if self._mechanism.seeded:
            guarantee = "WITHOUT privacy: its noise comes from a seed"
        elif not self._mechanism.recorded:
            guarantee += ", NOT RECORDED in any ledger"
        return f"<Stream at step {self._steps}{of}, event-level: {guarantee}>"

    def __copy__(self) -> Stream:
        raise TypeError("a stream cannot be copied: it holds private sums; open another one")

    def __deepcopy__(self, memo: Any) -> Stream:
        return self.__copy__()

    def __reduce__(self) -> str:
        raise TypeError("a stream cannot be pickled: it holds private sums; open another one")


def _numbers(rows: Any) -> Array:
    """Return a number for each row, NaN for what is not a number.

    The result of a row depends on that row alone: an array of numbers is converted as a whole, but each number to the
    same float as by itself.

    >>> _numbers([1, 2.5, None, "3", 2**70, [4.0]]).tolist()
    [1.0, 2.5, nan, nan, 1.1805916207174113e+21, nan]
    """
    if hasattr(rows, "dtype"):
        own = np.asarray(rows.cpu() if is_torch_array(rows) else rows)
        if own.dtype.kind in "biuf":
            with np.errstate(all="ignore"):
                return own.astype(np.float64)
        rows = own.tolist() if own.dtype.kind == "O" else [None] * len(own)
    return np.array([_number(row) for row in rows], dtype=np.float64)


def _number(row: Any) -> float:
    if not isinstance(row, Real | Decimal | np.bool_):
        return math.nan
    try:
        with np.errstate(all="ignore"):
            return float(row)
    except Exception:  # whatever a row raises: no error may depend on a row
        return math.nan


def _limits(bounds: Any) -> tuple[float, float]:
    column = read_pair("bounds", bounds, "or None to count rows; write bounds=(0, 10)")
    if max(abs(column.low), abs(column.high)) > 1e100:
        raise ArgumentError("bounds", bounds, "numbers of at most 1e100 in size")
    return column.low, column.high


def _block(count: int) -> BufferedRun:
    factor = fit_factor(count)
    return BufferedRun(factor, factor.norm / WITHIN)
