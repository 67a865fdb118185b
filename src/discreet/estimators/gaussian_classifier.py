"""``GaussianClassifier``: a Gaussian for each class and Bayes' rule, under differential privacy."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from discreet.arguments import UNSHOWN, ArgumentError, choice, format_names, integer, positive
from discreet.door import Curator
from discreet.door.inquiry import Inquiry
from discreet.estimators.base import sample_arguments
from discreet.estimators.covariance_types import check_gaussians, pack_covariances, unpack_covariances
from discreet.estimators.fitted_columns import numeric_scales, values_to_rows
from discreet.estimators.labelled import LabelledEstimator, sort_order
from discreet.guarantees import Guarantee, LaplaceLoss, Neighbors
from discreet.models.classes.bayes_error_limits import BayesErrorBound, ParameterNoise, bayes_error_bound
from discreet.models.classes.class_estimates import ClassGaussians
from discreet.models.classes.class_methods import AdaptiveClasses, JointClasses
from discreet.models.classes.xi_classes import XiClasses
from discreet.models.method import Method
from discreet.models.mixture.own_coordinates import Shape
from discreet.queries.moments.class_moments import SHAPES
from discreet.queries.moments.components import Components
from discreet.records import Bounds, Box

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

METHODS = ("adaptive", "joint", "xi2011")
MOST_CLASSES = 1000


class GaussianClassifier(ClassifierMixin, LabelledEstimator):  # type: ignore[misc]
    """A Gaussian for each class, and Bayes' rule, fitted under differential privacy.

    With full covariances this is quadratic discriminant analysis, with a tied one linear discriminant analysis, with
    diagonal ones naive Bayes. The guarantee (``epsilon``, ``delta``) covers the whole fit, the priors included.
    Everything computed from the fitted object is post-processing, at no further cost: predictions, probabilities, any
    number of synthetic rows with labels.

    Parameters
    ----------
    epsilon, delta : float
        The guarantee. ``method="xi2011"`` spends ε alone: its guarantee has δ = 0, whatever ``delta`` is.
    bounds : Box, (low, high), one such pair a column, or mapping of str to pairs
        The declared bounds of the rows, in their own units; rows outside are clipped to them, in ``fit`` and in
        predictions. They must not be taken from the data. With a mapping only its columns of a data frame or a file are
        used. None with a ``Curator`` or ``Records``, which have their own.
    classes : sequence of str, int or bool, or "public"
        The possible labels. A row with another label, or none, is dropped, like a row with a missing category.
        ``"public"`` states that it is no secret which labels occur in ``y``; they are then read from ``y``, and
        sorted. None with a ``Curator`` or ``Records``, where the label's column has declared values.
    covariance_type : str
        ``"full"``, ``"tied"`` or ``"diag"``. Fewer parameters have less noise.
    method : str
        ``"adaptive"`` (default): some rounds, each whitened by the classes of the round before.
        ``"joint"``: one release of counts, first and second moments. ``"xi2011"``: as published by Xi, Kantarcioglu
        and Inan (2011), for comparison; full covariances only.
    neighbors, random_state, verbose
        As in ``GaussianMixture``.

    Attributes
    ----------
    classes_ : array of shape (K,)
        The labels, sorted as in scikit-learn.
    class_count_ : array of shape (K,)
        The released number of rows of each class: noisy, and possibly negative.
    priors_ : array of shape (K,)
        The classes' shares of the rows, from these counts.
    means_ : array of shape (K, d)
    covariances_ : array
        In the data's own units, with the shapes of ``GaussianMixture``.
    categories_ : dict of str to tuple
        The label's column, and its declared values.
    noise_ : dict of str to array
        Standard deviations of the noise in ``"counts"``, ``"means"`` and ``"covariances"`` (K matrices), in the data's
        own units, from the noise distributions of the releases: before shrinkage, and to first order.
    guarantee_, unit_, losses_, releases_, n_features_in_, feature_names_in_
        As in ``GaussianMixture``.

    Examples
    --------
    >>> import numpy as np
    >>> import discreet as dp
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 10_000)
    >>> X = rng.normal(size=(10_000, 2)) + 3.0 * y[:, None]
    >>> model = dp.GaussianClassifier(epsilon=1.0, bounds=dp.Box(-5, 8), classes=[0, 1]).fit(X, y)
    >>> model.predict([[0.0, 0.0], [3.0, 3.0]]).tolist()
    [0, 1]
    >>> print(model.means_[1].round())
    [3. 3.]
    >>> print(model.guarantee_)
    (ε=1, δ=1e-06) replace-one
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        bounds: Bounds | None = None,
        classes: Sequence[str | int | bool] | str | None = None,
        covariance_type: str = "full",
        method: str = "adaptive",
        neighbors: Neighbors | str | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.classes = classes
        self.covariance_type = covariance_type
        self.method = method
        self.neighbors = neighbors
        self.random_state = random_state
        self.verbose = verbose

    def _plan_fit(self, X: Any, y: Any) -> Inquiry[Self]:
        choice("method", self.method, METHODS)
        choice("covariance_type", self.covariance_type, SHAPES)
        curator, name, values = self._open_with_target(X, y)

        def take(result: ClassGaussians) -> None:
            order = sort_order(values)  # as scikit-learn's scores take them to be
            result = result.reorder(order)
            self.categories_ = {name: tuple(values[place] for place in order)}
            self.class_count_, self.priors_ = result.counts, result.components.weights
            self.means_ = result.components.means
            self.covariances_ = pack_covariances(result.components.covariances, self.covariance_type)
            parts = (result.count_noise, result.mean_noise, result.covariance_noise)
            self.noise_ = dict(zip(("counts", "means", "covariances"), parts, strict=True))
            self._warn_of_dropped_rows(curator.size.units)

        return self._plan_method(self._method(curator, len(values)), curator, take)

    def _warn_of_dropped_rows(self, rows: int | None) -> None:
        """Warn where released counts show that labels do not match. They are public, so this reveals nothing more."""
        total, noise = float(self.class_count_.sum()), float(np.sqrt((self.noise_["counts"] ** 2).sum()))
        unseen = [label for label, count in zip(self._values, self.class_count_, strict=True) if count < 4.0 * noise]
        result = ""
        if rows is not None and total + 4.0 * noise < 0.5 * rows:
            result = (
                f"about {max(round(total), 0)} rows, of {rows}, have one of the labels {format_names(self._values)}"
            )
        elif unseen and total > 40.0 * noise:
            result = f"hardly a row has the label {format_names(unseen)}"
        if result:
            warnings.warn(
                f"{result}: a row with another label, or none, does not count; declare labels as they are "
                "written in the data",
                stacklevel=6,
            )

    def _method(self, curator: Curator, count: int) -> Method[ClassGaussians]:
        """Return the method that the parameters request."""
        integer("classes", count, least=2, most=MOST_CLASSES)
        shape = Shape(self.covariance_type, curator.space.dimension)
        if self.method == "xi2011":
            if shape.name != "full" or not isinstance(curator.space, Box):
                raise ArgumentError(
                    "method",
                    "xi2011",
                    f"covariance_type='full' and bounds of each column, a Box; got {shape.name!r} and "
                    f"{curator.space!r}",
                )
            return XiClasses(count)
        if self.method == "joint":
            return JointClasses(count, shape)
        return AdaptiveClasses.for_data(count, shape, self._requested_guarantee(curator.neighbors), curator.size)

    def _requested_guarantee(self, neighbors: Neighbors) -> Guarantee:
        """Return the requested guarantee; that of ``"xi2011"`` has δ = 0."""
        guarantee = super()._requested_guarantee(neighbors)
        return Guarantee(positive("epsilon", self.epsilon), 0.0, neighbors) if self.method == "xi2011" else guarantee

    _plots = ("classes", "pairs", "weights", "sample", "noise")
    _fitted = ("categories_", "class_count_", "priors_", "means_", "covariances_", "noise_")

    def _method_for(self, rows: Any) -> Any:
        """Return the method that the parameters ask for."""
        return self._method(rows, len(self._values))

    def _check_fitted(self) -> None:
        """Raise where the attributes are not those of a classifier."""
        super()._check_fitted()
        k, d = len(self._values), self.n_features_in_
        if self.class_count_.shape != (k,):
            raise ArgumentError("class_count_", UNSHOWN, f"one number for each of {k} classes")
        parts = (self.priors_, self.means_, self.covariances_)
        kind = choice("covariance_type", self.covariance_type, SHAPES)
        check_gaussians(("priors_", "means_", "covariances_"), parts, kind, k, d)
        noises = {"counts": (k,), "means": (k, d), "covariances": (k, d, d)}
        if {name: part.shape for name, part in self.noise_.items()} != noises:
            raise ArgumentError("noise_", UNSHOWN, f"the standard deviations of {sorted(noises)}")
        _ = self._components.factors, self._space  # raises where a covariance is not positive definite

    @property
    def _components(self) -> Components:
        """The classes in the data's own units."""
        check_is_fitted(self)
        covariances = unpack_covariances(self.covariances_, self.covariance_type, *self.means_.shape)
        return Components(self.priors_, self.means_, covariances)

    def _noise_stds(self) -> tuple[Array, Array, Array]:
        """Return standard deviations of the noise, in the data's own units: (K,), (K, d) and (K, d, d)."""
        check_is_fitted(self)
        return self.noise_["counts"], self.noise_["means"], self.noise_["covariances"]

    def bayes_error_bound(self, level: float = 0.95) -> BayesErrorBound:
        """Return a bound on the Bayes error, the error of the optimal rule, from the private parameters, at no cost.

        It is the bound of Bhattacharyya for Gaussian classes, with an upper confidence limit that accounts for the
        noise and for sampling: for two classes of one column by theorem 4.1 of Xi, Kantarcioglu and Inan (2011),
        corrected, else by a parametric bootstrap. Noise enters to first order, so the limit holds about as often as
        ``level`` says. **It does not bound the error of this classifier**, whose parameters are estimates, and it does
        not hold where the rows of a class are not Gaussian.

        Parameters
        ----------
        level : float
            The confidence level of the limit.

        Returns
        -------
        BayesErrorBound
            ``value``, ``limit`` and, in ``says``, what they bound.

        Examples
        --------
        >>> import numpy as np
        >>> import discreet as dp
        >>> rng = np.random.default_rng(0)
        >>> y = rng.integers(0, 2, 20_000)
        >>> X = rng.normal(size=(20_000, 1)) + 4.0 * y[:, None]
        >>> model = dp.GaussianClassifier(epsilon=1.0, bounds=dp.Box(-5, 9), classes=[0, 1]).fit(X, y)
        >>> result = model.bayes_error_bound()                       # the best rule is wrong in 2.3 % of cases
        >>> 0.02 < result.value < result.limit < 0.3
        True
        """
        counts, means, covariances = self._noise_stds()
        distribution = "laplace" if isinstance(self.losses_[-1], LaplaceLoss) else "gaussian"
        noise = ParameterNoise(means, covariances, counts, distribution)
        full = self._components.covariances
        return bayes_error_bound(None, self.means_, full, np.maximum(self.class_count_, 2.0), noise, level)

    def log_joint(self, X: Any) -> Array:
        """Return the logarithm of prior times density of each class at each row, shape (n, K).

        Rows outside of the bounds are clipped to them, as in ``fit``.
        """
        rows = self._rows(X)
        return self._components.log_joint(np.asarray(self._space.clip(rows)))

    def decision_function(self, X: Any) -> Array:
        """Return ``log_joint``; for two classes the second less the first, shape (n,)."""
        joint = self.log_joint(X)
        return np.asarray(joint[:, 1] - joint[:, 0]) if joint.shape[1] == 2 else joint

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithm of the probability of each class for each row."""
        joint = self.log_joint(X)
        return np.asarray(joint - logsumexp(joint, axis=1, keepdims=True))

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class for each row."""
        return np.asarray(np.exp(self.predict_log_proba(X)))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most likely class for each row."""
        joint = self.log_joint(X)
        return np.asarray(self.classes_[joint.argmax(axis=1)])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy, without noise: do not publish it for private rows."""
        return float(super().score(X, y, sample_weight))

    def sample(self, n_samples: int = 1, *, random_state: Any = None) -> tuple[Array, NDArray[Any]]:
        """Return synthetic rows with labels, at no further cost.

        Rows are in the data's own units; dates are whole days since 1970-01-01, ``days.astype("M8[D]")``.

        Parameters
        ----------
        n_samples : int
        random_state : int, optional
            Synthetic rows are public, so a seed is fine.
        """
        components = self._components
        rows, codes = components.sample(*sample_arguments(n_samples, random_state))
        return values_to_rows(rows, numeric_scales(self)), self.classes_[codes]
