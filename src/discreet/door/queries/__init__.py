"""The queries that the library brings: one file each, its bound and the proof beside it."""

from discreet.door.queries.adapted import Grouped, OfColumns, Weighted, Within
from discreet.door.queries.bins import Bins
from discreet.door.queries.count import Count
from discreet.door.queries.grid import Grid
from discreet.door.queries.histogram import Histogram
from discreet.door.queries.margins import Margins
from discreet.door.queries.moments import Moments, Sum
from discreet.door.queries.squares import Squares
from discreet.door.queries.total import Total

__all__ = [
    "Bins",
    "Count",
    "Grid",
    "Grouped",
    "Histogram",
    "Margins",
    "Moments",
    "OfColumns",
    "Squares",
    "Sum",
    "Total",
    "Weighted",
    "Within",
]
