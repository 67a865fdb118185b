"""``PrivateEstimator``: base class of all estimators; it opens the rows given to ``fit`` and runs a method on them.

``fit`` takes

- a ``Curator``, or a ``StatisticalDatabase``, which has one. Bounds and relation are the curator's; an estimator that
  names different ones is refused before anything is spent;
- ``Records``, a path, a ``Table`` or a Dask collection: read as declared, and no error depends on a row;
- an array or a data frame, of a caller who may see the rows. NaN, infinities and text are an error that names the
  column, and so are labels of which none is declared. Such an error depends on the rows and is outside of the
  guarantee.

This room may import everything above it, and scikit-learn.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from discreet.arguments import UNSHOWN, ArgumentError, format_names, integer, positive, probability
from discreet.door import Curator
from discreet.door.inquiry import Inquiry, Measure
from discreet.door.release import describe_fit_guarantee
from discreet.em import Step
from discreet.estimators.display import DisplayMixin
from discreet.estimators.fitted_columns import (
    categories_to_indicators,
    dates_to_days,
    frame_backend,
    has_names,
    indicated_categories,
    numeric_columns,
    numeric_scales,
    rows_to_values,
    select_columns,
)
from discreet.estimators.persistence import Persistent
from discreet.guarantees import Guarantee, Neighbors
from discreet.models.method import Method, Result
from discreet.noise import Bits, NotPrivateWarning, SeededBits
from discreet.records import Ball, Box, Records, check_finite, open_records, space_of
from discreet.records.given_data import is_array, is_file, is_numpy, is_stored


def as_curator(X: Any) -> Any:
    """Return the curator of a ``StatisticalDatabase``; anything else as it is."""
    held = getattr(X, "curator", None)
    return held if isinstance(held, Curator) else X


def refuse_hidden_rows(X: Any, method: str, stored: Callable[[Any], bool] = is_file) -> None:
    """Raise, before anything is spent, where a method would show rows to a caller who does not hold them."""
    if isinstance(as_curator(X), Curator | Records) or stored(X):
        raise ArgumentError(
            "X",
            UNSHOWN,
            f"rows that you hold, as an array or a data frame, got {type(X).__name__}",
            write=f"fit(X), and then {method}(rows) for rows that you may see",
        )


def sample_arguments(n_samples: Any, random_state: Any) -> tuple[int, np.random.Generator]:
    """Return the number of synthetic rows, checked, and a generator for them. They are public, so a seed is fine."""
    seed = check_random_state(random_state).randint(2**31)
    return integer("n_samples", n_samples, least=1), np.random.default_rng(seed)


class RowTransformer(TransformerMixin):  # type: ignore[misc]
    """A transformer whose ``fit_transform`` accepts only rows that the caller holds; it refuses before any spend."""

    def fit_transform(self, X: Any, y: Any = None, **parameters: Any) -> Any:
        """Fit to rows and transform them. The result is as sensitive as the rows, which the caller must hold."""
        refuse_hidden_rows(X, "transform")
        return super().fit_transform(X, y, **parameters)

    @staticmethod
    def _check_transformed(X: Any, number: int, one: str) -> NDArray[np.float64]:
        """Return transformed rows as numbers, of so many columns, one for each of something."""
        try:
            rows: NDArray[np.float64] = check_array(X, dtype=np.float64)
        except OverflowError:
            raise ArgumentError("X", UNSHOWN, "numbers that a float holds") from None
        if rows.shape[1] != number:
            raise ValueError(f"X has {rows.shape[1]} columns: expected {number}, one a {one}")
        return rows


class LogLikelihoodScore:
    """Mixin: ``score`` is the mean of ``score_samples``, the mean log-likelihood."""

    score_samples: Callable[[Any], NDArray[np.float64]]

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-likelihood of the rows, in the data's own units, as scikit-learn does.

        It has no noise, so do not publish it for private rows. ``discreet.private_score`` is the private alternative,
        for models of numbers alone.
        """
        return float(np.mean(self.score_samples(X)))


class PrivateEstimator(DisplayMixin, Persistent, BaseEstimator):  # type: ignore[misc]
    """An estimator with ``epsilon``, ``delta``, ``bounds``, ``neighbors``, ``random_state`` and ``verbose``."""

    epsilon: float
    delta: float
    bounds: Any
    neighbors: Neighbors | str | None
    random_state: Any
    verbose: bool
    n_steps: int | None  # only of estimators that iterate
    _needs_numbers: ClassVar[bool] = True  # whether there must be a numeric column

    @property
    def _label(self) -> str:
        """The name of the fit in the ledger and in the progress bar."""
        return type(self).__name__

    def _requested_guarantee(self, neighbors: Neighbors) -> Guarantee:
        """Return the guarantee that ``epsilon`` and ``delta`` request, checked."""
        accepted = "a probability in (0, 1), for example 1e-6"
        delta = probability("delta", self.delta, accepted=accepted)
        if delta == 0.0:
            raise ArgumentError("delta", self.delta, accepted)
        return Guarantee(positive("epsilon", self.epsilon), delta, neighbors)

    def _open(self, X: Any) -> Curator:
        """Return a curator of the rows, and set ``n_features_in_`` and ``feature_names_in_`` as scikit-learn does."""
        relation = None if self.neighbors is None else Neighbors.parse(self.neighbors)
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        X = as_curator(X)
        if isinstance(X, Curator):
            curator = X
            if relation not in (None, curator.neighbors):
                raise ArgumentError("neighbors", self.neighbors, f"None, or the curator's {curator.neighbors}")
            bounds = self._feature_bounds
            if isinstance(bounds, Mapping) and tuple(bounds) != tuple(curator.columns):
                raise ArgumentError("bounds", self.bounds, f"None, or bounds of {format_names(curator.columns)}")
        else:
            curator = self._make_curator(X, relation or Neighbors.REPLACE_ONE)
        if curator.space is None and self._needs_numbers:
            raise ArgumentError("X", UNSHOWN, "rows with numeric columns; the schema declares none")
        if self.bounds is not None and not self._has_space(curator.space):
            raise ArgumentError("bounds", self.bounds, f"None, or the curator's {curator.space!r}")
        self.n_features_in_ = len(curator.columns)
        if has_names(curator, curator.columns):
            self.feature_names_in_ = np.array(curator.columns, dtype=object)
        self._backend = curator.backend or frame_backend(X)  # the library of the data frame of synthetic rows
        return curator

    @property
    def _feature_bounds(self) -> Any:
        """The declared bounds of the columns that the model sees."""
        return self.bounds

    def _has_space(self, space: Box | Ball) -> bool:
        """Return whether ``bounds`` declares this space."""
        return space_of(self._feature_bounds).for_columns(space.dimension) == space

    def _make_curator(self, X: Any, neighbors: Neighbors) -> Curator:
        if isinstance(X, Records):
            return Curator(X, neighbors=neighbors)
        space, bounds = space_of(self.bounds), self.bounds
        if is_stored(X):
            return Curator(open_records(X, bounds=bounds), neighbors=neighbors)
        rows = self._owned_rows(X)
        if {*self._declared_scales.values()} <= {"linear"}:
            bounds = space.for_columns(rows.shape[1])
        return Curator(open_records(rows, bounds=bounds, complete=True), neighbors=neighbors)

    @property
    def _declared_scales(self) -> dict[str, str]:
        """The scale of each column of ``bounds`` by name: rows of log columns and dates come in their own units."""
        columns = self._feature_bounds if isinstance(self.bounds, Mapping) else {}
        return {str(name): getattr(column, "scale", "linear") for name, column in columns.items()}

    def _owned_rows(self, X: Any) -> Any:
        """Return rows that the caller holds as an array of numbers, dates as days, checked; note their columns."""
        X = self._select(dates_to_days(X, [name for name, scale in self._declared_scales.items() if scale == "date"]))
        if is_array(X) and not is_numpy(X):
            check_finite(X)
            return X
        return self._validate(X)

    def _select(self, X: Any) -> Any:
        """Return the columns of a data frame that have bounds by name; all columns where bounds have no names."""
        if not isinstance(self.bounds, Mapping):
            return X
        space: Any = space_of(self._feature_bounds)
        if not hasattr(X, "columns"):
            pairs = list(zip(space.low, space.high, strict=True))
            raise ArgumentError(
                "bounds",
                UNSHOWN,
                "bounds without names, since the columns of an array have no names",
                write=f"bounds={pairs}",
            )
        return select_columns(X, list(self._feature_bounds))

    def _validate(self, X: Any) -> NDArray[np.float64]:
        """Return rows that the caller holds as numbers, checked as scikit-learn does. No error shows a row."""
        if hasattr(X, "columns") or (is_numpy(X) and X.ndim == 2 and X.dtype.kind in "biuf"):
            check_finite(X)  # names the column, where scikit-learn would show a value
        rows: NDArray[np.float64] | None = None
        refusal = ""
        try:
            rows = validate_data(self, X, dtype=np.float64, ensure_min_samples=1)
        except OverflowError:
            refusal = "X holds numbers that no float holds: expected finite numbers"
        except ValueError as error:
            refusal = str(error).splitlines()[0]  # what follows may show rows
        if rows is None:  # outside of the except block, or the error would come along as context
            raise ValueError("X holds text: expected numbers" if "could not convert string" in refusal else refusal)
        return rows

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the model, at a cost of ``epsilon`` and ``delta``.

        Parameters
        ----------
        X : Curator, StatisticalDatabase, Records, array, data frame, path, Table, or Dask collection
            See ``discreet.estimators.base`` for what may be raised.
        y : ignored

        Returns
        -------
        self
        """
        return self._plan_fit(X, y).run()

    def plan(self, X: Any, y: Any = None) -> Inquiry[Self]:
        """Return the questions and losses of ``fit`` on these rows; nothing is spent, and no row is read.

        An array or a data frame is checked as in ``fit``. ``run`` of the returned inquiry fits a copy of the estimator.

        Examples
        --------
        >>> import numpy as np
        >>> import discreet as dp
        >>> rows = dp.Curator(np.array([[0.5, 0.1], [0.2, 0.4]]), space=dp.Box(0, 1))
        >>> len(dp.PCA(1, epsilon=1.0, method="analyze-gauss").plan(rows).losses)
        1
        """
        mine: Self = clone(self)
        return mine._plan_fit(X, y)

    @abstractmethod
    def _plan_fit(self, X: Any, y: Any) -> Inquiry[Self]:
        """Return the inquiry of a fit, whose answer is the fitted estimator. All refusals happen here."""

    def _plan_method(
        self,
        method: Method[Result],
        curator: Curator,
        take: Callable[[Result], None],
        space: Box | Ball | None = None,
        *,
        own_units: bool = True,
    ) -> Inquiry[Self]:
        """Return the inquiry of a method. Its answer runs the method, notes the cost, and sets the fitted attributes.

        Parameters
        ----------
        method : Method
        curator : Curator
        take : callable
            Sets the fitted attributes from the result of the method.
        space : Box or Ball, optional
            The space in whose unit ball the method runs; by default the curator's.
        own_units : bool
            Whether the result is rescaled from the unit ball to the data's own units.
        """
        place = space or curator.space
        guarantee = self._requested_guarantee(curator.neighbors)
        losses = method.losses(guarantee)
        if self.random_state is not None and curator.ledger is not None:
            raise ArgumentError(
                "random_state", self.random_state, "None where a ledger records; a seed undoes the noise"
            )
        bits, rng = self._randomness()

        def answer(measure: Measure, fitted: Self = self) -> Self:
            result, releases = method.run(place, rng, self._measures(measure, len(losses)))
            proved = bits is None and all(release.mechanism != "approximate" for release in releases)
            self.guarantee_ = guarantee if proved else None
            self.unit_ = curator.unit
            self.losses_, self.releases_ = losses, tuple(releases)
            take(result.rescale(np.asarray(place.center), np.asarray(place.scale)) if own_units else result)
            return fitted

        asked = zip(method.questions(place, len(losses)), losses, strict=True)
        return Inquiry(curator, guarantee, asked, answer, f"{self._label}, {len(losses)} releases", bits)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Return the parameters and, for a fitted estimator, the guarantee."""
        shown = str(super().__repr__(N_CHAR_MAX))
        if not hasattr(self, "releases_"):
            return shown
        return f"{shown} fitted {describe_fit_guarantee(self.guarantee_, self.unit_, self.releases_)}"

    def _rows(self, X: Any) -> NDArray[np.float64]:
        """Return rows to predict or score as values of the model, checked as scikit-learn does."""
        check_is_fitted(self)
        if is_file(X) or isinstance(as_curator(X), Curator | Records):
            raise ArgumentError(
                "X",
                UNSHOWN,
                f"rows that you hold, as an array or a data frame, got {type(X).__name__}",
                write="pandas.read_csv(path), say, for rows that you may see: a path or a curator is for fit",
            )
        scales = numeric_scales(self)
        X = dates_to_days(X, [scale.name for scale in scales if scale.kind == "date"])
        X = categories_to_indicators(X, indicated_categories(self), numeric_columns(self))
        if hasattr(X, "columns"):
            X = self._select(X)  # as in fit
        try:
            rows = validate_data(self, X, dtype=np.float64, reset=False)
        except OverflowError:  # a whole number of hundreds of digits
            raise ArgumentError("X", UNSHOWN, "numbers that a float can hold") from None
        return rows_to_values(rows, scales)

    @property
    def _steps(self) -> int | None:
        """``n_steps``, checked; None to choose it."""
        steps: int | None = self.n_steps
        return None if steps is None else integer("n_steps", steps, least=1, most=10_000)

    def _check_at_most_rows(self, name: str, count: int, rows: int | None) -> None:
        """Raise where more components are requested than the public number of rows."""
        if rows is not None and count > rows:
            raise ArgumentError(name, getattr(self, name), f"at most the number of rows; there are {rows} samples")

    def _randomness(self) -> tuple[Bits | None, np.random.Generator]:
        """Return the sources of noise and of public choices (a start): the system's, or seeded ones, with a warning."""
        if self.random_state is None:
            return None, np.random.default_rng()
        seed = int(check_random_state(self.random_state).randint(2**31))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotPrivateWarning)
            bits = SeededBits(seed)
        warnings.warn(
            f"random_state={self.random_state!r}: anybody who knows it can subtract the noise, so this fit is not "
            "private; leave random_state out for sensitive rows",
            NotPrivateWarning,
            stacklevel=5,
        )
        return bits, np.random.default_rng(seed)

    def _measures(self, measure: Measure, number: int) -> Iterator[Step]:
        """Yield the measure once for each loss, with a progress bar if ``verbose``."""
        steps: Any = range(number)
        if self.verbose:
            from tqdm.auto import tqdm

            steps = tqdm(steps, desc=self._label, unit="step")
        for _ in steps:
            yield measure
