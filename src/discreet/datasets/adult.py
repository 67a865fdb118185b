"""``load_adult``: the six numeric columns of UCI Adult, which are part of the package."""

from __future__ import annotations

from importlib.resources import files
from typing import Literal, overload

import numpy as np

from discreet.arguments import choice
from discreet.datasets.dataset import XY, Bounds, Dataset, as_requested

__all__ = ["load_adult"]

# What is public before a row is seen. The extraction kept people over 16 with at least one hour of work a week
# (adult.names). The Current Population Survey top-coded age at 90 in those years, and the record layout of its
# March files gives hours two digits, capital gains five and capital losses four. Education is coded 1 to 16.
# The sampling weight is in hundredths of a person and has no useful limit in the code book: 260 million people
# over some 150,000 interviewed are 1,700 persons a row on average, and about ten times that is declared here.
_BOUNDS: dict[str, tuple[float, float]] = {
    "age": (17.0, 90.0),
    "fnlwgt": (0.0, 2_000_000.0),
    "education-num": (1.0, 16.0),
    "capital-gain": (0.0, 99_999.0),
    "capital-loss": (0.0, 9_999.0),
    "hours-per-week": (1.0, 99.0),
}


@overload
def load_adult(*, subset: Literal["all", "train", "test"] = "all", return_X_y: Literal[False] = False) -> Dataset: ...
@overload
def load_adult(*, subset: Literal["all", "train", "test"] = "all", return_X_y: Literal[True]) -> XY: ...
def load_adult(*, subset: str = "all", return_X_y: bool = False) -> Dataset | XY:
    """Load the numeric part of UCI Adult: 48,842 people of the 1994 census survey, six columns.

    Parameters
    ----------
    subset : {"all", "train", "test"}, default="all"
        UCI's 32,561 training rows, its 16,281 test rows, or both, training rows first.
    return_X_y : bool, default=False
        Return the rows and the labels instead of a Dataset.

    Returns
    -------
    Dataset
        ``X`` with columns age, fnlwgt, education-num, capital-gain, capital-loss and hours-per-week; ``y`` is 1
        where the income is above 50,000 dollars. ``bounds`` are those of the survey's code book.

    Notes
    -----
    Licence: CC BY 4.0. Cite Becker, B. and Kohavi, R. (1996), Adult, UCI Machine Learning Repository,
    doi 10.24432/C5XW20. The categorical columns were left out; the numbers are unchanged.

    Examples
    --------
    >>> from discreet.datasets import load_adult
    >>> load_adult()
    Dataset(name='adult', shape=(48842, 6), licence='CC BY 4.0')
    >>> X, y = load_adult(subset="test", return_X_y=True)
    >>> X.shape, y.shape
    ((16281, 6), (16281,))
    """
    choice("subset", subset, ("all", "train", "test"))
    resource = files("discreet.datasets").joinpath("data", "adult.npz")
    with resource.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
        X = np.stack([file[name] for name in _BOUNDS], axis=1)
        y = file["income"]
        is_test = file["is_test"]
    chosen = np.full(len(X), True) if subset == "all" else is_test == (subset == "test")
    bounds: Bounds = tuple(_BOUNDS.values())
    dataset = Dataset(
        name="adult",
        X=X[chosen],
        y=y[chosen],
        columns=tuple(_BOUNDS),
        bounds=bounds,
        licence="CC BY 4.0",
        citation="Becker and Kohavi (1996), Adult, UCI Machine Learning Repository, doi 10.24432/C5XW20",
    )
    return as_requested(dataset, return_X_y)
