"""``running_sum``: private running sums at every step of a series, by one release."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import UNSHOWN, ArgumentError, choice, format_value
from discreet.door import Declarations, Release
from discreet.door.inquiry import Inquiry, planned
from discreet.noise import Bits
from discreet.queries.series.buffered_toeplitz import factorize_buffered
from discreet.queries.series.factorization import Blocks, DoublingSums, Factorization, Tree, TreeSums, square_root
from discreet.signals.series import SMALLEST, Series, Steps
from discreet.signals.signal import Signal

Array = NDArray[np.float64]

METHODS: dict[str, Callable[[int], Factorization]] = {
    "toeplitz": square_root,
    "streaming": factorize_buffered,
    "doubling": lambda count: DoublingSums(Blocks(count)),
    "tree": lambda count: TreeSums(Tree(count)),
}


@planned
def running_sum(
    data: Any,
    *,
    time: str | int | None = None,
    value: str | int | None = None,
    steps: int | Steps | None = None,
    epsilon: float,
    delta: float = 1e-6,
    method: str = "toeplitz",
    monotone: bool = False,
    bits: Bits | None = None,
    **declared: Unpack[Declarations],
) -> Inquiry[Signal]:
    """Return the private running sum S_1 + … + S_t after every step of a series.

    All of them together cost the guarantee once. The noise of each grows with the logarithm of their number.

    Parameters
    ----------
    data : Curator, Records, array, data frame, path of Parquet files, Dask collection
        Long rows, one for each event, or wide rows, one for each person with a column for every step
        (``signals.series``).
    time : str or int, optional
        The column of times, for long rows; None for wide ones.
    value : str or int, optional
        The column of values to add up; None to count events.
    steps : int or Steps, optional
        The number of equal steps of the declared range of times, or a public grid within that range. Times are first
        clipped to the declared range. If late or early rows must not fall into the first or the last step, declare the
        range wider than the grid. None for wide rows.
    epsilon, delta : float
        The guarantee. The noise is Gaussian. Only ``"tree"`` takes δ = 0, with Laplace noise.
    method : str
        ``"toeplitz"``: the square root of the lower triangular matrix of ones, which has the least noise.
        ``"streaming"``: the method of ``Stream`` with a known number of steps, with nearly the same noise.
        ``"doubling"``: the method of ``Stream`` with an unknown number of steps. ``"tree"``: a binary tree, a baseline,
        and the only method for δ = 0.
    monotone : bool
        Whether to make the sums of values declared non-negative increase, by isotonic regression. It costs nothing, and
        never increases the sum of squared errors over variances. ``std`` and ``interval`` still describe the noise
        before it.
    bits : Bits, optional
        Seeded bits, for a test; the answer is then not private and says so.
    **declared
        ``bounds``, ``classes``, ``schema``, ``neighbors``, ``unit``, ``max_rows``: see ``discreet.door.Declarations``.

    Returns
    -------
    Signal

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import signals
    >>> hours = np.random.default_rng(0).uniform(0.0, 24.0, 10_000)
    >>> total = signals.running_sum(hours, time=0, steps=24, epsilon=1.0, bounds=(0, 24))
    >>> bool(abs(total.value[-1] - 10_000) < 200), total.std[-1] < 20.0
    (True, np.True_)
    >>> total
    <Signal of 24 steps, event-level: at (ε=1, δ=1e-06) replace-one for each row, NOT RECORDED in any ledger>
    """
    choice("method", method, METHODS)
    series = Series.from_rows(
        data, time=time, value=value, steps=steps, epsilon=epsilon, delta=delta, bits=bits, declared=declared
    )
    if not series.guarantee.delta and method != "tree":
        raise ArgumentError(
            "delta",
            delta,
            f"δ above 0 for method={format_value(method)}",
            write="delta=1e-6, or method='tree', which takes Laplace noise",
        )
    if not isinstance(monotone, bool):
        raise ArgumentError("monotone", monotone, "True or False")
    if monotone and not series.nonnegative:
        raise ArgumentError("monotone", True, "values that are declared at least 0; sums of others may decrease")
    return make_factored_inquiry(series, METHODS[method](series.count), monotone=monotone)


def make_factored_inquiry(series: Series, factors: Factorization, *, monotone: bool = False) -> Inquiry[Signal]:
    """Return the inquiry that releases C·S with noise and decodes it by B, for a factorisation B·C."""
    query, loss = series.query(factors.operator), series.loss()
    noise = series.noise(query, loss)
    with np.errstate(all="ignore"):
        std = np.sqrt(noise.variance) * factors.weights
    if not float(std.max()) < 1.0 / SMALLEST:
        raise ArgumentError(
            "bounds, epsilon",
            UNSHOWN,
            f"noise of a standard deviation of at most {1.0 / SMALLEST:.0e}; it would be {std.max():.1e}. Write the "
            "values, or the filter, in another unit",
        )

    def answer(release: Release) -> Signal:
        value = factors.decode(series.read_totals(release, factors.operator))
        if monotone:
            value = _increasing(value, std)
        return Signal.from_series(value, series, [release], std=std, peak=noise.scale * factors.peaks)

    return series.make_inquiry(query, loss, answer)


def _increasing(values: Array, std: Array) -> Array:
    """Return the nearest non-negative increasing series, in the sum of squares over variances."""
    from scipy.optimize import isotonic_regression

    result = isotonic_regression(values, weights=1.0 / std**2)
    return np.asarray(np.maximum(result.x, 0.0), dtype=np.float64)
