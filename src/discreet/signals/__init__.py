"""Signals: private time series, their running sums and filters.

This room guarantees that every function here checks its arguments first, pays for all that it measures at once,
measures through the door, and returns a ``Signal``: a series with the standard deviation of its noise at every step,
which says whether one event is protected or all that a person has in the series. What is released is a public linear
map of the series, chosen so that the noise that comes back out of it is small (``operators``, ``factorization``); the
rest is done with what was released, and costs nothing.

It may import ``arguments``, ``guarantees``, ``noise``, ``records``, ``door``, ``models``, ``statistics`` and, from
outside, numpy and scipy; statsmodels and matplotlib when they are first needed.
"""

from discreet.queries.series.fourier_operator import Fourier
from discreet.queries.series.operators import Identity, Operator, Picked, PrefixSums, Toeplitz
from discreet.signals.fast import Controller, Watched, fast
from discreet.signals.filters import lti_filter
from discreet.signals.fourier import Waves, fourier
from discreet.signals.kalman import Filtered, kalman
from discreet.signals.running_sum import running_sum
from discreet.signals.series import Series, Steps
from discreet.signals.signal import Signal
from discreet.signals.state_space import StateSpace
from discreet.signals.stream import Stream

__all__ = [
    "Controller",
    "Filtered",
    "Fourier",
    "Identity",
    "Operator",
    "Picked",
    "PrefixSums",
    "Series",
    "Signal",
    "StateSpace",
    "Steps",
    "Stream",
    "Toeplitz",
    "Watched",
    "Waves",
    "fast",
    "fourier",
    "kalman",
    "lti_filter",
    "running_sum",
]
