"""What low bits tell: attacks on numbers that really came through the door, and on naive noise, which they break.

The promise for two neighbours is that nobody guesses better than (1 + δ(0))/2 which of them it was, δ(ε) being the
curve of the loss. An attack that looks at bits, at the support or at the spacing of released numbers must not do
better, and where nothing of a value is left in what it looks at, no better than a coin. "Better" is said at a
confidence of 1 − 10⁻⁹ (Clopper and Pearson), so a failure means something.
"""

from __future__ import annotations

import math
import re
import warnings
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtr

import discreet as dp
from conftest import FALSE_ALARM
from discreet import mechanisms as dm
from discreet import statistics as st
from discreet.door import Curator
from discreet.door import exit as door
from discreet.door.schedule import StreamMechanism
from discreet.noise import EuclideanNoise, GaussianNoise, LaplaceNoise, NoiseDistribution
from discreet.queries.functions.score_queries import PLACES
from discreet.queries.mechanism import Euclidean
from discreet.queries.series.stream_sums import StreamSums
from discreet.signals import Stream
from effort import measured, size
from low_bits import MARKS, beats, best_guess, guessed, image_marks, on_grid, step_marks, within_cells

COLUMNS, ROWS = 64, 20
RELEASES = size(50, 2_500)  # of 64 numbers each
CELLS, TINY = 16, 0.3

LOSSES = {
    "Gaussian": dp.GaussianLoss(4.0),
    "Laplace": dp.LaplaceLoss(30.0),
    **size(
        {},
        {
            "Gaussian, narrow": dp.GaussianLoss(50.0),
            "Gaussian, wide": dp.GaussianLoss(1e-3),
            "Laplace, wide": dp.LaplaceLoss(0.01),
        },
    ),
}


def rows_of(kind, radius):
    """Return two neighbours: a column's sums are zero and not, or the largest that there can be and a little less.

    A row that is replaced moves them by a number with all bits of its mantissa in use.
    """
    rows = np.zeros((ROWS, COLUMNS)) if kind == "zero" else np.full((ROWS, COLUMNS), radius)
    other = rows.copy()
    other[0] = radius * TINY
    return rows, other


def released(rows, radius, loss, bits, many=RELEASES):
    """Return the numbers of many releases of one sum, and the law that they carry."""
    curator = Curator(rows, space=dp.Box(-radius, radius))
    query = dp.Sum(curator.space)
    releases = [curator.measure(query, loss, bits=bits) for _ in range(many)]
    assert {release.noise for release in releases} == {releases[0].noise}
    assert all(release.exact and release.caveat is None for release in releases)
    return np.concatenate([release.value for release in releases]), releases[0].noise


def ideal_guess(noise, moved):
    """Return how often a coordinate can be guessed that moves by so much, whatever one looks at."""
    shift = moved / noise.scale
    return float(ndtr(shift / 2.0)) if isinstance(noise, GaussianNoise) else 1.0 - 0.5 * math.exp(-shift / 2.0)


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
@pytest.mark.parametrize("kind", ["zero", "largest"])
def test_the_low_bits_of_a_release_are_a_coin(kind, loss, seeded):
    """Neighbours of sum zero, and of the largest sum; radii at which binary and decimal steps do not meet."""
    radius = {"zero": 1.0, "largest": 3e5}[kind]
    bits, pair = seeded(1200), rows_of(kind, radius)
    (one, noise), (other, same) = (released(rows, radius, loss, bits) for rows in pair)
    assert noise == same
    assert on_grid(one, noise.grid)
    assert on_grid(other, noise.grid)
    chance = ideal_guess(noise, (1.0 - TINY if kind == "largest" else TINY) / math.sqrt(COLUMNS))
    name, hits, trials = best_guess(one, other, MARKS)
    assert not beats(hits, trials, chance, FALSE_ALARM), (name, hits / trials)
    coin, heads, tosses = best_guess(one, other, step_marks(noise.grid, min(8, noise.fineness - 6)))
    assert not beats(heads, tosses, 0.5, FALSE_ALARM), (coin, heads / tosses)
    measured(
        f"noise-bits-{kind}-{list(LOSSES.values()).index(loss)}",
        loss=repr(loss),
        fineness=noise.fineness,
        guesses=trials,
        allowed=chance,
        by_float_bits=hits / trials,
        by_low_bits_of_steps=heads / tosses,
    )


def naive_pair(noise):
    """Return many sums of a value and a naive float noise, for the neighbours 0 and 1/4 at scale 1/2."""
    many = size(40_000, 400_000)
    rng = np.random.default_rng(1201)
    draw = {"normal": rng.normal, "laplace": rng.laplace}[noise]
    return 0.0 + draw(0.0, 0.5, many), 0.25 + draw(0.0, 0.5, many)


@pytest.mark.parametrize("noise", ["normal", "laplace"])
def test_the_same_attacks_break_naive_noise(noise):
    """The power of the attack: at the same scale and with the same marks it beats the promise by far."""
    one, other = naive_pair(noise)
    distribution = GaussianNoise(0.5) if noise == "normal" else LaplaceNoise(0.5)
    name, hits, trials = best_guess(one, other, MARKS)
    chance = ideal_guess(distribution, 0.25)
    assert beats(hits, trials, chance + 0.01, FALSE_ALARM), (name, hits / trials, chance)
    measured(f"noise-naive-{noise}", guesses=trials, allowed=chance, by_float_bits=hits / trials, mark=name)


def test_mironovs_attack_knows_a_naive_laplace_and_not_ours(seeded):
    """The mark is which of the two values the number can come from, by the logarithm of a uniform float."""
    many = size(1_000, 40_000)
    marks = image_marks(0.0, 0.25, 0.5)
    naive = guessed(*(part[:many] for part in naive_pair("laplace")), marks)
    noise, bits = LaplaceNoise(0.5), seeded(1202)
    ours = guessed(*(noise.add(np.full(many, value), bits) for value in (0.0, 0.25)), marks)
    allowed = ideal_guess(noise, 0.25)
    assert beats(*naive, allowed + 0.05, FALSE_ALARM)
    assert not beats(*ours, allowed, FALSE_ALARM)
    measured("noise-mironov", guesses=naive[1], allowed=allowed, naive=naive[0] / naive[1], discreet=ours[0] / ours[1])


class TestPrecision:
    """Haney and others: a number that was added to a large one has lost its last bits."""

    @pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
    @pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
    def test_one_public_grid_whatever_the_rows_are(self, loss, relation, seeded):
        """Nothing of the rows is in the grid: zero rows, tiny ones, all at the bound, far out of it, none."""
        radius, bits, distributions = 1e3, seeded(1203), set()
        loss = type(loss)(*(getattr(loss, name) for name in loss.__match_args__[:1]), relation)
        for rows in (0.0, 1e-300, radius / 3.0, -radius, 1e308, math.nan):
            given = {"at_most": 10**7} if relation == "add-remove" else {}
            curator = Curator(
                np.full((ROWS, COLUMNS), rows), space=dp.Box(-radius, radius), neighbors=relation, **given
            )
            release = curator.measure(dp.Sum(curator.space), loss, bits=bits)
            assert on_grid(release.value, release.noise.grid)
            distributions.add(release.noise)
        assert len(distributions) == 1

    def test_at_the_largest_sums_that_fit(self, seeded):
        """2⁵² steps from zero, as far as a statistic may be: the low bits of zero and of the largest are one law."""
        noise, many = GaussianNoise(1.0, 40), size(20_000, 2_000_000)
        bits, largest = seeded(1204), 2.0**12 * (1.0 - 2.0**-40)
        with pytest.raises(OverflowError, match="nothing was released"):
            noise.add([2.0**12 + 1.0])
        result = [noise.add(np.full(many, value), bits) for value in (0.0, largest, -largest)]
        assert all(on_grid(values, noise.grid) for values in result)
        for far in result[1:]:
            name, hits, trials = best_guess(result[0], far, step_marks(noise.grid, 8))
            assert not beats(hits, trials, 0.5, FALSE_ALARM), name
        measured("noise-largest", guesses=trials, by_low_bits_of_steps=hits / trials)

    def test_a_float_sum_is_caught(self):
        """A naive sum with a large value, from precision alone: nearly always."""
        rng, many = np.random.default_rng(1205), size(2_000, 200_000)
        near, far = (value + rng.normal(size=many) for value in (0.0, 4096.0))
        hits, trials = guessed(near, far, MARKS["precision"])
        assert beats(hits, trials, 0.95, FALSE_ALARM)
        measured("noise-precision-naive", guesses=trials, by_precision=hits / trials)

    def test_exact_noise_on_a_value_beside_the_grid_is_caught(self, seeded):
        """Without putting the value on the grid first, exact noise leaves all that lies between two steps."""
        noise, bits = LaplaceNoise(0.5, 20), seeded(1206)
        many = size(1_000, 50_000)
        one, other = (value + noise.grid * noise.sample(many, bits) for value in (0.25, 0.25 + TINY * noise.grid))
        assert beats(*guessed(one, other, step_marks(noise.grid, 8)["on the grid"]), 0.95, FALSE_ALARM)
        right = [noise.add(np.full(many, value), bits) for value in (0.25, 0.25 + TINY * noise.grid)]
        assert not beats(*guessed(*right, step_marks(noise.grid, 8)["on the grid"]), 0.5, FALSE_ALARM)

    @pytest.mark.parametrize("kind", [GaussianNoise, LaplaceNoise])
    def test_finer_grids_refine_the_same_draw(self, kind, seeded):
        """The bits that a draw hands out are those of one real number: a coarser grid is a rounding of a finer."""
        many = size(5_000, 1_000_000)
        finest = kind(1.0, 52).sample(many, seeded(1207))
        for fineness in (51, 40, 20, 8, 0):
            coarse = kind(1.0, fineness).sample(many, seeded(1207))
            drop = 52 - fineness
            assert np.abs(finest - (coarse << drop)).max() <= 1 << (drop - 1)


def captured(call, rows):
    """Return what went through the door while ``call`` had its rows: the plan, and the private numbers it drew from."""
    result, drawn = [], []
    draw, wrap = door.draw_plan, door.make_measured

    def watched(plan, collected, bits):
        drawn.append((plan, collected))
        return draw(plan, deepcopy(collected) if isinstance(collected, np.ndarray) else collected, bits)

    def wrapped(**facts):
        release = wrap(**facts)
        result.append((*drawn.pop(), release))
        return release

    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of rows that say nothing of a line
        patch.setattr(door, "draw_plan", watched)
        patch.setattr(door, "make_measured", wrapped)
        call(rows)
    assert not drawn
    return result


def grids(plan):
    """Return the laws on a grid that a plan draws with, the one that comes last first."""
    distributions = [plan.draw] if isinstance(plan.draw, NoiseDistribution) else []
    return distributions + [
        distribution for distribution, _ in plan.first if isinstance(distribution, NoiseDistribution)
    ]


def median_of(rows):
    return float(np.median(rows))


def closeness(rows, points):
    return -np.abs(rows[:, :1] - np.asarray(points, dtype=np.float64)).clip(max=1.0).sum(axis=0)


def mean_of(rows):
    return rows.mean(axis=0)


UNIT = {"bounds": (-1.0, 1.0)}
LABELS = np.arange(40) % 2
# Every passage of the library, by a public call that takes it first. Rows are of shape (40, 3), in [−1, 1].
WAYS = {
    "Additive": lambda x: st.mean(x[:, :1], **UNIT, epsilon=1.0, delta=1e-6),
    "Exponential": lambda x: _mode(x, dp.BoundedRangeLoss(1.0)),
    "NoisyMax": lambda x: _mode(x, dp.PureLoss(1.0)),
    "Euclidean": lambda x: _sum_by(x, Euclidean(), dp.PureLoss(1.0)),
    "SmoothMedian": lambda x: dm.smooth_median(x[:, 0], **UNIT, epsilon=1.0),
    "SmoothFunction": lambda x: dm.smooth_sensitivity(
        median_of, lambda rows, beta: 0.05, x[:, 0], **UNIT, output=(-1, 1), epsilon=1.0
    ),
    "ExponentialChoice": lambda x: dm.exponential(
        closeness, x[:, 0], [-0.5, 0.0, 0.5], **UNIT, sensitivity=1.0, epsilon=1.0
    ),
    "IntervalChoice": lambda x: dm.exponential_on_interval(
        closeness, x[:, 0], -1.0, 1.0, **UNIT, sensitivity=1.0, epsilon=1.0, cells=CELLS
    ),
    "OutputPerturbation": lambda x: dm.output_perturbation(
        mean_of, x, **UNIT, sensitivity=0.1, output=(-1, 1), size=3, epsilon=1.0, delta=1e-6
    ),
    "OutputPerturbation, in L2": lambda x: dm.output_perturbation(
        mean_of, x, **UNIT, sensitivity=0.1, output=(-1, 1), size=3, epsilon=1.0
    ),
    "RowNoise": lambda x: dm.input_perturbation(x, **UNIT, epsilon=1.0, delta=1e-6),
    "RowNoise, in L2": lambda x: dm.input_perturbation(x, **UNIT, epsilon=1.0),
    "QuantileMechanism": lambda x: st.quantile(x[:, 0], 0.5, **UNIT, epsilon=1.0),
    "FactoredMechanism": lambda x: dm.FactoredExponential(_closeness_of_rows, [-0.5, 0.0, 0.5]).draw(
        x[:, 0], **UNIT, epsilon=1.0
    ),
    "ProposeTestRelease": lambda x: dm.propose_test_release(
        median_of, lambda rows: 40.0, x[:, 0], **UNIT, proposal=0.1, output=(-1, 1), epsilon=2.0, delta=1e-6
    ),
    "BlockMean": lambda x: dm.sample_and_aggregate(median_of, x[:, 0], **UNIT, output=(-1, 1), epsilon=1.0, blocks=5),
    "BlockMedian": lambda x: dm.sample_and_aggregate(
        median_of, x[:, 0], **UNIT, output=(-1, 1), epsilon=1.0, aggregate="median", blocks=5, cells=CELLS
    ),
    "StreamNoise": lambda x: Stream(**UNIT, horizon=4, epsilon=1.0, at_most=100).add(x[:, 0]),
    "ScatterNoise": lambda x: st.covariance(x, **UNIT, epsilon=1.0, delta=1e-6),
    "GaussianObjective": lambda x: _classified(dp.LogisticRegression, x, "objective"),
    "PureObjective": lambda x: _classified(dp.LogisticRegression, x, "objective-2011"),
    "NoisyMinimum": lambda x: _classified(dp.LogisticRegression, x, "output"),
    "OneDirection": lambda x: dp.PCA(1, epsilon=4.0, delta=1e-6, bounds=dp.Ball(2.0), method="exponential").fit(x),
    "Frame": lambda x: dp.PCA(1, epsilon=4.0, delta=1e-6, bounds=dp.Ball(2.0), method="gibbs").fit(x),
    "a mixture": lambda x: dp.GaussianMixture(2, epsilon=1.0, delta=1e-6, bounds=dp.Ball(2.0), n_steps=2).fit(x),
    "clusters": lambda x: dp.KMeans(2, epsilon=1.0, delta=1e-6, bounds=dp.Ball(2.0)).fit(x),
    "a regression": lambda x: dp.LinearRegression(epsilon=1.0, delta=1e-6, bounds=(-1, 1), target_bounds=(-1, 1)).fit(
        x[:, :2], x[:, 2]
    ),
    "a histogram": lambda x: st.histogram(x[:, :1], bins=4, **UNIT, epsilon=1.0),
}
IDEALISED = {
    "Euclidean", "SmoothMedian", "SmoothFunction", "OutputPerturbation, in L2", "RowNoise, in L2", "PureObjective",
    "OneDirection", "Frame",
}  # fmt: skip
STATED = {
    "OutputPerturbation",
    "OutputPerturbation, in L2",
    "ExponentialChoice",
    "IntervalChoice",
    "SmoothFunction",
    "ProposeTestRelease",
}
ABSTRACT = {"RowMechanism", "SmoothMechanism", "BlockMechanism", "MinimumMechanism"}


def _mode(rows, loss):
    curator = Curator(np.sign(rows[:, :1]).clip(0), schema=dp.Schema({"x": dp.Category([0, 1])}))
    return curator.measure(dp.Mode(2), loss)


def _sum_by(rows, mechanism, loss):
    curator = Curator(rows, space=dp.Box(-1.0, 1.0))
    return curator.measure(dp.Sum(curator.space), loss, mechanism=mechanism)


def _closeness_of_rows(rows, points):
    return -np.abs(rows[:, :1] - np.asarray(points)[None, :])


def _classified(kind, rows, method):
    return kind(epsilon=2.0, delta=1e-6, bounds=dp.Ball(2.0), classes=[0, 1], method=method, C=1.0).fit(rows, LABELS)


def passages():
    """Return the names of all passages in the library's files; to import them all takes seconds."""
    texts = [file.read_text(encoding="utf-8") for file in Path(dp.__file__).parent.rglob("*.py")]
    bases = dict(re.findall(r"^class (\w+)\(([^)]*)\):", "\n".join(texts), re.MULTILINE))
    result, ahead = set(), ["Mechanism"]
    while ahead:
        base = re.compile(rf"\b{ahead.pop()}\b")
        new = {name for name, its in bases.items() if base.search(its)} - result
        result |= new
        ahead += new
    return result - ABSTRACT


def test_every_passage_is_attacked():
    result = passages()
    assert {"Additive", "BlockMedian", "Frame"} <= result
    assert result <= {name.partition(",")[0] for name in WAYS}


def neighbours():
    """Return rows at the middle of their bounds, so that sums are zero, and the same with one that is not."""
    rows = np.zeros((40, 3))
    other = rows.copy()
    other[0] = [TINY, -0.7, 0.1]
    return rows, other


@pytest.mark.parametrize("name", WAYS)
def test_what_a_release_says_of_itself_is_true(name, seeded):
    """What says exact is steps of a public grid, a number of a candidate or a place in a cell, for both neighbours.

    What says idealised has a caveat, and the attack may see more than its loss allows: how much is written down.
    """
    firsts, seconds = (captured(WAYS[name], rows) for rows in neighbours())
    for plan, _, release in firsts + seconds:
        assert not plan.exact or in_public(plan, release.value[None])
    (plan, values, release), (same, others, _) = firsts[0], seconds[0]
    assert plan.loss == same.loss
    assert release.exact is plan.exact is same.exact is (name not in IDEALISED)
    assert (release.caveat is None) is (plan.exact and name not in STATED)
    assert bool(plan.declared) is ("stated" in release.declared) is (name in STATED)
    many, bits = size(12, 1_500), seeded(1208)
    one, other = (
        np.array([door.draw_plan(each, private, bits) for _ in range(many)])
        for each, private in ((plan, values), (same, others))
    )
    allowed = (1.0 + plan.loss.delta_at(0.0)) / 2.0
    mark, hits, trials = best_guess(one[:, 0], other[:, 0], MARKS)
    measured(
        f"noise-passage-{list(WAYS).index(name):02}",
        passage=name,
        exact=plan.exact,
        guesses=trials,
        allowed=allowed,
        by_float_bits=hits / trials,
        mark=mark,
    )
    if plan.exact:
        assert not beats(hits, trials, allowed, FALSE_ALARM), (mark, hits / trials)
        assert grids(plan) == grids(same)
        for drawn in (one, other):
            assert in_public(plan, drawn)


def in_public(plan, drawn):
    """Return whether numbers are of a set that has nothing of the rows in it."""
    distributions = grids(plan)
    assert plan.noise is None or plan.noise in distributions
    if distributions:  # where noise goes into a problem that is then solved, a second one covers what the solver leaves
        return on_grid(drawn[:, 1] if "passed" in plan.parts else drawn, distributions[0].grid)
    if plan.kind == "sampled" and "value" in plan.parts:
        return within_cells(drawn, -1.0, 1.0, CELLS, PLACES)
    return bool((drawn == np.rint(drawn)).all())


def test_the_numbers_of_a_stream_lie_on_one_grid(seeded):
    """They come one after the other; the low bits of neighbours are a coin there too."""
    many, result = size(500, 60_000), []
    for value in (0.0, TINY):
        curator = Curator(np.zeros((0, 1)), space=dp.Box(0.0, 1.0))
        question = StreamSums(0.0, 1.0, 1.0, many, many, 10**6)
        standing = StreamMechanism(curator, question, dp.GaussianLoss(0.5), bits=seeded(1210))
        releases = [standing.draw(value) for _ in range(many)]
        assert {release.noise for release in releases} == {standing.noise}
        result.append(np.concatenate([release.value for release in releases]))
        assert on_grid(result[-1], standing.noise.grid)
    mark, hits, trials = best_guess(*result, step_marks(standing.noise.grid, 8))
    assert not beats(hits, trials, 0.5, FALSE_ALARM), mark


def test_the_order_within_a_step_of_a_stream_changes_no_bit(seeded):
    rng = np.random.default_rng(1211)
    steps = [rng.choice([-1.0, 1.0], 200) * 10.0 ** rng.uniform(-15.0, 0.0, 200) for _ in range(8)]
    given = {"bounds": (-1, 1), "horizon": 8, "epsilon": 1.0}
    sums = []
    for shuffled in (False, True):
        stream = Stream(**given, bits=seeded(1212))
        sums.append([stream.add(rng.permutation(rows) if shuffled else rows) for rows in steps])
    assert sums[0] == sums[1]


@pytest.mark.parametrize("dimension", [1, 3])
def test_noise_with_a_radius_of_floats_is_on_a_public_grid_too(dimension, seeded):
    """Idealised is how it is drawn; what is released are whole steps, whose low bits say nothing of the value."""
    noise, bits, many = EuclideanNoise(1.0, dimension), seeded(1209), size(2_000, 100_000)
    near, far = (noise.add(np.full((many, dimension), value), bits)[:, 0] for value in (0.0, 4096.0))
    assert on_grid(near, noise.grid)
    assert on_grid(far, noise.grid)
    marks = {"precision": MARKS["precision"], **step_marks(noise.grid, 8)}
    mark, hits, trials = best_guess(near, far, marks)
    assert not beats(hits, trials, 0.5, FALSE_ALARM), mark
