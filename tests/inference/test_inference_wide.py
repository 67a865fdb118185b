"""Posteriors that are wide, rows that move with the parameters, and models that say something else than it seems."""

from __future__ import annotations

import math
import pickle
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd
import pytest
from scipy.stats import norm

import discreet as dp
from discreet.inference.clt.likelihood import build_target, is_wide
from discreet.inference.clt.reference import Problem, find_reference
from discreet.inference.clt.reparametrized_rows import (
    build_pathwise_mean,
    lift_arrays,
    reparametrize_rows,
    restore_arrays,
)
from discreet.inference.measurements import read_measurements
from discreet.inference.rows.layout import Layout, read_public_rows
from discreet.inference.rows.row_model import RowModel, double_precision, get_row_model, get_user_row_model
from discreet.queries.objectives.gradients import MarginGradient
from discreet.queries.objectives.labelled_rows import Features
from discreet.queries.objectives.margin_losses import Logistic
from effort import LONG
from gridded_chains import gridded_chains
from still_chains import still_chains

pytestmark = pytest.mark.filterwarnings("ignore::discreet.inference.posterior.InferenceWarning")

ONE = Layout(("x0",))


def measured_sum(seeded, size=100, box=(-10.0, 10.0), mu=50.0):
    data = np.random.default_rng(0).normal(2.0, 1.0, (size, 1))
    curator = dp.Curator(data, space=dp.Box(*box))
    return curator.measure(dp.Sum(curator.space), dp.GaussianLoss(mu), bits=seeded(3))


def centre_and_spread():
    a = numpyro.sample("a", dist.Normal(0.0, 5.0))
    numpyro.sample("x0", dist.Normal(a, numpyro.sample("s", dist.LogNormal(0.0, 1.0))))


@pytest.mark.parametrize("space", [dp.Box([-1.0, 0.0], [1.0, 5.0]), dp.Ball(2.0, center=[0.5, 0.0])], ids=str)
def test_spaces_are_compiled_as_they_are(space):
    x = np.array([[0.3, 1.0], [7.0, -9.0], [np.nan, 2.0], [np.inf, 1.0], [1e308, -1e308], [0.5, 0.0]])
    with double_precision():
        for map_of in (space.clip, space.to_unit):
            assert np.allclose(np.asarray(jax.jit(map_of)(x)), map_of(x), rtol=1e-13, atol=1e-15)


def test_numbers_are_lifted_out_of_questions():
    features = Features(dp.Box([0.0, 0.0], [1.0, 2.0]), 0.5)
    one, other = (MarginGradient(features, Logistic(), np.full((1, 3), size), 2) for size in (0.0, 2.0))
    assert one.bound.l2 < other.bound.l2  # computed and kept, but no part of the form
    (form, arrays), (same, others) = lift_arrays(one), lift_arrays(other)
    assert form == same
    assert np.array_equal(restore_arrays(form, others).theta, other.theta)
    assert np.array_equal(arrays[0], one.theta)
    assert lift_arrays(MarginGradient(Features(features.space, 0.4), Logistic(), other.theta, 2))[0] != form


def test_reparametrized_rows_know_clipped_means_far_away(seeded):
    """E clip(x) has a closed form; 4,000 rows that were drawn elsewhere know it within six standard errors."""
    measured = read_measurements(measured_sum(seeded, box=(-1.0, 3.0)))
    model = get_row_model(centre_and_spread, ONE)
    v = model.vector({"a": 0.0, "s": 1.0})
    moving = reparametrize_rows(model, v)
    data = {"projection": np.eye(1), "B": np.zeros((1, 0))}
    mean = build_pathwise_mean(moving, measured, data)
    with double_precision():
        data["keys"] = jax.random.split(jax.random.key(0), 4000)
        for a, s in ((0.0, 1.0), (2.5, 0.5), (6.0, 3.0)):
            low, high = (-1.0 - a) / s, (3.0 - a) / s
            inside = a * (norm.cdf(high) - norm.cdf(low)) - s * (norm.pdf(high) - norm.pdf(low))
            exact = inside - norm.cdf(low) + 3.0 * norm.sf(high)  # of x moved into [−1, 3]
            at = model.vector({"a": a, "s": s})
            unit = (exact - 1.0) / 2.0  # as the door sees it
            value, slope = mean.expand(data, at)
            assert abs(value[0] - unit) < 6.0 / math.sqrt(4000)
            assert abs(slope[0, 0] - (norm.cdf(high) - norm.cdf(low)) / 2.0) < 6.0 * 0.5 / math.sqrt(4000)


def test_what_is_discrete_is_summed_over():
    """A label and the component of a mixture take all of their values, each with its probability at v."""

    def model():
        p = numpyro.sample("p", dist.Uniform(0.0, 1.0))
        k = numpyro.sample("label", dist.Bernoulli(p))
        parts = dist.Normal(jnp.array([0.0, 5.0]) + k, 1.0)
        numpyro.sample("x0", dist.MixtureSameFamily(dist.Categorical(probs=jnp.array([0.25, 0.75])), parts))

    known = RowModel(model, Layout(("x0",), ("label",), ((0, 1),)))
    v = known.vector({"p": 0.2})
    with double_precision():
        moved = jax.jit(reparametrize_rows(known, v).draw)(v, jax.random.split(jax.random.key(0), 500))
        rows, shares = jax.tree.map(np.asarray, moved)
    assert len(shares) == 2000
    assert math.isclose(float(shares.sum()), 1.0)
    label = rows["codes"][:, 0]
    assert math.isclose(float(shares @ label), 0.2)
    # A mean of 500 normal variates, and of those of the labelled alone, within six of its standard errors
    assert abs(float(shares @ rows["x"][:, 0]) - (0.75 * 5.0 + 0.2)) < 6.0 / math.sqrt(500)
    assert abs(float(shares @ (rows["x"][:, 0] * label)) - 0.2 * 4.75) < 6.0 * 0.2 / math.sqrt(500)


def test_counts_do_not_move(seeded):
    """A histogram's mean over moving rows is a staircase: its slope says nothing, and weights are taken instead."""

    class Above(dp.Sum):
        def contributions(self, block):
            return jnp.where(block.x > 2.0, 1.0, 0.0) if not isinstance(block.x, np.ndarray) else 1.0 * (block.x > 2.0)

    release = measured_sum(seeded, mu=0.5)
    question = Above(release.question.space)
    measured = read_measurements((question, release))
    model = get_row_model(centre_and_spread, ONE)
    problem = Problem(model, measured, 100.0)
    reference = find_reference(problem, model.vector({"a": 2.0, "s": 1.0}), 0)
    assert is_wide(problem, reference)
    moving = reparametrize_rows(model, reference.w)
    assert build_target(problem, reference, 0, paths=moving).is_weighted
    assert not build_target(Problem(model, read_measurements(release), 100.0), reference, 0, paths=moving).is_weighted


def test_finitely_many_rows_do_not_move(seeded):
    def coin():
        numpyro.sample("x0", dist.Bernoulli(numpyro.sample("p", dist.Uniform(0.0, 1.0))))

    model = RowModel(coin, ONE)
    problem = Problem(model, read_measurements(measured_sum(seeded, mu=0.01)), 100.0)
    reference = find_reference(problem, model.vector({"p": 0.5}), 0)
    assert build_target(problem, reference, 0, paths=reparametrize_rows(model, reference.w)).is_weighted


def test_a_spread_that_nothing_tells_stays_open(seeded, monkeypatch):
    """Of a sum alone s keeps its prior, and a is as uncertain as that leaves it: normal given s, of variance s²/n.

    The 5 % and 95 % points of s are e^∓1.645; a has an interval of 0.63 (by simulation), where V at the reference gives
    0.36. Chains are seeded; a hundred independent draws are within a factor of 1.6 of each but for 1e-9. The density is
    drawn from on a grid; ``make audit`` runs chains.
    """
    if not LONG:
        gridded_chains(monkeypatch, np.linspace(-5.0, 5.0, 41), np.linspace(-30.0, 30.0, 241))
    post = dp.infer(
        measured_sum(seeded, box=(-100.0, 100.0)), centre_and_spread, rows=100.0, undetermined="prior", chains=2,
        draws=600, warmup=300, seed=5,
    )  # fmt: skip
    low, high = np.log(post.interval("s", 0.9))
    assert -2.4 < low < -1.1
    assert 1.1 < high < 2.4
    below, above = post.interval("a", 0.9)
    assert 0.42 < above - below < 1.0
    with pytest.raises(TypeError, match="save post"):
        pickle.dumps(post)
    with pytest.raises(AttributeError, match="classifier or a regression"):
        post.predict([[1.0]])
    assert list(post.summary(0.5).columns)[:2] == ["mean", "sd"]


def test_a_model_that_has_changed_is_not_the_same():
    scale = 1.0

    def model():
        numpyro.sample("x0", dist.Normal(numpyro.sample("a", dist.Normal(0.0, scale)), 1.0))

    first = get_user_row_model(model, ONE)
    assert get_user_row_model(model, ONE) is first
    scale = 3.0
    assert get_user_row_model(model, ONE) is not first


def test_moments_that_numpyro_states_are_checked():
    """Its covariance of a multivariate t is the scale's; that of a Cauchy law does not exist."""

    def heavy():
        s = numpyro.sample("s", dist.LogNormal(0.0, 1.0))
        numpyro.sample("row", dist.MultivariateStudentT(5.0, jnp.zeros(2), s * jnp.eye(2)))

    def normal():
        s = numpyro.sample("s", dist.LogNormal(0.0, 1.0))
        numpyro.sample("row", dist.MultivariateNormal(jnp.zeros(2), s * jnp.eye(2)))

    for model, known in ((heavy, False), (normal, True)):
        result = RowModel(model, Layout(("x0", "x1")))
        assert result.has_moments
        assert result.has_correct_moments(np.zeros(1), 0) is known


def own(name):
    def model():
        numpyro.sample("x0", dist.Normal(numpyro.sample(name, dist.Normal(0.0, 1.0)), 1.0))

    return model


def test_threads_do_not_mix_models():
    with ThreadPoolExecutor(4) as pool:
        result = list(pool.map(lambda name: RowModel(own(name), ONE).names, "abcdefgh"))
    assert result == [(name,) for name in "abcdefgh"]


def shifted(site):
    def model():
        a = numpyro.sample("a", dist.Normal(0.0, 1.0))
        x = numpyro.sample("x0", dist.Normal(a, 1.0))
        site(a, x)

    return model


def scaled():
    with numpyro.handlers.scale(scale=2.0):
        own("a")()


def both():
    a = numpyro.sample("x0", dist.Normal(0.0, 1.0))
    numpyro.sample("row", dist.Normal(a, 1.0).expand([1]).to_event(1))


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (shifted(lambda a, x: numpyro.factor("f", -x * a)), "depends on the row"),
        (shifted(lambda a, x: numpyro.sample("o", dist.Normal(x, 1.0), obs=1.0)), "depends on the row"),
        (scaled, "handlers.scale"),
        (own("rows"), "rename"),
        (both, "not both"),
        (lambda: numpyro.sample("x0", dist.Normal(numpyro.sample("a", dist.ImproperUniform(
            dist.constraints.real, (), ())), 1.0)), "proper prior"),
    ],
)  # fmt: skip
def test_models_that_say_something_else(model, says):
    with pytest.raises(ValueError, match=says):
        RowModel(model, ONE)


def test_factors_of_parameters_are_priors():
    model = RowModel(shifted(lambda a, x: numpyro.factor("f", -a)), ONE)
    plain = RowModel(own("a"), ONE)
    v = np.array([0.7])
    assert math.isclose(float(model.call("log_prior", v)), float(plain.call("log_prior", v)) - 0.7)


def test_a_range_that_depends_on_a_parameter(seeded):
    def model():
        numpyro.sample("x0", dist.Uniform(0.0, numpyro.sample("a", dist.Uniform(1.0, 20.0))))

    with pytest.raises(ValueError, match="range does not depend"):
        dp.infer(measured_sum(seeded), model, rows=100.0, seed=0)


def test_a_prior_that_is_no_number(seeded):
    def coin():
        numpyro.sample("x0", dist.Bernoulli(numpyro.sample("p", dist.Uniform(0.0, 1.0))))
        numpyro.factor("f", -jnp.inf)

    with pytest.raises(ValueError, match="0 or not a number"):
        dp.infer(measured_sum(seeded, box=(0.0, 1.0), mu=1.0), coin, rows=100.0, seed=0)


def test_releases_that_are_not_of_one_data_set(seeded):
    one, other = (
        dp.Curator(dp.records.as_records(np.zeros((n, 1)), space=dp.Box(-1.0, 1.0), missing="fill")).measure(
            dp.Sum(dp.Box(-1.0, 1.0).for_columns(1)), dp.GaussianLoss(1.0), bits=seeded(n)
        )
        for n in (20, 30)
    )
    with pytest.raises(ValueError, match="20 rows and some of 30"):
        dp.infer([one, other], centre_and_spread)
    with pytest.raises(ValueError, match="twice"):
        dp.infer([one, one], centre_and_spread)
    with pytest.raises(ValueError, match="twice"):
        dp.infer([one, dp.Release.from_json(one.to_json())], centre_and_spread)


def test_releases_that_agree_by_chance_are_two(seeded):
    """Selected from a few, or with noise in whole numbers; but not one release given twice."""
    heads = dp.records.as_records(np.ones((40, 1)), space=dp.Box(0.0, 1.0), missing="fill")
    curator = dp.Curator(heads)
    mechanism = dp.mechanisms.FactoredExponential(
        lambda some, chances: some * np.asarray(chances), [0.1, 0.9], low=0.0, high=1.0
    )
    drawn = [mechanism.draw(curator, epsilon=40.0, bits=seeded(i)) for i in (0, 1)]
    assert drawn[0].release.value == drawn[1].release.value
    assert len(read_measurements(drawn).choices) == 2
    with pytest.raises(ValueError, match="twice"):
        read_measurements([drawn[0], drawn[0]])


@pytest.mark.parametrize(
    "start", [{}, {"a": 1.0, "s": 1.0, "t": 1.0}, {"a": np.nan, "s": 1.0}, {"a": [1.0], "s": -1.0}]
)
def test_starts_that_are_none(start):
    with pytest.raises(ValueError, match="start: expected"):
        get_row_model(centre_and_spread, ONE).vector(start)


def test_public_rows_by_the_names_of_classes():
    layout = Layout(("x0",), ("label",), ((0, 1),))
    result = read_public_rows((np.zeros((2, 1)), ["b", "a"]), layout, ("a", "b"))
    assert result["codes"].tolist() == [[1], [0]]
    with pytest.raises(ValueError, match="3 parts"):
        read_public_rows((1, 2, 3), layout)
    with pytest.raises(ValueError, match=r"got shape \(2, 3\)"):
        read_public_rows(np.zeros((2, 3)), ONE)
    assert read_public_rows(pd.DataFrame({"age": [1.0, 2.0]}), ONE)["x"].tolist() == [[1.0], [2.0]]
    with pytest.raises(ValueError, match="'age'"):
        read_public_rows(pd.DataFrame({"stay": [1.0]}), Layout(("age",)))
    with pytest.raises(ValueError, match="no column of categories"):
        read_public_rows((np.zeros((2, 1)), [0, 1]), ONE)


def test_more_kinds_of_rows_than_a_likelihood_takes_jointly(seeded, monkeypatch):
    """128 counts are pooled: as many combinations of them as there are parameters.

    Where the chains begin is near enough to the truth; ``make audit`` runs them.
    """
    if not LONG:
        still_chains(monkeypatch)
    values = tuple(range(128))
    data = np.random.default_rng(0).geometric(0.05, 3000)
    frame = pd.DataFrame({"k": np.minimum(data - 1, 127)})
    curator = dp.Curator(frame, schema=dp.Schema({"k": dp.Category(values)}))
    release = curator.measure(dp.Histogram(categories=128), dp.GaussianLoss(1.0), bits=seeded(1))

    def model():
        rate = numpyro.sample("rate", dist.LogNormal(-3.0, 1.0))
        numpyro.sample("k", dist.Categorical(logits=-rate * jnp.arange(128)))

    post = dp.infer(release, model, rows=3000.0, chains=2, draws=200, warmup=150, seed=0)
    assert post.likelihood == "pooled"
    truth, std = -math.log1p(-0.05), 0.05 / math.sqrt(3000)
    # Noise of variance 2 on each of 128 counts hardly adds: within eight deviations of the truth, fixed seeds
    assert abs(float(post.mean("rate")) - truth) < 8.0 * std
