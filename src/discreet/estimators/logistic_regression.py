"""``LogisticRegression``: logistic regression under differential privacy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, log_softmax, logsumexp

from discreet.arguments import ArgumentError, integer
from discreet.door import Curator, Release
from discreet.door.inquiry import Inquiry
from discreet.estimators.coefficient_table import CoefficientInference
from discreet.estimators.linear_classifier import LinearClassifier
from discreet.guarantees import Neighbors, ObjectiveLoss
from discreet.models.linear.functional import Functional
from discreet.models.linear.gradient_descent import NoisyGradient
from discreet.models.method import Method
from discreet.models.noisy_sums import noise_std
from discreet.models.regression.regression_line import NOISE_ALONE, without_part
from discreet.queries.objectives.curvatures import MarginCurvature
from discreet.queries.objectives.gradients import MarginGradient
from discreet.queries.objectives.margin_losses import LinearScores, Logistic, MarginLoss
from discreet.queries.objectives.minimum import Minimum
from discreet.records import Bounds, space_of

Array = NDArray[np.float64]

FLOOR = 1.0  # least eigenvalue of the released information, in standard deviations of the noise of its eigenvalues


class LogisticRegression(CoefficientInference, LinearClassifier):
    """Logistic regression with a ridge, fitted under differential privacy.

    The guarantee (``epsilon``, ``delta``) covers the whole fit, the intercept and the choice of coordinates included.
    Predictions and probabilities are post-processing, at no further cost. On every data set the solver runs until it
    has proved a tolerance that is fixed beforehand. The number of its iterations is not reported, since it depends on
    the rows.

    Parameters
    ----------
    epsilon, delta : float
        The guarantee. ``method="objective-2011"`` spends ε alone: its guarantee has δ = 0, whatever ``delta`` is.
    bounds : Box, Ball, (low, high), one such pair a column, or mapping of str to pairs or categories
        The declared bounds of the rows, in their own units: each column between two numbers, or all of them together
        within a radius. Rows outside are clipped to them for the fit. They must not be taken from the data. With a
        mapping only its columns of a data frame or a file are used. None with a ``Curator`` or ``Records``, which have
        their own. Categories become features of 0 and 1, as in ``LinearRegression``.
    classes : sequence of str, int or bool, or "public"
        The possible labels; see ``GaussianClassifier``.
    method : str
        ``"objective"`` (default): objective perturbation with Gaussian noise and tight accounting.
        ``"objective-2011"``: as published by Chaudhuri, Monteleoni and Sarwate (2011), with all of its terms.
        ``"output"``: noise on the minimum. ``"functional"``: noise on the moments of a quadratic approximation of the
        loss (Zhang et al. 2012), in one release. ``"gradient"``: gradient descent with noisy gradients, which are all
        in ``releases_``. With more than two classes each is fitted against the others, and the cost is accounted for
        jointly; ``"gradient"`` uses the softmax loss.
    C : float, optional
        The inverse of the ridge, in coordinates in which rows have norm at most 1, for the first three methods. None:
        chosen from public numbers, according to the noise.
    fit_intercept : bool
        Whether there is an intercept. It is the coefficient of a constant column, so ridge and noise apply to it.
    coordinates : str
        ``"declared"``: rows are scaled by their bounds. ``"private"``: a share of the budget is spent on a mean and a
        covariance, by which rows are whitened. ``"auto"`` (default): ``"private"`` where there are enough rows.
    max_iter : int, optional
        The number of gradients that ``"gradient"`` releases. None: chosen from public numbers.
    inference : bool
        Whether to release the Fisher information as well, for ``summary``, ``interval`` and the like. It takes 15 % of
        the squared budget. It is for ``method="objective"`` and two classes.
    neighbors, random_state, verbose
        As in ``GaussianMixture``.

    Attributes
    ----------
    classes_ : array of shape (K,)
        The labels, sorted as in scikit-learn.
    coef_ : array of shape (1, d) for two classes, else (K, d)
        In the data's own units.
    intercept_ : array of shape (1,) or (K,)
    categories_ : dict of str to tuple
        The label's column, and its declared values.
    n_iter_ : int
        The number of gradients that were released; 1 for the other methods.
    guarantee_, unit_, losses_, releases_, n_features_in_, feature_names_in_
        As in ``GaussianMixture``.

    Examples
    --------
    >>> import numpy as np
    >>> import discreet as dp
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 10_000)
    >>> X = rng.normal(size=(10_000, 2)) + 3.0 * y[:, None]
    >>> model = dp.LogisticRegression(epsilon=1.0, bounds=dp.Box(-5, 8), classes=[0, 1]).fit(X, y)
    >>> model.predict([[0.0, 0.0], [3.0, 3.0]]).tolist()
    [0, 1]
    >>> print(model.guarantee_)
    (ε=1, δ=1e-06) replace-one
    """

    _methods = ("objective", "objective-2011", "output", "functional", "gradient")

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        bounds: Bounds | None = None,
        classes: Sequence[str | int | bool] | str | None = None,
        method: str = "objective",
        C: float | None = None,
        fit_intercept: bool = True,
        coordinates: str = "auto",
        max_iter: int | None = None,
        inference: bool = False,
        neighbors: Neighbors | str | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.classes = classes
        self.method = method
        self.C = C
        self.fit_intercept = fit_intercept
        self.coordinates = coordinates
        self.max_iter = max_iter
        self.inference = inference
        self.neighbors = neighbors
        self.random_state = random_state
        self.verbose = verbose

    _added: ClassVar[Mapping[str, Any]] = {"inference": False}

    @property
    def _margin_loss(self) -> MarginLoss:
        return Logistic()

    @property
    def _unbiased(self) -> bool:  # type: ignore[override]
        return bool(self.inference)

    def _plan_fit(self, X: Any, y: Any) -> Inquiry[Self]:
        if not isinstance(self.inference, bool | np.bool_):
            raise ArgumentError("inference", self.inference, "True or False")
        if self.inference and self.method != "objective":
            raise ArgumentError("inference", True, "method='objective'", write="inference=False for other methods")
        return super()._plan_fit(X, y)

    def _check_classes(self, classes: int) -> None:
        """Raise where standard errors are requested of more than two classes."""
        if self.inference and classes > 2:
            raise ArgumentError("inference", True, f"two classes, got {classes}; fit one against the others")

    def _has_intercept(self) -> bool:
        return bool(self.fit_intercept)

    def _target_facts(self) -> tuple[tuple[str, str], ...]:
        ((name, _),) = self.categories_.items()
        return (("Dep. variable", name), ("Class modelled", str(self.classes_[-1])))

    def _coefficient_errors(self, of: str) -> tuple[Array, Array]:
        """Return coefficients without the effect of the ridge, and their covariance.

        θ̂ is the minimum of the loss, a ridge λ‖θ‖²/2 and b·θ, b normal noise of variance σ². With H the second
        derivative of the loss at θ̂, to first order θ̂ − θ = −H⁻¹(λθ̂ + b + g), where g, the gradient at the true θ, has
        the covariance V by sampling (m times that at most, for persons of up to m rows). So θ̂ + λH⁻¹θ̂ has no effect of
        the ridge, and the covariance H⁻¹(σ²I + V)H⁻¹. V is H less the surplus of far rows, which have weights below 1;
        only what stands out of its noise is taken off, and never more than such weights can make. H was released with
        noise; its eigenvalues are kept above that.
        An axis whose eigenvalue does not stand out of the noise says nothing, and a coefficient in which it has a part
        has an infinite variance (``models.regression.regression_line``).
        """
        if not self.inference:
            raise ValueError(
                "inference=False: the releases do not have the Fisher information; write "
                "LogisticRegression(…, inference=True), or dp.infer(model) for a posterior"
            )
        minimum, release = self.releases_[-2:]
        asked, question, loss = minimum.question, release.question, minimum.loss
        assert isinstance(asked, Minimum)
        assert isinstance(question, MarginCurvature)
        assert isinstance(loss, ObjectiveLoss)
        theta, size = minimum["theta"][0], asked.features.size
        noise = noise_std(release, "curvature") / 4.0
        values, vectors = np.linalg.eigh(release["curvature"] / 4.0)
        kept = np.maximum(values, FLOOR * noise * math.sqrt(size))
        inverse = (vectors / kept) @ vectors.T
        clusters = float(release.declared.get("max_rows") or 1)
        inner = np.eye(size) / loss.shift**2
        if of == "population":
            inner = inner + clusters * _gradient_variance(release, (vectors * np.sqrt(kept)) @ vectors.T)
        estimate, covariance = theta + asked.ridge * inverse @ theta, inverse @ inner @ inverse
        # H has noise E itself: to first order it moves the estimate by −λH⁻¹EH⁻¹θ̂.
        pull = inverse @ theta
        covariance += (
            (asked.ridge * noise) ** 2
            / 2.0
            * (float(pull @ pull) * inverse @ inverse + np.outer(inverse @ pull, inverse @ pull))
        )
        space = self._space
        if self.bounds is not None:
            space = space_of(self._feature_bounds).for_columns(self.n_features_in_)
        offset, scale = np.asarray(space.center), np.asarray(space.scale)
        columns = []
        for one in np.eye(size):  # coefficients are a linear function of θ
            scores = asked.features.scores(one).rescale(offset, scale)
            columns.append(np.append(scores.weights[0], scores.intercepts[0]))
        number = self.n_features_in_ + self._has_intercept()
        change = np.column_stack(columns)[:number]
        sign = 1.0 if float((change @ theta)[: self.n_features_in_] @ self.coef_[0]) >= 0.0 else -1.0
        identified = values > NOISE_ALONE * noise / math.sqrt(2.0)
        entries = (1.0 + np.eye(size)) * noise**2 / 2.0
        unknown = np.flatnonzero(~without_part(change @ vectors, identified, values, entries))
        errors = change @ covariance @ change.T
        errors[unknown, unknown] = np.inf
        return sign * change @ estimate, errors

    def _method(self, curator: Curator, classes: int) -> Method[LinearScores]:
        """Return the method that the parameters request."""
        if self.method == "functional":
            return Functional(classes, self._coordinates(curator))
        if self.method == "gradient":
            steps = None if self.max_iter is None else integer("max_iter", self.max_iter, least=1, most=10_000)
            return NoisyGradient.for_data(classes, self._margin_loss, self._coordinates(curator), steps=steps)
        return super()._method(curator, classes)

    @property
    def n_iter_(self) -> int:
        """The number of gradients that were released; 1 for the other methods. A solver's own are not reported."""
        return max(1, [release.query for release in self.releases_].count(MarginGradient.name))

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithm of the probability of each class for each row."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([log_expit(-scores), log_expit(scores)])
        if self.releases_[-1].query == MarginGradient.name:
            return np.asarray(log_softmax(scores, axis=1))
        each = log_expit(scores)
        return np.asarray(each - logsumexp(each, axis=1, keepdims=True))

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class for each row.

        With several classes the probabilities of each against the others are normalised to sum to 1; ``"gradient"`` has
        those of the softmax.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        return np.asarray(np.exp(self.predict_log_proba(X)))


def _gradient_variance(release: Release, root: Array) -> Array:
    """Return the covariance of the gradient by sampling, from the root of the second derivative H.

    In coordinates in which H is the identity the surplus is between 0 and 1 − w, w the least weight that rows can have.
    """
    question = release.question
    assert isinstance(question, MarginCurvature)
    if not question.features.weighted:
        return np.asarray(root @ root)
    values, vectors = np.linalg.eigh(release["surplus"] / 4.0)
    noise = noise_std(release, "surplus") / 4.0
    clear = np.maximum(values - FLOOR * noise * math.sqrt(len(values)), 0.0)
    inverse = np.linalg.inv(root)
    shares, axes = np.linalg.eigh(inverse @ (vectors * clear) @ vectors.T @ inverse)
    left = root @ axes * np.maximum(1.0 - shares, question.features.farthest**-2)
    return np.asarray(left @ axes.T @ root)
