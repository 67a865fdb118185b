"""Private statistics: counts, sums, means, quantiles, variances, densities, survival curves and more, with intervals.

Imports these rooms, and may import any other above it: ``arguments``, ``guarantees``, ``noise``, ``records``,
``scales``, ``queries``, ``door``, ``models``.

This room guarantees that every function checks its arguments first, pays for all its measurements at once, and measures
through the door. It returns an ``Answer``: a value in the data's own units, ``interval(level)`` for the error that the
noise causes, the releases that it was computed from, and their cost. The answer is finite whatever the rows are (ties,
constants, one row, no rows, empty groups), and nothing but the answer depends on them.
"""

from discreet.statistics.counts import Counts, count, histogram
from discreet.statistics.declarations import PersonCounts, SchemaCheck, check_schema, count_persons
from discreet.statistics.density.densities import Density, density
from discreet.statistics.means import Mean, mean, trimmed_mean
from discreet.statistics.quantiles import Quantile, interquartile_range, median, quantile, quantiles
from discreet.statistics.robust.m_estimators import MEstimate, huber_location, m_estimate
from discreet.statistics.robust.perturbed_histogram import lei_bins
from discreet.statistics.robust.robustness import Influence, gross_error_sensitivity, influence
from discreet.statistics.spreads import Covariance, covariance, variance
from discreet.statistics.statistic import Statistic
from discreet.statistics.survival.log_rank_test import LogRank, log_rank
from discreet.statistics.survival.survival_curves import RestrictedMean, Survival, survival
from discreet.statistics.totals import Totals, sum  # noqa: A004  # as in NumPy

__all__ = [
    "Counts",
    "Covariance",
    "Density",
    "Influence",
    "LogRank",
    "MEstimate",
    "Mean",
    "PersonCounts",
    "Quantile",
    "RestrictedMean",
    "SchemaCheck",
    "Statistic",
    "Survival",
    "Totals",
    "check_schema",
    "count",
    "count_persons",
    "covariance",
    "density",
    "gross_error_sensitivity",
    "histogram",
    "huber_location",
    "influence",
    "interquartile_range",
    "lei_bins",
    "log_rank",
    "m_estimate",
    "mean",
    "median",
    "quantile",
    "quantiles",
    "sum",
    "survival",
    "trimmed_mean",
    "variance",
]
