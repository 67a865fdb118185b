"""The mixture over numbers and categories: its bound, what it promises and refuses, how near it comes, and its rows."""

from __future__ import annotations

import json
import math
import pickle
from collections import Counter
from dataclasses import dataclass, replace

import array_api_strict
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

import discreet as dp
from discreet.models.table.column_maps import correct_cells, match_histogram, project_to_simplex
from discreet.models.table.table_model import TableModel
from discreet.noise import NotPrivateWarning
from discreet.queries.bound import Bound
from discreet.queries.counts.grids import ColumnCells, Marginals
from discreet.queries.models.model_query import ModelQuery
from discreet.queries.moments.clipped_moments import FEW_COLUMNS, ClippedMoments
from discreet.queries.moments.components import Components
from discreet.queries.moments.mixed_moments import LEAST, MixedMoments
from discreet.queries.question import Query
from discreet.queries.search import worst_neighbours
from discreet.records import Block, Box, as_records
from instances import MODELS

seeds_are_fine = pytest.mark.filterwarnings("ignore::discreet.noise.NotPrivateWarning")

SCHEMA = dp.Schema(
    {
        "age": dp.Number(0, 100),
        "sex": dp.Category(["f", "m"]),
        "income": dp.Number(0, 200),
        "job": dp.Category(["none", "office", "field", "sea"]),
        "member": dp.Category([False, True]),
    }
)
JOBS = np.array([[0.7, 0.2, 0.1, 0.0], [0.1, 0.6, 0.1, 0.2]])


def table(n=6_000, seed=0):
    """Return two groups that differ in numbers and in categories."""
    rng = np.random.default_rng(seed)
    group = (rng.random(n) < 0.4).astype(int)
    jobs = (rng.random(n)[:, None] > np.cumsum(JOBS, axis=1)[group, :-1]).sum(axis=1)
    return pd.DataFrame(
        {
            "age": np.array([25.0, 60.0])[group] + rng.normal(0, 6, n),
            "sex": np.where(rng.random(n) < np.array([0.3, 0.8])[group], "m", "f"),
            "income": np.array([30.0, 110.0])[group] + rng.normal(0, 12, n),
            "job": np.array(["none", "office", "field", "sea"])[jobs],
            "member": rng.random(n) < np.array([0.1, 0.5])[group],
        }
    )


FRAME = table()


def fitted(X=FRAME, n_components=2, **parameters):
    given = {"schema": SCHEMA, "random_state": 0, "n_steps": 4} | parameters
    return dp.TableMixture(n_components, **given).fit(X)


def statistic(rng, count=3, d=2, categories=(3, 4), spread=0.3, weights=None):
    factors = rng.standard_normal((count, d, d))
    covariances = spread**2 / d * (factors @ factors.transpose(0, 2, 1) + 0.1 * np.eye(d))
    components = Components(rng.dirichlet(np.ones(count)), rng.standard_normal((count, d)) / (2 * d), covariances)
    tables = tuple(project_to_simplex(rng.dirichlet(np.full(size, 0.3), count), 1.0) for size in categories)
    weights = tuple(0.5 / len(categories) for _ in categories) if weights is None else weights
    return MixedMoments(ClippedMoments(components, 2.0, (0.1, 0.3, 0.6)), tables, weights)


def rows_of(rng, n, d, categories):
    x = rng.standard_normal((n, d)) / math.sqrt(d)
    x /= np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1.0)
    return Block(x, np.stack([rng.integers(0, size, n) for size in categories], axis=1))


class TestStatistic:
    @pytest.mark.parametrize("d", [1, 3, FEW_COLUMNS + 5])
    @pytest.mark.parametrize("categories", [(2,), (3, 1), (2, 5, 6)])
    def test_the_sum_is_that_of_the_contributions_on_every_path(self, d, categories):
        rng = np.random.default_rng(d)
        mixed, block = statistic(rng, 4, d, categories), rows_of(rng, 3000, d, categories)
        rows = np.asarray(mixed.contributions(block))
        assert rows.shape == (3000, sum(part.size for part in mixed.parts.values()))
        np.testing.assert_allclose(mixed.sum(block), rows.sum(axis=0), rtol=1e-10, atol=1e-10)
        strict = Block(*map(array_api_strict.asarray, block))
        np.testing.assert_allclose(np.asarray(mixed.contributions(strict)), rows, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(np.asarray(mixed.sum(strict)), rows.sum(axis=0), rtol=1e-9, atol=1e-9)

    def test_it_is_what_the_module_says(self):
        """Shares by Bayes' rule over numbers and categories, each in the place of its category."""
        rng = np.random.default_rng(0)
        mixed, block = statistic(rng, weights=(0.1, 0.3)), rows_of(rng, 50, 2, (3, 4))
        joint = mixed.moments.components.log_joint(block.x)
        for j, one in enumerate(mixed.tables):
            joint += np.log(one).T[block.codes[:, j]]
        shares = np.exp(joint - joint.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        rows = np.asarray(mixed.contributions(block))
        size = {name: part.size for name, part in mixed.parts.items()}
        assert list(size) == ["counts", "first", "second", "table0", "table1"]
        np.testing.assert_allclose(rows[:, :3], math.sqrt(0.6 * 0.1) * shares, atol=1e-12)
        last = rows[:, -size["table1"] :].reshape(50, 3, 4)
        for i, code in enumerate(block.codes[:, 1]):
            np.testing.assert_allclose(last[i, :, code], math.sqrt(0.3) * shares[i], atol=1e-12)
            assert np.count_nonzero(last[i]) <= 3

    def test_one_component_of_columns_that_say_nothing_moves_by_the_moments_alone(self):
        rng = np.random.default_rng(0)
        mixed = statistic(rng, 1, 2, (1, 1))
        assert mixed.bound.replace("l2") == pytest.approx(max(1.0, math.sqrt(0.5) * mixed.moments.bound.replace("l2")))
        several = statistic(rng, 1, 2, (1, 2), weights=(0.4, 0.1))
        assert several.bound.replace("l2") ** 2 == pytest.approx(0.5 * mixed.moments.bound.replace("l2") ** 2 + 0.2)

    def test_what_floats_do_to_a_row_stays_within_the_roundoff(self):
        """Many rare categories, so that the evidence is large; against extended precision."""
        if np.finfo(np.longdouble).eps > 1e-18:
            pytest.skip("this machine has no extended precision")
        rng, wide, categories = np.random.default_rng(0), np.longdouble, (30,) * 8
        mixed, block = statistic(rng, 5, 3, categories, spread=0.05), rows_of(rng, 500, 3, categories)
        components = mixed.moments.components
        z = np.einsum("kij,nj->kni", components.whitening.astype(wide), block.x.astype(wide))
        z -= components.offsets.astype(wide)[:, None, :]
        logits = components.log_constants.astype(wide)[:, None] - np.minimum((z * z).sum(axis=2), 2500) / 2
        logs = np.log(np.concatenate(mixed.tables, axis=1)).astype(wide)
        for j in range(8):
            logits += logs[:, block.codes[:, j] + 30 * j]
        shares = np.exp(logits - logits.max(axis=0))
        shares /= shares.sum(axis=0)
        lacking = np.abs(mixed.contributions(block)[:, :5] - math.sqrt(0.05) * shares.T.astype(np.float64))
        assert lacking.sum(axis=1).max() <= mixed.roundoff < 1e-9

    def test_codes_that_are_none_stay_inside_of_the_tables(self):
        rng = np.random.default_rng(0)
        mixed, block = statistic(rng), rows_of(rng, 20, 2, (3, 4))
        wild = Block(block.x, block.codes + rng.choice([-(2**40), 2**40], block.codes.shape))
        assert np.all(np.isfinite(mixed.sum(wild)))

    @pytest.mark.parametrize("weights", [(0.5, 0.5), (0.0, 0.5), (0.1,), (-0.1, 0.3)])
    def test_weights_beyond_the_proof_are_refused(self, weights):
        with pytest.raises(ValueError, match="weights="):
            statistic(np.random.default_rng(0), weights=weights)

    def test_probabilities_below_the_floor_are_refused(self):
        right = statistic(np.random.default_rng(0))
        with pytest.raises(ValueError, match="tables"):
            replace(right, tables=(right.tables[0], right.tables[1] * 0.1 * LEAST))


@dataclass(frozen=True, eq=False)
class Broken(Query):
    """A table mixture's query whose bound forgets something."""

    right: ModelQuery
    fault: str
    name = "broken"

    @property
    def dimension(self):
        return self.right.dimension

    @property
    def space(self):
        return self.right.space

    @property
    def categories(self):
        return self.right.categories

    @property
    def parts(self):
        return self.right.parts

    @property
    def bound(self):
        bound = self.right.bound
        if self.fault == "tables left out":  # (1 − e²)·D², without 2e²
            rest = 1.0 - math.fsum(self.right.model.weights)
            moments = self.right.model.numbers.moments(self.right.params.numbers).bound
            return Bound(l2=math.sqrt(rest), replace_l2=math.sqrt(rest) * moments.replace("l2"))
        if self.fault == "replace as add":
            return Bound(l2=bound.l2, replace_l2=bound.l2)
        return Bound(l2=bound.l2 / math.sqrt(2.0), replace_l2=bound.replace("l2") / math.sqrt(2.0))

    def contributions(self, block):
        return self.right.contributions(block)


class TestSearch:
    def test_broken_bounds_are_caught(self):
        rng = np.random.default_rng(0)
        narrow = {query.model.numbers.count: query for query in MODELS[TableModel](rng, 2, 1.0)}
        for right in (narrow[2], narrow[20]):
            assert all(finding.holds for finding in worst_neighbours(right, rng, starts=8, steps=4))
            for fault in ("tables left out", "replace as add", "sqrt 2"):
                result = worst_neighbours(Broken(right, fault), rng, starts=8, steps=4)
                assert not all(finding.holds for finding in result), fault

    def test_the_climb_changes_categories(self):
        """Thirty columns of six: two rows that differ in all of them are not among the starts."""
        findings = worst_neighbours(Marginals((6,) * 30), np.random.default_rng(0), starts=1)
        assert all(finding.holds and finding.tight for finding in findings)

    def test_any_release_gives_probabilities(self):
        rng = np.random.default_rng(0)
        for query in MODELS[TableModel](rng, 2, 1.0):
            for scale in (0.0, 1e-300, 1.0, 1e12):
                value = scale * rng.standard_normal(query.size)
                release = dp.Release(
                    query="q", value=value, parts=query.parts, mechanism="additive", exact=True,
                    size=dp.PublicSize(None, False), noise=dp.noise.GaussianNoise(1.0), loss=dp.GaussianLoss(1.0),
                )  # fmt: skip
                for one in query.model.maximize(query.params, release).probabilities:
                    assert one.min() >= LEAST
                    np.testing.assert_allclose(one.sum(axis=1), 1.0, atol=1e-9)


class TestPrivacy:
    def test_without_a_seed_it_is_private_and_says_so(self):
        model = dp.TableMixture(2, epsilon=1.0, delta=1e-6, schema=SCHEMA, n_steps=2).fit(FRAME)
        assert model.guarantee_ == dp.Guarantee(1.0, 1e-6, "replace-one")
        assert "fitted to rows without gaps in any of 5 columns, at (ε=1, δ=1e-06) replace-one for each row" in repr(
            model
        )
        assert "for each row, NOT RECORDED" in repr(model)
        assert {release.provenance for release in model.releases_} == {"measured"}
        phases = {"marginals": 1, "one Gaussian": 4, "search for clusters": 5, "table mixture": 2}
        assert Counter(release.query for release in model.releases_) == phases

    def test_with_a_seed_it_is_not_and_says_so(self):
        with pytest.warns(NotPrivateWarning):
            model = fitted(n_steps=1)
        assert model.guarantee_ is None
        assert "WITHOUT privacy" in repr(model)

    @seeds_are_fine
    @pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
    @pytest.mark.parametrize(("count", "epsilon"), [(1, 1.0), (2, 0.001), (3, 20.0)])
    def test_the_losses_are_the_promise_and_all_of_it(self, neighbors, count, epsilon):
        model = fitted(FRAME[:1000], count, neighbors=neighbors, epsilon=epsilon, n_steps=None)
        assert [release.loss for release in model.releases_] == list(model.losses_)
        spent = dp.compose(model.losses_).epsilon(1e-6)
        assert epsilon * (1 - 1e-6) < spent <= epsilon * (1 + 1e-9)
        for name, values in model.categories_.items():
            assert model.probabilities_[name].shape == (model.n_components_, len(values))
        assert model.n_components_ == count or epsilon < 0.01

    def test_the_noise_is_the_one_that_the_loss_asks_for(self):
        """σ = Δ/μ of the lemma, to the little that grid and float error add."""
        for neighbors, sensitivity in (("replace-one", math.sqrt(2.0)), ("add-remove", 1.0)):
            model = dp.TableMixture(3, schema=SCHEMA, neighbors=neighbors, n_steps=2).fit(FRAME)
            for release in (model.releases_[0], model.releases_[-1]):
                least = sensitivity / release.loss.mu
                assert least <= math.sqrt(release.noise.variance) <= 1.15 * least

    def test_a_ledger_is_charged_once_and_then_refuses(self, tmp_path):
        guarantee = dp.Guarantee(1.0, 1e-6)
        curator = dp.Curator(FRAME, schema=SCHEMA, name="people", ledger=tmp_path / "l.db", budget=guarantee)
        model = dp.TableMixture(2, n_steps=2).fit(curator)
        assert "NOT RECORDED" not in repr(model)
        assert [entry.kind for entry in curator.ledger.history()] == ["limit", "reserve"]
        with pytest.raises(dp.BudgetExceeded):
            dp.TableMixture(2, epsilon=0.1, n_steps=2).fit(curator)
        assert len(curator.ledger.history()) == 2

    @pytest.mark.parametrize(
        "wrong",
        [
            {"schema": dp.Schema({"age": dp.Number(0, 100), "sex": dp.Category(["f", "m"])})},
            {"schema": "age"},
            {"neighbors": "add-remove"},
            {"random_state": 3},
            {"epsilon": 0.0},
            {"delta": 0.0},
            {"n_components": 0},
            {"n_components": 1001},
            {"n_components": (1, 2)},
            {"n_steps": 0},
            {"covariance_type": "round"},
        ],
    )
    def test_what_is_wrong_is_refused_before_anything_is_spent(self, tmp_path, wrong):
        curator = dp.Curator(FRAME, schema=SCHEMA, name="people", ledger=tmp_path / "l.db")
        with pytest.raises(ValueError, match="expected"):
            dp.TableMixture(**({"n_components": 2} | wrong)).fit(curator)
        assert not curator.ledger.history()

    @seeds_are_fine
    def test_behind_a_curator_poisoned_rows_change_nothing_but_numbers(self):
        """Missing, infinite and undeclared values: no error, the same steps, the same shapes."""
        poisoned = FRAME.astype({"sex": object, "job": object, "member": object})
        poisoned.loc[:9, "age"] = np.nan
        poisoned.loc[10:19, "income"] = [np.inf, -np.inf] * 5
        poisoned.loc[20:29, "sex"] = "secret-value"
        poisoned.loc[30:39, "job"] = None
        poisoned.loc[40:49, "member"] = 7
        clean, dirty = (fitted(dp.Curator(X, schema=SCHEMA), schema=None) for X in (FRAME, poisoned))
        assert clean.losses_ == dirty.losses_
        assert vars(clean).keys() == vars(dirty).keys()
        assert clean.categories_ == dirty.categories_
        assert "secret-value" not in dirty.to_json()

    def test_nothing_exact_is_kept(self):
        model = dp.TableMixture(2, schema=SCHEMA, n_steps=1).fit(FRAME)
        public = {"weights_", "means_", "covariances_", "probabilities_", "cells_", "categories_", "columns_"}
        public |= {"n_components_"}
        shell = {"n_features_in_", "feature_names_in_", "unit_", "guarantee_", "losses_", "releases_"}
        assert {name for name in vars(model) if name.endswith("_")} == public | shell


class TestRefusals:
    def test_a_table_of_one_kind(self):
        numbers = dp.Schema({"age": dp.Number(0, 100)})
        with pytest.raises(ValueError, match="use GaussianMixture for numbers alone"):
            dp.TableMixture(2, schema=numbers).fit(FRAME)
        with pytest.raises(ValueError, match="expected rows with numeric columns"):
            dp.TableMixture(2, schema=dp.Schema({"sex": dp.Category(["f", "m"])})).fit(FRAME)
        with pytest.raises(ValueError, match="use GaussianMixture"):
            dp.TableMixture(2).fit(dp.Curator(FRAME[["age", "income"]], space=dp.Box(0, 100)))

    def test_declarations_that_are_missing(self):
        with pytest.raises(ValueError, match="schema=None: expected the declared columns"):
            dp.TableMixture(2).fit(FRAME)
        with pytest.raises(ValueError, match="'job' is not in the data"):
            dp.TableMixture(2, schema=SCHEMA).fit(FRAME.drop(columns="job"))
        for wrong in ("age", ["sex"], ["height"]):
            with pytest.raises(ValueError, match="whole="):
                dp.TableMixture(2, schema=SCHEMA, whole=wrong).fit(FRAME)
        narrow = dp.Schema({"age": dp.Number(0.2, 0.8), "sex": dp.Category(["f", "m"])})
        with pytest.raises(ValueError, match="a whole number within the bounds"):
            dp.TableMixture(2, schema=narrow, whole=["age"]).fit(FRAME)
        with pytest.raises(ValueError, match="X of type ndarray: expected a data frame"):
            dp.TableMixture(2, schema=SCHEMA).fit(FRAME.to_numpy())
        many = dp.Schema({"age": dp.Number(0, 100), "sex": dp.Category([str(i) for i in range(10_001)])})
        with pytest.raises(ValueError, match="at most 10000 categories"):
            dp.TableMixture(2, schema=many).fit(FRAME)

    @seeds_are_fine
    def test_rows_to_score(self):
        model = fitted(n_steps=1)
        for wrong, word in (
            (FRAME.drop(columns="job"), "'job' is not there"),
            (FRAME.assign(age=np.nan), "'age' holds values that are missing"),
            (FRAME.assign(sex="secret-value"), "'sex' holds values that are missing, or not as declared"),
            (FRAME.to_numpy(), "X of type ndarray"),
            ({**FRAME, "age": [1.0]}, "one length"),
        ):
            with pytest.raises(ValueError, match=word) as caught:
                model.score(wrong)
            assert "secret-value" not in str(caught.value)
        with pytest.raises(ValueError, match="n_samples=0"):
            model.sample(0)


@seeds_are_fine
class TestSources:
    def test_the_same_rows_from_anywhere_give_the_same_fit(self, tmp_path):
        frame = pl.from_pandas(FRAME)
        frame.write_parquet(tmp_path / "rows.parquet")
        expected = fitted(n_steps=2)
        import dask.dataframe as dd

        others = [
            frame,
            tmp_path / "rows.parquet",
            dp.Curator(FRAME, schema=SCHEMA),
            as_records(frame, schema=SCHEMA),
            dd.from_pandas(FRAME, npartitions=3),
        ]
        for result in (fitted(X, n_steps=2) for X in others):
            np.testing.assert_allclose(result.means_, expected.means_, rtol=0, atol=1e-6)
            np.testing.assert_allclose(result.probabilities_["job"], expected.probabilities_["job"], atol=1e-8)
            assert result.columns_ == SCHEMA.names
        assert fitted(others[2], schema=None, n_steps=1).columns_ == ("age", "income", "sex", "job", "member")

    def test_missing_values_are_dropped_or_filled_as_declared(self):
        """A third of the members are unknown: dropped they leave the others' share, filled they take it."""
        frame = table(seed=1).astype({"member": object})
        frame.loc[::3, "member"] = None
        drawn = {}
        for missing in ({}, {"missing": "fill", "fill": False}):
            columns = dict(SCHEMA.columns) | {"member": dp.Category([False, True], **missing)}
            model = fitted(frame, schema=dp.Schema(columns), epsilon=10.0)
            drawn[bool(missing)] = model.sample(20_000, random_state=0)["member"].mean()
            if missing:
                assert math.isfinite(model.score(frame))
            else:
                with pytest.raises(ValueError, match="'member' holds"):
                    model.score(frame)
        share = FRAME["member"].mean()
        assert drawn[False] == pytest.approx(share, abs=0.03)
        assert drawn[True] == pytest.approx(share * 2 / 3, abs=0.03)

    def test_a_missing_number_is_read_as_the_declared_one(self):
        frame = table(seed=1)
        gaps, filled_in = frame.copy(), frame.copy()
        gaps.loc[::3, "age"], filled_in.loc[::3, "age"] = np.nan, 40.0
        low, high = SCHEMA["age"].low, SCHEMA["age"].high
        columns = dict(SCHEMA.columns) | {"age": dp.Number(low, high, missing="fill", fill=40.0)}
        model = fitted(gaps, schema=dp.Schema(columns), n_steps=1)
        np.testing.assert_array_equal(model.score_samples(gaps), model.score_samples(filled_in))
        with pytest.raises(ValueError, match="'age' holds"):
            fitted(frame, n_steps=1).score_samples(gaps)

    def test_a_person_of_several_rows(self):
        frame = FRAME.assign(person=np.arange(len(FRAME)) // 3)
        schema = dp.Schema(SCHEMA.columns, unit="person", max_rows=2)
        model = fitted(frame, schema=schema, epsilon=3.0)
        assert model.unit_ == "each person"
        assert model.columns_ == SCHEMA.names
        last = model.releases_[-1]
        assert math.sqrt(last.noise.variance) >= 2.0 * math.sqrt(2.0) / last.loss.mu
        assert np.sort(model.means_[:, 0]) == pytest.approx([25.0, 60.0], abs=4.0)


@seeds_are_fine
class TestAccuracy:
    def test_a_known_mixture_is_found(self):
        model = fitted(table(20_000, seed=2), epsilon=8.0, n_steps=10)
        order = np.argsort(model.means_[:, 0])
        np.testing.assert_allclose(model.weights_[order], [0.6, 0.4], atol=0.03)
        np.testing.assert_allclose(model.means_[order], [[25.0, 30.0], [60.0, 110.0]], atol=1.5)
        np.testing.assert_allclose(model.probabilities_["job"][order], JOBS, atol=0.03)
        np.testing.assert_allclose(model.probabilities_["sex"][order, 1], [0.3, 0.8], atol=0.03)
        assert model.predict(FRAME).shape == (len(FRAME),)
        groups = (FRAME["age"] > 42).to_numpy().astype(int)
        assert (order[groups] == model.predict(FRAME)).mean() > 0.97

    def test_categories_tell_groups_apart_that_numbers_do_not(self):
        rng = np.random.default_rng(3)
        group = rng.integers(0, 2, 30_000)
        frame = {"x": rng.standard_normal(30_000)} | {
            name: np.where(rng.random(30_000) < np.array([0.1, 0.9])[group], "a", "b") for name in "uvw"
        }
        labels = dp.Category(["a", "b"])
        schema = dp.Schema({"x": dp.Number(-5, 5), "u": labels, "v": labels, "w": labels})
        model = fitted(pd.DataFrame(frame), schema=schema, epsilon=8.0, n_steps=20, random_state=1)
        for name in "uvw":
            assert np.sort(model.probabilities_[name][:, 0]) == pytest.approx([0.1, 0.9], abs=0.05)

    @pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
    def test_synthetic_rows_have_the_marginals_of_the_real_ones(self, neighbors):
        model = fitted(epsilon=2.0, neighbors=neighbors, n_components=4, n_steps=12)
        synthetic = pd.DataFrame(model.sample(40_000, random_state=1))
        for name in ("sex", "job", "member"):
            real, drawn = (frame[name].value_counts(normalize=True) for frame in (FRAME, synthetic))
            assert abs(real.sub(drawn, fill_value=0.0)).sum() / 2 < 0.06
        for name in ("age", "income"):
            assert synthetic[name].mean() == pytest.approx(FRAME[name].mean(), abs=2.0)
            assert synthetic[name].std() == pytest.approx(FRAME[name].std(), rel=0.1)
        table_of = [pd.crosstab(f["age"] > 42, f["job"], normalize="all") for f in (FRAME, synthetic)]
        assert abs(table_of[0].sub(table_of[1], fill_value=0.0)).to_numpy().sum() / 2 < 0.08

    @pytest.mark.parametrize("covariance_type", ["full", "tied", "diag", "spherical"])
    @pytest.mark.parametrize("epsilon", [0.001, 1.0])
    def test_finite_whatever_the_rows(self, covariance_type, epsilon):
        same = FRAME[:300].assign(age=50.0, sex="f")
        for X in (same, FRAME[:21]):
            model = fitted(X, 20, epsilon=epsilon, covariance_type=covariance_type, n_steps=None)
            assert math.isfinite(model.score(FRAME[:5]))


class TestColumns:
    """A column of synthetic numbers keeps to the histogram that was released."""

    def test_cells_are_decided_by_comparisons(self):
        cells = ColumnCells(0.0, 64.0)
        x = np.array([-5.0, 0.0, 1e-300, 0.5, 1.0, 1.5, 63.5, np.nextafter(64.0, 0.0), 64.0, 70.0])
        query = Marginals((1,), Box([0.0], [64.0]), (False,))
        hot = query.contributions(Block(x[:, None], np.zeros((len(x), 1), dtype=np.int64)))[:, 1:]
        assert hot.argmax(axis=1).tolist() == [0, 0, 1, 1, 1, 2, 64, 64, 65, 65]
        assert cells.count == hot.shape[1] == 66
        assert np.array_equal((hot > 0).sum(axis=1), np.ones(len(x)))
        unreadable = Block(np.array([[np.nan], [np.inf], [-np.inf]]), np.zeros((3, 1), dtype=np.int64))
        assert query.contributions(unreadable)[:, 1:].argmax(axis=1).tolist() == [0, 65, 0]

    @pytest.mark.parametrize(
        ("low", "high", "single"), [(17, 90, True), (0, 99_999, False), (0.5, 0.9, False), (3, 3.5, False)]
    )
    def test_whole_numbers_have_a_cell_each_if_they_are_few(self, low, high, single):
        cells = ColumnCells(float(low), float(high), whole=True)
        assert cells.single is single
        assert cells.count == (high - low + 1 if single else 66)

    @pytest.mark.parametrize(
        "cells", [ColumnCells(-3.0, 3.0), ColumnCells(-3.0, 3.0, whole=True), ColumnCells(-300.0, 300.0, whole=True)]
    )
    def test_drawn_numbers_have_the_distribution_that_was_released(self, cells):
        """To six standard deviations of 200,000 draws, a cell."""
        rng = np.random.default_rng(0)
        scale = cells.high / 3.0
        mixture = Components(
            np.array([0.3, 0.7]), scale * np.array([[-1.0], [2.0]]), scale**2 * np.array([[[0.2]], [[1.5]]])
        )
        shares = rng.dirichlet(np.full(cells.count, 0.3))
        drawn = match_histogram(mixture, 0, cells, shares, mixture.sample(200_000, rng)[0][:, 0])
        assert cells.low <= drawn.min() <= drawn.max() <= cells.high
        result = np.bincount((drawn[:, None] > cells.edges).sum(axis=1), minlength=cells.count) / len(drawn)
        error = 6.0 * np.sqrt(shares / len(drawn)) + (0.0 if not cells.whole or cells.single else 0.02) + 1e-4
        assert np.all(np.abs(result - shares) < error)
        if cells.whole:
            assert np.array_equal(drawn, np.rint(drawn))

    def test_a_histogram_that_says_the_same_moves_nothing(self):
        rng, cells = np.random.default_rng(0), ColumnCells(-3.0, 3.0)
        mixture = Components(np.array([0.5, 0.5]), np.array([[-1.0], [1.0]]), np.array([[[0.2]], [[0.5]]]))
        x = mixture.sample(5000, rng)[0][:, 0].clip(-2.0, 2.0)
        told = np.full(cells.count, 0.5)
        assert np.allclose(
            match_histogram(mixture, 0, cells, correct_cells(mixture, 0, cells, told, noise=1.0), x), x, atol=0.02
        )
        corrected_where_sure = correct_cells(mixture, 0, cells, np.eye(cells.count)[0], noise=1e-12)
        assert np.array_equal(match_histogram(mixture, 0, cells, corrected_where_sure, x), np.full(len(x), -3.0))

    @seeds_are_fine
    def test_many_rows_at_one_number(self):
        rng = np.random.default_rng(0)
        gains = np.where(rng.random(20_000) < 0.9, 0.0, rng.gamma(2.0, 5000.0, 20_000)).clip(0.0, 99_999.0)
        hours = np.where(rng.random(20_000) < 0.5, 40.0, np.rint(rng.normal(38.0, 12.0, 20_000)).clip(1.0, 99.0))
        frame = pd.DataFrame({"gain": gains, "hours": hours, "sex": rng.choice(["f", "m"], 20_000)})
        schema = dp.Schema({"gain": dp.Number(0, 99_999), "hours": dp.Number(1, 99), "sex": dp.Category(["f", "m"])})
        drawn = fitted(frame, 3, schema=schema, whole=["hours"], epsilon=2.0, n_steps=5).sample(20_000, random_state=0)
        assert np.mean(drawn["gain"] == 0.0) == pytest.approx(0.9, abs=0.04)
        assert np.mean(drawn["hours"] == 40) == pytest.approx(np.mean(hours == 40.0), abs=0.04)


@seeds_are_fine
def test_a_schema_that_drops_most_rows_is_noticed_by_what_was_released():
    wrong = dp.Schema(dict(SCHEMA.columns) | {"sex": dp.Category(["female", "male"])})
    with pytest.warns(UserWarning, match="rows contributed, of"):
        fitted(FRAME, schema=wrong, n_steps=1)
    fitted(FRAME, n_steps=1)  # and no warning here


@seeds_are_fine
def test_fewer_components_where_the_budget_cannot_tell_so_many_apart():
    few, many = fitted(FRAME, 50, epsilon=0.3, n_steps=2), fitted(FRAME, 50, epsilon=100.0, n_steps=2)
    assert 1 <= few.n_components_ < many.n_components_ == 50
    assert few.probabilities_["sex"].shape == (few.n_components_, 2)


@seeds_are_fine
class TestUse:
    def test_densities_multiply_and_sum_to_one(self):
        """Summed over all categories the score is that of the Gaussian mixture of the numbers."""
        model = fitted()
        combinations = [(sex, job, member) for sex in "fm" for job in SCHEMA["job"].values for member in (False, True)]
        point = {"age": [30.0] * 16, "income": [50.0] * 16}
        cells = dict(zip(("sex", "job", "member"), map(list, zip(*combinations, strict=True)), strict=True))
        total = np.logaddexp.reduce(model.score_samples(pd.DataFrame(point | cells)))
        numbers = Components(model.weights_, model.means_, model.covariances_)
        assert total == pytest.approx(numbers.log_density(np.array([[30.0, 50.0]]))[0])
        np.testing.assert_allclose(model.predict_proba(FRAME).sum(axis=1), 1.0)
        assert model.score(pl.from_pandas(FRAME)) == pytest.approx(model.score(FRAME))

    def test_rows_are_as_declared(self):
        model = fitted(whole=("age",))
        drawn = model.sample(5000, random_state=3)
        assert tuple(drawn) == SCHEMA.names == model.columns_
        assert {name: column.dtype.kind for name, column in drawn.items()} == {
            "age": "i", "sex": "U", "income": "f", "job": "U", "member": "b",
        }  # fmt: skip
        for name, column in SCHEMA.numbers.items():
            assert column.low <= drawn[name].min() <= drawn[name].max() <= column.high
        for name, column in SCHEMA.categories.items():
            assert set(drawn[name].tolist()) <= set(column.values)
        assert math.isfinite(model.score(drawn))
        again = model.sample(5000, random_state=3)
        assert all(np.array_equal(drawn[name], again[name]) for name in drawn)

    def test_rows_become_a_frame(self):
        drawn = fitted(n_steps=1).sample(100)
        for frame in (pd.DataFrame(drawn), pl.DataFrame(drawn)):
            assert frame.shape == (100, 5)
            assert list(frame.columns) == list(SCHEMA.names)
            assert fitted(frame, n_steps=1).columns_ == SCHEMA.names

    def test_samples_follow_the_mixture(self):
        model = fitted()
        drawn = model.sample(50_000, random_state=1)
        expected = model.weights_ @ model.probabilities_["job"]
        shares = [np.mean(drawn["job"] == value) for value in model.categories_["job"]]
        np.testing.assert_allclose(shares, expected, atol=0.02)
        assert drawn["income"].mean() == pytest.approx(FRAME["income"].mean(), abs=1.5)

    def test_labels_of_several_kinds(self):
        schema = dp.Schema({"x": dp.Number(0, 1), "grade": dp.Category([1, 2, "none"])})
        frame = pd.DataFrame({"x": [0.5] * 300, "grade": [1, 2, "none"] * 100})
        drawn = fitted(frame, 1, schema=schema).sample(200, random_state=0)["grade"]
        assert set(drawn.tolist()) == {1, 2, "none"}

    @pytest.mark.parametrize("covariance_type", ["full", "tied", "diag", "spherical"])
    def test_it_goes_through_json(self, covariance_type):
        model = dp.TableMixture(2, schema=SCHEMA, n_steps=1, covariance_type=covariance_type).fit(FRAME)
        again = dp.TableMixture.from_json(model.to_json())
        assert again.score(FRAME) == model.score(FRAME)
        assert again.get_params() == model.get_params()
        assert (again.guarantee_, again.losses_) == (model.guarantee_, model.losses_)
        assert (again.columns_, again.categories_) == (model.columns_, model.categories_)
        assert {release.provenance for release in again.releases_} == {"loaded"}
        drawn = model.sample(9, random_state=2)
        assert all(np.array_equal(column, drawn[name]) for name, column in again.sample(9, random_state=2).items())
        assert dp.TableMixture.from_json(again.to_json()).to_dict() == again.to_dict()

    def test_files_that_are_none(self):
        facts = json.loads(dp.TableMixture(2, schema=SCHEMA, n_steps=1).fit(FRAME).to_json())
        tables = facts["fitted"]["probabilities_"]
        for wrong in (
            {"weights_": [-1.0, 2.0]},
            {"means_": [[0.0]]},
            {"covariances_": (0.0 * np.array(facts["fitted"]["covariances_"])).tolist()},
            {"probabilities_": {}},
            {"probabilities_": tables | {"sex": [[0.5, 0.6], [0.5, 0.5]]}},
            {"probabilities_": tables | {"sex": [[1.0], [1.0]]}},
            {"probabilities_": 5},
            {"categories_": {"sex": ["f", "f"]}},
            {"categories_": [1]},
            {"cells_": {}},
            {"cells_": facts["fitted"]["cells_"] | {"age": [0.5, 0.5]}},
            {"cells_": {name: (-np.array(shares)).tolist() for name, shares in facts["fitted"]["cells_"].items()}},
            {"columns_": ["age"]},
            {"columns_": 3},
            {"n_features_in_": 2},
            {"guarantee_": "x"},
        ):
            with pytest.raises(ValueError, match="expected"):
                dp.TableMixture.from_dict(facts | {"fitted": facts["fitted"] | wrong})
        with pytest.raises(ValueError, match="schema"):
            dp.TableMixture.from_dict(facts | {"parameters": facts["parameters"] | {"schema": "/etc/hostname"}})

    def test_copies(self):
        model = fitted(n_steps=1)
        assert clone(model).get_params() == model.get_params()
        again = pickle.loads(pickle.dumps(model))
        assert again.score(FRAME) == model.score(FRAME)
        assert dp.TableMixture.from_json(model.to_json()).guarantee_ is None
