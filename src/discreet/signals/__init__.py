"""Signals: private time series, their running sums and filters.

Where to look: ``series`` sums rows by time, ``running_sum`` and ``stream`` have sums up to each step, ``filters``,
``fourier`` and ``smoothing`` filtered series, ``state_space`` and ``kalman`` models of them; ``signal`` is the result.

Imports these rooms, and may import any other above it: ``arguments``, ``guarantees``, ``noise``, ``ledger``,
``records``, ``scales``, ``queries``, ``door``, ``statistics``.

This room guarantees that every function checks its arguments first, pays for all its measurements at once, and measures
through the door. It returns a ``Signal``: a series with the standard deviation of its noise at every step, which says
whether it protects single events or whole persons. The release is a public linear map of the series, chosen so that the
noise in the result is small (``operators``, ``factorization``). The rest is post-processing and costs nothing.
"""

from discreet.queries.series.fourier_operator import Fourier
from discreet.queries.series.operators import Identity, Operator, Picked, PrefixSums, Toeplitz
from discreet.signals.fast import Controller, SampledSignal, fast
from discreet.signals.filters import lti_filter
from discreet.signals.fourier import FourierSignal, fourier
from discreet.signals.kalman import FilteredSignal, kalman
from discreet.signals.running_sum import running_sum
from discreet.signals.series import Series, Steps
from discreet.signals.signal import Signal
from discreet.signals.state_space import StateSpace
from discreet.signals.stream import Stream

__all__ = [
    "Controller",
    "FilteredSignal",
    "Fourier",
    "FourierSignal",
    "Identity",
    "Operator",
    "Picked",
    "PrefixSums",
    "SampledSignal",
    "Series",
    "Signal",
    "StateSpace",
    "Steps",
    "Stream",
    "Toeplitz",
    "fast",
    "fourier",
    "kalman",
    "lti_filter",
    "running_sum",
]
