"""Pictures: values made of public numbers and names that draw themselves.

What it promises: a picture knows arrays and names and nothing else, so it cannot show what was not given to it. Each
one also says in words, and as a table, what it shows, for whoever cannot see it. matplotlib is imported when something
is first drawn.

This room may import ``arguments`` only.
"""

from discreet.pictures.centres import Centres
from discreet.pictures.coefficients import Coefficients
from discreet.pictures.draws import picture_of_draws
from discreet.pictures.ellipses import Ellipses
from discreet.pictures.intervals import Intervals
from discreet.pictures.noise import NoiseShares
from discreet.pictures.pairs import Pairs
from discreet.pictures.panels import IntervalPanels
from discreet.pictures.picture import Facts, Picture
from discreet.pictures.samples import SampleOverDensity
from discreet.pictures.scree import Scree
from discreet.pictures.shares import Shares
from discreet.pictures.spending import Spending
from discreet.pictures.synthetic_rows import SyntheticRows
from discreet.pictures.tables import Grid
from discreet.pictures.tradeoff import TradeoffPicture

__all__ = [
    "Centres",
    "Coefficients",
    "Ellipses",
    "Facts",
    "Grid",
    "IntervalPanels",
    "Intervals",
    "NoiseShares",
    "Pairs",
    "Picture",
    "SampleOverDensity",
    "Scree",
    "Shares",
    "Spending",
    "SyntheticRows",
    "TradeoffPicture",
    "picture_of_draws",
]
