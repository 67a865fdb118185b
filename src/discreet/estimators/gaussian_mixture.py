"""``GaussianMixture``: a mixture of Gaussians, fitted by private expectation maximisation."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from discreet.arguments import UNSHOWN, ArgumentError, choice, integer, probability
from discreet.door import Curator
from discreet.door.inquiry import Inquiry
from discreet.estimators.base import LogLikelihoodScore, PrivateEstimator, sample_arguments
from discreet.estimators.covariance_types import check_gaussians, pack_covariances, unpack_covariances
from discreet.estimators.fitted_columns import numeric_columns, numeric_scales, to_frame, values_to_rows
from discreet.estimators.persistence import PublicRows
from discreet.guarantees import Neighbors
from discreet.guarantees.composition import METHODS as COMPOSITIONS
from discreet.guarantees.composition import compose
from discreet.guarantees.normal import normal_mu
from discreet.models.method import GUESS, Method
from discreet.models.mixture.adaptive_method import Adaptive
from discreet.models.mixture.joint_release import Joint, JointMixture, Prior
from discreet.models.mixture.mixture_diagnosis import MixtureDiagnosis, diagnose
from discreet.models.mixture.own_coordinates import Shape
from discreet.models.mixture.published_dpem import Paper
from discreet.models.mixture.selection import SCORING, SelectedModel
from discreet.models.noisy_sums import count_noise, released_rows
from discreet.queries.moments.clipped_moments import SHAPES
from discreet.queries.moments.components import Components
from discreet.records import Bounds
from discreet.scales import as_dates

Array = NDArray[np.float64]

METHODS = ("adaptive", "joint", "paper")
PUBLISHED_STEPS = 10
LEAST_BACKGROUND, MOST_BACKGROUND = 1e-4, 0.01


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _candidate_share(candidates: int) -> float:
    """Return the share of the budget of each of several candidates; all of it where there is one, or none to choose."""
    return 1.0 if candidates <= 1 else (1.0 - SCORING) / candidates


class GaussianMixture(LogLikelihoodScore, DensityMixin, PrivateEstimator):  # type: ignore[misc]
    """A mixture of Gaussians, fitted under differential privacy.

    The guarantee (``epsilon``, ``delta``) covers the whole fit. Everything computed from the fitted object is
    post-processing of its releases, at no further cost: predictions, densities, any number of synthetic rows.

    Parameters
    ----------
    n_components : int, "auto" or list of int
        The number of Gaussians. ``"auto"``: as many as suit ε, δ and the numbers of rows and columns, or as clusters
        that a private histogram shows in up to three columns; with ``method="adaptive"``. From several numbers the best
        is selected privately, within the same guarantee.
    epsilon, delta : float
        The guarantee.
    bounds : Box, Ball, (low, high), one such pair a column, or mapping of str to pairs
        The declared bounds of the rows, in their own units; rows outside are clipped to them. They must not be taken
        from the data. None with a ``Curator`` or ``Records``, which have their own.
    covariance_type : str
        ``"full"``, ``"tied"``, ``"diag"`` or ``"spherical"``. Fewer parameters have less noise.
    method : str
        ``"adaptive"`` (default): each component is whitened by its estimate of the step before. ``"joint"``: all
        moments as one release a step. ``"paper"``: DP-EM as published, one release a parameter, for comparison.
    n_steps : int, optional
        The number of EM steps. By default it is chosen from ε, δ, the numbers of columns and components, and the
        number of rows where it is public. It never depends on the data: there is no convergence test.
    background : float or "auto"
        The share of a background in densities: a Gaussian around the centre of the bounds, in each column with half
        their width as standard deviation. Without it a single row hundreds of standard deviations from every component
        rules a score. ``"auto"``: as many rows as the noise of a count could hide, between 0.0001 and 0.01 of all; 0
        with other methods than ``"adaptive"``. Components, predictions and synthetic rows have none of it.
    estimate : str
        ``"mle"`` or ``"map"`` (the posterior mode under the priors of the DP-EM paper).
    mechanisms, composition : str
        For ``method="paper"``: ``"GGG"`` or ``"LLG"``; ``"linear"``, ``"advanced"``, ``"zcdp"``, ``"moments"`` or
        ``"exact"``.
    neighbors : str, optional
        The neighbouring relation: ``"replace-one"`` (the default, under which the number of rows is public) or
        ``"add-remove"``.
    random_state : int, optional
        **Not private**: a seed makes the noise reproducible, and anybody who knows it can subtract the noise. For
        tests; it warns. None draws from the operating system's generator.
    verbose : bool
        Whether to show a progress bar.

    Attributes
    ----------
    weights_, means_, covariances_ : array
        In the data's own units, with scikit-learn's shapes. For a log column they are those of the logarithms, for
        dates those of the days since 1970-01-01.
    n_components_ : int
    background_ : float
        The share of the background in densities; ``weights_`` are shares of the rest.
    guarantee_ : Guarantee or None
        The guarantee of the fit and of everything computed from it; None where a seed made it void.
    unit_ : str
        The unit of privacy: ``"row"``, or for example ``"each patient"``.
    losses_ : tuple of Loss
        The privacy loss of each release.
    releases_ : tuple of Release
        Every noisy statistic that was measured, with its noise distribution.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> import discreet as dp
    >>> rng = np.random.default_rng(0)
    >>> rows = np.concatenate([rng.normal(-3.0, 1.0, (5000, 2)), rng.normal(3.0, 1.0, (5000, 2))])
    >>> mixture = dp.GaussianMixture(2, epsilon=1.0, delta=1e-6, bounds=dp.Ball(radius=10.0)).fit(rows)
    >>> print(np.sort(mixture.means_[:, 0]).round())
    [-3.  3.]
    >>> mixture.sample(1000)[0].shape
    (1000, 2)
    >>> print(mixture.guarantee_)
    (ε=1, δ=1e-06) replace-one
    """

    def __init__(
        self,
        n_components: int | str | Collection[int] = 1,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        bounds: Bounds | None = None,
        covariance_type: str = "full",
        method: str = "adaptive",
        n_steps: int | None = None,
        background: float | str = "auto",
        estimate: str = "mle",
        mechanisms: str = "GGG",
        composition: str = "zcdp",
        neighbors: Neighbors | str | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.covariance_type = covariance_type
        self.method = method
        self.n_steps = n_steps
        self.background = background
        self.estimate = estimate
        self.mechanisms = mechanisms
        self.composition = composition
        self.neighbors = neighbors
        self.random_state = random_state
        self.verbose = verbose

    def _plan_fit(self, X: Any, y: Any) -> Inquiry[Self]:
        curator = self._open(X)
        method, share = self._method_for(curator), self._background_share(curator)
        return self._plan_method(method, curator, partial(self._take, share))

    def _take(self, background: float, components: Components) -> None:
        self.background_ = background
        self.n_components_ = components.count
        self.weights_, self.means_ = components.weights, components.means
        self.covariances_ = pack_covariances(components.covariances, self.covariance_type)

    _plots = ("components", "pairs", "weights", "sample", "noise")
    _fitted = ("weights_", "means_", "covariances_", "n_components_", "background_")
    _added: ClassVar[Mapping[str, Any]] = {"background": 0.0, "background_": 0.0}

    def _check_fitted(self) -> None:
        """Raise where the attributes are not those of a mixture."""
        super()._check_fitted()
        if type(self.n_components_) is not int:
            raise ArgumentError("n_components_", UNSHOWN, "a whole number")
        parts = (self.weights_, self.means_, self.covariances_)
        kind = choice("covariance_type", self.covariance_type, SHAPES)
        check_gaussians(("weights_", "means_", "covariances_"), parts, kind, self.n_components_, self.n_features_in_)
        _ = self._components.factors  # raises where a covariance is not positive definite
        share = self._background_share(PublicRows.from_releases(self.releases_))
        if type(self.background_) is not float or not math.isclose(self.background_, share, rel_tol=1e-6):
            raise ArgumentError("background_", UNSHOWN, f"{share}, as the parameters ask for")

    def _method_for(self, curator: Curator) -> Method[Components]:
        """Return the method that the parameters request, all of them checked."""
        name = choice("method", self.method, METHODS)
        shape = choice("covariance_type", self.covariance_type, SHAPES)
        prior = Prior() if choice("estimate", self.estimate, ("mle", "map")) == "map" else None
        steps = self._steps
        counts = () if self._is_auto else self._counts(curator)
        make: Callable[[int], Method[Components]]
        if self._is_auto and name != "adaptive":
            raise ArgumentError("n_components", "auto", f"a whole number with method={name!r}")
        if name == "paper":
            if shape != "full" or len(counts) > 1:
                raise ArgumentError(
                    "method",
                    "paper",
                    f"covariance_type='full' and one number of components, got {shape!r} and {len(counts)} numbers",
                )
            mechanisms = choice("mechanisms", self.mechanisms, ("GGG", "LLG"))
            composition = choice("composition", self.composition, COMPOSITIONS)
            return Paper(counts[0], steps or PUBLISHED_STEPS, mechanisms, composition, prior)
        if name == "joint":
            if shape == "spherical" and len(set(curator.space.scale)) > 1:
                raise ArgumentError(
                    "covariance_type",
                    "spherical",
                    "a Ball, or a Box as wide in every column, with method='joint'; method='adaptive' takes any",
                )

            def make(count: int) -> Method[Components]:
                return Joint(JointMixture(count, shape, prior=prior), steps or PUBLISHED_STEPS)
        else:
            guarantee = self._requested_guarantee(curator.neighbors)

            def make(count: int | None) -> Method[Components]:
                return Adaptive.for_data(
                    count,
                    curator.space,
                    guarantee,
                    curator.size,
                    shape=shape,
                    prior=prior,
                    steps=steps,
                    part=_candidate_share(len(counts)),
                )

            if self._is_auto:
                return make(None)
        return make(counts[0]) if len(counts) == 1 else SelectedModel(tuple(map(make, counts)), curator.size)

    def _background_share(self, rows: Any) -> float:
        """Return the share of the background, from public numbers."""
        if not _is_auto(self.background):
            return probability("background", self.background, accepted="a share in [0, 1), or 'auto'")
        if self.method != "adaptive":
            return 0.0
        guarantee = self._requested_guarantee(rows.neighbors)
        noise = count_noise(normal_mu(guarantee.epsilon, guarantee.delta) ** 2, rows.neighbors)
        return min(max(noise / max(rows.size.units or GUESS, 1), LEAST_BACKGROUND), MOST_BACKGROUND)

    @property
    def _is_auto(self) -> bool:
        return _is_auto(self.n_components)

    def _counts(self, curator: Curator | PublicRows) -> tuple[int, ...]:
        given: Any = self.n_components
        if isinstance(given, np.ndarray):
            given = given.tolist()
        if isinstance(given, str):
            raise ArgumentError("n_components", given, "a whole number, several to choose from, or 'auto'")
        several = isinstance(given, Collection) and not isinstance(given, bytes | Mapping)
        counts = tuple(integer("n_components", one, least=1, most=1000) for one in (given if several else (given,)))
        counts = tuple(dict.fromkeys(counts))
        if not counts:
            raise ArgumentError("n_components", given, "a whole number, several to choose from, or 'auto'")
        self._check_at_most_rows("n_components", max(counts), curator.size.units)
        return counts

    @property
    def _components(self) -> Components:
        """The mixture in the data's own units."""
        check_is_fitted(self)
        return Components(
            self.weights_, self.means_, unpack_covariances(self.covariances_, self.covariance_type, *self.means_.shape)
        )

    @property
    def _density(self) -> Components:
        """The mixture and, as its last component, the background."""
        components = self._components
        if not self.background_:
            return components
        space = PublicRows.from_releases(self.releases_).space
        wide = np.diag(np.asarray(space.scale) ** 2 / space.dimension)
        return Components(
            np.append((1.0 - self.background_) * components.weights, self.background_),
            np.concatenate([components.means, np.array(space.center)[None]]),
            np.concatenate([components.covariances, wide[None]]),
        )

    def score_samples(self, X: Any) -> Array:
        """Return the log-density of each row, in the data's own units, without noise: do not publish it."""
        rows = self._rows(X)
        return self._density.log_density(rows)

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each component for each row."""
        rows = self._rows(X)
        return np.asarray(softmax(self._components.log_joint(rows), axis=1))

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the most likely component for each row."""
        return np.asarray(self.predict_proba(X).argmax(axis=1))

    def diagnose(self) -> MixtureDiagnosis:
        """Return what the releases say about the fit, at no further cost: see ``MixtureDiagnosis``.

        Examples
        --------
        >>> import numpy as np
        >>> import discreet as dp
        >>> rng = np.random.default_rng(0)
        >>> rows = np.concatenate([rng.normal(-3.0, 1.0, (5000, 2)), rng.normal(3.0, 1.0, (5000, 2))])
        >>> mixture = dp.GaussianMixture(2, bounds=dp.Ball(radius=10.0)).fit(rows)
        >>> print(mixture.diagnose())
        2 components; the smallest, number ..., has about ... rows (noise ...).
        No two components coincide, and none is wider than noise explains.
        """
        components, losses = self._components, self.losses_
        public = PublicRows.from_releases(self.releases_)
        counts = () if self._is_auto else self._counts(public)
        budget = _candidate_share(len(counts)) * normal_mu(self.epsilon, self.delta) ** 2
        noise = public.setting.max_rows * count_noise(budget, public.neighbors)
        counted = (release for release in reversed(self.releases_) if "counts" in release.parts)
        rows = released_rows(next(counted, self.releases_[-1]))
        again = None if self.guarantee_ is None else compose([*losses, *losses]).guarantee(self.delta)
        shape = Shape(self.covariance_type, components.dimension)
        return diagnose(components, shape, rows, noise, again, np.random.default_rng(0))

    def sample(self, n_samples: int = 1, *, random_state: Any = None) -> tuple[Any, NDArray[np.int64]]:
        """Return synthetic rows from the mixture, and the component of each, at no further cost.

        Parameters
        ----------
        n_samples : int
        random_state : int, optional
            Synthetic rows are public, so a seed is fine.

        Returns
        -------
        rows : data frame or array of shape (n_samples, n_features)
            In the data's own units. If a data frame was fitted, directly or behind a curator, a data frame of the same
            library with the same columns. For arrays, files, databases, and a model that was read from a file, an
            array, in which dates are whole days since 1970-01-01 (``days.astype("M8[D]")``); ``feature_names_in_`` has
            the column names.
        components : array of shape (n_samples,)
            The component that each row comes from.

        Examples
        --------
        >>> import discreet as dp
        >>> import pandas as pd
        >>> people = pd.DataFrame({"age": [31.0, 45.0, 52.0] * 1000, "stay": [2.0, 3.0, 9.0] * 1000})
        >>> mixture = dp.GaussianMixture(1, bounds={"age": (0, 110), "stay": (0, 60)}).fit(people)
        >>> rows, component = mixture.sample(5)
        >>> rows.columns.to_list(), rows.shape
        (['age', 'stay'], (5, 2))
        """
        values, numbers = self._components.sample(*sample_arguments(n_samples, random_state))
        scales, backend = numeric_scales(self), getattr(self, "_backend", None)
        rows = values_to_rows(values, scales)
        if backend is None:
            return rows, numbers
        columns = zip(numeric_columns(self), rows.T, scales, strict=True)
        dated = {name: as_dates(column) if scale.kind == "date" else column for name, column, scale in columns}
        return to_frame(dated, backend), numbers
