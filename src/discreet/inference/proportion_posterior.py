"""The posterior of a share of a population, from noisy numbers of rows that meet a condition and that do not.

All pairs of these numbers are equally likely beforehand, which for a known number of rows is a uniform share. So the
numbers given the releases are as likely as their noise, and given them a share is Beta(met + 1, others + 1). Rows of
one person are taken to be alike: n rows of persons with up to m count as n/m.
"""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import laplace, norm

from discreet.arguments import UNSHOWN, ArgumentError, positive
from discreet.door.release import describe_rows_of_releases
from discreet.inference.posterior import Diagnostics, PosteriorDraws, to_data_tree
from discreet.noise import NoiseDistribution
from discreet.queries.adaptors import Weighted
from discreet.statistics import Proportion

Array = NDArray[np.float64]


def infer_proportion(
    answer: Proportion, rows: float | None, chains: int, draws: int, seed: int | None
) -> PosteriorDraws:
    """Return the posterior of the population's share, in every group.

    Parameters
    ----------
    answer : Proportion
    rows : float or None
        The number of rows, where it is known and not public.
    chains, draws : int
    seed : int or None
    """
    release = answer.release
    noise, question = release.noise, release.question
    while question is not None and not isinstance(question, Weighted):
        question = getattr(question, "query", None)
    if isinstance(question, Weighted):
        raise ArgumentError(
            "releases", UNSHOWN, "a share without weights, for which there is no model of rows; leave weights out"
        )
    assert noise is not None  # a count has additive noise
    counts = release["counts"].reshape(np.size(answer.value), -1)
    total = release.size.rows if rows is None or counts.shape[1] == 2 else positive("rows", rows)
    if rows is not None and total != rows:
        raise ArgumentError("rows", rows, "None, since the releases count the rows")
    rng = np.random.default_rng(secrets.randbits(64) if seed is None else seed)
    shape, persons = (chains, draws, len(counts)), float(release.declared.get("max_rows") or 1)
    if counts.shape[1] == 1:
        assert total is not None  # otherwise both are counted
        met = _draw_count(counts[:, 0], float(total), noise, shape, rng)
        others = total - met
    else:
        met, others = (_draw_count(counts[:, place], np.inf, noise, shape, rng) for place in (0, 1))
    shares = rng.beta(met / persons + 1.0, others / persons + 1.0)
    groups = answer.groups is not None
    which = describe_rows_of_releases(answer.releases)
    facts: dict[str, Any] = {"likelihood": "exact", "sampler": "independent", "neighbors": release.neighbors.value}
    facts |= {} if which is None else {"which_rows": which}
    tree = to_data_tree(
        {"share": shares if groups else shares[:, :, 0]},
        np.zeros((chains, draws), dtype=bool),
        {"share": ["group"] if groups else []},
        {"group": [str(label) for label in answer.groups or ()]},
        facts,
    )
    found = Diagnostics(1.0, float(chains * draws), 0, chains * draws, 1.0, "independent", own_model=False)
    return PosteriorDraws(tree, "exact", found, answer.guarantee, which_rows=which)


def _draw_count(
    released: Array, most: float, noise: NoiseDistribution, shape: tuple[int, ...], rng: np.random.Generator
) -> Array:
    """Return numbers from 0 to ``most``, as likely as the noise that is between them and the released ones.

    >>> from discreet.noise import GaussianNoise
    >>> noise, rng = GaussianNoise(1.0), np.random.default_rng(0)
    >>> numbers = _draw_count(np.array([-50.0]), 10.0, noise, (1, 1000, 1), rng)
    >>> bool(numbers.min() >= 0.0), bool(numbers.max() < 1.0)
    (True, True)
    """
    law = norm(scale=np.sqrt(noise.variance)) if noise.normal else laplace(scale=np.sqrt(noise.variance / 2.0))
    upper = released > (0.0 if np.isinf(most) else most / 2.0)  # the tail that is computed without cancellation
    log_ends = np.where(upper, law.logcdf(most - released), law.logsf(-released))
    log_others = np.where(upper, law.logcdf(-released), law.logsf(most - released))
    gap = -np.expm1(np.minimum(log_others - log_ends, -1e-300))
    u = rng.uniform(size=shape)
    probability = np.exp(np.maximum(log_ends + np.log1p(-u * gap), -700.0))
    away = np.where(upper, law.ppf(probability), law.isf(probability))
    return np.asarray(np.clip(released + away, 0.0, most))
