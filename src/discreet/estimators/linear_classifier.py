"""``LinearClassifier``: base class of ``LogisticRegression`` and ``LinearSVC``, with linear scores of labels."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from discreet.arguments import UNSHOWN, ArgumentError, choice, integer, positive
from discreet.door import Curator
from discreet.door.inquiry import Inquiry
from discreet.estimators.labelled import LabelledEstimator, sort_order
from discreet.guarantees import Guarantee, Neighbors
from discreet.models.linear.private_minimum import MECHANISMS, PrivateMinimum
from discreet.models.linear.row_coordinates import CONSTANT, Coordinates
from discreet.models.method import Method
from discreet.queries.objectives.margin_losses import LinearScores, MarginLoss
from discreet.records import space_of

Array = NDArray[np.float64]

COORDINATES = {"auto": None, "declared": False, "private": True}
MOST_CLASSES = 100


class LinearClassifier(ClassifierMixin, LabelledEstimator):  # type: ignore[misc]
    """A classifier with linear scores: one score for two classes, else one for each class."""

    method: str
    C: float | None
    fit_intercept: bool
    coordinates: str

    _unbiased = False  # whether far rows count for less instead of being moved
    _accepts_balls = True
    _takes_categories = True
    _methods: ClassVar[tuple[str, ...]]

    @property
    @abstractmethod
    def _margin_loss(self) -> MarginLoss:
        """The loss of a margin that is minimised."""

    def _plan_fit(self, X: Any, y: Any) -> Inquiry[Self]:
        choice("method", self.method, self._methods)
        choice("coordinates", self.coordinates, COORDINATES)
        if not isinstance(self.fit_intercept, bool | np.bool_):
            raise ArgumentError("fit_intercept", self.fit_intercept, "True or False")
        if self.C is not None:
            positive("C", self.C)
            if self.method not in MECHANISMS:
                raise ArgumentError("C", self.C, f"None, since method={self.method!r} chooses its own ridge")
        if self.method == "objective-2011" and self.coordinates == "private":
            raise ArgumentError(
                "coordinates", "private", "'declared' or 'auto', since method='objective-2011' has no δ for them"
            )
        curator, name, values = self._open_with_target(X, y)
        integer("classes", len(values), least=2, most=MOST_CLASSES)
        self._check_classes(len(values))
        space = curator.space
        if self.bounds is not None:
            space = space_of(self._feature_bounds).for_columns(space.dimension)

        def take(result: LinearScores) -> None:
            order = sort_order(values)  # as scikit-learn's scores take them to be
            self.categories_ = {name: tuple(values[place] for place in order)}
            self.coef_, self.intercept_ = _reorder(result, order)

        return self._plan_method(self._method(curator, len(values)), curator, take, space)

    def _check_classes(self, classes: int) -> None:
        """Raise where the parameters do not fit the number of classes."""

    def _method(self, curator: Curator, classes: int) -> Method[LinearScores]:
        """Return the method that the parameters request."""
        ridge = None if self.C is None else 1.0 / self.C
        return PrivateMinimum(
            self.method,
            self._margin_loss,
            classes,
            self._requested_guarantee(curator.neighbors),
            self._coordinates(curator),
            curator.setting.max_rows,
            ridge,
            inference=self._unbiased,
        )

    def _coordinates(self, curator: Curator) -> Coordinates:
        """Return the coordinates of the rows. ``"objective-2011"`` has no δ for finding whitened ones."""
        guarantee = super()._requested_guarantee(curator.neighbors)
        own = False if self.method == "objective-2011" else COORDINATES[self.coordinates]
        constant = CONSTANT if self.fit_intercept else 0.0
        counted = self.method in ("functional", "gradient")  # a minimum does not depend on the number of rows
        return Coordinates.for_data(
            curator.space.dimension, constant, guarantee, curator.size, own, counted, self._unbiased
        )

    def _requested_guarantee(self, neighbors: Neighbors) -> Guarantee:
        """Return the requested guarantee; that of ``"objective-2011"`` has δ = 0."""
        guarantee = super()._requested_guarantee(neighbors)
        return Guarantee(guarantee.epsilon, 0.0, neighbors) if self.method == "objective-2011" else guarantee

    _plots = ("coefficients", "noise")
    _fitted = ("categories_", "coef_", "intercept_")

    def _method_for(self, rows: Any) -> Any:
        """Return the method that the parameters request."""
        return self._method(rows, len(self._values))

    def _check_fitted(self) -> None:
        """Raise where the attributes are not those of a linear classifier."""
        super()._check_fitted()
        if len(self._values) < 2:
            raise ArgumentError("categories_", UNSHOWN, "two labels or more")
        scores = 1 if len(self._values) == 2 else len(self._values)
        if self.coef_.shape != (scores, self.n_features_in_) or self.intercept_.shape != (scores,):
            raise ArgumentError("coef_, intercept_", UNSHOWN, f"{scores} scores of {self.n_features_in_} columns")

    def decision_function(self, X: Any) -> Array:
        """Return the score of each row, above 0 for the second of two classes; for more, one for each class."""
        check_is_fitted(self)
        scores = self._rows(X) @ self.coef_.T + self.intercept_
        return np.asarray(scores[:, 0] if scores.shape[1] == 1 else scores)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row with the largest score."""
        scores = self.decision_function(X)
        places = (scores > 0.0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[places])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy, without noise: do not publish it for private rows."""
        return float(super().score(X, y, sample_weight))


def _reorder(result: LinearScores, order: list[int]) -> tuple[Array, Array]:
    """Return coefficients and intercepts of the classes in another order."""
    if len(order) == 2:
        sign = math.copysign(1.0, order[1] - order[0])
        return sign * result.weights, sign * result.intercepts
    return result.weights[order], result.intercepts[order]
