"""Clipped moments of a Gaussian mixture, by covariance type: what a row contributes, its norm, its float error, proofs.

**The statistic.** Row y (in the unit ball) has responsibilities γ on the simplex and, for each component k, coordinates
y_k with ‖y_k‖ ≤ 1: those of the unit ball, or the component's own, z = L_k⁻¹(y − m_k), moved radially into the ball
of radius R and divided by R. It contributes

    c(y) = (γ_k ψ_k)_k,    ψ_k = (a, b·y_k, c·S(y_k)),    a² + b² + c² = 1,

where S is yyᵀ packed with √2 off the diagonal ("full"), (y_j²)_j ("diag"), ‖y‖² ("spherical"), or Σ_k γ_k y_k y_kᵀ once
for all components ("tied"). The parameters (m_k, L_k and those of γ) come from earlier releases or from public
constants, never from the rows. γ may know more of a row than y: ``evidence`` is added to the logits, such as the
log-likelihood of its categories (``mixed_moments``). Nothing below asks where γ comes from, as long as it is on the
simplex.

**The norm** (the lemma that all fits rest on). ‖S(y)‖ ≤ ‖y‖² ≤ 1, so ‖ψ_k‖ ≤ 1 and ‖c‖² = Σγ_k²‖ψ_k‖² ≤ Σγ_k ≤ 1,
whatever K is. Tied: ‖Σγ_k y_k y_kᵀ‖ ≤ Σγ_k‖y_k‖² ≤ 1 and so ‖c‖² ≤ a² + b² + c². Both are attained where γ is at a
corner and ‖y_k‖ = 1.

**Replaced rows.** ‖c − c'‖² ≤ 2 − 2⟨c, c'⟩, and ⟨c, c'⟩ = Σγ_kγ'_k⟨ψ_k, ψ'_k⟩. Let t be the least value of
⟨ψ_k, ψ'_k⟩ over y_k, y'_k in the unit ball. Since 0 ≤ Σγ_kγ'_k ≤ 1, the product is at least min(0, t), and at least t
where K = 1. So ‖c − c'‖² ≤ 2 + 2·max(0, −t), or 2 − 2t. With v = ⟨y, y'⟩ and p = ‖y‖‖y'‖ ≥ |v|:

- full: a² + b²v + c²v² over v in [−1, 1]; spherical: a² + b²v + c²p² ≥ a² − b²p + c²p², p in [0, 1]; diag:
  Σy_j²y'_j² ≥ v²/d by Cauchy and Schwarz, so at least a² + b²v + (c²/d)v². With q = c², or c²/d for diag:
  t = a² − b⁴/(4q) where b² ≤ 2q, else a² − b² + q.
- tied: ⟨Σγ_k y_k y_kᵀ, Σγ'_l y'_l y'_lᵀ⟩ = Σ_k Σ_l γ_kγ'_l⟨y_k, y'_l⟩² ≥ Σ_k γ_kγ'_k v_k², so it is as with full.

**L1**, for a² + b² = 1: ‖γ‖₁ = 1 and ‖y_k‖₁ ≤ √d give a + b√d; replaced rows 2(a + b√d).

**Floats.** With u = 2⁻⁵³, ideal is what real arithmetic makes of the float constants P_k = L_k⁻¹, o_k = P_k m_k and
l_k = ln w_k + ln det P_k. Each term is a bound on what the computed value lacks; ``roundoff`` adds them up.

- z = P_k y − o_k by a matrix product: e = (d + 2)u(‖P_k‖_F + ‖o_k‖), in norm. For a diagonal P_k its largest entry
  takes the place of ‖P_k‖_F: products with 0 are exact, and so are sums with it.
- y_k: moving into the ball is 1-Lipschitz, dividing by R makes e/R, and the root, the division and the product add at
  most (d/2 + 7)u.
- the logit l_k − ½min(‖z‖², Q): λ = √Q·e + e²/2 + u((d + 6)Q + 3|l_k|). The cap Q keeps it small; beyond 50 standard
  deviations from every component a row is shared out by the weights alone. With evidence of at most H that is off by
  at most η, λ grows by η + u(Q + |l_k| + 3H): one more sum, and larger numbers in the next.
- γ: logits off by λ each, the exponential by 4u, the sum by Ku, and a share below
  10⁻¹⁷ may be left out: ‖γ̃ − γ‖₁ ≤ 2.1λ + (2K + 12)u while λ < 0.01.
- c: ‖δγ‖₁ + 2.3‖δy_k‖ + (d + K + 12)u, as b + 2c ≤ √5; d and K stand for sums over columns ("spherical") and over
  components ("tied"), and 2u for weights that sum to 1 within 4u.

Where rows are assigned to one component ("hard"), a rounding could move a row from one to another. There the distances
are computed column by column with elementwise operations only, so a row's assignment is a function of its own bits.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array
from numpy.typing import NDArray

from discreet.arguments import UNSHOWN, ArgumentError
from discreet.cuda_kernels import is_on_cuda
from discreet.queries.bound import NORMS, UNIT_ROUNDOFF, Bound
from discreet.queries.moments.components import Components
from discreet.queries.question import Part, Query, upper_triangle, upper_triangle_like
from discreet.records import Ball, Block, Box

Array = NDArray[np.float64]

SHAPES = ("full", "diag", "tied", "spherical")
CAP = 2500.0  # Q
LEAST_RADIUS = 1e-100
IN_LOOP, IN_CACHE = 2**15, 2**19  # numbers of a piece on the host, in compiled loops and in products
MOST_ROWS, STRETCH = 2**12, 2**16  # rows of a piece on the host, and of pieces that are added one after the other
STRIPE = 25  # rows of P in a product that leaves out the zeros beyond them
FEW_COLUMNS = 20  # up to here a compiled loop is faster than matrix products; without matrices it always is
_SCRATCH = threading.local()
NOTHING: Array = np.empty((0, 0))  # no evidence, in the type that the loops are compiled for
NEGLIGIBLE = 1e-17  # a share that may be left out; see *Floats*


@dataclass(frozen=True, eq=False)
class ClippedMoments:
    """The statistic of the module, at public parameters.

    Parameters
    ----------
    components : Components
        In the coordinates of the unit ball; they give the responsibilities.
    radius : float or None
        R of the components' own coordinates; None for the coordinates of the unit ball.
    weights : tuple of three floats
        a², b², c², summing to 1; a part with weight 0 is left out.
    shape : str
        ``"full"``, ``"diag"``, ``"tied"`` or ``"spherical"``.
    hard : bool
        Whether γ is 1 at the nearest mean (in the metric of the first covariance) and 0 elsewhere.
    only : int or None
        The one component whose statistic is asked for; the others' are left out.
    """

    components: Components
    radius: float | None
    weights: tuple[float, float, float]
    shape: str = "full"
    hard: bool = False
    only: int | None = None

    def __post_init__(self) -> None:
        if abs(math.fsum(self.weights) - 1.0) > 4.0 * UNIT_ROUNDOFF or min(self.weights) < 0.0:
            raise ArgumentError("weights", self.weights, "a², b², c² of at least 0 that sum to 1")
        if self.radius is not None and not LEAST_RADIUS <= self.radius <= 1.0 / LEAST_RADIUS:
            raise ArgumentError("radius", self.radius, "a number whose square is neither 0 nor infinite, or None")

    @cached_property
    def parts(self) -> Mapping[str, Part]:
        """Counts, first and second moments, as far as they have a weight."""
        k, d = 1 if self.only is not None else self.components.count, self.components.dimension
        a, b, c = (math.sqrt(weight) for weight in self.weights)
        second = {
            "full": Part((k, d, d), c, symmetric=True),
            "tied": Part((d, d), c, symmetric=True),
            "diag": Part((k, d), c),
            "spherical": Part((k,), c),
        }
        named = {"counts": Part((k,), a), "first": Part((k, d), b), "second": second[self.shape]}
        return {name: part for name, part in named.items() if part.weight}

    @cached_property
    def bound(self) -> Bound:
        """See the module."""
        a2, b2, c2 = self.weights
        d = self.components.dimension
        q = c2 / d if self.shape == "diag" else c2
        least = a2 - b2 * b2 / (4.0 * q) if b2 <= 2.0 * q and q else a2 - b2 + q
        alone = self.components.count == 1
        squared = 2.0 - 2.0 * least if alone else 2.0 + 2.0 * max(0.0, -least)
        l1 = None if c2 else math.sqrt(a2) + math.sqrt(b2 * d)
        # How much of it is attained depends on where the components are; a test has some that attain it.
        return Bound(l2=1.0, l1=l1, replace_l2=math.sqrt(max(squared, 1.0)), attained=dict.fromkeys(NORMS, 0.0))

    @cached_property
    def roundoff(self) -> float:
        """See the module, *Floats*."""
        return self._roundoff(0.0)

    def roundoff_with(self, most: float, error: float) -> float:
        """Return the same with evidence.

        Parameters
        ----------
        most : float
            H: no evidence is larger in size.
        error : float
            η: how far the evidence may be from what real arithmetic makes of it.
        """
        largest = float(np.abs(self.components.log_constants).max())
        return self._roundoff(error + UNIT_ROUNDOFF * (CAP + largest + 3.0 * most))

    @property
    def _whitening_norms(self) -> Array:
        """‖P_k‖_F, or the largest entry of each P_k where all of them are diagonal."""
        sizes = np.abs(self.components.whitening)
        return np.asarray(sizes.max(axis=(1, 2)) if self.components.is_diagonal else np.linalg.norm(sizes, axis=(1, 2)))

    def _roundoff(self, more: float) -> float:
        """Return the bound where logits are off by so much more."""
        u, d, k = UNIT_ROUNDOFF, self.components.dimension, self.components.count
        offsets = self.components.offsets
        norms = self._whitening_norms + np.linalg.norm(offsets, axis=1)
        e = float((d + 2) * u * norms.max())
        moved = (d / 2.0 + 7.0) * u + (0.0 if self.radius is None else e / self.radius)
        rest = 2.3 * moved + (d + k + 12.0) * u
        if self.hard:
            return rest
        largest = float(np.abs(self.components.log_constants).max())
        logit = math.sqrt(CAP) * e + e * e / 2.0 + u * ((d + 6) * CAP + 3.0 * largest) + more
        return (2.1 * logit if logit < 0.01 else 2.0) + (2 * k + 12) * u + rest

    @property
    def cap(self) -> float:
        """Q."""
        return CAP

    @property
    def metric(self) -> Array:
        """What columns are multiplied with before distances are taken, for hard assignments."""
        return np.asarray(1.0 / np.sqrt(np.diagonal(self.components.covariances[0])))

    def contributions(self, y: Any, evidence: Any = None) -> Any:
        """Return c(y) for each row of ``y``, shape (n, size).

        Parameters
        ----------
        y : array of shape (n, d)
        evidence : array of shape (K, n), optional
            The log-likelihood of what else is known of each row, up to a number a row. In the library of ``y``.
        """
        return self.contributions_and_shares(y, evidence)[0]

    def contributions_and_shares(self, y: Any, evidence: Any = None) -> tuple[Any, Any]:
        """Return c(y) for each row, and γ of shape (K, n)."""
        xp = array_namespace(y)
        evidence = self._check_evidence(evidence)
        shares, z, shrink = self._shares_and_coordinates(
            y[None, :, :], None if evidence is None else evidence[None, :, :]
        )
        gamma = shares[0, :, :]
        own = (z * shrink[:, :, None, :])[0, :, :, :]
        shares = shares[0, :, None, :]
        n = y.shape[0]
        a, b, c = (math.sqrt(weight) for weight in self.weights)
        rows = []
        if a:
            rows.append(a * shares)
        if b:
            rows.append(b * shares * own)
        if c:
            if self.shape in ("full", "tied"):
                i, j, scale = upper_triangle_like(y, self.components.dimension)
                square = xp.take(own, i, axis=1) * xp.take(own, j, axis=1) * scale[None, :, None]
            else:
                square = own * own
            if self.shape == "spherical":
                square = xp.sum(square, axis=1, keepdims=True)
            square = c * shares * square
            rows.append(xp.sum(square, axis=0) if self.shape == "tied" else square)
        return xp.concat([xp.reshape(part, (-1, n)) for part in rows], axis=0).T, gamma

    def _check_evidence(self, evidence: Any) -> Any:
        if evidence is not None and (self.hard or self.only is not None):
            raise ArgumentError("evidence", UNSHOWN, "None where rows are assigned, or one component is asked for")
        return evidence

    def sum(self, y: Any, evidence: Any = None, *, space: Box | Ball | None = None) -> Any:
        """Return the sum of the contributions.

        In pieces: on this processor one after the other, each small enough for the cache; elsewhere many at once, since
        a GPU is idle over a single product with so short a side. On an NVIDIA GPU by kernels that read each row once
        (``fused``), where they are for such a statistic.

        Parameters
        ----------
        y : array of shape (n, d)
        evidence : array of shape (K, n), optional
            As in ``contributions``.
        space : Box or Ball, optional
            Where the rows lie; by default the unit ball. They are mapped into the unit ball first.
        """
        evidence = self._check_evidence(evidence)
        if evidence is None and is_on_cuda(y):
            from discreet.queries.moments.fused import sum_rows

            total = sum_rows(self, space, y)
            if total is not None:
                return total
        y = y if space is None else space.to_unit(y)
        return self._host_sum(y, evidence) if is_numpy_array(y) else self._device_sum(y, evidence)

    def summation_depth(self, rows: int) -> int:
        """Return the most additions that a term of ``sum`` over a block of so many rows goes through, plus one.

        It is a function of public numbers, and holds for every path that ``sum`` may take; u times it is the relative
        error of adding (``records.sources.whole_sums``). In n rows:

        - on the host, pieces of p rows are added in any order (p − 1 additions), then to the sum of their stretch
          (one for each of its pieces), and the stretches to each other (one for each);
        - by matrix products elsewhere, ``PIECE`` rows in any order, the pieces that are computed together, in any
          order, and one addition for each time that this is done;
        - by fused kernels, what ``FusedPlan.depth`` proves in ``fused``.

        No term goes through more than n − 1 additions that round: each joins it with others of the n, and adding 0 is
        exact. Sums over columns and over components are in ``roundoff``.
        """
        from discreet.queries.moments.fused import choose, product_depth

        n, piece = max(rows, 1), self._piece_rows
        host = piece + -(-min(n, STRETCH) // piece) + -(-n // STRETCH)
        device = product_depth(n, self.components.count * self.components.dimension)
        fused = choose(self)
        return min(n, max(host, device, 0 if fused is None else fused.depth(n)))

    @property
    def _piece_rows(self) -> int:
        """How many rows are a piece on the host."""
        k, d = self.components.count, self.components.dimension
        at_once = 1 if self.hard and self._in_loop else k  # components whose coordinates are kept
        return min(max((IN_LOOP if self._in_loop else IN_CACHE) // (at_once * d), 64), MOST_ROWS)

    @property
    def _in_loop(self) -> bool:
        """Whether compiled loops are faster on the host than matrix products."""
        is_diagonal = self.shape in ("diag", "spherical") and self.components.is_diagonal
        return self.components.dimension <= FEW_COLUMNS or is_diagonal

    def sum_and_shares(self, y: Any, evidence: Any = None) -> tuple[Any, Any]:
        """Return the sum of the contributions, and γ of shape (K, n), of one pass."""
        evidence = self._check_evidence(evidence)
        if not is_numpy_array(y):
            pieces: list[Any] = []
            total = self._device_sum(y, evidence, pieces)
            return total, array_namespace(y).concat(pieces, axis=1)
        shares = np.empty((self.components.count, len(y)))
        return self._host_sum(y, evidence, shares), shares

    def _device_sum(self, y: Any, evidence: Any, shares_out: list[Any] | None = None) -> Any:
        """Return the sum, many pieces at once; their γ go to ``shares_out``."""
        from discreet.queries.moments.fused import PIECE, TOGETHER

        xp, n, k = array_namespace(y), y.shape[0], self.components.count
        many = max(TOGETHER // (k * self.components.dimension * PIECE), 1) * PIECE
        whole = n - n % PIECE
        spans = [(start, min(start + many, whole), PIECE) for start in range(0, whole, many)]
        if n > whole or not n:
            spans.append((whole, n, n - whole))
        sums = []
        for start, stop, rows in spans:
            piece = xp.reshape(y[start:stop, :], (-1 if rows else 1, rows, y.shape[1]))
            known = None
            if evidence is not None:
                known = xp.permute_dims(xp.reshape(evidence[:, start:stop], (k, -1 if rows else 1, rows)), (1, 0, 2))
            result, shares = self._sum(piece, known)
            sums.append(result)
            if shares_out is not None:
                shares_out.append(xp.reshape(xp.permute_dims(shares, (1, 0, 2)), (k, stop - start)))
        return sum(sums)

    def _host_sum(self, y: Array, evidence: Array | None, shares_out: Array | None = None) -> Array:
        """Return the sum by compiled loops, or by matrix products for many columns; γ goes to ``shares_out``."""
        if len(y) > STRETCH:
            sums = []
            for start in range(0, len(y), STRETCH):
                some = slice(start, start + STRETCH)
                known = None if evidence is None else evidence[:, some]
                sums.append(self._host_sum(y[some], known, None if shares_out is None else shares_out[:, some]))
            return np.asarray(np.sum(sums, axis=0))
        k, d, rows = self.components.count, self.components.dimension, self._piece_rows
        add = self._add_compiled if self._in_loop else self._add_products
        counts, first, second = np.zeros(k), np.zeros((k, d)), np.zeros((k, d, d))
        for start in range(0, len(y), rows):
            piece = slice(start, start + rows)
            shares = add(y[piece], None if evidence is None else evidence[:, piece], counts, first, second)
            if shares_out is not None:
                shares_out[:, piece] = shares
        if self.only is not None:
            one = slice(self.only, self.only + 1)
            counts, first, second = counts[one], first[one], second[one]
        if self.shape in ("full", "tied"):
            i, j, scale = upper_triangle(d)
            packed = second[:, j, i] * scale
            second = packed.sum(axis=0) if self.shape == "tied" else packed
        else:
            second = np.diagonal(second, axis1=1, axis2=2)
            second = second if self.shape == "diag" else second.sum(axis=1)
        scaled = zip((counts, first, second), self.weights, strict=True)
        return np.concatenate([math.sqrt(weight) * part.ravel() for part, weight in scaled if weight])

    def _add_compiled(self, y: Array, evidence: Array | None, counts: Array, first: Array, second: Array) -> Array:
        """Add the statistics of some rows, by compiled loops, and return γ."""
        from discreet.queries.moments.compiled import add, add_assigned, coordinates, nearest

        some, components, radius = np.ascontiguousarray(y.T), self.components, self.radius or 0.0
        (k, d), n = components.means.shape, len(y)
        has_products = self.shape in ("full", "tied")
        if self.hard:
            labels = np.zeros(n, dtype=np.int64)
            nearest(some, self.metric, components.means * self.metric, labels)
            own = [np.zeros_like(total) for total in (counts, first, second)]  # by themselves: ``summation_depth``
            add_assigned(
                some, labels, components.whitening, components.offsets, components.is_diagonal, radius, has_products,
                *own,
            )  # fmt: skip
            for total, part in zip((counts, first, second), own, strict=True):
                total += part
            return np.asarray(labels == np.arange(k)[:, None], dtype=np.float64)
        z, squared, shares = _reuse_memory(k * d * n).reshape(k, d, n), np.empty((k, n)), np.empty((k, n))
        known = NOTHING if evidence is None else np.ascontiguousarray(evidence)
        coordinates(
            some, components.whitening, components.offsets, components.log_constants, known, CAP, z, squared, shares
        )
        np.exp(shares, out=shares)
        add(some, z, squared, shares, radius, has_products, counts, first, second)
        return shares

    def _add_products(self, y: Array, evidence: Array | None, counts: Array, first: Array, second: Array) -> Array:
        """Add the statistics of some rows, by matrix products, and return γ.

        To each component the rows are added that have a share in it.

        With many columns these are few: a share below 10⁻¹⁷ is left out. With the square roots of the shares on either
        side a second moment is the product of a matrix with its own transpose, which BLAS has in half the time.
        """
        rows = np.ascontiguousarray(y.T)
        z = self._triangular(rows)
        squared = np.einsum("kdn,kdn->kn", z, z)
        shares: Array = self._shares(rows[None], squared[None], None if evidence is None else evidence[None])[0]
        if self.radius is None:
            z, shrink = np.broadcast_to(rows, z.shape), np.ones_like(shares)
        else:
            shrink = 1.0 / np.sqrt(np.maximum(squared, self.radius**2))
        counts += shares.sum(axis=1)
        for k, share in enumerate(shares):
            there = np.flatnonzero(share > NEGLIGIBLE)
            root = np.sqrt(share[there])
            own = z[k][:, there] * (root * shrink[k, there])
            first[k] += own @ root
            if self.shape in ("full", "tied"):
                second[k] += own @ own.T
            else:
                np.einsum("ii->i", second[k])[:] += np.einsum("dn,dn->d", own, own)
        return shares

    def _sum(self, y: Any, evidence: Any) -> tuple[Any, Any]:
        """Return the sum over pieces, of shape (pieces, rows, d), and their γ of shape (pieces, K, rows).

        With the square roots of the shares on either side, so that the second moments are products of a matrix with its
        own transpose, which BLAS has in half the time.
        """
        xp = array_namespace(y)
        shares, z, shrink = self._shares_and_coordinates(y, evidence)
        a, b, c = (math.sqrt(weight) for weight in self.weights)
        sums = []
        if a:
            sums.append(a * xp.sum(xp.sum(shares, axis=2), axis=0))
        if b or c:
            root = xp.sqrt(shares)
            shrink *= root
            if self.radius is None:  # z is a view of the rows
                own = z * shrink[:, :, None, :]
            else:
                z *= shrink[:, :, None, :]
                own = z
        if b:
            sums.append(b * xp.sum(xp.matmul(own, root[:, :, :, None]), axis=0))
        if c:
            sums.append(c * self._second(y, own))
        return xp.concat([xp.reshape(part, (-1,)) for part in sums], axis=0), shares

    def _second(self, y: Any, own: Any) -> Any:
        """Return the sums of S, from coordinates that carry the square root of the share."""
        xp = array_namespace(y)
        d = own.shape[2]
        if self.shape in ("diag", "spherical"):
            squares = xp.sum(xp.sum(own * own, axis=3), axis=0)
            return squares if self.shape == "diag" else xp.sum(squares, axis=1)
        grams = xp.sum(xp.matmul(own, xp.permute_dims(own, (0, 1, 3, 2))), axis=0)
        if self.shape == "tied":
            grams = xp.sum(grams, axis=0, keepdims=True)
        i, j, scale = upper_triangle_like(y, d)
        return xp.take(xp.reshape(grams, (-1, d * d)), i * d + j, axis=1) * scale

    def _triangular(self, rows: Array) -> Array:
        """Return z, of shape (K, d, n), without the products with the zeros above P's diagonal."""
        whitening, (d, n) = self.components.whitening, rows.shape
        z = _reuse_memory(self.components.count * d * n).reshape(self.components.count, d, n)
        for start in range(0, d, STRIPE):
            end = min(start + STRIPE, d)
            np.matmul(whitening[:, start:end, :end], rows[:end], out=z[:, start:end, :])
        z -= self.components.offsets[:, :, None]
        return z

    def _shares_and_coordinates(self, y: Any, evidence: Any) -> tuple[Any, Any, Any]:
        """Return γ, coordinates z, and by what to multiply them to clip them.

        For pieces of shape (p, n, d): γ, the factor and evidence of shape (p, K, n), z of shape (p, K, d, n).
        """
        xp = array_namespace(y)
        k, d = self.components.count, self.components.dimension
        pieces, n, _ = y.shape
        rows = xp.permute_dims(y, (0, 2, 1))
        flat = xp.matmul(_beside(y, self.components.whitening.reshape(k * d, d)), rows)
        flat -= _beside(y, self.components.offsets.reshape(k * d, 1))
        z = xp.reshape(flat, (pieces, k, d, n))
        squared = xp.sum(z * z, axis=2)
        shares = self._shares(rows, squared, evidence)
        if self.radius is None:
            z, shrink = xp.broadcast_to(rows[:, None, :, :], (pieces, k, d, n)), xp.ones_like(shares)
        else:
            shrink = 1.0 / xp.sqrt(xp.clip(squared, self.radius**2, None))
        if self.only is not None:
            one = slice(self.only, self.only + 1)
            return shares[:, one, :], z[:, one, :, :], shrink[:, one, :]
        return shares, z, shrink

    def _shares(self, rows: Any, squared: Any, evidence: Any = None) -> Any:
        """Return γ of shape (p, K, n), from rows of shape (p, d, n), ‖z‖² and evidence of shape (p, K, n)."""
        if self.hard:
            return self._nearest(rows)
        xp = array_namespace(squared)
        logits = xp.clip(squared, 0.0, CAP)
        logits *= -0.5
        logits += _beside(squared, self.components.log_constants[:, None])
        if evidence is not None:
            logits += evidence
        logits -= xp.max(logits, axis=1, keepdims=True)
        shares = xp.exp(logits)
        shares /= xp.sum(shares, axis=1, keepdims=True)
        return shares

    def _nearest(self, rows: Any) -> Any:
        """Return 1 for the nearest mean and 0 for the others, shape (p, K, n); the first among equals."""
        xp = array_namespace(rows)
        metric = self.metric
        means = self.components.means * metric
        squared = None
        for j in range(self.components.dimension):
            scaled = rows[:, j : j + 1, :] * _beside(rows, metric[j : j + 1, None])
            difference = scaled - _beside(rows, means[:, j : j + 1])
            term = difference * difference
            squared = term if squared is None else squared + term
        nearest = xp.argmin(squared, axis=1)
        order = xp.arange(self.components.count, dtype=nearest.dtype, device=device(nearest))
        return xp.astype(order[None, :, None] == nearest[:, None, :], xp.float64)


def _reuse_memory(size: int) -> Array:
    """Return so many numbers in memory that this thread uses again for its next rows.

    To ask the system for it each time takes as long as the computation, above all on Dask's workers, which give freed
    memory back at once.
    """
    if getattr(_SCRATCH, "numbers", np.empty(0)).size < size:
        _SCRATCH.numbers = np.empty(size)
    numbers: Array = _SCRATCH.numbers[:size]
    return numbers


def _beside(like: Any, values: Array) -> Any:
    """Return public numbers in the library and on the device of ``like``."""
    xp = array_namespace(like)
    return xp.asarray(values, dtype=xp.float64, device=device(like))


# Weights that are in use, named so that the search for worst neighbours attacks what is measured.
COUNTS, FIRST, SECOND = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
COUNTS_AND_SUMS = (0.5, 0.5, 0.0)  # a ≥ b: a replaced row costs √2
ROUND = (0.25, 0.5, 0.25)  # 2ac ≥ b²: the same
LLOYD = (0.35, 0.4, 0.25)  # the same, with better counts
FULL = (0.2, 0.3, 0.5)


@dataclass(frozen=True, eq=False)
class MomentSums(Query):
    """Sums of clipped moments over the rows, at public components, as a query.

    A row is mapped into the unit ball of the space and contributes what the module says. Bound and roundoff are those
    of ``ClippedMoments``: the map clips by itself, so they hold for any row. The weights (a², b², c²) say which moments
    there are.

    Parameters
    ----------
    moments : ClippedMoments
    space : Box or Ball
        Of the curator; rows are mapped from it into the unit ball.
    name : str
        For the ledger and the release: what the sums are for.
    """

    moments: ClippedMoments
    space: Box | Ball
    name: str  # type: ignore[misc]

    @property
    def parts(self) -> Mapping[str, Part]:
        """Counts, first and second moments, as far as they have a weight."""
        return self.moments.parts

    @property
    def bound(self) -> Bound:
        """That of the moments."""
        return self.moments.bound

    @property
    def roundoff(self) -> float:
        """That of the moments."""
        return self.moments.roundoff

    def contributions(self, block: Block) -> Any:
        """Return responsibilities times clipped moments."""
        return self.moments.contributions(self.space.to_unit(block.x))

    def sum(self, block: Block) -> Any:
        """Return their sum."""
        return self.moments.sum(block.x, space=self.space)

    def sum_in_pieces(self, block: Block) -> Any:
        """Return the sum of all rows at once: the moments have pieces of their own."""
        return self.sum(block)

    def summation_depth(self, rows: int) -> int:
        """Return that of the moments."""
        return self.moments.summation_depth(rows)
