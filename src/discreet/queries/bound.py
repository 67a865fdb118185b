"""Bounds on the contribution of one row, and the sensitivity that follows from them.

This is the one place where a sensitivity is derived from a bound, a neighbour relation and the number of rows that a
unit may have. Let c(x) be the contribution of a row, and m the largest number of rows of a unit:

- add-remove: the unit's rows are added or removed, so the sum changes by at most m·sup ‖c(x)‖;
- replace-one: the unit's rows are replaced by others. There may be fewer or more of these (up to m), and any of them
  may be dropped (missing values) and then contributes zero. Pair old and new rows as far as possible: each pair changes
  the sum by at most D = sup ‖c(x) − c(x')‖, each unpaired row by at most B = sup ‖c(x)‖. There are at most m pairs and
  unpaired rows together, so the sum changes by at most m·max(D, B).

**Contributions are clipped to their bound** (``Bound.clip_contributions``), row by row. So neither a wrong proof nor a
user's code can exceed it. A contribution that is longer than its bound B, in L2 or, where there is such a bound, in L1,
is multiplied by B over its length. One that is not finite becomes 0. Where a public ball (centre, r) is given, the
contribution is moved towards the centre instead, until it is within r of it in L2.

*Proof of the norm.* A row is unchanged if its computed length is at most B(1 + ρ), where ρ is the query's ``roundoff``,
which is charged as float error. Otherwise it is scaled: with u = 2⁻⁵³, the length of D numbers is off by at most
(D/2 + 4)u, the quotient and the product by a few u, so the scaled row is at most B(1 + (D + 16)u) long, which
``Setting.sensitivity`` charges. If the largest number m of all rows has √D·m ≤ B(1 + ρ), or D·m ≤ B(1 + ρ) in L1, no
row is longer than that, up to the same roundings, and the lengths need not be computed. Squares do not overflow: a row
whose length is not finite is first divided by its largest number. Shortening in L1 lengthens nothing in L2, and vice
versa.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Any

from array_api_compat import array_namespace, device, is_numpy_array
from numpy import einsum, errstate

from discreet.arguments import UNSHOWN, ArgumentError, integer, iterable, positive
from discreet.guarantees import Neighbors
from discreet.records import float_error
from discreet.records.sources.whole_sums import MOST_WHOLE

if TYPE_CHECKING:
    from discreet.queries.question import Query

NORMS = ("l2", "l1", "replace_l2", "replace_l1")
UNIT_ROUNDOFF = 2.0**-53


@dataclass(frozen=True)
class Bound:
    """Bounds on the norm of one row's contribution c(x), over all possible rows.

    Parameters
    ----------
    l2 : float
        At least sup ‖c(x)‖₂.
    l1 : float or None
        At least sup ‖c(x)‖₁; None where the query proves no such bound (Laplace noise is then refused).
    replace_l2, replace_l1 : float or None
        At least sup ‖c(x) − c(x')‖; None for twice the norm, which always holds.
    center, radius : tuple of float, float
        A public ball that contributions are clipped to in L2 (``clip_contributions``). Two contributions are then at
        most twice the radius apart, even if the query's own proof is wrong. ``l2``, and ``l1`` where it is given, must
        be at least the norm of the ball.
    attained : mapping of str to float
        For each of the four norms, the share of the bound that some rows are known to attain. By default 1, which
        claims that the bound is tight. The worst-neighbour search must find at least 0.99 of this share.

    Examples
    --------
    >>> Bound(l2=1.0, l1=2.0).sensitivity("l2", "replace-one")
    2.0
    >>> Bound(l2=1.0, replace_l2=1.5).sensitivity("l2", "replace-one", max_rows=3)
    4.5
    >>> Bound(l2=2.0, center=(1.0, 0.0), radius=1.0).sensitivity("l2", "replace-one")
    2.0
    """

    l2: float
    l1: float | None = None
    replace_l2: float | None = None
    replace_l1: float | None = None
    attained: Mapping[str, float] = field(default_factory=dict)
    center: tuple[float, ...] | None = None
    radius: float | None = None

    def __post_init__(self) -> None:
        for name in (*NORMS, "radius"):
            if getattr(self, name) is not None or name == "l2":
                object.__setattr__(self, name, positive(name, getattr(self, name)))
        if (self.center is None) is not (self.radius is None):
            raise ArgumentError("center, radius", UNSHOWN, "both, or neither")
        if self.center is not None and self.radius is not None:
            object.__setattr__(self, "center", _finite(self.center))
            reach = math.sqrt(len(self.center)) * self.radius  # of the ball, in L1
            norms = {"l2": math.hypot(*self.center) + self.radius, "l1": math.fsum(map(abs, self.center)) + reach}
            for name, most in norms.items():
                if self.norm(name) < most * (1.0 - 1e-12):  # shortening would move rows out of the ball again
                    raise ArgumentError(name, self.norm(name), f"at least that of the ball, {most!r}")
        given: Any = self.attained
        shares = given.items() if isinstance(given, Mapping) else [("", math.nan)]
        if not all(name in NORMS and isinstance(share, Real) and 0.0 <= float(share) <= 1.0 for name, share in shares):
            raise ArgumentError("attained", self.attained, f"shares in [0, 1] of {NORMS}")

    def norm(self, norm: str) -> float:
        """Return the bound on ‖c(x)‖ in ``norm``, ∞ where none is proved."""
        value: float | None = getattr(self, norm)
        return math.inf if value is None else value

    def replace(self, norm: str) -> float:
        """Return the bound on ‖c(x) − c(x')‖ in ``norm``."""
        most = min(self.norm(f"replace_{norm}"), 2.0 * self.norm(norm))
        return most if norm == "l1" or self.radius is None else min(most, 2.0 * self.radius)

    def sensitivity(self, norm: str, neighbors: Neighbors | str, *, max_rows: int = 1) -> float:
        """Return the largest distance between the sums of two neighbouring data sets, in ``norm`` ("l1" or "l2")."""
        rows = integer("max_rows", max_rows, least=1)
        if Neighbors.parse(neighbors) is Neighbors.ADD_REMOVE:
            return rows * self.norm(norm)
        return rows * max(self.replace(norm), self.norm(norm))

    def clip_contributions(self, rows: Any, roundoff: float = 0.0) -> Any:
        """Return contributions, one per row, clipped to the bound; those within the bound are unchanged.

        >>> import numpy as np
        >>> Bound(l2=1.0).clip_contributions(np.array([[3.0, 4.0], [0.0, 1.0], [np.nan, 0.0]])).round(2).tolist()
        [[0.6, 0.8], [0.0, 1.0], [0.0, 0.0]]
        """
        with errstate(all="ignore"):  # what overflows is shortened like the rest
            if self.radius is None:
                rows = _shorten(rows, "l2", self.l2, roundoff)
            else:
                center = array_namespace(rows).asarray(self.center, dtype=rows.dtype, device=device(rows))
                rows = center + _shorten(rows - center, "l2", self.radius, roundoff)
            return rows if self.l1 is None else _shorten(rows, "l1", self.l1, roundoff)


def _lengths(rows: Any, norm: str) -> Any:
    xp = array_namespace(rows)
    if norm == "l1":
        return xp.sum(xp.abs(rows), axis=1)
    squares = einsum("nd,nd->n", rows, rows) if is_numpy_array(rows) else xp.sum(rows * rows, axis=1)
    return xp.sqrt(squares)


def _shorten(rows: Any, norm: str, most: float, roundoff: float) -> Any:
    """Return rows whose length in a norm is at most ``most``. What becomes of a row depends on no other row.

    The largest number of all rows shows that none is too long only where each row's own length, as it is computed,
    would show it too: both are products of at most D + 8 roundings.
    """
    xp = array_namespace(rows)
    most, allowed = float(most), float(most * (1.0 + roundoff))  # arrays of other libraries take no NumPy scalars
    if not rows.shape[0]:
        return rows
    size = rows.shape[1]
    largest = max(float(xp.max(rows)), -float(xp.min(rows)))  # NaN where a row has one
    if largest * (size if norm == "l1" else math.sqrt(size)) * (1.0 + (size + 8.0) * UNIT_ROUNDOFF) <= allowed:
        return rows  # no row can be longer; four times as fast as computing every length
    unit = 1.0 if 1e-100 < most < 1e100 else most  # otherwise squares would underflow
    fits = _lengths(rows if unit == 1.0 else rows / unit, norm) <= allowed / unit  # False for NaN and overflow
    return rows if bool(xp.all(fits)) else xp.where(fits[:, None], rows, _scale(rows, norm, most))


def _scale(rows: Any, norm: str, most: float) -> Any:
    """Return rows scaled to the length ``most``; those that are not finite become 0."""
    xp = array_namespace(rows)
    finite = xp.all(xp.isfinite(rows), axis=1)
    rows = xp.where(finite[:, None], rows, xp.zeros_like(rows))
    largest = xp.max(xp.abs(rows), axis=1)
    direction = rows / xp.where(largest > 0.0, largest, xp.ones_like(largest))[:, None]
    length = _lengths(direction, norm)
    return direction * (most / xp.where(length > 0.0, length, xp.ones_like(length)))[:, None]


@dataclass(frozen=True)
class Setting:
    """Public facts about the rows, from which a mechanism plans.

    Attributes
    ----------
    neighbors : Neighbors
    max_rows : int
        The largest number of rows of a unit.
    rows : int
        A public bound on the number of rows.
    block_rows : int
        The largest number of rows that are summed in floats at a time (``discreet.records``).
    complete : bool
        Whether every row counts and is a unit of its own, so that under replace-one ``rows`` is their number.
    """

    neighbors: Neighbors
    max_rows: int
    rows: int
    block_rows: int
    complete: bool = False

    @property
    def accumulation(self) -> float:
        """γ of a sum over rows, whatever order a block is summed in (``records.sources.whole_sums``)."""
        return float_error(self.block_rows)

    def adds_exactly(self, norm: float) -> bool:
        """Whether a sum over rows of whole numbers, of a norm a row, is exact (``records.sources.whole_sums``)."""
        return self.rows * norm <= MOST_WHOLE

    def sensitivity(self, query: Query, norm: str) -> float:
        """Return the largest distance between the computed sums of two neighbouring data sets.

        It is the distance of the ideal sums plus both float errors, which are 0 for sums of whole numbers.
        Contributions that are clipped to their bound may exceed it by the roundings of a length and a product, at most
        ``size`` + 16 of them.
        """
        clipped = 1.0 + (query.size + 16.0) * UNIT_ROUNDOFF
        bound = clipped * query.bound.sensitivity(norm, self.neighbors, max_rows=self.max_rows)
        errors = (
            query.float_error(self.rows, query.accumulation(self)),
            self.max_rows * query.bound.l2 * query.roundoff,
        )
        if not all(0.0 <= error < math.inf for error in errors):
            raise ArgumentError(("float_error", "roundoff"), errors, "finite numbers of at least 0")
        error = max(errors)  # a row that is longer than its bound by its roundoff is not shortened
        return bound + 2.0 * error * (math.sqrt(query.size) if norm == "l1" else 1.0)

    def largest(self, query: Query) -> float:
        """Return a bound on the absolute value of every coordinate of the sum."""
        return self.rows * query.bound.l2 * (1.0 + 1e-6)


def _finite(center: Any) -> tuple[float, ...]:
    """Return the centre of a ball as finite floats; a NaN would disable the clipping."""
    numbers = list(center) if iterable(center) else [math.nan]
    if not all(isinstance(one, Real) and math.isfinite(one) for one in numbers):
        raise ArgumentError("center", UNSHOWN, "finite numbers, one for each number that a row contributes")
    return tuple(map(float, numbers))
