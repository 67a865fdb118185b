"""Reports: complete, escaped, public, and honest about what they cannot promise."""

from __future__ import annotations

import json
import re
import sys
from functools import cache
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import discreet as dp
from discreet.estimators.loading import load_model
from discreet.inference.posterior import Diagnostics, Posterior, to_data_tree
from discreet.plots.plot import SERIES
from discreet.report.not_private import compare_without_privacy
from discreet.report.owned_rows import rows_from_csv
from effort import LONG, size
from shown_models import BOX, HOSTILE, KINDS, fitted, numbers, people, rows_of, target

BANNER = "Not private, do not publish"


class Page(HTMLParser):
    """What a test asks of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", "".join(self.words))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture
def fewer_pictures(monkeypatch):
    """Leave out those of the model where a report is read for other things; not around ``report_of``.

    Each kind of model has a report with all of them, and here ``make audit`` draws them too.
    """
    if not LONG:
        monkeypatch.setattr("discreet.report.document._model_figures", lambda model, columns: [])
        monkeypatch.setattr("discreet.report.document._noise", lambda model: None)
        monkeypatch.setattr("discreet.report.document._sample", lambda model, columns: None)


@cache
def report_of(kind: str) -> str:
    return fitted(kind).report().html


ALIKE = ("tied", "three", "drawn")  # an estimator that another kind has too, with the same pictures


@pytest.mark.parametrize("kind", size([kind for kind in KINDS if kind not in ALIKE], KINDS))
def test_a_report_of_every_kind_is_one_complete_accessible_file(kind):
    model, html = fitted(kind), report_of(kind)
    page = Page(html)
    listed = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    ids = set(listed)
    assert len(ids) == len(listed)  # matplotlib has the same ids in every figure
    for _, attributes in page.tags:
        for name in ("href", "xlink:href"):
            assert (attributes.get(name) or "#content")[1:] in ids
        for result in re.findall(r"url\(#([^)]*)\)", " ".join(str(value) for value in attributes.values())):
            assert result in ids
        assert "src" not in attributes
        assert not any(name.startswith("on") for name in attributes)
    assert page.all("html") == [{"lang": "en"}]
    assert not page.all("script")
    (policy,) = [meta["content"] for meta in page.all("meta") if meta.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:")
    assert "http" not in html.replace("http://www.w3.org/2000/svg", "").replace('http-equiv="', "")
    figures, drawings = page.all("figure"), page.all("svg")
    assert figures
    assert len(figures) == len(drawings) == len(page.all("details"))
    for drawing in drawings:
        assert drawing["role"] == "img"
        assert set(drawing["aria-labelledby"].split()) <= ids
    assert not re.search("|".join(SERIES.values()), html.split("</style>", 1)[1])  # colours are the page's variables
    assert model.guarantee_.in_words("row") in page.text
    assert "replace-one" in page.text
    assert BANNER not in page.text


@pytest.mark.usefixtures("fewer_pictures")
def test_a_report_is_written_where_it_is_asked_for(tmp_path):
    report = fitted("kmeans").report(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == report.html
    assert "html" not in repr(report)  # a notebook shows the repr


@pytest.mark.usefixtures("fewer_pictures")
def test_a_file_that_is_there_is_kept_unless_it_may_be_replaced(tmp_path):
    place = tmp_path / "report.html"
    place.write_text("mine")
    with pytest.raises(
        ValueError, match="expected a file that does not exist yet; write another name, or overwrite=True"
    ):
        fitted("kmeans").report(place)
    assert place.read_text() == "mine"
    report = fitted("kmeans").report(place, overwrite=True)
    assert place.read_text(encoding="utf-8") == report.html
    with pytest.raises(ValueError, match="overwrite=True"):
        report.save(place)


@pytest.mark.usefixtures("fewer_pictures")
def test_words_name_the_unit_and_not_a_plural_of_it():
    rows = numbers().assign(patient_id=np.arange(len(numbers())) // 2)
    schema = dp.Schema({name: dp.Number(0, high) for name, high in (("age", 100), ("hours", 80), ("score", 10))})
    model = dp.KMeans(2).fit(dp.Curator(rows, schema=schema, unit="patient_id", max_rows=2))
    text = Page(model.report().html).text
    assert "each patient_id counts once" in text
    assert "patient_ids" not in text


def test_without_jinja_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"discreet\[report\]"):
        fitted("kmeans").report()


def test_a_column_that_no_file_can_spell_is_written_all_the_same(tmp_path):
    values = fitted("kmeans").to_dict()
    values["fitted"]["feature_names_in_"] = ["half \ud800", "nul \x00", "turned \u202e"]
    dp.KMeans.from_dict(values).report(tmp_path / "report.html")
    assert "half ?" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_model_whose_noise_came_from_a_seed_is_refused():
    with pytest.warns(match="not private"):
        model = dp.KMeans(2, bounds=BOX, random_state=0).fit(numbers())
    again = dp.KMeans.from_json(model.to_json())
    for one in (model, again):
        with pytest.raises(ValueError, match="came from a seed"):
            one.report()


@pytest.mark.usefixtures("fewer_pictures")
def test_a_file_an_idealised_draw_and_a_missing_ledger_are_said():
    measured = Page(fitted("drawn").report().html).text
    assert "drawn with floating-point numbers" in measured
    assert "No ledger recorded this spend" in measured
    assert "Read from a file" not in measured
    loaded = dp.PCA.from_json(fitted("drawn").to_json())
    assert "it can be made up" in Page(loaded.report().html).text


@pytest.mark.usefixtures("fewer_pictures")
def test_an_approximate_draw_has_no_promise():
    model = dp.PCA(1, bounds=BOX, method="gibbs").fit(numbers())
    text = Page(model.report().html).text
    assert "no proof of privacy" in text
    assert "Whatever somebody concludes" not in text


def test_text_from_columns_and_names_is_escaped():
    rows = numbers().rename(columns={"age": HOSTILE, "hours": '"><img src=x onerror=alert(1)>'})
    model = dp.GaussianClassifier(bounds=BOX, classes=["a", "</svg><script>b"])
    model.fit(rows, np.where(people()["group"] == "a", "a", "</svg><script>b"))
    page = Page(model.report().html)
    assert not page.all("script")
    assert not page.all("img")
    assert HOSTILE in page.text  # and shown as it is


@pytest.mark.parametrize("estimator", size([dp.KMeans], [dp.GaussianMixture, dp.KMeans]))
def test_nothing_of_the_rows_is_in_a_report(estimator):
    """Six digits are in a report by chance in some of a hundred cases, and so in five of five in one of 10⁸ at most."""
    rows = np.random.default_rng(5).uniform(10.0, 60.0, (3217, 2))
    rows[0] = [77.7778881, 33.3334441]
    frame = pd.DataFrame(rows, columns=["age", "hours"])
    exact = [*frame.mean(), *frame.std(), *frame.median(), *frame.max(), *frame.min(), *frame.sum(), *rows[0]]
    always: set[str] = {f"{number:.6g}" for number in exact} | {"3217"}
    for _ in range(5):
        html = estimator(2, bounds=dp.Box(0, 100), neighbors="add-remove").fit(frame).report().html
        assert "how many there are is private" in html
        always &= set(re.findall(r"[\d.]+", html.replace(",", "")))
    assert not always


@pytest.mark.usefixtures("fewer_pictures")
def test_the_ledgers_spend_is_the_composition_of_its_entries(tmp_path):
    place = tmp_path / "budget.db"
    curator = dp.Curator(numbers(), space=BOX, name="people", ledger=str(place), budget=dp.Guarantee(1.0, 1e-6))
    dp.statistics.mean(curator, "age", epsilon=0.1, delta=1e-7)
    model = dp.GaussianMixture(2, epsilon=0.5, delta=1e-6).fit(curator)
    text = Page(model.report(ledger=str(place)).html).text
    total = dp.compose(dp.Ledger(place).spent("people")).epsilon(1e-6)
    assert f"to ε = {total:.4g} at δ = 1e-06, of a limit of ε = 1" in text
    assert re.search(r"1: mean.*2: GaussianMixture, \d+ releases", text)
    assert "No ledger has this spend" not in text
    assert curator.ledger.history()[-1].who not in text.replace("people", "").split()  # who asked stays in the ledger
    with pytest.raises(ValueError, match="name='others': expected a data set of the ledger, one of 'people'"):
        model.report(ledger=curator.ledger, name="others")


@pytest.mark.usefixtures("fewer_pictures")
def test_only_the_owners_rows_bring_a_comparison_and_then_it_says_so_loudly():
    html = fitted("kmeans").report(private_rows=rows_of("kmeans")).html
    page = Page(html)
    assert page.text.count(BANNER) == 2
    assert "<title>NOT PRIVATE" in html
    assert "from the rows (NOT private)" in page.text


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_compared_with_what_the_rows_say_exactly(kind):
    y = target(kind)
    facts = compare_without_privacy(fitted(kind), rows_of(kind) if y is None else (rows_of(kind), y), None).facts
    assert facts.header == ["", "this model (private)", "from the rows (NOT private)"]
    told = {name: [_parsed(private), _parsed(exact)] for name, private, exact in facts.rows}
    assert np.isfinite(list(told.values())).all()
    frame = people()
    if kind == "table":
        assert told["mean of age"][1] == pytest.approx(frame["age"].mean(), rel=1e-3)
        assert told["share of group = b"][1] == pytest.approx(100.0 * (frame["group"] == "b").mean(), rel=1e-2)
    if kind == "regression":
        explained = 100.0 * np.corrcoef(_line(frame), frame["score"])[0, 1] ** 2
        assert told["share of the target's variance that is explained"][1] == pytest.approx(explained, rel=1e-3)


def _parsed(text: str) -> float:
    return float(re.sub("[ %,]", "", text).replace("\N{MINUS SIGN}", "-"))


def _line(frame: pd.DataFrame) -> np.ndarray:
    design = np.column_stack([np.ones(len(frame)), frame[["age", "hours"]]])
    return design @ np.linalg.lstsq(design, frame["score"].clip(0, 10), rcond=None)[0]


def test_rows_that_do_not_fit_are_refused_without_a_word_of_them():
    broken = numbers().astype(object)
    broken.iloc[3, 1] = "Mr Secret"
    with pytest.raises(ValueError, match="private_rows: expected complete rows of numbers") as caught:
        fitted("mixture").report(private_rows=broken)
    assert "Secret" not in str(caught.value)
    assert caught.value.__context__ is None
    with pytest.raises(ValueError, match=r"expected \(X, y\)"):
        fitted("classifier").report(private_rows=numbers())


def test_rows_of_a_file_are_read_as_the_models_columns(tmp_path):
    place = tmp_path / "rows.csv"
    people().to_csv(place, index=False)
    X, y = rows_from_csv(fitted("regression").from_json(_named_target()), place)
    assert np.allclose(X, people()[["age", "hours"]])
    assert np.allclose(y, people()["score"])
    table = rows_from_csv(fitted("table"), place)
    assert list(table["group"]) == list(people()["group"])
    place.write_text(place.read_text() + "Mr Secret,1,2,a\n3,4,5\n1,2,3,zzz\n")
    assert len(rows_from_csv(fitted("table"), place)["age"]) == len(people())
    place.write_text("age,weight\nSecret,1\n")
    with pytest.raises(ValueError, match="the column 'hours' is not there") as caught:
        rows_from_csv(fitted("mixture"), place)
    assert "Secret" not in str(caught.value)


def _named_target() -> str:
    schema = dp.Schema({"age": dp.Number(0, 100), "score": dp.Number(0, 10), "hours": dp.Number(0, 80)})
    curator = dp.Curator(numbers(), schema=schema)
    return dp.LinearRegression().fit(curator, "score").to_json()


@pytest.mark.usefixtures("fewer_pictures")
def test_a_target_is_declared_with_its_own_bounds():
    model = dp.LinearRegression.from_json(_named_target())
    assert re.search(r"score\s*target\s*from 0 to 10", Page(model.report().html).text)


@pytest.mark.usefixtures("fewer_pictures")
def test_the_labels_are_declared_as_the_target():
    assert re.search(r"label\s*target, category\s*a, b", Page(fitted("logistic").report().html).text)


@pytest.mark.parametrize("name", [None, 'my "first" model.json'])
@pytest.mark.usefixtures("fewer_pictures")
def test_the_code_of_a_report_computes_its_promise(name, tmp_path, monkeypatch, capsys):
    model = fitted("mixture")
    page = Page(model.report(file=name and f"/home/me/{name}").html)
    assert "/home/me" not in page.text
    code = next(words for words in page.words if words.startswith("import json"))
    (tmp_path / (name or "model.json")).write_text(model.to_json())
    monkeypatch.chdir(tmp_path)
    exec(code, {})  # noqa: S102
    printed = float(capsys.readouterr().out)
    assert printed <= model.guarantee_.epsilon * (1.0 + 1e-6)
    assert printed == pytest.approx(dp.compose(model.losses_).epsilon(1e-6))


def posterior_of_two() -> Posterior:
    rng = np.random.default_rng(2)
    values = {"weights": rng.dirichlet([5, 5], (2, 100)), "means": rng.normal(size=(2, 100, 2, 3))}
    tree = to_data_tree(
        values,
        np.zeros((2, 100), dtype=bool),
        {"weights": ["component"], "means": ["component", "column"]},
        {"component": [0, 1], "column": ["age", "hours", "score"]},
        {},
    )
    says = Diagnostics(1.0, 180.0, 0, 200)
    return Posterior(tree, "joint", says, None, np.zeros((200, 1)), None, None)


@pytest.mark.usefixtures("fewer_pictures")
def test_a_posterior_shows_its_intervals_in_a_picture_and_a_report():
    posterior = posterior_of_two()
    low, high = posterior.interval("means", 0.8)
    picture = posterior.as_plot("means", 0.8)
    assert np.allclose([picture.low, picture.high], [low, high])
    assert list(picture.rows) == ["component 0", "component 1"]
    assert posterior.plot("means").shape == (1, 3)
    with pytest.raises(ValueError, match="name='mean': expected one of"):
        posterior.plot("mean")
    text = Page(fitted("kmeans").report(posterior=posterior).html).text
    assert "The posterior of means" in text
    assert "What the releases say about the population" in text
    assert "What the releases say about the population" not in Page(fitted("kmeans").report().html).text


@pytest.mark.usefixtures("fewer_pictures")
def test_the_command_writes_the_file_and_says_when_it_is_not_private(tmp_path, monkeypatch):
    import typer
    from typer.testing import CliRunner

    from discreet.cli.report_command import report

    app = typer.Typer()
    app.callback()(lambda: None)
    app.command("report")(report)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.json").write_text(fitted("kmeans").to_json())
    numbers().to_csv("rows.csv", index=False)
    asked = ["report", "model.json", "--out", "report.html", "--json"]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["private"] is True
    assert BANNER not in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert CliRunner().invoke(app, asked).exit_code == 1  # it is there
    done = CliRunner().invoke(app, [*asked, "--overwrite", "--compare", "rows.csv", "--columns", "age,score"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["private"] is False
    assert "NOT PRIVATE" in done.stderr
    assert BANNER in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert isinstance(load_model("model.json"), dp.KMeans)
