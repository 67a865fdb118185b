"""Calibration of posteriors from releases: simulation-based calibration, and coverage of intervals.

    python benchmarks/bench_calibration.py mean       Gaussian rows, two adaptive releases with Gaussian noise
    python benchmarks/bench_calibration.py coin       a coin, eight releases of its heads with Laplace noise
    python benchmarks/bench_calibration.py logistic   a fitted logistic regression (noisy gradients)
    python benchmarks/bench_calibration.py objective  the same (noise in the objective, the default)
    python benchmarks/bench_calibration.py svc        the same labels, from support vectors
    python benchmarks/bench_calibration.py mixture    a fitted mixture of two Gaussians
    python benchmarks/bench_calibration.py table      a fitted mixture of two components over numbers and categories
    python benchmarks/bench_calibration.py shares     a cross-tab of two columns of categories
    python benchmarks/bench_calibration.py regression a fitted linear regression
    python benchmarks/bench_calibration.py classes    a fitted classifier, a Gaussian in each class
    python benchmarks/bench_calibration.py factors    a fitted factor analysis
    python benchmarks/bench_calibration.py axes       fitted principal components
    python benchmarks/bench_calibration.py centres    fitted centres of two clusters
    python benchmarks/bench_calibration.py sums       running sums of a series
    python benchmarks/bench_calibration.py states     a series with Laplace noise, and its state-space model
    python benchmarks/bench_calibration.py median     the median of a column
    python benchmarks/bench_calibration.py synthesizer  a fitted synthesizer of numbers and categories
    python benchmarks/bench_calibration.py own        two models of one's own, of answers of several kinds
    python benchmarks/bench_calibration.py            all of them

For each set parameters are drawn, then rows, then releases; intervals of the posterior must hold the parameters at
their level. ``mean``, ``coin``, ``shares``, ``sums``, ``states``, ``median`` and ``own`` draw parameters from the
model's prior, so that also their rank among the posterior's draws is uniform (Talts et al. 2018). The others are fitted
estimators, with priors far wider than what is drawn here: for them coverage alone is measured, component by component
(components are matched to the true ones). Of ``synthesizer`` shares and the rank correlation have draws; what an
analyst computes from ten synthetic tables has the intervals of ``dp.combine``.

Two wrong posteriors are compared with ``dp.infer``. *naive* treats the released values as exact.
*product* multiplies p(z_j|θ) over the releases j, as equation 4 of Williams and McSherry (2010) has it, though the
same rows are in all of them. A third is right, and needs no chains: ``coin`` sums over the heads, without a
normal approximation; ``mean`` has the normal likelihood on a grid, its covariance changing with the parameters.

A table, a JSON of its numbers, and a figure of the ranks beside it (``--out``, build/calibration/NAME.json). Sets that
are in that JSON already are not run again, so a run that was stopped goes on, and ``--sets`` may be larger the next
time. To begin anew, delete the file. Noise comes from seeded bits, so that the numbers are reproducible; rows are
synthetic.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd
from scipy.optimize import linear_sum_assignment
from scipy.special import logsumexp
from scipy.stats import beta, binom, chisquare, multivariate_normal

import discreet as dp
from discreet.inference import InferenceWarning, Posterior
from discreet.noise import NotPrivateWarning, SeededBits
from discreet.records import Block

mpl.use("Agg")
import matplotlib.pyplot as plt

LEVELS, BAND, BINS = (0.5, 0.9), 0.999, 10
RUN = {"chains": 2, "draws": 200, "warmup": 200}
FITTED_RUN = RUN | {"draws": 150}
THINNED = 4
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
}

Fate = tuple[float, bool, bool]  # the share of the posterior below the truth; whether 50 % and 90 % intervals hold it
Fates = dict[str, dict[str, Fate]]  # by method and parameter


def of_draws(posterior: Posterior, name: str, truth: np.ndarray, rng: np.random.Generator) -> list[Fate]:
    """Return the fate of each number of a parameter, whose draws are thinned for its rank, ties at random."""
    draws = posterior.draws(name)
    draws, truth = draws.reshape(len(draws), -1), np.ravel(truth)
    thin = draws[::THINNED]
    below = (np.sum(thin < truth, axis=0) + rng.uniform(size=truth.size)) / (len(thin) + 1)
    limits = [np.ravel(posterior.interval(name, level)) for level in LEVELS]
    held = [(low <= truth) & (truth <= high) for low, high in (np.split(both, 2) for both in limits)]
    return list(zip(below.tolist(), held[0].tolist(), held[1].tolist(), strict=True))


def of_share(below: float) -> Fate:
    return below, abs(below - 0.5) <= LEVELS[0] / 2, abs(below - 0.5) <= LEVELS[1] / 2


def of_grid(log_density: np.ndarray, grid: np.ndarray, truth: float) -> Fate:
    """Return the fate under a density on a grid of equal steps, of which each point stands for the step around it."""
    mass = np.exp(log_density - log_density.max())
    edges = np.append(grid, 2 * grid[-1] - grid[-2]) - (grid[1] - grid[0]) / 2
    return of_share(float(np.interp(truth, edges, np.append(0.0, np.cumsum(mass) / mass.sum()))))


# ── coin ────────────────────────────────────────────────────────────────────────────────────────────────────────────

THROWS, TIMES, COIN_EPSILON = 100, 8, 0.15
CHANCES = (np.arange(500) + 0.5) / 500
HEADS = np.arange(THROWS + 1)
LOG_BINOMIAL = binom.logpmf(HEADS, THROWS, CHANCES[:, None])


def coin_model() -> None:
    chance = numpyro.sample("chance", dist.Uniform())
    numpyro.sample("x0", dist.Bernoulli(chance))


def coin(i: int) -> Fates:
    rng, bits = np.random.default_rng([1, i]), SeededBits(i)
    chance = rng.uniform()
    curator = dp.Curator(rng.binomial(1, chance, (THROWS, 1)).astype(float), space=dp.Box(0.0, 1.0))
    question = dp.Sum(curator.space)  # of 2x − 1
    releases = [curator.measure(question, dp.Guarantee(COIN_EPSILON), bits=bits) for _ in range(TIMES)]
    posterior = dp.infer(releases, coin_model, rows=THROWS, start={"chance": 0.5}, seed=i, **RUN)
    heads = (np.array([release.value[0] for release in releases]) + THROWS) / 2
    log_noise = -np.abs(heads[:, None] - HEADS) / (releases[0].noise.scale / 2)
    each = np.array([logsumexp(LOG_BINOMIAL + noise, axis=1) for noise in log_noise])
    seen = float(np.clip(heads.mean(), 0.0, THROWS))
    return {
        "dp.infer": {"chance": of_draws(posterior, "chance", np.array(chance), rng)[0]},
        "sum over the heads": {
            "chance": of_grid(logsumexp(LOG_BINOMIAL + log_noise.sum(axis=0), axis=1), CHANCES, chance)
        },
        "naive": {"chance": of_share(float(beta.cdf(chance, 1 + seen, 1 + THROWS - seen)))},
        "product": {"chance": of_grid(each.sum(axis=0), CHANCES, chance)},
    }


# ── mean ────────────────────────────────────────────────────────────────────────────────────────────────────────────

ROWS, WIDE, NARROW = 200, dp.Box([-5.0], [15.0]), 3.0
LOSSES = dp.GaussianLoss(1.5), dp.GaussianLoss(0.5)  # so that both tell the centre about as well
CENTRE, SPREAD = (5.0, 1.0), (0.0, 0.3)  # of the normal and of the log-normal prior
WEIGHTS = (0.0, 0.5, 0.5)  # no count: it is known
LINE = np.linspace(-10.0, 20.0, 601)  # where the density of a row is summed up
POINTS = 48  # of the grid, each way


def mean_model() -> None:
    centre = numpyro.sample("centre", dist.Normal(*CENTRE))
    spread = numpyro.sample("spread", dist.LogNormal(*SPREAD))
    numpyro.sample("x0", dist.Normal(centre, spread))


class Grid:
    """Centres and logarithms of spreads, the prior at each, and the density of rows along the line."""

    def __init__(self, centre: tuple[float, float], log_spread: tuple[float, float]) -> None:
        self.centre, self.log_spread = np.linspace(*centre, POINTS), np.linspace(*log_spread, POINTS)
        c, s = (axis.ravel() for axis in np.meshgrid(self.centre, self.log_spread, indexing="ij"))
        self.prior = -0.5 * (((c - CENTRE[0]) / CENTRE[1]) ** 2 + ((s - SPREAD[0]) / SPREAD[1]) ** 2)
        density = np.exp(-0.5 * ((LINE - c[:, None]) / np.exp(s)[:, None]) ** 2)
        self.rows = density / density.sum(axis=1, keepdims=True)

    def likelihood(self, z: np.ndarray, contributions: np.ndarray, variances: np.ndarray) -> np.ndarray:
        """Return ln N(z; n·m, n·V + Σ) at all points."""
        d = len(z)
        mean = self.rows @ contributions
        second = self.rows @ (contributions[:, :, None] * contributions[:, None, :]).reshape(len(LINE), -1)
        covariance = ROWS * (second.reshape(-1, d, d) - mean[:, :, None] * mean[:, None, :]) + np.diag(variances)
        away = z - ROWS * mean
        size = np.linalg.slogdet(covariance)[1]
        return -0.5 * (size + (away * np.linalg.solve(covariance, away[:, :, None])[:, :, 0]).sum(axis=1))

    def posterior(self, method: str, releases: list[dp.Release]) -> np.ndarray:
        """Return the log-density that a method gives to each point, shape (centres, spreads)."""
        rows = Block(LINE[:, None], np.zeros((len(LINE), 0), dtype=int))
        known = [
            (release.value, release.question.contributions(rows), np.full(release.value.size, release.noise.variance))
            for release in releases
        ]
        if (
            method == "naive"
        ):  # of the narrower release; next to nothing where all rows are clipped, so that there is an inverse
            result = self.likelihood(*known[1][:2], np.full(len(known[1][0]), 1e-6))
        elif method == "product":
            result = sum(self.likelihood(*one) for one in known)
        else:
            result = self.likelihood(*(np.concatenate(parts, axis=-1) for parts in zip(*known, strict=True)))
        return (result + self.prior).reshape(POINTS, POINTS)

    def around(self, log_density: np.ndarray) -> Grid:
        """Return a grid where the density is not negligible."""
        likely = log_density > log_density.max() - 14.0
        limits = []
        for axis, kept in ((self.centre, likely.any(axis=1)), (self.log_spread, likely.any(axis=0))):
            step, result = axis[1] - axis[0], axis[kept]
            limits.append((float(result[0] - step), float(result[-1] + step)))
        return Grid(*limits)


WHOLE = Grid((CENTRE[0] - 5 * CENTRE[1], CENTRE[0] + 5 * CENTRE[1]), (-5 * SPREAD[1], 5 * SPREAD[1]))


def mean(i: int) -> Fates:
    rng, bits = np.random.default_rng([5, i]), SeededBits(1_000_000 + i)
    centre, log_spread = rng.normal(*CENTRE), rng.normal(*SPREAD)
    rows = rng.normal(centre, math.exp(log_spread), (ROWS, 1))
    first = dp.Curator(rows, space=WIDE).measure(dp.Moments(WIDE, WEIGHTS), LOSSES[0], bits=bits)
    near = float(np.clip(WIDE.from_unit(first["first"] / ROWS)[0], 0.0, 10.0))
    narrow = dp.Box([near - NARROW], [near + NARROW])
    second = dp.Curator(rows, space=narrow).measure(dp.Moments(narrow, WEIGHTS), LOSSES[1], bits=bits)
    posterior = dp.infer([first, second], mean_model, rows=ROWS, start={"centre": near, "spread": 1.0}, seed=i, **RUN)
    truth = {"centre": centre, "spread": math.exp(log_spread)}
    result: Fates = {"dp.infer": {name: of_draws(posterior, name, np.array(at), rng)[0] for name, at in truth.items()}}
    for method in ("joint on a grid", "naive", "product"):
        grid = WHOLE.around(WHOLE.posterior(method, [first, second]))
        fine = grid.posterior(method, [first, second])
        result[method] = {
            "centre": of_grid(logsumexp(fine, axis=1), grid.centre, centre),
            "spread": of_grid(logsumexp(fine, axis=0), grid.log_spread, log_spread),
        }
    return result


# ── what the library fits ───────────────────────────────────────────────────────────────────────────────────────────

FITTED_ROWS = {"logistic": 1000, "objective": 4000, "table": 4000}
FITTED_ROWS |= dict.fromkeys(("mixture", "regression", "classes", "factors", "axes", "centres"), 2000)


def labels(i: int, kind: type, **given: Any) -> Fates:
    rng, n = np.random.default_rng([3, i]), FITTED_ROWS["logistic" if "method" in given else "objective"]
    centre, sd = rng.normal(0.0, 0.5, 2), np.exp(rng.normal(0.0, 0.2, 2))
    root = np.linalg.cholesky(np.array([[1.0, r := rng.uniform(-0.6, 0.6)], [r, 1.0]]))
    coef, intercept = rng.normal(0.0, 1.0, 2), rng.normal(0.0, 0.5)
    X = centre + (rng.normal(size=(n, 2)) @ root.T) * sd
    y = (rng.uniform(size=n) < 1.0 / (1.0 + np.exp(-X @ coef - intercept))).astype(int)
    bounds = dp.Box([-5.0, -5.0], [5.0, 5.0])
    fitted = kind(epsilon=1.0, delta=1e-5, bounds=bounds, classes=[0, 1], random_state=i, **given).fit(X, y)
    posterior = dp.infer(fitted, rows=n, seed=i, **FITTED_RUN)
    fates = of_draws(posterior, "coef", coef, rng) + of_draws(posterior, "intercept", np.array(intercept), rng)
    return {"dp.infer": dict(zip(("coef 0", "coef 1", "intercept"), fates, strict=True))}


def logistic(i: int) -> Fates:
    return labels(i, dp.LogisticRegression, method="gradient")


def objective(i: int) -> Fates:
    return labels(i, dp.LogisticRegression, coordinates="private")


def svc(i: int) -> Fates:
    return labels(i, dp.LinearSVC, coordinates="private")


def mixture(i: int) -> Fates:
    rng, n = np.random.default_rng([4, i]), FITTED_ROWS["mixture"]
    weight, angle = rng.uniform(0.3, 0.7), rng.uniform(0.0, math.pi)
    weights = np.array([weight, 1.0 - weight])
    apart = rng.uniform(1.8, 2.5) * np.array([math.cos(angle), math.sin(angle)])
    means = rng.normal(0.0, 0.5, 2) + np.array([apart, -apart])
    roots = np.linalg.cholesky([np.cov(rng.normal(size=(2, 12))) for _ in weights])
    label = rng.choice(2, n, p=weights)
    X = means[label] + np.einsum("nij,nj->ni", roots[label], rng.normal(size=(n, 2)))
    fitted = dp.GaussianMixture(
        2, epsilon=2.0, delta=1e-5, bounds=dp.Box([-8.0, -8.0], [8.0, 8.0]), n_steps=10, random_state=i
    ).fit(X)
    posterior = dp.infer(fitted, rows=n, seed=i, **FITTED_RUN)
    order = linear_sum_assignment(np.linalg.norm(posterior.mean("means")[:, None] - means, axis=2))[1]
    truth = {"weights": weights, "means": means, "covariances": roots @ np.swapaxes(roots, 1, 2)}
    result = {}
    for name, value in truth.items():
        for at, fate in zip(np.ndindex(value.shape), of_draws(posterior, name, value[order], rng), strict=True):
            if (name == "weights" and at[0]) or (name == "covariances" and at[1] > at[2]):
                continue
            result[f"{name} {''.join(map(str, at))}"] = fate
    return {"dp.infer": result}


def table_mixture(i: int) -> Fates:
    rng, n = np.random.default_rng([11, i]), FITTED_ROWS["table"]
    weight, angle = rng.uniform(0.3, 0.7), rng.uniform(0.0, math.pi)
    weights = np.array([weight, 1.0 - weight])
    apart = rng.uniform(1.8, 2.5) * np.array([math.cos(angle), math.sin(angle)])
    means = rng.normal(0.0, 0.5, 2) + np.array([apart, -apart])
    roots = np.linalg.cholesky([np.cov(rng.normal(size=(2, 12))) for _ in weights])
    wards, sexes = rng.dirichlet(np.full(3, 2.0), 2), rng.dirichlet(np.full(2, 2.0), 2)
    label = rng.choice(2, n, p=weights)
    X = means[label] + np.einsum("nij,nj->ni", roots[label], rng.normal(size=(n, 2)))
    ward = (rng.uniform(size=(n, 1)) > np.cumsum(wards, axis=1)[label, :-1]).sum(axis=1)
    sex = (rng.uniform(size=n) > sexes[label, 0]) * 1
    frame = {"x": X[:, 0], "y": X[:, 1], "ward": np.array(["a", "b", "c"])[ward], "sex": np.array(["f", "m"])[sex]}
    number = dp.Number(-8, 8)
    schema = dp.Schema({"x": number, "y": number, "ward": dp.Category(["a", "b", "c"]), "sex": dp.Category(["f", "m"])})
    fitted = dp.TableMixture(2, epsilon=2.0, delta=1e-5, schema=schema, random_state=i).fit(pd.DataFrame(frame))
    posterior = dp.infer(fitted, rows=n, seed=i, **FITTED_RUN)
    order = linear_sum_assignment(np.linalg.norm(posterior.mean("means")[:, None] - means, axis=2))[1]
    covariances = roots @ np.swapaxes(roots, 1, 2)
    mean = weights @ means
    whole = np.einsum("k,kij->ij", weights, covariances + np.einsum("ki,kj->kij", means - mean, means - mean))
    truth = {
        "weights": weights[order],
        "means": means[order],
        "covariances": covariances[order],
        "ward by component": wards[order],
        "sex by component": sexes[order],
        "ward": weights @ wards,
        "sex": weights @ sexes,
        "covariance": whole,
    }
    return numbered(posterior, truth, rng)


def numbered(posterior: Posterior, truth: dict[str, np.ndarray], rng: np.random.Generator) -> Fates:
    """Return the fates of all numbers of some quantities, each called by its place."""
    result = {}
    for name, value in truth.items():
        for at, fate in zip(np.ndindex(value.shape), of_draws(posterior, name, value, rng), strict=True):
            result[f"{name} {''.join(map(str, at))}".strip()] = fate
    return {"dp.infer": result}


def shares(i: int) -> Fates:
    rng, n = np.random.default_rng([5, i]), 1000
    truth = rng.dirichlet(np.ones(6))
    cells = rng.choice(6, n, p=truth)
    columns = {"sex": np.array(["f", "m"])[cells // 3], "ward": np.array(["a", "b", "c"])[cells % 3]}
    schema = dp.Schema({"sex": dp.Category(["f", "m"]), "ward": dp.Category(["a", "b", "c"])})
    curator = dp.Curator(pd.DataFrame(columns), schema=schema)
    answer = dp.statistics.crosstab(curator, "sex", "ward", epsilon=0.2, delta=1e-5, bits=SeededBits(i))
    posterior = dp.infer(answer, rows=n, seed=i, **RUN)
    return numbered(posterior, {"shares": truth.reshape(2, 3)}, rng)


def draw_gaussian(rng: np.random.Generator, d: int, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a mean, a covariance, and rows."""
    mean, covariance = rng.normal(0.0, 0.7, d), np.cov(rng.normal(size=(d, 8)))
    return mean, covariance, rng.multivariate_normal(mean, covariance, n)


def regression(i: int) -> Fates:
    rng, n = np.random.default_rng([6, i]), FITTED_ROWS["regression"]
    _, _, X = draw_gaussian(rng, 2, n)
    coef, intercept, noise = rng.normal(0.0, 0.8, 2), rng.normal(), rng.uniform(0.5, 1.5)
    y = X @ coef + intercept + rng.normal(0.0, noise, n)
    given = {"bounds": (-6, 6), "target_bounds": (-12, 12), "epsilon": 1.0, "delta": 1e-5, "random_state": i}
    posterior = dp.infer(dp.LinearRegression(**given).fit(X, y), rows=n, seed=i, **FITTED_RUN)
    return numbered(posterior, {"coef": coef, "intercept": np.array(intercept), "noise": np.array(noise)}, rng)


def classes(i: int) -> Fates:
    rng, n = np.random.default_rng([12, i]), FITTED_ROWS["classes"]
    prior, means = rng.uniform(0.3, 0.7), rng.normal(0.0, 1.5, (2, 2))
    covariances = np.array([np.cov(rng.normal(size=(2, 10))) for _ in means])
    y = (rng.uniform(size=n) > prior).astype(int)
    X = means[y] + np.einsum("nij,nj->ni", np.linalg.cholesky(covariances)[y], rng.normal(size=(n, 2)))
    given = {"bounds": (-8, 8), "classes": [0, 1], "epsilon": 1.0, "delta": 1e-5, "random_state": i}
    posterior = dp.infer(dp.GaussianClassifier(**given).fit(X, y), rows=n, seed=i, **FITTED_RUN)
    truth = {"class_prior": np.array([prior, 1.0 - prior]), "means": means, "covariances": covariances}
    return numbered(posterior, truth, rng)


def factors(i: int) -> Fates:
    rng, n, d = np.random.default_rng([13, i]), FITTED_ROWS["factors"], 4
    loadings, noise = rng.uniform(0.6, 1.2, d), rng.uniform(0.3, 0.8, d)
    X = rng.normal(0.0, 0.5, d) + rng.normal(size=(n, 1)) * loadings + rng.normal(size=(n, d)) * np.sqrt(noise)
    given = {"bounds": (-7, 7), "epsilon": 2.0, "delta": 1e-5, "random_state": i}
    posterior = dp.infer(dp.FactorAnalysis(1, **given).fit(X), rows=n, seed=i, **FITTED_RUN)
    found = posterior.mean("loadings")
    truth = {"loadings": (loadings * np.sign(found.sum())).reshape(found.shape), "noise_variance": noise}
    return numbered(posterior, truth, rng)


def axes(i: int) -> Fates:
    rng, n = np.random.default_rng([7, i]), FITTED_ROWS["axes"]
    _, covariance, X = draw_gaussian(rng, 3, n)
    fitted = dp.PCA(2, bounds=(-7, 7), epsilon=1.0, delta=1e-5, random_state=i).fit(X)
    posterior = dp.infer(fitted, rows=n, seed=i, **FITTED_RUN)
    values, vectors = np.linalg.eigh(covariance)
    first = vectors[:, -1] * math.copysign(1.0, float(vectors[:, -1] @ posterior.mean("components")[0]))
    fates = of_draws(posterior, "explained_variance", values[::-1][:2], rng)
    fates += of_draws(posterior, "components", np.stack([first, first]), rng)[:3]
    names = ("variance 0", "variance 1", "axis 00", "axis 01", "axis 02")
    return {"dp.infer": dict(zip(names, fates, strict=True))}


def centres(i: int) -> Fates:
    rng, n = np.random.default_rng([8, i]), FITTED_ROWS["centres"]
    angle, weight = rng.uniform(0.0, math.pi), rng.uniform(0.3, 0.7)
    apart = rng.uniform(2.0, 3.0) * np.array([math.cos(angle), math.sin(angle)])
    means = rng.normal(0.0, 0.5, 2) + np.array([apart, -apart])
    spread, label = rng.uniform(0.5, 1.0, 2), (rng.uniform(size=n) > weight).astype(int)
    X = means[label] + spread[label][:, None] * rng.normal(size=(n, 2))
    fitted = dp.KMeans(2, bounds=(-8, 8), epsilon=1.0, delta=1e-5, random_state=i).fit(X)
    posterior = dp.infer(fitted, rows=n, seed=i, **FITTED_RUN)
    order = linear_sum_assignment(np.linalg.norm(fitted.cluster_centers_[:, None] - means, axis=2))[1]
    truth = {"cluster_centers": means[order], "variances": spread[order] ** 2}
    return numbered(posterior, truth, rng)


# ── series ──────────────────────────────────────────────────────────────────────────────────────────────────────────

STEPS = 24


def draw_series(unit: float, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return a series of the local level model, whose standard deviations are half-Cauchy with this scale."""
    moves, scatter = (unit * abs(math.tan(math.pi * (rng.uniform() - 0.5))) for _ in range(2))
    level = np.cumsum(rng.normal(0.0, moves, STEPS))
    totals = rng.normal(level, scatter)
    return {
        "totals": totals, "sums": np.cumsum(totals), "level": level,
        "level_sd": np.array(moves), "total_sd": np.array(scatter),
    }  # fmt: skip


def as_events(totals: np.ndarray) -> np.ndarray:
    """Return rows of times and values in [−1, 1] with these totals."""
    counts = np.ceil(np.abs(totals)).astype(int) + 1
    return np.column_stack([np.repeat(np.arange(STEPS) + 0.5, counts), np.repeat(totals / counts, counts)])


def series(i: int, measure: Callable[..., Any]) -> Fates:
    rng = np.random.default_rng([9, i])
    given: dict[str, Any] = {"time": 0, "value": 1, "steps": STEPS, "epsilon": 3.0, "bounds": [(0, STEPS), (-1, 1)]}
    unit = math.sqrt(measure(as_events(np.zeros(STEPS)), **given, bits=SeededBits(0)).releases[0].noise.variance)
    truth = draw_series(unit, rng)
    posterior = dp.infer(measure(as_events(truth["totals"]), **given, bits=SeededBits(i)), seed=i)
    places = {"totals": (0, STEPS // 2, STEPS - 1), "sums": (STEPS - 1,), "level": (0, STEPS // 2)}
    result = {}
    for name, value in truth.items():
        fates = of_draws(posterior, name, value, rng)
        result |= {f"{name} {place}": fates[place] for place in places.get(name, ())} or {name: fates[0]}
    return {"dp.infer": result}


def sums(i: int) -> Fates:
    return series(i, dp.signals.running_sum)


def states(i: int) -> Fates:
    return series(i, dp.signals.kalman)


# ── quantiles ───────────────────────────────────────────────────────────────────────────────────────────────────────

DEPTH, MEDIAN_ROWS = 14, 1000


def draw_shares(rng: np.random.Generator) -> np.ndarray:
    """Return the shares of 2^DEPTH equal cells of the bounds, from the prior of ``share_tree``."""
    shares = np.ones(1)
    for depth in range(DEPTH):
        half = max(1.0, depth - 2.0) ** 2 / 2.0
        left = rng.beta(half, half, len(shares))
        shares = np.stack([shares * left, shares * (1.0 - left)], axis=1).ravel()
    return shares


def median(i: int) -> Fates:
    rng = np.random.default_rng([10, i])
    shares = draw_shares(rng)
    truth = np.interp([0.5], np.append(0.0, np.cumsum(shares)), np.linspace(0.0, 1.0, len(shares) + 1))
    rows = (rng.choice(len(shares), MEDIAN_ROWS, p=shares) + rng.uniform(size=MEDIAN_ROWS)) / len(shares)
    answer = dp.statistics.median(rows, epsilon=1.0, bounds=(0, 1), bits=SeededBits(i))
    return numbered(dp.infer(answer, seed=i, chains=2, draws=100), {"quantiles": truth}, rng)


# ── several synthetic tables ────────────────────────────────────────────────────────────────────────────────────────

PEOPLE, TABLES = 5000, 10
SEXES, WARDS = ["f", "m"], ["a", "b", "c"]
PEOPLE_SCHEMA = dp.Schema(
    {
        "sex": dp.Category(SEXES),
        "ward": dp.Category(WARDS),
        "age": dp.Number(0, 110),
        "bmi": dp.Number(5, 45),
    }
)
MIDDLES, WIDTHS = np.array([50.0, 25.0]), np.array([12.0, 4.0])


@dataclass(frozen=True)
class People:
    """A table of two categories, and two numbers that are Gaussian in each of their cells, with one covariance."""

    cells: np.ndarray  # the probability of each sex and ward
    means: np.ndarray  # of the numbers in each cell
    within: np.ndarray  # their covariance in a cell

    @classmethod
    def draw(cls, rng: np.random.Generator) -> People:
        """Return a population."""
        cells = rng.dirichlet(np.full(6, 10.0)).reshape(2, 3)
        by_sex, by_ward = rng.normal(0.0, 0.4, (2, 1, 2)), rng.normal(0.0, 0.4, (1, 3, 2))
        tied = rng.uniform(-0.6, 0.6) * np.prod(WIDTHS)
        within = np.array([[WIDTHS[0] ** 2, tied], [tied, WIDTHS[1] ** 2]])
        return cls(cells, MIDDLES + WIDTHS * (by_sex + by_ward), within)

    def rows(self, rng: np.random.Generator) -> pd.DataFrame:
        """Return rows of it."""
        cell = rng.choice(6, PEOPLE, p=self.cells.ravel())
        numbers = self.means.reshape(6, 2)[cell] + rng.multivariate_normal(np.zeros(2), self.within, PEOPLE)
        categories = {"sex": np.array(SEXES)[cell // 3], "ward": np.array(WARDS)[cell % 3]}
        return pd.DataFrame({**categories, "age": numbers[:, 0], "bmi": numbers[:, 1]})

    @property
    def mean(self) -> np.ndarray:
        """The mean of all rows."""
        return np.einsum("sw,swi->i", self.cells, self.means)

    @property
    def covariance(self) -> np.ndarray:
        """The covariance of all rows."""
        away = self.means - self.mean
        return self.within + np.einsum("sw,swi,swj->ij", self.cells, away, away)

    @property
    def rank_correlation(self) -> float:
        """12·P(X < x, Y < y) − 3, where (x, y) is one row, and X and Y are of two others."""
        p, mu = self.cells.ravel(), self.means.reshape(6, 2)
        x, y = np.broadcast_arrays(mu[:, None, None, 0] - mu[:, None, 0], mu[:, None, None, 1] - mu[:, 1])
        apart = multivariate_normal([0.0, 0.0], self.within + np.diag(np.diag(self.within)))
        below = apart.cdf(np.stack([x, y], axis=-1))
        return float(12.0 * np.einsum("k,i,j,kij->", p, p, p, below) - 3.0)


def analyse(table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return what an analyst computes from a table as if it were data, with standard errors."""
    there = [(table["sex"] == sex) & (table["ward"] == ward) for sex in SEXES for ward in WARDS]
    columns = [*np.array(there, dtype=float), *table[["age", "bmi"]].to_numpy().T]
    x, y = (column - column.mean() for column in columns[-2:])
    u, v = x / x.std(), y / y.std()
    r = float((u * v).mean())
    estimates = [*(column.mean() for column in columns), float((x * y).mean()), r]
    spreads = [*(column.std() for column in columns), (x * y).std(), (u * v - r * (u**2 + v**2) / 2.0).std()]
    return np.array(estimates), np.array(spreads) / math.sqrt(len(table))


def synthesizer(i: int) -> Fates:
    rng = np.random.default_rng([15, i])
    people = People.draw(rng)
    fitted = dp.TableSynthesizer(epsilon=1.0, delta=1e-6, schema=PEOPLE_SCHEMA, random_state=i).fit(people.rows(rng))
    posterior = dp.infer(fitted, chains=1, draws=400, seed=i)
    shares = {"sex": people.cells.sum(axis=1), "ward": people.cells.sum(axis=0)}
    result = numbered(posterior, shares, rng)
    ranks = of_draws(posterior, "correlations", np.full((2, 2), people.rank_correlation), rng)
    result["dp.infer"]["rank correlation"] = ranks[1]
    covariance = people.covariance
    r = covariance[0, 1] / math.sqrt(covariance[0, 0] * covariance[1, 1])
    truth = np.array([*people.cells.ravel(), *people.mean, covariance[0, 1], r])
    names = [*(f"{sex} {ward}" for sex in SEXES for ward in WARDS), "mean age", "mean bmi", "covariance", "correlation"]
    fits = [analyse(table) for table in posterior.synthesize(TABLES, seed=i)]
    errors = dp.combine([(estimates - truth, spreads) for estimates, spreads in fits])
    sides = np.where(errors.estimates < 0.0, 1.0 - errors.p_values() / 2.0, errors.p_values() / 2.0)
    result["dp.combine"] = {name: of_share(float(below)) for name, below in zip(names, sides, strict=True)}
    return result


# ── models of one's own ─────────────────────────────────────────────────────────────────────────────────────────────

VISITS = 2000
VISIT_SCHEMA = dp.Schema({"age": dp.Number(0, 100), "sick": dp.Category(["no", "yes"]), "stay": dp.Number(0, 60)})
AGE_GROUPS = [0, 30, 40, 50, 60, 70, 100]


def age_and_sickness() -> None:
    level, slope = numpyro.sample("level", dist.Normal(0.0, 0.7)), numpyro.sample("slope", dist.Normal(0.0, 0.7))
    numpyro.sample("sick", dist.Bernoulli(logits=level + slope * _sample_age()))


def age_and_stay() -> None:
    rise, scatter = numpyro.sample("rise", dist.Normal(0.0, 0.3)), numpyro.sample("scatter", dist.LogNormal(-0.7, 0.25))
    numpyro.sample("stay", dist.LogNormal(2.0 + rise * _sample_age(), scatter))


def _sample_age() -> Any:
    centre = numpyro.sample("centre", dist.Normal(50.0, 8.0))
    age = numpyro.sample("age", dist.Normal(centre, numpyro.sample("spread", dist.LogNormal(math.log(12.0), 0.25))))
    return (age - 50.0) / 15.0


def own(i: int) -> Fates:
    rng = np.random.default_rng([16, i])
    truth = {
        "centre": rng.normal(50.0, 8.0),
        "spread": 12.0 * math.exp(rng.normal(0.0, 0.25)),
        "level": rng.normal(0.0, 0.7),
        "slope": rng.normal(0.0, 0.7),
        "rise": rng.normal(0.0, 0.3),
        "scatter": math.exp(rng.normal(-0.7, 0.25)),
    }
    age = rng.normal(truth["centre"], truth["spread"], VISITS)
    z = (age - 50.0) / 15.0
    sick = rng.uniform(size=VISITS) < 1.0 / (1.0 + np.exp(-truth["level"] - truth["slope"] * z))
    stay = np.exp(rng.normal(2.0 + truth["rise"] * z, truth["scatter"]))
    visits = pd.DataFrame({"age": age, "sick": np.where(sick, "yes", "no"), "stay": stay})
    curator = dp.Curator(visits, schema=VISIT_SCHEMA, neighbors="replace-one")
    given: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "bits": SeededBits(i)}
    histogram = dp.statistics.histogram(curator, "age", bins=20, **given)
    crosstab = dp.statistics.crosstab(curator, "sick", "age", bins=AGE_GROUPS, **given)
    trend = dp.statistics.trend(curator, "stay", over="age", bins=AGE_GROUPS, **given)
    line = dp.LinearRegression(epsilon=1.0, delta=1e-6, random_state=i).fit(curator.only(["age", "stay"]), "stay")
    sources: dict[str, tuple[Any, Callable[[], None]]] = {
        "histogram, cross-tab": ([histogram, crosstab], age_and_sickness),
        "trend": (trend, age_and_stay),
        "regression": (line, age_and_stay),
    }
    result: Fates = {}
    for name, (releases, model) in sources.items():
        posterior = dp.infer(releases, model, rows=VISITS, seed=i, **RUN)
        known = {parameter: np.array(value) for parameter, value in truth.items() if parameter in posterior.names}
        result[f"dp.infer, {name}"] = numbered(posterior, known, rng)["dp.infer"]
    return result


# ── tables and figures ──────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Case:
    """A kind of data sets: how many, how one goes, and whether parameters are drawn from the prior."""

    sets: int
    one: Callable[[int], Fates]
    ranked: bool


CASES = {
    "mean": Case(2000, mean, True),
    "coin": Case(2000, coin, True),
    "logistic": Case(200, logistic, False),
    "objective": Case(200, objective, False),
    "svc": Case(200, svc, False),
    "mixture": Case(200, mixture, False),
    "table": Case(200, table_mixture, False),
    "shares": Case(500, shares, True),
    "regression": Case(200, regression, False),
    "classes": Case(200, classes, False),
    "factors": Case(200, factors, False),
    "axes": Case(200, axes, False),
    "centres": Case(200, centres, False),
    "sums": Case(1000, sums, True),
    "states": Case(300, states, True),
    "median": Case(300, median, True),
    "synthesizer": Case(200, synthesizer, False),
    "own": Case(200, own, True),
}


def band(level: float, sets: int) -> tuple[float, float]:
    """Return between which shares coverage lies with probability BAND, if it is right."""
    low, high = binom.ppf([(1 - BAND) / 2, (1 + BAND) / 2], sets, level) / sets
    return float(low), float(high)


def run_one(name: str, i: int) -> dict[str, Any]:
    """Return the fates of one set, and whether its chains complained; or how it failed."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("error")
        for kind in (NotPrivateWarning, DeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", kind)
        warnings.simplefilter("always", InferenceWarning)
        warnings.filterwarnings("ignore", "the fit is dominated by noise")  # its posterior is calibrated too
        try:
            fates = CASES[name].one(i)
        except Exception:
            return {"failed": traceback.format_exc()}
    return {"complained": bool(caught), "fates": fates}


def run_all(name: str, places: Sequence[int], jobs: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number of each set, and what ``run_one`` returns for it, as they come from so many processes."""
    if jobs == 1:
        yield from ((i, run_one(name, i)) for i in places)
        return
    for variable, value in ONE_THREAD.items():  # processes read them when they start
        os.environ.setdefault(variable, value)
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        waiting = {pool.submit(run_one, name, i): i for i in places}
        yield from ((waiting[one], one.result()) for one in as_completed(waiting))


def run(name: str, sets: int, jobs: int, out: Path) -> dict[str, Any]:
    """Run the sets that the file does not have yet, write it as they come, and return the results."""
    known = json.loads(out.read_text()) if out.exists() else {}
    seconds, each = known.get("seconds", 0.0), {int(i): one for i, one in known.get("each", {}).items()}
    missing, start = [i for i in range(sets) if i not in each], time.perf_counter()
    print(f"{name}: {len(each)} sets in {out}, {len(missing)} to run", flush=True)
    for done, (i, one) in enumerate(run_all(name, missing, jobs), 1):
        if "failed" in one:
            print(f"{name}: set {i} failed, and is left out\n{one['failed']}", flush=True)
        else:
            each[i] = one
        if done % max(1, sets // 20) == 0 or done == len(missing):
            known = summarise(name, each, seconds + time.perf_counter() - start) | {"each": each}
            part = out.with_suffix(".part")
            part.write_text(json.dumps(known))
            part.replace(out)
            print(f"{name}: {len(each)} sets, {known['seconds']:.0f} s", flush=True)
    return known


def summarise(name: str, each: dict[int, Any], seconds: float) -> dict[str, Any]:
    """Return the lines of the table from the fates of all sets."""
    result: dict[str, dict[str, list[Fate]]] = {}
    for i in sorted(each):
        for method, parameters in each[i]["fates"].items():
            for parameter, fate in parameters.items():
                result.setdefault(method, {}).setdefault(parameter, []).append(fate)
    return {
        "name": name, "sets": len(each), "ranked": CASES[name].ranked, "seconds": seconds,
        "complaints": sum(one["complained"] for one in each.values()),
        "bands": [band(level, len(each)) for level in LEVELS],
        "lines": [line(method, *one) for method, parameters in result.items() for one in parameters.items()],
    }  # fmt: skip


def line(method: str, parameter: str, fates: list[Fate]) -> dict[str, Any]:
    below, *held = (np.array(part) for part in zip(*fates, strict=True))
    counts = np.bincount(np.minimum((below * BINS).astype(int), BINS - 1), minlength=BINS)
    return {
        "method": method, "parameter": parameter, "coverage": [float(inside.mean()) for inside in held],
        "p": float(chisquare(counts).pvalue), "counts": counts.tolist(), "below": np.round(below, 5).tolist(),
    }  # fmt: skip


def table(result: dict[str, Any]) -> Iterator[str]:
    bands = [f"{low:.1%} to {high:.1%}" for low, high in result["bands"]]
    yield f"### {result['name']}: {result['sets']} sets, {result['seconds'] / result['sets']:.2f} s each"
    yield f"The chains of {result['complaints']} complained. Outside the {BAND:.1%} band: in bold.\n"
    yield f"| posterior | parameter | 50 % ({bands[0]}) | 90 % ({bands[1]}) | p of the ranks |"
    yield "| --- | --- | --- | --- | --- |"
    for one in result["lines"]:
        cells = [
            f"{share:.1%}" if low <= share <= high else f"**{share:.1%}**"
            for share, (low, high) in zip(one["coverage"], result["bands"], strict=True)
        ]
        rank = f"{one['p']:.2g}" if result["ranked"] else "–"
        yield f"| {one['method']} | {one['parameter']} | {' | '.join(cells)} | {rank} |"


def figure(result: dict[str, Any], path: Path) -> None:
    """Draw how far the distribution of ranks is from uniform, with the band at each place."""
    parameters = list(dict.fromkeys(one["parameter"] for one in result["lines"]))
    across = min(len(parameters), 4)
    down = -(-len(parameters) // across)
    drawing, panels = plt.subplots(
        down, across, figsize=(4.2 * across, 3.6 * down), squeeze=False, layout="constrained"
    )
    at, sets = np.linspace(0.0, 1.0, 201), result["sets"]
    low, high = binom.ppf([[(1 - BAND) / 2], [(1 + BAND) / 2]], sets, at) / sets - at
    for axis, parameter in zip(panels.flat, parameters, strict=False):
        axis.fill_between(at, low, high, color="0.85")
        for one in result["lines"]:
            if one["parameter"] == parameter:
                axis.plot(at, np.searchsorted(np.sort(one["below"]), at) / sets - at, label=one["method"])
        axis.set(title=parameter, xlabel="share of the posterior below the truth")
    for axis in panels.flat[len(parameters) :]:
        axis.remove()
    panels[0, 0].set_ylabel("distribution minus uniform")
    panels[0, 0].legend(fontsize="small")
    drawing.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", nargs="?", default="all", choices=[*CASES, "all"])
    parser.add_argument("--sets", type=int, help="how many data sets in all; by default as many as the figures need")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes of a thread; each compiles for itself")
    parser.add_argument("--out", type=Path, help="where the numbers are and go, and the figure beside them")
    given = parser.parse_args()
    if given.name == "all" and given.out is not None:
        parser.error("--out: expected one name, since all of them write a file each")
    for name in CASES if given.name == "all" else [given.name]:
        out = given.out or Path("build/calibration") / f"{name}.json"
        out.parent.mkdir(parents=True, exist_ok=True)
        result = run(name, given.sets or CASES[name].sets, given.jobs, out)
        figure(result, out.with_suffix(".png"))
        print("\n".join(table(result)))


if __name__ == "__main__":
    main()
