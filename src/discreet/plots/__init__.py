"""Pictures: values made of public numbers and names that draw themselves.

What it promises: a picture knows arrays and names and nothing else, so it cannot show what was not given to it. Each
one also says in words, and as a table, what it shows, for whoever cannot see it. matplotlib is imported when something
is first drawn.

This room may import ``arguments`` only.
"""

from discreet.plots.attack_curve import TradeoffPlot
from discreet.plots.centres import Centres
from discreet.plots.coefficients import Coefficients
from discreet.plots.ellipses import Ellipses
from discreet.plots.heat_map import HeatMap
from discreet.plots.intervals import IntervalPanels, Intervals, plot_draws
from discreet.plots.noise_shares import NoiseShares
from discreet.plots.plot import Facts, Plot
from discreet.plots.samples import SampleOverDensity, SyntheticRows
from discreet.plots.scatter_matrix import Pairs
from discreet.plots.scree import Scree
from discreet.plots.spending import SpendingPlot
from discreet.plots.weights import Shares

__all__ = [
    "Centres",
    "Coefficients",
    "Ellipses",
    "Facts",
    "HeatMap",
    "IntervalPanels",
    "Intervals",
    "NoiseShares",
    "Pairs",
    "Plot",
    "SampleOverDensity",
    "Scree",
    "Shares",
    "SpendingPlot",
    "SyntheticRows",
    "TradeoffPlot",
    "plot_draws",
]
