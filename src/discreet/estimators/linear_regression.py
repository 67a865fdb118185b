"""``LinearRegression``: least squares under differential privacy."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.validation import check_is_fitted

from discreet.arguments import UNSHOWN, ArgumentError, choice, format_names, one_of
from discreet.door import Curator
from discreet.door.inquiry import Inquiry
from discreet.estimators.coefficient_table import CoefficientInference, scale_label
from discreet.estimators.fitted_columns import has_names, numeric_columns
from discreet.estimators.labelled import TargetedEstimator
from discreet.guarantees import Neighbors
from discreet.models.method import Method
from discreet.models.noisy_sums import released_rows
from discreet.models.regression.regression import AdaptiveMoments, RegressionMoments, UnitMoments
from discreet.models.regression.regression_line import fit_adassp, fit_noise_aware
from discreet.records import Bounds, Box, Number, space_of
from discreet.records.declared.bounds import read_pair
from discreet.scales import ColumnScale, column_scales

Array = NDArray[np.float64]

METHODS = ("adaptive", "adassp")
NOTHING = 0.01  # effective directions below which ``fit`` warns
NARROW, WIDE = 1e-100, 1e100  # limits on the widths of bounds, whose squares must be floats


class LinearRegression(CoefficientInference, RegressorMixin, TargetedEstimator):  # type: ignore[misc]
    """Least squares under differential privacy: y ≈ X·coef + intercept.

    Features and target are measured together; the line follows from released moments and costs nothing more. A ridge
    that accounts for the noise keeps the line finite whatever the columns are: equal, constant, or more than there are
    rows. Coefficients that the data do not identify are those of minimum norm, in units of the bounds: equal columns
    with the same bounds share a coefficient, and that of a constant column is 0.

    Parameters
    ----------
    epsilon, delta : float
        The guarantee, for the whole fit.
    bounds : Box, (low, high), one such pair a column, or mapping of str to pairs or categories
        The declared bounds of the features, in their own units; rows outside are clipped to them. They must not be
        taken from the data. With a mapping only its columns of a data frame or a file are used. None with a ``Curator``
        or ``Records``, which have their own. A ``Category``, in a mapping or among the columns that ``Curator.only``
        names, becomes a feature of 0 and 1 for each of its values after the first (``"ward=surgery"``).
    target_bounds : (float, float)
        The declared bounds of the target; None with a ``Curator`` or ``Records``.
    method : str
        ``"adaptive"`` (default): some rounds, each whitened by the previous estimate, so that the noise is relative to
        the residuals. ``"adassp"``: one release in the declared bounds with the ridge of Wang (2018), for comparison.
    fit_intercept : bool
        Whether there is an intercept; if not, the line goes through 0 in the data's own units.
    neighbors, random_state, verbose
        As in ``GaussianMixture``.

    Attributes
    ----------
    coef_ : array of shape (d,)
    intercept_ : float
    noise_ : array of shape (d,)
        Standard deviations of the noise in ``coef_``, from the noise distributions of the releases, to first order.
        They do not include the sampling error of the rows, nor the bias along directions that are not identified, where
        ``coef_`` is that of the minimum-norm line (then ``directions_`` is below d).
    covariances_ : array of shape (2, d + 1, d + 1), or None
        The covariance of ``unshrunk_``: by noise, and by sampling. None for models that earlier versions wrote.
    unshrunk_ : array of shape (d + 1,), or None
        The coefficients before the ridge shrinks them and, in the last place, the intercept. Intervals are centred at
        them, since shrinkage makes ``coef_`` smaller on average.
    identified_ : array of shape (d + 1,), or None
        Whether the releases say anything about each number of ``unshrunk_``. Where rows do not vary by more than the
        noise (collinear columns, too small a budget) they do not, and the standard error is infinite.
    ridge_ : float
        The ridge that was added to the variances of the features, in the coordinates of the last round.
    directions_ : float
        The effective number of directions: the sum of the shrinkage factors of the d directions of the features. It is
        d where noise is small, and less where columns are collinear. Near 0 the fit is dominated by noise, and ``fit``
        warns.
    guarantee_, unit_, losses_, releases_, n_features_in_, feature_names_in_
        As in ``GaussianMixture``.

    Examples
    --------
    >>> import numpy as np
    >>> import discreet as dp
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20_000, 2))
    >>> y = X @ [3.0, -2.0] + 5.0 + rng.normal(size=20_000)
    >>> model = dp.LinearRegression(epsilon=1.0, bounds=dp.Box(-6, 6), target_bounds=(-30, 40)).fit(X, y)
    >>> print(model.coef_.round(), round(model.intercept_))
    [ 3. -2.] 5
    >>> print(model.guarantee_)
    (ε=1, δ=1e-06) replace-one
    """

    _target_noun, _target_column, _example_column = "target", "target", "income"
    _takes_categories = True

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        bounds: Bounds | None = None,
        target_bounds: tuple[float, float] | None = None,
        method: str = "adaptive",
        fit_intercept: bool = True,
        neighbors: Neighbors | str | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.target_bounds = target_bounds
        self.method = method
        self.fit_intercept = fit_intercept
        self.neighbors = neighbors
        self.random_state = random_state
        self.verbose = verbose

    def _plan_fit(self, X: Any, y: Any) -> Inquiry[Self]:
        choice("method", self.method, METHODS)
        if not isinstance(self.fit_intercept, bool):
            raise ArgumentError("fit_intercept", self.fit_intercept, "True or False")
        curator, target = self._open_with_target(X, y)
        widths = np.asarray(curator.space.scale)
        if not (widths.min() > NARROW and widths.max() < WIDE):
            raise ArgumentError(
                "bounds, target_bounds", UNSHOWN, f"widths between {NARROW:g} and {WIDE:g}", write="them in other units"
            )

        def take(result: RegressionMoments) -> None:
            line = (fit_noise_aware if self.method == "adaptive" else fit_adassp)(
                result, target, intercept=self.fit_intercept
            )
            self.coef_, self.intercept_, self.noise_, self.ridge_ = line.weights, line.intercept, line.noise, line.ridge
            self.directions_ = line.directions
            last = self.releases_[-1]
            rows = released_rows(last, "counts" if "counts" in last.parts else "count")
            clusters = float(
                curator.setting.max_rows
            )  # rows of one person are dependent: see ``statistics.population``
            self.unshrunk_, self.identified_ = line.unshrunk, line.identified
            self.covariances_ = np.stack([line.noise_covariance, line.sampling_covariance * clusters / rows])
            if line.directions < NOTHING:
                warnings.warn(
                    f"the fit is dominated by noise: epsilon={self.epsilon!r} is too small for these columns, no "
                    "feature varies within its bounds, or the features explain almost nothing of the target; coef_ is "
                    "about 0. Write a larger epsilon, other bounds or fewer columns",
                    stacklevel=5,
                )

        return self._plan_method(self._method_for(curator), curator, take)

    def _method_for(self, curator: Curator) -> Method[RegressionMoments]:
        """Return the method that the parameters request."""
        if self.method == "adassp":
            return UnitMoments(curator.size)
        guarantee = self._requested_guarantee(curator.neighbors)
        return AdaptiveMoments.for_data(curator.space.dimension, guarantee, curator.size)

    def _check_target(self, curator: Curator, name: str, labels: tuple[Any, ...] | None) -> tuple[Curator, int]:
        """Return a curator with the target among its columns, and its index; note the others as scikit-learn does."""
        if self.neighbors is not None and Neighbors.parse(self.neighbors) is not curator.neighbors:
            raise ArgumentError("neighbors", self.neighbors, f"None, or the curator's {curator.neighbors}")
        if name not in curator.columns:
            raise ArgumentError("y", name, f"a numeric column, {one_of(name, curator.columns)}")
        target, features = curator.columns.index(name), [column for column in curator.columns if column != name]
        if not features:
            raise ArgumentError("y", name, "another numeric column beside it, a feature; there is none")
        self._check_bounds(curator, target)
        self.n_features_in_ = len(features)
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        if has_names(curator, features):
            self.feature_names_in_ = np.array(features, dtype=object)
        return curator, target

    def _check_bounds(self, curator: Curator, target: int) -> None:
        """Raise where ``bounds`` or ``target_bounds`` are given that are not the curator's."""
        space, names = curator.space, [name for i, name in enumerate(curator.columns) if i != target]
        ends = (space.low, space.high) if isinstance(space, Box) else ((), ())
        pairs = list(zip(*(np.atleast_1d(end).tolist() for end in ends), strict=True))
        own = pairs[target] if pairs else None
        if self.target_bounds is not None and (self._target().low, self._target().high) != own:
            raise ArgumentError("target_bounds", self.target_bounds, f"None, or the curator's {own!r}")
        if self.bounds is not None:
            declared, others = space_of(self._feature_bounds), [pair for i, pair in enumerate(pairs) if i != target]
            same = bool(others) and declared.for_columns(len(names)) == Box(*zip(*others, strict=True))
            if not same or (isinstance(self.bounds, Mapping) and list(self._feature_bounds) != names):
                raise ArgumentError(
                    "bounds", self.bounds, f"None, or the curator's of all columns but y, {format_names(names)}"
                )

    def _target(self) -> Number:
        """Return the declared column of the target."""
        write = "of the target, declared and never taken from the rows; write for example target_bounds=(0, 120)"
        return read_pair("target_bounds", self.target_bounds, write)

    def _read_target(self, y: Any) -> tuple[Number, Array, None]:
        """Return the target's declared column, and the target of each row."""
        return self._target(), _as_numbers(y), None

    _plots = ("coefficients", "noise")
    _fitted = ("coef_", "intercept_", "noise_", "ridge_", "directions_", "covariances_", "unshrunk_", "identified_")
    _added: ClassVar[Mapping[str, Any]] = {"covariances_": None, "unshrunk_": None, "identified_": None}

    def _check_fitted(self) -> None:
        """Raise where the attributes are not those of a linear regression."""
        super()._check_fitted()
        d = self.n_features_in_
        if (self.coef_.shape, self.noise_.shape) != ((d,), (d,)) or not np.all(self.noise_ >= 0.0):
            raise ArgumentError("coef_, noise_", UNSHOWN, f"{d} numbers each, and no negative standard deviation")
        if self.covariances_ is not None and (
            self.unshrunk_ is None
            or self.unshrunk_.shape != (d + 1,)
            or self.covariances_.shape != (2, d + 1, d + 1)
            or np.any(np.diagonal(self.covariances_, 0, 1, 2) < 0.0)
            or (self.identified_ is not None and self.identified_.shape != (d + 1,))
        ):
            raise ArgumentError("covariances_, unshrunk_", UNSHOWN, f"{d + 1} coefficients and variances of them")
        for name in ("intercept_", "ridge_", "directions_"):
            if not isinstance(getattr(self, name), float):
                raise ArgumentError(name, getattr(self, name), "a number")

    def _has_intercept(self) -> bool:
        return bool(self.fit_intercept)

    def _coefficient_errors(self, of: str) -> tuple[Array, Array]:
        """Return coefficients without shrinkage, and their covariance.

        It is that of least squares with a constant residual variance, and of the noise. With persons of up to m rows
        the part of sampling is m times as large, which bounds it whatever the dependence.
        """
        if self.covariances_ is None:
            raise ValueError("covariances_: an earlier version wrote this model without them; fit it again")
        covariance = self.covariances_.sum(axis=0) if of == "population" else self.covariances_[0]
        number = len(self.coef_) + self._has_intercept()
        assert self.unshrunk_ is not None  # it comes with the covariances
        unknown = np.flatnonzero(np.zeros(number) if self.identified_ is None else self.identified_[:number] == 0)
        covariance = covariance[:number, :number].copy()
        covariance[unknown, unknown] = np.inf
        return self.unshrunk_[:number], covariance

    def predict(self, X: Any) -> Array:
        """Return X·coef + intercept for each row, in the target's own units: its exponential for a log column."""
        check_is_fitted(self)
        result = np.asarray(self._rows(X) @ self.coef_ + self.intercept_)
        target = self._target_scale
        return result if target is None else target.to_own(result, inside=False)

    @property
    def _target_scale(self) -> ColumnScale | None:
        """The scale of the target; None where the releases do not tell which column it is."""
        known = column_scales(self.releases_[0].declared)
        target = [scale for name, scale in known.items() if name not in numeric_columns(self)]
        return target[0] if len(target) == 1 else None

    def _target_facts(self) -> tuple[tuple[str, str], ...]:
        target = self._target_scale
        return () if target is None else (("Dep. variable", scale_label(target)),)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R², without noise: do not publish it for private rows."""
        return float(super().score(X, y, sample_weight))


def _as_numbers(y: Any) -> Array:
    """Return the target as numbers. No error shows one of them."""
    if getattr(y, "ndim", 1) == 2 and y.shape[1] > 1:
        raise ValueError(f"y has {y.shape[1]} columns: expected one target; write a fit for each, with a part of ε")
    given = np.asarray(y)
    if given.dtype.kind not in "biufOSU":
        raise ValueError(f"y has the type {given.dtype}: expected numbers")
    values = column_or_1d(given, warn=True)
    numbers: Array | None = None
    with suppress(TypeError, ValueError, OverflowError):  # whose message would show a value
        numbers = np.asarray(values, dtype=np.float64)
    if numbers is None:
        raise ValueError("y holds text, or something else that is not a number: expected numbers")
    assert_all_finite(numbers, input_name="y")
    return numbers
