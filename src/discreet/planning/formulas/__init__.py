"""Predicted errors: one idea a file, its derivation beside it."""

from discreet.planning.formulas.counts import Cells, Count
from discreet.planning.formulas.formula import Formula
from discreet.planning.formulas.means import Mean
from discreet.planning.formulas.mixtures import Mixture
from discreet.planning.formulas.quantiles import InterquartileRange, Quantile
from discreet.planning.formulas.second_moments import Axes, Covariance, Variance

__all__ = [
    "Axes",
    "Cells",
    "Count",
    "Covariance",
    "Formula",
    "InterquartileRange",
    "Mean",
    "Mixture",
    "Quantile",
    "Variance",
]
