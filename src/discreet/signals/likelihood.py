"""The variances of a named model, learnt from a released series with noise of known variance: post-processing."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import choice
from discreet.signals.beliefs import machine
from discreet.signals.state_space import NAMED, StateSpace, local_level, local_linear_trend

__all__ = ["fitted"]

Array = NDArray[np.float64]

MEDIAN = 0.455  # of a squared standard normal


def fitted(name: str, series: Array, noise: Array) -> StateSpace:
    """Return the named model whose variances are the most likely for a released series with noise of known variance.

    The likelihood is maximised over the logarithms of R and of the diagonal of Q, all of them between 10⁻⁶ and 10¹²
    times the noise's variance. It is total: any finite series gives a valid model. Where T is too short to tell, all of
    the movement is taken for noise.

    Parameters
    ----------
    name : {"local level", "local linear trend"}
    series, noise
        As in ``believed``.
    """
    from scipy.optimize import minimize

    choice("model", name, NAMED)
    scale = math.sqrt(float(np.median(noise)))
    unit = scale**2

    def model(logs: Array) -> StateSpace:
        own, *moves = (np.exp(logs) * unit).tolist()
        return local_level(moves[0], own) if name == NAMED[0] else local_linear_trend(moves[0], moves[1], own)

    count = 2 if name == NAMED[0] else 3
    least, most = math.log(1e-6), math.log(1e12)
    measured = np.flatnonzero(np.isfinite(series))
    if len(measured) <= count:
        return model(np.full(count, least))

    def cost(logs: Array) -> float:
        one = model(logs)
        llf = float(machine(one, series / scale, noise / unit, scale).loglike())
        return -llf if math.isfinite(llf) else 1e300

    # Successive differences say how much there is to share out; the climb starts from the likeliest of some shares.
    steps = np.diff(series[measured])
    spare = max(float(np.median(steps**2)) / MEDIAN / unit - 2.0, 1e-2)
    shares = product((1e-3, 0.1, 0.5), (1e-4, 1e-2, 0.1, 1.0), *[(1e-5, 1e-3)] * (count - 2))
    starts = [np.clip(np.log(spare * np.array(share)), least, most) for share in shares]
    found = minimize(cost, min(starts, key=cost), method="L-BFGS-B", bounds=[(least, most)] * count)
    return model(np.clip(found.x, least, most))
