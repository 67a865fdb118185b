"""``dp.infer``: the central-limit posterior from releases, what it refuses, and what is read off it."""

from __future__ import annotations

import io
import math
import subprocess
import sys
from contextlib import redirect_stderr

import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd
import pytest
from scipy.stats import norm

import discreet as dp
from discreet.door.release import Release
from discreet.inference import InferenceWarning, Posterior
from discreet.inference.augmented.augmentation import _start
from discreet.inference.clt.reference import Problem, find_reference
from discreet.inference.default_models import default_model
from discreet.inference.measurements import read_measurements
from discreet.inference.posterior import Diagnostics
from discreet.inference.rows.layout import Layout, read_public_rows
from discreet.inference.rows.row_model import get_row_model
from discreet.mechanisms import FactoredExponential
from discreet.records import Block
from effort import LONG
from gridded_chains import gridded_chains

# The noise is not seeded, so that short chains may complain; what they give is tested below.
pytestmark = pytest.mark.filterwarnings("ignore::discreet.inference.posterior.InferenceWarning")

BOX = dp.Box([-20.0, -20.0], [20.0, 20.0])
TRUTH, SPREAD = np.array([3.0, -1.0]), np.array([2.0, 1.0])
N = 1500


def two_columns():
    centre = numpyro.sample("centre", dist.Normal(0.0, 10.0).expand([2]).to_event(1))
    spread = numpyro.sample("spread", dist.LogNormal(0.5, 1.0).expand([2]).to_event(1))
    numpyro.deterministic("variance", spread**2)
    numpyro.sample("row", dist.Normal(centre, spread).to_event(1))


def rows(seed=0, count=N):
    return TRUTH + SPREAD * np.random.default_rng(seed).standard_normal((count, 2))


def complete(data, neighbors="replace-one", space=BOX):
    """Return a curator whose number of rows is public under replace-one."""
    from discreet.records import as_records

    return dp.Curator(as_records(data, space=space, missing="fill"), neighbors=neighbors)


def coin():
    """Of finitely many rows, so that little is compiled."""
    chance = numpyro.sample("chance", dist.Uniform(0.0, 1.0))
    numpyro.sample("x0", dist.Bernoulli(chance))


def thrown(neighbors):
    """Return a curator of 40 throws, 30 of them heads."""
    return complete(np.repeat([1.0, 0.0], [30, 10])[:, None], neighbors, dp.Box(0.0, 1.0))


@pytest.fixture(scope="module")
def measured():
    curator = complete(rows())
    first = curator.measure(dp.Moments(curator.space), dp.GaussianLoss(0.5))
    centre = first["first"] / N * np.asarray(BOX.scale)
    narrow = dp.Moments(curator.space, weights=(0.1, 0.1, 0.8))
    return centre, [first, curator.measure(narrow, dp.GaussianLoss(0.4))]


@pytest.fixture(scope="module")
def shown():
    return io.StringIO()


@pytest.fixture(scope="module")
def posterior(measured, shown):
    with redirect_stderr(shown):
        return dp.infer(measured[1], model=two_columns, chains=2, draws=1000, warmup=300, seed=3, progress=True)


class TestPosterior:
    def test_it_knows_noise_and_sampling(self, posterior, measured):
        """Given the spread, the centre is normal, of a variance that can be computed by hand: rows and noise add.

        The spread itself stays uncertain by half, so that it is the posterior's own that enters, not the true one.
        """
        scale = float(np.asarray(BOX.scale)[0])
        noises = [
            release.noise.variance / release.parts["first"].weight ** 2 * scale**2 / N**2 for release in measured[1]
        ]
        noise = 1.0 / np.sum(1.0 / np.array(noises))
        by_hand = np.sqrt(posterior.mean("variance") / N + noise)
        result = posterior.draws("centre").std(axis=0)
        assert np.all(np.abs(result / by_hand - 1.0) < 0.25)  # measured 2 ± 3 % over 80 columns
        # Two columns, each within 6.5 deviations but for 1e-10
        assert np.all(np.abs(posterior.mean("centre") - TRUTH) < 6.5 * np.sqrt(SPREAD**2 / N + noise))

    def test_what_can_be_read_off(self, posterior):
        assert posterior.names == ("centre", "spread", "variance")
        low, high = posterior.interval("centre", 0.8)
        assert low.shape == (2,)
        assert np.all(low < posterior.mean("centre"))
        assert np.all(high > posterior.mean("centre"))
        np.testing.assert_allclose(posterior.draws("variance"), posterior.draws("spread") ** 2)
        assert posterior.likelihood == "joint"
        assert posterior.guarantee is None
        assert "draws" in repr(posterior)
        assert list(posterior.data["posterior"].data_vars) == ["centre", "spread", "variance"]
        assert posterior.data.attrs["neighbors"] == "replace-one"
        assert posterior.summary().shape[0] == 6

    def test_predictive_rows(self, posterior):
        drawn = posterior.sample_predictive(4000, seed=1)
        assert drawn.shape == (4000, 2)
        # 4000 rows and 100 draws of the centre: within 7 standard errors
        assert np.all(np.abs(drawn.mean(axis=0) - TRUTH) < 1.5)
        with pytest.raises(ValueError, match="count"):
            posterior.sample_predictive(0)
        with pytest.raises(AttributeError, match="classifier"):
            posterior.predict_proba(np.zeros((1, 2)))

    def test_each_synthetic_table_is_of_one_draw(self, posterior):
        tables = posterior.synthesize(10, 4000, seed=1)
        assert [list(table.columns) for table in tables] == [["x0", "x1"]] * 10
        means = np.array([table.to_numpy().mean(axis=0) for table in tables])
        # A mean is that of its draw, within 7 standard errors of 4,000 rows; another's would be farther away.
        draws = posterior.draws("centre")
        nearest = np.abs(means[:, None] - draws).max(axis=2).min(axis=1)
        assert nearest.max() < 7.0 * (posterior.draws("spread").max() / math.sqrt(4000.0))
        assert means.std(axis=0, ddof=1).min() > 0.3 * draws.std(axis=0).min()  # 9 degrees of freedom: not all alike
        again = posterior.synthesize(10, 4000, seed=1)
        assert all(one.equals(other) for one, other in zip(tables, again, strict=True))
        assert len(posterior.synthesize(1, seed=0)[0]) == N  # as many as the data
        for wrong in ({"m": 0}, {"n": 0}, {"m": 10**6}):
            with pytest.raises(ValueError, match="".join(wrong)):
                posterior.synthesize(**wrong)

    def test_log_densities_are_averaged_over_the_posterior(self, posterior):
        x = TRUTH + np.array([[0.0, 0.0], [2.0, -1.0]])
        every = slice(None, None, len(posterior.draws("centre")) // 400)
        centre, spread = posterior.draws("centre")[every], posterior.draws("spread")[every]
        each = norm.logpdf(x[:, None, :], centre, spread).sum(axis=-1)
        np.testing.assert_allclose(posterior.score_samples(x), np.log(np.exp(each).mean(axis=1)), rtol=1e-9)

    def test_how_draws_were_made_is_said(self, posterior):
        says = posterior.diagnostics  # noise is not seeded, so that either sampler may have run
        assert says.sampler == posterior.data.attrs["sampler"]
        assert says.pareto_k == posterior.data.attrs["pareto_k"]
        assert says.path in repr(posterior)
        assert says.sampler == "nuts" or says.pareto_k < 0.5

    def test_wrong_names_and_levels(self, posterior):
        with pytest.raises(ValueError, match="centre"):
            posterior.interval("middle")
        with pytest.raises(ValueError, match="level"):
            posterior.interval("centre", 1.5)

    def test_a_bar_goes_to_its_end(self, posterior, shown):
        assert posterior
        assert "100%|" in shown.getvalue()

    def test_the_chains_are_complained_of(self):
        assert not Diagnostics(1.01, 500.0, 0, 1000).complaints
        bad = Diagnostics(1.3, 20.0, 100, 1000, 0.001).complaints
        assert [word for word in ("R-hat", "independent", "diverged", "cover") if any(word in one for one in bad)]
        assert len(bad) == 4
        shown = Posterior(None, "joint", Diagnostics(1.3, 900.0, 0, 1000), None, np.zeros((1, 1)), None, None)
        with pytest.warns(InferenceWarning, match="R-hat"):
            shown.warn()


class TestReference:
    def test_releases_are_joint_and_not_a_product(self):
        """The same sum twice with next to no noise says no more than once: rows are in both."""
        curator = complete(rows())
        releases = [curator.measure(dp.Sum(curator.space), dp.GaussianLoss(50.0)) for _ in range(3)]

        def centre_alone():
            centre = numpyro.sample("centre", dist.Normal(0.0, 10.0).expand([2]).to_event(1))
            numpyro.sample("row", dist.Normal(centre, np.array([2.0, 1.0])).to_event(1))

        stds = []
        for some in (releases[:1], releases):
            measured = read_measurements(some)
            problem = Problem(get_row_model(centre_alone, measured.layout), measured, float(N))
            reference = find_reference(problem, np.zeros(2), 0)
            stds.append(np.sqrt(np.diag(np.linalg.inv(reference.precision))))
        np.testing.assert_allclose(stds[0], SPREAD / math.sqrt(N), rtol=0.1)
        np.testing.assert_allclose(stds[1], stds[0], rtol=0.02)

    def test_near_the_border_of_a_support(self):
        """Where nearly all rows are heads the search must not run away."""
        heads = np.repeat([1.0, 0.0], [99, 1])[:, None]
        curator = dp.Curator(heads, space=dp.Box(0.0, 1.0))
        releases = [curator.measure(dp.Sum(curator.space), dp.LaplaceLoss(0.15)) for _ in range(3)]

        measured = read_measurements(releases)
        model = get_row_model(coin, measured.layout)
        reference = find_reference(Problem(model, measured, 100.0), model.vector({"chance": 0.5}), 0)
        assert abs(float(reference.w[0])) < 30.0

    def test_where_exact_chains_start(self):
        curator = thrown("replace-one")
        measured = read_measurements(curator.measure(dp.Sum(curator.space), dp.LaplaceLoss(20.0)))
        start = _start(Problem(get_row_model(coin, measured.layout), measured, 40.0), None, 3, 0)
        assert start.shape == (3, 1)
        assert np.all(start == start[0])
        # Noise of a scale of 0.05 heads hardly adds: the mode is at 30 of 40, and the search ends near it
        assert abs(1.0 / (1.0 + math.exp(-start[0, 0])) - 0.75) < 0.1


class TestMeasurements:
    def test_what_each_row_contributed(self, measured):
        """The contributions of the very rows sum to what was released, but for the noise."""
        result = read_measurements(measured[1])
        sums = result.contributions({"x": rows(), "codes": np.zeros((N, 0))}).sum(axis=0)
        # 12 numbers, each beyond 7 deviations with probability 3e-12
        assert np.all(np.abs(result.values - sums) < 7.0 * np.sqrt(result.variances))
        assert result.rows == N

    def test_files_and_pairs(self, measured):
        again = [Release.from_json(release.to_json()) for release in measured[1]]
        one, other = read_measurements(measured[1]), read_measurements(tuple(again))
        block = {"x": rows(count=50), "codes": np.zeros((50, 0))}
        np.testing.assert_array_equal(one.contributions(block), other.contributions(block))
        pair = read_measurements((measured[1][0].question, measured[1][0]))
        assert len(pair.sums) == 1

    def test_columns_of_different_releases(self):
        curator = dp.Curator(rows(), space=BOX)
        answers = [dp.statistics.mean(curator, column, epsilon=0.5, delta=1e-6) for column in ("x0", "x1")]
        result = read_measurements([answer.releases for answer in answers])
        assert result.layout.columns == ("x0", "x1")
        assert result.contributions({"x": rows(count=5), "codes": np.zeros((5, 0))}).shape == (5, result.values.size)

    def test_refusals(self, measured):
        add_remove = complete(rows(), "add-remove")
        other = add_remove.measure(dp.Sum(BOX), dp.GaussianLoss(1.0, "add-remove"))
        with pytest.raises(ValueError, match="neighbour relation"):
            read_measurements([*measured[1], other])
        named = dp.Curator(rows(), space=BOX, name="elsewhere").measure(dp.Sum(BOX), dp.GaussianLoss(1.0))
        unnamed = dp.Curator(rows(), space=BOX).measure(dp.Sum(BOX), dp.GaussianLoss(1.0))
        with pytest.raises(ValueError, match="one data set"):
            read_measurements([named, unnamed])
        some = dp.Curator(rows(), space=BOX).where("x0 > 0").measure(dp.Sum(BOX), dp.GaussianLoss(1.0))
        with pytest.raises(ValueError, match="same rows"):
            read_measurements([some, unnamed])
        schema = dp.Schema({"kind": dp.Category(["a", "b"])})
        mode = dp.Curator(np.zeros((5, 1)), schema=schema).measure(dp.Mode(2), dp.PureLoss(1.0))
        with pytest.raises(ValueError, match="selection"):
            read_measurements(mode)
        with pytest.raises(ValueError, match="question beside"):
            read_measurements(Release.from_dict(unnamed.to_dict() | {"asked": None}))
        for nothing in ([], 3):
            with pytest.raises(ValueError, match="expected"):
                read_measurements(nothing)
        with pytest.raises(ValueError, match="fit first"):
            read_measurements(dp.GaussianMixture(2))


class TestModels:
    LAYOUT = Layout(("a", "b"), ("kind",), (("x", "y"),))

    def test_sites_that_do_not_fit(self):
        def nothing():
            numpyro.sample("theta", dist.Normal(0.0, 1.0))

        def too_long():
            theta = numpyro.sample("theta", dist.Normal(0.0, 1.0))
            numpyro.sample("row", dist.Normal(theta, 1.0).expand([3]).to_event(1))

        def unlabelled():
            theta = numpyro.sample("theta", dist.Normal(0.0, 1.0))
            numpyro.sample("row", dist.Normal(theta, 1.0).expand([2]).to_event(1))

        def hidden():
            z = numpyro.sample("z", dist.Bernoulli(0.5))
            numpyro.sample("row", dist.Normal(1.0 * z, 1.0).expand([2]).to_event(1))
            numpyro.sample("label", dist.Bernoulli(0.5))

        def fixed():
            numpyro.sample("row", dist.Normal(0.0, 1.0).expand([2]).to_event(1))
            numpyro.sample("label", dist.Bernoulli(0.5))

        def broken():
            raise RuntimeError("no")

        for model, says in (
            (nothing, "'row'"), (too_long, "shape"), (unlabelled, "categories"), (hidden, "discrete"),
            (fixed, "parameter"), (broken, "RuntimeError"),
        ):  # fmt: skip
            with pytest.raises(ValueError, match=says):
                get_row_model(model, self.LAYOUT)

    def test_public_rows(self):
        result = read_public_rows((np.ones((3, 2)), ["x", "y", "x"]), self.LAYOUT)
        assert result["codes"].ravel().tolist() == [0, 1, 0]
        for wrong in (
            np.ones((3, 2)), (np.ones((3, 3)), ["x"] * 3), (np.ones((3, 2)), ["z"] * 3), (np.ones((3, 2)), ["x"] * 2),
            (np.full((3, 2), np.nan), ["x"] * 3),
        ):  # fmt: skip
            with pytest.raises(ValueError, match="public"):
                read_public_rows(wrong, self.LAYOUT)

    def test_what_releases_do_not_determine(self):
        curator = thrown("replace-one")
        release = curator.measure(dp.Sum(curator.space), dp.GaussianLoss(1.0))

        def together():
            one, other = (numpyro.sample(name, dist.Normal(0.0, 5.0)) for name in ("one", "other"))
            numpyro.sample("x0", dist.Bernoulli(logits=one + other))

        with pytest.raises(ValueError, match="undetermined='prior'"):
            dp.infer(release, model=together, seed=0)

    def test_the_number_of_rows_must_be_known(self):
        curator = thrown("add-remove")
        release = curator.measure(dp.Sum(curator.space), dp.GaussianLoss(1.0, "add-remove"))
        with pytest.raises(ValueError, match="rows=None"):
            dp.infer(release, model=coin, seed=0)

    @pytest.mark.parametrize(
        ("wrong", "says"),
        [
            ({"model": 3}, "model"),
            ({"likelihood": "best"}, "likelihood"),
            ({"rows": 7}, "rows"),
            ({"rows": -1}, "rows"),
            ({"draws": 0}, "draws"),
            ({"chains": 0}, "chains"),
            ({"undetermined": "maybe"}, "undetermined"),
            ({"seed": -1}, "seed"),
        ],
    )
    def test_wrong_arguments(self, measured, wrong, says):
        with pytest.raises(ValueError, match=says):
            dp.infer(measured[1], **({"model": two_columns} | wrong))

    def test_what_has_no_model(self):
        fitted = dp.KMeans(2, epsilon=1.0, delta=1e-6, bounds=dp.Ball(20.0), method="dplloyd").fit(rows())
        with pytest.raises(ValueError, match="KMeans"):
            dp.infer(fitted)
        release = complete(rows()).measure(dp.Sum(BOX), dp.GaussianLoss(1.0))
        with pytest.raises(ValueError, match="model"):
            dp.infer(release)
        median = dp.statistics.median(complete(rows()), "x0", epsilon=1.0)
        with pytest.raises(ValueError, match="for quantiles release a histogram"):
            dp.infer([release, median], model=two_columns)


def test_a_loaded_estimator_has_the_same_model():
    mixture = dp.GaussianMixture(2, epsilon=2.0, delta=1e-6, bounds=dp.Ball(20.0)).fit(rows())
    loaded = dp.GaussianMixture.from_json(mixture.to_json())
    one, other = read_measurements(mixture), read_measurements(loaded)
    block = {"x": rows(count=20), "codes": np.zeros((20, 0))}
    np.testing.assert_array_equal(one.contributions(block), other.contributions(block))
    assert default_model(loaded, other).model is default_model(mixture, one).model
    for each in other.sums:
        assert each.question.contributions(Block(rows(count=2), np.zeros((2, 0), int))).shape[1] == each.question.size


def test_draws_of_the_factored_exponential_mechanism(monkeypatch):
    """Through the same front, alone with the normal likelihood and with sums exactly; 40 rows, 30 of them heads.

    Alone they are drawn from on a grid, and with sums in ``test_inference_exact.py``; ``make audit`` runs chains here.
    """
    if not LONG:
        gridded_chains(monkeypatch, np.linspace(-8.0, 8.0, 321))

    def score(some, chances):
        return np.log(np.where(some == 1, chances, 1 - np.array(chances)))

    curator = thrown("replace-one")
    mechanism = FactoredExponential(score, np.arange(1, 10) / 10, low=np.log(0.1), high=np.log(0.9))
    drawn = [mechanism.draw(curator, epsilon=40.0) for _ in range(2)]
    release = curator.measure(dp.Sum(curator.space), dp.LaplaceLoss(20.0))
    posteriors = [dp.infer(drawn, model=coin, chains=2, draws=200, warmup=100, seed=0)]
    if LONG:
        together = {"model": coin, "likelihood": "exact", "chains": 2, "draws": 300, "warmup": 100, "seed": 0}
        posteriors.append(dp.infer([*drawn, release], **together))
        assert posteriors[-1].likelihood == "exact"
    for posterior in posteriors:
        low, high = posterior.interval("chance", 0.999)
        assert low < 0.75 < high
        assert high - low < 0.6
    with pytest.raises(ValueError, match="likelihood='exact'"):
        dp.infer([*drawn, release], model=coin, seed=0)


def test_without_the_extra_it_says_what_to_install():
    code = "import sys; sys.modules['numpyro'] = None; import discreet; discreet.infer"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'discreet[bayes]'" in result.stderr


def test_rows_of_a_person_may_be_alike(seeded):
    """Four equal rows of each person: the chance is known from as many throws as there are persons."""
    heads = np.random.default_rng(0).uniform(size=500) < 0.7
    table = pd.DataFrame({"person": np.repeat(np.arange(500), 4), "x0": np.repeat(heads * 1.0, 4)})
    schema, spreads = dp.Schema({"x0": dp.Number(0, 1)}), []
    for given in ({"unit": "person", "max_rows": 4}, {}):
        curator = dp.Curator(table, schema=schema, **given)
        release = curator.measure(dp.Moments(curator.space), dp.GaussianLoss(1e3), bits=seeded(0))
        spreads.append(dp.infer(release, coin, rows=2000, chains=2, draws=400, seed=0).draws("chance").std())
    np.testing.assert_allclose(spreads[0], math.sqrt(0.7 * 0.3 / 500), rtol=0.2)
    np.testing.assert_allclose(spreads[0] / spreads[1], 2.0, rtol=0.2)
