"""``FactorAnalysis``: factor analysis under differential privacy, from private moments."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, DensityMixin
from sklearn.utils.validation import check_is_fitted

from discreet.arguments import UNSHOWN, ArgumentError, choice, integer
from discreet.door import Curator
from discreet.door.inquiry import Inquiry
from discreet.estimators.base import LogLikelihoodScore, PrivateEstimator, RowTransformer, sample_arguments
from discreet.estimators.fitted_columns import numeric_scales, values_to_rows
from discreet.guarantees import Neighbors
from discreet.models.method import Method
from discreet.models.mixture.adaptive_method import Adaptive
from discreet.models.spectral.factors import Factors
from discreet.models.spectral.one_release import OneRelease
from discreet.queries.moments.components import Components
from discreet.records import Bounds

Array = NDArray[np.float64]

METHODS = ("auto", "adaptive", "one-release")
CENTERS = ("private", "declared")


class FactorAnalysis(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    RowTransformer,
    LogLikelihoodScore,
    DensityMixin,  # type: ignore[misc]
    PrivateEstimator,
):
    """Factor analysis under differential privacy: x = mean + components·z + noise of each column's own.

    A private mean and covariance are measured first. The EM steps on them are post-processing, and run to convergence.

    Parameters
    ----------
    n_components : int
        The number of factors.
    epsilon, delta : float
        The guarantee.
    bounds : Box, Ball, (low, high), one such pair a column, or mapping of str to pairs
        Where rows are declared to lie; see ``GaussianMixture``.
    method : str
        ``"one-release"``: moments in the declared bounds, measured once; for any number of columns. ``"adaptive"``:
        some rounds, each whitened by the previous estimate; better where columns are narrow within their bounds, up
        to some hundred columns. ``"auto"`` (default) chooses by the numbers of rows and columns and the guarantee.
    center : str
        ``"private"``: the mean is measured. ``"declared"``: the centre of the bounds is used as the mean; only with
        ``"one-release"``.
    neighbors, random_state, verbose
        As in ``GaussianMixture``.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The loadings, sorted by what the factors explain, the largest first.
    noise_variance_ : array of shape (n_features,)
        The variance of each column's own noise.
    mean_ : array of shape (n_features,)
    guarantee_, unit_, losses_, releases_, n_features_in_, feature_names_in_
        As in ``GaussianMixture``.

    Examples
    --------
    >>> import numpy as np
    >>> import discreet as dp
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(20_000, 1)) @ [[2.0, 2.0, -2.0, 0.0]] + rng.normal(size=(20_000, 4))
    >>> factor = dp.FactorAnalysis(1, epsilon=1.0, delta=1e-6, bounds=dp.Ball(radius=12.0)).fit(rows)
    >>> print(np.abs(factor.components_).round())
    [[2. 2. 2. 0.]]
    >>> factor.sample(1000).shape
    (1000, 4)
    """

    def __init__(
        self,
        n_components: int = 1,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        bounds: Bounds | None = None,
        method: str = "auto",
        center: str = "private",
        neighbors: Neighbors | str | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.method = method
        self.center = center
        self.neighbors = neighbors
        self.random_state = random_state
        self.verbose = verbose

    def _plan_fit(self, X: Any, y: Any) -> Inquiry[Self]:
        curator = self._open(X)
        count = integer("n_components", self.n_components, least=1, most=curator.space.dimension)

        def take(gaussian: Components) -> None:
            factors = Factors.from_covariance(gaussian.means[0], gaussian.covariances[0], count)
            self.mean_, self.components_, self.noise_variance_ = factors.mean, factors.loadings.T, factors.noise

        return self._plan_method(self._method_for(curator), curator, take)

    def _method_for(self, curator: Curator) -> Method[Components]:
        """Return the method that the parameters ask for, all of them checked."""
        name = choice("method", self.method, METHODS)
        centered = choice("center", self.center, CENTERS) == "private"
        if name == "adaptive" and not centered:
            raise ArgumentError("center", self.center, "'private' with method='adaptive', which finds the mean")
        guarantee = self._requested_guarantee(curator.neighbors)
        adaptive = Adaptive.for_data(1, curator.space, guarantee, curator.size, spectral=True)
        if name == "adaptive" or (name == "auto" and centered and adaptive.is_worthwhile):
            return adaptive
        return OneRelease(curator.size, centered)

    _plots = ("loadings", "scree", "sample", "noise")
    _fitted = ("components_", "noise_variance_", "mean_")

    def _check_fitted(self) -> None:
        """Raise where the attributes are not those of a factor analysis."""
        super()._check_fitted()
        d = self.n_features_in_
        if (self.components_.shape, self.noise_variance_.shape, self.mean_.shape) != (
            (self.n_components, d),
            (d,),
            (d,),
        ):
            raise ArgumentError(
                "components_, noise_variance_, mean_", UNSHOWN, f"{self.n_components} factors of {d} columns"
            )
        if not np.all(self.noise_variance_ > 0.0):
            raise ArgumentError("noise_variance_", UNSHOWN, "positive numbers")

    @property
    def _factors(self) -> Factors:
        check_is_fitted(self)
        return Factors(self.mean_, self.components_.T, self.noise_variance_)

    @property
    def _components(self) -> Components:
        """The model as a Gaussian."""
        return Components(np.ones(1), self._factors.mean[None], self._factors.covariance[None])

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def transform(self, X: Any) -> Array:
        """Return the expected factors of each row, E[z | x]. Those of private rows are as sensitive as the rows."""
        rows = self._rows(X)
        return self._factors.latent(rows)

    def inverse_transform(self, X: Any) -> Array:
        """Return the expected rows given these factors: mean + z·components."""
        check_is_fitted(self)
        factors = self._check_transformed(X, len(self.components_), "factor")
        return np.asarray(self.mean_ + factors @ self.components_)

    def get_covariance(self) -> Array:
        """Return the covariance of the model."""
        return self._factors.covariance

    def get_precision(self) -> Array:
        """Return the inverse of the covariance of the model."""
        return self._factors.precision

    def score_samples(self, X: Any) -> Array:
        """Return the log-density of each row, in the data's own units, without noise: do not publish it."""
        rows = self._rows(X)
        return self._factors.log_density(rows)

    def sample(self, n_samples: int = 1, *, random_state: Any = None) -> Array:
        """Return synthetic rows from the model, at no further cost. They are public, so a seed is fine.

        Rows are in the data's own units; dates are whole days since 1970-01-01, ``days.astype("M8[D]")``.
        """
        check_is_fitted(self)
        values = self._factors.sample(*sample_arguments(n_samples, random_state))
        return values_to_rows(values, numeric_scales(self))
