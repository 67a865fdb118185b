"""``LinearSVC``: a linear support vector machine under differential privacy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.arguments import ArgumentError, positive
from discreet.estimators.linear_classifier import LinearClassifier
from discreet.guarantees import Neighbors
from discreet.queries.objectives.margin_losses import HuberHinge, MarginLoss
from discreet.records import Bounds

LEAST_WIDTH, MOST_WIDTH = 0.01, 100.0


class LinearSVC(LinearClassifier):
    """A linear support vector machine, fitted under differential privacy.

    It minimises Σ h(y·score) + a ridge, with a hinge loss h that is smoothed at its corner, since the proof of privacy
    needs a second derivative (Chaudhuri, Monteleoni and Sarwate 2011). Everything else is as in ``LogisticRegression``,
    except that there are no probabilities.

    Parameters
    ----------
    epsilon, delta : float
        The guarantee. ``method="objective-2011"`` spends ε alone.
    bounds : Box, Ball, (low, high), one such pair a column, or mapping of str to pairs
        The declared bounds of the rows; see ``LogisticRegression``.
    classes : sequence of str, int or bool, or "public"
        The possible labels; see ``GaussianClassifier``.
    method : str
        ``"objective"`` (default), ``"objective-2011"`` or ``"output"``.
    width : float
        The half-width of the smoothed corner around the margin 1. A smaller one needs a larger ridge.
    C : float, optional
        The inverse of the ridge, in coordinates in which rows have norm at most 1. None: chosen from public numbers.
    fit_intercept : bool
    coordinates : str
        ``"auto"``, ``"declared"`` or ``"private"``; see ``LogisticRegression``.
    neighbors, random_state, verbose
        As in ``GaussianMixture``.

    Attributes
    ----------
    classes_, categories_, coef_, intercept_, guarantee_, unit_, losses_, releases_, n_features_in_, feature_names_in_
        As in ``LogisticRegression``.

    Examples
    --------
    >>> import numpy as np
    >>> import discreet as dp
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 10_000)
    >>> X = rng.normal(size=(10_000, 2)) + 3.0 * y[:, None]
    >>> model = dp.LinearSVC(epsilon=1.0, bounds=dp.Box(-5, 8), classes=[0, 1]).fit(X, y)
    >>> model.predict([[0.0, 0.0], [3.0, 3.0]]).tolist()
    [0, 1]
    """

    _methods = ("objective", "objective-2011", "output")

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        bounds: Bounds | None = None,
        classes: Sequence[str | int | bool] | str | None = None,
        method: str = "objective",
        width: float = 0.5,
        C: float | None = None,
        fit_intercept: bool = True,
        coordinates: str = "auto",
        neighbors: Neighbors | str | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.classes = classes
        self.method = method
        self.width = width
        self.C = C
        self.fit_intercept = fit_intercept
        self.coordinates = coordinates
        self.neighbors = neighbors
        self.random_state = random_state
        self.verbose = verbose

    @property
    def _margin_loss(self) -> MarginLoss:
        width = positive("width", self.width)
        if not LEAST_WIDTH <= width <= MOST_WIDTH:
            raise ArgumentError("width", self.width, f"a number from {LEAST_WIDTH:g} to {MOST_WIDTH:g}")
        return HuberHinge(width)
