"""One way out: no question and no mechanism stands outside of its room, only the door draws, and the order is kept."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from types import new_class

import duckdb
import numpy as np
import pytest
from array_api_compat import array_namespace

import discreet as dp
from discreet import mechanisms
from discreet.door import exit as door_exit
from discreet.door.schedule import StreamMechanism
from discreet.guarantees import Loss
from discreet.ledger import Ledger
from discreet.noise import Bits, GaussianNoise, NoiseDistribution
from discreet.queries import Bound, Mechanism, Part, Query, Question, RowQuery
from discreet.queries.adaptors import Weighted
from discreet.queries.mechanism import Euclidean, NoisyMax, Plan
from discreet.queries.question import Selection
from discreet.queries.question_files import NAMES, PLACES, describe
from discreet.queries.series.stream_sums import StreamSums

SOURCE = Path(dp.__file__).parent
ROWS = np.random.default_rng(0).uniform(0.0, 10.0, (200, 2))


def every_subclass(kind):
    for one in kind.__subclasses__():
        yield one
        yield from every_subclass(one)


def library():
    for module in walk_packages(dp.__path__, "discreet."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    result = {*every_subclass(Question), *every_subclass(Mechanism)}
    return [one for one in result if one.__module__.startswith("discreet.")]


def test_no_question_and_no_mechanism_stands_outside_of_its_room():
    everything = library()
    assert len(everything) > 70
    assert {one.__module__.split(".")[1] for one in everything} == {"queries"}


def test_every_name_in_files_is_one_class_and_is_there():
    assert len(NAMES) == len(PLACES)
    for (module, name), kind in NAMES.items():
        assert getattr(import_module(module), name).__module__ == module, kind


def calls(path: Path) -> set[tuple[str, int]]:
    """Return the calls of a module that need random bits: samples, draws, noise on numbers."""
    drawing = {
        "words",
        "sample",
        "draw",
        "categorical",
        "bernoulli_exp",
        "uniform_integers",
        "bingham",
        "gibbs_bingham",
    }
    result = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in drawing:
                result.add((name, node.lineno))
    return result


def distributions(path: Path) -> set[int]:
    """Return the lines of methods that sample a distribution: they are given bits by the door, and no rows."""
    lines: set[int] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef) and node.name == "sample":
            lines |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines


def test_questions_and_mechanisms_draw_nothing():
    for path in sorted((SOURCE / "queries").rglob("*.py")):
        public = {"log_likelihood.py"}  # it draws rows of a public model, for the ends of an interval
        if path.name not in public:
            assert {line for _, line in calls(path)} <= distributions(path), path
        text = ast.parse(path.read_text(encoding="utf-8"))
        taking = {
            node.name
            for node in ast.walk(text)
            if isinstance(node, ast.FunctionDef) and "bits" in {argument.arg for argument in node.args.args}
        }
        assert taking <= {"sample"}, path


def test_only_the_exit_makes_measured_releases():
    importers = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if "make_measured" in path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
        and node.module == "discreet.door.release"
        and "make_measured" in {alias.name for alias in node.names}
    }
    assert importers == {"door/exit.py"}
    assert not hasattr(dp.door, "make_measured")


class Loud(Query):
    """A count that writes down when it is asked for what."""

    name = "loud"

    def __init__(self, heard: list[str]) -> None:
        self.heard = heard

    @property
    def dimension(self):
        return 0

    @property
    def parts(self):
        return {"count": Part((1,))}

    @property
    def bound(self):
        return Bound(l2=1.0, l1=1.0)

    def contributions(self, block):
        self.heard.append("collect")
        return np.ones((len(block.x), 1))


class Order(Ledger):
    """A ledger that writes down when it records."""

    def __init__(self, place: str, heard: list[str]) -> None:
        super().__init__(place)
        self.heard = heard

    def spend(self, *given, **named):
        self.heard.append("charge")
        return super().spend(*given, **named)

    def reserve(self, *given, **named):
        self.heard.append("charge")
        return super().reserve(*given, **named)


@pytest.mark.parametrize("way", ["measure", "schedule", "paid"])
def test_a_number_is_charged_before_a_row_is_read_and_drawn_after(way, tmp_path, monkeypatch):
    heard: list[str] = []
    draw = NoiseDistribution.draw
    monkeypatch.setattr(NoiseDistribution, "draw", lambda *given: heard.append("draw") or draw(*given))
    curator = dp.Curator(ROWS, space=dp.Box(0, 10), name="a", ledger=Order(str(tmp_path / "a.db"), heard))
    loss, query = dp.GaussianLoss(0.5), Loud(heard)
    if way == "measure":
        release = curator.measure(query, loss)
    elif way == "schedule":
        release = curator.reserve([loss], query="loud").measure(query)
    else:
        release = curator.paid_by(curator.reserve([loss], query="loud")).measure(query, loss)
    assert list(dict.fromkeys(heard)) == ["charge", "collect", "draw"]
    assert heard.count("charge") == heard.count("draw") == 1
    assert release.recorded


def test_what_is_refused_is_refused_before_the_charge(tmp_path):
    heard: list[str] = []
    ledger = Order(str(tmp_path / "a.db"), heard)
    curator = dp.Curator(ROWS, space=dp.Box(0, 10), name="a", ledger=ledger, budget=dp.Guarantee(0.1, 1e-9))
    schedule = curator.reserve([dp.GaussianLoss(0.01)], query="one")
    heard.clear()
    for ask in (
        lambda: curator.measure(dp.Sum(dp.Box([0, 0], [1, 1])), dp.GaussianLoss(0.01)),
        lambda: curator.measure(dp.Sum(curator.space), dp.PureLoss(0.01)),
        lambda: curator.measure("sum", dp.GaussianLoss(0.01)),
        lambda: schedule.measure(dp.Mode(categories=3)),
        lambda: curator.measure(dp.Sum(curator.space), dp.GaussianLoss(0.01), mechanism="noise"),
    ):
        with pytest.raises(ValueError, match="expected"):
            ask()
    with pytest.raises(dp.BudgetExceeded):
        curator.measure(Loud(heard), dp.GaussianLoss(5.0))
    assert heard == ["charge"]  # the last one, which the ledger refused; no row was read
    assert len(schedule.left) == 1


def test_every_way_goes_through_the_exit(monkeypatch):
    seen: list[str] = []
    leave = door_exit.draw_plan
    monkeypatch.setattr(door_exit, "draw_plan", lambda plan, *rest: seen.append(plan.kind) or leave(plan, *rest))
    curator = dp.Curator(ROWS, space=dp.Box(0, 10))
    bounds = {"bounds": [(0, 10)] * 2}
    stream = dp.signals.Stream(bounds=(0, 10), horizon=8, epsilon=1.0)
    ways = [
        lambda: curator.measure(dp.Sum(curator.space), dp.GaussianLoss(0.5)),
        lambda: curator.reserve([dp.GaussianLoss(0.5)], query="sum").measure(dp.Sum(curator.space)),
        lambda: dp.statistics.median(ROWS[:, 0], epsilon=1.0, bounds=(0, 10)),
        lambda: stream.add([1.0, 2.0]),
        lambda: mechanisms.output_perturbation(np.mean, ROWS, sensitivity=0.05, output=(0, 10), epsilon=1.0, **bounds),
        lambda: dp.GaussianMixture(2, epsilon=1.0, delta=1e-6, **bounds).fit(ROWS),
    ]
    for way in ways:
        seen.clear()
        way()
        assert seen


class TestHeld:
    """A row's contribution, where it is formed by itself, is no longer than its bound, whatever the query's proof."""

    @pytest.mark.parametrize("norm", ["l2", "l1"])
    def test_worst_rows_are_shortened(self, norm):
        rng = np.random.default_rng(1)
        rows = rng.standard_normal((500, 7)) * 10.0 ** rng.uniform(-300, 150, (500, 1))
        rows[::7] = np.nan
        rows[1::7, 3] = np.inf
        rows[2::7, 4] = 1e300  # whose square is not finite
        bound = Bound(l2=0.5, l1=0.7 if norm == "l1" else None)
        held = bound.clip_contributions(rows)
        order = 1 if norm == "l1" else 2
        assert np.linalg.norm(held, ord=order, axis=1).max() <= bound.norm(norm) * (1.0 + 23 * 2.0**-53)
        assert np.isfinite(held).all()
        rows = np.where(np.abs(rows) < 1e150, rows, np.nan)
        short = np.linalg.norm(np.nan_to_num(rows), ord=order, axis=1) <= bound.norm(norm)
        short &= np.isfinite(rows).all(axis=1) & (np.linalg.norm(np.nan_to_num(rows, posinf=1e150), axis=1) <= 0.5)
        assert short.any()
        np.testing.assert_array_equal(held[short], rows[short])

    def test_a_ball_holds_two_rows_together(self):
        rng = np.random.default_rng(2)
        rows = rng.standard_normal((400, 3)) * 10.0 ** rng.uniform(-3, 3, (400, 1))
        bound = Bound(l2=1.5, center=(1.0, 0.0, 0.0), radius=0.5)
        held = bound.clip_contributions(rows)
        apart = np.linalg.norm(held[:, None] - held[None], axis=-1).max()
        assert 0.9 <= apart <= 1.0 + 1e-12
        assert bound.sensitivity("l2", "replace-one") == 1.5  # a row may also be dropped, and then contributes 0
        assert bound.replace("l2") == 1.0
        with pytest.raises(ValueError, match="at least"):
            Bound(l2=1.2, center=(1.0, 0.0), radius=0.5)
        with pytest.raises(ValueError, match="expected at least that of the ball"):
            Bound(l2=1.5, l1=1.5, center=(1.0, 0.0), radius=0.5)  # two rows, shortened in L1, would leave the ball

    def test_a_wrong_bound_moves_the_sum_no_farther(self):
        class Wrong(Loud):
            def contributions(self, block):
                return 1000.0 * np.ones((len(block.x), 1))

        curator = dp.Curator(ROWS, space=dp.Box(0, 10))
        held = Wrong([]).collect(curator._records, curator.setting)
        assert held[0] == pytest.approx(len(ROWS))  # not 1000 times as much

    @pytest.mark.parametrize(
        "of",
        [
            lambda x: x > 5.0,
            lambda x: (np.zeros_like(x) + 200).astype(np.uint8),
            lambda x: np.full(x.shape, 2**32),
            lambda x: x.astype(np.float32),
        ],
    )
    def test_whatever_type_they_have(self, of):
        class Typed(Loud):
            parts, bound, dimension = {"flags": Part((2,))}, Bound(l2=1.0), 2

            def contributions(self, block):
                return of(block.x)

        full = dp.Curator(np.full((8, 2), 10.0), space=dp.Box(0, 10))
        assert np.linalg.norm(Typed([]).collect(full._records, full.setting)) <= 8.0 * (1.0 + 1e-12)

    @pytest.mark.parametrize("of", [lambda x: np.vstack([x, x]), lambda x: x[:, :1], lambda x: x + 1j])
    def test_one_row_for_each_row(self, of):
        class Shaped(Loud):
            parts, bound, dimension = {"flags": Part((2,))}, Bound(l2=1.0), 2

            def contributions(self, block):
                return of(block.x)

        curator = dp.Curator(ROWS, space=dp.Box(0, 10))
        with pytest.raises(ValueError, match="contributions of 'loud': expected 2 real numbers for each row"):
            Shaped([]).collect(curator._records, curator.setting)

    def test_tiny_and_huge_bounds(self):
        """Squares of such numbers are 0, or infinite."""
        for size in (1e-200, 1e200):
            held = Bound(l2=size).clip_contributions(np.array([[1e37 * size, 0.0], [0.5 * size, 0.0]]))
            np.testing.assert_allclose(held, [[size, 0.0], [0.5 * size, 0.0]], rtol=1e-12)

    @pytest.mark.parametrize(("roundoff", "error"), [(-0.9, 0.0), (np.nan, 0.0), (0.0, -0.5), (0.0, np.inf)])
    def test_errors_that_are_none_are_refused_before_the_spend(self, roundoff, error):
        class Rounded(Loud):
            def float_error(self, rows, accumulation):
                return error

        Rounded.roundoff = roundoff
        curator = dp.Curator(ROWS, space=dp.Box(0, 10))
        with pytest.raises(ValueError, match="expected finite numbers of at least 0"):
            curator.plan(Rounded([]), dp.GaussianLoss(0.5))

    def test_what_is_not_shortened_is_charged(self):
        class Rounded(Loud):
            roundoff = 10.0

            def float_error(self, rows, accumulation):
                return 0.0

        curator = dp.Curator(ROWS, space=dp.Box(0, 10))
        assert curator.setting.sensitivity(Rounded([]), "l2") >= 20.0

    def test_a_sum_that_is_no_number_tells_nothing(self):
        class Broken(Loud):
            def sum(self, block):
                return np.array([np.nan])

        curator = dp.Curator(ROWS, space=dp.Box(0, 10))
        assert Broken([]).collect(curator._records, curator.setting).tolist() == [0.0]

    def test_a_bound_that_changes_while_it_is_asked_releases_nothing(self):
        class Growing(Loud):
            @property
            def bound(self):
                return Bound(l2=10.0 ** len(self.heard))

        curator = dp.Curator(ROWS, space=dp.Box(0, 10))
        for loss, mechanism in [(dp.GaussianLoss(0.5), None), (dp.PureLoss(0.5), Euclidean())]:
            with pytest.raises(ValueError, match="its bound changed while it was asked; nothing was released"):
                curator.measure(Growing([]), loss, mechanism=mechanism)

    @pytest.mark.parametrize("mechanism", [None, NoisyMax()])
    def test_a_spread_that_changes_while_it_is_asked_releases_nothing(self, mechanism):
        class Growing(Loud, Selection):
            default_loss = Selection.default_loss

            def scores(self, values):
                return np.array([values[0], 0.0])

            def spread(self, setting):
                return 1.0 + len(self.heard)

            def largest_score(self, setting):
                return 1e6

        curator = dp.Curator(ROWS, space=dp.Box(0, 10))
        loss = dp.BoundedRangeLoss(0.5) if mechanism is None else dp.PureLoss(0.5)
        with pytest.raises(ValueError, match="its bound changed while it was asked; nothing was released"):
            curator.measure(Growing([]), loss, mechanism=mechanism)

    @pytest.mark.parametrize("changes", ["float error", "mechanism of the query", "mechanism that is handed over"])
    def test_noise_that_changes_while_rows_are_read_releases_nothing(self, changes):
        """Whatever it is derived from: what is not compared by itself shows in the noise of a second plan."""

        class Scaled(Mechanism):
            def plan(self, question, loss, setting):
                noise = GaussianNoise.for_query(mu=loss.mu, sensitivity=scale[0], largest=1e6, size=1)
                return Plan(kind="additive", loss=loss, parts=question.parts, draw=noise, noise=noise)

        class Changing(Loud):
            mechanism = Scaled() if changes == "mechanism of the query" else None

            def float_error(self, rows, accumulation):
                return scale[0] if changes == "float error" else 0.0

            def contributions(self, block):
                scale[0] = 10.0
                return super().contributions(block)

        scale = [1e-3]
        handed = Scaled() if changes == "mechanism that is handed over" else None
        curator = dp.Curator(ROWS, space=dp.Box(0, 10))
        with pytest.raises(ValueError, match="its bound changed while it was asked; nothing was released"):
            curator.measure(Changing([]), dp.GaussianLoss(0.5), mechanism=handed)

    def test_a_bound_that_grows_once_it_was_planned_is_refused_before_the_spend(self, tmp_path):
        class Lazy(Loud):
            reads, small = 0, 10**9

            @property
            def bound(self):
                self.reads += 1
                return Bound(l2=1e-2 if self.reads <= self.small else 1.0)

        counted = Lazy([])
        free = dp.Curator(ROWS, space=dp.Box(0, 10))
        free.plan(counted, dp.GaussianLoss(0.5))
        limit = dp.Guarantee(1.0, 1e-6)
        curator = dp.Curator(ROWS, space=dp.Box(0, 10), name="rows", ledger=tmp_path / "budget.db", budget=limit)
        for small in range(1, counted.reads + 1):
            growing = Lazy([])
            growing.small = small
            with pytest.raises(ValueError, match="bound"):
                curator.measure(growing, dp.GaussianLoss(0.01))
            assert growing.heard == [] or small == counted.reads
        assert sum(entry.kind == "spend" for entry in curator.ledger.history("rows")) <= 1

    def test_a_mechanism_that_is_made_anew_each_time_is_no_change(self):
        class Whole(Mechanism):
            def plan(self, question, loss, setting):
                noise = GaussianNoise.for_query(mu=loss.mu, sensitivity=20.0, largest=1e6, size=2)
                parts = {"sums": Part((2,))}
                return Plan(
                    kind="additive", loss=loss, parts=parts, draw=noise, noise=noise, target=lambda x: x.sum(axis=0)
                )

        class Rows(RowQuery):
            name, dimension, width = "rows", 2, 2
            mechanism = property(lambda self: Whole())

            def default_loss(self, guarantee):
                return dp.GaussianLoss(0.5)

            def take(self, block):
                return block.x

        curator = dp.Curator(ROWS, space=dp.Box(0, 10))
        assert curator.measure(Rows(), dp.GaussianLoss(0.5)).value.shape == (2,)

    @pytest.mark.parametrize("adapted", [lambda query: query, lambda query: Weighted(query, 1, 10.0)])
    @pytest.mark.parametrize("bound", [Bound(l2=1.0), Bound(l2=3.0, center=(1.0,) * 4, radius=1.0)])
    def test_a_database_holds_them_too(self, tmp_path, bound, adapted):
        """It would form contributions by itself, and twice as long: so it does not get those of a user's query."""

        class Wrong(Loud):
            parts, bound, dimension = {"total": Part((4,))}, None, 2

            def contributions(self, block):
                xp = array_namespace(block.x)
                return xp.stack([-block.x[:, 0]] * 4, axis=1)

        Wrong.bound = bound
        with duckdb.connect(tmp_path / "rows.duckdb") as connection:
            connection.execute("CREATE TABLE t AS SELECT 10.0::DOUBLE AS a, 10.0::DOUBLE AS b FROM range(100)")
        schema = dp.Schema({"a": dp.Number(0, 10), "b": dp.Number(0, 10)})
        stored = dp.Curator(dp.Table(tmp_path / "rows.duckdb", "t"), schema=schema)
        rows = dp.Curator(np.full((100, 2), 10.0), schema=schema)
        query = Wrong([])
        query.space = rows.space
        held = [adapted(query).collect(one._records, one.setting) / 100 for one in (stored, rows)]
        np.testing.assert_allclose(held[0], held[1], rtol=1e-12)
        center = np.zeros(4) if bound.center is None else np.array(bound.center)
        assert np.linalg.norm(held[0] - center) == pytest.approx(1.0)

    @pytest.mark.parametrize("library", ["torch", "array_api_strict"])
    def test_other_libraries_are_held_too(self, library):
        xp = pytest.importorskip(library)
        rows = xp.asarray([[3.0, 4.0], [0.1, 0.2], [float("nan"), 1.0]], dtype=xp.float64)
        for one in (1.0, np.float64(1.0)):
            held = Bound(l2=one).clip_contributions(rows, one * 2.0**-50)
            np.testing.assert_allclose(np.asarray(held), [[0.6, 0.8], [0.1, 0.2], [0.0, 0.0]])
        around = Bound(l2=9.0, center=np.array([3.0, 3.0]), radius=np.float64(0.5)).clip_contributions(rows)
        np.testing.assert_allclose(np.asarray(around)[0], [3.0, 3.5])


class TestStated:
    """What a user states and nobody proves is written on the release."""

    def test_a_stated_sensitivity_is_recorded_and_said(self):
        result = mechanisms.output_perturbation(
            lambda rows: rows.mean(), ROWS, bounds=(0, 10), sensitivity=0.05, output=(0, 10), epsilon=1.0
        )
        assert result.release.declared["stated"] == {"sensitivity": 0.05, "norm": "l2"}
        assert "sensitivity=0.05" in result.release.caveat
        again = dp.Release.from_json(result.release.to_json())
        assert again.caveat == result.release.caveat

    def test_what_is_proved_states_nothing(self):
        curator = dp.Curator(ROWS, space=dp.Box(0, 10))
        release = curator.measure(dp.Sum(curator.space), dp.GaussianLoss(0.5))
        assert "stated" not in release.declared
        assert release.caveat is None
        assert describe(dp.Sum(curator.space))["kind"] == "Sum"


def test_a_stream_pays_once_for_all_of_its_numbers(tmp_path):
    ledger = Ledger(str(tmp_path / "a.db"))
    curator = dp.Curator(np.empty((0, 1)), space=dp.Box(0, 1), name="s", ledger=ledger)
    stream = StreamMechanism(curator, StreamSums(0.0, 1.0, 1.0, 4, 2, 100), dp.GaussianLoss(0.5))
    releases = [stream.draw(1.0), stream.draw(2.0)]
    assert [release.loss for release in releases] == [dp.GaussianLoss(0.5)] * 2
    assert len(ledger.history("s")) == 1
    with pytest.raises(ValueError, match="all numbers"):
        stream.draw(3.0)


def test_a_row_query_has_a_mechanism_of_its_own():
    assert all(one.mechanism is not RowQuery.mechanism for one in every_subclass(RowQuery))


@pytest.mark.parametrize("kind", [dp.GaussianLoss, GaussianNoise, dp.Box])
def test_nothing_takes_the_name_of_a_loss_a_noise_or_a_space(kind):
    """A ledger would read entries of the one as the other's."""
    with pytest.raises(TypeError, match="files and ledgers mean"):
        new_class(kind.__name__, (kind,))
    assert type(Loss.from_dict(dp.GaussianLoss(0.1).to_dict())) is dp.GaussianLoss


def test_bits_that_call_themselves_private_are_refused_where_a_ledger_records(tmp_path):
    class Fixed(Bits):
        private = True

        def words(self, count):
            return np.zeros(count, dtype=np.uint64)

    curator = dp.Curator(ROWS, space=dp.Box(0, 10), name="rows", ledger=str(tmp_path / "l"))
    with pytest.raises(ValueError, match="bits: expected None where there is a ledger"):
        curator.measure(dp.Sum(curator.space), dp.GaussianLoss(0.1), bits=Fixed())


def test_curators_and_records_do_not_change():
    curator = dp.Curator(ROWS, space=dp.Box(0, 10))
    fixed = [(curator, "neighbors"), (curator, "ledger"), (curator, "_records"), (curator, "size")]
    for one, name in [*fixed, (curator._records, "rows"), (curator._records, "max_rows")]:
        with pytest.raises(AttributeError):
            setattr(one, name, None)
    with pytest.raises(AttributeError):
        del curator.neighbors
