"""The promises of the generators in ``discreet.datasets``: shape, law and seed.

Seeds are fixed, so a test gives the same answer every time. Where a sample is compared with a law, the comment
gives the chance that a correct generator would fail under another seed; it is below 1e-6 everywhere.
"""

from itertools import product
from math import comb

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, special
from sklearn.linear_model import LogisticRegression

from discreet.arguments import ArgumentError
from discreet.datasets import (
    Dataset,
    make_cm1,
    make_cm2,
    make_stroke,
    make_synth,
    make_visits,
    make_xi_correlated,
    make_xi_pair,
)
from effort import size

GENERATORS = {
    "synth": (make_synth, (1_000, 4)),
    "cm1": (make_cm1, (17_500, 10)),
    "cm2": (make_cm2, (17_500, 10)),
    "xi_pair": (make_xi_pair, (4_000, 5)),
    "xi_correlated": (make_xi_correlated, (500, 5)),
    "stroke": (make_stroke, (50_345, 100)),
}
every_generator = pytest.mark.parametrize("name", sorted(GENERATORS))


def make(name):
    return GENERATORS[name][0]


# --- what holds for all -------------------------------------------------------------------------------------


@every_generator
def test_the_default_is_the_size_of_the_paper(name):
    generate, shape = GENERATORS[name]
    dataset = generate(random_state=0)
    assert isinstance(dataset, Dataset)
    assert dataset.name == name
    assert dataset.X.shape == shape
    assert dataset.y.shape == shape[:1]
    assert dataset.truth is not None
    assert "synthetic" in dataset.licence
    assert dataset.citation
    assert np.isfinite(dataset.X).all()


@pytest.mark.parametrize("name", ["synth", "cm1", "cm2", "stroke"])
def test_rows_cannot_pass_the_declared_bounds(name):
    dataset = make(name)(random_state=0)
    low, high = np.transpose(dataset.bounds)
    assert np.array_equal(dataset.X, np.clip(dataset.X, low, high))


@every_generator
def test_a_seed_gives_the_same_rows_again(name):
    first, second, other = (make(name)(50, random_state=seed) for seed in (7, np.int64(7), 8))
    assert np.array_equal(first.X, second.X)
    assert np.array_equal(first.y, second.y)
    assert all(np.array_equal(a, b) for a, b in zip(first.truth, second.truth, strict=True))
    assert not np.array_equal(first.X, other.X)


@every_generator
def test_a_generator_goes_on_where_it_was(name):
    rng = np.random.default_rng(7)
    first, second = make(name)(50, random_state=rng), make(name)(50, random_state=rng)
    assert np.array_equal(first.X, make(name)(50, random_state=7).X)
    assert not np.array_equal(first.X, second.X)


@every_generator
def test_no_seed_gives_new_rows(name):
    assert not np.array_equal(make(name)(50).X, make(name)(50).X)


@every_generator
def test_numpys_global_state_is_neither_read_nor_changed(name):
    before = np.random.get_state()[1].copy()  # noqa: NPY002 (the state that must not change)
    make(name)(50, random_state=None)
    assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@every_generator
@pytest.mark.parametrize("rows", [0, -3, 2.5, "many", True, None])
def test_a_bad_number_of_rows_is_refused_by_name(name, rows):
    with pytest.raises(ValueError, match=r"n_samples=.*: expected a whole number, at least 1"):
        make(name)(rows)


@every_generator
@pytest.mark.parametrize("seed", [-1, 0.5, "seven", True, np.random.RandomState(0)])
def test_a_bad_seed_is_refused_by_name(name, seed):
    with pytest.raises(ValueError, match=r"random_state=.*: expected a whole number, at least 0, a numpy"):
        make(name)(50, random_state=seed)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: make_xi_correlated(50, 0), "n_features=0: expected a whole number, at least 1"),
        (lambda: make_xi_correlated(50, 5, 0.0), "sigma=0.0: expected a finite number above 0"),
        (lambda: make_xi_correlated(50, 5, np.nan), "sigma=nan: expected a finite number above 0"),
        (lambda: make_stroke(50, n_features=0), "n_features=0: expected a whole number, at least 1"),
        (lambda: make_stroke(50, n_components=0), "n_components=0: expected a whole number, at least 1"),
    ],
)
def test_other_bad_arguments_are_refused_by_name(call, told):
    with pytest.raises(ValueError, match=told):
        call()


# --- SYNTH --------------------------------------------------------------------------------------------------


def bayes_error_of_synth(theta):
    """Integrate 1/(1 + exp|θ·x|) over the density of a sum of four centred uniforms."""
    assert len(set(abs(theta))) == 1

    def density(s):
        return sum((-1) ** k * comb(4, k) * max(s + 2 - k, 0.0) ** 3 for k in range(5)) / 6

    half, _ = integrate.quad(lambda s: density(s) / (1.0 + np.exp(abs(theta[0]) * s)), 0.0, 2.0, points=[1.0])
    return 2.0 * half


def test_synth_is_uniform_in_the_centred_cube():
    X = make_synth(100_000, random_state=0).X
    # Standard deviations 0.0009 and 0.0003 of these statistics: beyond six of them 2e-9 each, 8 of them.
    assert np.abs(X.mean(axis=0)).max() < 6 * np.sqrt(1 / 12 / 100_000)
    assert np.abs(X.var(axis=0) - 1 / 12).max() < 6 * np.sqrt(1 / 180 / 100_000)
    assert np.linalg.norm(X, axis=1).max() <= 1.0


def test_synth_has_the_error_that_its_constant_was_solved_for():
    synth = make_synth(400_000, random_state=0)
    exact = bayes_error_of_synth(synth.truth.coef)
    assert exact == pytest.approx(0.1631, abs=5e-5)
    wrong = ((synth.X @ synth.truth.coef > 0) != synth.y).mean()
    assert wrong == pytest.approx(exact, abs=6 * np.sqrt(exact * (1 - exact) / 400_000))  # six deviations: 2e-9


def test_logistic_regression_on_synth_has_the_error_of_the_papers_benchmark():
    errors = []
    fresh = make_synth(20_000, random_state=0)
    chance = special.expit(fresh.X @ fresh.truth.coef)
    for seed in range(1, 31):
        synth = make_synth(random_state=seed)
        model = LogisticRegression(C=np.inf, fit_intercept=False).fit(synth.X, synth.y)
        errors.append(np.where(model.predict(fresh.X) == 1, 1.0 - chance, chance).mean())
    # One fit's error deviates by 0.001, thirty fits' mean by 0.0002, and the mean over 20,000 fresh rows by another
    # 0.0011 (their noise is averaged out): 0.007 is six of 0.0011. Williams and McSherry give 16.40 %.
    assert np.mean(errors) == pytest.approx(0.164, abs=0.007)
    assert np.mean(errors) - np.minimum(chance, 1.0 - chance).mean() < 0.003


# --- CM1 and CM2 --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("generate", [make_cm1, make_cm2])
def test_cm_rows_lie_on_the_unit_sphere(generate):
    cm = generate(random_state=0)
    assert np.linalg.norm(cm.X, axis=1) == pytest.approx(np.ones(len(cm)), abs=1e-12)
    assert np.linalg.norm(cm.truth.coef) == pytest.approx(1.0, abs=1e-12)


def test_cm1_is_separable_with_its_margin_and_no_more():
    cm1 = make_cm1(random_state=0)
    side = cm1.X @ cm1.truth.coef
    assert np.abs(side).min() >= 0.03 - 1e-12
    assert np.array_equal(cm1.y, side > 0)
    # A row is within 0.031 with probability 0.0025: none among 17,500 has probability 1e-19.
    assert np.abs(side).min() < 0.031
    # Half of the rows on each side: six deviations, 2e-9.
    assert abs(cm1.y.mean() - 0.5) < 6 * np.sqrt(0.25 / len(cm1))


def test_cm2_errs_in_about_five_percent():
    cm2 = make_cm2(200_000, random_state=0)
    side = cm2.X @ cm2.truth.coef
    wrong = (side > 0) != cm2.y
    assert not wrong[np.abs(side) >= 0.1].any()
    # The squared distance to the plane is Beta(1/2, 9/2): 23 % of the rows lie in the band, a fifth is flipped.
    band = special.betainc(0.5, 4.5, 0.1**2)
    assert 0.2 * band == pytest.approx(0.0460, abs=5e-5)
    # Six deviations each, 2e-9.
    assert wrong.mean() == pytest.approx(0.2 * band, abs=6 * np.sqrt(0.046 * 0.954 / 200_000))
    inside = np.abs(side) < 0.1
    assert wrong[inside].mean() == pytest.approx(0.2, abs=6 * np.sqrt(0.16 / inside.sum()))


@pytest.mark.parametrize("generate", [make_cm1, make_cm2])
def test_cm_planes_differ_from_seed_to_seed(generate):
    first, second = (generate(10, random_state=seed).truth.coef for seed in (0, 1))
    assert abs(first @ second) < 0.999


# --- Xi's mixtures ------------------------------------------------------------------------------------------


def scores(truth, X):
    """Return log(weight × density) of each row in each component, up to a constant."""
    parts = []
    for weight, mean, covariance in zip(*truth, strict=True):
        root = np.linalg.cholesky(covariance)
        whitened = np.linalg.solve(root, (X - mean).T)
        parts.append(np.log(weight) - np.log(np.diag(root)).sum() - 0.5 * (whitened**2).sum(axis=0))
    return np.array(parts)


def plug_in(dataset):
    """Estimate weights, means and covariances by class."""
    classes = [dataset.X[dataset.y == k] for k in (0, 1)]
    return (
        [len(rows) / len(dataset) for rows in classes],
        [rows.mean(axis=0) for rows in classes],
        [np.cov(rows.T) for rows in classes],
    )


def error(truth, dataset):
    return (scores(truth, dataset.X).argmax(axis=0) != dataset.y).mean()


TABLE_1 = {
    5: (0.18, 0.22, 0.20, 0.17, 0.14),
    10: (0.12, 0.19, 0.16, 0.12, 0.09),
    15: (0.10, 0.18, 0.15, 0.09, 0.06),
    20: (0.08, 0.18, 0.14, 0.08, 0.05),
}


# In a short run every second cell of the table, in the long one all.
@pytest.mark.parametrize(("d", "sigma"), [*product(TABLE_1, [1.0, 2.0, 3.0, 4.0, 5.0])][:: size(2, 1)])
def test_xi_table_1_comes_out(d, sigma):
    rng = np.random.default_rng([d, int(sigma)])
    errors = []
    for _ in range(12):
        rule = plug_in(make_xi_correlated(500, d, sigma, random_state=rng))
        errors.append(error(rule, make_xi_correlated(5_000, d, sigma, random_state=rng)))
    # Over a hundred such runs the mean differed from the table by 0.006 at most. One run deviates by at most 0.011
    # (d = 20, sigma = 2, where the mean is off by 0.001), twelve by 0.0032: the distance to 0.02 is six of them.
    assert np.mean(errors) == pytest.approx(TABLE_1[d][int(sigma) - 1], abs=0.02)


def test_xi_correlated_has_the_moments_that_it_states():
    n = 200_000
    made = make_xi_correlated(n, 3, 4.0, random_state=0)
    assert made.truth.covariances[1].tolist() == [[4, 2, 2], [2, 4, 2], [2, 2, 4]]
    assert abs(made.y.mean() - 0.5) < 6 * np.sqrt(0.25 / n)
    for k, (mean, covariance) in enumerate(zip(made.truth.means, made.truth.covariances, strict=True)):
        rows = made.X[made.y == k]
        variance = covariance[0, 0]
        # Entries deviate by at most √(v/n) and v√(2/n): six and a half of them, 1e-10 each, 24 of them.
        assert np.abs(rows.mean(axis=0) - mean).max() < 6.5 * np.sqrt(variance / len(rows))
        assert np.abs(np.cov(rows.T) - covariance).max() < 6.5 * variance * np.sqrt(2 / len(rows))


def test_xi_pair_has_the_moments_of_the_paper():
    n = 200_000
    pair = make_xi_pair(n, random_state=0)
    assert pair.truth.covariances[0].diagonal().tolist() == [0.36, 1.21, 3.24, 5.76, 0.64]
    assert abs(pair.y.mean() - 0.3) < 6 * np.sqrt(0.21 / n)
    for k, (mean, covariance) in enumerate(zip(pair.truth.means, pair.truth.covariances, strict=True)):
        rows = (pair.X[pair.y == k] - mean) / np.sqrt(covariance.diagonal())
        # As above, 40 entries.
        assert np.abs(rows.mean(axis=0)).max() < 6.5 / np.sqrt(len(rows))
        assert np.abs(np.cov(rows.T) - np.eye(5)).max() < 6.5 * np.sqrt(2 / len(rows))


@pytest.mark.parametrize("generate", [make_xi_pair, make_xi_correlated])
def test_xi_bounds_are_six_deviations_of_the_law_and_not_of_the_rows(generate):
    first, second = generate(10, random_state=0), generate(1_000, random_state=1)
    assert first.bounds == second.bounds
    _, means, covariances = first.truth
    reach = 6 * np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
    low, high = np.transpose(first.bounds)
    assert low == pytest.approx((means - reach).min(axis=0))
    assert high == pytest.approx((means + reach).max(axis=0))


def test_xi_pair_has_less_than_one_percent_of_error():
    # 0.6 % in truth; 1 % of 20,000 is seven deviations away, 1e-12.
    rule = plug_in(make_xi_pair(4_000, random_state=0))
    assert error(rule, make_xi_pair(20_000, random_state=1)) < 0.01


# --- the stand-in for stroke --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stroke():
    return make_stroke(random_state=0)


def test_stroke_lies_in_the_unit_ball_and_uses_it(stroke):
    norms = np.linalg.norm(stroke.X, axis=1)
    assert norms.max() <= 1.0
    assert norms.max() > 0.4


def test_stroke_has_the_law_of_principal_components(stroke):
    weights, means, covariances = stroke.truth
    assert weights.sum() == pytest.approx(1.0)
    assert weights @ means == pytest.approx(np.zeros(100), abs=1e-15)
    total = np.einsum("k,kij->ij", weights, covariances) + (weights[:, None] * means).T @ means
    assert total * np.arange(1, 101) == pytest.approx(total[0, 0] * np.eye(100), abs=1e-12)
    assert (np.linalg.eigvalsh(covariances) > 0).all()


def chance_outside_the_unit_ball(mean, covariance):
    """Bound P(‖x‖ > 1) for a Gaussian x by Chernoff: the least of E exp(s‖x‖²)/exp(s) over s."""
    variances, axes = np.linalg.eigh(covariance)
    shifts = (mean @ axes) ** 2
    s = np.linspace(0.01, 0.99, 99)[:, None] / (2 * variances[-1])
    shrink = 1 - 2 * s * variances
    return np.exp(((s * shifts / shrink) - 0.5 * np.log(shrink)).sum(axis=1) - s[:, 0]).min()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("d", "components"), [(1, 1), (2, 3), (30, 4), (100, 10)])
def test_stroke_hardly_ever_needs_to_draw_a_row_again(d, components, seed):
    _, means, covariances = make_stroke(1, d, components, random_state=seed).truth
    assert max(map(chance_outside_the_unit_ball, means, covariances)) < 1.2e-7


def test_stroke_rows_follow_the_truth_that_is_handed_over(stroke):
    weights, means, covariances = stroke.truth
    counts = np.bincount(stroke.y, minlength=10)
    # Six deviations, about 1e-8, ten of them.
    assert (np.abs(counts - len(stroke) * weights) < 6 * np.sqrt(len(stroke) * weights * (1 - weights))).all()
    for k in range(10):
        rows = stroke.X[stroke.y == k]
        root = np.linalg.cholesky(covariances[k])
        white = np.linalg.solve(root, (rows - means[k]).T)
        # Averages of standard Gaussians (seven deviations, 3e-12, 1,000 of them) and of their products (eight
        # deviations of a square, 2e-12 by the chi-square tail in the smallest component, 50,500 of them).
        assert np.abs(white.mean(axis=1)).max() < 7 / np.sqrt(len(rows))
        moments = white @ white.T / len(rows) - np.eye(100)
        assert np.abs(moments).max() < 8 * np.sqrt(2 / len(rows))


def test_stroke_components_overlap(stroke):
    # The rule that knows the truth errs in 7 to 10 %, so the table is neither trivial nor hopeless.
    sample = slice(0, 10_000)
    wrong = (scores(stroke.truth, stroke.X[sample]).argmax(axis=0) != stroke.y[sample]).mean()
    assert 0.03 < wrong < 0.2


def test_stroke_comes_in_other_sizes():
    small = make_stroke(300, n_features=3, n_components=2, random_state=0)
    assert small.X.shape == (300, 3)
    assert small.truth.covariances.shape == (2, 3, 3)
    assert set(small.y.tolist()) == {0, 1}


# --- visits -------------------------------------------------------------------------------------------------


def test_visits_are_those_of_the_seed_and_of_several_to_a_patient():
    visits = make_visits(random_state=0)
    pd.testing.assert_frame_equal(visits, make_visits(random_state=0))
    assert not visits.equals(make_visits(random_state=1))
    columns = ["patient", "admitted", "ward", "age", "systolic", "stay", "sex", "care", "days", "back"]
    assert list(visits.columns) == columns
    sizes = visits["patient"].value_counts()
    assert 7_900 < len(sizes) <= 8_000  # names are missing in 0.5 % of the rows
    assert (sizes == 1).mean() > 0.4
    assert sizes.max() > 20
    ages = visits[visits["age"] < 999].groupby("patient")["age"].nunique()
    assert (ages == 1).all()
    assert (visits.groupby("patient")[["sex", "care"]].nunique() <= 1).all(axis=None)


def test_visits_have_the_faults_that_are_told_and_no_others():
    visits = make_visits(20_000, random_state=0)
    known = visits["ward"].isin(["medicine", "surgery", "emergency"])
    dated = visits["admitted"].str.fullmatch(r"202[234]-\d\d-\d\d")
    shares = {
        0.005: visits["patient"].isna(),
        0.010: visits["admitted"].str.fullmatch(r"\d\d/\d\d/202[234]"),
        0.011: visits["admitted"] == "1900-01-01",
        0.030: ~known & visits["ward"].notna() & (visits["ward"] != "?"),
        0.020: visits["ward"] == "?",
        0.021: visits["ward"].isna(),
        0.022: visits["age"] == 999,
        0.080: visits["systolic"].isna(),
        0.012: visits["systolic"] < 40,
        0.013: visits["stay"].isna(),
        0.009: visits["sex"].isna(),
        0.0091: visits["days"].isna(),
        0.0092: visits["back"].isna(),
    }
    for share, fault in shares.items():  # more than five standard deviations of 40,000 rows
        assert float(fault.mean()) == pytest.approx(share, abs=0.006)
    assert visits["age"][visits["age"] != 999].between(18, 100).all()
    assert float((~dated).mean()) == pytest.approx(0.02, abs=0.005)
    assert visits["ward"].nunique() == 7
    assert 0.002 < (visits["stay"] < 0).mean() < 0.009
    logs = np.log(visits["stay"].where(visits["stay"] > 0)).groupby(visits["ward"]).mean()
    assert logs["emergency"] < logs["medicine"] < logs["surgery"]


def test_visits_are_followed_and_called_patients_come_back_less_often():
    visits = make_visits(20_000, random_state=0)
    assert visits["days"].dropna().between(1, 90).all()
    assert set(visits["care"]) == {"usual", "calls"}
    assert (visits["back"][visits["days"] == 90].dropna() == "no").all()
    back = (visits["back"] == "yes").groupby(visits["care"]).mean()
    assert 0.15 < back["calls"] < back["usual"] - 0.03 < 0.35


@pytest.mark.parametrize("wrong", [0, 100_001, 2.5, "many", True])
def test_visits_of_a_wrong_number_of_patients_are_refused(wrong):
    with pytest.raises(ArgumentError, match="n_patients"):
        make_visits(wrong)
