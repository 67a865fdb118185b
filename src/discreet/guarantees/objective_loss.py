"""The loss of objective perturbation: a minimum that was found with Gaussian noise in the objective.

**The mechanism.** A unit has up to m rows, each of them with a convex loss ℓ of one scalar margin m_i = y_i⟨θ, u_i⟩,
‖u_i‖ ≤ 1, slope in [−1, 0], curvature in [0, c]; a row may have an ℓ of its own. Draw b ~ N(0, σ²I) and let θ* be the
minimum of Σℓ(m_i) + (λ/2)‖θ‖² + ⟨b, θ⟩. Then release θ* (Chaudhuri, Monteleoni and Sarwate 2011; Kifer, Smith and
Thakurta 2012; the analysis is that of Redberg, Koskela and Wang 2023, made tighter by the sign of the slope).

**Its log-ratio.** θ* is a minimum exactly if b = −Σ∇ℓ(m_i) − λθ* =: b_D(θ*), a one-to-one map with the symmetric
derivative −H_D(θ), H_D = Σℓ''(m_i)u_iu_iᵀ + λI. So θ* has the density f(b_D(θ))·det H_D(θ), f that of N(0, σ²I). (Where
ℓ'' jumps, as for a rounded hinge, the map is one-to-one and Lipschitz both ways, and this holds almost everywhere.)
Let D and D' differ in some rows, and P, Q be the distributions of θ* on them.

- *Determinants.* A row more multiplies det H by 1 + ℓ''uᵀH⁻¹u, in [1, 1 + c/λ]. Rows that P has and Q lacks make at
  most m of these factors, and those that Q has and P lacks only lower the ratio: ln det H_D/det H_D' ≤ m·ln(1 + c/λ).
- *Noise.* A row's gradient is ∇ℓ = −a·v with v = y·u and a = −slope in [0, 1]. So b_D' = b_D + w, where w = Σ ±a_iv_i
  over the G rows that differ (m of them where rows come or go, 2m where they are replaced), each with its a_i in
  [0, 1]. These depend on θ, and so on b. But ln f(b_D)/f(b_D') = (2⟨b_D, w⟩ + ‖w‖²)/(2σ²) is convex in (a_1, …, a_G),
  so whatever they are it is at most its largest value at the 2^G corners a_i ∈ {0, 1}. Under P the value at a corner
  with j ones is N(‖w‖²/(2σ²), ‖w‖²/σ²), ‖w‖ ≤ j: the log-ratio of a Gaussian mechanism with μ ≤ j·s, s = 1/σ.

**Its curve.** With t = m·ln(1 + c/λ) and δ_μ the Gaussian curve, for ε ≥ t,

    δ(ε) = E_P[(1 − e^(ε − log-ratio))₊] ≤ Σ_corners δ_(js)(ε − t) = Σ_j (G over j)·δ_(js)(ε − t),

because the hockey-stick of a largest value is at most the sum of the hockey-sticks. Below t, with M the largest
value, (1 − e^(ε−t−M))₊ ≤ 1 − e^(ε−t) + e^(ε−t)(1 − e^(−M))₊, so δ(ε) ≤ 1 − e^(ε−t)(1 − δ(t)). For one row that comes or
goes there is one corner; the published bound has twice that.

**Several minima at once.** K problems over the same rows, each with its own noise: the pushes of problem k act on b_k
alone, so a corner with j_k ones in problem k has ‖w‖² ≤ Σj_k², and t is K times as large.

**A minimum that was only approached.** A solver stops at θ̂ with ‖θ̂ − θ*‖ ≤ r, which was fixed beforehand, and
Gaussian noise of standard deviation 2r/μ' is added. What is released is a function of θ* and of θ̂ − θ* plus noise.
Given θ*, both data sets know b, so the second is a Gaussian mechanism of sensitivity 2r. It adds its own normal
log-ratio to that of every corner: μ² = j²s² + μ'². Other Gaussian mechanisms beside it do the same (``with_gaussian``).

**Two steps of the relation.** The rows that come and those that go push, so G doubles; t is that of the rows that P
has, and stays. Other Gaussian mechanisms are shifted by both, so their μ doubles. That of the solver's noise would not,
but μ' holds both after ``with_gaussian``: all of it is doubled, and it does not matter which of the two is done first.

**A Gaussian above it.** One row that comes or goes, in one problem, has a curve with a single corner; let μ₁ be such
that the Gaussian's is nowhere below it. Then G rows are G steps from neighbour to neighbour, and Gμ₁-Gaussian (Dong,
Roth and Su 2022, theorem 2.14); K problems and the solver's noise compose to √(K·G²μ₁² + μ'²). A ledger charges that,
and the curve above is never taken to be larger than this Gaussian's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar, Self

import numpy as np

from discreet.arguments import integer
from discreet.guarantees.arithmetic import find_least_positive
from discreet.guarantees.guarantee import Neighbors
from discreet.guarantees.loss import Array, Loss
from discreet.guarantees.normal import normal_delta

GRID = 1000  # points at which a Gaussian's curve is compared with this one
FAINT = 1e-290  # where a curve ends
MOST_CORNERS = 200


@dataclass(frozen=True)
class ObjectiveLoss(Loss):
    """Objective perturbation with Gaussian noise; see the module.

    Parameters
    ----------
    shift : float
        s: how far one row can push a minimum's noise, in standard deviations.
    solver : float
        μ' of the noise that covers what the solver leaves.
    determinant : float
        t, over all K problems.
    pushes : int
        G: how many rows of a unit push, m where they come or go and 2m where they are replaced.
    problems : int
        K.

    Examples
    --------
    >>> loss = ObjectiveLoss(0.25, 0.01, 0.02, pushes=1, neighbors="add-remove")
    >>> from discreet import GaussianLoss
    >>> bool(GaussianLoss(0.25).delta_at(1.0) < loss.delta_at(1.0) < GaussianLoss(0.26).delta_at(1.0))
    True
    """

    shift: float
    solver: float
    determinant: float
    pushes: int = 2
    problems: int = 1
    neighbors: Neighbors = Neighbors.REPLACE_ONE

    _powers: ClassVar[Mapping[str, int]] = {"shift": 1, "solver": 1}

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "pushes", integer("pushes", self.pushes, least=1, most=2000))
        object.__setattr__(self, "problems", integer("problems", self.problems, least=1, most=1000))

    @property
    def _corners(self) -> tuple[Array, Array]:
        """μ of the corners, and the logarithm of how many have it."""
        squares, logs = _corners(self.pushes, self.problems)
        with np.errstate(over="ignore"):
            return np.hypot(np.sqrt(squares) * self.shift, self.solver) * (1.0 + 2.0**-50), logs  # rounded up

    def _above(self, beyond: Array) -> Array:
        """Return Σ over the corners of the Gaussian curves at ε − t ≥ 0."""
        total = np.zeros_like(beyond)
        for mu, log_count in zip(*self._corners, strict=True):
            curve = np.asarray(normal_delta(float(mu), beyond))
            total = total + np.exp(np.minimum(np.log(np.maximum(curve, 5e-324)) + log_count, 700.0))
        return np.minimum(total, 1.0)

    def _curve(self, epsilon: Array) -> Array:
        """Return the bound of the module, which holds in both directions."""
        beyond = epsilon - self.determinant
        beyond = beyond - 2.0**-52 * np.abs(beyond)  # rounded down
        above = _extend_below(beyond, self._above(np.maximum(beyond, 0.0)))
        return np.minimum(above, normal_delta(self.dominating, epsilon))

    def renyi(self, order: float) -> float:
        """Return t and the moment of the largest corner, at most the sum over all of them."""
        mus, logs = self._corners
        with np.errstate(over="ignore"):
            exponents = logs + order * (order - 1.0) * mus**2 / 2.0
        most = float(exponents.max())
        if math.isinf(most):
            return math.inf
        return self.determinant + (most + math.log(float(np.exp(exponents - most).sum()))) / (order - 1.0)

    @property
    def zcdp(self) -> float:
        """∞: of this analysis no zCDP follows."""
        return math.inf

    @property
    def dominating(self) -> float:
        """The μ of a Gaussian mechanism that is no more private (``_dominate_one_row``, *A Gaussian above it*)."""
        rows = self.pushes if self.neighbors is Neighbors.ADD_REMOVE else self.pushes / 2.0
        one = _dominate_one_row(self.shift, self.determinant / (self.problems * rows))
        return math.hypot(math.sqrt(self.problems) * self.pushes * one, self.solver) * (1.0 + 2.0**-50)  # rounded up

    def with_gaussian(self, mu: float) -> Self:
        """Return the loss of this mechanism and a Gaussian one together."""
        return replace(self, solver=math.hypot(self.solver, mu))

    def _double(self) -> Self:
        return replace(self, pushes=2 * self.pushes, solver=2.0 * self.solver)


def _extend_below(beyond: Array, above: Array) -> Array:
    """Return the curve below t as well, 1 − e^(ε−t)(1 − δ(t)), from its values at ε − t ≥ 0; rounded up."""
    short = np.minimum(beyond, 0.0)
    return np.where(beyond < 0.0, (-np.expm1(short) + np.exp(short) * above) * (1.0 + 2.0**-49), above)


@lru_cache(maxsize=256)
def _dominate_one_row(shift: float, determinant: float) -> float:
    """Return about the least μ whose Gaussian curve is nowhere below that of one row and one corner.

    Both fall, so it is enough that this curve at the left end of each interval of a grid is at most the Gaussian's at
    the right end, by more than the 10⁻¹⁰ that rounding up may have added to that. The grid ends where this curve is
    below 10⁻²⁹⁰; from there on it falls faster, as μ is the larger.
    """

    def curve(epsilon: Array) -> Array:
        beyond = epsilon - determinant
        return _extend_below(beyond, normal_delta(shift, np.maximum(beyond, 0.0)))

    end = find_least_positive(lambda e: float(curve(np.array(e))), FAINT, determinant + 30.0 * shift)
    if not math.isfinite(end):  # a shift so large that nothing is left of privacy, whatever ε is
        return math.inf
    points = end * np.linspace(0.0, 1.0, GRID + 1) ** 2
    mine = np.log(curve(points[:-1]))

    def excess(mu: float) -> float:
        above = float((mine - np.log(normal_delta(mu, points[1:]))).max())
        return math.exp(min(above + 1e-10, 700.0))

    if not excess(1e300) <= 1.0:  # not even a Gaussian's curve that is 1 everywhere is above this one by so much
        return math.inf
    return max(find_least_positive(excess, 1.0, 2.0 * shift, 1e-6), shift * (1.0 + 1e-3))


@lru_cache(maxsize=64)
def _corners(pushes: int, problems: int) -> tuple[Array, Array]:
    """Return Σj_k² and the logarithm of the number of corners that have it, or less; rounded up.

    Where there are many, neighbouring ones are counted with the largest of them: a curve grows with its μ.
    """
    j = np.arange(pushes + 1.0)
    one = _bin_corners(j * j, np.array([math.log(math.comb(pushes, ones)) for ones in range(pushes + 1)]))
    squares, logs = np.zeros(1), np.zeros(1)
    for _ in range(problems):
        squares, logs = _bin_corners(np.add.outer(squares, one[0]).ravel(), np.add.outer(logs, one[1]).ravel())
    return squares, logs


def _bin_corners(squares: Array, logs: Array) -> tuple[Array, Array]:
    """Return each square once with the logarithm of its count; at most ``MOST_CORNERS`` of them, moved up.

    The counts of a bin are added up in units of its own largest: in those of the largest of all, the few corners with
    the largest squares would underflow to none. *Rounding.* Logarithms of counts are at least 0. One that is given is
    right to 2⁻⁵²(1 + itself), a sum of n counts to 2⁻⁵³(n + 2) of itself, its logarithm to 2⁻⁵²(1 + itself), and what
    ``_above`` does with it to 2⁻⁵²(1000 + itself), as its curves are above e^(−745): all of it is added here.
    """
    values = np.unique(squares)
    if len(values) > MOST_CORNERS:
        places = np.searchsorted(values, np.linspace(0.0, values[-1], MOST_CORNERS))
        values = values[np.unique(places)]
    bins = np.searchsorted(values, squares)
    most = np.zeros(len(values))
    np.maximum.at(most, bins, logs)
    counts = most + np.log(np.bincount(bins, weights=np.exp(logs - most[bins]), minlength=len(values)))
    return values, counts + 2.0**-52 * (1000.0 + len(squares) + 4.0 * counts)
