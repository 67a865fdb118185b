"""Plots of public numbers: each plot draws itself, and describes itself in words and as a table.

Where to look: ``plot`` is the base class; every other file is one kind of plot.

Imports these rooms, and may import any other above it: ``arguments``, ``records``.

What this room guarantees: a plot holds arrays and names and nothing else, so it cannot show what was not given to it.
Each one also has a description in words, and a table of its numbers, for readers who cannot see it. matplotlib is
imported when something is first drawn.
"""

from discreet.plots.attack_curve import TradeoffPlot
from discreet.plots.bars import NoiseShares, Scree, Shares
from discreet.plots.centres import Centres
from discreet.plots.count_bars import CountBars
from discreet.plots.ellipses import Ellipses
from discreet.plots.heat_map import HeatMap
from discreet.plots.intervals import Coefficients, IntervalPanels, Intervals, plot_draws
from discreet.plots.plot import Facts, Plot
from discreet.plots.samples import SampleOverDensity, SyntheticRows
from discreet.plots.scatter_matrix import GaussianPairs
from discreet.plots.spending import SpendingPlot
from discreet.plots.trend_lines import TrendLines

__all__ = [
    "Centres",
    "Coefficients",
    "CountBars",
    "Ellipses",
    "Facts",
    "GaussianPairs",
    "HeatMap",
    "IntervalPanels",
    "Intervals",
    "NoiseShares",
    "Plot",
    "SampleOverDensity",
    "Scree",
    "Shares",
    "SpendingPlot",
    "SyntheticRows",
    "TradeoffPlot",
    "TrendLines",
    "plot_draws",
]
