"""Confidence limits on the Bayes error of Gaussian classes, from parameters that were released with noise.

The bound for known parameters, and K, are in ``bayes_error``.

**One column and two classes** (Xi, Kantarcıoğlu and Inan 2011, theorem 4.1, corrected). Given are m_i = x̄_i + r_i and
v_i = S_i² + r_{i+2}, S² with the divisor n, and noises r of known distributions. Take a p and these
eight events, each of probability p and all independent, as x̄ and S² are for Gaussian rows:

- |x̄_i − μ_i| ≤ z·σ_i/√n_i, z the (1+p)/2 quantile of the normal distribution;
- n_i S_i²/σ_i² lies between the (1−p)/2 and the (1+p)/2 quantiles of χ² with n_i − 1 degrees of freedom;
- |r| ≤ h: h = −λ ln(1−p) for Laplace noise of scale λ, z·σ for Gaussian noise.

All hold with probability p⁸. Then |μ_i − m_i| ≤ h_i + zσ_i/√n_i, and σ_i² lies between n_i(v_i − h)/χ²_high and
n_i(v_i + h)/χ²_low: limits on the true parameters, from the noisy ones. The least K over all parameters inside of them
is at most the true K. Noise on a count is one event more, with n_i somewhere in an interval; priors that are estimated
from the counts are one more, by the binomial distribution of a count. Of E events p is the E-th root of the level.

The level is a lower bound: a product of eight intervals is conservative, so limits hold more often than stated.

*The least K.* Only the gap between the means counts, and it is at least g(σ) = D − c₁σ₁ − c₂σ₂ (or 0), with
D = |m₁ − m₂| − h₁ − h₂ and c_i = z/√n_i. With σ = r·(cos θ, sin θ)

    K = ¼·max(0, D/r − c₁ cos θ − c₂ sin θ)² − ½ log sin 2θ,

which does not grow with r. So along every direction K is least at the last point of the box of σ, and it is enough to
search where σ₁ or σ₂ is at its upper limit. There K is a function of one number, searched on a grid and then refined. A
lower limit on a variance that is not positive does no harm, since K grows without bound there. An upper limit that is
not positive means that some event failed; then the limit is 1 − max P.

**More columns or classes**: a parametric bootstrap, which is approximate. Parameters are drawn around the private ones
as sampling (normal means, Wishart covariances, multinomial counts) and noise would, and the sum over pairs is limited
by the basic bootstrap on the scale of logarithms: 2·log b − the (1 − level) quantile of the log b* of the draws. The
error of always naming the largest class, 1 − max P, has a limit of its own, and the smaller of the two limits is taken.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, chdtri, ndtri

from discreet.arguments import UNSHOWN, ArgumentError, choice, integer, probability
from discreet.models.classes.bayes_error import (
    bhattacharyya,
    check_parameters,
    chernoff_bound,
    factor_covariances,
    find_minimum,
    overlap,
)

__all__ = ["BayesErrorBound", "ParameterNoise", "bayes_error_bound", "bootstrap_limit", "minimise_k"]

Array = NDArray[np.float64]

DRAWS = 500  # of the bootstrap
GRID = 400  # points of the search for the least K
FLOOR = 0.1  # lower limit on the eigenvalues of a drawn covariance, relative to the private one
MEANING = (
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
        Upper confidence limit on the bound at the true parameters, and so on their Bayes error.
    level : float
    method : str
        ``"theorem 4.1"`` or ``"bootstrap"``.
    says : str
        A sentence: what the limit bounds, and what it does not.
    """

    value: float
    chernoff: float
    limit: float
    level: float
    method: str
    says: str

    def __repr__(self) -> str:
        return f"<BayesErrorBound {self.value:.4g}, limit {self.limit:.4g} by {self.method}: {self.says}>"


def minimise_k(means: Any, variances: Any, sizes: Any, noise: ParameterNoise, p: float) -> float | None:
    """Return the least K when all events of the theorem hold (see the module); None where they cannot all hold.

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
    >>> result = minimise_k([0.0, 4.0], [1.0, 1.0], [1000, 1000], quiet, 0.99)
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
    return min(_least_k_on_edge(gap, c, low, high), _least_k_on_edge(gap, c[::-1], low[::-1], high[::-1]))


def _least_k_on_edge(gap: float, c: Array, low: Array, high: Array) -> float:
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
        at = find_minimum(lambda one: float(k(one)), grid[max(place - 1, 0)], grid[min(place + 1, GRID - 1)])
        result = min(result, float(k(at)))
    return max(result, 0.0)


def _largest_minority(weights: Any, sizes: Array, noise: ParameterNoise, p: float) -> float:
    """Return the largest prior that the smaller of two classes can have, given the events of the theorem."""
    if weights is not None:
        return float(np.min(np.asarray(weights, dtype=np.float64)))
    about = noise.half_width(noise.expand(2, 1)[0], p)
    few, many = np.maximum(np.ceil(sizes - about), 0.0), np.maximum(np.floor(sizes + about), 0.0)
    # Limits by Clopper and Pearson: they rise with the count of the class itself, and fall with the other's.
    low = betaincinv(few[0], many[1] + 1.0, (1.0 - p) / 2.0) if few[0] > 0.0 else 0.0
    high = betaincinv(many[0] + 1.0, few[1], (1.0 + p) / 2.0) if few[1] > 0.0 else 1.0
    nearest = min(max(0.5, float(low)), float(high))
    return min(nearest, 1.0 - nearest)


def _bound_by_theorem(
    weights: Any, means: Array, variances: Array, sizes: Array, noise: ParameterNoise, level: float
) -> BayesErrorBound:
    noisy = int(np.count_nonzero(noise.expand(2, 1)[0]))
    p = level ** (1.0 / (8 + noisy + (weights is None)))
    k = minimise_k(means, variances, sizes, noise, p)
    prior = _largest_minority(weights, sizes, noise, p)
    limit = prior if k is None else min(prior, math.sqrt(prior * (1.0 - prior)) * math.exp(-k))
    now = _priors(weights, sizes)
    fits = np.all(variances > 0.0)
    plain = now, means[:, None], variances[:, None, None]
    value = float(bhattacharyya(*plain) if fits else now.min())
    chernoff = chernoff_bound(*plain) if fits else value
    says = f"with probability {level:g} this is above {MEANING}"
    return BayesErrorBound(value, chernoff, limit, level, "theorem 4.1", says)


def _priors(weights: Any, sizes: Array) -> Array:
    """Return the priors: the given ones, or the shares of the sizes."""
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

    The bound is the smaller of two numbers. One is the sum over pairs of classes; its limit is a bootstrap limit on its
    logarithm. The other is 1 − max P, the error of always naming the largest class; its limit is a binomial one
    (``_limit_minorities``). Where the priors are not known, each of the two limits may fail with half of the
    probability 1 − level.

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
    priors, mu, sigma = check_parameters(_priors(weights, n), means, covariances)
    classes, d = mu.shape
    if n.shape != (classes,):
        raise ArgumentError("sizes", sizes, f"how many rows each of the {classes} classes has")
    factor = factor_covariances(sigma)
    each = level if weights is not None else (1.0 + level) / 2.0
    most = (
        1.0 - float(priors.max())
        if weights is not None
        else _limit_minorities(n, noise.expand(classes, d)[0], noise, each)
    )
    if n.min() <= d:
        return most
    of_counts, of_means, of_covariances = noise.expand(classes, d)
    shares = np.broadcast_to(priors, (draws, classes))
    if weights is None:
        counts = rng.multinomial(int(n.sum()), priors, draws).astype(np.float64)
        shares = _priors(None, counts + noise.draw(of_counts, rng, counts.shape))
    sampled = (factor @ rng.normal(size=(draws, classes, d, 1)))[..., 0] / np.sqrt(n)[:, None]
    drawn_means = mu + sampled + noise.draw(of_means, rng, (draws, classes, d))
    # A Wishart matrix by Bartlett's decomposition, in the coordinates of the private covariance, plus the noise there
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


def _limit_minorities(sizes: Array, stds: Array, noise: ParameterNoise, level: float) -> float:
    """Return an upper limit on the share of all classes but the largest.

    That share is at most 1 − P_j for every j; j is the class of the largest size. It is chosen among K classes by its
    size, and for each of them two limits are taken, on noise and on sampling (Clopper and Pearson). So each limit may
    fail with probability (1 − level)/(2K), and that of the noise is split once more between the K sizes.
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
    priors, mu, sigma = check_parameters(_priors(weights, n), means, covariances)
    if len(n) != len(priors):
        raise ArgumentError("sizes", sizes, f"how many rows each of the {len(priors)} classes has")
    if mu.shape == (2, 1):
        return _bound_by_theorem(weights, mu[:, 0], sigma[:, 0, 0], n, noise, level)
    limit = bootstrap_limit(weights, mu, sigma, n, noise, level)
    says = f"with a probability of about {level:g} (parametric bootstrap, approximate) this is above {MEANING}"
    value = float(bhattacharyya(priors, mu, sigma))
    return BayesErrorBound(value, chernoff_bound(priors, mu, sigma), max(limit, value), level, "bootstrap", says)
