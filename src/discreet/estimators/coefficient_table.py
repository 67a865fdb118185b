"""``CoefficientTable`` and ``CoefficientInference``: standard errors, p-values and intervals of fitted coefficients."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from sklearn.utils.validation import check_is_fitted

from discreet.arguments import choice, probability
from discreet.estimators.fitted_columns import indicated_categories, numeric_columns, numeric_scales
from discreet.scales import ColumnScale

Array = NDArray[np.float64]

OF = ("population", "rows")
UNKNOWN = "not identified"
INTERCEPT = "const"  # as statsmodels calls it


@dataclass(frozen=True, eq=False)
class CoefficientTable:
    """Coefficients with standard errors, z, p-values and intervals; it prints like a table of statsmodels.

    Attributes
    ----------
    title : str
    facts : tuple of (str, str)
        What is said above the table.
    names : tuple of str
    estimates, errors, z, p, low, high : arrays
    level : float
        That of the intervals.
    note : str
        What the errors account for.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    names: tuple[str, ...]
    estimates: Array
    errors: Array
    z: Array
    p: Array
    low: Array
    high: Array
    level: float
    note: str

    def table(self) -> list[dict[str, Any]]:
        """Return a row for each coefficient; ``pandas.DataFrame`` accepts the result."""
        keys = ("coefficient", "estimate", "std_error", "z", "p_value", "low", "high", "identified")
        columns = (self.estimates, self.errors, self.z, self.p, self.low, self.high, np.isfinite(self.errors))
        numbers = zip(*(column.tolist() for column in columns), strict=True)
        return [dict(zip(keys, (name, *row), strict=True)) for name, row in zip(self.names, numbers, strict=True)]

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        tail = (1.0 - self.level) / 2.0
        head = ["", "coef", "std err", "z", "P>|z|", f"[{tail:.3g}", f"{1.0 - tail:.3g}]"]
        rows = []
        for row in self.table():
            numbers = [f"{row[name]:.4g}" for name in ("estimate", "std_error")]
            numbers += [f"{row['z']:.3f}", f"{row['p_value']:.3f}", *(f"{row[end]:.4g}" for end in ("low", "high"))]
            rows.append([str(row["coefficient"]), *(numbers if row["identified"] else [UNKNOWN] + [""] * 5)])
        return head, rows

    @property
    def notes(self) -> tuple[str, ...]:
        """What the errors account for, and which coefficients noise leaves unknown."""
        unknown = [name for name, error in zip(self.names, self.errors, strict=True) if not np.isfinite(error)]
        several = f"Not identified, as noise dominates what the rows say about them: {', '.join(unknown)}."
        return (self.note, several) if unknown else (self.note,)

    def __str__(self) -> str:
        head, rows = self._cells()
        widths = [max(len(row[place]) for row in [head, *rows]) for place in range(len(head))]
        lines = [
            "  ".join(
                cell.ljust(width) if place == 0 else cell.rjust(width)
                for place, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in [head, *rows]
        ]
        length = max(*(len(line) for line in lines), len(self.title))
        above = [f"{name + ':':<16}{value}" for name, value in self.facts]
        double, single = "=" * length, "-" * length
        parts = [self.title.center(length).rstrip(), double, *above, double, lines[0], single, *lines[1:], double]
        return "\n".join([*parts, *self.notes])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the table for notebooks."""
        head, rows = self._cells()
        facts = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in self.facts)
        top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
        body = "".join(
            f"<tr><th>{escape(row[0])}</th>" + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:]) + "</tr>"
            for row in rows
        )
        return (
            f"<table><caption>{escape(self.title)}</caption>{facts}</table>"
            f"<table><tr>{top}</tr>{body}</table><p>{escape(' '.join(self.notes))}</p>"
        )


def normal_interval(estimates: Array, errors: Array, level: float) -> tuple[Array, Array]:
    """Return estimates plus and minus a normal quantile of their standard errors; at level 0 the estimates."""
    width = -float(ndtri((1.0 - level) / 2.0)) * errors if level else np.zeros_like(errors)
    return estimates - width, estimates + width


def z_values(estimates: Array, errors: Array) -> Array:
    """Return estimates over their standard errors; 0 where both are 0."""
    return np.asarray(np.divide(estimates, errors, out=np.zeros_like(estimates), where=errors > 0.0))


def p_values(estimates: Array, errors: Array) -> Array:
    """Return the two-sided p-values of the hypothesis that a coefficient is 0."""
    return np.asarray(2.0 * ndtr(-np.abs(z_values(estimates, errors))))


class CoefficientInference:
    """Mixin with ``summary``, ``interval``, ``standard_errors`` and ``p_values`` of coefficients.

    The coefficients come first, and the intercept last, if there is one.
    """

    guarantee_: Any
    releases_: Any

    @abstractmethod
    def _coefficient_errors(self, of: str) -> tuple[Array, Array]:
        """Return estimates and their covariance, intercept last, where it is fitted."""

    @abstractmethod
    def _has_intercept(self) -> bool:
        """Return whether an intercept was fitted."""

    def _estimates(self, of: str) -> tuple[Array, Array]:
        """Return estimates and standard errors."""
        check_is_fitted(self)
        estimates, covariance = self._coefficient_errors(choice("of", of, OF))
        return estimates, np.sqrt(np.maximum(np.diag(covariance), 0.0))

    def standard_errors(self, of: str = "population") -> Array:
        """Return the standard errors of the coefficients and, in the last place, of the intercept.

        Parameters
        ----------
        of : {"population", "rows"}
            Whether they account for noise and sampling, or for the noise alone.
        """
        return self._estimates(of)[1]

    def p_values(self, of: str = "population") -> Array:
        """Return the two-sided p-values of coefficients (intercept last) for the hypothesis that one is 0."""
        return p_values(*self._estimates(of))

    def interval(self, level: float = 0.95, of: str = "population") -> tuple[Array, Array]:
        """Return an interval for each coefficient, with the intercept in the last place.

        Parameters
        ----------
        level : float
        of : {"population", "rows"}
            ``"population"``: for the coefficients in the population from which the rows were sampled; it accounts for
            noise and sampling. ``"rows"``: for those that the rows would give without noise.

        Returns
        -------
        low, high : arrays
        """
        return normal_interval(*self._estimates(of), probability("level", level))

    def summary(self, level: float = 0.95, of: str = "population") -> CoefficientTable:
        """Return a table of coefficients, standard errors, z, p-values and intervals; the arguments of ``interval``."""
        estimates, errors = self._estimates(of)
        probability("level", level)
        order = np.arange(len(estimates))
        names: Sequence[str] = [scale_label(scale) for scale in numeric_scales(self)] or numeric_columns(self)
        if self._has_intercept():
            order, names = np.roll(order, 1), [INTERCEPT, *names]
        estimates, errors = estimates[order], errors[order]
        low, high = normal_interval(estimates, errors, level)
        return CoefficientTable(
            title=f"{type(self).__name__} under differential privacy",
            facts=self._summary_facts(),
            names=tuple(map(str, names)),
            estimates=estimates,
            errors=errors,
            z=z_values(estimates, errors),
            p=p_values(estimates, errors),
            low=low,
            high=high,
            level=level,
            note=(
                "Standard errors account for noise and sampling."
                if of == "population"
                else "Standard errors account for the noise alone."
            ),
        )

    def _summary_facts(self) -> tuple[tuple[str, str], ...]:
        rows = self.releases_[0].size.rows
        guarantee = "none: the noise came from a seed" if self.guarantee_ is None else str(self.guarantee_)
        references = [f"{name}={one.values[0]}" for name, one in indicated_categories(self).items()]
        return (
            *self._target_facts(),
            *([("Reference", ", ".join(references))] if references else []),
            ("Guarantee", guarantee),
            ("No. of rows", "private" if rows is None else str(rows)),
            ("Method", str(getattr(self, "method", ""))),
        )

    @abstractmethod
    def _target_facts(self) -> tuple[tuple[str, str], ...]:
        """Return what the coefficients are about: the dependent variable, its scale, or the class that is modelled."""


def scale_label(scale: ColumnScale) -> str:
    """Return the name of a column as it enters a regression: its logarithm, or days for dates.

    >>> scale_label(ColumnScale("crp", "log", 0.0, 5.0)), scale_label(ColumnScale("admitted", "date", 0.0, 5.0))
    ('log(crp)', 'admitted (days)')
    """
    return f"{scale.name} (days)" if scale.kind == "date" else scale.label
