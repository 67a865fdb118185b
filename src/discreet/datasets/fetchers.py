"""``fetch_`` functions: public tables that are too large, or not free enough, to be part of the package.

Each function looks into the folder that ``DISCREET_DATA`` names, then into the cache, and downloads last
(``pip install 'discreet[data]'``). By every route the rows are checked against the published content.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol, cast, overload

from discreet.datasets.dataset import XY, Dataset, as_requested
from discreet.datasets.retrieval import DataHome, fetch
from discreet.datasets.sources import SOURCES

__all__ = [
    "fetch_gowalla",
    "fetch_lifesci",
    "fetch_olivetti",
    "fetch_parkinsons",
    "fetch_pima",
    "fetch_s1",
]


class _Fetcher(Protocol):
    """The type of a fetch function: the type of its result depends on ``return_X_y``."""

    @overload
    def __call__(self, *, data_home: DataHome = None, return_X_y: Literal[False] = False) -> Dataset: ...
    @overload
    def __call__(self, *, data_home: DataHome = None, return_X_y: Literal[True]) -> XY: ...


def _typed(function: Callable[..., Dataset | XY]) -> _Fetcher:
    """Return the function itself; only the type checker sees a difference."""
    return cast(_Fetcher, function)


@_typed
def fetch_lifesci(*, data_home: DataHome = None, return_X_y: bool = False) -> Dataset | XY:
    """Fetch the Life Sciences table ``ds1.10``: 26,733 compounds in ten principal components.

    Parameters
    ----------
    data_home : path, optional
        The folder to keep downloads in; by default ``DISCREET_CACHE`` or pooch's cache for discreet.
    return_X_y : bool, default=False
        Return the rows and the labels instead of a Dataset.

    Returns
    -------
    Dataset
        ``X`` of shape (26733, 10); ``y`` is 1 for the 804 reactive compounds. ``bounds`` is None: the ranges
        found in papers are the smallest and largest values of the rows themselves.

    Notes
    -----
    The copy of the DP-EM authors (Park et al. 2017), the same bytes as that of the GUPT authors (2012).
    Licence: none stated; published for research. Cite Komarek and Moore, Auton Lab, ``ds1.10``.

    Examples
    --------
    >>> from discreet.datasets import fetch_lifesci
    >>> fetch_lifesci().X.shape  # doctest: +SKIP
    (26733, 10)
    """
    return as_requested(fetch(SOURCES["lifesci"], data_home), return_X_y)


@_typed
def fetch_pima(*, data_home: DataHome = None, return_X_y: bool = False) -> Dataset | XY:
    """Fetch the Pima Indians diabetes table: 768 women, eight measurements.

    Parameters
    ----------
    data_home, return_X_y
        As in ``fetch_lifesci``.

    Returns
    -------
    Dataset
        ``X`` of shape (768, 8); ``y`` is 1 for the 268 women with diabetes. A 0 in glucose, blood_pressure,
        skin_thickness, insulin or bmi stands for a missing value.

    Notes
    -----
    Origin: National Institute of Diabetes and Digestive and Kidney Diseases. Licence: none stated by the source,
    CC0 on common re-publications. Cite Smith, Everhart, Dickson, Knowler and Johannes (1988).

    Examples
    --------
    >>> from discreet.datasets import fetch_pima
    >>> X, y = fetch_pima(return_X_y=True)  # doctest: +SKIP
    """
    return as_requested(fetch(SOURCES["pima"], data_home), return_X_y)


@_typed
def fetch_parkinsons(*, data_home: DataHome = None, return_X_y: bool = False) -> Dataset | XY:
    """Fetch the UCI Parkinsons table: 195 voice recordings, 22 measures.

    Parameters
    ----------
    data_home, return_X_y
        As in ``fetch_lifesci``.

    Returns
    -------
    Dataset
        ``X`` of shape (195, 22); ``y`` is 1 for the 147 recordings of people with Parkinson's disease. Each
        person gave about six recordings: ``unit`` is the number of the person (32 codes), so that persons and
        not only recordings can be protected.

    Notes
    -----
    Licence: CC BY 4.0 (UCI, doi 10.24432/C59C74). Cite Little, McSharry, Roberts, Costello and Moroz (2007).

    Examples
    --------
    >>> from discreet.datasets import fetch_parkinsons
    >>> len(set(fetch_parkinsons().unit))  # doctest: +SKIP
    32
    """
    return as_requested(fetch(SOURCES["parkinsons"], data_home), return_X_y)


def fetch_gowalla(*, data_home: DataHome = None) -> Dataset:
    """Fetch check-ins of the social network Gowalla: 620,683 points on the globe by 5,628 users.

    Parameters
    ----------
    data_home : path, optional
        As in ``fetch_lifesci``.

    Returns
    -------
    Dataset
        ``X`` of shape (620683, 2), latitude and longitude in degrees, rounded to single precision, one row a
        check-in, ordered by user and place. ``unit`` is the number of the user: one person has up to hundreds
        of rows, so that a guarantee for single rows says little about a person here. There are no labels.

    Notes
    -----
    A part of SNAP's ``loc-gowalla`` (6.4 million check-ins) that keeps active users and popular places, in the
    copy of the STACP code. User numbers are pseudonyms. Licence: none stated by SNAP; published for research.
    Cite Cho, Myers and Leskovec (2011).

    Examples
    --------
    >>> from discreet.datasets import fetch_gowalla
    >>> fetch_gowalla().columns  # doctest: +SKIP
    ('latitude', 'longitude')
    """
    return fetch(SOURCES["gowalla"], data_home)


@_typed
def fetch_olivetti(*, data_home: DataHome = None, return_X_y: bool = False) -> Dataset | XY:
    """Fetch the Olivetti (AT&T) faces: 400 images of 64 x 64 grey levels, ten of each of 40 people.

    Parameters
    ----------
    data_home, return_X_y
        As in ``fetch_lifesci``.

    Returns
    -------
    Dataset
        ``X`` of shape (400, 4096), grey levels 0 to 255, each image upright and row by row; ``y`` and ``unit``
        are the person, 0 to 39. scikit-learn's loader divides by the largest value of the rows, 242; here they
        are left as they are, and 255 is the public bound.

    Notes
    -----
    Licence: free for research with credit to AT&T Laboratories Cambridge. Cite Samaria and Harter (1994).

    Examples
    --------
    >>> from discreet.datasets import fetch_olivetti
    >>> fetch_olivetti().X[0].reshape(64, 64).shape  # doctest: +SKIP
    (64, 64)
    """
    return as_requested(fetch(SOURCES["olivetti"], data_home), return_X_y)


@_typed
def fetch_s1(*, data_home: DataHome = None, return_X_y: bool = False) -> Dataset | XY:
    """Fetch S1, a synthetic set of the clustering literature: 5,000 points in 15 Gaussian clusters.

    Parameters
    ----------
    data_home, return_X_y
        As in ``fetch_lifesci``.

    Returns
    -------
    Dataset
        ``X`` of shape (5000, 2), whole numbers up to a million; ``y`` is the cluster, 1 to 15 as published.

    Notes
    -----
    University of Eastern Finland, in the copy of Gagolewski's benchmark suite, version 1.1.0. Licence: for
    research purposes, with citation. Cite Fränti and Virmajoki (2006).

    Examples
    --------
    >>> from discreet.datasets import fetch_s1
    >>> len(fetch_s1())  # doctest: +SKIP
    5000
    """
    return as_requested(fetch(SOURCES["s1"], data_home), return_X_y)
