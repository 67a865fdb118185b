"""Random directions and frames with density ∝ exp(vᵀMv), in floats: the Bingham distributions.

They are what the exponential mechanism draws when the score of a direction is a quadratic form, as in principal
component analysis. ``bingham`` is exact in ideal arithmetic; ``gibbs_bingham`` is a chain that comes near it.

What floats do to it. The normals, the eigenvectors and the decision to keep a proposal are rounded, so a draw has its
distribution only as nearly as floats do, and its low bits may reveal more than the density does (Mironov 2012). The
exponent vᵀMv is right to about q·2⁻⁵²·‖M‖: with an eigenvalue of 10¹² and q = 10 the density may be off by a share of
0.002.

What is not hidden. The number of proposals, and so the time that a draw takes, depends on the matrix. An error
reveals that the matrix was not valid. A caller whose matrix depends on rows has to make it finite and symmetric first.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from discreet.arguments import UNSHOWN, ArgumentError, as_numbers, integer
from discreet.noise.bits import Bits, as_bits
from discreet.noise.distributions import GaussianNoise
from discreet.noise.integer_draws import Array

_NORMAL = GaussianNoise(1.0, 52)  # as fine as floats near 1; its unit does not matter, only directions are taken
_ROUNDING = 1e-10  # of the largest entry: so much asymmetry is taken for rounding


def bingham(matrix: ArrayLike, bits: Bits | None = None) -> Array:
    """Return a vector on the unit sphere of R^q, drawn with density ∝ exp(vᵀMv), exactly in ideal arithmetic.

    How: by rejection from the angular central Gaussian, as in Kent, Ganeiber and Mardia (2018), "A new unified approach
    for the simulation of a wide class of directional distributions", Journal of Computational and Graphical Statistics
    27. The steps:

    1. On the sphere, adding c·I to M multiplies the density by a constant. So let Λ = m·I − M, m the largest
       eigenvalue: the density is ∝ e^(−u), u = vᵀΛv, and Λ has eigenvalues λ_i ≥ 0, the least of them 0.
    2. For some b > 0 let Ω = I + 2Λ/b and propose v = x/‖x‖ with x normal of covariance Ω⁻¹. Such a v has density
       ∝ (vᵀΩv)^(−q/2) = (1 + 2u/b)^(−q/2): integrate the normal density along the ray through v.
    3. Keep v with probability exp((q/2)·(1 − r + ln r)), r = (b + 2u)/q. Otherwise propose again.

    Why that is a probability: ln r ≤ r − 1 for every r > 0, the logarithm being concave with slope 1 at 1. So the
    exponent is never above 0, whichever b > 0 was taken.

    Why the distribution is right: the density of what is kept is the product of the two. 1 + 2u/b is r·q/b, so that
    r^(−q/2)·e^(−qr/2)·r^(q/2) = e^(−qr/2) ∝ e^(−u) remains. No constant has to be known, and an error in b would
    cost time, not truth.

    Why b solves Σ 1/(b + 2λ_i) = 1: write x_i = s_i g_i in the eigenbasis, g standard normal and
    s_i² = b/(b + 2λ_i). Then vᵀΩv = ‖g‖²/‖x‖², so r = (‖g‖²/q)/(‖x‖²/b): with Σ s_i² = b both averages have mean 1
    and r is near 1, where nearly all is kept. The left side falls in b. It is at least 1 at b = 1, because some λ_i is
    0, and at most 1 at b = q, so the root is bracketed. The worst case is one λ_i = 0 and all others large: b is near
    1, r near 1/g₁², and a share of order 1/√q is kept (0.03 at q = 1000).

    r is computed from g and x, so no product of a λ_i and a draw can overflow, and an infinite λ_i means x_i = 0.

    Parameters
    ----------
    matrix : array-like of shape (q, q)
        M, finite and symmetric. Asymmetry up to 1e-10 of the largest entry is taken for rounding: vᵀMv sees only the
        symmetric part.
    bits : Bits or None
        ``None`` for secure ones.

    Returns
    -------
    ndarray of shape (q,)

    Examples
    --------
    >>> v = bingham([[1e12, 0.0], [0.0, 0.0]])
    >>> round(abs(float(v[0])), 6)
    1.0
    """
    scaled, exponent = _check_matrix(matrix)
    direction: Array = _draw_directions(scaled, exponent, 1, as_bits(bits))[0]
    return direction


def gibbs_bingham(matrix: ArrayLike, k: int, sweeps: int, bits: Bits | None = None) -> Array:
    """Return k orthonormal columns V, drawn approximately with density ∝ exp(tr(VᵀMV)).

    A Gibbs sampler (Hoff 2009, "Simulation of the matrix Bingham–von Mises–Fisher distribution", Journal of
    Computational and Graphical Statistics 18): it starts at a uniformly random frame, and a sweep draws each column
    anew given the others. Let the columns of N be an orthonormal basis of the others' complement. The column is v = Ny
    with y on the unit sphere of R^(q−k+1), and the others' share of the trace is fixed: so y has density
    ∝ exp(yᵀNᵀMNy), which is drawn as in ``bingham``.

    Approximate: a chain that is stopped after ``sweeps``. How near it is to the density is not known, so no privacy
    guarantee follows from it. (Two cases are as good as ``bingham``: k = 1, where a sweep is a fresh draw, and k = q,
    where the density is constant and the start has it.)

    Parameters
    ----------
    matrix : array-like of shape (q, q)
        M, as for ``bingham``.
    k : int
        From 1 to q.
    sweeps : int
        From 1 to 100,000.
    bits : Bits or None
        ``None`` for secure ones.

    Returns
    -------
    ndarray of shape (q, k)

    Examples
    --------
    >>> frame = gibbs_bingham([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 5.0]], k=2, sweeps=10)
    >>> bool(np.allclose(frame.T @ frame, np.eye(2)))
    True
    """
    scaled, exponent = _check_matrix(matrix)
    q = len(scaled)
    k, sweeps = integer("k", k, least=1, most=q), integer("sweeps", sweeps, least=1, most=10**5)
    bits = as_bits(bits)
    frame, triangle = np.linalg.qr(_NORMAL.sample((q, k), bits).astype(np.float64))
    # The factor with a positive diagonal is unique, so it turns with the normals; LAPACK's signs would not.
    frame = np.where(np.diag(triangle) < 0.0, -frame, frame)
    for _ in range(sweeps):
        for column in range(k):
            others = np.delete(frame, column, axis=1)
            free = np.linalg.qr(others, mode="complete").Q[:, k - 1 :]
            inside = free.T @ scaled @ free
            frame[:, column] = free @ _draw_directions((inside + inside.T) / 2.0, exponent, 1, bits)[0]
    return frame


def _check_matrix(matrix: ArrayLike) -> tuple[Array, int]:
    """Return S and e with matrix = 2^e·S, the entries of S at most 1 in size: nothing that is done to S overflows."""
    values = as_numbers(matrix, "matrix")
    if values.ndim != 2 or values.shape[0] != values.shape[1] or values.size == 0:
        raise ArgumentError("matrix", UNSHOWN, f"a square matrix of at least one row, got shape {values.shape}")
    if not np.all(np.isfinite(values)):
        raise ArgumentError("matrix", UNSHOWN, "finite numbers")
    exponent = int(np.frexp(np.abs(values).max())[1])
    scaled = np.ldexp(values, -exponent)
    if np.abs(scaled - scaled.T).max() > _ROUNDING:
        raise ArgumentError("matrix", UNSHOWN, "a symmetric matrix; (M + Mᵀ)/2 has the same quadratic form")
    return (scaled + scaled.T) / 2.0, exponent


def _draw_directions(scaled: Array, exponent: int, count: int, bits: Bits) -> Array:
    """Return ``count`` draws with density ∝ exp(vᵀ(2^e·S)v), a row each."""
    q = len(scaled)
    if q == 1:
        return np.where(bits.words(count) >> np.uint64(63), 1.0, -1.0)[:, None]
    eigenvalues, eigenvectors = np.linalg.eigh(scaled)
    with np.errstate(over="ignore"):  # an infinite λ gives s = 0, as it should
        doubled = 2.0 * np.ldexp(eigenvalues[-1] - eigenvalues, exponent)
    b = _balance(doubled)
    spread = np.sqrt(b / (b + doubled))
    tries = count + 8 + math.isqrt(q)  # at a time: for one draw, of the order of what the worst matrix needs
    kept = np.empty((0, q))
    while len(kept) < count:
        normal = _NORMAL.sample((tries, q), bits).astype(np.float64)
        proposal = normal * spread
        uniform = ((bits.words(tries) >> np.uint64(12)) + 0.5) * 2.0**-52  # never 0 or 1
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            # A proposal without a direction, all zeros, makes this infinite or NaN and is not kept.
            r = (b / q) * (np.square(normal).sum(axis=1) / np.square(proposal).sum(axis=1))
            keep = np.log(uniform) < (q / 2.0) * (np.log(r) - (r - 1.0))
        kept = np.concatenate([kept, proposal[keep]])
    v = kept[:count] @ eigenvectors.T
    directions: Array = v / np.linalg.norm(v, axis=1, keepdims=True)
    return directions


def _balance(doubled: Array) -> float:
    """Return the b with Σ 1/(b + 2λ_i) = 1, from the numbers 2λ_i.

    By Newton's method for h(b) = 1, h = 1/Σ 1/(b + 2λ_i). h rises and is concave, as a harmonic mean is, so each
    tangent lies above it: from b = 1, where h ≤ 1, the steps go up and never past the root. The bracket [1, q]
    holds against rounding.
    """
    b, most = 1.0, float(len(doubled))
    for _ in range(50):
        inverse = 1.0 / (b + doubled)
        total = float(inverse.sum())
        step = (total - 1.0) * total / float(inverse @ inverse)
        b = min(max(b + step, b), most)
        if step <= 1e-12 * b:
            break
    return b
