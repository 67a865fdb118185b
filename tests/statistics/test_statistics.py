"""Statistics: right without noise, honest about it, and the same whatever the rows are and wherever they come from."""

from __future__ import annotations

import copy
import pickle
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import binom, gamma

import discreet as dp
from discreet import statistics
from discreet import statistics as st
from discreet.records import as_records
from effort import crossed, size
from goodness import often
from together import together

SURE = 1e5  # an ε at which noise is far below the tolerances here; no promise, but every formula shows
RNG = np.random.default_rng(0)
WARDS = ["a", "b", "c"]
TABLE = pd.DataFrame(
    {
        "age": RNG.integers(18, 91, 3000).astype(float),
        "bmi": RNG.normal(26.0, 4.0, 3000).clip(12.0, 60.0),
        "weight": RNG.uniform(0.0, 5.0, 3000),
        "ward": RNG.choice(["a", "b"], 3000),
    }
)
SCHEMA = dp.Schema(
    {
        "age": dp.Number(0, 120),
        "bmi": dp.Number(10, 80),
        "weight": dp.Number(0, 5),
        "ward": dp.Category(WARDS),
    }
)
BOTH = ["replace-one", "add-remove"]

SINGLE = {  # every statistic of one column, as a function of data and of what it costs
    "mean": st.mean,
    "loose mean": lambda *args, **kwargs: st.mean(*args, loose=True, **kwargs),
    "trimmed mean": st.trimmed_mean,
    "variance": st.variance,
    "median": st.median,
    "quantile": lambda data, column=None, **kwargs: st.quantile(data, 0.9, column, **kwargs),
    "quantiles": lambda data, column=None, **kwargs: st.quantiles(data, [0.9, 0.1, 0.5], column, **kwargs),
    "interquartile range": st.interquartile_range,
    "histogram": st.histogram,
    "density": st.density,
    "squared": lambda data, column=None, **kwargs: st.m_estimate(data, column, loss="squared", **kwargs),
    "huber": lambda data, column=None, **kwargs: st.huber_location(data, column, scale=5.0, **kwargs),
}


class TestWithoutNoise:
    """At a huge ε the answers are those of NumPy."""

    @pytest.mark.parametrize("delta", [0.0, 1e-6])
    @pytest.mark.parametrize("relation", BOTH)
    def test_means_in_groups_with_weights(self, relation, delta):
        how = {"epsilon": SURE, "delta": delta, "schema": SCHEMA, "neighbors": relation}
        plain = st.mean(TABLE, ["age", "bmi"], **how)
        np.testing.assert_allclose(plain.value, TABLE[["age", "bmi"]].mean(), rtol=1e-4)
        weighted = st.mean(TABLE, "age", weights="weight", **how)
        assert weighted.value == pytest.approx(np.average(TABLE["age"], weights=TABLE["weight"]), rel=1e-4)
        grouped = st.mean(TABLE, ["age", "bmi"], by="ward", **how)
        assert grouped.groups == ("a", "b", "c")
        np.testing.assert_allclose(grouped.value[:2], TABLE.groupby("ward")[["age", "bmi"]].mean(), rtol=1e-4)
        assert grouped.to_dict()["a"]["age"] == grouped.value[0, 0]
        both = st.mean(TABLE, "age", by="ward", weights="weight", **how)
        for place, (_, part) in enumerate(TABLE.groupby("ward")):
            assert both.value[place] == pytest.approx(np.average(part["age"], weights=part["weight"]), rel=1e-4)

    @pytest.mark.parametrize("delta", [0.0, 1e-6])
    @pytest.mark.parametrize("relation", BOTH)
    def test_variances_and_covariances(self, relation, delta):
        how = {"epsilon": SURE, "delta": delta, "schema": SCHEMA, "neighbors": relation, "method": "one-shot"}
        rows = TABLE[["age", "bmi"]]
        np.testing.assert_allclose(st.variance(TABLE, ["age", "bmi"], **how).value, rows.var(ddof=0), rtol=1e-3)
        assert st.variance(TABLE, "age", **how).value == pytest.approx(rows["age"].var(ddof=0), rel=1e-3)
        expected = rows.cov(ddof=0)
        np.testing.assert_allclose(st.covariance(TABLE, ["age", "bmi"], **how).value, expected, rtol=1e-3, atol=0.05)
        grouped = st.covariance(TABLE, ["age", "bmi"], by="ward", **how)
        assert grouped.value.shape == (3, 2, 2)
        for place, (_, part) in enumerate(TABLE.groupby("ward")):
            np.testing.assert_allclose(grouped.value[place], part[["age", "bmi"]].cov(ddof=0), rtol=1e-3, atol=0.05)
        weighted = st.covariance(TABLE, ["age", "bmi"], weights="weight", **how)
        expected = np.cov(rows.T, aweights=TABLE["weight"], ddof=0)
        np.testing.assert_allclose(weighted.value, expected, rtol=1e-3, atol=0.05)
        by_ward = st.variance(TABLE, "age", by="ward", **how).value[:2]
        np.testing.assert_allclose(by_ward, TABLE.groupby("ward")["age"].var(ddof=0), rtol=1e-3)

    @pytest.mark.parametrize("relation", BOTH)
    @pytest.mark.parametrize("levels", [[0.5], [0.25, 0.5, 0.75], [0.9, 0.05, 0.33, 0.99, 0.5]])
    def test_quantiles(self, levels, relation):
        how = {"epsilon": SURE, "neighbors": relation, "schema": SCHEMA}
        result = st.quantiles(TABLE, levels, "age", step=1, **how)
        expected = np.quantile(TABLE["age"], levels, method="inverted_cdf")
        assert np.abs(result.value - expected).max() <= 1.0
        lower, upper = result.interval()
        assert (lower <= expected).all()
        assert (expected <= upper).all()
        assert list(result.to_dict()) == levels
        grouped = st.quantiles(TABLE, levels, "age", by="ward", step=1, **how)
        for place, (_, part) in enumerate(TABLE.groupby("ward")):
            expected = np.quantile(part["age"], levels, method="inverted_cdf")
            assert np.abs(grouped.value[place] - expected).max() <= 1.0

    @pytest.mark.parametrize("relation", BOTH)
    def test_weighted_medians(self, relation):
        result = st.median(TABLE, "age", weights="weight", epsilon=SURE, step=1, schema=SCHEMA, neighbors=relation)
        order = np.argsort(TABLE["age"].to_numpy(), kind="stable")
        weights = TABLE["weight"].to_numpy()[order].cumsum()
        assert result.value == TABLE["age"].to_numpy()[order][np.searchsorted(weights, weights[-1] / 2.0)]

    @pytest.mark.parametrize("relation", BOTH)
    def test_counts(self, relation):
        how = {"epsilon": SURE, "schema": SCHEMA, "neighbors": relation}
        wards = [int((TABLE["ward"] == ward).sum()) for ward in WARDS]
        assert st.count(TABLE, by="ward", **how).value.round().tolist() == wards
        result = st.histogram(TABLE, "ward", **how)
        assert result.value.round().tolist() == wards
        assert result.labels == tuple(WARDS)
        assert [round(value) for value in result.to_dict().values()] == wards
        edges = [0.0, 30.0, 65.0, 120.0]
        ages = st.histogram(TABLE, "age", bins=edges, by="ward", **how)
        for place, (_, part) in enumerate(TABLE.groupby("ward")):
            assert ages.value[place].round().tolist() == np.histogram(part["age"], edges)[0].tolist()
        assert ages.shares.shape == (3, 3)
        np.testing.assert_allclose(ages.shares.sum(axis=1), 1.0)
        assert st.count(TABLE, epsilon=SURE, schema=SCHEMA, neighbors="add-remove").value == pytest.approx(
            3000, abs=0.1
        )

    def test_robust_ones(self):
        ages = TABLE["age"]
        low, high = np.quantile(ages, [0.1, 0.9])
        result = st.trimmed_mean(TABLE, "age", epsilon=SURE, schema=SCHEMA)
        assert result.value == pytest.approx(ages[(ages >= low) & (ages <= high)].mean(), abs=0.7)
        assert st.interquartile_range(TABLE, "age", epsilon=SURE, step=1, schema=SCHEMA).value == pytest.approx(
            np.subtract(*np.quantile(ages, [0.75, 0.25])), abs=1.0
        )
        assert st.mean(TABLE, "bmi", epsilon=SURE, schema=SCHEMA, loose=True).value == pytest.approx(
            TABLE["bmi"].mean(), abs=0.1
        )

    def test_rounds_follow_the_rows(self):
        rows = RNG.multivariate_normal([50.0, -3.0], [[4.0, 1.0], [1.0, 0.5]], 20_000)
        result = st.covariance(rows, epsilon=5.0, delta=1e-6, bounds=(-100, 100), method="adaptive")
        assert result.method == "adaptive"
        np.testing.assert_allclose(result.value, np.cov(rows.T), rtol=0.25, atol=0.05)
        lower, upper = result.interval(0.999)
        assert ((lower < result.value) & (result.value < upper)).all()
        alone = st.variance(rows, 0, epsilon=5.0, delta=1e-6, bounds=(-100, 100), method="adaptive")
        assert alone.value == pytest.approx(4.0, rel=0.25)
        assert alone.interval()[0] < alone.value


class TestWhatIsRead:
    """Only the columns that are asked about decide which rows count."""

    GAPS = TABLE.assign(bmi=TABLE["bmi"].where(TABLE["age"] > 60.0))

    @pytest.mark.parametrize(
        "ask",
        [
            lambda **how: st.mean(TestWhatIsRead.GAPS, "age", **how),
            lambda **how: st.median(TestWhatIsRead.GAPS, "age", **how),
            lambda **how: st.huber_location(TestWhatIsRead.GAPS, "age", scale=20.0, **how),
        ],
    )
    def test_gaps_elsewhere_drop_no_row(self, ask):
        assert ask(epsilon=SURE, schema=SCHEMA).value == pytest.approx(TABLE["age"].mean(), abs=2.0)

    def test_counts_too(self):
        wards = [int((TABLE["ward"] == ward).sum()) for ward in WARDS]
        assert st.count(self.GAPS, by="ward", epsilon=SURE, schema=SCHEMA).value.round().tolist() == wards
        assert st.histogram(self.GAPS, "ward", epsilon=SURE, schema=SCHEMA).value.round().tolist() == wards

    def test_a_pair_of_bounds_is_for_the_column_that_is_named(self):
        result = st.mean(self.GAPS, "age", epsilon=SURE, bounds=(0, 120))
        assert result.value == pytest.approx(TABLE["age"].mean(), rel=1e-4)

    def test_a_curator_reads_what_is_asked(self, tmp_path):
        curator = dp.Curator(self.GAPS, schema=SCHEMA, name="gaps", ledger=str(tmp_path / "ledger.db"))
        result = st.mean(curator, "age", epsilon=SURE)
        assert result.value == pytest.approx(TABLE["age"].mean(), rel=1e-4)
        assert result.release.recorded
        assert len(curator.ledger.history("gaps")) == 1
        both = st.mean(curator, ["bmi", "age"], epsilon=SURE)
        there = TABLE["age"] > 60.0
        np.testing.assert_allclose(both.value, TABLE.loc[there, ["bmi", "age"]].mean(), rtol=1e-3)
        assert curator.only(["age"]).columns == ("age",)
        assert curator.only([*SCHEMA.names])._records is curator._records
        with pytest.raises(ValueError, match="did you mean 'weight'"):
            curator.only(["height"])

    def test_places_are_those_of_the_data(self):
        rows = TABLE[["age", "bmi", "weight"]].to_numpy()
        box = dp.Box([0, 10, 0], [120, 80, 5])
        assert st.mean(rows, 1, epsilon=SURE, bounds=box).value == pytest.approx(rows[:, 1].mean(), rel=1e-4)
        weighted = st.mean(rows, [1, 0], weights=2, epsilon=SURE, bounds=box)
        np.testing.assert_allclose(weighted.value, np.average(rows[:, [1, 0]], axis=0, weights=rows[:, 2]), rtol=1e-3)
        ball = st.mean(rows, 1, epsilon=SURE, bounds=dp.Ball(300.0))
        assert ball.value == pytest.approx(rows[:, 1].mean(), rel=1e-3)
        assert st.histogram(rows, 1, bins=[10, 26, 80], epsilon=SURE, bounds=box).value.round().tolist() == [
            int((rows[:, 1] < 26).sum()),
            int((rows[:, 1] >= 26).sum()),
        ]


class TestTables:
    """Values with their labels and limits, ready for a data frame."""

    def test_rows_of_groups_and_columns(self):
        result = st.mean(TABLE, ["age", "bmi"], by="ward", epsilon=1.0, schema=SCHEMA)
        frame = pd.DataFrame(result.table())
        assert list(frame.columns) == ["ward", "column", "value", "low", "high", "drowned", "which_rows"]
        assert len(frame) == 6
        assert ((frame["low"] <= frame["value"]) & (frame["value"] <= frame["high"])).all()
        assert frame["value"].tolist() == result.value.ravel().tolist()
        assert result.to_dict()["b"]["bmi"] == result.value[1, 1]

    def test_rows_of_others(self):
        how = {"epsilon": 1.0, "schema": SCHEMA}
        assert {"column", "with"} <= st.covariance(TABLE, ["age", "bmi"], **how).table()[0].keys()
        assert [row["level"] for row in st.quantiles(TABLE, [0.2, 0.8], "age", **how).table()] == [0.2, 0.8]
        assert [row["ward"] for row in st.histogram(TABLE, "ward", **how).table()] == WARDS
        assert st.histogram(TABLE, "age", bins=[0, 50, 120], **how).table()[0]["age"] == "[0, 50)"
        assert [row["ward"] for row in st.median(TABLE, "age", by="ward", **how).table()] == WARDS
        assert len(st.median(TABLE, "age", **how).table()) == 1


class TestSources:
    """The same rows give the same answer, wherever they come from."""

    @pytest.mark.parametrize("name", SINGLE)
    def test_every_source(self, name, seeded, tmp_path):
        pyarrow = pytest.importorskip("pyarrow")
        frame = TABLE[["age"]]
        frame.to_parquet(tmp_path / "rows.parquet")
        array = frame.to_numpy()
        bounds = {"age": (0, 120)}
        sources = [
            (array, (0, 120)),
            (array[:, 0], (0, 120)),
            (array[:, 0].tolist(), (0, 120)),
            (array, dp.Box(0, 120)),
            (frame, bounds),
            (frame["age"], (0, 120)),
            (pl.from_pandas(frame), bounds),
            (pl.Series("age", array[:, 0]), (0, 120)),
            (pyarrow.table({"age": array[:, 0]}), bounds),
        ]
        answers = [SINGLE[name](data, epsilon=2.0, bounds=box, bits=seeded(1)).value for data, box in sources]
        space = dp.Box([0.0], [120.0])
        answers.append(SINGLE[name](as_records(array, space=space, missing="fill"), epsilon=2.0, bits=seeded(1)).value)
        curator = dp.Curator(as_records(array, space=space, missing="fill"))
        answers.append(SINGLE[name](curator, epsilon=2.0, bits=seeded(1)).value)
        for answer in answers[1:]:
            np.testing.assert_allclose(answer, answers[0], rtol=1e-9)
        stored = [
            SINGLE[name](data, epsilon=2.0, bounds=box, bits=seeded(1)).value
            for data, box in [(tmp_path / "rows.parquet", bounds), (str(tmp_path / "rows.parquet"), (0, 120))]
        ]
        np.testing.assert_allclose(stored[0], stored[1], rtol=1e-9)

    @pytest.mark.parametrize("name", ["mean", "median", "quantiles", "histogram"])
    def test_dask(self, name, seeded):
        dask = pytest.importorskip("dask.dataframe")
        curator = dp.Curator(TABLE, schema=SCHEMA)
        parts = dask.from_pandas(TABLE, npartitions=3)
        one, other = (
            SINGLE[name](data, "age", epsilon=1.0, bits=seeded(2), **how).value
            for data, how in [(curator, {}), (parts, {"schema": SCHEMA})]
        )
        np.testing.assert_allclose(one, other, rtol=1e-9)


STRANGE = {
    "none": np.empty((0, 1)),
    "one row": np.array([[50.0]]),
    "constant": np.full((500, 1), 37.0),
    "all at the low end": np.zeros((500, 1)),
    "all at the high end": np.full((500, 1), 120.0),
    "two values": np.repeat([[3.0], [110.0]], 250, axis=0),
    "far outside": np.array([[-1e308], [1e308], [1e300], [-5.0]]),
    "nothing that counts": np.full((20, 1), np.nan),
    "denormal": np.full((20, 1), 5e-324),
}


class TestStrangeRows:
    """Finite answers, of one shape, without a word."""

    @staticmethod
    @cache
    def usual(name, relation, epsilon, delta):
        """Return the answer about rows that are not strange; always the same, so nobody changes it."""
        rows = np.linspace(0.0, 120.0, 500)[:, None]
        curator = dp.Curator(rows, space=dp.Box([0.0], [120.0]), neighbors=relation)
        return SINGLE[name](curator, epsilon=epsilon, delta=delta)

    @together(
        ("rows", "name", "asked"), crossed(STRANGE, SINGLE, [("replace-one", 1.0, 0.0), ("add-remove", 0.01, 1e-6)])
    )
    def test_behind_a_curator(self, name, rows, asked):
        relation, epsilon, delta = asked
        curator = dp.Curator(STRANGE[rows], space=dp.Box([0.0], [120.0]), neighbors=relation)
        result = SINGLE[name](curator, epsilon=epsilon, delta=delta)
        assert np.isfinite(result.value).all()
        lower, upper = result.interval(0.9)
        assert np.isfinite(lower).all()
        assert np.isfinite(upper).all()
        assert (np.asarray(lower) <= np.asarray(upper)).all()
        usual = self.usual(name, relation, epsilon, delta)
        if name != "density":  # its grid follows the number of rows where that is public
            assert np.shape(usual.value) == np.shape(result.value)
        assert [release.loss for release in usual.releases] == [release.loss for release in result.releases]

    @pytest.mark.parametrize("relation", BOTH)
    def test_empty_groups(self, relation):
        how = {"epsilon": 0.5, "schema": SCHEMA, "neighbors": relation, "by": "ward"}
        for result in (
            st.mean(TABLE, "age", **how),
            st.variance(TABLE, "age", **how),
            st.median(TABLE, "age", **how),
            st.quantiles(TABLE, [0.2, 0.8], "age", **how),
            st.histogram(TABLE, "age", **how),
        ):
            assert np.isfinite(result.value).all()
            assert len(result.value) == 3
            assert all(np.isfinite(end).all() for end in result.interval())

    def test_constant_columns_are_found(self):
        rows = np.full(5000, 37.0)
        assert st.median(rows, epsilon=1.0, bounds=(0, 120), step=1).value == 37.0
        assert st.quantiles(rows, [0.1, 0.5, 0.9], epsilon=1.0, bounds=(0, 120), step=1).value.tolist() == [37.0] * 3
        assert st.trimmed_mean(rows, epsilon=1.0, bounds=(0, 120)).value == pytest.approx(37.0, abs=1e-6)

    def test_narrow_bounds_far_from_zero(self):
        rows = np.full(5000, 1e9 + 5.0)
        for result in (st.trimmed_mean, SINGLE["loose mean"], st.variance, st.density, st.median):
            assert np.isfinite(result(rows, epsilon=5.0, bounds=(1e9, 1e9 + 20)).value).all()

    def test_one_category(self):
        schema = dp.Schema({"age": dp.Number(0, 120), "ward": dp.Category(["a"], missing="fill", fill="a")})
        frame = TABLE[["age", "ward"]]
        assert st.count(frame, by="ward", epsilon=1.0, schema=schema).value.shape == (1,)
        assert st.histogram(frame, "ward", epsilon=1.0, schema=schema).value.shape == (1,)
        assert st.mean(frame, "age", by="ward", epsilon=1.0, schema=schema).value.shape == (1,)
        assert list(st.count(TABLE["age"], epsilon=1.0, bounds=(0, 120), neighbors="add-remove").to_dict()) == ["rows"]

    def test_levels_keep_their_order(self):
        result = st.quantiles(TABLE["age"], (q for q in (0.9, 0.1)), epsilon=10.0, bounds=(0, 120))
        assert result.levels == (0.9, 0.1)
        assert result.value[0] > result.value[1]
        assert list(result.to_dict()) == [0.9, 0.1]

    def test_an_owner_is_told_of_gaps(self):
        with pytest.raises(ValueError, match="'x0' holds NaN"):
            st.mean([1.0, np.nan], epsilon=1.0, bounds=(0, 2))
        with pytest.raises(ValueError, match="'age' holds text"):
            st.mean(pl.DataFrame({"age": ["old"]}), epsilon=1.0, bounds={"age": (0, 120)})


def held(result, truth, level=0.95):
    lower, upper = result.interval(level)
    slack = 1e-9 * (1.0 + np.abs(truth))
    return (np.asarray(lower) <= truth + slack) & (truth - slack <= np.asarray(upper))


class TestLimits:
    """How often limits hold what they speak of; each test fails falsely less than once in 10⁹ times."""

    RUNS = size(40, 100)  # of 40 limits that hold in two of five cases, and not in 0.95, fail nearly always

    def enough(self, ask, truth, level=0.95, runs=RUNS, at_least=None):
        """Return whether intervals at a level hold with this probability, or with another one, at least."""
        hits = (held(ask(seed), truth, level) for seed in range(runs))
        return often(hits, runs, binom.ppf(1e-10, runs, at_least or level))

    def not_too_many(self, ask, truth):
        """Return whether intervals at 0.5 miss now and then: at 0.95 so few runs could not tell."""
        misses = (~held(ask(seed), truth, 0.5) for seed in range(self.RUNS))
        return often(misses, self.RUNS, self.RUNS - binom.isf(1e-10, self.RUNS, 0.5))

    @pytest.mark.parametrize("delta", [0.0, 1e-6])
    @pytest.mark.parametrize(
        ("relation", "rows", "level"), [("replace-one", 300, 0.95), ("add-remove", 300, 0.5), ("add-remove", 20, 0.95)]
    )
    def test_means_exactly(self, relation, rows, delta, level, seeded):
        data = np.random.default_rng(1).uniform(60.0, 110.0, rows)

        @cache
        def ask(seed):
            return st.mean(data, epsilon=0.3, delta=delta, bounds=(0, 120), neighbors=relation, bits=seeded(seed))

        assert self.enough(ask, data.mean(), level)
        assert rows < 100 or self.not_too_many(ask, data.mean())

    @pytest.mark.parametrize("delta", [0.0, 1e-6])
    @pytest.mark.parametrize("relation", BOTH)
    def test_groups_and_weights(self, relation, delta, seeded):
        curator = dp.Curator(TABLE, schema=SCHEMA, neighbors=relation)
        how = {"epsilon": 1.0, "delta": delta}
        means = TABLE.groupby("ward")["age"].mean().to_numpy()
        assert self.enough(lambda seed: _first_two(st.mean(curator, "age", by="ward", bits=seeded(seed), **how)), means)
        truth = np.average(TABLE["age"], weights=TABLE["weight"])
        assert self.enough(lambda seed: st.mean(curator, "age", weights="weight", bits=seeded(seed), **how), truth)

    @pytest.mark.parametrize("delta", [0.0, 1e-6])
    @pytest.mark.parametrize("relation", BOTH)
    def test_spreads(self, relation, delta, seeded):
        curator = dp.Curator(TABLE, schema=SCHEMA, neighbors=relation)
        how = {"epsilon": 1.0, "delta": delta, "method": "one-shot"}
        truth = TABLE["age"].var(ddof=0)
        ask = cache(lambda seed: st.variance(curator, "age", bits=seeded(seed), **how))
        assert self.enough(ask, truth)
        assert self.not_too_many(ask, truth)
        columns = ["age", "bmi"]
        matrix = TABLE[columns].cov(ddof=0).to_numpy()
        ask = cache(lambda seed: st.covariance(curator, columns, bits=seeded(seed), **how))
        # to first order, and the matrix is moved to have no negative eigenvalue
        assert self.enough(ask, matrix, at_least=0.93)

    @pytest.mark.parametrize("relation", BOTH)
    def test_quantiles_at_least(self, relation, seeded):
        ages, levels = TABLE["age"].to_numpy(), [0.2, 0.5]
        how = {"epsilon": 1.0, "bounds": (0, 120), "neighbors": relation}
        truth = np.quantile(ages, levels, method="inverted_cdf")
        assert self.enough(lambda seed: st.quantiles(ages, levels, step=1, bits=seeded(seed), **how), truth, runs=40)
        small = np.array([1.0, 5.0, 80.0])  # so few that a limit has to be an end of the bounds
        how["epsilon"] = 0.1
        assert self.enough(lambda seed: st.median(small, bits=seeded(seed), **how), 5.0)

    def test_ranges(self, seeded):
        ages = TABLE["age"].to_numpy()
        truth = np.subtract(*np.quantile(ages, [0.75, 0.25], method="inverted_cdf"))
        how = {"epsilon": 1.0, "bounds": (0, 120), "step": 1}
        assert self.enough(lambda seed: st.interquartile_range(ages, bits=seeded(seed), **how), truth, runs=40)

    @pytest.mark.parametrize("delta", [0.0, 1e-6])
    def test_counts(self, delta, seeded):
        wards = np.array([(TABLE["ward"] == ward).sum() for ward in WARDS])
        curator = dp.Curator(TABLE, schema=SCHEMA)
        ask = cache(lambda seed: st.count(curator, by="ward", epsilon=1.0, delta=delta, bits=seeded(seed)))
        assert self.enough(ask, wards)
        assert self.not_too_many(lambda seed: _first_two(ask(seed)), wards[:2])

    def test_trimmed_means_of_what_they_kept(self, seeded):
        ages = TABLE["age"]
        curator = dp.Curator(TABLE, schema=SCHEMA)

        def holds(seed):
            result = st.trimmed_mean(curator, "age", epsilon=1.0, bits=seeded(seed))
            low, high = result.bounds[0].low[0], result.bounds[0].high[0]
            return held(result, ages[(ages >= low) & (ages <= high)].mean())

        assert often(map(holds, range(self.RUNS)), self.RUNS, binom.ppf(1e-10, self.RUNS, 0.95))


class _FirstTwo:
    """An answer without its last group, which nobody is in."""

    def __init__(self, result):
        self.result = result

    def interval(self, level):
        return tuple(end[:2] for end in self.result.interval(level))


_first_two = _FirstTwo


class TestPromise:
    """What was released costs no more than was promised, and is recorded before it is drawn."""

    @together("name", SINGLE)
    @together("relation", BOTH)
    @together("delta", [0.0, 1e-6])
    def test_all_releases_together(self, name, relation, delta):
        result = SINGLE[name](TABLE["age"], epsilon=0.7, delta=delta, bounds=(0, 120), neighbors=relation)
        assert result.guarantee in (dp.Guarantee(0.7, delta, relation), dp.Guarantee(0.7, 0.0, relation))
        together = dp.compose([release.loss for release in result.releases])
        assert together.epsilon(result.guarantee.delta) <= 0.7 * (1.0 + 1e-6)
        assert result.release is result.releases[-1]
        assert "NOT RECORDED" in repr(result)

    @pytest.mark.parametrize("name", SINGLE)
    def test_a_ledger_has_it_all(self, name, tmp_path):
        budget = dp.Guarantee(1.0, 1e-6)
        curator = dp.Curator(
            TABLE[["age"]], schema=dp.Schema({"age": dp.Number(0, 120)}), name="clinic", budget=budget,
            ledger=str(tmp_path / "ledger.db"),
        )  # fmt: skip
        result = SINGLE[name](curator, "age", epsilon=0.3)
        assert all(release.recorded for release in result.releases)
        entries = curator.ledger.history("clinic")
        assert len(entries) == 2  # the limit, and one spend for all
        with pytest.raises(dp.BudgetExceeded):
            SINGLE[name](curator, "age", epsilon=5.0)
        assert curator.ledger.history("clinic") == entries

    def test_units_of_several_rows_cost_more(self, seeded):
        ids = np.repeat(np.arange(1000), 3)
        width = [
            np.subtract(*st.mean(TABLE["age"].to_numpy(), epsilon=1.0, bounds=(0, 120), **how).interval()[::-1])
            for how in ({"neighbors": "add-remove"}, {"neighbors": "add-remove", "unit": ids, "max_rows": 3})
        ]
        assert width[1] == pytest.approx(3.0 * width[0], rel=0.2)

    @pytest.mark.parametrize("name", SINGLE)
    def test_answers_travel(self, name):
        result = SINGLE[name](TABLE["age"], epsilon=1.0, bounds=(0, 120))
        for again in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result)):
            np.testing.assert_array_equal(again.value, result.value)
            np.testing.assert_array_equal(again.interval(0.9), result.interval(0.9))

    def test_seeds_void_the_promise(self, seeded):
        result = st.mean(TABLE["age"], epsilon=1.0, bounds=(0, 120), bits=seeded(0))
        assert result.guarantee is None
        assert "WITHOUT privacy" in repr(result)


class TestErrors:
    """Refused before anything is spent, with the argument's name."""

    @pytest.mark.parametrize("name", SINGLE)
    @pytest.mark.parametrize(
        ("arguments", "match"),
        [
            ({"epsilon": 0.0}, "epsilon="),
            ({"epsilon": float("nan")}, "epsilon="),
            ({"epsilon": "1"}, "epsilon="),
            ({"delta": 1.0}, "delta="),
            ({"delta": -0.1}, "delta="),
            ({"column": "height"}, "column"),
            ({"column": 7}, "column"),
            ({"column": None}, "column"),
            ({"neighbors": "add-remove"}, "neighbors="),
            ({"bounds": (0, 1)}, "bounds"),
            ({"bits": 3}, "bits="),
        ],
    )
    def test_bad_arguments(self, name, arguments, match, tmp_path):
        if name in ("mean", "loose mean", "variance") and arguments == {"column": None}:
            pytest.skip("these take several columns")
        curator = dp.Curator(TABLE, schema=SCHEMA, name="clinic", ledger=str(tmp_path / "ledger.db"))
        given = {"epsilon": 1.0, "column": "age"} | arguments
        with pytest.raises(ValueError, match=match):
            SINGLE[name](curator, given.pop("column"), **given)
        assert curator.ledger.history() == ()

    @pytest.mark.parametrize(
        ("ask", "match"),
        [
            (lambda c: st.mean(c, "age", by="sex", epsilon=1.0), "by='sex'"),
            (lambda c: st.mean(c, "age", by="age", epsilon=1.0), "by='age'"),
            (lambda c: st.mean(c, "age", weights="ward", epsilon=1.0), "weights='ward'"),
            (lambda c: st.mean(c, [], epsilon=1.0), "columns="),
            (lambda c: st.mean(c, ["age", "age"], epsilon=1.0), "columns="),
            (lambda c: st.mean(c, "age", loose=1, epsilon=1.0), "loose="),
            (lambda c: st.trimmed_mean(c, "age", trim=0.5, epsilon=1.0), "trim="),
            (lambda c: st.trimmed_mean(c, "age", trim="a", epsilon=1.0), "trim="),
            (lambda c: st.variance(c, "age", method="magic", epsilon=1.0), "method="),
            (lambda c: st.variance(c, "age", method="adaptive", epsilon=1.0), "delta"),
            (lambda c: st.covariance(c, "age", epsilon=1.0), "columns='age'"),
            (
                lambda c: st.covariance(c, ["age", "bmi"], by="ward", method="adaptive", epsilon=1.0, delta=1e-6),
                "groups",
            ),
            (lambda c: st.quantile(c, 1.5, "age", epsilon=1.0), "q:"),
            (lambda c: st.quantiles(c, [], "age", epsilon=1.0), "levels"),
            (lambda c: st.quantiles(c, [0.5, 0.5], "age", epsilon=1.0), "levels"),
            (lambda c: st.quantiles(c, 0.5, "age", epsilon=1.0), "levels"),
            (lambda c: st.quantiles(c, "age", [0.1], epsilon=1.0), "write levels="),
            (lambda c: st.mean(c, "age", weights=np.ones(3000), epsilon=1.0), "weights=a ndarray"),
            (lambda c: st.quantiles(c, ["0.1"], "age", epsilon=1.0), "levels"),
            (lambda c: st.quantiles(c, [True, 0.5], "age", epsilon=1.0), "levels"),
            (lambda c: st.quantile(c, 10**400, "age", epsilon=1.0), "q:"),
            (lambda c: st.quantile(c, 0.5, "age", epsilon=1e-14), "interval=None"),
            (lambda c: st.quantile(c, 0.5, "age", epsilon=1e-200, interval=None), "expected an ε"),
            (lambda c: st.histogram(c, "age", bins=10**12, epsilon=1.0), "bins="),
            (lambda c: st.histogram(c, "age", bins=["x"], epsilon=1.0), "bins="),
            (lambda c: st.density(c, "age", rows=10**400, epsilon=1.0), "rows="),
            (lambda c: st.median(c, "age", step=0.7, epsilon=1.0), "step="),
            (lambda c: st.median(c, "age", interval=1.0, epsilon=1.0), "interval="),
            (lambda c: st.median(c, "age", interval=0.0, epsilon=1.0), "interval="),
            (lambda c: st.histogram(c, "age", bins=1, epsilon=1.0), "bins="),
            (lambda c: st.histogram(c, "age", bins=[3, 2, 1], epsilon=1.0), "bins="),
            (lambda c: st.histogram(c, "age", bins=2.5, epsilon=1.0), "bins="),
            (lambda c: st.count(c, by="age", epsilon=1.0), "by='age'"),
        ],
    )
    def test_bad_questions(self, ask, match, tmp_path):
        curator = dp.Curator(TABLE, schema=SCHEMA, name="clinic", ledger=str(tmp_path / "ledger.db"))
        with pytest.raises(ValueError, match=match):
            ask(curator)
        assert curator.ledger.history() == ()

    @pytest.mark.parametrize("name", SINGLE)
    @pytest.mark.parametrize("bounds", [(-1e160, 1e160), (1e15, 1e15 + 1.0), (0.0, 2e-200)])
    def test_bounds_without_room(self, name, bounds):
        with pytest.raises(ValueError, match="shift or scale the column"):
            SINGLE[name]([0.5 * bounds[0] + 0.5 * bounds[1]], epsilon=1.0, bounds=bounds)

    @pytest.mark.parametrize("data", [None, 5, 2.5, {"age": [1.0]}, [{"age": 1.0}]])
    def test_data_that_are_no_rows(self, data):
        with pytest.raises(ValueError, match=r"^data"):
            st.mean(data, epsilon=1.0, bounds=(0, 1))

    def test_declarations_that_are_none(self):
        with pytest.raises(ValueError, match=r"write Box\(low=\[0, 0, 0\], high=\[120, 400, 1\]\)"):
            st.mean(np.ones((5, 3)), epsilon=1.0, bounds=([0, 0, 0], [120, 400, 1]))
        with pytest.raises(ValueError, match="write Schema"):
            st.mean(TABLE, epsilon=1.0, schema={"age": (0, 120)})

    def test_a_public_number_is_not_counted(self):
        with pytest.raises(ValueError, match="3000, is public"):
            st.count(TABLE["age"], epsilon=1.0, bounds=(0, 120))

    def test_limits_that_were_not_drawn(self):
        result = st.median(TABLE["age"], epsilon=1.0, bounds=(0, 120), interval=None)
        with pytest.raises(ValueError, match=r"interval=0\.95"):
            result.interval()
        drawn = st.median(TABLE["age"], epsilon=1.0, bounds=(0, 120), interval=0.8, interval_kind="worst-case")
        assert drawn.interval(0.5) == drawn.interval(0.8)
        with pytest.raises(ValueError, match=r"at most 0\.8"):
            drawn.interval(0.9)

    def test_an_argument_that_nobody_knows(self):
        with pytest.raises(TypeError, match="bound: not an argument"):
            st.mean(TABLE["age"], epsilon=1.0, bound=(0, 120))


def test_a_table_of_quantiles_without_limits_has_none():
    result = st.quantiles(np.arange(1000.0), [0.25, 0.75], epsilon=1.0, bounds=(0, 1000), interval=None)
    assert [sorted(row) for row in result.table()] == [["level", "value"]] * 2


class TestChoiceOfNoise:
    """δ permits Gaussian noise, and Laplace noise is taken where it is smaller; from public numbers alone."""

    @staticmethod
    def _variances(columns, epsilon, delta):
        rows = np.zeros((100, columns))
        ((question, loss),) = statistics.mean.plan(rows, epsilon=epsilon, delta=delta, bounds=(0, 1)).asked
        curator = dp.Curator(rows, space=dp.Box(0, 1))
        each = [dp.Guarantee(epsilon), dp.Guarantee(epsilon, delta)]
        losses = [dp.LaplaceLoss(epsilon), dp.calibrate(each[1], dp.GaussianLoss(1.0)).losses[0]]
        return loss, {type(one): curator.plan(question, one).noise.variance for one in losses}

    @pytest.mark.parametrize("columns", [1, 2, 5, 10, 20, 50, 100])
    @pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-6), (1.0, 1e-3), (5.0, 1e-9)])
    def test_the_smaller_one_is_taken(self, columns, epsilon, delta):
        loss, variances = self._variances(columns, epsilon, delta)
        assert variances[type(loss)] == min(variances.values())

    def test_both_are_taken_somewhere(self):
        assert isinstance(self._variances(1, 1.0, 1e-6)[0], dp.LaplaceLoss)
        assert isinstance(self._variances(100, 1.0, 1e-6)[0], dp.GaussianLoss)

    def test_a_ledger_keeps_to_gaussian_noise(self, tmp_path):
        """A pure ε is expensive among Gaussian losses, so whoever gives a δ gets what adds up well."""
        curator = dp.Curator(np.zeros((50, 1)), space=dp.Box(0, 1), name="a", ledger=tmp_path / "a.db")
        assert isinstance(statistics.mean.plan(curator, epsilon=0.5, delta=1e-6).losses[0], dp.GaussianLoss)

    def test_the_error_is_the_smaller_one(self, seeded):
        """The spread of a mean at (1, 1e-6) is that of Laplace noise, a third of the Gaussian."""
        rows, bits = np.full(1000, 0.5), seeded(5)
        runs = size(200, 2000)
        asked = statistics.mean.plan(rows, epsilon=1.0, delta=1e-6, bounds=(0, 1), bits=bits)
        errors = np.abs([asked.run().value - 0.5 for _ in range(runs)])
        low, high = gamma(runs).ppf([5e-10, 1.0 - 5e-10])  # the law of a sum of absolute Laplace errors
        assert 0.99 * low < 1000 * errors.sum() < 1.01 * high
