"""Sensitivities of statistics: section 3 of Xi, Kantarcıoğlu and Inan (2011), with exact values.

Rows lie in [0, 1]^d, and the divisor of variances and covariances is n (with n − 1 multiply by n/(n−1)). Under
replace-one, neighbouring databases have n records each, of which one differs; under add-remove one of them has one
record more. The paper bounds some sensitivities from below and above. All values here are exact, and where the paper's
bounds differ the exact value is the lower one. ``n=None`` asks for the supremum over all n.

*Notation.* x is replaced by x'; m is the mean of the n − 1 others; p = d(d+1)/2 is the size of an upper triangle. About
the middle of the cube write z = x − ½, a = z + z' and b = z − z': |a_i| + |b_i| ≤ 1, as both z_i lie in [−½, ½]. Then
z_i z_j − z'_i z'_j = (a_i b_j + b_i a_j)/2. Let α = |a| and β = |b|, coordinate by coordinate. All distances below grow
with α, so that it is 1 − β at a maximum; and every β in [0, 1]^d is attained with a and b ≥ 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from discreet.arguments import ArgumentError, choice, integer
from discreet.guarantees import Guarantee, Neighbors
from discreet.queries.moments.moments import Squares
from discreet.queries.question import additive_loss
from discreet.records import Box

__all__ = [
    "Sensitivity",
    "Way",
    "covariance",
    "covariance_matrix",
    "covariance_matrix_by_joint_moments",
    "covariance_matrix_by_moments",
    "markdown",
    "mean",
    "mean_by_sum_and_count",
    "mean_by_sum_and_size",
    "median",
    "moment_weights",
    "table",
    "total",
    "variance",
    "variance_by_sums",
]

ADD, REPLACE = Neighbors.ADD_REMOVE, Neighbors.REPLACE_ONE
POINTS = ((0.0, "0"), (0.5, "the middle"))

Error: TypeAlias = Callable[[float, float], float]  # takes σ and κ of the noise, returns the error that it causes


@dataclass(frozen=True)
class Sensitivity:
    """The sensitivity of a statistic: the largest distance between its values on two neighbouring databases.

    Attributes
    ----------
    statistic : str
    relation : Neighbors
    norm : str
        ``"l1"``, ``"l2"``, or for a whole symmetric matrix ``"frobenius"``.
    exact : float
        The supremum, which some neighbours attain or approach.
    paper_lower, paper_upper : float or None
        The bounds that the paper proves, in L1; None where it has none.
    """

    statistic: str
    relation: Neighbors
    norm: str
    exact: float
    paper_lower: float | None = None
    paper_upper: float | None = None


def _checked(n: int | None, d: int, norm: str, norms: tuple[str, ...] = ("l1", "l2"), least: int = 1) -> None:
    if n is not None:
        integer("n", n, least=least, most=2**53)
    integer("d", d, least=1, most=2**53)
    choice("norm", norm, norms)


def _length(numbers: int, norm: str) -> float:
    """Return the norm of (1, …, 1)."""
    return float(numbers) if norm == "l1" else math.sqrt(numbers)


def _scaled(n: int | None) -> float:
    """Return (n−1)/n², or its largest value, ¼ at n = 2."""
    return 0.25 if n is None else (n - 1) / n**2


def mean(n: int | None, d: int, norm: str = "l1") -> Sensitivity:
    """Return the sensitivity of d means (theorem 3.1; over all n corollary 3.1).

    The means move by (x − x')/n, each by at most 1/n, all of them at x = 1 and x' = 0: d/n in L1, √d/n in L2. Over all
    n it is d, at n = 1.

    >>> mean(100, 5).exact, mean(None, 5).exact
    (0.05, 5.0)
    """
    _checked(n, d, norm)
    paper = d / (n or 1) if norm == "l1" else None
    return Sensitivity("mean", REPLACE, norm, _length(d, norm) / (n or 1), paper, paper)


def total(n: int | None, d: int, norm: str = "l1") -> Sensitivity:
    """Return the sensitivity of d sums (theorem 3.2): n times that of the means; dividing by n loses nothing."""
    _checked(n, d, norm)
    paper = float(d) if norm == "l1" else None
    return Sensitivity("sum", REPLACE, norm, _length(d, norm), paper, paper)


def median(n: int | None, d: int, norm: str = "l1") -> Sensitivity:
    """Return the sensitivity of d medians (theorem 3.3); for even n the median is the mean of the two middle values.

    For odd n: (n+1)/2 rows at 0 and the rest at 1; if one of the former becomes 1, so does the median. For even n = 2k
    the two middle values go to places between the (k−1)-th and the (k+1)-th, or between the k-th and the (k+2)-th, so
    their middle moves by half of a difference of values, ½ at most: k rows at 0, k at 1, and one more. The paper has d
    for every n, which holds for even n where the lower of the two middle values is taken.

    >>> median(101, 3).exact, median(100, 3).exact, median(None, 3).exact
    (3.0, 1.5, 3.0)
    """
    _checked(n, d, norm)
    paper = float(d) if norm == "l1" else None
    half = 0.5 if n is not None and n % 2 == 0 else 1.0
    return Sensitivity("median", REPLACE, norm, half * _length(d, norm), paper, paper)


def mean_by_sum_and_size(n: int | None, d: int, norm: str = "l1") -> Sensitivity:
    """Return the sensitivity of d sums and n (theorem 3.4). Neighbours have the same n, so it is that of the sums."""
    return replace(total(n, d, norm), statistic="sum and size")


def variance(n: int | None, d: int, norm: str = "l1") -> Sensitivity:
    """Return the sensitivity of d variances (theorem 3.5 for d = 1): (n−1)/n² each, and 1/n with the divisor n − 1.

    A variance moves by (n−1)/n²·((x−m)² − (x'−m)²), see ``covariance_matrix``. Both squares lie in [0, 1], and at
    m = x' = 0, x = 1 one of them is 1 and the other 0. The paper's upper bound is three times as much.

    >>> variance(10, 1).exact, variance(10, 1).paper_upper
    (0.09, 0.27)
    """
    _checked(n, d, norm, least=2)
    lower = _scaled(n) if norm == "l1" and d == 1 else None
    upper = None if lower is None else 3.0 * lower
    return Sensitivity("variance", REPLACE, norm, _scaled(n) * _length(d, norm), lower, upper)


def covariance(n: int | None, d: int, norm: str = "l1") -> Sensitivity:
    """Return the sensitivity of the d(d−1)/2 covariances of pairs (theorem 3.6 for d = 2): (n−1)/n² each."""
    _checked(n, integer("d", d, least=2), norm, least=2)
    lower = _scaled(n) if norm == "l1" and d == 2 else None
    upper = None if lower is None else 3.0 * lower
    return Sensitivity("covariance", REPLACE, norm, _scaled(n) * _length(d * (d - 1) // 2, norm), lower, upper)


def covariance_matrix(n: int | None, d: int, norm: str = "l1") -> Sensitivity:
    """Return the sensitivity of the covariance matrix's upper triangle (theorem 3.7; over all n corollary 3.2).

    It moves by (n−1)/n²·((x−m)(x−m)ᵀ − (x'−m)(x'−m)ᵀ), each entry by at most (n−1)/n², all of them at once at
    m = x' = 0 and x = 1: the proof is in ``discreet.queries.moments.scatter``. So it is (n−1)/n² times p in L1, √p in
    L2 and d in the Frobenius norm of the whole matrix. Over all n it is that at n = 2, d(d+1)/8 in L1, where the paper
    has 3d(d+1)/8.

    >>> covariance_matrix(10, 3).exact, covariance_matrix(10, 3, "frobenius").exact, covariance_matrix(None, 3).exact
    (0.54, 0.27, 1.5)
    """
    _checked(n, d, norm, ("l1", "l2", "frobenius"), least=2)
    p = d * (d + 1) // 2
    size = float(d) if norm == "frobenius" else _length(p, norm)
    upper = 3.0 * _scaled(n) * p if norm == "l1" else None
    lower = None if n is None or norm != "l1" else _scaled(n) * p
    return Sensitivity("covariance matrix", REPLACE, norm, _scaled(n) * size, lower, upper)


def mean_by_sum_and_count(n: int | None, d: int, norm: str = "l1", about: float = 0.0) -> Sensitivity:
    """Return the sensitivity of d sums and a private number of records, under add-remove.

    An additional record adds (x − c, 1), c = 0 or ½, where |x_i − c| is at most 1 or ½. So the sensitivity is d + 1 in
    L1 and √(d+1) in L2 about 0; d/2 + 1 and √(d/4 + 1) about the middle.

    >>> mean_by_sum_and_count(None, 4).exact, mean_by_sum_and_count(None, 4, about=0.5).exact
    (5.0, 3.0)
    """
    _checked(n, d, norm)
    most = 1.0 - _middle(about)
    exact = d * most + 1.0 if norm == "l1" else math.sqrt(d * most**2 + 1.0)
    return Sensitivity("sum and count", ADD, norm, exact)


def variance_by_sums(n: int | None, d: int, norm: str = "l1", about: float = 0.0) -> Sensitivity:
    """Return the sensitivity of d sums and d sums of squares.

    *About 0*: x_i − x'_i and x_i² − x'_i² are 1 each at x = 1, x' = 0: 2d in L1, √(2d) in L2.
    *About the middle* a column moves by (β, αβ), α = 1 − β. In L1 that is β(2 − β) ≤ 1. In L2 its square is
    β² + β²(1−β)², with the slope β(4 − 6β + 4β²) > 0: at most 1. Both are attained at β = 1: d in L1, √d in L2.

    >>> variance_by_sums(None, 1).exact, variance_by_sums(None, 1, about=0.5).exact
    (2.0, 1.0)
    """
    _checked(n, d, norm)
    return Sensitivity("sums and squares", REPLACE, norm, _length(d if _middle(about) else 2 * d, norm))


def covariance_matrix_by_moments(n: int | None, d: int, norm: str = "l1", about: float = 0.0) -> Sensitivity:
    """Return the sensitivity of d sums and the upper triangle of the sum of xxᵀ.

    *About 0*: every number moves by 1 at x = 1, x' = 0: d + p in L1, √(d + p) in L2.

    *About the middle, L1*: Σβ_i + ½Σ_{i≤j}(α_iβ_j + β_iα_j). The last sum is AB + Σα_iβ_i, with A = Σα_i = d − B and
    B = Σβ_i, and Σ(1 − β_i)β_i ≤ B − B²/d, with equality where all β_i are the same β. So it is at most
    dβ + pβ(1 − β), whose maximum is (d + p)²/(4p) = d(d+3)²/(8(d+1)), at β = ½ + 1/(d+1) ≤ 1.

    *About the middle, L2*: the square is Σ(β_i² + β_i²(1−β_i)²) + ¼Σ_{i<j}(β_i + β_j − 2β_iβ_j)². In one β_i the first
    part has the second derivative 4 − 12β + 12β² > 0, and the other is a sum of squares of linear functions: convex. So
    the maximum is at a corner. With k of the β at 1 and the others at 0 it is k + k(d−k)/4, and the best k is the whole
    number nearest to d/2 + 2, or d if that is less.

    >>> [round(covariance_matrix_by_moments(None, 10, "l1", about).exact, 2) for about in (0.0, 0.5)]
    [65.0, 19.2]
    """
    _checked(n, d, norm)
    p = d * (d + 1) // 2
    if not _middle(about):
        exact = _length(d + p, norm)
    elif norm == "l1":
        exact = (d + p) ** 2 / (4.0 * p)
    else:
        exact = math.sqrt(max(k + k * (d - k) / 4.0 for k in range(d + 1)))
    return Sensitivity("moments", REPLACE, norm, exact)


def moment_weights(d: int) -> tuple[float, float]:
    """Return b² and c², the weights of first and second moments in ``discreet.statistics.covariance``."""
    b2, c2 = 1.0 / math.sqrt(d), 1.0
    return b2 / (b2 + c2), c2 / (b2 + c2)


def covariance_matrix_by_joint_moments(n: int | None, d: int, norm: str = "l1") -> Sensitivity:
    """Return the sensitivity of the release in ``discreet.statistics.covariance``: ``Moments`` in a box, n public.

    A row contributes b·y and c·yyᵀ, packed with √2 off the diagonal, y = 2z/√d, b² + c² = 1. It moves by 2bβ/√d in the
    first part, and in the second, as a matrix, by (2c/d)(abᵀ + baᵀ).

    *L1*: 2bB/√d + (2c/d)(2S + √2(AB − S)), S = Σα_iβ_i, grows with S, so as above all β_i are the same β: Pβ + Rβ(1−β),
    P = 2b√d and R = 2c(2 + √2(d−1)). Its maximum is (P+R)²/(4R) where P ≤ R, else P.

    *L2*: the square is (4b²/d)Σβ_i² + (4c²/d²)Σ_{i,j}(α_iβ_j + β_iα_j)². In one β_i all is convex but the diagonal term
    (16c²/d²)β²(1−β)², which is at most (4c²/d²)β(1−β), with equality at 0 and 1. Put that in its place: the second
    derivative is at least 8b²/d − 8c²/d² ≥ 0, as b²d ≥ c². So the maximum is at a corner, k of the β at 1:
    4b²k/d + 8c²k(d−k)/d².

    This is what ``Moments.bound`` has for a box.
    """
    _checked(n, d, norm)
    b2, c2 = moment_weights(d)
    if norm == "l1":
        P, R = 2.0 * math.sqrt(b2 * d), 2.0 * math.sqrt(c2) * (2.0 + math.sqrt(2.0) * (d - 1))
        exact = (P + R) ** 2 / (4.0 * R) if P <= R else P
    else:
        exact = math.sqrt(max(4.0 * b2 * k / d + 8.0 * c2 * k * (d - k) / d**2 for k in range(d + 1)))
    return Sensitivity("joint moments", REPLACE, norm, exact)


def _middle(about: float) -> float:
    """Return the point about which sums are taken, 0 or ½; raise for any other."""
    if about not in (0.0, 0.5):
        raise ArgumentError("about", about, "0 or 1/2", write="about=0.5 for the middle of the bounds")
    return float(about)


@dataclass(frozen=True)
class Way:
    """One way to release a statistic, and its error.

    Attributes
    ----------
    statistic, way : str
    relation : Neighbors
    paper : float or None
        The paper's upper bound on the sensitivity, in L1.
    l1, l2 : float
        The sensitivity of the released numbers.
    laplace, gaussian : float
        The root mean square error from the noise, over the numbers of the statistic: at (ε, 0) and at (ε, δ).
    best : tuple of str
        The noises, of the two, for which this is the best way to the statistic under its relation.
    """

    statistic: str
    way: str
    relation: Neighbors
    paper: float | None
    l1: float
    l2: float
    laplace: float
    gaussian: float
    best: tuple[str, ...] = ()


def table(n: int, d: int, at: float = 0.5, epsilon: float = 1.0, delta: float = 1e-6) -> tuple[Way, ...]:
    """Return the ways to release means, variances and a covariance matrix of n rows in [0, 1]^d, with their errors.

    Parameters
    ----------
    n, d : int
    at : float
        The mean of every column, on which the error of indirect methods depends.
    epsilon, delta : float
        Laplace noise has δ = 0.

    Errors are those of the unrounded noise. With noises e of variance σ² and E e⁴ = κσ⁴ (κ = 3 for Gaussian noise, 6
    for Laplace), and m the mean about the point that sums are about:

    - a mean from a sum and a private count has the error (e₁ − m·e₀)/n, to first order;
    - a variance from sums e₂/n − 2m·e₁/n − (e₁/n)², of mean square σ²(1 + 4m²)/n² + κσ⁴/n⁴;
    - a covariance e_ij/n − m(e_i + e_j)/n − e_i·e_j/n², of mean square σ²(1 + 2m²)/n² + σ⁴/n⁴.

    Examples
    --------
    >>> [way.way for way in table(1000, 5) if way.statistic == "covariance matrix" and way.best]
    ['joint moments']
    """
    _checked(n, d, "l1", least=2)
    mu = additive_loss(Guarantee(epsilon, delta)).gaussian
    assert mu is not None

    def way(statistic: str, name: str, pair: tuple[Sensitivity, Sensitivity], error: Error) -> Way:
        l1, l2 = pair
        errors = error(math.sqrt(2.0) * l1.exact / epsilon, 6.0), error(l2.exact / mu, 3.0)
        return Way(statistic, name, l1.relation, l1.paper_upper, l1.exact, l2.exact, *errors)

    def both(f: Callable[..., Sensitivity], **more: float) -> tuple[Sensitivity, Sensitivity]:
        return f(n, d, "l1", **more), f(n, d, "l2", **more)

    middle, share = 2.0 * at - 1.0, 2.0 / (d + 1)
    squares = Squares(Box([0.0], [1.0]), False)
    each = tuple(
        Sensitivity("squares", REPLACE, norm, squares.bound.replace(norm) * _length(d, norm)) for norm in ("l1", "l2")
    )
    b2, c2 = moment_weights(d)
    joint = both(covariance_matrix_by_joint_moments)
    packed = _from_moments(n, share, middle / math.sqrt(d), math.sqrt(b2), math.sqrt(c2), math.sqrt(2.0), d / 4.0)
    ways = [
        way("mean", "directly", both(mean), lambda s, _: s),
        way("mean", "sum over a public n", both(mean_by_sum_and_size), lambda s, _: s / n),
        *(
            way("mean", f"sum about {name}, and count", both(mean_by_sum_and_count, about=c), _by_count(n, at - c))
            for c, name in POINTS
        ),
        way("median", "directly", both(median), lambda s, _: s),
        way("variance", "directly", both(variance), lambda s, _: s),
        *(
            way("variance", f"sums about {name}", both(variance_by_sums, about=c), _from_moments(n, 1.0, at - c))
            for c, name in POINTS
        ),
        way(
            "variance",
            "weighted sums about the middle",
            (each[0], each[1]),
            _from_moments(n, 1.0, middle, squares.amplitudes[1], 2.0 * squares.amplitudes[2], scale=0.25),
        ),
        way("covariance matrix", "directly", both(covariance_matrix), lambda s, _: s),
        *(
            way(
                "covariance matrix",
                f"moments about {name}",
                both(covariance_matrix_by_moments, about=c),
                _from_moments(n, share, at - c),
            )
            for c, name in POINTS
        ),
        way("covariance matrix", "joint moments", joint, packed),
    ]
    return tuple(replace(one, best=_best(one, ways)) for one in ways)


def _by_count(n: int, m: float) -> Error:
    """Return the error of a mean from a sum and a private count; see ``table``."""
    return lambda s, _: s * math.hypot(1.0, m) / n


def _from_moments(
    n: int, diagonal: float, m: float, b: float = 1.0, c: float = 1.0, off: float = 1.0, scale: float = 1.0
) -> Error:
    """Return the root mean square error of second moments about the mean; see ``table``.

    ``diagonal`` is the share of variances among the numbers. First moments are divided by the weight b, second ones by
    c, those off the diagonal by ``off`` as well, and the result is multiplied by ``scale``.
    """

    def error(s: float, kappa: float) -> float:
        variances = s**2 * (1.0 / c**2 + 4.0 * (m / b) ** 2) / n**2 + kappa * (s / b) ** 4 / n**4
        others = s**2 * (1.0 / (off * c) ** 2 + 2.0 * (m / b) ** 2) / n**2 + (s / b) ** 4 / n**4
        return scale * math.sqrt(diagonal * variances + (1.0 - diagonal) * others)

    return error


def _best(one: Way, ways: list[Way]) -> tuple[str, ...]:
    rivals = [way for way in ways if (way.statistic, way.relation) == (one.statistic, one.relation)]
    return tuple(
        noise
        for noise in ("laplace", "gaussian")
        if getattr(one, noise) <= min(getattr(way, noise) for way in rivals) * (1.0 + 1e-12)
    )


def markdown(n: int, d: int, at: float = 0.5) -> str:
    """Return ``table`` as text, for the documentation."""
    lines = [
        "| statistic | way | relation | paper, L1 | L1 | L2 | error, Laplace | error, Gaussian | best |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for way in table(n, d, at):
        paper = "–" if way.paper is None else f"{way.paper:.4g}"
        numbers = " | ".join(f"{number:.4g}" for number in (way.l1, way.l2, way.laplace, way.gaussian))
        best = " and ".join({"laplace": "Laplace", "gaussian": "Gaussian"}[noise] for noise in way.best)
        lines.append(f"| {way.statistic} | {way.way} | {way.relation} | {paper} | {numbers} | {best} |")
    return "\n".join(lines)
