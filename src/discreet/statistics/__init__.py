"""Private statistics: counts, sums, means, quantiles, variances, densities, survival curves and more, with intervals.

Where to look: a statistic is a request (``request``, with the registry ``@statistic``) and an answer (``statistic``) in
a file of its own, with its intervals; ``population`` has intervals that know of sampling too, ``groups`` and
``counted_columns`` what answers are split by. Families: ``comparisons``, ``density``, ``robust``, ``survival``.

Imports these rooms, and may import any other above it: ``arguments``, ``notebook``, ``guarantees``, ``noise``,
``records``, ``scales``, ``queries``, ``door``, ``models``, ``plots``.

This room guarantees that every function checks its arguments first, pays for all its measurements at once, and measures
through the door. It returns an ``Answer``: a value in the data's own units, ``interval(level)`` for the error that the
noise causes, the releases that it was computed from, and their cost. The answer is finite whatever the rows are (ties,
constants, one row, no rows, empty groups), and nothing but the answer depends on them.
"""

from discreet.statistics.comparisons.associations import Association, chi_square
from discreet.statistics.comparisons.differences import Difference, difference
from discreet.statistics.comparisons.rank_tests import RankTest, rank_test
from discreet.statistics.comparisons.trends import Trend, trend
from discreet.statistics.correlations import Correlation, correlation
from discreet.statistics.counts import Counts, Histograms, count, histogram
from discreet.statistics.covariances import covariance
from discreet.statistics.crosstabs import Crosstab, MeanCrosstab, crosstab
from discreet.statistics.declarations import PersonCounts, SchemaCheck, check_schema, count_persons
from discreet.statistics.density.densities import Density, density
from discreet.statistics.extremes import Extreme, max, min  # noqa: A004  # as in NumPy
from discreet.statistics.mean_answers import GeometricMean, Mean
from discreet.statistics.means import geometric_mean, mean, trimmed_mean
from discreet.statistics.modes import MostFrequent, mode
from discreet.statistics.proportions import Proportion, proportion
from discreet.statistics.quantile_answers import Quantile
from discreet.statistics.quantiles import interquartile_range, median, quantile, quantiles
from discreet.statistics.robust.m_estimators import MEstimate, huber_location, m_estimate
from discreet.statistics.robust.perturbed_histogram import lei_bins
from discreet.statistics.robust.robustness import Influence, gross_error_sensitivity, influence
from discreet.statistics.standard_deviations import StandardDeviation, std
from discreet.statistics.statistic import Statistic
from discreet.statistics.survival.log_rank_test import LogRank, log_rank
from discreet.statistics.survival.survival_curves import RestrictedMean, Survival, survival
from discreet.statistics.totals import Totals, sum  # noqa: A004  # as in NumPy
from discreet.statistics.variances import Covariance, variance

__all__ = [
    "Association",
    "Correlation",
    "Counts",
    "Covariance",
    "Crosstab",
    "Density",
    "Difference",
    "Extreme",
    "GeometricMean",
    "Histograms",
    "Influence",
    "LogRank",
    "MEstimate",
    "Mean",
    "MeanCrosstab",
    "MostFrequent",
    "PersonCounts",
    "Proportion",
    "Quantile",
    "RankTest",
    "RestrictedMean",
    "SchemaCheck",
    "StandardDeviation",
    "Statistic",
    "Survival",
    "Totals",
    "Trend",
    "check_schema",
    "chi_square",
    "correlation",
    "count",
    "count_persons",
    "covariance",
    "crosstab",
    "density",
    "difference",
    "geometric_mean",
    "gross_error_sensitivity",
    "histogram",
    "huber_location",
    "influence",
    "interquartile_range",
    "lei_bins",
    "log_rank",
    "m_estimate",
    "max",
    "mean",
    "median",
    "min",
    "mode",
    "proportion",
    "quantile",
    "quantiles",
    "rank_test",
    "std",
    "sum",
    "survival",
    "trend",
    "trimmed_mean",
    "variance",
]
