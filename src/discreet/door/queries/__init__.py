"""The queries that the library brings: one file each, its bound and the proof beside it."""

from discreet.door.queries.grid import Grid
from discreet.door.queries.histogram import Histogram
from discreet.door.queries.moments import Moments, Sum

__all__ = ["Grid", "Histogram", "Moments", "Sum"]
