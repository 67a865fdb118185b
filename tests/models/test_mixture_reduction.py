"""Reducing a mixture keeps its moments, and merges pieces of a Gaussian before clusters."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.models.mixture.mixture_reduction import reductions
from discreet.queries.moments.components import Components


def some_components(seed, count=7, dimension=3):
    rng = np.random.default_rng(seed)
    factors = rng.standard_normal((count, dimension, dimension))
    covariances = factors @ np.swapaxes(factors, 1, 2) + 0.1 * np.eye(dimension)
    return Components(rng.dirichlet(np.ones(count)), 3.0 * rng.standard_normal((count, dimension)), covariances)


def reduce_to(components, count, labels):
    return next(reduced for reduced in reductions(components, labels) if reduced.count == count)


def moments(components):
    mean = components.weights @ components.means
    apart = components.means - mean
    within = np.einsum("k,kij->ij", components.weights, components.covariances)
    return mean, within + np.einsum("k,ki,kj->ij", components.weights, apart, apart)


@pytest.mark.parametrize("labels", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("count", [1, 3, 6])
def test_mean_and_covariance_of_all_stay(count, labels):
    before = some_components(count)
    after = reduce_to(before, count, labels)
    for one, other in zip(moments(before), moments(after), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_labels_that_count_merge_the_halves_of_a_large_gaussian_first():
    """The halves of N(0, 1) are means ±√(2/π) of variance 1 − 2/π; the two small clusters are far apart."""
    weights = np.array([0.45, 0.45, 0.05, 0.05])
    means = np.array([-np.sqrt(2 / np.pi), np.sqrt(2 / np.pi), 20.0, 26.0])[:, None]
    variances = np.array([1 - 2 / np.pi, 1 - 2 / np.pi, 1.0, 1.0])[:, None, None]
    halves = Components(weights, means, variances)
    merged = reduce_to(halves, 3, 1.0)
    np.testing.assert_allclose(np.sort(merged.means.ravel()), [0.0, 20.0, 26.0], atol=1e-12)
    np.testing.assert_allclose(merged.covariances[merged.weights > 0.5], 1.0)
    assert 0.9 not in reduce_to(halves, 3, 0.0).weights.round(12)  # without labels the clusters were merged
