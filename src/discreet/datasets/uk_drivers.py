"""``load_uk_drivers``: car drivers killed or seriously injured in Great Britain by month, part of the package."""

from __future__ import annotations

from importlib.resources import files

import numpy as np

from discreet.datasets.dataset import Dataset

__all__ = ["load_uk_drivers"]

_MONTHS = 192  # January 1969 to December 1984


def load_uk_drivers() -> Dataset:
    """Load the car drivers killed or seriously injured in Great Britain, January 1969 to December 1984: a row each.

    Returns
    -------
    Dataset
        ``X`` with one column, month: the middle of the driver's month, counted from the start of 1969, so that 192
        steps over the declared 0 to 192 are the months. Seat belts were made compulsory on 31 January 1983, month 169.

    Notes
    -----
    Licence: none stated; official figures. Cite Harvey, A. C. and Durbin, J. (1986), The effects of seat belt
    legislation on British road casualties, Journal of the Royal Statistical Society A 149(3), 187-227. R has them as
    UKDriverDeaths. Within a month nothing is known of the days.

    Examples
    --------
    >>> from discreet.datasets import load_uk_drivers
    >>> load_uk_drivers()
    Dataset(name='uk_drivers', shape=(320699, 1), licence='none stated; official figures')
    """
    with files("discreet.datasets").joinpath("data", "uk_drivers.csv").open("rb") as stream:
        drivers = np.loadtxt(stream, delimiter=",", skiprows=4, usecols=1, dtype=np.int64)
    return Dataset(
        name="uk_drivers",
        X=np.repeat(np.arange(_MONTHS) + 0.5, drivers)[:, None],
        y=None,
        columns=("month",),
        bounds=((0.0, float(_MONTHS)),),
        licence="none stated; official figures",
        citation="Harvey and Durbin (1986), The effects of seat belt legislation on British road casualties, JRSS A",
    )
