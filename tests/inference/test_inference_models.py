"""Models without configuration: densities, starts, closed forms, reports, and refusals."""

from __future__ import annotations

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri
from scipy.stats import multivariate_normal

import discreet as dp
from discreet import statistics
from discreet.inference.clt.local_moments import compute_local_moments
from discreet.inference.default_models import check_has_model, choose_sums, default_model
from discreet.inference.measurements import read_measurements
from discreet.inference.rows.component_labels import MixtureDraws
from discreet.inference.rows.direction_rows import find_axes
from discreet.inference.rows.factor_rows import rotate_to
from discreet.inference.rows.logistic_rows import contrast_matrix
from discreet.inference.rows.mixture_rows import build_mixture
from discreet.inference.rows.regression_rows import compute_lines
from discreet.inference.rows.row_model import double_precision, get_row_model
from discreet.inference.rows.uniform_priors import SquaredLengths, UniformCorrelations, UniformWeights
from discreet.inference.rows.whitened_normal import WhitenedChoice, WhitenedMixture, WhitenedNormal
from discreet.noise import NotPrivateWarning
from tests.conftest import FALSE_ALARM

ROWS = 4000
SETS = 20
# A mean of 20·p squares with p ≥ 9 deviates by √(2/180) = 0.105; 6.2 of these are a false alarm of 6e-10
SLACK = 0.65
RNG = np.random.default_rng(5)
MEANS = np.array([[0.0, 1.0], [3.0, -1.0]])
COVARIANCES = np.array([[[1.0, 0.6], [0.6, 2.0]], [[0.5, -0.2], [-0.2, 0.4]]])
CODES = RNG.integers(0, 2, ROWS)
X = np.stack([RNG.multivariate_normal(MEANS[k], COVARIANCES[k]) for k in CODES])
THREE = np.column_stack([X, X.sum(axis=1) + RNG.normal(size=ROWS)])  # columns, the fewest for a factor
FACTORED = RNG.normal(size=(ROWS, 1)) * [1.0, 0.9, 0.8] + RNG.normal(size=(ROWS, 3)) * [0.6, 0.8, 0.7]
BOX, BALL = dp.Box(-8.0, 8.0), dp.Ball(9.0, center=[0.0, 0.0])


def fitted(kind, *data, **given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        return kind(epsilon=4.0, random_state=0, **given).fit(*data)


def far(count: int) -> float:
    """Return how many deviations the largest of so many normal numbers is off with probability FALSE_ALARM."""
    return float(-ndtri(FALSE_ALARM / (2.0 * count)))


# ---- densities ----


def test_whitened_densities_are_those_of_gaussians():
    points = X[:20]
    weights = np.array([0.3, 0.7])
    each = np.stack([multivariate_normal(MEANS[k], COVARIANCES[k]).pdf(points) for k in range(2)])
    roots = np.linalg.cholesky(COVARIANCES)

    @jax.jit  # as one, which compiles sooner than each of its steps
    def result(key):
        one, second = WhitenedNormal(MEANS[0], roots[0]), WhitenedChoice(1, MEANS, roots)
        both = WhitenedMixture(weights, MEANS, roots)
        slope = jax.grad(lambda root: WhitenedNormal(MEANS[0], root).log_prob(points[0]))(jnp.asarray(roots[0]))
        densities = [some.log_prob(points) for some in (one, both, second)]
        moments = (both.mean, both.covariance_matrix, one.covariance_matrix, second.mean)
        return densities, moments, slope, both.sample(key, (ROWS,))

    with double_precision():
        densities, (mean, covariance, own, center), slope, drawn = jax.tree.map(np.asarray, result(jax.random.key(0)))
    np.testing.assert_allclose(densities, np.log([each[0], weights @ each, each[1]]), rtol=1e-10)
    np.testing.assert_allclose(own, COVARIANCES[0])
    np.testing.assert_allclose(center, MEANS[1])
    std = np.sqrt(np.diag(covariance) / ROWS)
    assert np.all(np.abs(drawn.mean(axis=0) - mean) < far(2) * std)  # false alarms: FALSE_ALARM
    step = 1e-6 * np.eye(2)[1][:, None] * np.eye(2)[0]
    moved = [
        multivariate_normal(MEANS[0], root @ root.T).logpdf(points[0]) for root in (roots[0] + step, roots[0] - step)
    ]
    assert slope[1, 0] == pytest.approx((moved[0] - moved[1]) / 2e-6, rel=1e-6)


def test_uniform_priors_draw_what_their_densities_say():
    # (r + 1)/2 of a uniform correlation of three columns is Beta(3/2, 3/2), so E r² = 1/4 and E r⁴ = 1/8; a flat
    # weight of three has E w² = 1/6 and E w⁴ = 1/15; χ² has the mean k and the variance 2k. All false alarms together:
    # FALSE_ALARM.
    size = 20_000

    @jax.jit
    def drawn(key):
        distributions = (UniformCorrelations(3), UniformWeights(3), SquaredLengths([3, 1]))
        return [noise.sample(one, (size,)) for noise, one in zip(distributions, jax.random.split(key, 3), strict=True)]

    with double_precision():
        roots, weights, squares = map(np.asarray, drawn(jax.random.key(3)))
    r = np.einsum("nij,nkj->nik", roots, roots)
    np.testing.assert_allclose(np.diagonal(r, axis1=1, axis2=2), 1.0)
    for result, mean, fourth in (
        (r[:, 0, 1], 1 / 4, 1 / 8),
        (r[:, 1, 2], 1 / 4, 1 / 8),
        (weights[:, 2], 1 / 6, 1 / 15),
    ):
        assert abs((result**2).mean() - mean) < far(5) * np.sqrt((fourth - mean**2) / size)
    for place, freedom in enumerate((3.0, 1.0)):
        assert abs(squares[:, place].mean() - freedom) < far(5) * np.sqrt(2.0 * freedom / size)


# ---- label switching and rotations ----


def test_permuted_components_come_back_in_one_order():
    chains, draws = 2, 50
    shares = np.broadcast_to([0.2, 0.8], (chains, draws, 2)) + RNG.normal(0.0, 0.01, (chains, draws, 1)) * [1, -1]
    centers = MEANS + RNG.normal(0.0, 0.1, (chains, draws, 2, 2))
    spreads = np.broadcast_to(COVARIANCES, (chains, draws, 2, 2, 2)) * RNG.uniform(0.8, 1.2, (chains, draws, 1, 1, 1))
    flipped = RNG.random((chains, draws)) < 0.5
    mixed = [np.where(flipped[(..., *[None] * (p.ndim - 2))], p[:, :, ::-1], p) for p in (shares, centers, spreads)]
    for reference in (slice(None), slice(None, None, -1)):
        fit = MixtureDraws(np.array([0.2, 0.8])[reference], MEANS[reference], COVARIANCES[reference])
        result = MixtureDraws(*mixed).order_like(fit)
        parts = (result.weights, result.means, result.covariances)
        for part, whole in zip(parts, (shares, centers, spreads), strict=True):
            np.testing.assert_array_equal(part, whole[:, :, reference])


def test_components_at_one_place_are_told_apart_by_their_shape():
    spreads = np.array([np.eye(2), 9.0 * np.eye(2)])
    shares, centers = np.array([0.7, 0.3]), np.zeros((2, 2))
    turned = MixtureDraws(shares[None, None, ::-1], centers[None, None], spreads[None, None, ::-1])
    assert turned.order_like(MixtureDraws(shares, centers, spreads)).weights.tolist() == [[[0.7, 0.3]]]


def test_components_at_one_place_are_told_apart_by_their_categories():
    shares, centers, spreads = np.array([0.7, 0.3]), np.zeros((2, 2)), np.broadcast_to(np.eye(2), (2, 2, 2))
    tables = (np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([[0.5, 0.3, 0.2], [0.1, 0.3, 0.6]]))
    turned = MixtureDraws(shares[None, ::-1], centers[None], spreads[None], tuple(one[None, ::-1] for one in tables))
    result = turned.order_like(MixtureDraws(shares, centers, spreads, tables))
    assert result.weights.tolist() == [[0.7, 0.3]]
    assert [one[0].tolist() for one in result.tables] == [one.tolist() for one in tables]
    np.testing.assert_allclose(result.shares[0], [[0.7 * 0.9 + 0.3 * 0.2, 0.7 * 0.1 + 0.3 * 0.8]])
    assert result.count_different().tolist() == [2.0]
    assert MixtureDraws(shares, centers, spreads).count_different() == 1.0


def test_loadings_are_rotated_to_the_fit():
    to, noise = RNG.normal(size=(4, 2)), RNG.uniform(0.5, 2.0, (3, 4))
    turns = np.array(
        [[[np.cos(a), s * np.sin(a)], [-np.sin(a), s * np.cos(a)]] for a, s in ((1.0, 1), (2.0, -1), (3.0, 1))]
    )
    np.testing.assert_allclose(rotate_to(to @ turns, noise, to), np.broadcast_to(to, (3, 4, 2)), atol=1e-12)


def test_lines_are_those_of_least_squares():
    y = X @ [1.0, -2.0] + 3.0 + RNG.normal(size=ROWS)
    joined = np.column_stack([X[:, 0], y, X[:, 1]])
    mean, covariance = joined.mean(axis=0), np.cov(joined.T, bias=True)
    for intercept in (True, False):
        design = np.column_stack([X, np.ones(ROWS)]) if intercept else X
        result = compute_lines(mean, covariance, 1, intercept=intercept)
        best, rest = np.linalg.lstsq(design, y, rcond=None)[:2]
        np.testing.assert_allclose(result["coef"], best[:2], rtol=1e-8)
        assert result["intercept"] == pytest.approx(best[2] if intercept else 0.0)
        assert result["noise"] == pytest.approx(np.sqrt(rest[0] / ROWS))


# ---- models ----


def fitted_table(**given):
    """Return a mixture over two numbers and two columns of categories, of which one has three values."""
    rng = np.random.default_rng(7)
    ward = np.where(rng.random(ROWS) < 0.6, CODES, rng.integers(3, size=ROWS))
    unit = np.where(rng.random(ROWS) < 0.8, CODES, 1 - CODES)
    wards, units = np.array(["a", "b", "c"]), np.array([3, 7])
    rows = pd.DataFrame({"ward": wards[ward], "x": X[:, 0], "u": units[unit], "y": X[:, 1]})
    number = dp.Number(-8, 8)
    schema = dp.Schema({"ward": dp.Category(wards), "x": number, "u": dp.Category(units), "y": number})
    return fitted(dp.TableMixture, rows, schema=schema, n_steps=4, **given)


CASES = {
    "mixture": (
        lambda: fitted(dp.GaussianMixture, X, n_components=2, bounds=BALL, covariance_type="tied"),
        {"weights": "weights_", "means": "means_", "covariances": "covariances_"},
    ),
    "table": (
        lambda: fitted_table(n_components=2),
        {"weights": "weights_", "means": "means_", "covariances": "covariances_"},
    ),
    "classifier": (
        lambda: fitted(dp.GaussianClassifier, X, CODES, bounds=BOX, classes=[1, 0]),
        {"class_prior": "priors_", "means": "means_", "covariances": "covariances_"},
    ),
    "factors": (
        lambda: fitted(dp.FactorAnalysis, FACTORED, n_components=1, bounds=dp.Ball(12.0), method="adaptive"),
        {"mean": "mean_", "loadings": "components_", "noise_variance": "noise_variance_"},
    ),
    "softmax": (
        lambda: fitted(
            dp.LogisticRegression, X, np.array(["a", "b", "c"])[CODES + (X[:, 1] > 0.0)], bounds=BALL,
            classes=["b", "c", "a"], method="gradient",
        ),
        {},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_model_starts_where_the_fit_is_and_knows_its_moments(name):
    make, attributes = CASES[name]
    what = make()
    measured = choose_sums(what, read_measurements(what))
    built = default_model(what, measured)
    assert default_model(what, measured).model is built.model  # so that nothing is compiled twice
    model = get_row_model(built.model, measured.layout, built.features, built.expectations)
    v = model.vector(built.start)
    values = model.call("parameters", v)
    assert set(built.start) == set(model.names)
    for site, given in built.start.items():
        np.testing.assert_allclose(values[site], given, rtol=1e-9, atol=1e-12)

    reported = reports(built, values)
    for quantity, attribute in attributes.items():
        np.testing.assert_allclose(reported[quantity], getattr(what, attribute), atol=1e-5)
    if built.predict_proba is not None:
        np.testing.assert_allclose(built.predict_proba(reported, X[:20]), what.predict_proba(X[:20]), atol=1e-5)

    assert model.has_moments
    assert squared_errors(model, measured, v) == pytest.approx(1.0, abs=SLACK)
    assert squared_errors(model, measured, v, loud=4.0) > 1.0 + SLACK  # it would see noise that is not accounted for
    rows = model.draw(v, ROWS, 0)
    features, expected = model.features(rows), model.call("expectations", v)
    # A mean of 4000 rows is nearly normal; that of x·x has a longer tail, for which a third is added to the limit of
    # FALSE_ALARM.
    scale = np.sqrt(ROWS) / np.maximum(features.std(axis=0), 1e-9)
    limit = 1.33 * far(len(expected))
    assert (np.abs(features.mean(axis=0) - expected) * scale).max() < limit
    assert (np.abs(features.mean(axis=0) - 1.3 * expected) * scale).max() > limit  # it would see wrong ones


def squared_errors(model, measured, v, loud=1.0):
    """Return the mean squared error of one-step estimates, in standard deviations of the posterior: near 1 if right.

    True parameters are scattered by the posterior around v; rows are drawn there, and asked the questions of the fit
    again with new noise, which is so many times as loud as it is stated to be. The estimate is the posterior's, linear
    around v, without the prior.
    """
    drawn, variances = np.random.default_rng(1), measured.variances
    local = compute_local_moments(model, measured, v, 2**13, 0)
    spread = ROWS * local.covariance + np.diag(variances)
    weights = ROWS * np.linalg.solve(spread, local.jacobian).T
    precision = ROWS * weights @ local.jacobian
    root = np.linalg.inv(np.linalg.cholesky(precision)).T
    errors = []
    for i in range(SETS):
        truth = v + root @ drawn.normal(size=v.size)
        z = measured.contributions(model.draw(truth, ROWS, i)).sum(axis=0)
        z = z + loud * np.sqrt(variances) * drawn.normal(size=z.size)
        off = v + np.linalg.solve(precision, weights @ (z - ROWS * local.mean)) - truth
        errors.append(off @ precision @ off / v.size)
    return float(np.mean(errors))


def reports(built, values):
    """Return what is reported at some values of the sites, its shapes checked."""
    reported = built.report({site: np.asarray(value)[None, None] for site, value in values.items()})
    assert set(reported) == set(built.dims)
    for quantity, part in reported.items():
        assert part.shape[2:] == tuple(len(built.coords[axis]) for axis in built.dims[quantity])
    return {quantity: part[0, 0] for quantity, part in reported.items()}


def test_rows_with_categories_have_the_density_of_the_mixture():
    what = fitted_table(n_components=2)
    measured = choose_sums(what, read_measurements(what))
    built = default_model(what, measured)
    model = get_row_model(built.model, measured.layout, built.features, built.expectations)
    codes = np.array([[0, 0], [1, 1], [2, 0]])
    frame = pd.DataFrame({"x": X[:3, 0], "y": X[:3, 1], "ward": ["a", "b", "c"], "u": [3, 7, 3]})
    result = model.call("log_rows", model.vector(built.start), {"x": X[:3], "codes": codes})
    np.testing.assert_allclose(result, what.score_samples(frame), rtol=1e-6)
    one = reports(built, model.call("parameters", model.vector(built.start)))
    np.testing.assert_allclose(one["ward by component"], what.probabilities_["ward"], atol=1e-6)
    np.testing.assert_allclose(one["ward"], what.weights_ @ what.probabilities_["ward"], atol=1e-6)


def test_histograms_of_numbers_are_no_part_of_a_table_mixtures_likelihood():
    what = fitted_table(n_components=2)
    every = read_measurements(what)
    measured = choose_sums(what, every)
    marginals = every.sums[0].value.size
    assert measured.values.tolist() == [*every.values[:5], *every.values[marginals:]]  # 3 and 2 categories
    rows = {"x": X[:9], "codes": np.array([[0, 1]] * 9)}
    used = measured.contributions(rows)
    assert used.shape == (9, measured.values.size)
    np.testing.assert_array_equal(used[:, 5:], every.contributions(rows)[:, marginals:])
    assert choose_sums(X, every) is every


def test_numbers_that_are_not_gaussian_are_named():
    what = fitted_table(n_components=2)
    built = default_model(what, choose_sums(what, read_measurements(what)))
    certain = {"components": np.full((1, 20), 2.0)}
    assert built.remarks(certain) == []
    what.cells_ = what.cells_ | {"x": np.eye(66)[30]}
    (said,) = default_model(what, choose_sums(what, read_measurements(what))).remarks(certain)
    assert "histograms of ['x'] are not those of Gaussians" in said


def test_one_gaussian_that_a_fit_repeats_is_one():
    where = ((0.0, 0.0), (8.0, 8.0))
    several = [
        build_mixture(
            where, ("x", "y"), "full", MixtureDraws(np.full(3, 1 / 3), np.stack([MEANS[0]] * 2 + [third]), spreads)
        )
        for third, spreads in ((MEANS[0], np.stack([COVARIANCES[0]] * 3)), (MEANS[1], np.stack([COVARIANCES[0]] * 3)))
    ]
    assert [len(built.coords["component"]) for built in several] == [1, 3]
    certain = {"components": np.ones((1, 20))}
    assert [len(built.remarks(certain)) for built in several] == [1, 0]
    assert "one Gaussian" in several[0].remarks(certain)[0]


def test_two_labels_keep_their_sides():
    what = fitted(dp.LogisticRegression, X, CODES, bounds=BALL, classes=[1, 0], method="gradient")
    built = default_model(what, read_measurements(what))
    assert (built.labels, built.coords["score"]) == ((1, 0), [1])
    start = built.start
    weights = start["θ.slopes"] / start["θ.sd"]
    one = reports(built, {"θ.weights": weights, "θ.intercept": start["θ.level"] - weights @ start["θ.mean"]})
    np.testing.assert_allclose(one["coef"], what.coef_)
    np.testing.assert_allclose(one["intercept"], what.intercept_)
    np.testing.assert_allclose(built.predict_proba(one, X[:20]), what.predict_proba(X[:20]))


def test_the_line_is_reported_in_the_datas_units():
    y = X @ [1.0, -2.0] + 3.0 + np.random.default_rng(1).normal(size=ROWS)
    joined = np.column_stack([X, y])
    for intercept in (True, False):
        given = {"bounds": BOX, "target_bounds": (-30.0, 30.0), "fit_intercept": intercept}
        what = fitted(dp.LinearRegression, X, y, **given)
        built = default_model(what, read_measurements(what))
        one = reports(built, {"θ.mean": joined.mean(axis=0), "θ.covariance": np.cov(joined.T)})
        assert ("intercept" in one) is intercept
        # The fit has noise of a hundredth or so, and it is 0.2 off where columns are mixed up
        np.testing.assert_allclose(built.predict(one, X[:20]), what.predict(X[:20]), atol=0.5)


def test_a_centred_fit_has_no_mean_to_infer():
    given = {"bounds": dp.Ball(12.0), "method": "one-release", "center": "declared"}
    what = fitted(dp.FactorAnalysis, THREE, n_components=1, **given)
    built = default_model(what, read_measurements(what))
    assert "θ.mean" not in built.start
    assert "mean" not in built.dims


def test_more_factors_than_a_covariance_tells_apart_are_refused():
    what = fitted(dp.FactorAnalysis, THREE, n_components=2, bounds=dp.Ball(12.0))
    measured = read_measurements(what)
    with pytest.raises(ValueError, match=r"n_components=2\) of 3 columns: expected at most 1"):
        default_model(what, measured)


def frame():
    import pandas as pd

    rows = pd.DataFrame({"mean": X[:, 0], "weights": X[:, 1], "label": np.array(["u", "v"])[CODES]})
    numbers = {name: dp.Number(-8, 8) for name in ("mean", "weights")}
    return rows, dp.Schema(numbers | {"label": dp.Category(["u", "v"])})


def test_answers_are_reported_as_they_were_asked():
    rows, schema = frame()
    asked = ["weights", "mean"]  # columns may have the names of parameters
    covariance = statistics.covariance(rows, asked, epsilon=4.0, delta=1e-6, schema=schema)
    built = default_model(covariance, read_measurements(covariance))
    one = reports(built, {"θ.mean": np.array([1.0, 2.0]), "θ.covariance": np.array([[1.0, 0.5], [0.5, 4.0]])})
    assert one["mean"].tolist() == [2.0, 1.0]
    assert one["covariance"].tolist() == [[4.0, 0.5], [0.5, 1.0]]
    np.testing.assert_allclose(built.start["θ.mean"], covariance.means[0][::-1])

    groups = statistics.mean(rows, asked, by="label", epsilon=4.0, schema=schema)
    built = default_model(groups, read_measurements(groups))
    assert (list(built.dims), built.coords["group"]) == (["mean"], ["u", "v"])
    sites = {"θ.means": built.start["θ.means"], "θ.covariances": COVARIANCES}
    np.testing.assert_allclose(reports(built, sites)["mean"], groups.value)

    single = statistics.mean(rows, "mean", epsilon=4.0, schema=schema)
    built = default_model(single, read_measurements(single))
    assert built.dims == {"mean": []}
    renamed, numbers = rows.rename(columns={"mean": "row"}), dp.Schema({"row": dp.Number(-8, 8)})
    answer = statistics.mean(renamed, "row", epsilon=4.0, schema=numbers)
    measured = read_measurements(answer)
    with pytest.raises(ValueError, match="none with the name 'row'"):
        default_model(answer, measured)


def test_contrasts_are_centred_and_orthonormal():
    for count in (3, 5):
        one = contrast_matrix(count)
        np.testing.assert_allclose(one.T @ one, np.eye(count - 1), atol=1e-12)
        np.testing.assert_allclose(one.sum(axis=0), 0.0, atol=1e-12)


# ---- counts, axes and centres ----


TABLE = pd.DataFrame(
    {"age": RNG.uniform(0.0, 100.0, 500), "sex": RNG.choice(["f", "m"], 500), "ward": RNG.choice(["a", "b", "c"], 500)}
)
DECLARED = dp.Schema({"age": dp.Number(0, 100), "sex": dp.Category(["f", "m"]), "ward": dp.Category(["a", "b", "c"])})
COUNTED = {
    "histogram": (lambda curator: statistics.histogram(curator, "ward", epsilon=1.0), ["ward"]),
    "bins": (lambda curator: statistics.histogram(curator, "age", bins=[0, 30, 60, 100], epsilon=1.0), ["age"]),
    "by two": (lambda curator: statistics.count(curator, by=["sex", "ward"], epsilon=1.0), ["sex", "ward"]),
    "crosstab": (lambda curator: statistics.crosstab(curator, "ward", "sex", epsilon=1.0), ["ward", "sex"]),
}


@pytest.mark.parametrize("name", COUNTED)
def test_counts_are_of_rows_in_cells(name):
    make, axes = COUNTED[name]
    answer = make(dp.Curator(TABLE, schema=DECLARED))
    measured = read_measurements(answer)
    built = default_model(answer, measured)
    model = get_row_model(built.model, measured.layout)
    assert built.dims == {"shares": axes}
    v = model.vector(built.start)
    shares = reports(built, {"θ.shares": model.call("parameters", v)["θ.shares"]})["shares"]
    assert shares.size == np.size(answer.value)
    chances = np.exp(model.call("log_rows", v, model.points))
    assert chances.sum() == pytest.approx(1.0)
    sums = chances @ measured.contributions(model.points)  # what a row adds to each count, on average
    release = measured.sums[0].release
    (part,) = list(release.parts.values())[-1:]
    each = sums.reshape(-1)[-shares.size :] / part.weight
    np.testing.assert_allclose(np.sort(each.ravel()), np.sort(shares.ravel()), rtol=1e-9)
    if name == "by two":  # an axis of groups comes first
        np.testing.assert_allclose(each.reshape(shares.shape), shares, rtol=1e-9)


def test_axes_have_the_signs_of_the_fit():
    covariance = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 1.0]])
    values, vectors = np.linalg.eigh(covariance)
    for sign in (-1.0, 1.0):
        fit = sign * vectors.T[::-1][:2]
        axes, variances = find_axes(np.stack([covariance, 2.0 * covariance]), np.ones(3), fit)
        np.testing.assert_allclose(axes, np.stack([fit, fit]), atol=1e-12)
        np.testing.assert_allclose(variances, [values[::-1][:2], 2.0 * values[::-1][:2]])
    scaled, _ = find_axes(covariance, np.array([2.0, 1.0, 1.0]), fit)
    inner = covariance / np.outer([2.0, 1.0, 1.0], [2.0, 1.0, 1.0])
    np.testing.assert_allclose(inner @ scaled[0], np.linalg.eigvalsh(inner)[-1] * scaled[0], atol=1e-12)


@pytest.mark.parametrize("name", ["axes", "centres"])
def test_axes_and_centres_start_at_the_fit(name):
    if name == "axes":
        what = fitted(dp.PCA, X, n_components=1, bounds=BOX, method="adaptive")
    else:
        what = fitted(dp.KMeans, X, n_clusters=2, bounds=BOX)
    measured = read_measurements(what)
    built = default_model(what, measured)
    model = get_row_model(built.model, measured.layout)
    reported = reports(built, model.call("parameters", model.vector(built.start)))
    if name == "centres":
        np.testing.assert_allclose(reported["cluster_centers"], what.cluster_centers_, atol=1e-6)
    else:  # the last of the rounds is whitened by those before
        np.testing.assert_allclose(reported["components"], what.components_, atol=0.1)
        np.testing.assert_allclose(reported["explained_variance"], what.explained_variance_, rtol=0.3)


def test_axes_around_the_declared_centre_are_refused():
    what = fitted(dp.PCA, X, n_components=1, bounds=BOX, method="analyze-gauss", center="declared")
    with pytest.raises(ValueError, match="center='private'"):
        default_model(what, read_measurements(what))


# ---- refusals ----


@pytest.mark.parametrize(
    ("kind", "data", "given", "says"),
    [
        (
            dp.KMeans,
            (X,),
            {"n_clusters": 2, "bounds": BOX, "method": "dplloyd"},
            "'adaptive' or 'joint'",
        ),
        (dp.PCA, (X,), {"n_components": 1, "bounds": BALL, "method": "exponential"}, "'adaptive'"),
        (dp.LinearSVC, (X, CODES), {"bounds": BOX, "classes": [0, 1], "method": "output"}, "write method='objective'"),
        (
            dp.LogisticRegression,
            (X, CODES),
            {"bounds": BOX, "classes": [0, 1], "method": "functional"},
            "write method='objective' or 'gradient'",
        ),
        (
            dp.LogisticRegression,
            (X, CODES),
            {"bounds": BOX, "classes": [0, 1], "coordinates": "declared"},
            "write coordinates='private'",
        ),
        (dp.GaussianMixture, (X,), {"n_components": 2, "bounds": BALL, "method": "paper"}, "'adaptive' or 'joint'"),
        (
            dp.GaussianClassifier,
            (X, CODES),
            {"bounds": BOX, "classes": [0, 1], "method": "xi2011"},
            "'adaptive' or 'joint'",
        ),
    ],
)
def test_what_has_no_model_is_refused_with_what_to_write(kind, data, given, says):
    with pytest.raises(ValueError, match=says):
        check_has_model(fitted(kind, *data, **given))


def test_answers_without_a_model_are_refused():
    declared = {"epsilon": 1.0, "bounds": (-8, 8)}
    for answer, says in (
        (statistics.max(X[:, 0], **declared), r"write quantiles\(…\)"),
        (statistics.histogram(X, ["x0", "x1"], bins=4, **declared), r"write crosstab\(…\)"),
        (statistics.sum(X, **declared), r"write mean\(…\)"),
        (statistics.mean(X, loose=True, **declared), "loose=False"),
        (statistics.covariance(X, method="direct", **declared), "method='one-shot'"),
    ):
        with pytest.raises(ValueError, match=says):
            check_has_model(answer)
    release = statistics.mean(X, **declared).release
    with pytest.raises(ValueError, match="write model="):
        default_model(release, read_measurements(release))
    weighed = statistics.mean(np.abs(X), 0, weights=1, epsilon=1.0, bounds=dp.Box([0.0, 0.0], [8.0, 8.0]))
    with pytest.raises(ValueError, match="without weights"):
        default_model(weighed, read_measurements(weighed))
