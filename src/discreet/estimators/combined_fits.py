"""``combine``: estimates and honest standard errors from the same analysis of several synthetic tables.

**What the tables are.** Table l of m has n rows, drawn from the model at θ_l, and θ_1 … θ_m are draws from the
posterior of the parameters given the releases (``Posterior.synthesize``). An analyst computes from table l an estimate
q_l of some Q(θ), with a variance u_l, as if its rows were data.

**The rule.** Given the releases, Q = Q(θ) has a posterior with some mean and a variance V, which accounts for the
sampling of the private rows and for the noise. Given θ_l, the estimate q_l is nearly N(Q(θ_l), U), and u_l estimates U.
So, given the releases, the q_l are independent N(E Q, V + U). Let q̄ and B be their mean and their variance, and W the
mean of the u_l. Then B estimates V + U and W estimates U, and

    Q − q̄ ~ N(0, V + (V + U)/m),    estimated by T = (1 + 1/m)·B − W.

This is the variance for fully synthetic data of Raghunathan, Reiter and Rubin (2003). It holds because no private row
is in a table, and because the posterior of θ has all the uncertainty in it, so that none has to be added: Rubin's rule
for gaps, (1 + 1/m)·B + W, would count the sampling of the synthetic rows as if it were that of the data, and the one
for partially synthetic data, B/m + W, would leave the noise out.

**Intervals.** T may be negative, and B is known from m estimates only. So, as Si and Reiter (2011) do, B is given its
distribution, (m − 1)·B/(V + U) ~ χ² of m − 1 degrees of freedom, with the prior 1/(V + U) and with U = W. As V is not
negative, this χ² is at most (m − 1)·B/W. Intervals and p-values are those of the mixture of normal distributions that
follows, and the standard error is its standard deviation. For large m this is T.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammaincinv, ndtr, ndtri

from discreet.arguments import UNSHOWN, ArgumentError, iterable, probability
from discreet.estimators.coefficient_table import CoefficientTable, z_values

Array = NDArray[np.float64]

LEAST_FITS = 5  # the standard deviation is finite from 4 on
POINTS = 128  # of the distribution of V + U
HALVINGS = 50  # of the range of a half-width
ATTRIBUTES = (("params", "bse"), ("params", "std_errors"), ("params_", "standard_errors_"))


@dataclass(frozen=True, eq=False, repr=False)
class CombinedFits:
    """Estimates of the population that the private rows came from, with standard errors that know noise and sampling.

    Attributes
    ----------
    names : tuple of str
    estimates : array of shape (k,)
        q̄, the means over the tables.
    between : array of shape (k,)
        B, the variance of the estimates over the tables.
    within : array of shape (k,)
        W, the mean of the squared standard errors.
    tables : int
        m, how many tables there are.
    """

    names: tuple[str, ...]
    estimates: Array
    between: Array
    within: Array
    tables: int

    @property
    def standard_errors(self) -> Array:
        """The standard error of each estimate: the standard deviation of Q − q̄."""
        m = self.tables
        both, few = gammainc((m - 1) / 2.0, self._most / 2.0), gammainc((m - 3) / 2.0, self._most / 2.0)
        least = (m - 1) / (m - 3) * self.within  # where B is far below W, V + U is W over a power of a uniform number
        ratio = np.divide(few, both, out=np.zeros_like(both), where=both > 0.0)
        total = np.where(both > 0.0, (m - 1) / (m - 3) * self.between * ratio, least)
        return np.sqrt(np.maximum((1.0 + 1.0 / m) * total - self.within, 0.0))

    @property
    def _most(self) -> Array:
        """(m − 1)·B/W, which the χ² variate is at most."""
        infinite = np.where(self.between > 0.0, np.inf, 0.0)
        most = np.divide((self.tables - 1) * self.between, self.within, out=infinite, where=self.within > 0.0)
        return np.asarray(most)

    @cached_property
    def _deviations(self) -> Array:
        """Standard deviations of the normal distributions in the mixture, all of the same weight, shape (k, POINTS)."""
        m, places = self.tables, (np.arange(POINTS) + 0.5) / POINTS
        share = gammainc((m - 1) / 2.0, self._most / 2.0)[:, None]
        variates = 2.0 * gammaincinv((m - 1) / 2.0, share * places)
        least = self.within[:, None] * places ** (-2.0 / (m - 1))
        total = np.divide((m - 1) * self.between[:, None], variates, out=least, where=variates > 0.0)
        return np.asarray(np.sqrt(np.maximum((1.0 + 1.0 / m) * total - self.within[:, None], 0.0)))

    def _outside(self, distance: Array) -> Array:
        """Return the probability that Q is farther from q̄ than so."""
        spread = self._deviations
        away = np.divide(distance[:, None], spread, out=np.full_like(spread, np.inf), where=spread > 0.0)
        return np.asarray(2.0 * ndtr(-np.where(distance[:, None] > 0.0, away, 0.0)).mean(axis=1))

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Return an interval for each estimate, which holds the population's value with probability ``level``.

        Parameters
        ----------
        level : float

        Returns
        -------
        low, high : arrays
        """
        level = probability("level", level)
        low, high = np.zeros_like(self.estimates), -ndtri((1.0 - level) / 2.0) * self._deviations.max(axis=1)
        for _ in range(HALVINGS):
            middle = (low + high) / 2.0
            wide = self._outside(middle) < 1.0 - level
            low, high = np.where(wide, low, middle), np.where(wide, middle, high)
        return self.estimates - high, self.estimates + high

    def p_values(self) -> Array:
        """Return the two-sided p-value of each estimate, for the hypothesis that the population's value is 0."""
        return self._outside(np.abs(self.estimates))

    def summary(self, level: float = 0.95) -> CoefficientTable:
        """Return a table of estimates, standard errors, z, p-values and intervals; it prints like one of statsmodels.

        Parameters
        ----------
        level : float
            That of the intervals.
        """
        low, high = self.interval(level)
        return CoefficientTable(
            title=f"Combined from {self.tables} synthetic tables",
            facts=(("Rule", "fully synthetic data"), ("No. of tables", str(self.tables))),
            names=self.names,
            estimates=self.estimates,
            errors=self.standard_errors,
            z=z_values(self.estimates, self.standard_errors),
            p=self.p_values(),
            low=low,
            high=high,
            level=level,
            note="Standard errors account for noise and sampling.",
        )

    def table(self, level: float = 0.95) -> list[dict[str, Any]]:
        """Return a row for each estimate; ``pandas.DataFrame`` accepts the result."""
        return self.summary(level).table()

    def __repr__(self) -> str:
        return str(self.summary())

    def _repr_html_(self) -> str:
        """Return the table for notebooks."""
        return self.summary()._repr_html_()


def combine(fits: Iterable[Any], names: Sequence[str] | None = None) -> CombinedFits:
    """Combine the same analysis of several synthetic tables of one posterior.

    Parameters
    ----------
    fits : iterable
        One for each table of ``Posterior.synthesize``: a result with estimates and standard errors (``params`` and
        ``bse`` of statsmodels, ``params`` and ``std_errors`` of linearmodels, ``params_`` and ``standard_errors_`` of
        lifelines), or a pair (estimates, standard errors) of numbers or arrays.
    names : sequence of str, optional
        Of the estimates. By default those of the results, or numbers.

    Returns
    -------
    CombinedFits

    Examples
    --------
    >>> import discreet as dp
    >>> fits = [(1.0, 0.1), (1.3, 0.1), (0.8, 0.1), (1.1, 0.1), (0.9, 0.1), (1.2, 0.1)]
    >>> combined = dp.combine(fits, names=["slope"])
    >>> combined.estimates.round(2).tolist(), combined.standard_errors.round(2).tolist()
    ([1.05], [0.24])
    >>> low, high = combined.interval(0.95)
    >>> bool(low[0] < 0.7), bool(high[0] > 1.4)
    (True, True)
    """
    if isinstance(fits, str) or not isinstance(fits, Iterable):
        raise ArgumentError("fits", UNSHOWN, "a list with one fit for each synthetic table")
    pairs = [_read_fit(fit, place) for place, fit in enumerate(fits)]
    if len(pairs) < LEAST_FITS:
        raise ArgumentError(
            "fits", UNSHOWN, f"at least {LEAST_FITS}, one for each synthetic table; 20 are usual, got {len(pairs)}"
        )
    known = pairs[0][0]
    for place, (own, estimates, _) in enumerate(pairs):
        if own != known or estimates.shape != pairs[0][1].shape:
            raise ArgumentError(
                "fits", UNSHOWN, f"the same estimates from each table; fit {place} has others than fit 0"
            )
    q = np.array([estimates for _, estimates, _ in pairs])
    u = np.array([errors for *_, errors in pairs]) ** 2
    if names is not None:
        known = tuple(map(str, names)) if iterable(names) and not isinstance(names, str) else ()
        if len(known) != q.shape[1]:
            raise ArgumentError("names", names, f"a name for each of {q.shape[1]} estimates")
    return CombinedFits(known, q.mean(axis=0), q.var(axis=0, ddof=1), u.mean(axis=0), len(q))


def _read_fit(fit: Any, place: int) -> tuple[tuple[str, ...], Array, Array]:
    """Return the names, the estimates and the standard errors of one fit."""
    pair: Any = fit
    for first, second in ATTRIBUTES:
        if hasattr(fit, first) and hasattr(fit, second):
            pair = getattr(fit, first), getattr(fit, second)
            break
    else:
        if hasattr(fit, "get_params") or not isinstance(fit, Sequence | np.ndarray) or len(fit) != 2:
            raise ArgumentError(
                "fits",
                UNSHOWN,
                f"estimates with standard errors, but fit {place} is a {type(fit).__name__}",
                write="(estimates, standard_errors) for each table, or a result of statsmodels",
            )
    try:
        estimates, errors = (np.atleast_1d(np.asarray(part, dtype=np.float64)) for part in pair)
    except (TypeError, ValueError) as error:
        raise ArgumentError("fits", UNSHOWN, f"numbers; fit {place} has something else ({error})") from error
    if estimates.ndim != 1 or estimates.shape != errors.shape or not estimates.size:
        raise ArgumentError(
            "fits",
            UNSHOWN,
            f"as many standard errors as estimates, in one row each; fit {place} has the shapes {estimates.shape} and "
            f"{errors.shape}",
        )
    if not (np.all(np.isfinite(estimates)) and np.all(np.isfinite(errors)) and np.all(errors >= 0.0)):
        raise ArgumentError(
            "fits",
            UNSHOWN,
            f"finite estimates and standard errors; fit {place} has others. Did it converge on this table?",
        )
    labels: Any = getattr(pair[0], "index", None)
    if labels is None or callable(labels):  # a list has a method of that name
        labels = [f"x{j}" for j in range(estimates.size)]
    return tuple(map(str, labels)), estimates, errors
