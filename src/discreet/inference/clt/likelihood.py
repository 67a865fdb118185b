"""The central-limit likelihood of all measurements together, as a smooth log-density to sample from.

Given parameters, the sum of n rows' contributions is nearly normal, and so

    z ~ N(n·m(v), n·V(v) + Σ)

for all releases at once. For Laplace noise Σ is not fixed: a Laplace variate of scale b is a normal one whose variance
is exponential of mean 2b², so these variances are coordinates of their own, and the noise is exact.

**m(v) away from the reference: weights.** Rows x_1 … x_S are drawn once, from a mixture q of the model at several
parameters that the posterior holds likely, and each is given the weight p(x|v)/q(x). So the same rows serve every v
(common random numbers), the likelihood is smooth, and no contribution is computed twice. With ŵ the weights divided by
their sum, ĉ(v) = Σŵc, and what many more rows say at the reference v₀ (the mean m₀ and its slope J₀),

    m(v) = m₀ + J₀(v − v₀) + [ĉ(v) − ĉ(v₀) − Ĵ(v − v₀)],

where Ĵ is the slope of ĉ at v₀: the rows few as they are only speak of the curvature. The error of m₀ is added to the
covariance. Where the model's own moments γ(v) = E g(x) have a closed form (g: x and the products of its numbers), the
part Bg of c that they explain is not estimated but known: c is c − Bg above, and B(γ(v) − γ(v₀)) is added. Of sums and
second moments that are not clipped that is all (up to ``NEGLIGIBLE``), and nothing else is computed. Where there are
finitely many rows they are gone through and nothing is drawn.

**Or moving rows.** Where the posterior is so wide that no row is likely at all of its parameters, weights let few rows
count. There ĉ(v) is the mean over rows that move with v (``moving_rows``), where model and questions let them; the rest
is as above. It takes longer, for every contribution is computed at every v.

**Joint or pooled.** Up to ``MOST_JOINT`` released numbers the likelihood is that of all of them; beyond, of t = A·z
with A = JᵀW⁻¹ at the reference: as many numbers as there are parameters, which say as much as all releases near the
reference (they are the score of the normal distribution there). A is a fixed matrix, so the distribution of t is known
exactly as far as that of z is, and intervals keep their level; what may be lost is information, where the posterior is
wide.

**V(v)** is computed at each v, by the same weights or moving rows, where rows are finitely many, and where n·V + Σ
varies over the posterior by more than ``VARIES``: there releases leave open how much rows spread (a mean alone does),
and a prior says it. Otherwise it is that of the reference. Where noise is small, so is the posterior, and V hardly
changes over it; where noise is large, it is Σ that counts. (Letting it follow v then brings the posterior no nearer to
the exact one: a sum of squares is skewed, and the normal approximation has its own error of that size.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from discreet.inference.clt.local_moments import local_moments
from discreet.inference.clt.moving_rows import MovingMean, MovingRows, moving_mean
from discreet.inference.clt.reference import Problem, Reference
from discreet.inference.rows.layout import Rows
from discreet.inference.rows.row_model import RowModel, double_precision

Array = NDArray[np.float64]

MOST_JOINT = 100
MOST_LATENT = 40  # numbers with Laplace noise, whose variances are coordinates
BASE = (2**14, 2**18)  # rows at the reference: so many times as the data have, within these
TIMES = 32
PRODUCTS = 1e9  # released numbers times rows, at most
ROWS = (1024, 2048, 4096)  # that are given weights
PATHS = (128, 256, 512)  # rows that move
SMALL = 0.5  # of a standard deviation of z: the error of their mean
CHECKED = 3  # moves along which its slope is
VARIES = 0.5  # standard deviation of the log of a number's variance over the posterior
WIDE = 1.0  # variance of the log-density of a row over the posterior
ENOUGH = 16.0  # times the parameters, and what the noise leaves of the data's rows where the posterior is wide
POINTS = 32  # parameters that the rows are drawn at
NEGLIGIBLE = 0.01  # of a standard deviation of z
SPREAD = 4.0  # how far rows of these may be from those of the reference, in squared standard deviations of one row


@dataclass(frozen=True, eq=False)
class LogTarget:
    """The posterior's log-density as a function of whitened coordinates u, with the numbers that it needs.

    Attributes
    ----------
    kind : str
        ``"joint"`` or ``"pooled"``.
    data : dict of arrays
    density : callable
        From ``data`` and u to the log-density; the same object for all problems of one model and shape.
    size : int
        How many coordinates u has.
    monte_carlo : float
        The largest share of Monte Carlo error in the variance of a number.
    weighted : bool
        Whether rows stay and have weights.
    shared : bool
        Whether other problems have the same ``density``.
    """

    kind: str
    data: dict[str, Any]
    density: Callable[[Any, Any], Any]
    size: int
    monte_carlo: float
    weighted: bool
    shared: bool = True


def target_at(
    problem: Problem, reference: Reference, seed: int, points: Array | None = None, moving: MovingRows | None = None
) -> LogTarget:
    """Return the posterior around a reference.

    Parameters
    ----------
    problem : Problem
    reference : Reference
    seed : int
    points : array of shape (k, dimension of w), optional
        Parameters that the posterior holds likely; by default drawn from the normal approximation at the reference.
    moving : MovingRows, optional
        To follow rows that move, if the questions let them; by default rows stay and have weights.
    """
    measured, model = problem.measured, problem.model
    v0, n = problem.split(reference.w)
    joint = measured.value.size <= MOST_JOINT
    latent = measured.laplace & (measured.value.size <= MOST_LATENT)
    projection = np.eye(measured.value.size) if joint else _whitened(reference, problem)
    rows, log_weights = _rows(problem, reference, seed, points)
    c = measured.contributions(rows) @ projection.T
    noise = projection @ (measured.variances[:, None] * projection.T)
    spread = model.points is not None or _varies(problem, reference, rows, log_weights, c, noise, seed)
    varied = spread or bool(latent.any())
    explained = None
    if model.checked_moments(v0, seed):
        features = model.features(rows)
        explained = np.linalg.lstsq(features - features.mean(axis=0), c - c.mean(axis=0), rcond=1e-10)[0].T
    most = min(BASE[1], PRODUCTS / measured.value.size)
    base = local_moments(model, measured, v0, int(min(max(TIMES * n, BASE[0]), most)), seed, projection, explained)
    c, slope = c - base.mean, base.slope
    raw = c
    if explained is not None:
        c = c - (features - model.call("expectations", v0)) @ explained.T
        slope = slope - explained @ model.call("expected_slope", v0)
    error = n * n * base.error
    whole = n * base.covariance + noise + error
    unexplained = n * n * c.var(axis=0) / np.diag(whole)
    closed = explained is not None and bool(np.all(unexplained < NEGLIGIBLE**2))
    data: dict[str, Any] = {
        "w0": reference.w,
        "root": reference.root,
        "log_rows": 0.0 if problem.rows is None else math.log(problem.rows),
        "z": projection @ measured.value,
        "m0": base.mean,
        "J0": slope,
        "B": np.zeros((c.shape[1], 0)) if explained is None else explained,
        "moments": np.zeros(0) if explained is None else model.call("expectations", v0),
    }
    if varied:
        certain = projection @ (np.where(latent, 0.0, measured.variances)[:, None] * projection.T)
        data |= {"noise": certain + error, "V0": base.covariance}
        data |= {"latent": measured.variances[latent], "where": projection[:, latent].T}
        scale = np.eye(len(whole))
    else:
        scale = np.linalg.inv(np.linalg.cholesky(whole))
        data |= {name: scale @ data[name] for name in ("z", "m0", "J0", "B")}
    mean = None
    if moving is not None and model.points is None and (spread or not closed):
        stds = np.sqrt(np.diag(scale @ whole @ scale.T)) / n
        needed = math.inf if spread else unexplained.max() / SMALL**2
        count = next((count for count in PATHS if count >= needed), PATHS[-1])
        with double_precision():
            moved = data | {"keys": jax.random.split(jax.random.key(seed), count), "projection": scale @ projection}
        mean = _moving(problem, reference, moving, moved, stds, seed)
    if mean is not None:
        data = moved
    else:
        data |= _weighted(model, v0, rows, log_weights, c @ scale.T) | ({"raw": raw} if spread else {})
    if problem.public is not None:
        data["public"] = problem.public
    flags = (varied, spread, closed, model.points is not None, problem.rows is None, problem.public is not None)
    share = float((np.diag(error) / np.diag(whole)).max())
    size = reference.w.size + int(latent.sum())
    return LogTarget("joint" if joint else "pooled", data, _density(model, flags, mean), size, share, mean is None)


def _varies(
    problem: Problem, reference: Reference, rows: Rows, log_weights: Array, c: Array, noise: Array, seed: int
) -> bool:
    """Return whether the variance of some released number is uncertain, and with it how much the number says."""
    logs = []
    for centre in _centres(problem, reference, seed):
        shares = softmax(problem.model.call("log_rows", centre, rows) + log_weights)
        mean = shares @ c
        logs.append(np.log(problem.split(reference.w)[1] * (shares @ (c - mean) ** 2) + np.diag(noise)))
    return bool(np.std(logs, axis=0).max() > VARIES)


def is_wide(problem: Problem, reference: Reference) -> bool:
    """Return whether rows that are likely at one of the posterior's parameters are not at others."""
    return _width(problem, reference) > WIDE


def _width(problem: Problem, reference: Reference) -> float:
    """Return about the variance of a row's log-density over the posterior."""
    root = reference.root[: problem.model.size]
    return float(np.trace(root.T @ reference.at.fisher @ root))


def _weighted(model: RowModel, v0: Array, rows: Rows, log_weights: Array, c: Array) -> dict[str, Any]:
    """Return rows, −ln q and contributions of each; and what they say at the reference."""
    data: dict[str, Any] = {"rows": rows, "log_weights": log_weights, "c": c}
    if model.points is None:
        weights = softmax(model.call("log_rows", v0, rows) + log_weights)
        scores = np.nan_to_num(model.call("scores", v0, rows))
        data["c0"] = weights @ c
        data["J"] = (c * weights[:, None]).T @ (scores - weights @ scores)
    return data


def _moving(
    problem: Problem, reference: Reference, rows: MovingRows, data: dict[str, Any], stds: Array, seed: int
) -> MovingMean | None:
    """Return ĉ over moving rows, to whose ``data`` it adds what it says at the reference; None where it jumps."""
    mean = moving_mean(rows, problem.measured, data)
    v0, _ = problem.split(reference.w)
    if mean is None:
        return None
    moves = np.random.default_rng(seed).standard_normal((CHECKED, reference.w.size)) @ reference.root.T
    with double_precision():
        try:
            if not mean.is_smooth(data, v0, moves[:, : v0.size], stds):
                return None
        except (AttributeError, IndexError, TypeError, ValueError):  # a question that wants numbers, and not JAX's
            return None
        data["c0"], data["J"] = np.asarray(mean(data, v0)), mean.slope(data, v0)
    return mean


def _whitened(reference: Reference, problem: Problem) -> Array:
    """Return A in such units that the pooled statistic has about a unit covariance."""
    _, n = problem.split(reference.w)
    noisy = n * reference.at.covariance + np.diag(problem.measured.variances)
    spread = reference.projection @ noisy @ reference.projection.T
    values, vectors = np.linalg.eigh((spread + spread.T) / 2.0)
    kept = values > values.max() * 1e-12
    return np.asarray((vectors[:, kept] / np.sqrt(values[kept])).T @ reference.projection)


def _rows(problem: Problem, reference: Reference, seed: int, points: Array | None) -> tuple[Rows, Array]:
    """Return rows and −ln q of each: all that there are, with 0, or some from a mixture over likely parameters."""
    model = problem.model
    if model.points is not None:
        return model.points, np.zeros(len(model.points["x"]))
    v0, n = problem.split(reference.w)
    variances = np.diag(reference.at.covariance)
    centres = _centres(problem, reference, seed) if points is None else np.vstack([v0, points[:, : v0.size]])
    rows_left = n * float((n * variances / (n * variances + problem.measured.variances)).max())
    needed = ENOUGH * max(rows_left * min(_width(problem, reference), 1.0), v0.size)
    count = next((count for count in ROWS if count >= needed), ROWS[-1])  # few numbers, so that little is compiled
    return mixed_rows(model, centres, count // len(centres), seed)


def _centres(problem: Problem, reference: Reference, seed: int) -> Array:
    """Return the reference and parameters around it, not so far that rows could be told from its own."""
    v0, _ = problem.split(reference.w)
    rng = np.random.default_rng(seed)
    moves = (rng.standard_normal((POINTS - 1, reference.w.size)) @ reference.root.T)[:, : v0.size]
    away = np.einsum("ij,jk,ik->i", moves, reference.at.fisher, moves)
    moves = moves * np.minimum(1.0, np.sqrt(SPREAD / np.maximum(away, 1e-300)))[:, None]
    return np.vstack([v0, v0 + moves])


def mixed_rows(model: RowModel, centres: Array, each: int, seed: int) -> tuple[Rows, Array]:
    """Return rows drawn from the model at several parameters, and −ln of the density of their mixture."""
    drawn = [model.draw(v, each, seed * 7919 + 104729 + i) for i, v in enumerate(centres)]
    rows = {part: np.concatenate([some[part] for some in drawn]) for part in ("x", "codes")}
    densities = np.stack([model.call("log_rows", v, rows) for v in centres])
    top = densities.max(axis=0)
    return rows, -(top + np.log(np.mean(np.exp(densities - top), axis=0)))


def _density(model: RowModel, flags: tuple[bool, ...], mean: MovingMean | None) -> Callable[[Any, Any], Any]:
    """Return the density's function, one for each model and form, so that it is compiled once."""
    density: Callable[[Any, Any], Any] = model.compiled.setdefault(
        ("density", flags, mean), partial(_log_density, model, flags, mean)
    )
    return density


def _log_density(model: RowModel, flags: tuple[bool, ...], mean: MovingMean | None, data: Any, u: Any) -> Any:
    """Return the log-density of the posterior at u, up to a constant."""
    varied, spread, closed, finite, counted, public = flags
    size = data["w0"].size
    move = data["root"] @ u[:size]
    w = data["w0"] + move
    v, moved = (w[:-1], move[:-1]) if counted else (w, move)
    n = jnp.exp(w[-1] if counted else data["log_rows"])
    bend = jnp.zeros(data["z"].size)
    if spread or not closed:
        if mean is None:
            log_weights = model.log_rows(v, data["rows"]) + data["log_weights"]
            shares = jnp.exp(log_weights) if finite else jax.nn.softmax(log_weights)
            rest, raw = data["c"], data.get("raw")
        else:
            shares, rest, raw = mean.contributed(data, v)
        moment = shares @ rest
    if not closed:
        bend = moment if finite else data["J0"] @ moved + moment - data["c0"] - data["J"] @ moved
    if data["B"].shape[1]:
        bend = bend + data["B"] @ (model.expectations(v) - data["moments"])
    difference = data["z"] - n * (data["m0"] + bend)
    total = model.log_prior(v)
    if varied:
        covariance = data["V0"]
        if spread:
            centred = raw - shares @ raw
            covariance = (centred * shares[:, None]).T @ centred
        covariance = n * covariance + data["noise"]
        latent = u[size:]
        variances = data["latent"] * jnp.exp(latent)
        covariance = covariance + data["where"].T @ (variances[:, None] * data["where"])
        total = total + jnp.sum(latent - jnp.exp(latent))
        factor = jnp.linalg.cholesky(covariance)
        difference = jax.scipy.linalg.solve_triangular(factor, difference, lower=True)
        total = total - jnp.sum(jnp.log(jnp.diagonal(factor)))
    total = total - 0.5 * jnp.sum(difference**2)
    if public:
        total = total + jnp.sum(model.log_rows(v, data["public"]))
    return jnp.where(jnp.isnan(total), -jnp.inf, total)


def effective_share(problem: Problem, target: LogTarget, w: Array) -> Array:
    """Return, for some parameters, what share of the rows the weights use (Kish), to tell whether they still cover."""
    if problem.model.points is not None or not target.weighted:
        return np.ones(len(w))
    result = []
    with double_precision():
        for one in w:
            v, _ = problem.split(one)
            shares = softmax(problem.model.call("log_rows", v, target.data["rows"]) + target.data["log_weights"])
            result.append(1.0 / float((shares**2).sum()) / len(shares))
    return np.array(result)
