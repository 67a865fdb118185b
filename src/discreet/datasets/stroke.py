"""``make_stroke``: a synthetic table of the size of the stroke data in the DP-EM paper, which are not public.

The paper has 100 principal components of 50,345 patients and fits ten Gaussians. Here ten Gaussians are drawn, and
mapped so that the whole mixture has mean zero and uncorrelated columns of falling variance, as principal components
have. Everything is scaled so that rows lie in the unit ball, by a bound on the distribution and not by the rows.
"""

from __future__ import annotations

import numpy as np

from discreet.arguments import integer
from discreet.datasets.dataset import Dataset, FloatArray, IntArray
from discreet.datasets.random_state import Seed, generator
from discreet.datasets.truth import GENERATED, TrueMixture

__all__ = ["make_stroke"]

_LEADING = 10  # the components' means differ in so many leading directions
_SEPARATION, _VARIETY = 0.7, 0.25  # such that the ten components overlap: the Bayes rule errs in 7 to 10 % of rows
_TAIL = 16.0  # a draw leaves the unit ball with probability at most exp(-16), 1.1e-7


def make_stroke(
    n_samples: int = 50_345,
    n_features: int = 100,
    n_components: int = 10,
    *,
    random_state: Seed = None,
) -> Dataset:
    """Draw a synthetic table of the size of the stroke data in the DP-EM paper.

    Parameters
    ----------
    n_samples : int, default=50345
        The number of rows.
    n_features : int, default=100
        The number of columns.
    n_components : int, default=10
        The number of Gaussians.
    random_state : int, numpy.random.Generator or None
        The seed or generator; None draws anew at each call. It also fixes the mixture: for a training and a
        test set from the same distribution, draw both in one call and split the rows.

    Returns
    -------
    Dataset
        Every row lies in the unit ball: 1 is a public radius. ``y`` is the component of a row, ``truth`` holds
        the weights, means and covariances. The mixture has mean zero, and the variance of column j (from 1) is
        proportional to 1/j.

    Notes
    -----
    Synthetic: nothing here was learnt from patients, and figures for the real table cannot be compared. Rows
    outside the ball are drawn again; they have probability below 1.2e-7, so that ``truth`` describes the rows
    for all practical purposes. Licence: synthetic; no rights reserved. Cite Park, Foulds, Chaudhuri and Welling (2017)
    for the experiment.

    Examples
    --------
    >>> from discreet.datasets import make_stroke
    >>> stroke = make_stroke(200, n_features=8, n_components=3, random_state=0)
    >>> stroke.truth.means.shape
    (3, 8)
    >>> bool((stroke.X**2).sum(axis=1).max() <= 1.0)
    True
    """
    rng = generator(random_state)
    rows = integer("n_samples", n_samples, least=1)
    d = integer("n_features", n_features, least=1)
    truth = _mixture(rng, d, integer("n_components", n_components, least=1))
    X, y = _draw(rng, rows, truth)
    while (outside := (X**2).sum(axis=1) > 1.0).any():
        X[outside], y[outside] = _draw(rng, int(outside.sum()), truth)
    return Dataset(
        name="stroke",
        X=X,
        y=y,
        columns=tuple(f"component_{i}" for i in range(1, d + 1)),
        bounds=((-1.0, 1.0),) * d,
        licence=GENERATED,
        citation=(
            "stand-in for the stroke table of Park, Foulds, Chaudhuri and Welling (2017), DP-EM: Differentially "
            "private expectation maximization, AISTATS"
        ),
        truth=truth,
    )


def _mixture(rng: np.random.Generator, d: int, K: int) -> TrueMixture:
    """Return a mixture with mean zero and total covariance diag(1, 1/2, …, 1/d), scaled into the unit ball."""
    weights = 1.0 / np.arange(1, K + 1)
    weights /= weights.sum()
    means = _SEPARATION * rng.standard_normal((K, d)) * (np.arange(d) < _LEADING)
    means -= weights @ means
    factors = rng.standard_normal((K, d, 2 * d)) / np.sqrt(2 * d)
    shapes = (1.0 - _VARIETY) * np.eye(d) + _VARIETY * (factors @ factors.transpose(0, 2, 1))
    sizes = np.geomspace(0.6, 1.6, K)  # patients with few entries lie close together, those with many far apart
    covariances = sizes[:, None, None] * shapes

    total = np.einsum("k,kij->ij", weights, covariances) + (weights[:, None] * means).T @ means
    # With total = LLᵀ, the map diag(1/√j)·L⁻¹ turns the total covariance into diag(1/j).
    scale = np.sqrt(np.arange(1, d + 1))
    to_components = np.linalg.inv(np.linalg.cholesky(total)) / scale[:, None]
    means = means @ to_components.T
    covariances = to_components @ covariances @ to_components.T

    radius = _radius(means, covariances)
    covariances = (covariances + covariances.transpose(0, 2, 1)) / (2.0 * radius**2)
    return TrueMixture(weights, means / radius, covariances)


def _radius(means: FloatArray, covariances: FloatArray) -> float:
    """Bound the norm of a draw up to probability exp(-_TAIL) in each component.

    For g standard Gaussian, ‖C^½ g‖² exceeds tr C + 2√(t tr C²) + 2t‖C‖ with probability at most e^(−t)
    (Laurent and Massart 2000, lemma 1); the mean adds its norm.
    """
    spectra = np.linalg.eigvalsh(covariances)
    spread = spectra.sum(axis=1) + 2.0 * np.sqrt(_TAIL * (spectra**2).sum(axis=1)) + 2.0 * _TAIL * spectra[:, -1]
    return float((np.linalg.norm(means, axis=1) + np.sqrt(spread)).max())


def _draw(rng: np.random.Generator, rows: int, truth: TrueMixture) -> tuple[FloatArray, IntArray]:
    y = rng.choice(len(truth.weights), size=rows, p=truth.weights)
    X = rng.standard_normal((rows, truth.means.shape[1]))
    for k, (mean, root) in enumerate(zip(truth.means, np.linalg.cholesky(truth.covariances), strict=True)):
        member = y == k
        X[member] = mean + X[member] @ root.T
    return X, y
