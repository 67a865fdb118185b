"""``PCA``: principal components under differential privacy."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from discreet.arguments import choice, integer
from discreet.door import Curator
from discreet.estimators.base import PrivateEstimator
from discreet.guarantees import Neighbors
from discreet.models.adaptive import Adaptive
from discreet.models.components import Components
from discreet.models.directions import Directions
from discreet.models.method import Method
from discreet.models.one_release import OneRelease
from discreet.models.principal import Principal
from discreet.models.sulq import Sulq
from discreet.records import Ball, Box

__all__ = ["PCA"]

Array = NDArray[np.float64]

METHODS = ("auto", "adaptive", "analyze-gauss", "sulq", "exponential", "gibbs")
DRAWN = ("exponential", "gibbs")
AROUND_CENTER = ("sulq", *DRAWN)


class PCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, PrivateEstimator):  # type: ignore[misc]
    """Principal component analysis under differential privacy, in the data's own units.

    Where columns have different units, bring them to one first, by their declared bounds
    (``space.to_unit(rows)``), never by what the rows hold.

    Parameters
    ----------
    n_components : int, float or None
        How many components; a share in (0, 1) of the variance that they shall explain; None for all.
    epsilon, delta : float
        The promise.
    bounds : Box or Ball
        Where rows are declared to lie; see ``GaussianMixture``.
    method : str
        - ``"adaptive"``: a covariance in some rounds, each in the coordinates of the one before.
        - ``"analyze-gauss"``: one release of the second moments (Dwork, Talwar, Thakurta, Zhang 2014), with eigenvalues
          that take the noise into account. For any number of columns.
        - ``"auto"`` (default): the better one of these two by the numbers of rows and columns and the promise.
        - ``"sulq"``: every product with noise of its own, nothing corrected; to compare with.
        - ``"exponential"``: directions drawn one after the other by the exponential mechanism, exactly but for floats.
        - ``"gibbs"``: all of them at once by a Gibbs sampler. A chain that was stopped proves nothing, so
          ``guarantee_`` is None; to compare with.
    center : str, optional
        ``"private"``: the mean is measured; the default of the first three methods. ``"declared"``: deviations from the
        centre of the bounds; the only one that the last three know.
    neighbors, random_state, verbose
        As in ``GaussianMixture``.

    Attributes
    ----------
    components_ : array of shape (n_components_, n_features)
        Principal axes, orthonormal, in the order of their variance.
    explained_variance_, explained_variance_ratio_ : array of shape (n_components_,)
        As far as noise lets them be seen.
    mean_ : array of shape (n_features,)
    noise_variance_ : float
        The mean variance along a direction that is not among the components.
    n_components_ : int
    guarantee_, unit_, losses_, releases_, n_features_in_, feature_names_in_
        As in ``GaussianMixture``.

    Examples
    --------
    >>> import numpy as np
    >>> import discreet as dp
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(20_000, 3)) * [3.0, 1.0, 0.5]
    >>> pca = dp.PCA(1, epsilon=1.0, delta=1e-6, bounds=dp.Ball(radius=12.0)).fit(rows)
    >>> print(np.abs(pca.components_[0]).round(1))
    [1. 0. 0.]
    >>> pca.transform(rows).shape
    (20000, 1)
    """

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        bounds: Box | Ball | None = None,
        method: str = "auto",
        center: str | None = None,
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

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the components, at a cost of ``epsilon`` and ``delta``.

        Parameters
        ----------
        X : Curator, Records, array, data frame, path of Parquet files, or Dask collection
            See ``discreet.estimators.base`` for what may be raised.
        y : ignored

        Returns
        -------
        self
        """
        curator = self._open(X)
        name = choice("method", self.method, METHODS)
        count, share = self._asked(curator.space.dimension)
        around: Any = curator.space.around  # one step is the same in every column, so that axes are not turned
        if name in DRAWN:
            if count is None:
                raise ValueError(f"n_components={self.n_components!r}: expected a number with method={name!r}")
            self._centered(name)
            axes = self._fit(Directions(count, curator.size, frame=name == "gibbs"), curator, around)
        else:
            method = self._covariance(name, curator)
            space = curator.space if isinstance(method, Adaptive) else around
            axes = Principal.of(self._fit(method, curator, space))
            if share is not None:
                shares = np.cumsum(axes.variances) / axes.total
                count = min(int(np.searchsorted(shares, share)) + 1, len(shares))
            axes = axes.first(count or len(axes.axes))
        self.n_components_ = len(axes.axes)
        self.mean_, self.components_ = axes.mean, axes.axes
        self.explained_variance_, self.explained_variance_ratio_ = axes.variances, axes.variances / axes.total
        self.noise_variance_ = axes.rest
        return self

    def _asked(self, dimension: int) -> tuple[int | None, float | None]:
        """Return how many components, or which share of the variance."""
        asked = self.n_components
        if asked is None:
            return dimension, None
        if isinstance(asked, float | np.floating) and 0.0 < asked < 1.0:
            return None, float(asked)
        return integer("n_components", asked, least=1, most=dimension), None

    def _centered(self, name: str) -> bool:
        """Return whether the mean is measured."""
        if self.center is None:
            return name not in AROUND_CENTER
        centered = choice("center", self.center, ("private", "declared")) == "private"
        if name in (AROUND_CENTER if centered else ("adaptive",)):
            raise ValueError(f"center={self.center!r}: expected None, the only way of method={name!r}")
        return centered

    def _covariance(self, name: str, curator: Curator) -> Method[Components]:
        """Return the way to a covariance that the parameters ask for."""
        centered = self._centered(name)
        if name == "sulq":
            return Sulq(curator.size)
        promise = self._promised(curator.neighbors)
        adaptive = Adaptive.for_data(1, curator.space, promise, curator.size, spectral=True)
        if name == "adaptive" or (name == "auto" and centered and adaptive.worthwhile):
            return adaptive
        return OneRelease(curator.size, centered, nearest=False)

    _fitted = (
        "components_",
        "explained_variance_",
        "explained_variance_ratio_",
        "mean_",
        "noise_variance_",
        "n_components_",
    )

    def _check_fitted(self) -> None:
        """Raise where a file holds no components."""
        super()._check_fitted()
        k, d = self.n_components_, self.n_features_in_
        found = (self.components_.shape, self.explained_variance_.shape, self.mean_.shape)
        if found != ((k, d), (k,), (d,)) or self.explained_variance_ratio_.shape != (k,):
            raise ValueError(f"components_, explained_variance_, mean_: expected {k} components of {d} columns")
        if not (np.all(self.explained_variance_ > 0.0) and np.all(self.explained_variance_ratio_ > 0.0)):
            raise ValueError("explained_variance_: expected positive numbers")

    @property
    def _principal(self) -> Principal:
        check_is_fitted(self)
        total = float(self.explained_variance_.sum() / self.explained_variance_ratio_.sum())
        return Principal(self.mean_, self.components_, self.explained_variance_, total)

    @property
    def _components(self) -> Components:
        """The Gaussian with these variances along the components and the same along all other directions."""
        factors = self._principal.factors
        return Components(np.ones(1), factors.mean[None], factors.covariance[None])

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def transform(self, X: Any) -> Array:
        """Return the coordinates of each row along the components. Of private rows they are private."""
        rows = self._rows(X)
        return np.asarray((rows - self.mean_) @ self.components_.T)

    def inverse_transform(self, X: Any) -> Array:
        """Return the rows that have these coordinates and no others."""
        check_is_fitted(self)
        coordinates = check_array(X, dtype=np.float64)
        if coordinates.shape[1] != len(self.components_):
            raise ValueError(f"X has {coordinates.shape[1]} columns: expected {len(self.components_)}, one a component")
        return np.asarray(self.mean_ + coordinates @ self.components_)

    def get_covariance(self) -> Array:
        """Return the covariance with these variances along the components and the same along all other directions."""
        return self._principal.factors.covariance

    def score_samples(self, X: Any) -> Array:
        """Return the logarithm of the Gaussian density with that covariance at each row. Exact: not for publishing."""
        rows = self._rows(X)
        return self._principal.factors.log_density(rows)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-likelihood of the rows. Exact: not for publishing; see ``discreet.private_score``."""
        return float(np.mean(self.score_samples(X)))

    def sample(self, n_samples: int = 1, *, random_state: Any = None) -> Array:
        """Return synthetic rows from that Gaussian. It costs nothing, and a seed is fine here."""
        check_is_fitted(self)
        seed = check_random_state(random_state).randint(2**31)
        return self._principal.factors.sample(integer("n_samples", n_samples, least=1), np.random.default_rng(seed))
