"""``KMeans``: k-means clustering under differential privacy."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.metrics import pairwise_distances_argmin, pairwise_distances_argmin_min
from sklearn.metrics.pairwise import euclidean_distances

from discreet.arguments import UNSHOWN, ArgumentError, choice, integer
from discreet.door import Curator
from discreet.door.inquiry import Inquiry
from discreet.estimators.base import PrivateEstimator, RowTransformer, refuse_hidden_rows
from discreet.guarantees import Neighbors
from discreet.models.clusters.lloyd import DPLloyd, lloyd_steps, lloyd_weights
from discreet.models.clusters.private_kmeans import adaptive_kmeans
from discreet.models.method import Method
from discreet.queries.moments.components import Components
from discreet.records import Bounds
from discreet.records.given_data import is_stored

Array = NDArray[np.float64]

METHODS = ("adaptive", "joint", "dplloyd")
JOINT_STEPS = 5
JOINT_WEIGHTS = (0.5, 0.5, 0.0)


class KMeans(ClassNamePrefixFeaturesOutMixin, RowTransformer, PrivateEstimator):  # type: ignore[misc]
    """k-means under differential privacy.

    The guarantee (``epsilon``, ``delta``) covers the whole fit. Everything computed from the fitted object is
    post-processing of its releases, at no further cost. There is no ``labels_`` and no ``inertia_``: both reveal single
    rows. A caller who may see the rows can use ``predict`` or ``fit_predict``, whose results are not private.

    Distances are Euclidean in the data's own units, as scikit-learn's. Where columns have different units, scale them
    first, by public numbers.

    Parameters
    ----------
    n_clusters : int
        The number of centres, at most 1000.
    epsilon, delta : float
        The guarantee. With one or two columns ``"adaptive"`` spends ε alone.
    bounds : Box, Ball, (low, high), one such pair a column, or mapping of str to pairs
        The declared bounds of the rows; see ``GaussianMixture``.
    method : str
        ``"adaptive"`` (default): with one or two columns a noisy histogram, k-means on its cells, and Lloyd steps where
        they help; with more Lloyd steps that move centres whose count is noise. ``"joint"``: Lloyd steps, counts and
        sums as one release a step. ``"dplloyd"``: as published by Su et al. (2016), for comparison.
    n_steps : int, optional
        The number of Lloyd steps. By default it is chosen from public numbers. There is no convergence test.
    composition : str
        For ``method="dplloyd"``: ``"linear"`` (Laplace noise) or ``"zcdp"`` (Gaussian noise).
    neighbors, random_state, verbose
        As in ``GaussianMixture``.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_features)
        In the data's own units.
    guarantee_, unit_, losses_, releases_, n_features_in_, feature_names_in_
        As in ``GaussianMixture``.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import Ball
    >>> from discreet.estimators.kmeans import KMeans
    >>> rng = np.random.default_rng(0)
    >>> rows = np.concatenate([rng.normal(-3.0, 1.0, (5000, 2)), rng.normal(3.0, 1.0, (5000, 2))])
    >>> kmeans = KMeans(2, epsilon=1.0, bounds=Ball(radius=10.0)).fit(rows)
    >>> print(np.sort(kmeans.cluster_centers_[:, 0]).round())
    [-3.  3.]
    >>> print(kmeans.guarantee_)
    (ε=1, δ=1e-06) replace-one
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        bounds: Bounds | None = None,
        method: str = "adaptive",
        n_steps: int | None = None,
        composition: str = "zcdp",
        neighbors: Neighbors | str | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.method = method
        self.n_steps = n_steps
        self.composition = composition
        self.neighbors = neighbors
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        """Return the tags of a clusterer; the ``fit_predict`` of ``ClusterMixin`` would keep labels."""
        tags = super().__sklearn_tags__()
        tags.estimator_type = "clusterer"
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def fit_predict(self, X: Any, y: Any = None) -> NDArray[np.int64]:
        """Fit the centres, and return the index of the nearest centre for each row.

        **The labels are not private.** A label is computed from its row alone and without noise, so no guarantee covers
        it: protect the labels like the rows. The centres are private as after ``fit``.

        Parameters
        ----------
        X : array or data frame
            Rows that the caller holds. A ``Curator``, a database, ``Records``, a path, a ``Table`` or a Dask
            collection is refused before anything is spent: fit to it, and ``predict`` rows that you may see.
        y : ignored

        Returns
        -------
        array of shape (n_samples,)
            As in scikit-learn. It is not stored: there is no ``labels_``.

        Examples
        --------
        >>> import numpy as np
        >>> import discreet as dp
        >>> rng = np.random.default_rng(0)
        >>> rows = np.concatenate([rng.normal(-3.0, 1.0, (5000, 2)), rng.normal(3.0, 1.0, (5000, 2))])
        >>> labels = dp.KMeans(2, epsilon=1.0, bounds=dp.Ball(radius=10.0)).fit_predict(rows)
        >>> len(labels), bool(labels[0] != labels[-1])
        (10000, True)
        """
        refuse_hidden_rows(X, "predict", is_stored)
        return self.fit(X).predict(X)

    def _plan_fit(self, X: Any, y: Any) -> Inquiry[Self]:
        curator = self._open(X)
        return self._plan_method(self._choose_method(curator), curator, self._take)

    def _take(self, components: Components) -> None:
        self.cluster_centers_ = components.means

    _plots = ("centres", "noise")
    _fitted = ("cluster_centers_",)

    def _method_for(self, rows: Any) -> Any:
        """Return the method that the parameters request; None for the adaptive one.

        The adaptive method also depends on the float error of reading the rows, which no file holds.
        """
        return None if self.method == "adaptive" else self._choose_method(rows)

    def _check_fitted(self) -> None:
        """Raise where the attributes are not those of clusters."""
        super()._check_fitted()
        if self.cluster_centers_.shape != (self.n_clusters, self.n_features_in_):
            raise ArgumentError("cluster_centers_", UNSHOWN, f"{self.n_clusters} rows of {self.n_features_in_} columns")

    def _choose_method(self, curator: Curator) -> Method[Components]:
        """Return the method that the parameters request, all of them checked."""
        name = choice("method", self.method, METHODS)
        composition = choice("composition", self.composition, ("linear", "zcdp"))
        steps = self._steps
        count = integer("n_clusters", self.n_clusters, least=1, most=1000)
        rows, dimension = curator.size.units, curator.space.dimension
        self._check_at_most_rows("n_clusters", count, rows)
        guarantee = self._requested_guarantee(curator.neighbors)
        if name == "adaptive":
            return adaptive_kmeans(count, curator, guarantee, steps)
        if name == "joint":
            return DPLloyd(count, steps or JOINT_STEPS, JOINT_WEIGHTS, "exact")
        steps = steps or lloyd_steps(count, dimension, rows, guarantee.epsilon)
        return DPLloyd(count, steps, lloyd_weights(dimension), composition)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the index of the nearest centre for each row."""
        rows = self._rows(X)
        return np.asarray(pairwise_distances_argmin(rows, self.cluster_centers_))

    def transform(self, X: Any) -> Array:
        """Return the distance of each row to each centre."""
        rows = self._rows(X)
        return np.asarray(euclidean_distances(rows, self.cluster_centers_))

    def score(self, X: Any, y: Any = None) -> float:
        """Return minus the sum of squared distances of the rows to their nearest centres, as scikit-learn does.

        It has no noise: do not publish it for private rows.
        """
        rows = self._rows(X)
        return -float((pairwise_distances_argmin_min(rows, self.cluster_centers_)[1] ** 2).sum())
