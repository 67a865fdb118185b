"""Synthetic tables of a posterior have the columns of the data: their names, units, dates and categories."""

from __future__ import annotations

import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

from discreet.inference.rows.layout import Layout
from discreet.inference.rows.model_spec import ModelSpec
from discreet.inference.rows.row_model import RowModel
from discreet.inference.synthetic_tables import draw_tables
from discreet.scales import ColumnScale


def visits():
    level = numpyro.sample("level", dist.Normal(0.0, 1.0))
    numpyro.sample("income", dist.Normal(level, 0.1))
    numpyro.sample("admitted", dist.Normal(100.0, 5.0))
    numpyro.sample("sex", dist.Bernoulli(0.25))


def numbered():
    centre = numpyro.sample("centre", dist.Normal(0.0, 1.0).expand((2,)).to_event(1))
    numpyro.sample("row", dist.Normal(centre, 1.0).to_event(1))


def tables(model, layout, spec, scales, vectors, count=4, rows=400):
    return draw_tables(vectors, RowModel(model, layout), spec, scales, count, rows, np.random.default_rng(0))


def test_numbers_dates_and_categories_are_as_declared():
    layout = Layout(("income", "admitted"), ("sex",), (("f", "m"),))
    scales = {
        "income": ColumnScale("income", "log", 0.0, 12.0),
        "admitted": ColumnScale("admitted", "date", 0.0, 1000.0),
    }
    vectors = np.repeat(np.array([[1.0], [5.0]]), 2, axis=0)  # of the level: two draws near 1, then two near 5
    drawn = tables(visits, layout, ModelSpec(visits), scales, vectors)
    assert [list(table.columns) for table in drawn] == [["income", "admitted", "sex"]] * 4
    levels = [float(np.log(table["income"]).mean()) for table in drawn]
    np.testing.assert_allclose(levels, [1.0, 1.0, 5.0, 5.0], atol=7.0 * 0.1 / 20.0)  # every table is at a draw
    assert set(drawn[0]["sex"]) == {"f", "m"}
    assert 0.05 < np.mean(drawn[0]["sex"] == "m") < 0.45
    days = np.asarray(drawn[0]["admitted"]).astype("M8[D]")
    assert np.datetime64("1970-03-01") < days.min() < days.max() < np.datetime64("1970-06-01")


@pytest.mark.parametrize(("coords", "names"), [({"column": ["age", "bmi"]}, ["age", "bmi"]), ({}, ["x0", "x1"])])
def test_columns_without_names_have_those_of_the_fit(coords, names):
    spec = ModelSpec(numbered, coords=coords)
    drawn = tables(numbered, Layout(("x0", "x1")), spec, {}, np.zeros((4, 2)), rows=3)
    assert [list(table.columns) for table in drawn] == [names] * 4
