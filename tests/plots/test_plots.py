"""Pictures: they show the numbers that they were given, say them in words, and know nothing else."""

from __future__ import annotations

import io
import re
import sys

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.patches import Ellipse

import discreet as dp
from discreet.estimators.fitted_columns import numeric_columns
from discreet.estimators.plots import available_plots, plot_model
from discreet.plots import (
    Coefficients,
    Ellipses,
    GaussianPairs,
    IntervalPanels,
    Intervals,
    SampleOverDensity,
    Shares,
    SpendingPlot,
    SyntheticRows,
    plot_draws,
)
from discreet.plots.plot import GRID, INK, MUTED, PAPER, SERIES
from discreet.queries.moments.components import Components
from shown_models import HOSTILE, KINDS, fitted, numbers

matplotlib.use("Agg")


@pytest.fixture(scope="module", params=KINDS)
def model(request):
    return fitted(request.param)


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255.0 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    light, dark = sorted([luminance(first), luminance(second)], reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_every_estimator_draws_every_picture_that_it_has(model):
    for what in available_plots(model):
        if what == "sample" and len(numeric_columns(model)) == 1:
            with pytest.raises(ValueError, match="what='sample': expected a model of two columns"):
                model.plot(what=what)
            continue
        picture = plot_model(model, what)
        axes = np.atleast_1d(model.plot(what=what))
        assert axes.size == np.prod(picture.panels)
        assert any(ax.has_data() or ax.patches for ax in axes.flat)
        assert picture.title
        assert any(letter.isdigit() for letter in picture.description)  # words with the numbers in them
        assert picture.facts.rows
        assert {len(row) for row in picture.facts.rows} == {len(picture.facts.header)}


def test_the_first_picture_is_the_one_that_plot_draws(model):
    assert plot_model(model).title == plot_model(model, available_plots(model)[0]).title
    with pytest.raises(ValueError, match="what='map': expected one of"):
        model.plot(what="map")


def test_an_estimator_that_is_not_fitted_has_no_picture():
    with pytest.raises(ValueError, match="not fitted"):
        dp.GaussianMixture(2).plot()


def test_columns_are_chosen_by_name_or_place_and_a_wrong_one_lists_them():
    model = fitted("mixture")
    assert model.plot(columns=("score", "age")).get_xlabel() == "score"
    assert model.plot(columns=(1, 2)).get_ylabel() == "score"
    assert model.plot(columns=["age", "hours", "score"], what="pairs").shape == (3, 3)
    for wrong in (("age",), ("age", "age"), ("age", "weight"), "age", (0, 3), ("age", "hours", "score")):
        with pytest.raises(ValueError, match="expected two different columns of 'age', 'hours', 'score'"):
            model.plot(columns=wrong)


def test_ellipses_are_one_and_two_standard_deviations_from_the_mean():
    covariance = np.array([[[4.0, 1.5], [1.5, 2.0]]])
    picture = Ellipses(np.ones(1), np.array([[1.0, -2.0]]), covariance, ("x", "y"), ["1"])
    ax = picture.draw()
    distances = []
    for patch in ax.patches:
        assert isinstance(patch, Ellipse)
        away = patch.get_patch_transform().transform(patch.get_path().vertices) - [1.0, -2.0]
        on_path = np.einsum("ni,ij,nj->n", away, np.linalg.inv(covariance[0]), away)[::3]  # ends of Bézier curves
        distances.append(np.sqrt(on_path[:-1]))
    assert np.allclose([d.min() for d in distances], [2, 2, 1, 1], rtol=2e-3)
    assert np.allclose([d.max() for d in distances], [2, 2, 1, 1], rtol=2e-3)


def test_the_density_of_a_picture_is_the_models():
    model = fitted("mixture")
    picture = plot_model(model, "sample", ("age", "hours"))
    assert isinstance(picture, SampleOverDensity)
    two = Components(model.weights_, model.means_[:, :2], model.covariances_[:, :2, :2])
    assert np.allclose(picture._density(picture.rows), np.exp(two.log_density(picture.rows)))


def test_noise_is_told_as_the_releases_have_it():
    model = fitted("kmeans")
    facts = {row[0]: row for row in plot_model(model, "noise").facts.rows}
    release = next(release for release in model.releases_ if "counts" in release.parts)
    alike = [one for one in model.releases_ if one.query == release.query]
    assert release.query == "sums of clusters"
    told = facts["counts of the clusters"]
    stds = [np.sqrt(one.noise.variance) / one.parts["counts"].weight for one in alike]
    assert told[1] == type(release.noise).__name__
    assert float(told[2].replace(",", "")) == pytest.approx(np.median(stds), rel=0.01)


def test_weights_have_the_noise_of_a_measurement_of_the_counts():
    model = fitted("mixture")
    picture = plot_model(model, "weights")
    assert isinstance(picture, Shares)
    last = model.releases_[-1]
    expected = np.sqrt(last.noise.variance) / last.parts["counts"].weight / last.size.units
    assert picture.noise == pytest.approx(expected)


def test_coefficients_are_shown_over_the_declared_widths_with_two_deviations():
    model = fitted("regression")
    picture = plot_model(model)
    assert isinstance(picture, Intervals)
    assert np.allclose(picture.values, model.coef_ * [100.0, 80.0])
    assert np.allclose(picture.high - picture.low, 4.0 * model.noise_ * [100.0, 80.0])


def test_coefficients_have_0_on_their_axis_and_say_where_no_interval_is_known():
    far = Coefficients.from_bounds(
        np.array([5.0, 6.0]), np.ones(2), ["a", "b"], np.array([0.1, 0.1]), "the target", "them"
    )
    ax = far.draw()
    assert ax.get_xlim()[0] < 0.0 < 6.2 < ax.get_xlim()[1]
    assert [
        line.get_xdata()[0] for line in ax.lines if len(set(line.get_xdata())) == 1 and len(line.get_xdata()) == 2
    ] == [0.0]
    picture = plot_model(fitted("logistic"))
    said = "no interval: the noise of this method does not split by coefficient"
    assert picture.draw().get_title(loc="left") == said
    assert said[1:] in picture.description
    assert ax.get_title(loc="left") == ""


def test_rows_of_a_table_are_drawn_without_a_density_that_is_not_theirs():
    picture = plot_model(fitted("table"), "sample", ("age", "score"))
    assert isinstance(picture, SyntheticRows)
    drawn = fitted("table").sample(600, random_state=0)
    assert np.array_equal(picture.rows, np.stack([drawn["age"], drawn["score"]], axis=1))
    ax = SyntheticRows(np.array([[1.0, 2.0], [1.0, 2.0], [3.0, 4.0]]), ("x", "y"), np.array([[0.0, 5.0]] * 2)).draw()
    (points,) = ax.collections  # and no lines of a contour
    assert points.get_sizes()[0] == 2.0 * points.get_sizes()[1]


def test_ellipses_of_a_table_end_at_the_bounds_and_those_of_a_mixture_need_not():
    for kind, cut in (("table", True), ("mixture", False)):
        ax = plot_model(fitted(kind), "components", ("age", "score")).draw()
        ends = [patch.get_clip_path() for patch in ax.patches if isinstance(patch, Ellipse)]
        assert [end is not None for end in ends] == [cut] * len(ends)
        if cut:
            corners = ends[0].get_fully_transformed_path().vertices
            corners = ax.transData.inverted().transform(corners)
            assert np.allclose([corners.min(axis=0), corners.max(axis=0)], [[0, 0], [100, 10]])


def test_components_in_one_place_have_one_label_with_all_of_their_weight():
    means = np.array([[1.0, 1.0], [5.0, 5.0], [1.01, 1.0], [1.0, 0.99]])
    picture = Ellipses(np.array([0.1, 0.4, 0.2, 0.3]), means, np.repeat(np.eye(2)[None], 4, 0), ("x", "y"), "1234")
    assert sorted(text.get_text() for text in picture.draw().texts) == ["1, 3, 4 · 60 %", "2 · 40 %"]


@pytest.mark.parametrize("kind", KINDS)
def test_statistics_have_names_for_people(kind):
    names = [row[0] for row in plot_model(fitted(kind), "noise").facts.rows]
    assert not any(re.search(r":|\d|first|second", name) for name in names), names
    if kind == "table":
        assert {"counts of group", "histogram of age", "counts of group in the components"} <= set(names)


@pytest.mark.parametrize("name", [HOSTILE, "a$b", "$", "tab\tand\nline", "\x00", "年齢", "x" * 200, ""])
def test_whatever_a_column_is_called_it_is_drawn(name):
    columns = (name, "other")
    picture = GaussianPairs(np.ones(1), np.zeros((1, 2)), np.eye(2)[None], columns, ["1"])
    figure = matplotlib.figure.Figure(layout="constrained")
    label = picture.draw_on(figure)[1, 0].get_xlabel()
    assert label.replace(r"\$", "$")[:3] == name.replace("\t", "�").replace("\n", "�").replace("\x00", "�")[:3]
    if name.isascii():
        figure.savefig(io.BytesIO(), format="svg")


def test_intervals_of_draws_are_their_quantiles_and_matrices_show_their_diagonals():
    draws = np.random.default_rng(1).normal(size=(1000, 2, 3))
    columns = ["age", "hours", "score"]
    picture = plot_draws("means", draws, [["component 0", "component 1"], columns], 0.9)
    assert isinstance(picture, IntervalPanels)
    assert np.allclose(picture.low, np.quantile(draws, 0.05, axis=0))
    assert picture.draw().shape == (1, 3)
    squares = np.einsum("nki,nkj->nkij", draws, draws)
    diagonal = plot_draws("covariances", squares, [["0", "1"], columns, columns], 0.9)
    assert np.allclose(diagonal.values, np.abs(draws).mean(axis=0))
    with pytest.raises(ValueError, match="at most 200 numbers"):
        plot_draws("many", np.zeros((4, 201)), [range(201)], 0.9)
    with pytest.raises(ValueError, match="ax: expected None"):
        picture.draw(pyplot.subplots()[1])


def test_spending_shows_what_was_spent_below_the_limit_that_was_in_force():
    spent, limits = np.array([0.2, 0.5, 0.9]), np.array([np.inf, 1.0, 2.0])
    picture = SpendingPlot(["mean", "fit", "fit"], ["t"] * 3, spent, limits, 1e-6, "census")
    ax = picture.draw()
    texts = " ".join(text.get_text() for text in ax.texts)
    assert "spent: ε = 0.9" in texts
    assert "limit: ε = 2" in texts
    assert [row[-1] for row in picture.facts.rows] == ["none", "1", "2"]
    assert [row[0] for row in picture.facts.rows] == ["1: mean", "2: fit", "3: fit"]
    unlimited = SpendingPlot(["mean"], ["t"], spent[:1], limits[:1], 1e-6, "census")
    assert "no limit is set" in unlimited.description
    unlimited.draw()


def test_text_can_be_read_and_every_colour_has_one_role():
    assert contrast(INK, PAPER) > 7.0
    assert contrast(MUTED, PAPER) > 4.5
    roles = [INK, MUTED, GRID, PAPER, *SERIES.values()]
    assert len(set(roles)) == len(roles)


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    model = fitted("factors")
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"discreet\[plot\]"):
        model.plot()


def test_a_picture_is_drawn_on_axes_that_are_given():
    ax = pyplot.subplots()[1]
    assert fitted("kmeans").plot(("age", "hours"), ax=ax) is ax


def test_notebooks_show_the_promise_below_the_diagram_and_escape_it():
    rows = numbers().rename(columns={"age": HOSTILE})
    model = dp.GaussianMixture(2, bounds=dp.Box([0, 0, 0], [100, 80, 10]))
    before = model._repr_mimebundle_()["text/html"]
    assert "Fitted at" not in before
    model.fit(rows)
    model.unit_ = "each <script>alert(1)</script>"
    for html in (model._repr_mimebundle_()["text/html"], model._repr_html_()):
        assert html.count("Fitted at (ε=1, δ=1e-06) replace-one") == 1
        assert "GaussianMixture" in html
        assert "sk-top-container" in html
        assert "at most 2.72 times" in html
        assert "<script>alert" not in html
        assert "&lt;script&gt;alert" in html


@pytest.mark.parametrize("changed", ["gone", "refuses"])
def test_a_notebook_shows_the_text_where_scikit_learn_has_no_diagram(changed, monkeypatch):
    def refuse(self, **arguments):
        raise TypeError("what is this?")

    model = fitted("kmeans")
    for name in ("_repr_mimebundle_", "_repr_html_inner"):
        for owner in type(model).__mro__:
            if name in vars(owner) and not owner.__module__.startswith("discreet."):
                if changed == "gone":
                    monkeypatch.delattr(owner, name)
                else:
                    monkeypatch.setattr(owner, name, refuse)
    bundle = model._repr_mimebundle_(include=None, exclude=None)
    assert "KMeans" in bundle["text/plain"]
    assert "at (ε=1, δ=1e-06)" in bundle["text/plain"]
    assert "at (ε=1, δ=1e-06)" in model._repr_html_inner()


def test_a_seeded_fit_says_in_a_notebook_that_it_is_not_private():
    with pytest.warns(match="not private"):
        model = dp.KMeans(2, bounds=dp.Box([0, 0, 0], [100, 80, 10]), random_state=0).fit(numbers())
    assert "WITHOUT privacy: its noise came from a seed" in model._repr_mimebundle_()["text/html"]
