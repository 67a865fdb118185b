"""Contributions held to their bound, row by row: what a wrong proof, or code from outside, cannot exceed.

A row's contribution that is longer than its bound B, in L2 or where there is one in L1, is multiplied by B over its
length; one that is not finite becomes 0. Where a public ball (centre, r) is given, it is moved towards the centre
instead, until it is within r of it in L2.

*Proof of the norm.* A row is left as it is where its computed length is at most B(1 + ρ), ρ the query's ``roundoff``,
which is charged as float error. Otherwise it is scaled: the length of D numbers is off by at most (D/2 + 4)u, the
quotient and the product by a few u, u = 2⁻⁵³, so what is summed is at most B(1 + (D + 16)u) long, which
``Setting.sensitivity`` charges. Squares do not overflow: a row whose length is not finite is first divided by its
largest number. Shortening in L1 lengthens nothing in L2, and the other way round.
"""

from __future__ import annotations

from typing import Any

from array_api_compat import array_namespace, device, is_numpy_array
from numpy import einsum, errstate

from discreet.queries.bound import Bound

__all__ = ["hold"]


def hold(rows: Any, bound: Bound, roundoff: float = 0.0) -> Any:
    """Return contributions, one a row, none longer than the bound; those that are not are not touched.

    >>> import numpy as np
    >>> hold(np.array([[3.0, 4.0], [0.0, 1.0], [np.nan, 0.0]]), Bound(l2=1.0)).round(2).tolist()
    [[0.6, 0.8], [0.0, 1.0], [0.0, 0.0]]
    """
    l2, l1, roundoff = float(bound.l2), bound.norm("l1"), float(roundoff)
    with errstate(all="ignore"):  # what overflows is shortened like the rest
        if bound.center is not None and bound.radius is not None:
            xp = array_namespace(rows)
            center = xp.asarray(bound.center, dtype=rows.dtype, device=device(rows))
            rows = center + _shortened(rows - center, "l2", bound.radius, roundoff)
        else:
            rows = _shortened(rows, "l2", l2, roundoff)
        return rows if bound.l1 is None else _shortened(rows, "l1", float(l1), roundoff)


def _lengths(rows: Any, norm: str) -> Any:
    xp = array_namespace(rows)
    if norm == "l1":
        return xp.sum(xp.abs(rows), axis=1)
    squares = einsum("nd,nd->n", rows, rows) if is_numpy_array(rows) else xp.sum(rows * rows, axis=1)
    return xp.sqrt(squares)


def _shortened(rows: Any, norm: str, most: float, roundoff: float) -> Any:
    """Return rows whose length in a norm is at most ``most``."""
    xp = array_namespace(rows)
    most, allowed = float(most), float(most * (1.0 + roundoff))  # an array takes numbers of Python, none of NumPy
    fits = _lengths(rows, norm) <= allowed  # NaN and what overflows do not
    if bool(xp.all(fits)):
        return rows
    return _scaled(rows, norm, most, allowed)


def _scaled(rows: Any, norm: str, most: float, allowed: float) -> Any:
    """Return rows of which those longer than what is allowed are scaled to ``most``, and those without a length 0."""
    xp = array_namespace(rows)
    finite = xp.all(xp.isfinite(rows), axis=1)
    rows = xp.where(finite[:, None], rows, xp.zeros_like(rows))
    largest = xp.max(xp.abs(rows), axis=1)
    largest = xp.where(largest > 0.0, largest, xp.ones_like(largest))
    direction = rows / largest[:, None]
    length = _lengths(direction, norm)
    too_long = length > allowed / largest
    scaled = direction * (most / xp.where(too_long, length, xp.ones_like(length)))[:, None]
    return xp.where(too_long[:, None], scaled, rows)
