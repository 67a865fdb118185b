"""Bounds on the error of the Bayes rule for Gaussian classes: for known parameters, and from private ones.

**Known parameters.** With priors P_i and densities p_i the error of the Bayes rule is ∫(Σ_i P_i p_i − max_i P_i p_i).
Of numbers q₁ ≥ q₂ ≥ …, all but the largest sum to at most Σ_{i<j} min(q_i, q_j) = Σ_j (j−1)q_j, so pairs of classes
bound it. Of a pair, min(q, q') ≤ q^s q'^(1−s) for s in [0, 1], and ∫p_i^s p_j^(1−s) = e^(−k(s)) with

    k(s) = s(1−s)/2·Δᵀ S⁻¹ Δ + ½ log(|S| / (|Σ_i|^(1−s) |Σ_j|^s)),  S = (1−s)Σ_i + sΣ_j,  Δ = μ_i − μ_j,

as p_i^s p_j^(1−s) has the precision sΣ_i⁻¹ + (1−s)Σ_j⁻¹ = Σ_i⁻¹SΣ_j⁻¹. The best s is Chernoff's bound, s = ½
Bhattacharyya's, √(P_i P_j)·e^(−K). No bound is larger than 1 − max P, the error of who always names the largest class.

**An upper limit from noisy parameters, one column and two classes** (Xi, Kantarcıoğlu and Inan 2011, theorem 4.1, put
right). Given are m_i = x̄_i + r_i and v_i = S_i² + r_{i+2}, S² with the divisor n, and noises r of known distributions.
Take a p and these eight events, each of probability p and all independent, as x̄ and S² are for Gaussian rows:

- |x̄_i − μ_i| ≤ z·σ_i/√n_i, z the (1+p)/2 quantile of the normal distribution;
- n_i S_i²/σ_i² lies between the (1−p)/2 and the (1+p)/2 quantiles of χ² with n_i − 1 degrees of freedom;
- |r| ≤ h: h = −λ ln(1−p) for Laplace noise of scale λ, z·σ for Gaussian noise.

All hold with probability p⁸. Then |μ_i − m_i| ≤ h_i + zσ_i/√n_i, and σ_i² lies between n_i(v_i − h)/χ²_high and
n_i(v_i + h)/χ²_low: limits on the true parameters, from the noisy ones. The least K over all parameters inside of them
is at most the true K. Noise on a count is one event more, with n_i somewhere in an interval; priors that are estimated
from the counts are one more, by the binomial distribution of a count. Of E events p is the E-th root of the level.

The level is a floor: eight intervals at once are a cautious region, and limits hold more often than they say.

*The least K.* Only the gap between the means counts, and it is at least g(σ) = D − c₁σ₁ − c₂σ₂ (or 0), with
D = |m₁ − m₂| − h₁ − h₂ and c_i = z/√n_i. With σ = r·(cos θ, sin θ)

    K = ¼·max(0, D/r − c₁ cos θ − c₂ sin θ)² − ½ log sin 2θ,

which does not grow with r. So along every direction the last point of the box of σ is the least: K need only be looked
at where σ₁ or σ₂ is at its upper limit. There it is a function of one number, searched on a grid and then refined. A
lower limit on a variance that is not positive is no trouble, since K grows without bound there; an upper limit that is
not positive says that some event failed, and nothing remains but 1 − max P.

**More columns or classes**: a parametric bootstrap, which is approximate. Parameters are drawn around the private ones
as sampling (normal means, Wishart covariances, multinomial counts) and noise would, and the sum over pairs is limited
by the basic bootstrap on the scale of logarithms: 2·log b − the (1 − level) quantile of the log b* of the draws. What
always the largest class would err, 1 − max P, has a limit of its own, and the smaller of the two holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, chdtri, ndtri

from discreet.arguments import UNSHOWN, ArgumentError, choice, integer, probability

__all__ = [
    "BayesErrorBound",
    "ParameterNoise",
    "bayes_error_bound",
    "bhattacharyya",
    "bhattacharyya_bound",
    "bootstrap_limit",
    "chernoff_bound",
    "least_k",
    "least_place",
    "overlap",
    "parameters",
    "positive_definite",
]

Array = NDArray[np.float64]


def parameters(weights: Any, means: Any, covariances: Any) -> tuple[Array, Array, Array]:
    """Return priors, means and covariances as arrays of shape (K,), (K, d) and (K, d, d)."""
    mu, sigma = (np.asarray(values, dtype=np.float64) for values in (means, covariances))
    mu = mu[:, None] if mu.ndim == 1 else mu
    sigma = sigma[:, None, None] if sigma.ndim == 1 else sigma
    classes, d = mu.shape if mu.ndim == 2 else (0, 0)
    priors = np.asarray(weights, dtype=np.float64)
    if classes < 2 or sigma.shape != (classes, d, d) or priors.shape != (classes,):
        raise ArgumentError(
            "weights, means, covariances",
            UNSHOWN,
            f"shapes (K,), (K, d) and (K, d, d), K at least 2, got {priors.shape}, {mu.shape} and {sigma.shape}",
        )
    if not (np.all(priors >= 0.0) and abs(priors.sum() - 1.0) < 1e-6 and np.all(np.isfinite(mu))):
        raise ArgumentError("weights, means", UNSHOWN, "finite means and weights of at least 0 that sum to 1")
    return priors / priors.sum(), mu, sigma


def _factor(matrices: Array) -> Array:
    return np.asarray(np.linalg.cholesky(matrices), dtype=np.float64)


def positive_definite(covariances: Array) -> Array:
    """Return the factors of covariances; raise where one is none."""
    try:
        return _factor(covariances)
    except np.linalg.LinAlgError:
        raise ArgumentError(
            "covariances", UNSHOWN, "positive definite matrices; raise the eigenvalues that noise made too small first"
        ) from None


def _log_det(factor: Array) -> Array:
    return np.asarray(2.0 * np.log(np.diagonal(factor, axis1=-2, axis2=-1)).sum(axis=-1))


def _exponents(s: float, means: Array, covariances: Array) -> Array:
    """Return k(s) for each pair i < j, of arrays of shape (…, K, d) and (…, K, d, d)."""
    i, j = np.triu_indices(means.shape[-2], 1)
    one, other = covariances[..., i, :, :], covariances[..., j, :, :]
    between = _factor((1.0 - s) * one + s * other)
    gap = np.linalg.solve(between, (means[..., i, :] - means[..., j, :])[..., None])[..., 0]
    dets = _log_det(_factor(covariances))
    logs = _log_det(between) - (1.0 - s) * dets[..., i] - s * dets[..., j]
    return np.asarray(0.5 * s * (1.0 - s) * (gap**2).sum(axis=-1) + 0.5 * logs)


def overlap(weights: Array, means: Array, covariances: Array) -> Array:
    """Return the sum over pairs of classes in Bhattacharyya's bound, with axes of draws before the others."""
    i, j = np.triu_indices(means.shape[-2], 1)
    pairs = np.sqrt(weights[..., i] * weights[..., j]) * np.exp(-_exponents(0.5, means, covariances))
    return np.asarray(pairs.sum(axis=-1))


def bhattacharyya(weights: Array, means: Array, covariances: Array) -> Array:
    """Return Bhattacharyya's bound: the sum, or what always the largest class would err, where that is less."""
    return np.asarray(np.minimum(overlap(weights, means, covariances), 1.0 - weights.max(axis=-1)))


def bhattacharyya_bound(weights: Any, means: Any, covariances: Any) -> float:
    """Return Bhattacharyya's bound on the error of the Bayes rule for Gaussian classes with these parameters.

    Parameters
    ----------
    weights : array of shape (K,)
        Priors.
    means : array of shape (K, d), or (K,) for one column
    covariances : array of shape (K, d, d), or (K,) for one column

    Examples
    --------
    >>> round(bhattacharyya_bound([0.5, 0.5], [0.0, 3.0], [1.0, 1.0]), 4)
    0.1623
    """
    priors, mu, sigma = parameters(weights, means, covariances)
    positive_definite(sigma)
    return float(bhattacharyya(priors, mu, sigma))


def chernoff_bound(weights: Any, means: Any, covariances: Any) -> float:
    """Return Chernoff's bound, with the best exponent for each pair: never above Bhattacharyya's.

    Parameters
    ----------
    weights, means, covariances
        As in ``bhattacharyya_bound``.

    Examples
    --------
    >>> round(chernoff_bound([0.9, 0.1], [0.0, 3.0], [1.0, 4.0]), 4)
    0.0855
    >>> round(bhattacharyya_bound([0.9, 0.1], [0.0, 3.0], [1.0, 4.0]), 4)
    0.1
    """
    priors, mu, sigma = parameters(weights, means, covariances)
    positive_definite(sigma)
    total = 0.0
    for i, j in zip(*np.triu_indices(len(priors), 1), strict=True):
        if not priors[i] * priors[j]:
            continue
        pair = [int(i), int(j)]

        def log_bound(s: float, pair: list[int] = pair) -> float:
            logs = s * np.log(priors[pair[0]]) + (1.0 - s) * np.log(priors[pair[1]])
            return float(logs - _exponents(s, mu[pair], sigma[pair])[0])

        total += math.exp(min(log_bound(least_place(log_bound, 0.0, 1.0)), log_bound(0.5)))  # convex in s
    return min(total, 1.0 - float(priors.max()))


def least_place(f: Callable[[float], float], low: float, high: float) -> float:
    """Return where a function with one minimum has it."""
    from scipy.optimize import minimize_scalar

    return float(minimize_scalar(f, bounds=(low, high), method="bounded", options={"xatol": 1e-9}).x)


DRAWS = 500
GRID = 400
FLOOR = 0.1  # of a private covariance, in its own coordinates: what a drawn one is kept above
NOT_THIS = (
    "the error of the Bayes rule for Gaussian classes with the true parameters. It does not bound the error of a "
    "classifier made from private parameters, which is larger, and says nothing if the rows of a class are not Gaussian"
)


@dataclass(frozen=True, eq=False)
class ParameterNoise:
    """The standard deviations of independent noise on the parameters of K classes of d columns.

    Parameters
    ----------
    mean : array of shape (K, d)
    covariance : array of shape (K, d, d)
        With the same numbers on both sides of the diagonal.
    count : array of shape (K,), optional
        0, as by default, for counts that are public.
    noise : {"laplace", "gaussian"}
    """

    mean: Any
    covariance: Any
    count: Any = 0.0
    noise: str = "gaussian"

    def __post_init__(self) -> None:
        choice("noise", self.noise, ("laplace", "gaussian"))
        for name in ("mean", "covariance", "count"):
            result = np.asarray(getattr(self, name), dtype=np.float64)
            if not np.all(np.isfinite(result) & (result >= 0.0)):
                raise ArgumentError(name, UNSHOWN, "standard deviations, finite and at least 0")
            object.__setattr__(self, name, result)

    def expand(self, classes: int, d: int) -> tuple[Array, Array, Array]:
        """Return the standard deviations of counts, means and covariances, each in its whole shape."""
        result = []
        for name, shape in (("count", (classes,)), ("mean", (classes, d)), ("covariance", (classes, d, d))):
            given = getattr(self, name)
            if given.size not in (1, math.prod(shape)):
                raise ArgumentError(name, UNSHOWN, f"standard deviations of shape {shape}, got {given.shape}")
            result.append(np.broadcast_to(given.reshape(-1), (math.prod(shape),)).reshape(shape))
        return result[0], result[1], result[2]

    def half_width(self, std: Array, p: float) -> Array:
        """Return h so that noise of this standard deviation lies in [−h, h] with probability p."""
        width = -math.log1p(-p) / math.sqrt(2.0) if self.noise == "laplace" else float(ndtri((1.0 + p) / 2.0))
        return np.asarray(std * width)

    def draw(self, std: Array, rng: np.random.Generator, size: tuple[int, ...]) -> Array:
        """Return draws of noise."""
        if self.noise == "laplace":
            return np.asarray(rng.laplace(0.0, 1.0 / math.sqrt(2.0), size) * std)
        return np.asarray(rng.normal(0.0, 1.0, size) * std)


@dataclass(frozen=True)
class BayesErrorBound:
    """A bound on the Bayes error of Gaussian classes, from private parameters.

    Attributes
    ----------
    value : float
        Bhattacharyya's bound with the private parameters as they are.
    chernoff : float
        Chernoff's, which is never larger.
    limit : float
        What that of the true parameters, and so their Bayes error, stays below with probability ``level``.
    level : float
    method : str
        ``"theorem 4.1"`` or ``"bootstrap"``.
    says : str
        What it bounds, and what it does not.
    """

    value: float
    chernoff: float
    limit: float
    level: float
    method: str
    says: str

    def __repr__(self) -> str:
        return f"<BayesErrorBound {self.value:.4g}, limit {self.limit:.4g} by {self.method}: {self.says}>"


def least_k(means: Any, variances: Any, sizes: Any, noise: ParameterNoise, p: float) -> float | None:
    """Return the least K that is left when each event of the module's theorem holds; None where they cannot all hold.

    Parameters
    ----------
    means, variances : array of shape (2,)
        With noise; variances with the divisor n.
    sizes : array of shape (2,)
        The number of rows of each class, with noise where ``noise.count`` says so.
    noise : ParameterNoise
    p : float
        The probability of each event.

    Examples
    --------
    >>> quiet = ParameterNoise(mean=[[0.01], [0.01]], covariance=[[[0.01]], [[0.01]]], noise="laplace")
    >>> result = least_k([0.0, 4.0], [1.0, 1.0], [1000, 1000], quiet, 0.99)
    >>> 1.5 < result < 4.0**2 / 8
    True
    """
    probability("p", p)
    m, v = (np.asarray(values, dtype=np.float64).reshape(2) for values in (means, variances))
    n = np.asarray(sizes, dtype=np.float64).reshape(2)
    about, h_mean, h_variance = (noise.half_width(one.reshape(2), p) for one in noise.expand(2, 1))
    few, many = np.ceil(n - about), np.floor(n + about)
    if few.min() < 2.0:
        return None
    if (v + h_variance).min() <= 0.0:
        return None
    low, high = np.empty(2), np.empty(2)
    for k in range(2):
        counts = np.append(np.arange(few[k], min(many[k], few[k] + 1000.0) + 1.0), many[k])
        # chdtri has the probability above. From some tens of rows on these ratios are monotone in n.
        low[k] = max(v[k] - h_variance[k], 0.0) * (counts / chdtri(counts - 1.0, (1.0 - p) / 2.0)).min()
        high[k] = (v[k] + h_variance[k]) * (counts / chdtri(counts - 1.0, (1.0 + p) / 2.0)).max()
    gap = abs(m[0] - m[1]) - h_mean.sum()
    c = ndtri((1.0 + p) / 2.0) / np.sqrt(few)
    low, high = np.sqrt(low), np.sqrt(high)
    return min(_on_edge(gap, c, low, high), _on_edge(gap, c[::-1], low[::-1], high[::-1]))


def _on_edge(gap: float, c: Array, low: Array, high: Array) -> float:
    """Return the least K where the first standard deviation is at its upper limit."""

    def k(log_other: Any) -> Any:
        other = np.exp(log_other)
        squares = high[0] ** 2 + other**2
        means = np.maximum(gap - c[0] * high[0] - c[1] * other, 0.0) ** 2 / (4.0 * squares)
        return means + 0.5 * np.log(squares / (2.0 * high[0] * other))

    grid = np.linspace(math.log(max(low[1], 1e-9 * high.min())), math.log(high[1]), GRID)
    values = np.concatenate([[math.inf], k(grid), [math.inf]])
    result = float(k(grid).min())
    for place in map(int, np.flatnonzero((values[1:-1] <= values[:-2]) & (values[1:-1] <= values[2:]))):
        at = least_place(lambda one: float(k(one)), grid[max(place - 1, 0)], grid[min(place + 1, GRID - 1)])
        result = min(result, float(k(at)))
    return max(result, 0.0)


def _priors(weights: Any, sizes: Array, noise: ParameterNoise, p: float) -> float:
    """Return the prior of the smaller of two classes, as large as it can be."""
    if weights is not None:
        return float(np.min(np.asarray(weights, dtype=np.float64)))
    about = noise.half_width(noise.expand(2, 1)[0], p)
    few, many = np.maximum(np.ceil(sizes - about), 0.0), np.maximum(np.floor(sizes + about), 0.0)
    # Limits by Clopper and Pearson: they rise with the count of the class itself, and fall with the other's.
    low = betaincinv(few[0], many[1] + 1.0, (1.0 - p) / 2.0) if few[0] > 0.0 else 0.0
    high = betaincinv(many[0] + 1.0, few[1], (1.0 + p) / 2.0) if few[1] > 0.0 else 1.0
    nearest = min(max(0.5, float(low)), float(high))
    return min(nearest, 1.0 - nearest)


def _by_theorem(
    weights: Any, means: Array, variances: Array, sizes: Array, noise: ParameterNoise, level: float
) -> BayesErrorBound:
    noisy = int(np.count_nonzero(noise.expand(2, 1)[0]))
    p = level ** (1.0 / (8 + noisy + (weights is None)))
    k = least_k(means, variances, sizes, noise, p)
    prior = _priors(weights, sizes, noise, p)
    limit = prior if k is None else min(prior, math.sqrt(prior * (1.0 - prior)) * math.exp(-k))
    now = _shares(weights, sizes)
    fits = np.all(variances > 0.0)
    plain = now, means[:, None], variances[:, None, None]
    value = float(bhattacharyya(*plain) if fits else now.min())
    chernoff = chernoff_bound(*plain) if fits else value
    says = f"with probability {level:g} this is above {NOT_THIS}"
    return BayesErrorBound(value, chernoff, limit, level, "theorem 4.1", says)


def _shares(weights: Any, sizes: Array) -> Array:
    """Return the priors: given, or as the sizes are."""
    if weights is not None:
        return np.asarray(weights, dtype=np.float64)
    kept = np.maximum(sizes, 1.0)
    return np.asarray(kept / kept.sum(axis=-1, keepdims=True))


def bootstrap_limit(
    weights: Any,
    means: Any,
    covariances: Any,
    sizes: Any,
    noise: ParameterNoise,
    level: float = 0.95,
    *,
    draws: int = DRAWS,
    rng: np.random.Generator | None = None,
) -> float:
    """Return an approximate upper limit on Bhattacharyya's bound at the true parameters, by a parametric bootstrap.

    The bound is the smaller of two numbers: a sum over pairs of classes, whose limit is the bootstrap's, on its
    logarithm; and the error of always the largest class, whose limit is one of a binomial (``_rest_limit``). Where
    priors are not known, each of the two limits is allowed half of what may fail.

    Parameters
    ----------
    weights, means, covariances, sizes, noise, level
        As in ``bayes_error_bound``.
    draws : int
    rng : numpy.random.Generator, optional
        By default one with a fixed seed, so that the same parameters give the same limit.

    Examples
    --------
    >>> from discreet.models.classes.bayes_error import bhattacharyya_bound
    >>> eyes = [[[1.0, 0.0], [0.0, 1.0]]] * 2
    >>> noise = ParameterNoise(mean=np.full((2, 2), 0.05), covariance=np.full((2, 2, 2), 0.05))
    >>> limit = bootstrap_limit([0.5, 0.5], [[0.0, 0.0], [3.0, 0.0]], eyes, [500, 500], noise)
    >>> bhattacharyya_bound([0.5, 0.5], [[0.0, 0.0], [3.0, 0.0]], eyes) < limit < 0.25
    True
    """
    rng = np.random.default_rng(0) if rng is None else rng
    integer("draws", draws, least=20)
    n = np.maximum(np.round(np.asarray(sizes, dtype=np.float64)), 1.0)
    priors, mu, sigma = parameters(_shares(weights, n), means, covariances)
    classes, d = mu.shape
    if n.shape != (classes,):
        raise ArgumentError("sizes", sizes, f"how many rows each of the {classes} classes has")
    factor = positive_definite(sigma)
    each = level if weights is not None else (1.0 + level) / 2.0
    most = (
        1.0 - float(priors.max()) if weights is not None else _rest_limit(n, noise.expand(classes, d)[0], noise, each)
    )
    if n.min() <= d:
        return most
    of_counts, of_means, of_covariances = noise.expand(classes, d)
    shares = np.broadcast_to(priors, (draws, classes))
    if weights is None:
        counts = rng.multinomial(int(n.sum()), priors, draws).astype(np.float64)
        shares = _shares(None, counts + noise.draw(of_counts, rng, counts.shape))
    sampled = (factor @ rng.normal(size=(draws, classes, d, 1)))[..., 0] / np.sqrt(n)[:, None]
    drawn_means = mu + sampled + noise.draw(of_means, rng, (draws, classes, d))
    # A Wishart matrix by Bartlett's decomposition, in the coordinates of the private covariance. Noise comes there.
    bartlett = np.tril(rng.normal(size=(draws, classes, d, d)), -1)
    at = np.arange(d)
    bartlett[..., at, at] = np.sqrt(rng.chisquare(n[:, None] - 1.0 - at, (draws, classes, d)))
    upper = np.triu(noise.draw(of_covariances, rng, (draws, classes, d, d)))
    symmetric = upper + np.triu(upper, 1).swapaxes(-1, -2)
    inverse = np.linalg.inv(factor)
    own = bartlett @ bartlett.swapaxes(-1, -2) / n[:, None, None] + inverse @ symmetric @ inverse.swapaxes(-1, -2)
    values, vectors = np.linalg.eigh(own)
    own = (vectors * np.maximum(values, FLOOR)[..., None, :]) @ vectors.swapaxes(-1, -2)
    result = overlap(shares, drawn_means, factor @ own @ factor.swapaxes(-1, -2))
    log_value = math.log(max(float(overlap(priors, mu, sigma)), 1e-300))
    low = float(np.quantile(np.log(np.maximum(result, 1e-300)), 1.0 - each))
    return min(most, math.exp(min(2.0 * log_value - low, 0.0)))


def _rest_limit(sizes: Array, stds: Array, noise: ParameterNoise, level: float) -> float:
    """Return an upper limit on the share of all classes but the largest.

    It is 1 − P_j or less for every j; j is that of the largest size. A class is chosen among K by its size, and for
    each 2 limits are taken, on noise and on sampling (Clopper and Pearson), so each of them may fail with a
    probability of (1 − level)/(2K); that of the noise once more split between the K sizes.
    """
    classes = len(sizes)
    fails = (1.0 - level) / (2.0 * classes)
    about = noise.half_width(stds, 1.0 - fails / classes)
    j = int(np.argmax(sizes))
    few = max(math.ceil(float(sizes[j] - about[j])), 0)
    rest = sum(max(math.floor(float(sizes[k] + about[k])), 0) for k in range(classes) if k != j)
    return 1.0 - float(betaincinv(few, rest + 1.0, fails)) if few > 0 else 1.0


def bayes_error_bound(
    weights: Any, means: Any, covariances: Any, sizes: Any, noise: ParameterNoise, level: float = 0.95
) -> BayesErrorBound:
    """Return a bound on the Bayes error of Gaussian classes, with an upper confidence limit.

    Two classes of one column: the corrected theorem 4.1, whose limit holds with probability ``level`` or more. Else a
    parametric bootstrap, which is approximate.

    Parameters
    ----------
    weights : array of shape (K,), or None
        Priors that are known; None for the shares of the sizes, which are then uncertain themselves.
    means : array of shape (K, d), or (K,) for one column
        With noise.
    covariances : array of shape (K, d, d), or (K,) for one column
        With noise, divisor n; positive definite where the bootstrap is used.
    sizes : array of shape (K,)
        How many rows each class has, with noise where ``noise.count`` is above 0.
    noise : ParameterNoise
        On the means, covariances and counts themselves, all independent.
    level : float

    Examples
    --------
    >>> noise = ParameterNoise(mean=[0.02, 0.02], covariance=[0.02, 0.02], noise="laplace")
    >>> result = bayes_error_bound([0.5, 0.5], [0.0, 4.0], [1.0, 1.0], [2000, 2000], noise)
    >>> result.method, bool(result.value < result.limit < 0.12)
    ('theorem 4.1', True)
    """
    if probability("level", level) == 0.0:
        raise ArgumentError("level", level, "a probability above 0 and below 1")
    n = np.asarray(sizes, dtype=np.float64)
    if n.ndim != 1 or not np.all(np.isfinite(n)):
        raise ArgumentError("sizes", sizes, "how many rows each class has", write="for example [500, 700]")
    priors, mu, sigma = parameters(_shares(weights, n), means, covariances)
    if len(n) != len(priors):
        raise ArgumentError("sizes", sizes, f"how many rows each of the {len(priors)} classes has")
    if mu.shape == (2, 1):
        return _by_theorem(weights, mu[:, 0], sigma[:, 0, 0], n, noise, level)
    limit = bootstrap_limit(weights, mu, sigma, n, noise, level)
    says = f"with a probability of about {level:g} (parametric bootstrap, approximate) this is above {NOT_THIS}"
    value = float(bhattacharyya(priors, mu, sigma))
    return BayesErrorBound(value, chernoff_bound(priors, mu, sigma), max(limit, value), level, "bootstrap", says)
