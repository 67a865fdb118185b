"""The central-limit likelihood of all measurements together, as a smooth log-density to sample from.

Given parameters, the sum of n rows' contributions is nearly normal, and so

    z ~ N(n·m(v), n·V(v) + Σ)

for all releases at once. Where a person has up to k rows, n·V is at most k times as large: that is used, since rows of
one person may be alike. For Laplace noise Σ is not fixed: a Laplace variate of scale b is a normal one whose variance
is exponential with mean 2b². So these variances are latent coordinates, and the noise is exact.

**m(v) away from the reference: importance weights.** Rows x_1 … x_S are drawn once, from a mixture q of the model at
several parameters that are likely under the posterior, and each gets the weight p(x|v)/q(x). The same rows serve every
v (common random numbers), so the likelihood is smooth, and no contribution is computed twice. Let ŵ be the weights
divided by their sum, ĉ(v) = Σŵc, and let m₀ and J₀ be the mean and its Jacobian at the reference v₀, from many more
rows. Then

    m(v) = m₀ + J₀(v − v₀) + [ĉ(v) − ĉ(v₀) − Ĵ(v − v₀)],

where Ĵ is the Jacobian of ĉ at v₀. The bracket is the curvature, which is all that the fewer weighted rows are used
for. The Monte Carlo error of m₀ is added to the covariance.

**Control variates.** Where the model's own moments γ(v) = E g(x) have a closed form (g: x and the products of its
numbers), the part Bg of c that they explain is not estimated: c is replaced by c − Bg above, and B(γ(v) − γ(v₀)) is
added. For sums and second moments that are not clipped this is everything (up to ``NEGLIGIBLE``), and nothing else is
computed. Where there are finitely many rows they are enumerated and nothing is drawn.

**Reparametrised rows.** Where the posterior is so wide that no row is likely at all of its parameters, few rows would
have most of the weight. There ĉ(v) is the mean over rows that are smooth functions of v (``reparametrized_rows``),
where the model and the questions allow it; the rest is as above. This takes longer, because every contribution is
computed again at every v.

**Joint or pooled.** Up to ``MAX_JOINT`` released numbers the likelihood is that of all of them. Beyond, it is that of
t = A·z with A = JᵀW⁻¹ at the reference: as many numbers as there are parameters, which have as much information as all
releases near the reference (they are the score of the normal distribution there). A is a fixed matrix, so the
distribution of t is known as exactly as that of z, and intervals keep their level. Information may be lost where the
posterior is wide.

**V(v)** is computed at each v, by the same weights or reparametrised rows, where rows are finitely many, and where n·V
+ Σ varies over the posterior by more than ``VARIES``: there the releases leave the spread of the rows open (a mean
alone does), and only a prior limits it. Otherwise V is that of the reference. Where noise is small, so is the
posterior, and V hardly changes over it; where noise is large, Σ dominates. (Computing V(v) then brings the posterior no
nearer to the exact one: a sum of squares is skewed, and the normal approximation has its own error of that size.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import log_ndtr
from numpy.typing import NDArray
from scipy.special import softmax

from discreet.inference.clt.determinants import compute_determinant_slope
from discreet.inference.clt.local_moments import compute_local_moments
from discreet.inference.clt.reference import Problem, Reference
from discreet.inference.clt.reparametrized_rows import PathwiseMean, ReparametrizedRows, build_pathwise_mean
from discreet.inference.rows.layout import Rows
from discreet.inference.rows.row_model import RowModel, double_precision, make_keys

Array = NDArray[np.float64]

MAX_JOINT = 100  # released numbers in a joint likelihood
MAX_LATENT = 40  # numbers with Laplace noise, whose variances are coordinates
EVEN_ROWS = 2**15  # at the reference, where rows are evenly spread
REFERENCE_ROWS = (2**15, 2**18)  # the least and the most rows drawn at the reference, where rows are independent
ROWS_FACTOR = 32  # independent rows drawn at the reference for each row of the data
MAX_PRODUCTS = 1e9  # released numbers times rows
WEIGHTED_ROWS = (4096, 2048)  # for up to FEW parameters, and for more; of a model always as many, and compiled once
FEW = 16
PATHS = (128, 256, 512)  # reparametrised rows, without their combinations
SMALL = 0.5  # the error of their mean, in standard deviations of z
CHECKED_MOVES = 3  # along which smoothness is checked
VARIES = 0.5  # standard deviation of the log-variance of a number over the posterior
WIDE = 1.0  # variance of the log-density of a row over the posterior
CENTRES = 32  # parameters that the weighted rows are drawn at
NEGLIGIBLE = 0.01  # of a standard deviation of z
MAX_DISTANCE = 4.0  # of a centre from the reference, squared, in the Fisher information of one row


class DensityForm(NamedTuple):
    """Which terms a log-density has: for each form it is compiled once.

    Attributes
    ----------
    has_covariance : bool
        Whether the covariance depends on the coordinates: through V(v) or through latent variances.
    varies : bool
        Whether V(v) is computed at each v.
    closed : bool
        Whether the control variates explain the contributions completely, so that no curvature is estimated.
    finite : bool
        Whether all possible rows are enumerated.
    counts_rows : bool
        Whether ln N is the last coordinate of w.
    has_public : bool
        Whether there are public rows.
    """

    has_covariance: bool
    varies: bool
    closed: bool
    finite: bool
    counts_rows: bool
    has_public: bool


@dataclass(frozen=True, eq=False)
class LogTarget:
    """The posterior's log-density as a function of whitened coordinates u, with the arrays that it needs.

    Attributes
    ----------
    kind : str
        ``"joint"`` or ``"pooled"``.
    data : dict of arrays
    density : callable
        From ``data`` and u to the log-density; the same object for all problems of one model and form.
    size : int
        The number of coordinates of u.
    monte_carlo_share : float
        The largest share of Monte Carlo error in the variance of a number.
    is_weighted : bool
        Whether rows have importance weights.
    is_shared : bool
        Whether other problems have the same ``density``.
    """

    kind: str
    data: dict[str, Any]
    density: Callable[[Any, Any], Any]
    size: int
    monte_carlo_share: float
    is_weighted: bool
    is_shared: bool = True


def build_target(
    problem: Problem,
    reference: Reference,
    seed: int,
    points: Array | None = None,
    paths: ReparametrizedRows | None = None,
) -> LogTarget:
    """Return the log-density of the posterior, expanded around a reference.

    Parameters
    ----------
    problem : Problem
    reference : Reference
    seed : int
    points : array of shape (k, dimension of w), optional
        Parameters that are likely under the posterior; by default drawn from its normal approximation.
    paths : ReparametrizedRows, optional
        Used where the questions are smooth; otherwise, and by default, rows have importance weights.
    """
    measured, model = problem.measured, problem.model
    v0, n = problem.split(reference.w)
    joint = measured.values.size <= MAX_JOINT
    latent = measured.is_laplace & (measured.values.size <= MAX_LATENT)
    projection = np.eye(measured.values.size) if joint else _pooling_matrix(reference, problem)
    rows, log_weights = _draw_rows(problem, reference, seed, points)
    c = measured.contributions(rows) @ projection.T
    noise = projection @ (measured.variances[:, None] * projection.T)
    varies = model.points is not None or _variance_varies(problem, reference, rows, log_weights, c, noise, seed)
    has_covariance = varies or bool(latent.any())
    coefficients = None  # B
    if model.has_correct_moments(v0, seed):
        features = model.features(rows)
        coefficients = np.linalg.lstsq(features - features.mean(axis=0), c - c.mean(axis=0), rcond=1e-10)[0].T
    most = max(REFERENCE_ROWS[0], min(REFERENCE_ROWS[1], MAX_PRODUCTS / measured.values.size))
    draws = EVEN_ROWS if model.uniforms is not None else int(min(max(ROWS_FACTOR * n, REFERENCE_ROWS[0]), most))
    base = compute_local_moments(model, measured, v0, draws, seed, projection, coefficients)
    c, jacobian = c - base.mean, base.jacobian
    raw = c
    if coefficients is not None:
        c = c - (features - model.call("expectations", v0)) @ coefficients.T
        jacobian = jacobian - coefficients @ model.call("expectation_jacobian", v0)
    covariance = n * problem.clusters * base.covariance + noise
    error = n * n * base.mean_error(np.asarray(np.linalg.cholesky(covariance), dtype=np.float64))
    covariance = covariance + error
    unexplained = n * n * c.var(axis=0) / np.diag(covariance)
    closed = coefficients is not None and bool(np.all(unexplained < NEGLIGIBLE**2))
    data: dict[str, Any] = {
        "w0": reference.w,
        "root": reference.root,
        "log_rows": 0.0 if problem.rows is None else math.log(problem.rows),
        "z": projection @ measured.values,
        "m0": base.mean,
        "J0": jacobian,
        "B": np.zeros((c.shape[1], 0)) if coefficients is None else coefficients,
        "gamma0": np.zeros(0) if coefficients is None else model.call("expectations", v0),
        "slope": compute_determinant_slope(problem, reference, seed),
    }
    if has_covariance:
        fixed = projection @ (np.where(latent, 0.0, measured.variances)[:, None] * projection.T)
        data |= {"noise": fixed + error, "V0": base.covariance, "clusters": float(problem.clusters)}
        data |= {"latent_means": measured.variances[latent], "latent_axes": projection[:, latent].T}
        whitening = np.eye(len(covariance))
    else:
        whitening = np.linalg.inv(np.linalg.cholesky(covariance))
        data |= {name: whitening @ data[name] for name in ("z", "m0", "J0", "B")}
    mean = None
    if paths is not None and model.points is None and (varies or not closed):
        stds = np.sqrt(np.diag(whitening @ covariance @ whitening.T)) / n
        needed = math.inf if varies else unexplained.max() / SMALL**2
        count = next((count for count in PATHS if count >= needed), PATHS[-1])
        with double_precision():
            keys = make_keys(seed, count)
            with_paths = data | {"keys": keys, "projection": whitening @ projection}
        mean = _smooth_mean(problem, reference, paths, with_paths, stds, seed)
    if mean is not None:
        data = with_paths
    else:
        data |= _weighted_data(model, v0, rows, log_weights, c @ whitening.T) | ({"raw": raw} if varies else {})
    if problem.public is not None:
        data["public"] = problem.public
    form = DensityForm(
        has_covariance=has_covariance,
        varies=varies,
        closed=closed,
        finite=model.points is not None,
        counts_rows=problem.rows is None,
        has_public=problem.public is not None,
    )
    return LogTarget(
        kind="joint" if joint else "pooled",
        data=data,
        density=model.compiled.setdefault(("density", form, mean), partial(_log_density, model, form, mean)),
        size=reference.w.size + int(latent.sum()),
        monte_carlo_share=float((np.diag(error) / np.diag(covariance)).max()),
        is_weighted=mean is None,
    )


def _variance_varies(
    problem: Problem, reference: Reference, rows: Rows, log_weights: Array, c: Array, noise: Array, seed: int
) -> bool:
    """Return whether the variance of some released number differs much between parameters of the posterior."""
    logs = []
    for centre in _draw_centres(problem, reference, seed):
        weights = softmax(problem.model.call("log_rows", centre, rows) + log_weights)
        mean = weights @ c
        times = problem.clusters * problem.split(reference.w)[1]
        logs.append(np.log(times * (weights @ (c - mean) ** 2) + np.diag(noise)))
    return bool(np.std(logs, axis=0).max() > VARIES)


def is_wide(problem: Problem, reference: Reference) -> bool:
    """Return whether rows that are likely at some parameters of the posterior are unlikely at others."""
    root = reference.root[: problem.model.size]
    return float(np.trace(root.T @ reference.moments.fisher @ root)) > WIDE  # variance of a row's log-density


def _weighted_data(model: RowModel, v0: Array, rows: Rows, log_weights: Array, c: Array) -> dict[str, Any]:
    """Return rows, −ln q and contributions of each; and ĉ and its Jacobian at the reference."""
    data: dict[str, Any] = {"rows": rows, "log_weights": log_weights, "c": c}
    if model.points is None:
        weights = softmax(model.call("log_rows", v0, rows) + log_weights)
        scores = np.nan_to_num(model.call("scores", v0, rows))
        data["c0"] = weights @ c
        data["J"] = (c * weights[:, None]).T @ (scores - weights @ scores)
    return data


def _smooth_mean(
    problem: Problem, reference: Reference, paths: ReparametrizedRows, data: dict[str, Any], stds: Array, seed: int
) -> PathwiseMean | None:
    """Return ĉ over reparametrised rows, and add its value and Jacobian at v₀ to ``data``; None if it is not smooth."""
    mean = build_pathwise_mean(paths, problem.measured, data)
    v0, _ = problem.split(reference.w)
    if mean is None:
        return None
    moves = np.random.default_rng(seed).standard_normal((CHECKED_MOVES, reference.w.size)) @ reference.root.T
    with double_precision():
        try:
            if not mean.is_smooth(data, v0, moves[:, : v0.size], stds):
                return None
        except (AttributeError, IndexError, TypeError, ValueError):  # a question that JAX cannot trace
            return None
        data["c0"], data["J"] = mean.expand(data, v0)
    return mean


def _pooling_matrix(reference: Reference, problem: Problem) -> Array:
    """Return A, scaled so that the pooled statistic A·z has about a unit covariance."""
    _, n = problem.split(reference.w)
    covariance = n * problem.clusters * reference.moments.covariance + np.diag(problem.measured.variances)
    pooled = reference.projection @ covariance @ reference.projection.T
    values, vectors = np.linalg.eigh((pooled + pooled.T) / 2.0)
    kept = values > values.max() * 1e-12
    return np.asarray((vectors[:, kept] / np.sqrt(values[kept])).T @ reference.projection)


def _draw_rows(problem: Problem, reference: Reference, seed: int, points: Array | None) -> tuple[Rows, Array]:
    """Return rows and −ln q of each: all possible rows, with 0, or draws from a mixture over likely parameters."""
    model = problem.model
    if model.points is not None:
        return model.points, np.zeros(len(model.points["x"]))
    v0, _ = problem.split(reference.w)
    centres = _draw_centres(problem, reference, seed) if points is None else np.vstack([v0, points[:, : v0.size]])
    return draw_mixed_rows(model, centres, WEIGHTED_ROWS[v0.size > FEW], seed)


def _draw_centres(problem: Problem, reference: Reference, seed: int) -> Array:
    """Return the reference and parameters around it, at a limited distance in the Fisher information of one row."""
    v0, _ = problem.split(reference.w)
    rng = np.random.default_rng(seed)
    moves = (rng.standard_normal((CENTRES - 1, reference.w.size)) @ reference.root.T)[:, : v0.size]
    distances = np.einsum("ij,jk,ik->i", moves, reference.moments.fisher, moves)
    moves = moves * np.minimum(1.0, np.sqrt(MAX_DISTANCE / np.maximum(distances, 1e-300)))[:, None]
    return np.vstack([v0, v0 + moves])


def draw_mixed_rows(model: RowModel, centres: Array, count: int, seed: int) -> tuple[Rows, Array]:
    """Return rows drawn from the model at several parameters, and −ln of the density of their mixture."""
    rows = model.draw_evenly(centres, count, seed * 7919 + 104729)
    densities = np.stack([model.call("log_rows", v, rows) for v in centres])
    top = densities.max(axis=0)
    return rows, -(top + np.log(np.mean(np.exp(densities - top), axis=0)))


def _log_density(model: RowModel, form: DensityForm, mean: PathwiseMean | None, data: Any, u: Any) -> Any:
    """Return the log-density of the posterior at u, up to a constant."""
    size = data["w0"].size
    move = data["root"] @ u[:size]
    w = data["w0"] + move
    v, moved = (w[:-1], move[:-1]) if form.counts_rows else (w, move)
    n = jnp.exp(w[-1] if form.counts_rows else data["log_rows"])
    change = jnp.zeros(data["z"].size)  # m(v) − m₀
    if form.varies or not form.closed:
        if mean is None:
            log_weights = model.log_rows(v, data["rows"]) + data["log_weights"]
            weights = jnp.exp(log_weights) if form.finite else jax.nn.softmax(log_weights)
            rest, raw = data["c"], data.get("raw")
        else:
            weights, rest, raw = mean.contributions(data, v)
        average = weights @ rest  # ĉ(v)
    if not form.closed:
        change = average if form.finite else data["J0"] @ moved + average - data["c0"] - data["J"] @ moved
    if data["B"].shape[1]:
        change = change + data["B"] @ (model.expectations(v) - data["gamma0"])
    difference = data["z"] - n * (data["m0"] + change)
    total = model.log_prior(v) + data["slope"] @ move
    if form.has_covariance:
        covariance = data["V0"]
        if form.varies:
            centred = raw - weights @ raw
            covariance = (centred * weights[:, None]).T @ centred
        covariance = n * data["clusters"] * covariance + data["noise"]
        latent = u[size:]  # of exponential variates, for Laplace noise: their quantiles are those of normal variates
        variances = data["latent_means"] * -log_ndtr(-latent)
        covariance = covariance + data["latent_axes"].T @ (variances[:, None] * data["latent_axes"])
        total = total - 0.5 * jnp.sum(latent**2)
        factor = jnp.linalg.cholesky(covariance)
        difference = jax.scipy.linalg.solve_triangular(factor, difference, lower=True)
        total = total - jnp.sum(jnp.log(jnp.diagonal(factor)))
    total = total - 0.5 * jnp.sum(difference**2)
    if form.has_public:
        total = total + jnp.sum(model.log_rows(v, data["public"]))
    return jnp.where(jnp.isnan(total), -jnp.inf, total)


def effective_shares(problem: Problem, target: LogTarget, w: Array) -> Array:
    """Return, at each of some parameters, the effective share of the weighted rows (Kish): their coverage."""
    if problem.model.points is not None or not target.is_weighted:
        return np.ones(len(w))
    result = []
    with double_precision():
        for one in w:
            v, _ = problem.split(one)
            weights = softmax(problem.model.call("log_rows", v, target.data["rows"]) + target.data["log_weights"])
            result.append(1.0 / float((weights**2).sum()) / len(weights))
    return np.array(result)
