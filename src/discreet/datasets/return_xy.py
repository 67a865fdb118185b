"""scikit-learn's ``return_X_y``: ``X, y = load_adult(return_X_y=True)`` beside ``load_adult().X``."""

from __future__ import annotations

from typing import TypeAlias

from discreet.arguments import ArgumentError
from discreet.datasets.dataset import Dataset, FloatArray, IntArray

__all__ = ["XY", "as_requested"]

XY: TypeAlias = tuple[FloatArray, IntArray]


def as_requested(dataset: Dataset, return_X_y: bool) -> Dataset | XY:
    """Return a labelled dataset as it is, or as the pair of its rows and labels.

    >>> from discreet.datasets import Dataset
    >>> walks = Dataset("walks", [[1.0], [2.0]], [0, 1], ("hours",), None, "CC0", "own diary")
    >>> X, y = as_requested(walks, return_X_y=True)
    >>> X.shape, y.shape
    ((2, 1), (2,))
    """
    if not isinstance(return_X_y, bool):
        raise ArgumentError("return_X_y", return_X_y, "True or False")
    if not return_X_y:
        return dataset
    assert dataset.y is not None, "only tables with labels take return_X_y"
    return dataset.X, dataset.y
