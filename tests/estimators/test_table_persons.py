"""Synthetic persons with visits: how many rows each has, what is constant, and what cannot occur."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import discreet as dp
from discreet.models.synthesis import pairwise_fit
from discreet.models.synthesis.person_rows import link_rows

pytestmark = pytest.mark.filterwarnings("ignore::discreet.noise.NotPrivateWarning")

SCHEMA = dp.Schema(
    {
        "visit": dp.Number(1, 4),
        "sex": dp.Category(["F", "M"]),
        "born": dp.Number(1930, 2010),
        "ward": dp.Category(["maternity", "surgery", "medicine"]),
        "age": dp.Number(0, 120),
    },
    unit="patient",
    max_rows=4,
    order="visit",
)
ZEROS = [{"ward": "maternity", "sex": "M"}, "ward == 'maternity' and born < 1960"]


@cache
def people() -> pd.DataFrame:
    """Return visits of 6,000 persons: women come more often, and later visits are on another ward."""
    rng, n = np.random.default_rng(0), 6000
    sex, born = rng.choice(["F", "M"], n), rng.integers(1930, 2010, n)
    number = 1 + rng.binomial(3, np.where(sex == "F", 0.5, 0.2))
    rows = pd.DataFrame({"patient": np.arange(n), "sex": sex, "born": born}).loc[np.repeat(np.arange(n), number)]
    rows["visit"] = rows.groupby("patient").cumcount() + 1
    births = (rows["sex"] == "F") & (rows["born"] >= 1960) & (rng.random(len(rows)) < 0.4)
    other = np.where(rng.random(len(rows)) < np.where(rows["visit"] > 1, 0.8, 0.3), "medicine", "surgery")
    return rows.assign(ward=np.where(births, "maternity", other), age=2024 - rows["born"]).reset_index(drop=True)


@cache
def fitted() -> dp.TableSynthesizer:
    kept = pairwise_fit.SWEEPS, pairwise_fit.CHAINS
    pairwise_fit.SWEEPS, pairwise_fit.CHAINS = 80, 2000
    try:
        return dp.TableSynthesizer(
            epsilon=20.0, schema=SCHEMA, whole=["visit", "born"], zeros=ZEROS,
            relations={"age": "2024 - born"}, random_state=0,
        ).fit(people())  # fmt: skip
    finally:
        pairwise_fit.SWEEPS, pairwise_fit.CHAINS = kept


@cache
def drawn() -> pd.DataFrame:
    return fitted().sample_persons(6000, visit="visit", constant=["sex", "born"], random_state=0)


def test_persons_have_visits_in_order_and_constant_columns():
    table = drawn()
    assert list(table.columns) == ["person", *SCHEMA.names]
    assert table["person"].nunique() == 6000
    assert (table["visit"] == table.groupby("person").cumcount() + 1).all()
    for name in ("sex", "born", "age"):
        assert table.groupby("person")[name].nunique().max() == 1
    assert (table["age"] == 2024 - table["born"]).all()


def test_the_number_of_visits_and_its_dependence_on_a_constant_column_are_kept():
    real = people().rename(columns={"patient": "person"})
    for sex in ("F", "M"):
        means = [one[one["sex"] == sex].groupby("person").size().mean() for one in (real, drawn())]
        assert means[0] == pytest.approx(means[1], abs=0.12)
    shares = [(one[one["visit"] == 2]["ward"] == "medicine").mean() for one in (real, drawn())]
    assert shares[0] == pytest.approx(shares[1], abs=0.06)


def test_what_cannot_occur_does_not():
    table = drawn()
    assert not ((table["ward"] == "maternity") & ((table["sex"] == "M") | (table["born"] < 1960))).any()


def test_every_row_has_one_person_and_every_person_at_most_one_row_of_a_number():
    rng = np.random.default_rng(1)
    for _ in range(30):
        n = int(rng.integers(1, 300))
        visits, sex, born = rng.integers(0, 5, n), rng.integers(0, 3, n), rng.normal(size=n)
        first = link_rows(visits, [sex], [born], rng)
        linked = first >= 0
        assert (visits[first[linked]] == 1).all()
        assert (sex[first[linked]] == sex[linked]).all()
        pairs = set(zip(first[linked].tolist(), visits[linked].tolist(), strict=True))
        assert len(pairs) == linked.sum()
        assert all((person, visit - 1) in pairs for person, visit in pairs if visit > 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"visit": "born"}, "visit"),
        ({"visit": "ward"}, "visit"),
        ({"visit": ["visit"]}, "visit"),
        ({"visit": "visit", "constant": np.array(1.0)}, "constant"),
        ({"visit": "visit", "constant": "sex"}, "constant"),
        ({"visit": "visit", "constant": ["visit"]}, "constant"),
        ({"visit": "visit", "constant": ["age"]}, "constant"),
        ({"visit": "visit", "person": "sex"}, "person"),
    ],
)
def test_wrong_columns_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        fitted().sample_persons(10, **arguments)


def test_a_table_that_was_not_fitted_has_no_persons():
    with pytest.raises(NotFittedError):
        dp.TableSynthesizer().sample_persons(10, visit="visit")
