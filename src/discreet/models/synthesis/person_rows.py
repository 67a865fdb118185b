"""Synthetic rows as persons with visits: rows of one table, drawn as usual, are grouped into persons.

One column of the table says which of its person's rows a row is: 1, 2, … So its histogram says how many persons have at
least k rows, and its pairs with other columns how the first row differs from later ones. Each drawn row with number 1
is a person. Rows with number k are given to persons who have one with number k − 1: to those with the same categories
in the columns that are constant, and with the nearest number there. Then they take over the person's own values in
these columns. A row that finds no such person is left out.

All of it is a function of synthetic rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


def link_rows(visits: Whole, groups: Sequence[Whole], numbers: Sequence[Array], rng: np.random.Generator) -> Whole:
    """Return for each row the row of its person's first visit; −1 where it has no person.

    Parameters
    ----------
    visits : int array of shape (n,)
        Which of its person's rows each row is, from 1 on; 0 for a row that does not say so.
    groups : sequence of int arrays
        What must be equal among the rows of a person.
    numbers : sequence of arrays
        What should be near; the first matters most.
    rng : Generator

    Examples
    --------
    >>> visits, sex = np.array([1, 1, 2, 2, 2]), np.array([0, 1, 1, 1, 0])
    >>> first = link_rows(visits, [sex], [], np.random.default_rng(0))
    >>> first[:2].tolist(), sorted(first[2:4].tolist()), int(first[4])
    ([0, 1], [-1, 1], 0)
    """
    n = len(visits)
    result = np.where(visits == 1, np.arange(n), -1)
    group = np.zeros(n, dtype=np.int64)
    for one in groups:
        group = np.unique(np.stack([group, one]), axis=1, return_inverse=True)[1].reshape(-1)
    near = numbers[0] if len(numbers) else np.zeros(n)
    order = np.lexsort((rng.random(n), *reversed([*numbers]), group))
    for visit in range(2, int(visits.max(initial=1)) + 1):
        hosts = order[(visits[order] == visit - 1) & (result[order] >= 0)]
        guests = order[visits[order] == visit]
        for one in np.unique(group[guests]):
            some, there = guests[group[guests] == one], hosts[group[hosts] == one]
            some = some[np.sort(rng.permutation(len(some))[: len(there)])]
            result[some] = result[there[_nearest(near[some], near[there])]]
    return result


def _nearest(wanted: Array, there: Array) -> Whole:
    """Return different places among sorted numbers, in order, each near to one of some sorted numbers.

    >>> _nearest(np.array([1.0, 1.0, 5.0]), np.array([0.0, 1.0, 2.0, 3.0])).tolist()
    [1, 2, 3]
    """
    places = np.searchsorted(there, wanted)
    steps = np.arange(len(wanted))
    places = np.maximum.accumulate(places - steps) + steps  # each at least one more than the last
    return np.asarray(np.minimum(places, len(there) - len(wanted) + steps))
