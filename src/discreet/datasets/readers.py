"""Readers of the fetched tables, one for each file format; all return a ``ParsedTable``.

A reader relies on the layout alone. Whether the rows are the published ones is checked afterwards by their hash.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.datasets.content import ParsedTable
from discreet.datasets.dataset import IntArray

__all__ = [
    "comma_separated",
    "gowalla_npz",
    "gowalla_text",
    "numbers_and_labels",
    "olivetti_mat",
    "olivetti_npz",
    "parkinsons_csv",
]


def _whole(values: NDArray[Any]) -> IntArray:
    whole = values.astype(np.int64)
    if not np.array_equal(whole, values):
        raise ValueError("labels that are not whole numbers")
    return whole


def comma_separated(path: Path, *, header: bool) -> ParsedTable:
    """Read numbers with the label in the last column, gzipped or not."""
    rows = np.loadtxt(path, delimiter=",", skiprows=int(header), ndmin=2)
    return ParsedTable(np.ascontiguousarray(rows[:, :-1]), _whole(rows[:, -1]))


def numbers_and_labels(numbers: Path, labels: Path) -> ParsedTable:
    """Read a file of numbers between blanks and a file of labels, line by line the same rows."""
    return ParsedTable(np.loadtxt(numbers, ndmin=2), _whole(np.loadtxt(labels, ndmin=1)))


def parkinsons_csv(path: Path) -> ParsedTable:
    """Read UCI's file: a recording's name, 22 measures, and the label in the 18th column.

    The person is the third part of a name such as ``phon_R01_S07_3``: subject 7, third recording.
    """

    def subject(recording: str) -> float:
        return float(recording.split("_")[2].removeprefix("S"))

    rows = np.loadtxt(path, delimiter=",", skiprows=1, converters={0: subject}, ndmin=2)
    return ParsedTable(np.delete(rows, [0, 17], axis=1), _whole(rows[:, 17]), _whole(rows[:, 0]))


def _check_ins(places: NDArray[Any], user: NDArray[Any], place: NDArray[Any], count: NDArray[Any]) -> ParsedTable:
    """Return one row a check-in, ordered by user and place.

    Degrees are rounded to single precision (at most 0.000008 degrees, less than a metre), which is how the
    table is kept where it is not in its original text.
    """
    order = np.lexsort((place, user))
    repeats = count[order].astype(np.int64)
    degrees = places.astype(np.float32).astype(np.float64)
    return ParsedTable(
        np.repeat(degrees[place[order]], repeats, axis=0),
        unit=np.repeat(user[order].astype(np.int64), repeats),
    )


def gowalla_npz(path: Path) -> ParsedTable:
    """Read places, and for each pair of a user and a place the number of check-ins."""
    with np.load(path, allow_pickle=False) as file:
        return _check_ins(file["poi_latlon"], file["user"], file["poi"], file["count"])


def gowalla_text(places: Path, *visits: Path) -> ParsedTable:
    """Read lines of place, latitude, longitude, and any number of files with lines of user, place, count."""
    coordinates = np.loadtxt(places, delimiter="\t", ndmin=2)
    degrees = np.full((len(coordinates), 2), np.nan)
    degrees[_whole(coordinates[:, 0])] = coordinates[:, 1:]
    joined = np.concatenate([np.loadtxt(path, delimiter="\t", dtype=np.int64, ndmin=2) for path in visits])
    return _check_ins(degrees, *joined.T)


def _faces(images: NDArray[Any]) -> ParsedTable:
    """Return upright images as rows of grey levels; the ten images of a person follow one another."""
    person = np.arange(len(images)) // 10
    return ParsedTable(images.reshape(len(images), -1).astype(np.float64), person, person)


def olivetti_npz(path: Path) -> ParsedTable:
    """Read images that are upright already."""
    with np.load(path, allow_pickle=False) as file:
        return _faces(file["images"])


def olivetti_mat(path: Path) -> ParsedTable:
    """Read MATLAB's matrix ``faces``, 4096 x 400; MATLAB counts columns first, so each image lies on its side."""
    from scipy.io import loadmat  # heavy, and needed for this one format only

    return _faces(loadmat(path)["faces"].T.reshape(-1, 64, 64).transpose(0, 2, 1))
