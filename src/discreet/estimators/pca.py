"""``PCA``: principal components under differential privacy."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils.validation import check_is_fitted

from discreet.arguments import UNSHOWN, ArgumentError, choice, integer
from discreet.door import Curator
from discreet.door.inquiry import Inquiry
from discreet.estimators.base import LogLikelihoodScore, PrivateEstimator, RowTransformer, sample_arguments
from discreet.estimators.fitted_columns import numeric_scales, values_to_rows
from discreet.guarantees import Neighbors
from discreet.models.method import Method
from discreet.models.mixture.adaptive_method import Adaptive
from discreet.models.spectral.one_release import OneRelease, Sulq
from discreet.models.spectral.principal_directions import Directions
from discreet.models.spectral.spectrum import Principal
from discreet.queries.moments.components import Components
from discreet.records import Bounds, Box

Array = NDArray[np.float64]

METHODS = ("auto", "adaptive", "analyze-gauss", "sulq", "exponential", "gibbs")
DRAWN = ("exponential", "gibbs")
AROUND_CENTER = ("sulq", *DRAWN)


class PCA(ClassNamePrefixFeaturesOutMixin, RowTransformer, LogLikelihoodScore, PrivateEstimator):  # type: ignore[misc]
    """Principal component analysis under differential privacy, in the data's own units.

    Where columns have different units, ``scale_by_bounds=True`` measures each in half-widths of its declared bounds.
    Scaling by statistics of the rows, as ``StandardScaler`` does, would not be private.

    Parameters
    ----------
    n_components : int, float or None
        The number of components; or a share in (0, 1) of the variance that they explain together; None for all.
    epsilon, delta : float
        The guarantee.
    bounds : Box, Ball, (low, high), one such pair a column, or mapping of str to pairs
        Where rows are declared to lie; see ``GaussianMixture``.
    method : str
        - ``"adaptive"``: a covariance in some rounds, each whitened by the previous estimate.
        - ``"analyze-gauss"``: one release of the second moments (Dwork, Talwar, Thakurta, Zhang 2014), with eigenvalues
          corrected for the noise. For any number of columns.
        - ``"auto"`` (default): the better one of these two by the numbers of rows and columns and the guarantee.
        - ``"sulq"``: every product with noise of its own, nothing corrected; for comparison.
        - ``"exponential"``: directions drawn one after the other by the exponential mechanism, exactly up to float
          rounding.
        - ``"gibbs"``: all of them at once by a Gibbs sampler. A finite chain proves no guarantee, so
          ``guarantee_`` is None; for comparison.
    center : str, optional
        ``"private"``: the mean is measured; the default of the first three methods. ``"declared"``: deviations from the
        centre of the bounds; the only choice of the last three methods.
    scale_by_bounds : bool
        Whether columns are divided by half the width of their bounds first: the axes are then of these columns, and
        variances have no unit. The bounds must be a ``Box``.
    neighbors, random_state, verbose
        As in ``GaussianMixture``.

    Attributes
    ----------
    components_ : array of shape (n_components_, n_features)
        Principal axes, orthonormal, sorted by their variance.
    scale_ : array of shape (n_features,)
        What columns are divided by: 1, or half of the width of their bounds.
    explained_variance_, explained_variance_ratio_ : array of shape (n_components_,)
        Corrected for the noise where the method does so.
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
        bounds: Bounds | None = None,
        method: str = "auto",
        center: str | None = None,
        scale_by_bounds: bool = False,
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
        self.scale_by_bounds = scale_by_bounds
        self.neighbors = neighbors
        self.random_state = random_state
        self.verbose = verbose

    def _plan_fit(self, X: Any, y: Any) -> Inquiry[Self]:
        curator = self._open(X)
        name = choice("method", self.method, METHODS)
        count, share = self._requested_components(curator.space.dimension)
        scaled = self._scaled(curator)
        # Rescaling must not rotate the axes: the ball around a box, and its unit ball, have one scale for all columns.
        space: Any = curator.space if scaled else curator.space.around
        if name in DRAWN:
            if count is None:
                raise ArgumentError("n_components", self.n_components, f"a number with method={name!r}")
            self._centered(name)
            method: Method[Any] = Directions(count, curator.size, frame=name == "gibbs")
        else:
            method = self._covariance_method(name, curator)
            space = curator.space if isinstance(method, Adaptive) else space

        def take(result: Principal | Components) -> None:
            axes = result if isinstance(result, Principal) else _first(Principal.from_gaussian(result), count, share)
            self._take(axes, curator.space, scaled=scaled)

        return self._plan_method(method, curator, take, space, own_units=not scaled)

    def _take(self, axes: Principal, space: Any, *, scaled: bool) -> None:
        d = space.dimension
        self.n_components_, self.components_ = len(axes.axes), axes.axes
        self.mean_, self.scale_ = axes.mean, np.ones(d)
        if scaled:  # from the unit ball, where a half-width is 1/√d
            self.mean_ = np.asarray(space.from_unit(axes.mean))
            self.scale_ = np.asarray(space.scale) / math.sqrt(d)
            axes = axes.rescale(np.zeros(d), np.full(d, math.sqrt(d)))
        self.explained_variance_, self.explained_variance_ratio_ = axes.variances, axes.variances / axes.total
        self.noise_variance_ = axes.rest

    def _scaled(self, curator: Curator) -> bool:
        """Return whether columns are scaled by their bounds."""
        if not isinstance(self.scale_by_bounds, bool | np.bool_):
            raise ArgumentError("scale_by_bounds", self.scale_by_bounds, "True or False")
        if self.scale_by_bounds and not isinstance(curator.space, Box):
            raise ArgumentError("scale_by_bounds", True, "bounds of each column, a Box; a Ball has one for all")
        return bool(self.scale_by_bounds)

    def _requested_components(self, dimension: int) -> tuple[int | None, float | None]:
        """Return the number of components, or the share of the variance."""
        asked = self.n_components
        if asked is None:
            return dimension, None
        if isinstance(asked, float | np.floating) and 0.0 < asked < 1.0:
            return None, float(asked)
        accepted = f"a whole number from 1 to {dimension}, a share of the variance in (0, 1), or None"
        try:
            return integer("n_components", asked, least=1, most=dimension), None
        except ValueError:
            raise ArgumentError("n_components", asked, accepted) from None

    def _centered(self, name: str) -> bool:
        """Return whether the mean is measured."""
        if self.center is None:
            return name not in AROUND_CENTER
        centered = choice("center", self.center, ("private", "declared")) == "private"
        if name in (AROUND_CENTER if centered else ("adaptive",)):
            raise ArgumentError("center", self.center, f"None with method={name!r}, which has one way to centre")
        return centered

    def _covariance_method(self, name: str, curator: Curator) -> Method[Components]:
        """Return the method that finds a covariance, as the parameters request."""
        centered = self._centered(name)
        if name == "sulq":
            return Sulq(curator.size)
        guarantee = self._requested_guarantee(curator.neighbors)
        adaptive = Adaptive.for_data(1, curator.space, guarantee, curator.size, spectral=True)
        if name == "adaptive" or (name == "auto" and centered and adaptive.is_worthwhile):
            return adaptive
        return OneRelease(curator.size, centered, nearest=False)

    _plots = ("axes", "scree", "sample", "noise")
    _fitted = (
        "components_",
        "explained_variance_",
        "explained_variance_ratio_",
        "mean_",
        "scale_",
        "noise_variance_",
        "n_components_",
    )

    def _method_for(self, rows: Any) -> Any:
        """Return the method that the parameters ask for."""
        name = choice("method", self.method, METHODS)
        count, _ = self._requested_components(rows.space.dimension)
        if name not in DRAWN:
            return self._covariance_method(name, rows)
        return None if count is None else Directions(count, rows.size, frame=name == "gibbs")

    def _check_fitted(self) -> None:
        """Raise where the attributes are not those of principal components."""
        super()._check_fitted()
        k, d = self.n_components_, self.n_features_in_
        result = (self.components_.shape, self.explained_variance_.shape, self.mean_.shape, self.scale_.shape)
        if result != ((k, d), (k,), (d,), (d,)) or self.explained_variance_ratio_.shape != (k,):
            raise ArgumentError("components_, explained_variance_, mean_", UNSHOWN, f"{k} components of {d} columns")
        positive = (self.explained_variance_, self.explained_variance_ratio_, self.scale_)
        if not all(np.all(numbers > 0.0) for numbers in positive):
            raise ArgumentError("explained_variance_, explained_variance_ratio_, scale_", UNSHOWN, "positive numbers")

    @property
    def _principal(self) -> Principal:
        check_is_fitted(self)
        total = float(self.explained_variance_.sum() / self.explained_variance_ratio_.sum())
        return Principal(np.zeros(len(self.mean_)), self.components_, self.explained_variance_, total)

    def _coordinates(self, X: Any) -> Array:
        """Return rows as deviations from the mean, scaled."""
        return np.asarray((self._rows(X) - self.mean_) / self.scale_)

    @property
    def _components(self) -> Components:
        """The Gaussian with these variances along the components and the same along all other directions."""
        return Components(np.ones(1), self.mean_[None], self.get_covariance()[None])

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def transform(self, X: Any) -> Array:
        """Return the coordinates of each row along the components. They are as sensitive as the rows."""
        rows = self._coordinates(X)
        return np.asarray(rows @ self.components_.T)

    def inverse_transform(self, X: Any) -> Array:
        """Return the rows with these coordinates along the components, and 0 along all other directions."""
        check_is_fitted(self)
        coordinates = self._check_transformed(X, len(self.components_), "component")
        return values_to_rows(self.mean_ + self.scale_ * (coordinates @ self.components_), numeric_scales(self))

    def get_covariance(self) -> Array:
        """Return the covariance with these variances along the components and the same along all other directions."""
        return np.asarray(self._principal.factors.covariance * np.outer(self.scale_, self.scale_))

    def score_samples(self, X: Any) -> Array:
        """Return the log-density of each row under that Gaussian, without noise: do not publish it."""
        rows = self._coordinates(X)
        return np.asarray(self._principal.factors.log_density(rows) - np.log(self.scale_).sum())

    def sample(self, n_samples: int = 1, *, random_state: Any = None) -> Array:
        """Return synthetic rows from that Gaussian, at no further cost. They are public, so a seed is fine.

        Rows are in the data's own units; dates are whole days since 1970-01-01, ``days.astype("M8[D]")``.
        """
        check_is_fitted(self)
        drawn = self._principal.factors.sample(*sample_arguments(n_samples, random_state))
        return values_to_rows(self.mean_ + self.scale_ * drawn, numeric_scales(self))


def _first(axes: Principal, count: int | None, share: float | None) -> Principal:
    """Return the first ``count`` axes, or those that explain a share of the variance."""
    if share is not None:
        shares = np.cumsum(axes.variances) / axes.total
        count = min(int(np.searchsorted(shares, share)) + 1, len(shares))
    return axes.first(count or len(axes.axes))
