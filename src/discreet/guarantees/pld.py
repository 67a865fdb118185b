"""Privacy loss distributions of mixed compositions, by convolution on a grid.

**Dots.** Each loss is put on a grid of width h by connecting the dots of its own curve δ(ε): the piecewise linear curve
(in e^ε) through points of it lies above the convex true one, so the grid distribution dominates the mechanism
(Doroshenko et al. 2022). With c_i the curve at ih and f_i = c_(i−1) − c_i it is p_i = (f_i − f_(i+1))/(e^h − 1) + f_i.

*Rounding.* The width has 24 binary digits and no sum of losses more than 2²⁹ widths, so losses are exact. Curves are
right to a share of 2⁻⁴⁸ (closed forms without cancellation, or rounded up), by which they are raised. Where c_i is at
least c_(i−1)/2, differences are exact and p_i is right to 2⁻⁴⁹(p_i + f_i); elsewhere to 2⁻⁴⁹f/(e^h − 1) more: so much
is added. What comes out negative is set to 0. So p is nowhere below that of a curve through dots that are not too low.
That its mass may be above 1 does no harm: the hockey-stick ∫(1 − e^(ε−l))₊ of a product of positive measures grows with
that of each factor, as it is a mixture of them.

**Tilted convolution.** Let M(θ) be the product of the k sums Σp(l)e^(θl), and q the convolution of all p(l)e^(θl), each
of them divided by its sum. Then for any θ ≥ 0

    δ(ε) = failures + M(θ)e^(−θε) · Σ_(l > ε) (1 − e^(ε−l))·e^(−θ(l−ε))·q(l).

At θ = 0 this is the plain convolution, whose rounding would hide a small δ. Where Chernoff's bound, M(θ)e^(−θε), is the
least (θ is the best Rényi order less 1), the same rounding is a share of δ. Any θ is valid; the closed forms of the
divergences give a good one. |θl| ≤ 700 for each mechanism, so p(l)e^(θl) is right to a share of 2⁻⁴³, which is added.

**Rounding of the transform.** A transform of N = 2^L numbers is L layers of sums a + wb, w a root of unity. With
u = 2⁻⁵³ products are right to √5·u, sums to u, and the roots to 4u: that is assumed of pocketfft, which multiplies two
from a table. So each layer is right to 8u(|a| + |b|), and by induction over the layers each number that comes out is
right to η = 8Lu times the sum of the absolute values that went in. (A radix of 4 or 8 has fewer roundings than its
layers.)

So the transform x_i of a tilted p_i, whose sum is 1, is right to η at every frequency, and its power k_i, by squaring,
to 3k_iu of itself more. With z_i = |x_i| + η, Z = Πz_i^(k_i) and K = Σk_i the product of all is right to Z·(Σk_iη/z_i +
3Ku), and the inverse transform adds η times the mean of Z. Hence each q(l) is right to

    the mean over the frequencies of Z·(Σk_iη/z_i + 3Ku + η),

which is computed, and added to it. It is some Kη of the largest q, so that δ is some K·10⁻¹⁴ of itself too large.

**What is cut off.** q is computed modulo N. By Chernoff's bound, at other tilts, all but a share τ of its mass lies in
a window of at most N numbers. What lies above the window has at most M(θ)e^(−θε)τ of δ, which is added; that it is
found somewhere else, as is what lies below the window, only adds to δ.

The width is chosen from the losses. Connecting dots adds at most about h²/4 to the variance of each of the k
convolved losses, so h = S·min(1/1000, 1/(50√k)) keeps the spread S of the sum right to 1e-4.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.guarantees.arithmetic import add_up, find_least
from discreet.guarantees.loss import Array, Loss
from discreet.guarantees.normal import normal_delta, normal_epsilon
from discreet.guarantees.renyi import best_order, composed_divergence, renyi_epsilon

MOST_FOLDS = 100_000  # beyond, the time gets too large, and Rényi divergences have to do
LEAST = 1e-100  # of the largest loss: of smaller ones the squares underflow, and with them the grid
FINENESS = 1.0  # the tests double it and see that nothing changes
STEEPEST = 700.0  # |θl|, at most
_MOST = 2**20  # grid points on each side of zero; a wider grid is as valid, only less tight
_TAIL = 1e-18  # the probability beyond which a Gaussian's losses count as a failure
_CUT = 1e-16  # τ
_U = 2.0**-53

Complex = NDArray[np.complex128]


class _Part(NamedTuple):
    """``folds`` mechanisms with the losses ``first``, ``first`` + 1, … in grid widths, and what counts as a failure."""

    first: int
    probabilities: Array
    failure: float
    folds: int

    @property
    def losses(self) -> Array:
        return np.arange(self.first, self.first + len(self.probabilities), dtype=np.float64)


class _Tilted(NamedTuple):
    """q with its rounding added, from the loss ``first`` on, and ln M(θ)."""

    theta: float
    first: int
    q: Array
    log_moment: float


class LossDistribution:
    """The composition of one Gaussian (μ may be 0) and of losses of finite range, on a grid."""

    def __init__(self, mu: float, others: Sequence[tuple[Loss, int]]) -> None:
        self._divergence = functools.partial(composed_divergence, mu, others)
        curves: list[tuple[Callable[[Array], Array], float, int]]
        curves = [(loss.delta_at, loss.pure, count) for loss, count in others]
        if mu > 0.0:
            curves.append((lambda e: normal_delta(mu, e), normal_epsilon(mu, _TAIL), 1))
        spread = math.sqrt(mu * mu + add_up(count * min(loss.pure, 2.0) * loss.pure for loss, count in others))
        self._reach = max(reach for _, reach, _ in curves)
        folds = sum(count for *_, count in curves)
        finest = spread * min(1.0 / 1000.0, 1.0 / (50.0 * math.sqrt(folds))) / FINENESS
        widest = add_up(count * reach for _, reach, count in curves)
        digits, exponent = math.frexp(max(finest, self._reach / _MOST, widest / 2**28))
        self.width = math.ldexp(math.ceil(math.ldexp(digits, 24)), exponent - 24)
        self._parts = [self._on_grid(*curve) for curve in curves]
        log_success = math.fsum(part.folds * math.log1p(-part.failure) for part in self._parts)
        self._failure = -math.expm1(log_success) * (1.0 + 2.0**-48)

    @staticmethod
    def applies(mu: float, others: Sequence[tuple[Loss, int]]) -> bool:
        """Return whether the losses have finite ranges, and are few and small enough for a grid."""
        reach = max([loss.pure for loss, _ in others] + [normal_epsilon(mu, _TAIL) if mu > 0.0 else 0.0])
        return LEAST < reach < 500.0 * _MOST and sum(count for _, count in others) <= MOST_FOLDS

    def _on_grid(self, curve: Callable[[Array], Array], reach: float, count: int) -> _Part:
        """Connect the dots of a curve that has its losses in [−reach, reach]."""
        end = max(math.ceil(reach / self.width), 1)
        dots = np.minimum(curve(np.arange(-end, end + 1, dtype=np.float64) * self.width) * (1.0 + 2.0**-48), 1.0)
        falls, step = -np.diff(dots), math.expm1(self.width)
        steep = np.where(dots[1:] < dots[:-1] / 2.0, falls / step, 0.0)
        lost = 2.0**-49 * (np.abs(falls) + steep)
        probabilities = np.empty_like(dots)
        probabilities[0] = (1.0 - dots[0]) * (1.0 + 2.0**-49) - falls[0] / step
        probabilities[1:-1] = (falls[:-1] - falls[1:]) / step + falls[:-1] + lost[:-1] + lost[1:]
        probabilities[-1] = falls[-1] / -math.expm1(-self.width)
        return _Part(-end, np.maximum(probabilities, 0.0) * (1.0 + 2.0**-49), float(dots[-1]), count)

    def _tilted(self, order: float) -> _Tilted:
        """Return the convolution at θ = ``order`` − 1, or at the largest θ that is allowed."""
        from scipy import fft

        theta = min(order - 1.0, STEEPEST / (self._reach + self.width))
        folds = [part.folds for part in self._parts]
        losses: list[Array] = [part.losses * self.width for part in self._parts]
        tilted = [
            part.probabilities * np.exp(theta * loss) * (1.0 + 2.0**-43)
            for part, loss in zip(self._parts, losses, strict=True)
        ]
        moments = [float(q.sum()) for q in tilted]
        tilted = [q / moment for q, moment in zip(tilted, moments, strict=True)]
        logs = [count * math.log(moment) for count, moment in zip(folds, moments, strict=True)]
        lowest, highest = self._window(losses, tilted)
        layers = math.ceil(math.log2(max([highest - lowest + 1, *map(len, tilted)])))
        size, eta = 2**layers, 8.0 * layers * _U
        product, most = np.ones(size // 2 + 1, dtype=np.complex128), np.ones(size // 2 + 1)
        shares = np.full(size // 2 + 1, 3.0 * sum(folds) * _U + eta)
        for q, count in zip(tilted, folds, strict=True):
            transform = fft.rfft(q, size)
            above = np.abs(transform) + eta
            product, most = product * _power(transform, count), most * above**count
            shares += count * eta / above
        rounding = 1.01 * 2.0 * float((most * shares).sum()) / size
        first = sum(part.folds * part.first for part in self._parts)
        q = fft.irfft(product, size)[(lowest - first + np.arange(highest - lowest + 1)) % size] + rounding
        return _Tilted(theta, lowest, q, math.fsum(logs) + 2.0**-50 * math.fsum(map(abs, logs)))

    def _window(self, losses: list[Array], tilted: list[Array]) -> tuple[int, int]:
        """Return the lowest and the highest sum of losses to look at, in grid widths."""
        counts = [part.folds for part in self._parts]
        means = [float((loss * q).sum()) for loss, q in zip(losses, tilted, strict=True)]
        away = [loss - mean for loss, mean in zip(losses, means, strict=True)]
        variance = sum(count * float((a * a * q).sum()) for count, a, q in zip(counts, away, tilted, strict=True))
        middle = math.fsum(count * mean for count, mean in zip(counts, means, strict=True))
        furthest, ends = -sum(part.folds * part.first for part in self._parts), []
        for sign in (-1, 1):
            bounds = [furthest]
            for stds in (5.0, 8.5, 14.0):
                rate = sign * stds / math.sqrt(max(variance, 1e-300))
                with np.errstate(over="ignore", invalid="ignore"):  # a bound of ∞ or NaN is no bound
                    grown = [float((np.exp(rate * a) * q).sum()) for a, q in zip(away, tilted, strict=True)]
                log = math.fsum(count * math.log(one) for count, one in zip(counts, grown, strict=True))
                bound = sign * (middle + (log + math.log(4.0 / _CUT)) / rate) / self.width
                bounds += [math.ceil(bound) + 1] if math.isfinite(bound) else []
            ends.append(sign * min(bounds))
        return ends[0], max(ends)

    def _delta(self, tilted: _Tilted, epsilon: float) -> float:
        theta, first, q, log_moment = tilted
        start = int(min(max(epsilon / self.width - first - 1.0, 0.0), len(q)))
        beyond = np.maximum((first + np.arange(start, len(q))) * self.width - epsilon, 0.0)
        result = float((-np.expm1(-beyond) * np.exp(-theta * beyond) * q[start:]).sum()) + 2.0 * _CUT
        log = log_moment - theta * epsilon * (1.0 - 2.0**-50) + math.log(result)
        return min(self._failure + max(math.exp(min(log, 0.0)), 5e-324) * (1.0 + 2.0**-40), 1.0)

    def _at(self, epsilon: float) -> _Tilted:
        """Return the convolution that is tilted for this ε: Chernoff's bound is about the least."""
        return self._tilted(best_order(lambda order: (order - 1.0) * (self._divergence(order) - epsilon))[0])

    def delta(self, epsilon: float) -> float:
        """Return δ at ``epsilon`` ≥ 0."""
        return self._delta(self._at(epsilon), epsilon)

    def epsilon(self, delta: float) -> float:
        """Return about the least ε ≥ 0 at ``delta``, one at which ``delta(ε)`` is seen to be at most that.

        The curve of one tilt is valid everywhere and tight near its own ε, so it leads to a better one.
        """
        left = delta - self._failure
        if left <= 0.0:
            return math.inf
        tilted, nudge = self._at(renyi_epsilon(self._divergence, left)), 1e-12
        for _ in range(40):
            high = max((tilted.log_moment - math.log(left) + 0.1) / tilted.theta, 0.0)  # where Chernoff's bound will do
            epsilon = find_least(functools.partial(self._delta, tilted), delta, 0.0, high) * (1.0 + nudge)
            tilted, nudge = self._at(epsilon), 4.0 * nudge
            result = self._delta(tilted, epsilon)
            if result <= delta and (epsilon == 0.0 or nudge > 1e-6 or result > self._failure + left * (1.0 - 1e-6)):
                return epsilon
        return math.inf


def _power(base: Complex, exponent: int) -> Complex:
    """Return the power by squaring: each of the ``exponent`` factors brings one rounding of a product at most."""
    if exponent == 1:
        return base
    half = _power(base * base, exponent // 2)
    return half * base if exponent % 2 else half
