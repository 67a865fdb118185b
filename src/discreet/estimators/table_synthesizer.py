"""``TableSynthesizer``: synthetic tables from private histograms and pair tables, by a maximum-entropy model."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from discreet.arguments import UNSHOWN, ArgumentError
from discreet.door import Curator
from discreet.door.inquiry import Inquiry
from discreet.estimators.base import LogLikelihoodScore, sample_arguments
from discreet.estimators.drawn_tables import to_table
from discreet.estimators.persistence import PublicRows
from discreet.estimators.table_declaration import TableDeclaration
from discreet.estimators.table_estimator import TableEstimator, warn_of_dropped_rows
from discreet.estimators.table_persons import BATCHES, check_persons, keep_whole, put_together, rows_for
from discreet.estimators.table_relations import Relation
from discreet.guarantees import Neighbors
from discreet.models.noisy_sums import noise_std
from discreet.models.synthesis.column_histograms import ColumnHistogram
from discreet.models.synthesis.pair_targets import PairTargets
from discreet.models.synthesis.pairwise_fit import tied_pairs
from discreet.models.synthesis.pairwise_model import PairwiseModel
from discreet.models.synthesis.synthesis_method import FittedTable, TableSynthesis
from discreet.models.synthesis.table_quality import TableQuality, assess_table
from discreet.models.synthesis.table_rows import BrokenRule, Columns, DrawnColumn, draw_table, log_within
from discreet.models.synthesis.table_worlds import DisturbedFits, TableWorld
from discreet.models.synthesis.triples import TripleTargets, TripleTerms
from discreet.records import Box, Condition, Schema
from discreet.scales import ColumnScale

Array = NDArray[np.float64]

DIGITS = 6  # of fields and interactions in a file
MOST_COLUMNS = 500
MOST_FIELD = 1e6  # the sweeps of a fit reach some hundreds


class TableSynthesizer(LogLikelihoodScore, DensityMixin, TableEstimator):  # type: ignore[misc]
    """Synthetic tables that keep the histogram of every column and the table of every pair of columns.

    One-way histograms and all pair tables are released with noise. Synthetic rows come from the distribution of largest
    entropy with these tables, as far as they are more than noise. The guarantee (``epsilon``, ``delta``) covers the
    whole fit; any number of synthetic rows follow at no further cost. There is nothing to choose: every choice follows
    from public numbers or from what was released.

    Parameters
    ----------
    epsilon, delta : float
        The guarantee.
    schema : Schema, optional
        The declared columns: numbers and dates with their bounds, categories with their values. They must not be taken
        from the rows. Where the schema does not fill a missing value, a gap is a value of its own: synthetic rows have
        gaps as often as the real ones, and together with the same other values. A ``Curator`` or ``Records`` has
        declarations of its own; with these a schema may be left out, or gives the order of the columns.
    whole : collection of str
        The columns that are declared to hold whole numbers, such as years of age. Dates are whole days in any case.
    target : str, optional
        A column that others will be used to predict. Its pairs with all other columns are counted once more, and the
        triples that are counted are those with it.
    zeros : sequence of mapping or str
        What cannot occur, as the owner of the data knows: a mapping of columns to categories, or a condition about the
        columns in their own units. No synthetic row is such a row.
    relations : mapping of str to str or (str, sequence), optional
        Columns that follow from others: a number from a sum, as ``{"total": "a + b"}``, or categories from the edges of
        a number's bands, as ``{"age_band": ("age", [0, 18, 65, 120])}``. They are not counted, cost nothing and hold in
        every synthetic row; a gap in one of the others is a gap in them.
    known : mapping of str to mapping, optional
        Shares of categories that were published elsewhere, as ``{"sex": {"F": 0.51, "M": 0.49}}``, among rows without a
        gap in that column. They take the place of the released shares. The guarantee is of this fit alone, and does not
        cover what was published elsewhere: never take them from these rows.
    neighbors, random_state, verbose
        As in ``GaussianMixture``.

    Attributes
    ----------
    columns_ : tuple of str
        All columns, in the schema's order; without a schema the numbers come first.
    categories_ : dict of str to tuple
        The declared values of each column of categories.
    fields_, interactions_ : array
        Of the maximum-entropy model: f of each bin of each column, and θ of each pair of bins, the upper triangle row
        by row.
    triples_ : array of shape (t, 3)
        The triples of columns, by their places, that have a term of their own, since more was
        seen of them than pairs explain.
    triple_interactions_ : array
        τ of each of these and of the levels of their columns.
    log_partition_ : float
        An estimate of ln Σ exp(Σ f + Σ θ + Σ τ), by annealed importance sampling, for ``score_samples``. It is computed
        when it is first asked for.
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
    >>> synthesizer = dp.TableSynthesizer(epsilon=1.0, delta=1e-6, schema=schema).fit(frame)
    >>> synthetic = synthesizer.sample(10_000)
    >>> print(synthetic.groupby("size")["height"].mean().round(-1)[["S", "L"]].to_dict())
    {'S': 160.0, 'L': 180.0}
    >>> print(synthesizer.guarantee_)
    (ε=1, δ=1e-06) replace-one
    """

    _needs_numbers = False

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        schema: Schema | None = None,
        whole: Collection[str] = (),
        target: str | None = None,
        zeros: Sequence[Mapping[str, Any] | str] = (),
        relations: Mapping[str, Any] | None = None,
        known: Mapping[str, Mapping[Any, float]] | None = None,
        neighbors: Neighbors | str | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.whole = whole
        self.target = target
        self.zeros = zeros
        self.relations = relations
        self.known = known
        self.neighbors = neighbors
        self.random_state = random_state
        self.verbose = verbose

    def _plan_fit(self, X: Any, y: Any) -> Inquiry[Self]:
        curator = self._open(X).with_gaps()
        method = self._method_for(curator)
        self._declare(curator).check_zeros()

        def take(result: FittedTable) -> None:
            declaration = self._declaration
            self.columns_, self.categories_ = declaration.columns, declaration.categories
            self.feature_names_in_ = np.array(self.columns_, dtype=object)
            self.n_features_in_ = len(self.columns_)
            upper = np.triu_indices(len(result.model.fields))
            self.fields_ = result.model.fields.round(DIGITS)
            self.interactions_ = result.model.interactions[upper].round(DIGITS)
            three = result.model.triples
            self.triples_ = np.zeros((0, 3), dtype=np.int64) if three is None else three.columns
            self.triple_interactions_ = np.zeros(0) if three is None else three.values.ravel().round(DIGITS)
            first = self.releases_[0]
            total = self._prepared[1].columns.rows if first.size.rows is None else float(first.size.rows)
            warn_of_dropped_rows(first, total, noise_std(first, "counts"))

        return self._plan_method(method, curator, take, own_units=False)

    def _open(self, X: Any) -> Curator:
        curator = super()._open(X)
        number = len(curator.columns) + len(curator.categories)
        if number > MOST_COLUMNS:
            raise ArgumentError("X", UNSHOWN, f"at most {MOST_COLUMNS} columns, got {number}; declare fewer")
        if not isinstance(curator.space, Box | None):
            raise ArgumentError("X", UNSHOWN, "bounds for each column; write a Schema in the place of a Ball")
        return curator

    def _declare(self, rows: Curator | PublicRows) -> TableDeclaration:
        """Return what is declared, by the rows and by the parameters."""
        whole = self._whole(rows)
        return TableDeclaration(rows, whole, self.schema, self.target, self.zeros, self.relations, self.known)

    @property
    def _declaration(self) -> TableDeclaration:
        """What is declared, by the releases and by the parameters."""
        return self._declare(PublicRows.from_releases(self.releases_))

    def _method_for(self, rows: Curator | PublicRows) -> TableSynthesis:
        """Return the method that the parameters request, all of them checked."""
        declaration = self._declare(rows)
        return TableSynthesis(
            declaration.modelled_columns,
            rows.space,
            tuple(len(values) for values in rows.categories),
            self._requested_guarantee(rows.neighbors),
            rows.setting.max_rows,
            declaration.target_place,
            declaration.forbidden_pairs,
            known=declaration.known_shares,
        )

    _plots = ("associations", "errors", "sample", "noise")
    _fitted = ("columns_", "categories_", "fields_", "interactions_", "triples_", "triple_interactions_")
    _removed = ("log_partition_",)
    _added: ClassVar[Mapping[str, Any]] = {"triples_": [], "triple_interactions_": [], "relations": None, "known": None}

    def _check_fitted(self) -> None:
        """Raise where the attributes are not those of a synthesizer."""
        super()._check_fitted()
        declaration = self._declaration
        if self.columns_ != declaration.columns or self.n_features_in_ != len(self.columns_):
            raise ArgumentError("columns_", UNSHOWN, "every declared column once")
        if self.categories_ != declaration.categories:
            raise ArgumentError("categories_", UNSHOWN, "the declared categories of each column")
        try:
            self._check_questions()
            size = len(self._prepared[1].one)
        except ValueError:  # counts of other bins have other shapes
            raise ArgumentError("releases_", UNSHOWN, "counts of the bins that follow from the histograms") from None
        if not max(np.abs(self.fields_).max(), np.abs(self.interactions_).max(initial=0.0)) <= MOST_FIELD:
            raise ArgumentError("fields_", UNSHOWN, f"fields and interactions of at most {MOST_FIELD:g} in size")
        if self.fields_.shape != (size,) or self.interactions_.shape != (size * (size + 1) // 2,):
            raise ArgumentError("fields_", UNSHOWN, "a number for each bin, and for each pair of bins")
        three = self._released_triples
        known = set() if three is None else set(map(tuple, three.columns.tolist()))
        own = list(map(tuple, self.triples_.reshape(-1, 3).tolist()))
        if not {*own} <= known or len({*own}) != len(own):
            raise ArgumentError("triples_", UNSHOWN, "triples of columns that were counted, each once")
        self.triples_ = self.triples_.reshape(-1, 3).astype(np.int64)
        most = 0 if three is None else three.most
        if self.triple_interactions_.shape != (len(own) * most**3,) or not (
            np.abs(self.triple_interactions_).max(initial=0.0) <= MOST_FIELD
        ):
            raise ArgumentError("triple_interactions_", UNSHOWN, f"a number of at most {MOST_FIELD:g} for each cell")

    def _check_questions(self) -> None:
        """Raise where a release is none of the question that follows from those before it, or of a smaller bound.

        Edges of bins may differ in their last digit on another machine. A bound depends on none of them.
        """
        method = self._method_for(PublicRows.from_releases(self.releases_)).for_releases(len(self.releases_))
        for number, release in enumerate(self.releases_):
            asked, expected = release.question, method.next_query(self.releases_[:number])
            if type(asked) is not type(expected) or (asked.size, asked.bound) != (expected.size, expected.bound):
                raise ValueError

    @property
    def _prepared(self) -> tuple[list[ColumnHistogram], PairTargets]:
        """The bins and the targets, which follow from the releases."""
        return self._from_releases()[:2]

    @property
    def _released_triples(self) -> TripleTargets | None:
        """The tables of triples."""
        return self._from_releases()[2]

    def _from_releases(self) -> tuple[list[ColumnHistogram], PairTargets, TripleTargets | None]:
        check_is_fitted(self)
        kept: Any = self.__dict__.get("_kept")
        if kept is None or kept[0] is not self.releases_:
            method = self._method_for(PublicRows.from_releases(self.releases_)).for_releases(len(self.releases_))
            histograms = method.one_ways.estimate(self.releases_)
            result = histograms, method.targets(self.releases_), method.triples(self.releases_)
            kept = self.__dict__["_kept"] = (self.releases_, result)
        found: tuple[list[ColumnHistogram], PairTargets, TripleTargets | None] = kept[1]
        return found

    @property
    def _model(self) -> PairwiseModel:
        """The maximum-entropy model."""
        targets, three = self._prepared[1], self._released_triples
        size = len(targets.one)
        upper = np.zeros((size, size))
        upper[np.triu_indices(size)] = self.interactions_
        theta = upper + np.triu(upper, 1).T
        terms = None
        if three is not None and len(self.triples_):
            values = self.triple_interactions_.reshape(-1, *(three.most,) * 3)
            terms = TripleTerms(self.triples_, three.levels, values)
        return PairwiseModel(targets.columns.starts, self.fields_, theta, tied_pairs(targets), terms)

    @property
    def log_partition_(self) -> float:
        """See the class."""
        check_is_fitted(self)
        kept: Any = self.__dict__.get("_kept_partition")
        if kept is None or kept[0] is not self.fields_:
            value = self._model.log_partition(np.random.default_rng(0))
            kept = self.__dict__["_kept_partition"] = (self.fields_, value)
        return float(kept[1])

    def quality(self) -> TableQuality:
        """Return what to expect of synthetic rows: errors of columns and pairs, and which pairs are more than noise.

        It follows from the releases alone, costs nothing and may be published.

        Examples
        --------
        >>> import discreet as dp
        >>> import numpy as np
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"a": np.arange(9000) % 3, "b": np.arange(9000) % 3})
        >>> schema = dp.Schema({"a": dp.Category([0, 1, 2]), "b": dp.Category([0, 1, 2])})
        >>> dp.TableSynthesizer(epsilon=1.0, schema=schema).fit(frame).quality()
        <2 columns, ...; 1 of 1 pairs are more than noise, the strongest a and b ...>
        """
        targets = self._prepared[1]  # raises where it is not fitted
        return assess_table(self._declaration.modelled, targets)

    def sample(self, n_samples: int = 1, *, random_state: Any = None) -> Any:
        """Return synthetic rows, at no further cost.

        Parameters
        ----------
        n_samples : int
        random_state : int, optional
            Synthetic rows are public, so a seed is fine.

        Returns
        -------
        data frame
            With the declared columns, in order and in their own units: whole numbers, floats, dates, and categories as
            they were declared, with gaps. It is of the library of the data frame that was fitted. For files, databases,
            and a model that was read from a file it is a pandas, Polars or Arrow table, the first of these that is
            installed; where none is, a dictionary of arrays.
        """
        return to_table(self._draw_columns(n_samples, random_state), getattr(self, "_backend", None))

    def sample_persons(
        self,
        n_persons: int = 1,
        *,
        visit: str,
        constant: Collection[str] = (),
        person: str = "person",
        random_state: Any = None,
    ) -> Any:
        """Return synthetic rows as persons with visits, at no further cost.

        A column numbers the rows of each person: 1, 2, … It is declared and fitted as any other, so the model knows how
        many persons have a second row and how that differs from the first. Number the rows of each person by
        themselves before the fit, and declare ``unit``, ``max_rows`` and ``order=visit`` in the schema: then the
        guarantee covers all rows of a person, and the first ones count.

        Parameters
        ----------
        n_persons : int
        visit : str
            The column of these numbers: whole numbers from 1 on, or the categories 1, 2, …
        constant : collection of str
            The columns that are the same in all rows of a person, such as sex.
        person : str
            The name of the column that says whose row it is.
        random_state : int, optional
            Synthetic rows are public, so a seed is fine.

        Returns
        -------
        data frame
            As of ``sample``, with a first column of numbers of persons, who are nobody's. A person's rows are in order.

        Examples
        --------
        >>> import discreet as dp
        >>> import numpy as np
        >>> import pandas as pd
        >>> rng = np.random.default_rng(0)
        >>> rows = pd.DataFrame({"patient": rng.integers(0, 4000, 8000)}).sort_values("patient")
        >>> rows["visit"] = rows.groupby("patient").cumcount() + 1
        >>> rows["sex"] = np.where(rows["patient"] % 2, "F", "M")
        >>> schema = dp.Schema(
        ...     {"visit": dp.Number(1, 3), "sex": dp.Category(["F", "M"])}, unit="patient", max_rows=3, order="visit"
        ... )
        >>> model = dp.TableSynthesizer(epsilon=3.0, schema=schema, whole=["visit"]).fit(rows)
        >>> persons = model.sample_persons(1000, visit="visit", constant=["sex"])
        >>> int(persons["person"].nunique()), int(persons.groupby("person")["sex"].nunique().max())
        (1000, 1)
        """
        check_is_fitted(self)
        number, rng = sample_arguments(n_persons, random_state)
        declaration = self._declaration
        names, relations = declaration.modelled, declaration.relations
        check_persons(visit, constant, person, self.columns_, self._numbered_columns(), names)
        histograms, place = self._prepared[0], names.index(visit)
        share = float(histograms[place].shares[self.categories_[visit].index(1) if visit in self.categories_ else 0])
        parts: list[tuple[dict[str, DrawnColumn], NDArray[np.int64]]] = []
        found = 0
        for _ in range(BATCHES):
            own = self._draw_own(rows_for(number - found, share), rng)
            values = own[visit].values
            if visit in self.categories_:
                values = np.array([*self.categories_[visit], 0])[values]
            visits = np.where(own[visit].missing, 0, np.rint(values)).astype(np.int64)
            rows, persons = put_together({name: own[name] for name in names}, visits, constant, rng)
            rows = self._add_derived(rows, relations)
            broken = np.zeros(len(persons), dtype=bool)
            for rule in self._find_zeros(rows, declaration.zeros, relations):
                broken |= rule.rows
            stays = np.flatnonzero(keep_whole(broken, persons))
            persons = np.unique(persons[stays], return_inverse=True)[1].reshape(-1)
            few = persons < number - found
            parts.append(({name: one.take(stays[few]) for name, one in rows.items()}, persons[few] + found))
            found += int(persons[few].max(initial=-1)) + 1
            if found == number:
                break
        else:
            raise ArgumentError("visit", visit, "a column by which enough rows are a first visit; too few were drawn")
        own = {
            name: DrawnColumn(
                np.concatenate([rows[name].values for rows, _ in parts]),
                np.concatenate([rows[name].missing for rows, _ in parts]),
            )
            for name in self.columns_
        }
        whose = np.concatenate([persons for _, persons in parts])
        columns = {person: (whose, np.zeros(len(whose), dtype=bool))} | self._to_declared(own)
        return to_table(columns, getattr(self, "_backend", None))

    def _numbered_columns(self) -> dict[str, int]:
        """Return the columns of whole numbers from 1 on, each with its largest."""
        result = {
            name: len(values)
            for name, values in self.categories_.items()
            if all(type(value) is int for value in values) and sorted(values) == list(range(1, len(values) + 1))
        }
        for scale in self._scales:
            low, high = scale.own_ends
            if scale.name in self.whole and scale.kind == "linear" and math.ceil(low) == 1:
                result[scale.name] = math.floor(high)
        return result

    def _draw_columns(
        self, n_samples: int, random_state: Any = None
    ) -> dict[str, tuple[NDArray[Any], NDArray[np.bool_]]]:
        """Return the values of each synthetic column, and where they are missing."""
        number, rng = sample_arguments(n_samples, random_state)
        return self._to_declared(self._draw_own(number, rng))

    def _draw_own(
        self, number: int, rng: np.random.Generator, world: TableWorld | None = None
    ) -> dict[str, DrawnColumn]:
        """Return synthetic columns by name, in their own units: of the fit, or of a draw of its posterior."""
        histograms, targets = self._prepared if world is None else (world.histograms, world.targets)
        conditions, relations = self._declaration.zeros, self._declaration.relations
        drawn = draw_table(
            self._model if world is None else world.model,
            histograms,
            targets,
            number,
            rng,
            lambda columns: self._find_zeros(self._own_columns(columns, relations), conditions, relations),
            None if world is None else world.draw_rows(number, rng),
        )
        return self._own_columns(drawn, relations)

    def _open_posterior(self, rng: np.random.Generator) -> DisturbedFits:
        """Return draws of the model from its posterior."""
        check_is_fitted(self)
        method = self._method_for(PublicRows.from_releases(self.releases_)).for_releases(len(self.releases_))
        return DisturbedFits(method, self.releases_, self._model, rng)

    def _to_declared(self, own: Mapping[str, DrawnColumn]) -> dict[str, tuple[NDArray[Any], NDArray[np.bool_]]]:
        """Return columns in their own units as a table holds them, and where they are missing."""
        scales = {scale.name: scale for scale in self._scales}
        columns: dict[str, Any] = {}
        for name in self.columns_:
            column = own[name]
            if name in scales:
                columns[name] = self._as_declared(scales[name], column.values), column.missing
            else:
                values = self.categories_[name]
                alike = len({type(value) for value in values}) == 1
                labels = np.array([*values, values[0]], dtype=None if alike else object)
                columns[name] = labels[column.values], column.missing
        return columns

    def _own_columns(self, drawn: Columns, relations: Mapping[str, Relation]) -> dict[str, DrawnColumn]:
        """Return all columns by name: numbers in their own units, dates as days, and codes of categories."""
        scales = {scale.name: scale for scale in self._scales}
        names = [name for name in self.columns_ if name not in relations]
        result = dict(zip(names, drawn, strict=True))
        for name in names:
            if name in scales:
                numbers = self._own_numbers(scales[name], result[name].values).astype(np.float64)
                result[name] = DrawnColumn(numbers, result[name].missing)
        return self._add_derived(result, relations)

    def _add_derived(
        self, columns: Mapping[str, DrawnColumn], relations: Mapping[str, Relation]
    ) -> dict[str, DrawnColumn]:
        """Return columns with those that follow from others."""
        result, scales = dict(columns), {scale.name: scale for scale in self._scales}
        for name, relation in relations.items():
            values = relation.values({source: result[source].values for source in relation.sources})
            missing = np.any([result[source].missing for source in relation.sources], axis=0)
            result[name] = DrawnColumn(np.clip(values, *scales[name].own_ends) if name in scales else values, missing)
        return result

    def _as_declared(self, scale: ColumnScale, numbers: Array) -> NDArray[Any]:
        """Return numbers in their own units as a table holds them: dates, whole numbers, or floats."""
        if scale.kind == "date":
            return np.floor(numbers).astype(np.int64).astype("datetime64[D]")
        return numbers.astype(np.int64) if scale.name in self.whole else numbers

    def _find_zeros(
        self, by_name: Mapping[str, DrawnColumn], conditions: Sequence[Condition], relations: Mapping[str, Relation]
    ) -> list[BrokenRule]:
        """Return which rows cannot occur, for each condition; a gap in a column of a condition says nothing."""
        if not conditions:
            return []
        numbers, labels = self._numbers, tuple(self.categories_)
        n = len(by_name[self.columns_[0]].values)
        x = np.stack([by_name[name].values for name in numbers], axis=1) if numbers else np.empty((n, 0))
        codes = np.stack([by_name[name].values for name in labels], axis=1) if labels else np.empty((n, 0))
        drawn, result = [name for name in self.columns_ if name not in relations], []
        for one in conditions:
            known = ~np.any([by_name[name].missing for name in one.columns], axis=0)
            holds = known & np.asarray(one.holds(x, codes, numbers, labels))
            sources = {
                own for name in one.columns for own in (relations[name].sources if name in relations else [name])
            }
            again = [drawn.index(name) for name in sorted(sources) if name in numbers]
            places = sorted(map(drawn.index, sources))
            result.append(BrokenRule(holds, tuple(again or places), tuple(set(places).difference(again or places))))
        return result

    def score_samples(self, X: Any) -> Array:
        """Return the logarithm of density times probability of each row, without noise: do not publish it.

        Whole numbers, categories and gaps have probabilities, other numbers a density and a probability at each bound.
        The model's constant is estimated by annealed importance sampling, so that all values share an error that is
        usually far below 0.1; it cancels in differences. Declared zeros beyond pairs are not taken into account, and
        columns that follow from others (``relations``) are not looked at.

        Parameters
        ----------
        X : data frame, or mapping of names to arrays
            Rows in their own units.
        """
        model, (histograms, targets) = self._model, self._prepared
        gaps = self.releases_[0].declared.get("gaps", [])
        x, codes = self._read(X, gaps)
        by_name: dict[str, NDArray[Any]] = {name: x[:, j] for j, name in enumerate(self._numbers)}
        by_name |= {name: codes[:, j] for j, name in enumerate(self.categories_)}
        columns = []
        for name in self._declaration.modelled:
            values = by_name[name]
            missing = values < 0 if name in self.categories_ else np.isnan(values)
            columns.append(DrawnColumn(np.where(missing, 0, values), missing))
        rows, within = log_within(columns, histograms, targets.columns.rows)
        return np.asarray(model.energies(rows) - self.log_partition_ + within)
