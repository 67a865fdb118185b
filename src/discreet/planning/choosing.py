"""``plan``: the smallest ε whose predicted error meets a target.

The error decreases as ε grows, so the smallest sufficient ε is found by bisection on ln ε. Nothing is measured and
nothing is spent: everything is a function of numbers that the analyst knows or assumes.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import ArgumentError, as_numbers, axes, naming_arguments, positive
from discreet.guarantees import Guarantee, Neighbors
from discreet.guarantees.caution import WEAK, PlanningWarning, guarantee_caution
from discreet.planning.formula import Formula
from discreet.planning.recognition import delta_for, formula_for, recognize

LEAST, MOST = 1e-6, 1e4  # the range of ε that is searched
HALVINGS = 60
MOST_COUNT_NOISE = 0.1  # relative noise on the number of rows; above it, formulas are about 10 % off
VALUE_SHARE = 0.6  # the share of ε for the value of a quantile; the rest is for its interval


@dataclass(frozen=True)
class EpsilonPlan:
    """The smallest ε for a target error, and the error that is predicted for it. ``print`` describes it in words.

    Attributes
    ----------
    what : str
    guarantee : Guarantee
        The smallest guarantee that meets the target.
    target : float
    formula : Formula
        The predicted error, with its derivation in its docstring.
    """

    what: str
    guarantee: Guarantee
    target: float
    formula: Formula

    @property
    def epsilon(self) -> float:
        """The smallest ε whose predicted error meets the target."""
        return self.guarantee.epsilon

    @property
    def predicted(self) -> float:
        """The predicted error at that ε."""
        return self.formula.error(self.guarantee)

    @property
    def floor(self) -> float:
        """The part of the error that no ε removes; 0 where there is none, or the sampling error was not asked for."""
        return self.formula.floor

    @property
    def measure(self) -> str:
        """What the error is, and its unit."""
        return self.formula.measure

    @property
    def _columns(self) -> str:
        """The number of columns in words, which is 1 where none was given; rows are counted without any."""
        columns = self.formula.d
        return "" if self.what == "count" else f" of {columns} column{'s' * (columns > 1)}"

    @property
    def _parts(self) -> str:
        """Units, groups and weights in words."""
        formula = self.formula
        parts = [f"{formula.max_rows} rows of a unit"] if formula.max_rows > 1 else []
        parts += [f"{formula.groups} groups, one with {formula.group_share:.3g} of them"] if formula.groups > 1 else []
        parts += [] if formula.weight is None else [f"weights of {formula.weight:.3g} of the largest on average"]
        return f" ({', '.join(parts)})" if parts else ""

    def curve(self, epsilons: float | Iterable[float] | NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the predicted error at each ε, with the same δ and relation.

        >>> plan("mean", 1000, target=0.01).curve([0.1, 1.0]).round(5).tolist()
        [0.01414, 0.00141]
        """
        try:
            each = np.atleast_1d(as_numbers(epsilons)).ravel()
        except (TypeError, ValueError, OverflowError):
            raise ArgumentError("epsilons", epsilons, "a number, or several") from None
        return np.array([self.formula.error(replace(self.guarantee, epsilon=float(epsilon))) for epsilon in each])

    def plot(self, ax: Any = None) -> Any:
        """Draw the predicted error over ε, and return the axes.

        Parameters
        ----------
        ax : matplotlib axes, optional
            By default those of a new figure.
        """
        if ax is None:
            from matplotlib.figure import Figure

            ax = Figure(figsize=(6.0, 4.0), layout="constrained").add_subplot()
        axes(ax)
        epsilons = self.epsilon * np.geomspace(0.1, 10.0, 81)
        ax.loglog(epsilons, self.curve(epsilons), label="predicted")
        ax.axhline(self.target, linestyle="--", color="0.4", label="target")
        if self.floor:
            ax.axhline(self.floor, linestyle=":", color="0.4", label="floor")
        ax.plot([self.epsilon], [self.predicted], "o", color="C3", label=f"ε = {self.epsilon:.3g}")
        ax.set(xlabel="ε", ylabel="error", title=f"{self.what}: {self.formula.n} rows, {self.guarantee.neighbors}")
        ax.legend()
        return ax

    def __str__(self) -> str:
        guarantee = self.guarantee
        lines = [
            f"{self.what} of {self.formula.n} rows{self._columns}{self._parts}: ε = {self.epsilon:.3g}, "
            f"δ = {guarantee.delta:.3g}, {guarantee.neighbors}.",
            f"Predicted: {self.predicted:.3g}, for a target of {self.target:.3g} ({self.measure}).",
        ]
        if self.floor:
            lines.append(f"Of that, {self.floor:.3g} remains whatever ε is.")
        count_noise = self.formula.count_noise(self.formula.chosen(self.guarantee))
        if count_noise > MOST_COUNT_NOISE:
            lines.append(
                f"This is a rough prediction: the noise on the number of rows is {count_noise:.0%} of that number."
            )
        if self.epsilon <= LEAST:
            lines.append("Any ε meets the target.")
        if self.epsilon > WEAK:
            lines.append("Such a large ε guarantees almost nothing: use more rows, tighter bounds or a larger target.")
        return "\n".join(lines)


@naming_arguments
def plan(
    what: Any,
    n: int,
    d: int | None = None,
    *,
    target: float,
    delta: float | None = None,
    neighbors: Neighbors | str | None = None,
    width: float | None = None,
    sampling: bool = False,
    spread: float | None = None,
    offset: float = 0.0,
    counted: bool | None = None,
    q: float | None = None,
    density: float | None = None,
    share: float = VALUE_SHARE,
    cells: int = 10,
    n_components: int | None = None,
    gap: float | None = None,
    max_rows: int | None = None,
    groups: int | None = None,
    group_share: float | None = None,
    weights: float | None = None,
    in_budget: bool = False,
) -> EpsilonPlan:
    """Return the smallest ε whose predicted error meets a target, from formulas alone.

    Parameters
    ----------
    what : str, function or estimator
        ``"mean"``, ``"variance"``, ``"covariance"``, ``"median"``, ``"quantile"``, ``"interquartile_range"``,
        ``"histogram"``, ``"count"``, ``"pca"`` or ``"gaussian-mixture"``; the function of ``discreet.statistics`` of
        that name; or a ``PCA`` or ``GaussianMixture``, whose own δ, relation, bounds and number of components are then
        taken.
    n : int
        How many rows there will be.
    d : int
        How many columns; by default 1, or the number of columns of an estimator's bounds. Noise grows with it, and
        ``print`` says how many were taken. Quantiles, histograms and counts have one column only.
    target : float
        The error to meet: the root mean squared error in the data's units (squared ones for variances, rows for
        counts), the lost share of the axes for PCA, excess nats a row for a mixture. ``EpsilonPlan.measure`` says it.
    delta : float, optional
        By default 0 for statistics (Laplace noise), and the smaller of 1e-6 and 0.01/n for PCA and mixtures. With a δ
        statistics are predicted with the smaller noise, Laplace or Gaussian, as they take it without a ledger
        (``in_budget`` for one with a ledger).
        Quantiles spend no δ.
    neighbors : str, optional
        ``"replace-one"`` (default) or ``"add-remove"``.
    width : float, optional
        The width of the declared bounds of each column; 1 by default.
    sampling : bool
        Whether the target includes the sampling error, that is, refers to the population and not to the rows.
    spread : float, optional
        The standard deviation of each column, where the formula uses it; by default that of uniform rows, width/√12.
    offset : float
        The distance of each column's mean from the middle of its bounds.
    counted : bool, optional
        Whether the rows are counted privately: by default under add-remove, and with units, groups or weights. Set it
        to True under replace-one if a ``Schema`` drops rows with missing values.
    q : float, optional
        For a quantile: its level; ½ by default.
    density : float, optional
        For quantiles: the density of the rows at the quantile, by default 1/width. The formula assumes rows that are
        evenly spread around it: no ties, as with rounded values, and no gaps wider than the target. Otherwise the plan
        is wrong.
    share : float
        For quantiles: the share of ε for the value. By default 0.6, and the rest draws its interval; 1 for no interval.
    cells : int
        For a histogram: the number of cells.
    n_components : int, optional
        For PCA and mixtures: the number of components; 1 by default.
    gap : float, optional
        Required for PCA: the difference between the variance along the last principal axis and the next one, in squared
        units.
    max_rows : int, optional
        Where a person may have several rows (``unit``): how many of them count. The noise grows with it. n is the
        number of rows that count.
    groups : int, optional
        For an answer by groups: how many groups there are. n is the number of rows of all groups together.
    group_share : float, optional
        The share of the rows that are in the group which the target is about; by default one over ``groups``. Take
        the smallest group that has to be right.
    weights : float, optional
        For an answer with weights: the mean weight over the largest declared weight, above 0 and at most 1.
    in_budget : bool
        Whether the answer is one of several that a ledger adds up. With a δ they have Gaussian noise, which needs a
        larger ε each, and less of the budget together.

    Returns
    -------
    EpsilonPlan

    Examples
    --------
    A mean age to within a tenth of a year, of 10,000 persons aged 0 to 120:

    >>> result = plan("mean", 10_000, target=0.1, width=120.0)
    >>> print(result)
    mean of 10000 rows of 1 column: ε = 0.17, δ = 0, replace-one.
    Predicted: 0.1, for a target of 0.1 (root mean squared error of each column's mean, in the data's units).

    The same where a person may have five rows, for each of ten groups:

    >>> round(plan("mean", 10_000, target=1.0, width=120.0, max_rows=5, groups=10).epsilon, 1)
    1.3
    """
    question = recognize(what)
    target = positive("target", target)
    own = question.get("neighbors") or Neighbors.REPLACE_ONE
    relation = Neighbors.parse(own if neighbors is None else neighbors)
    private = relation is Neighbors.ADD_REMOVE
    private = private or max_rows is not None or weights is not None or groups not in (None, 1)
    if counted is False and private:
        raise ArgumentError(
            "counted",
            False,
            "True under 'add-remove', and with units, groups or weights: the number of rows is private",
        )
    formula = formula_for(
        question,
        n,
        d,
        sampling=sampling,
        width=width,
        spread=spread,
        offset=offset,
        counted=private if counted is None else counted,
        q=q,
        density=density,
        share=share,
        cells=cells,
        n_components=n_components,
        gap=gap,
        max_rows=max_rows,
        groups=groups,
        group_share=group_share,
        weights=weights,
        in_budget=in_budget,
    )
    guarantee = Guarantee(1.0, delta_for(question, formula, delta), relation)
    result = replace(guarantee, epsilon=least_epsilon(formula, guarantee, target))
    caution = guarantee_caution(result, formula.n)
    if caution:
        warnings.warn(caution, PlanningWarning, stacklevel=2)
    return EpsilonPlan(question.name, result, target, formula)


def least_epsilon(formula: Formula, guarantee: Guarantee, target: float) -> float:
    """Return the smallest ε from 1e-6 to 1e4 whose predicted error meets the target."""

    def meets(log: float) -> bool:
        try:
            return formula.error(replace(guarantee, epsilon=math.exp(log))) <= target
        except OverflowError:  # more than any float
            return False

    if formula.floor >= target:
        raise ArgumentError(
            "target",
            target,
            f"one above {formula.floor:.4g}, the error that remains for any ε with n={formula.n} rows",
            write="a larger target or plan for more rows",
        )
    low, high = math.log(LEAST), math.log(MOST)
    if meets(low):
        return LEAST
    if not meets(high):
        raise ArgumentError("target", target, f"one that some ε up to {MOST:g} meets", write="a larger target")
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        low, high = (low, middle) if meets(middle) else (middle, high)
    return math.exp(high)
