"""Statistics: private answers to simple questions.

This room promises that every function here checks its arguments first, pays for all that it measures at once, measures
through the door, and returns a ``Statistic``: a value in the data's own units, limits that say what noise did to it,
the releases behind it, and what they cost. Whatever the rows are (ties, constants, one row, none at all, empty groups),
the answer is finite and nothing but the answer tells of them.

It may import ``arguments``, ``guarantees``, ``noise``, ``records``, ``door``, ``mechanisms`` and ``models``.
"""

from discreet.statistics.counts import Counts, count, histogram
from discreet.statistics.means import Mean, mean, trimmed_mean
from discreet.statistics.quantiles import Quantile, interquartile_range, median, quantile, quantiles
from discreet.statistics.spreads import Covariance, covariance, variance
from discreet.statistics.statistic import Statistic

__all__ = [
    "Counts",
    "Covariance",
    "Mean",
    "Quantile",
    "Statistic",
    "count",
    "covariance",
    "histogram",
    "interquartile_range",
    "mean",
    "median",
    "quantile",
    "quantiles",
    "trimmed_mean",
    "variance",
]
