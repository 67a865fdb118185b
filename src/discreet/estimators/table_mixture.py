"""``TableMixture``: a mixture over numbers and categories, fitted by private expectation maximisation."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from discreet.arguments import UNSHOWN, ArgumentError, choice, integer
from discreet.door import Curator
from discreet.door.inquiry import Inquiry
from discreet.estimators.base import LogLikelihoodScore, sample_arguments
from discreet.estimators.covariance_types import check_gaussians, pack_covariances, unpack_covariances
from discreet.estimators.table_estimator import TableEstimator, warn_of_dropped_rows
from discreet.guarantees import Neighbors
from discreet.models.noisy_sums import noise_std
from discreet.models.table.column_maps import correct_cells, match_histogram
from discreet.models.table.table_method import AdaptiveTables, MixedComponents
from discreet.queries.counts.grids import ColumnCells
from discreet.queries.moments.clipped_moments import SHAPES
from discreet.queries.moments.components import Components
from discreet.records import Category, Schema

Array = NDArray[np.float64]
Codes = NDArray[np.int64]


class TableMixture(LogLikelihoodScore, DensityMixin, TableEstimator):  # type: ignore[misc]
    """A mixture over numbers and categories, fitted under differential privacy.

    Within a component the numbers are Gaussian and every column of categories has its own probabilities, independent of
    the rest. Synthetic rows have both. The guarantee (``epsilon``, ``delta``) covers the whole fit. Everything computed
    from the fitted object is post-processing, at no further cost: predictions, densities, any number of synthetic rows.

    Parameters
    ----------
    n_components : int
        The largest number of components; there are fewer where the budget could not distinguish them.
    epsilon, delta : float
        The guarantee.
    schema : Schema, optional
        The declared columns: numbers with their bounds and categories with their values. They must not be taken from
        the rows. The schema also says how missing values are treated. A ``Curator`` or ``Records`` has declarations of
        its own; with these a schema may be left out, or gives the order of the columns.
    whole : collection of str
        The columns that are declared to hold whole numbers, such as years of age; so do those of synthetic rows. Dates
        are whole days in any case.
    covariance_type : str
        ``"full"``, ``"tied"``, ``"diag"`` or ``"spherical"``. Fewer parameters have less noise.
    n_steps : int, optional
        The number of EM steps. By default it is chosen from public numbers. There is no convergence test.
    neighbors, random_state, verbose
        As in ``GaussianMixture``.

    Attributes
    ----------
    weights_, means_, covariances_ : array
        The Gaussians of the numbers, as in ``GaussianMixture``.
    probabilities_ : dict of str to array of shape (K, C)
        For each column of categories its probabilities in each component.
    cells_ : dict of str to array
        For each column of numbers its distribution over cells, which ``sample`` follows.
    categories_ : dict of str to tuple
        For each of these columns the declared values.
    columns_ : tuple of str
        All columns, in the schema's order; without a schema the numbers come first.
    n_components_ : int
    guarantee_, unit_, losses_, releases_, n_features_in_, feature_names_in_
        As in ``GaussianMixture``.

    Examples
    --------
    >>> import discreet as dp
    >>> import numpy as np
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> tall = rng.random(10_000) < 0.4
    >>> height = np.where(tall, 180.0, 160.0) + rng.normal(0.0, 5.0, 10_000)
    >>> frame = pd.DataFrame({"height": height, "size": np.where(tall, "L", "S")})
    >>> schema = dp.Schema({"height": dp.Number(100, 220), "size": dp.Category(["S", "M", "L"])})
    >>> mixture = dp.TableMixture(2, epsilon=1.0, delta=1e-6, schema=schema).fit(frame)
    >>> synthetic = pd.DataFrame(mixture.sample(10_000))
    >>> print(synthetic.groupby("size")["height"].mean().round(-1)[["S", "L"]].to_dict())
    {'S': 160.0, 'L': 180.0}
    >>> print(mixture.guarantee_)
    (ε=1, δ=1e-06) replace-one
    """

    def __init__(
        self,
        n_components: int = 1,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        schema: Schema | None = None,
        whole: Collection[str] = (),
        covariance_type: str = "full",
        n_steps: int | None = None,
        neighbors: Neighbors | str | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.whole = whole
        self.covariance_type = covariance_type
        self.n_steps = n_steps
        self.neighbors = neighbors
        self.random_state = random_state
        self.verbose = verbose

    def _plan_fit(self, X: Any, y: Any) -> Inquiry[Self]:
        curator = self._open(X)
        if not curator.categories:
            raise ArgumentError(
                "X",
                UNSHOWN,
                "columns of categories beside the numbers, and none is declared; use GaussianMixture for numbers alone",
            )
        names = tuple(curator.declared["category_columns"])

        def take(result: MixedComponents) -> None:
            self.columns_ = (*curator.columns, *names) if self.schema is None else self.schema.names
            self.categories_ = dict(zip(names, curator.categories, strict=True))
            self.feature_names_in_ = np.array(self.columns_, dtype=object)
            self.n_features_in_ = len(self.columns_)
            self.n_components_ = result.components.count
            self.weights_, self.means_ = result.components.weights, result.components.means
            self.covariances_ = pack_covariances(result.components.covariances, self.covariance_type)
            self.probabilities_ = dict(zip(names, result.probabilities, strict=True))
            self.cells_ = dict(zip(curator.columns, result.cells, strict=True))
            counts = self.releases_[0]["table0"]
            noise = noise_std(self.releases_[0], "table0") * math.sqrt(len(counts))
            warn_of_dropped_rows(self.releases_[0], float(counts.sum()), noise)

        return self._plan_method(self._method_for(curator), curator, take)

    def _method_for(self, curator: Curator) -> AdaptiveTables:
        """Return the method that the parameters request, all of them checked."""
        shape = choice("covariance_type", self.covariance_type, SHAPES)
        steps = self._steps
        given: Any = self.n_components
        if isinstance(given, str):
            raise ArgumentError("n_components", given, "a whole number, for a table with categories")
        count = integer("n_components", given, least=1, most=1000)
        self._check_at_most_rows("n_components", count, curator.size.units)
        return AdaptiveTables.for_data(
            count,
            curator.space,
            tuple(map(len, curator.categories)),
            self._requested_guarantee(curator.neighbors),
            curator.size,
            whole=self._whole(curator),
            shape=shape,
            steps=steps,
        )

    _plots = ("components", "pairs", "weights", "categories", "sample", "noise")
    _fitted = (
        "weights_",
        "means_",
        "covariances_",
        "n_components_",
        "probabilities_",
        "cells_",
        "categories_",
        "columns_",
    )

    def _check_fitted(self) -> None:
        """Raise where the attributes are not those of a mixture of tables."""
        super()._check_fitted()
        k, d = self.n_components_, len(self._numbers)
        parts = (self.weights_, self.means_, self.covariances_)
        kind = choice("covariance_type", self.covariance_type, SHAPES)
        check_gaussians(("weights_", "means_", "covariances_"), parts, kind, k, d)
        tables = self.probabilities_.values()
        if not all(np.all(table > 0.0) and np.all(abs(table.sum(axis=1) - 1.0) < 1e-6) for table in tables):
            raise ArgumentError("probabilities_", UNSHOWN, "positive numbers that sum to 1")
        declared = {name: (k, len(Category(values).values)) for name, values in self.categories_.items()}
        if {name: table.shape for name, table in self.probabilities_.items()} != declared:
            raise ArgumentError(
                "probabilities_", UNSHOWN, "a table of components and categories for each of categories_"
            )
        sizes = [cells.count for cells in self._cells]
        if [len(shares) for shares in self.cells_.values()] != sizes or tuple(self.cells_) != self._numbers:
            raise ArgumentError("cells_", UNSHOWN, "a distribution over the cells of each column of numbers")
        if not all(np.all(shares >= 0.0) and abs(shares.sum() - 1.0) < 1e-6 for shares in self.cells_.values()):
            raise ArgumentError("cells_", UNSHOWN, "numbers of at least 0 that sum to 1")
        columns = d + len(declared)
        if len(set(self.columns_)) != columns or self.n_features_in_ != columns or self._space.dimension != d:
            raise ArgumentError("columns_", UNSHOWN, "every column of numbers and of categories once")
        _ = self._mixture.components.factors  # raises where a covariance is not positive definite

    @property
    def _cells(self) -> tuple[ColumnCells, ...]:
        """The cells of each column of numbers."""
        return tuple(ColumnCells(one.low, one.high, self._has_whole_values(one)) for one in self._scales)

    @property
    def _mixture(self) -> MixedComponents:
        """The mixture in the data's own units."""
        check_is_fitted(self)
        covariances = unpack_covariances(self.covariances_, self.covariance_type, *self.means_.shape)
        components = Components(self.weights_, self.means_, covariances)
        return MixedComponents(components, tuple(self.probabilities_.values()), tuple(self.cells_.values()))

    def _moved_shares(self) -> dict[str, float]:
        """Return for each column of numbers the share of the rows that ``sample`` moves to other cells."""
        mixture, result = self._mixture, {}
        for j, (name, cells) in enumerate(zip(self._numbers, self._cells, strict=True)):
            own = correct_cells(mixture.components, j, cells, mixture.cells[j], math.inf)
            result[name] = 0.5 * float(np.abs(mixture.cells[j] - own).sum())
        return result

    def score_samples(self, X: Any) -> Array:
        """Return the logarithm of density times probability of each row, without noise: do not publish it.

        Parameters
        ----------
        X : data frame, or mapping of names to arrays
            Rows in their own units. Missing values are filled as ``schema`` says, and are otherwise an error that names
            the column.
        """
        mixture = self._mixture
        return mixture.log_density(*self._read(X))

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each component for each row."""
        return np.asarray(softmax(self._mixture.log_joint(*self._read(X)), axis=1))

    def predict(self, X: Any) -> Codes:
        """Return the most likely component for each row."""
        return np.asarray(self.predict_proba(X).argmax(axis=1))

    def sample(self, n_samples: int = 1, *, random_state: Any = None) -> dict[str, NDArray[Any]]:
        """Return synthetic rows, column by column in the order of ``columns_``, at no further cost.

        A data frame is ``pandas.DataFrame(mixture.sample(1000))``, or ``polars.DataFrame(…)``.

        Parameters
        ----------
        n_samples : int
        random_state : int, optional
            Synthetic rows are public, so a seed is fine.

        Returns
        -------
        dict of str to array
            Numbers within their declared bounds and in their own units, dates as ``datetime64[D]``, and categories
            as they were declared.
        """
        mixture = self._mixture
        x, codes = mixture.sample(*sample_arguments(n_samples, random_state))
        drawn: dict[str, NDArray[Any]] = {}
        for j, name in enumerate(self._numbers):
            scale = self._scales[j]
            matched = match_histogram(mixture.components, j, self._cells[j], mixture.cells[j], x[:, j])
            drawn[name] = self._own_numbers(scale, matched)
        for j, (name, values) in enumerate(self.categories_.items()):
            alike = len({type(value) for value in values}) == 1
            drawn[name] = np.array(values, dtype=None if alike else object)[codes[:, j]]
        return {name: drawn[name] for name in self.columns_}
