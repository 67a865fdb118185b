"""Releases of one question are averaged."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import discreet as dp
from discreet.models.noisy_sums import average, noise_std
from discreet.noise import NotPrivateWarning


def test_the_mean_of_releases_has_the_noise_of_the_mean():
    rows = np.random.default_rng(0).uniform(-1.0, 1.0, (200, 2))
    with pytest.warns(NotPrivateWarning):
        release = dp.GaussianMixture(1, bounds=dp.Ball(2.0), random_state=0).fit(rows).releases_[-1]
    draws = np.random.default_rng(1).standard_normal((9, release.value.size))
    several = [replace(release, value=release.value + draw, provenance="simulated") for draw in draws]
    mean = average(several)
    assert mean.value == pytest.approx(release.value + draws.mean(axis=0))
    assert noise_std(mean, "second") == pytest.approx(noise_std(release, "second") / 3.0)
    assert average([release]) is release
