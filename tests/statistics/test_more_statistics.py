"""Standard deviations, correlations, proportions, modes, extremes and geometric means: right, honest, and refused."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import discreet as dp
from discreet import statistics as st
from effort import crossed, size
from goodness import often

SURE = 1e5
RNG = np.random.default_rng(8)
ROWS = pd.DataFrame(
    {
        "person": np.arange(3000) // 2,
        "age": RNG.integers(18, 91, 3000).astype(float),
        "cost": RNG.lognormal(5.0, 1.0, 3000).clip(1.0, 1e5),
        "weight": RNG.uniform(0.5, 5.0, 3000),
        "flag": RNG.integers(0, 2, 3000),
        "smoker": RNG.choice(["no", "yes", "once"], 3000, p=[0.6, 0.3, 0.1]),
        "ward": RNG.choice(["a", "b"], 3000),
        "sex": RNG.choice(["f", "m"], 3000),
    }
)
ROWS["bmi"] = (20.0 + 0.1 * ROWS["age"] + RNG.normal(0.0, 2.0, 3000)).clip(10, 60)
COLUMNS = {
    "age": dp.Number(0, 120),
    "cost": dp.Number(1, 1e5, log=True),
    "weight": dp.Number(0, 5),
    "flag": dp.Number(0, 1),
    "bmi": dp.Number(10, 60),
    "smoker": dp.Category(["no", "yes", "once"]),
    "ward": dp.Category(["a", "b"]),
    "sex": dp.Category(["f", "m"]),
}
SCHEMA = dp.Schema(COLUMNS)
PERSONS = dp.Schema(COLUMNS, unit="person", max_rows=2)
BOTH = ["replace-one", "add-remove"]
RUNS = size(40, 300)


def enough(hits, level, runs=RUNS):
    """Return whether something happens often enough; with this probability it does not less than once in 1e9 times."""
    return often(hits, runs, binom.ppf(1e-10, runs, level))


def held(ask, truth, level, runs=RUNS):
    """Return, one after another, whether intervals hold the truth."""
    slack = 1e-9 * (1.0 + np.abs(truth))
    for seed in range(runs):
        low, high = ask(seed).interval(level)
        yield (np.asarray(low) <= truth + slack) & (truth - slack <= np.asarray(high))


def groups(compute):
    return [compute(ROWS[(ROWS["ward"] == w) & (ROWS["sex"] == s)]) for w in "ab" for s in "fm"]


class TestWithoutNoise:
    """At a huge ε the answers are those of NumPy."""

    @pytest.mark.parametrize(("whose", "relation", "delta"), crossed(["rows", "persons"], BOTH, [0.0, 1e-6]))
    def test_all_of_them(self, whose, relation, delta):
        schema = {"rows": SCHEMA, "persons": PERSONS}[whose]
        how = {"epsilon": SURE, "delta": delta, "schema": schema, "neighbors": relation}
        by = {"by": ["ward", "sex"], **how}
        assert st.std(ROWS, "age", **how).value == pytest.approx(ROWS["age"].std(ddof=0), rel=1e-3)
        np.testing.assert_allclose(st.std(ROWS, "age", **by).value, groups(lambda t: t["age"].std(ddof=0)), rtol=1e-2)
        matrix = st.correlation(ROWS, ["age", "bmi"], **how).value
        assert matrix[0, 1] == pytest.approx(np.corrcoef(ROWS["age"], ROWS["bmi"])[0, 1], abs=1e-3)
        truth = groups(lambda t: np.corrcoef(t["age"], t["bmi"])[0, 1])
        np.testing.assert_allclose(st.correlation(ROWS, ["age", "bmi"], **by).value[:, 0, 1], truth, atol=1e-2)
        old = ROWS["age"] >= 65
        assert st.proportion(ROWS, "age >= 65", **how).value == pytest.approx(old.mean(), abs=1e-3)
        shares = groups(lambda t: (t["age"] >= 65).mean())
        np.testing.assert_allclose(st.proportion(ROWS, "age >= 65", **by).value, shares, atol=1e-3)
        weighted = st.proportion(ROWS, "age >= 65", weights="weight", **how).value
        assert weighted == pytest.approx(np.average(old, weights=ROWS["weight"]), abs=1e-3)
        assert st.mode(ROWS, "smoker", **how).value == "no"
        assert st.mode(ROWS, "smoker", **by).value.tolist() == ["no"] * 4
        assert st.geometric_mean(ROWS, "cost", **how).value == pytest.approx(
            np.exp(np.log(ROWS["cost"]).mean()), rel=1e-3
        )
        spread = groups(lambda t: np.exp(np.log(t["bmi"]).mean()))
        np.testing.assert_allclose(st.geometric_mean(ROWS, "bmi", **by).value, spread, rtol=1e-2)
        assert abs(st.min(ROWS, "age", step=1, **how).value - 18.0) <= 1.0
        assert abs(st.max(ROWS, "age", step=1, **how).value - 90.0) <= 1.0

    def test_the_same_from_files_as_from_memory(self, tmp_path, seeded):
        ROWS.to_parquet(tmp_path / "rows.parquet")
        how = {"epsilon": 1.0, "schema": SCHEMA, "neighbors": "add-remove"}
        for ask in (
            lambda data, bits: st.proportion(data, "age >= 65 or smoker == 'yes'", by="ward", bits=bits, **how),
            lambda data, bits: st.proportion(data, "not (cost > 150 and ward in ['a'])", bits=bits, **how),
            lambda data, bits: st.mode(data, "smoker", by=["ward", "sex"], bits=bits, **how),
            lambda data, bits: st.geometric_mean(data, ["bmi", "cost"], weights="weight", bits=bits, **how),
        ):
            one, other = (ask(data, seeded(4)).value for data in (ROWS, tmp_path / "rows.parquet"))
            assert np.asarray(one == other).all() or np.allclose(one, other, rtol=1e-9)


class TestIntervals:
    """How often intervals hold; each test fails falsely less than once in 10⁹ times."""

    @pytest.mark.parametrize("delta", [0.0, 1e-6])
    @pytest.mark.parametrize(("relation", "rows"), [("replace-one", 300), ("add-remove", 300), ("add-remove", 30)])
    def test_standard_deviations(self, relation, rows, delta, seeded):
        ages = ROWS["age"].to_numpy()[:rows]

        @cache
        def ask(seed):
            how = {"epsilon": 0.5, "delta": delta, "bounds": (0, 120), "neighbors": relation}
            return st.std(ages, bits=seeded(seed), **how)

        assert enough(held(ask, ages.std(), 0.95), 0.95)
        for seed in range(3):
            answer = ask(seed)
            assert answer.value == pytest.approx(np.sqrt(answer.variance.value))
            assert tuple(answer.interval()) == tuple(np.sqrt(answer.variance.interval()))

    @pytest.mark.parametrize(("relation", "delta"), [("replace-one", 1e-6), ("add-remove", 0.0)])
    @pytest.mark.parametrize("rho", [-0.3, 0.9])
    def test_correlations(self, relation, delta, rho, seeded):
        rows = np.random.default_rng(1).multivariate_normal([0, 3], [[4, 6 * rho], [6 * rho, 9]], 3000).clip(-10, 10)
        truth = np.corrcoef(rows.T)

        @cache
        def ask(seed):
            how = {"epsilon": 1.0, "delta": delta, "bounds": (-10, 10), "neighbors": relation}
            return st.correlation(rows, bits=seeded(seed), **how)

        assert not ask(0).drowned(0.5).any()
        assert enough(held(ask, truth, 0.5), 0.5)
        assert enough(held(ask, truth, 0.95), 0.95)
        assert enough((not inside[0, 1] for inside in held(ask, truth, 0.5)), 0.5)  # nor are they too wide

    @pytest.mark.parametrize("method", ["direct", "adaptive"])
    def test_correlations_by_other_methods(self, method, seeded):
        rows = np.random.default_rng(2).multivariate_normal([0, 3], [[4, 3], [3, 9]], 3000).clip(-10, 10)
        how = {"epsilon": 1.0, "delta": 1e-6, "bounds": (-10, 10), "method": method}
        hits = held(lambda seed: st.correlation(rows, bits=seeded(seed), **how), np.corrcoef(rows.T), 0.95)
        assert enough(hits, 0.9 if method == "adaptive" else 0.95)  # which is about rounds that are roughly Gaussian

    @pytest.mark.parametrize(("level", "relation", "delta"), crossed([0.5, 0.95], BOTH, [0.0, 1e-6]))
    def test_proportions_however_few_rows_there_are(self, relation, delta, level, seeded):
        few = ROWS[:25].assign(ward="a")
        truth = np.array([(few["age"] >= 65).mean()])

        @cache
        def ask(seed):
            how = {"epsilon": 0.5, "delta": delta, "schema": SCHEMA, "neighbors": relation}
            return st.proportion(few, "age >= 65", bits=seeded(seed), **how)

        hits = held(ask, truth[0], level)
        assert enough(hits, level)
        for seed in range(5):
            (low, high), value = ask(seed).interval(), ask(seed).value
            assert 0.0 <= low <= value <= high <= 1.0

    @pytest.mark.parametrize("level", [0.5, 0.95])
    @pytest.mark.parametrize("relation", BOTH)
    def test_modes_are_not_further_behind_than_they_say(self, level, relation, seeded):
        codes = pd.DataFrame({"k": np.repeat(np.arange(6), [30, 29, 28, 20, 10, 0]), "g": "u"})
        how = {"epsilon": 0.3, "classes": {"k": list(range(6)), "g": ["u", "v"]}, "neighbors": relation}
        counts, runs = [30, 29, 28, 20, 10, 0], 4 * RUNS
        ask = cache(lambda seed: st.mode(codes, "k", bits=seeded(seed), **how))
        near = (30 - counts[ask(seed).value] <= ask(seed).rows_behind(level) for seed in range(runs))
        assert enough(near, level, runs)
        assert len({ask(seed).value for seed in range(30)}) > 2  # it is a draw
        assert ask(0).rows_behind(0.99) > ask(0).rows_behind(level)

    @pytest.mark.parametrize("relation", BOTH)
    def test_extremes_hold_the_quantile_that_they_name(self, relation, seeded):
        ages = ROWS["age"].to_numpy()
        for ask in (st.min, st.max):
            one = ask(ages, epsilon=0.5, bounds=(0, 120), step=1, neighbors=relation, rows=3000)
            truth = np.quantile(ages, one.levels[0], method="inverted_cdf")

            def again(seed, ask=ask):
                how = {"epsilon": 0.5, "bounds": (0, 120), "step": 1, "neighbors": relation, "rows": 3000}
                return ask(ages, bits=seeded(seed), **how)

            assert enough(held(again, truth, 0.95), 0.95)
            end = ages.min() if ask is st.min else ages.max()
            assert abs(one.value - end) <= 3.0


class TestHonestWords:
    """What an answer cannot say it says."""

    def test_a_correlation_that_noise_has_drowned(self):
        rows = np.random.default_rng(0).normal(0.0, 0.1, (40, 2))
        for seed in range(10):
            answer = st.correlation(rows, epsilon=0.1, delta=1e-6, bounds=(-10, 10))
            low, high = answer.interval()
            assert (low[0, 1], high[0, 1]) == (-1.0, 1.0), seed
            assert "drowned by noise: x0 with x1 in [-1, 1]" in repr(answer)
            assert [row["drowned"] for row in answer.table()] == [False, True, True, False]
            assert (low[0, 0], high[1, 1]) == (1.0, 1.0)

    @pytest.mark.parametrize("delta", [0.0, 1e-6])
    @pytest.mark.parametrize("epsilon", [0.01, 0.3, 10.0])
    def test_every_correlation_matrix_is_one(self, epsilon, delta, seeded):
        rows = ROWS[["age", "bmi", "weight"]][:200]
        for seed in range(20):
            answer = st.correlation(
                rows.assign(g="u"), ["age", "bmi", "weight"], by="g", epsilon=epsilon, delta=delta, bits=seeded(seed),
                schema=dp.Schema({**{n: COLUMNS[n] for n in rows}, "g": dp.Category(["u", "v"])}),
            )  # fmt: skip
            low, high = answer.interval()
            for matrix in answer.value:
                assert np.abs(matrix).max() <= 1.0
                assert (np.diagonal(matrix) == 1.0).all()
                assert np.linalg.eigvalsh(matrix).min() >= -1e-9
            assert (low >= -1.0).all()
            assert (high <= 1.0).all()
            assert ((low <= answer.value) & (answer.value <= high)).all()

    def test_an_extreme_says_which_quantile_it_is_and_more_rows_bring_it_closer(self):
        small, large = (
            st.min(ROWS, "age", epsilon=1.0, schema=SCHEMA, neighbors="add-remove", rows=rows) for rows in (1000, 10**6)
        )
        assert large.levels[0] < small.levels[0] <= 0.25
        assert f"({small.levels[0]:.2%}"[1:] in repr(small)
        assert "that of a single row" in repr(small)
        assert small.table()[0]["quantile"] == small.levels[0]
        assert st.max(ROWS, "age", epsilon=1.0, schema=SCHEMA).levels[0] > 0.75

    def test_a_mode_says_how_sure_it_is(self):
        answer = st.mode(ROWS, "smoker", epsilon=1.0, schema=PERSONS)
        assert answer.rows_behind(0.95) == pytest.approx(4.0 * np.log(2 / 0.05), rel=1e-6)  # 2 rows, replaced
        assert "rows behind the most frequent one" in repr(answer)
        assert answer.table()[0]["rows_behind"] == answer.rows_behind()
        assert f"{answer:>5}" == f"{answer.value:>5}"
        with pytest.raises(ValueError, match="a category has none; write rows_behind"):
            answer.interval()


class TestProportions:
    """All ways to say which rows."""

    @pytest.mark.parametrize(
        ("asked", "of", "truth"),
        [
            ("smoker", "yes", lambda t: t["smoker"] == "yes"),
            ("smoker", ["yes", "once"], lambda t: t["smoker"] != "no"),
            ("flag", None, lambda t: t["flag"] == 1),
            ("flag == 1 and smoker == 'no'", None, lambda t: (t["flag"] == 1) & (t["smoker"] == "no")),
            ("cost >= 100", None, lambda t: t["cost"] >= 100),
            ("cost > -5", None, lambda t: t["cost"] > 0),
            ("bmi < age", None, lambda t: t["bmi"] < t["age"]),
        ],
    )
    def test_what_is_the_share(self, asked, of, truth):
        answer = st.proportion(ROWS, asked, of=of, epsilon=SURE, schema=SCHEMA)
        assert answer.value == pytest.approx(truth(ROWS).mean(), abs=1e-3)

    def test_true_and_1_are_the_default(self):
        rows = pd.DataFrame({"a": [True, False] * 50, "b": [1, 0, 0, 0] * 25})
        how = {"epsilon": SURE, "classes": {"a": [False, True], "b": [0, 1]}}
        assert st.proportion(rows, "a", **how).value == pytest.approx(0.5, abs=1e-3)
        assert st.proportion(rows, "b", **how).value == pytest.approx(0.25, abs=1e-3)

    def test_a_public_number_of_rows_needs_less_noise(self):
        filled = {"age": dp.Number(0, 120, missing="fill", fill=40)}
        public = st.proportion(ROWS, "age >= 65", epsilon=1.0, schema=dp.Schema(filled))
        private = st.proportion(ROWS, "age >= 65", epsilon=1.0, schema=SCHEMA)
        assert public.release.value.size == 1
        assert private.release.value.size == 2
        assert private.release.noise.scale == pytest.approx(2.0 * public.release.noise.scale, rel=1e-6)

    @pytest.mark.parametrize(
        ("asked", "of", "words"),
        [
            ("smoker", None, "of=None: expected a category of 'smoker', or some, of 'no', 'yes', 'once'"),
            ("smoker", "never", "of='never': expected a category"),
            ("smoker", [], "expected a category of 'smoker'"),
            ("age", None, "a column of 0 and 1, one of categories, or a condition; write for example 'age >= 1'"),
            ("age", 3, "of=3: expected None, since 'age' is not a column of categories"),
            ("smokr", None, "did you mean 'smoker'"),
            ("cost < age", None, "columns of one scale to compare"),
            ("age >", None, "where='age >'"),
            (3, None, "a condition as text"),
        ],
    )
    def test_what_is_refused(self, asked, of, words):
        with pytest.raises(ValueError, match=words):
            st.proportion.plan(ROWS, asked, of=of, epsilon=1.0, schema=SCHEMA)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: st.mode.plan(ROWS, "age", epsilon=1.0, schema=SCHEMA), "a declared column of categories"),
        (lambda: st.mode.plan(ROWS, "ward", by="ward", epsilon=1.0, schema=SCHEMA), "other columns than 'ward'"),
        (lambda: st.correlation.plan(ROWS, "age", epsilon=1.0, schema=SCHEMA), "two columns or more"),
        (lambda: st.geometric_mean.plan(ROWS, "age", epsilon=1.0, schema=SCHEMA), "with bounds above 0"),
        (lambda: st.mode.plan(ROWS, epsilon=1.0, classes={"ward": ["a"]}), "column='ward': expected a column of two"),
        (lambda: st.std.plan(ROWS, "age", method="adaptive", epsilon=1.0, schema=SCHEMA), "delta above 0"),
        (lambda: st.min.plan(ROWS, "cost", step=1, epsilon=1.0, schema=SCHEMA), "log scale"),
    ],
)
def test_what_does_not_fit_is_refused(ask, words):
    with pytest.raises(ValueError, match=words):
        ask()


def test_the_mean_of_a_log_column_is_its_geometric_mean(seeded):
    how = {"epsilon": 1.0, "schema": SCHEMA}
    one, other = (ask(ROWS, "cost", bits=seeded(2), **how) for ask in (st.mean, st.geometric_mean))
    assert one.value == other.value
    assert other.table()[0]["statistic"] == "geometric mean"


def test_questions_of_a_database_say_what_they_ask(tmp_path):
    db = dp.StatisticalDatabase(
        ROWS, schema=PERSONS, budget=dp.Guarantee(50.0, 1e-6), ledger=tmp_path / "ledger", name="clinic"
    )
    draft = db.draft
    assert draft.proportion("smoker", of="yes", by="ward").description == "proportion of smoker == 'yes' by ward"
    assert draft.proportion("age >= 65", where="sex == 'f'").description == "proportion of age >= 65 where sex == 'f'"
    assert draft.geometric_mean("cost").description == "geometric mean of cost"
    assert draft.std("age").description == "std of age"
    assert db.mode("smoker", by=["ward", "sex"], share=0.2).value.shape == (4,)
    assert 0.0 <= float(db.proportion("smoker", of=["yes", "once"], where="age > 30")) <= 1.0
    assert db.min("age", step=1).to_frame()["quantile"][0] <= 0.25


def test_a_geometric_mean_has_an_interval_of_its_population(seeded):
    for column in ("cost", "bmi"):  # on a log scale, and with bounds above 0
        result = st.geometric_mean(ROWS, column, population=True, epsilon=1.0, schema=SCHEMA, bits=seeded(3))
        wide, narrow = result.interval(of="population"), result.interval(of="rows")
        assert wide[0] < narrow[0] < result.value < narrow[1] < wide[1]
        logs = np.log(ROWS[column])
        assert np.log(wide[1] / wide[0]) > 3.9 * logs.std() / np.sqrt(len(logs))  # sampling alone has 3.92
    with pytest.raises(ValueError, match=r"geometric_mean\(…, population=True\)"):
        st.geometric_mean(ROWS, "cost", epsilon=1.0, schema=SCHEMA).interval(of="population")
    with pytest.raises(ValueError, match="population=1"):
        st.geometric_mean(ROWS, "cost", population=1, epsilon=1.0, schema=SCHEMA)
