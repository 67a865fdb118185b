"""The logistic regressions of Williams and McSherry (2010), section 4.1: five sets, noisy gradients, inference.

*heuristic*: gradient ascent from a random point, noisy gradients of the rows as they are declared, the last iterate.
*inference*: ``dp.infer`` on the same releases. The model of a row is a Gaussian for the features, whose mean and
covariance (shrunk as Ledoit and Wolf do) are those of ``UNLABELLED`` public rows without labels, and a logistic label.
All under add-remove, with Gaussian noise and δ = 1e-6; the paper has Laplace noise, and a step size and a number of
steps that it does not state. The number of rows is taken for known.

SYNTH, CM1 and CM2 are drawn anew for each run, and as many rows to test. Pima has 691 private rows, as the paper's, and
they are the test rows too. Adult (six numeric columns) has 16,000, half of them of each class, and 7,000 to test.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import discreet as dp
from discreet.noise import SeededBits
from discreet.queries.objectives.gradients import MarginGradient
from discreet.queries.objectives.labelled_rows import Features
from discreet.queries.objectives.margin_losses import Logistic
from discreet.records import Block

__all__ = [
    "DELTA",
    "SETS",
    "STEPS",
    "Split",
    "gradients",
    "inferred",
    "loss_a_step",
    "private_fits",
    "split",
    "without_privacy",
]

Array = NDArray[Any]

DELTA, STEPS, CONSTANT = 1e-6, 8, 0.5
SETS = ("synth", "cm1", "cm2", "pima", "adult")
UNLABELLED = 77  # what the paper leaves of Pima
SLOPE = 2.5  # of the log-odds a standard deviation of a feature: the prior
RUN: dict[str, Any] = {"chains": 2, "draws": 100, "warmup": 150, "seed": 0}


@dataclass(frozen=True, eq=False)
class Split:
    """Private rows, test rows, and public rows without labels; bounds are public."""

    X: Array
    y: Array
    test: Array
    truth: Array
    public: Array
    box: dp.Box

    def error(self, scores: Array) -> float:
        """Return the share of test rows that are wrong, in percent."""
        return 100.0 * float(np.mean((scores > 0.0) != self.truth))


@lru_cache(maxsize=4)
def split(name: str, seed: int) -> Split:
    """Return one of the sets, split for a run."""
    rng = np.random.default_rng(seed)
    if name in ("synth", "cm1", "cm2"):
        make = getattr(dp.datasets, f"make_{name}")
        n = 1_000 if name == "synth" else 17_500
        # Both halves come from one call, so that their labels have one distribution.
        data, public = make(2 * n, random_state=seed), make(random_state=10**9)
        parts = (data.X[:n], data.y[:n], data.X[n:], data.y[n:], public.X[:UNLABELLED])
    else:
        data = dp.datasets.load_adult() if name == "adult" else dp.datasets.fetch_pima()
        given = np.asarray(data.y)
        y = given == np.max(given)
        fixed = np.random.default_rng(0).permutation(len(y))  # the same public rows in every run
        places, rest = fixed[:UNLABELLED], rng.permutation(fixed[UNLABELLED:])
        train = rest if name == "pima" else _balanced(rest, y, 16_000)
        test = rest if name == "pima" else _balanced(np.setdiff1d(rest, train), y, 7_000)
        parts = (data.X[train], y[train], data.X[test], y[test], data.X[places])
    low, high = (np.array(end) for end in zip(*data.bounds, strict=True))
    rows, labels, tested, truth, known = (np.asarray(part) for part in parts)
    return Split(rows, labels == np.max(labels), tested, truth == np.max(truth), known, dp.Box(low, high))


def _balanced(places: Array, y: Array, count: int) -> Array:
    return np.concatenate([places[y[places] == value][: count // 2] for value in (False, True)])


@lru_cache(maxsize=8)
def _model_of(name: str) -> tuple[Callable[[], None], Features]:
    """Return the model of one row, the same for all runs, so that it is compiled once; and the features."""
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    from sklearn.covariance import LedoitWolf

    known = split(name, 0)
    features = Features(known.box.for_columns(known.X.shape[1]), CONSTANT)
    u = _seen(features, known.public)[:, :-1]
    mean, units = known.public.mean(axis=0), np.asarray(features.space.scale)
    spread = LedoitWolf().fit(known.public / units).covariance_  # so few rows say little about correlations
    root, deviations = units[:, None] * np.linalg.cholesky(spread), u.std(axis=0) + 1e-3

    def model() -> None:
        slopes = numpyro.sample("slopes", dist.Normal(0.0, SLOPE).expand((len(mean),)).to_event(1))
        level = numpyro.sample("level", dist.Normal(0.0, SLOPE))
        weights = slopes / deviations
        x = numpyro.sample("row", dist.MultivariateNormal(mean, scale_tril=root))
        seen = features.map_rows(Block(x[None, :], jnp.zeros((1, 1), dtype=int)))[0, :-1]
        score = level + weights @ (seen - u.mean(axis=0))
        numpyro.sample("label", dist.Categorical(logits=jnp.stack([0.0, score])))
        numpyro.deterministic("weights", weights)
        numpyro.deterministic("intercept", level - weights @ u.mean(axis=0))

    return model, features


def _seen(features: Features, rows: Array) -> Array:
    return np.asarray(features.map_rows(Block(rows, np.zeros((len(rows), 1), dtype=int))))


def loss_a_step(epsilon: float, steps: int = STEPS) -> float:
    """Return μ of each of some Gaussian releases that cost ε together."""
    from discreet.guarantees.normal import normal_mu

    return float(normal_mu(epsilon, DELTA)) / math.sqrt(steps)


def gradients(name: str, data: Split, mu: float, steps: int, seed: int) -> Iterator[tuple[Any, float]]:
    """Yield each release and the test error of the iterate after it, every step at a loss of μ."""
    _, features = _model_of(name)
    d = data.X.shape[1]
    box = data.box.for_columns(d)
    ends = zip(np.asarray(box.low).tolist(), np.asarray(box.high).tolist(), strict=True)
    columns: dict[str, Any] = {f"x{j}": dp.Number(low, high) for j, (low, high) in enumerate(ends)}
    schema = dp.Schema(columns | {"label": dp.Category([0, 1])})
    rows = np.column_stack([data.X, data.y.astype(float)])
    curator = dp.Curator(rows, schema=schema, neighbors="add-remove")
    curvature = np.append(np.full(d, (1.0 - CONSTANT**2) / (4.0 * d)), CONSTANT**2) / 4.0
    theta = np.random.default_rng(seed).standard_normal((1, d + 1))
    loss = dp.GaussianLoss(mu, neighbors=dp.Neighbors.ADD_REMOVE)
    bits, u = SeededBits(seed), _seen(features, data.test)
    for _ in range(steps):
        question = MarginGradient(features, Logistic(), theta, 2)
        release = curator.measure(question, loss, bits=bits)
        theta = theta - release["gradient"] / len(data.X) / curvature
        yield release, data.error((u @ theta.T)[:, 0])


def inferred(name: str, data: Split, releases: list[Any], public: Any = None) -> dict[str, float]:
    """Return the expected error over the posterior, as the paper has it, and that of the averaged probabilities."""
    from scipy.special import expit

    from discreet.inference import InferenceWarning

    model, features = _model_of(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InferenceWarning)  # of short chains
        posterior = dp.infer(releases, model, rows=float(len(data.X)), public=public, undetermined="prior", **RUN)
    scores = _seen(features, data.test)[:, :-1] @ posterior.draws("weights").T + posterior.draws("intercept")
    return {
        "inference": float(np.mean([data.error(each) for each in scores.T])),
        "averaged": data.error(expit(scores).mean(axis=1) - 0.5),
    }


def private_fits(data: Split, epsilon: float, seed: int) -> dict[str, float]:
    """Return the test errors of this library's own classifiers at ε and δ = 1e-6, as they are."""
    how: dict[str, Any] = {"epsilon": epsilon, "delta": DELTA, "bounds": data.box, "classes": [0, 1]}
    how |= {"neighbors": "add-remove", "random_state": seed}
    y = data.y.astype(int)
    linear = dp.LogisticRegression(**how).fit(data.X, y)
    tied = dp.GaussianClassifier(covariance_type="tied", **how).fit(data.X, y)
    return {
        "ours": data.error(linear.decision_function(data.test)),
        "tied": data.error(tied.predict_proba(data.test)[:, 1] - 0.5),
    }


def without_privacy(data: Split) -> float:
    """Return the test error of logistic regression on the rows themselves."""
    from sklearn.linear_model import LogisticRegression

    rows, test = (np.asarray(data.box.to_unit(some)) for some in (data.X, data.test))
    plain = LogisticRegression(C=1e4, max_iter=10_000).fit(rows, data.y)
    return data.error(plain.decision_function(test))
