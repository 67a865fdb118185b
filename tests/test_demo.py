"""The demo: its bound holds on the worst neighbours that a search finds, is tight, and broken copies are caught."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

ROOT = Path(__file__).parents[1]
DEMO = ROOT / "examples" / "demo.py"


@pytest.fixture(scope="module")
def demo():
    spec = importlib.util.spec_from_file_location("demo", DEMO)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def worst_distance(contributions, bounds, unit, rng):
    """Return the largest distance found between two rows' contributions: corners, far rows, and an ascent from each."""
    d = len(bounds)
    low, high = bounds.T

    def distance(pair):
        a, b = contributions(np.reshape(pair, (2, d)), bounds)
        return np.linalg.norm((a - b) * unit)

    corners = np.where(rng.random((300, 2 * d)) < 0.5, np.tile(low, 2), np.tile(high, 2))
    far = rng.normal(size=(50, 2 * d)) * 1e9
    inside = rng.uniform(np.tile(low, 2), np.tile(high, 2), (50, 2 * d))
    starts = np.vstack([corners, far, inside])
    best = starts[np.argsort([-distance(pair) for pair in starts])[:5]]
    width = np.tile(high - low, 2)
    found = [
        minimize(lambda t, p=pair: -distance(p + t * width), np.zeros(2 * d), method="Powell", options={"maxiter": 30})
        for pair in best
    ]
    return max([-one.fun for one in found] + [distance(pair) for pair in best])


@pytest.mark.parametrize(
    "bounds", [[(-1.0, 1.0)] * 4, [(0.0, 1e-3), (17.0, 90.0), (-5.0, 1e6)], [(3.0, 4.0)]], ids=["cube", "skewed", "one"]
)
def test_the_sensitivity_bounds_the_worst_neighbours(demo, bounds):
    bounds = np.array(bounds)
    size = len(bounds) + len(bounds) * (len(bounds) + 1) // 2
    worst = worst_distance(demo.contributions, bounds, demo.UNIT, np.random.default_rng(0))
    assert worst <= demo.sensitivity(size)
    if len(bounds) == 4:
        assert worst >= 0.99 * demo.sensitivity(size)


def test_the_search_catches_a_copy_without_clipping_and_one_with_the_wrong_packing(demo):
    bounds = np.array([(-1.0, 1.0)] * 4)

    def unclipped(X, bounds):
        return demo.contributions(X / 1e10, bounds) * 10**10

    def unpacked(X, bounds):
        psi = demo.contributions(X, bounds)
        return np.hstack([psi[:, :4] * 2, psi[:, 4:]])

    for broken in (unclipped, unpacked):
        assert worst_distance(broken, bounds, demo.UNIT, np.random.default_rng(0)) > 1.01 * demo.sensitivity(14)


def test_it_runs_and_says_what_it_promises():
    output = subprocess.run([sys.executable, str(DEMO)], check=True, capture_output=True, text=True, cwd=ROOT).stdout
    assert "(ε=1, δ=1e-06) replace-one" in output
    assert "hours-per-week" in output
    assert "not recorded" in output
