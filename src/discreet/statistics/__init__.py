"""Private statistics: counts, sums, means, quantiles, variances, densities, comparisons, with intervals.

Imports these rooms, and may import any other above it: ``arguments``, ``guarantees``, ``noise``, ``records``,
``scales``, ``queries``, ``door``, ``models``.

This room guarantees that every function checks its arguments first, pays for all its measurements at once, and measures
through the door. It returns an ``Answer``: a value in the data's own units, ``interval(level)`` for the error that the
noise causes, the releases that it was computed from, and their cost. The answer is finite whatever the rows are (ties,
constants, one row, no rows, empty groups), and nothing but the answer depends on them.
"""

from discreet.statistics.comparisons.associations import Association, chi_square
from discreet.statistics.comparisons.differences import Difference, difference
from discreet.statistics.comparisons.rank_tests import RankTest, rank_test
from discreet.statistics.comparisons.trends import Trend, trend
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
from discreet.statistics.totals import Totals, sum  # noqa: A004  # as in NumPy

__all__ = [
    "Association",
    "Counts",
    "Covariance",
    "Density",
    "Difference",
    "Influence",
    "MEstimate",
    "Mean",
    "PersonCounts",
    "Quantile",
    "RankTest",
    "SchemaCheck",
    "Statistic",
    "Totals",
    "Trend",
    "check_schema",
    "chi_square",
    "count",
    "count_persons",
    "covariance",
    "density",
    "difference",
    "gross_error_sensitivity",
    "histogram",
    "huber_location",
    "influence",
    "interquartile_range",
    "lei_bins",
    "m_estimate",
    "mean",
    "median",
    "quantile",
    "quantiles",
    "rank_test",
    "sum",
    "trend",
    "trimmed_mean",
    "variance",
]
