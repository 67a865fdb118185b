"""The command line: every command, what it prints where, and how it ends."""

from __future__ import annotations

import inspect
import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

typer = pytest.importorskip("typer", reason="typer is not installed")
pytest.importorskip("duckdb", reason="duckdb is not installed")
pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")

from typer.testing import CliRunner  # noqa: E402

import discreet as dp  # noqa: E402
from cli_folder import SCHEMA, discreet, make_folder  # noqa: E402
from discreet.cli import main, printing  # noqa: E402
from discreet.cli.app import COMMANDS, application  # noqa: E402
from discreet.cli.error_messages import message_for  # noqa: E402
from discreet.cli.model_kinds import KINDS as KINDS_OF_FIT  # noqa: E402
from discreet.cli.model_kinds import MIXED, MODELS, KindName  # noqa: E402
from discreet.cli.model_table import parameter_table  # noqa: E402
from discreet.cli.printing import CommandOutput, OutputTable  # noqa: E402
from discreet.estimators.loading import KINDS, load_model  # noqa: E402
from discreet.scales import ColumnScale  # noqa: E402
from effort import LONG, size  # noqa: E402
from short_fits import shorter_synthesis  # noqa: E402
from still_chains import still_chains  # noqa: E402

LINES = re.compile(r"[\u2500-\u259f]|\x1b")
DECLARED = "--schema people.toml"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return make_folder(tmp_path_factory.mktemp("folder"))


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    """Give a folder of one's own, with the files that are there from the start."""
    for file in made.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(autouse=True)
def _shorter_fits():
    with shorter_synthesis():
        yield


@pytest.fixture(autouse=True)
def flagged(monkeypatch):
    """Whatever argument an error is about, the command that was run has a flag or a place for it."""

    def checked(error, flags):
        if isinstance(error, dp.ArgumentError):
            assert set(error.given) <= set(flags), f"{error}: no flag of {sorted(flags)}"
        return message_for(error, flags)

    monkeypatch.setattr("discreet.cli.command.message_for", checked)


def all_commands() -> dict[str, object]:
    """Return every command by its words, in the order of the help."""
    root = typer.main.get_command(application(fancy=False))
    result = {}
    for name, command in root.commands.items():
        inner = getattr(command, "commands", None)
        result |= {name: command} if inner is None else {f"{name} {one}": each for one, each in inner.items()}
    return dict(sorted(result.items(), key=lambda pair: (pair[0].split()[0] != "schema", pair[0].startswith("budget"))))


def examples(command: str) -> list[str]:
    shown = discreet(f"{command} --help").out
    assert LINES.search(shown) is None
    return [line.strip().removeprefix("discreet ") for line in shown.splitlines() if line.startswith("    discreet ")]


def test_every_example_in_the_help_runs_and_prints_one_json_document(folder, monkeypatch):
    """Chains stand still, and nothing is attacked, as both are tested elsewhere; ``make audit`` does both."""
    if not LONG:
        still_chains(monkeypatch)
    monkeypatch.setattr("discreet.audit.attacking.FEWEST", 20)
    monkeypatch.setattr("discreet.audit.targets.neighbours", lambda *given: dp.audit.neighbours(*given)[-2:])
    small = {"infer": ["--warmup", "10"]}
    fewer = {"--draws 200": "--draws 10", "--seconds 60": "--seconds 0.01"}
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect("clinic.duckdb") as connection:
        connection.execute("CREATE TABLE visits (patient INTEGER, pressure DOUBLE, ward VARCHAR, alive BOOLEAN)")
    answers = {}
    for command in all_commands():
        lines = examples(command)
        assert lines, f"discreet {command} --help has no example"
        for line in lines if LONG or command != "audit" else []:
            for given, less in fewer.items():
                line = line.replace(given, less)
            answers[line] = discreet(line, *small.get(command, []), "--json").data
    assert all(isinstance(answer, dict) and answer for answer in answers.values())
    assert len(json.loads(Path("draws.json").read_text())["means"]) == 2  # chains


def test_a_first_session(folder):
    Path("people.toml").unlink()
    init, fit, sample, show = examples("")
    assert discreet(init).code == 0
    unfilled = discreet("schema check people.toml")
    assert unfilled.code == 1
    assert "[columns.age]: write low = … and high = …, or values = […], or remove this section; a col" in unfilled.err
    assert '# missing = "fill"' in Path("people.toml").read_text()
    Path("people.toml").write_text(SCHEMA)
    checked = discreet("schema check people.toml --data people.csv")
    assert re.search(r"^age +number +17 to 90", checked.out, re.MULTILINE)
    fitted = discreet(fit)
    assert (fitted.code, "TableSynthesizer" in fitted.out, "(ε=1, δ=1e-06) replace-one" in fitted.out) == (
        0,
        True,
        True,
    )
    assert discreet(sample).code == 0
    lines = Path("synthetic.csv").read_text().splitlines()
    assert (len(lines), lines[0]) == (1001, "age,hours,income")
    shown = discreet(show)
    assert re.search(r"^people +row +\(ε=2, δ=1e-06\) replace-one +1 +", shown.out, re.MULTILINE)


@pytest.mark.parametrize(
    ("words", "kind", "samples"),
    [
        (
            "table people.csv --schema people.toml --whole age --zero 'age < 18 and hours > 60'",
            "TableSynthesizer",
            True,
        ),
        ("mixture people.csv --schema people.toml --components 2 --whole age", "TableMixture", True),
        ("mixture people.csv --schema people.toml --columns age,hours --components 2", "GaussianMixture", True),
        ("kmeans people.csv --bounds age=17:90 --clusters 2", "KMeans", False),
        ("factor-analysis people.csv --schema people.toml --components 1", "FactorAnalysis", True),
        ("pca people.csv --schema people.toml --components 1 --scale", "PCA", True),
        ("classifier people.csv --schema people.toml --target income", "GaussianClassifier", True),
        ("logistic people.csv --schema people.toml --target income", "LogisticRegression", False),
        ("svc people.csv --schema people.toml --target income", "LinearSVC", False),
        ("regression people.csv --schema people.toml --target hours", "LinearRegression", False),
    ],
)
def test_every_model_is_fitted_written_and_sampled_where_it_has_rows(folder, words, kind, samples):
    fitted = discreet(f"fit {words} --epsilon 2 --where 'age >= 18' --json")
    assert (fitted.data["kind"], fitted.data["out"], fitted.data["recorded"]) == (kind, "model.json", False)
    model = load_model("model.json")
    assert (type(model).__name__, model.guarantee_) == (kind, dp.Guarantee(2.0, 1e-6))
    assert {release.declared["where"] for release in model.releases_} == {"age >= 18"}
    drawn = discreet("sample model.json --rows 50 --out rows.parquet --clip")
    if samples:
        table = pq.read_table("rows.parquet")
        assert table.num_rows == 50
        assert table.column_names == [name for name in ("age", "hours", "income") if name in table.column_names]
        assert min(table["age"].to_pylist()) >= 17
    else:
        assert (drawn.code, "has no rows to draw; expected one that" in drawn.err) == (1, True)
        assert not Path("rows.parquet").exists()


def test_a_synthetic_table_has_gaps_and_nothing_that_cannot_occur(folder):
    rows = [f"{age},{hours},{'' if age % 3 else 'below'}" for age in range(20, 80) for hours in range(10, 60)]
    Path("gaps.csv").write_text("age,hours,income\n" + "\n".join(rows))
    zero = ["--zero", "age >= 50 and hours < 30", "--zero", "income == 'above' and age < 85"]
    fitted = discreet(
        "fit table gaps.csv --schema people.toml --whole age,hours --epsilon 20 --out g.json --json", *zero
    )
    assert fitted.data["found"][0].keys() == {"column", "and", "association", "expected error", "more than noise"}
    assert discreet("sample g.json --rows 600 --out g.csv").code == 0
    drawn = [line.split(",") for line in Path("g.csv").read_text().splitlines()[1:]]
    assert not any(int(age) >= 50 and int(hours) < 30 for age, hours, _ in drawn)
    assert {income for age, _, income in drawn if int(age) < 85} == {"", "below"}
    assert 0.5 < sum(not income for *_, income in drawn) / 600 < 0.8
    assert discreet("sample g.json --rows 60 --out g.parquet").code == 0
    assert pq.read_table("g.parquet")["income"].null_count > 10
    refused = discreet("fit table gaps.csv --schema people.toml --epsilon 1 --out h.json", "--zero", "income == 'x'")
    assert (refused.code, Path("h.json").exists()) == (1, False)


def test_what_a_fit_found_has_the_names_and_numbers_of_reports(folder):
    fitted = discreet(f"fit kmeans people.csv {DECLARED} --clusters 2 --epsilon 5 --json").data
    assert fitted["columns"] == ["age", "hours"]
    assert [row["centre"] for row in fitted["found"]] == [1, 2]
    (line,) = discreet(f"fit regression people.csv {DECLARED} --target hours --epsilon 5 --out r.json --json").data[
        "found"
    ]
    assert line["coefficients"] == "hours"
    weights = np.array([[1e-16, 0.01]])
    known = SimpleNamespace(coef_=weights, intercept_=0.0, feature_names_in_=["a", "b"], classes_=np.array([0, 1]))
    scales = {name: ColumnScale(name, "linear", 0.0, 1.0) for name in "ab"}
    assert parameter_table(known, scales).rows == [(1, 0.0, 0.0, 0.01)]


def test_the_help_of_fit_has_the_flags_and_defaults_of_the_models():
    unsaid = {"None": "", "()": "", "False": "off"}
    kinds = list(KINDS_OF_FIT.values())
    kinds.insert(list(KINDS_OF_FIT).index(KindName.MIXTURE) + 1, MIXED)
    for told, kind in zip(MODELS.splitlines()[1:], kinds, strict=True):
        flags = dict(re.findall(r"--(\w+) ?\(?(\w*)", told.replace("clusters", "components").replace("(all)", "")))
        assert ("target" in flags) is (kind.targeted or "target" in kind.flags)
        usual = inspect.signature(getattr(dp, kind.estimator)).parameters
        expected = {flag: str(usual[parameter].default) for flag, parameter in kind.flags.items()}
        flags = flags if "target" in kind.flags else {flag: value for flag, value in flags.items() if flag != "target"}
        assert flags == {flag: unsaid.get(default, default) for flag, default in expected.items()}


def test_rows_can_be_drawn_into_a_pipe(folder):
    drawn = discreet("sample gaussians.json --rows 3 --out -")
    assert (drawn.code, drawn.err, len(drawn.out.splitlines())) == (0, "", 4)
    assert drawn.out.startswith("x0\n")


def test_every_kind_of_model_file_is_known():
    assert set(KINDS) == {
        name for name in dp.__all__ if hasattr(getattr(dp, name), "from_json") and hasattr(getattr(dp, name), "fit")
    }


def test_a_model_file_of_another_kind_is_refused(tmp_path):
    path = tmp_path / "model.json"
    path.write_text('{"format": 1, "kind": "Popen", "parameters": {}, "fitted": {}}')
    with pytest.raises(ValueError, match=r"'model\.json': expected a model of one of the kinds FactorAnalysis"):
        load_model(path)


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "duckdb"])
def test_stored_tables_are_read_and_their_types_stated(folder, suffix):
    import duckdb
    import pyarrow as pa
    from pyarrow import feather

    ages = pa.table({"age": [30.0, 40.0] * 500, "smokes": [True, False] * 500, "note": ["private"] * 1000})
    if suffix == "duckdb":
        with duckdb.connect("people.duckdb") as connection:
            connection.register("ages", ages)
            connection.execute("CREATE TABLE first AS SELECT * FROM ages; CREATE TABLE second AS SELECT 1 AS one")
    elif suffix == "parquet":
        pq.write_table(ages, "people.parquet")
    else:
        feather.write_feather(ages, "people.arrow")
    table = " --table first" if suffix == "duckdb" else ""
    stated = discreet(f"schema init people.{suffix}{table} --json").data["columns"]
    assert [one["type"] for one in stated] == ["float", "boolean", "text"]
    reply = discreet(
        f"query people.{suffix} mean age{table} --by smokes --bounds age=0:120 --classes smokes=true,false"
        " --ledger budget.ledger --limit 20:1e-6 --share 1 --json"
    ).data
    assert [row["smokes"] for row in reply["answer"]] == ["true", "false"]
    assert reply["answer"][0]["value"] == pytest.approx(30.0, abs=5.0)
    assert discreet("budget show budget.ledger --json").data["datasets"][0]["name"] == (
        "main.first" if table else "people"
    )


def test_questions_in_many_forms_and_their_price(folder):
    common = f"{DECLARED} --ledger people.ledger --limit 3:1e-6"
    asked = ["count --by income", "sum age", "mean age hours", "mean age,hours", "trimmed_mean age --trim 0.2",
             "variance age", "covariance age hours", "median age --step 1", "quantile age --q 0.9 --step 1",
             "quantiles age --q 0.2,0.5 --q 0.8", "interquartile-range age", "histogram age --bins 5"]  # fmt: skip
    for question in asked:
        priced = discreet(f"query people.csv {question} {common} --preview --json").data
        assert priced["admitted"]
        assert 0.0 < priced["share"] <= 0.1000001
    dear = discreet(f"query people.csv mean age --epsilon 4 {common} --preview --json")
    assert (dear.code, json.loads(dear.out)["admitted"]) == (3, False)
    assert discreet(f"query people.csv mean age --epsilon 4 {common}").code == 3
    assert not Path("people.ledger").exists()
    shown = discreet(f"query people.csv median age --by income --step 1 {common} --share 0.2")
    assert shown.out.startswith("median of age by income, from rows without gaps in age and income\n\nincome ")
    assert re.search(r"^income +value +low +high\nbelow +\d+ ", shown.out, re.MULTILINE)
    assert shown.out.rstrip().endswith("% is left")
    youngest = discreet(f"query people.csv min age --step 1 {common} --share 0.2")
    assert "quantile, since the smallest value itself is that of a single row" in youngest.out


def test_a_regression_takes_the_categories_that_are_named(folder):
    line = f"fit regression people.csv {DECLARED} --target hours --epsilon 3 --ledger people.ledger --limit 9:1e-6"
    assert discreet(f"{line} --out first.json --json").data["columns"] == ["age", "hours"]
    fitted = discreet(f"{line} --out second.json --columns age,income")
    assert fitted.code == 0
    assert "income=" in fitted.out
    refused = discreet(f"{line} --out third.json --columns age,income".replace("regression", "kmeans"))
    assert refused.code != 0


def test_intervals_about_the_population(folder):
    common = f"{DECLARED} --ledger people.ledger --limit 9:1e-6 --share 0.1 --of population"
    for question in ("count", "sum age", "trimmed-mean age", 'median age --set interval_kind="worst-case"'):
        assert "--of population" in discreet(f"query people.csv {question} {common}").err
    assert not Path("people.ledger").exists()  # refused before anything is spent
    for question in ("mean age", "median age --step 1", "histogram age --bins 5", "count --by income"):
        assert discreet(f"query people.csv {question} {common} --json").data["of"] == "population"
    common = common.removesuffix("--of population")
    asked = discreet(f"query people.csv mean age {common} --set population=true --json").data
    assert (asked["of"], asked["answer"][0]["interval_of"]) == ("population", "population")
    shown = discreet(f"query people.csv mean age {common} --set population=true --level 0.9")
    assert "90 % intervals of the population" in shown.out
    rows = discreet(f"query people.csv mean age {common} --set population=true --of rows --json").data
    assert rows["of"] == "rows"
    assert "interval_of" not in rows["answer"][0]


def test_exit_code_three_when_the_budget_does_not_admit_it(folder):
    budget = f"{DECLARED} --ledger people.ledger --limit 1:1e-6"
    assert discreet(f"query people.csv mean age {budget} --share 0.7").code == 0
    for line in (f"query people.csv mean age {budget} --share 0.7", f"fit pca people.csv {budget} --epsilon 0.9"):
        refused = discreet(line)
        assert (refused.code, refused.out) == (3, "")
        fitting = re.search(r"nothing was recorded; write --epsilon (0\.\d+) or less", refused.err)
        assert fitting is not None, refused.err
    assert sorted(path.name for path in folder.iterdir() if "model" in path.name) == []
    assert discreet("budget show people.ledger --json").data["datasets"][0]["spends"] == 1
    assert discreet(f"fit pca people.csv {budget} --epsilon {fitting[1]}").code == 0
    lowered = discreet("budget limit people.ledger 0.1:1e-6 --name people")
    assert (lowered.code, "nothing more can be asked of it" in lowered.err) == (0, True)


def test_what_cannot_be_written_is_refused_before_anything_is_spent(folder):
    line = f"fit kmeans people.csv {DECLARED} --clusters 2 --epsilon 0.5 --ledger people.ledger --limit 1:1e-6"
    Path("model.json").write_text("precious")
    assert "or --overwrite" in discreet(line).err
    assert "make the folder first" in discreet(f"{line} --out nowhere/model.json").err
    assert Path("model.json").read_text() == "precious"
    assert not Path("people.ledger").exists()
    assert discreet(f"{line} --overwrite").code == 0
    assert type(load_model("model.json")).__name__ == "KMeans"
    misspelt = discreet(f"{line} --overwrite --name peopel")
    assert "note: --name 'peopel': nothing is recorded under this name" in misspelt.err


def test_a_refused_fit_leaves_no_limit_behind(folder):
    line = f"fit kmeans people.csv {DECLARED} --clusters 2 --ledger people.ledger --limit 1:1e-6"
    refused = discreet(f"{line} --epsilon 3")
    assert (refused.code, "nothing was recorded; write --epsilon" in refused.err) == (3, True), refused.err
    assert discreet(f"{line} --epsilon 0.5 --where 'agee > 3'").code == 1
    assert not Path("people.ledger").exists()
    spent = f"fit kmeans people.csv {DECLARED} --clusters 2 --ledger people.ledger --epsilon 0.9"
    assert discreet(f"{spent} --out first.json").code == 0
    assert discreet(f"{line} --epsilon 0.5").code == 3  # what was spent before the limit counts
    assert [entry.kind for entry in dp.Ledger("people.ledger").history()] == ["reserve"]
    assert discreet(f"{line.replace('--limit 1', '--limit 2')} --epsilon 0.5").code == 0
    assert [entry.kind for entry in dp.Ledger("people.ledger").history()] == ["reserve", "limit", "reserve"]


def test_a_large_delta_is_cautioned_against_before_it_is_spent(folder):
    line = f"fit kmeans people.csv {DECLARED} --clusters 2 --epsilon 1 --overwrite"
    for more, says in [
        ("--delta 0.9", "note: δ=0.9 is above 1/n"),
        ("--delta 1e-3", "note: δ=0.001 is above 1/n"),
        ("--delta 0.9 --neighbors add-remove", "note: δ=0.9 is not small: it allows"),
        ("--ledger l --limit 1:0.9", "note: δ=0.9 is above 1/n"),
    ]:
        told = discreet(f"{line} {more}").err
        assert says in told
    assert "δ=" not in discreet(f"{line} --delta 1e-6").err
    assert "note: ε=11 guarantees almost nothing" in discreet(line.replace("--epsilon 1", "--epsilon 11")).err
    assert "note: ε=11 guarantees almost nothing" in discreet("budget limit l3 11:1e-6 --name people").err
    assert "note: δ=0.9 is not small" in discreet("budget limit l2 1:0.9 --name people").err


@pytest.mark.parametrize(
    ("line", "code", "says"),
    [
        ("fit kmeans people.csv --epsilon 1", 2, "--bounds age=17:90, or --schema people.toml"),
        ("fit kmeans people.csv --epsilon 1 --bounds age=90", 2, "expected NAME=LOW:HIGH"),
        ("fit kmeans people.csv --epsilon 1 --classes income=", 2, "write for example --classes income=below,above"),
        ("fit kmeans people.csv --epsilon 1 --schema people.toml --bounds age=1:2", 2, "expected no --bounds"),
        ("fit kmeans people.csv --epsilon 1 --bounds wage=1:2 --bounds age=1:2", 1, "one of 'age', 'hours', 'income'"),
        ("fit kmeans people.csv --epsilon -1 --schema people.toml", 1, "--epsilon -1.0: expected a finite number"),
        ("fit kmeans people.csv --epsilon 1 --schema people.toml --columns age,wage", 1, "of 'age', 'hours', 'income'"),
        ("fit kmeans people.csv --epsilon 1 --schema people.toml --covariance full", 1, "write one of --components"),
        ("fit logistic people.csv --epsilon 1 --schema people.toml", 2, "write --target income"),
        ("fit kmeans people.csv --epsilon 1 --schema people.toml --limit 1:1e-6", 2, "expected --ledger FILE"),
        ("fit kmeans people.csv --epsilon 1 --random_state 1", 2, "No such option"),
        ("fit kmeans nobody.csv --epsilon 1 --bounds age=1:2", 1, "nobody.csv: No such file"),
        ("query people.csv mean wage --schema people.toml --ledger l --limit 1:1e-6", 1, "of 'age', 'hours', 'income'"),
        ("query people.csv mean age --schema people.toml --ledger l", 1, "write --limit 1:1e-6"),
        ("query people.csv mean income --schema people.toml --ledger l", 1, "a category; --by income groups by it"),
        ("query people.csv mean housr --schema people.toml --ledger l", 1, "did you mean 'hours'?"),
        ("query people.csv mean age --where 'agee > 1' --schema people.toml --ledger l --limit 1:1e-6", 1,
         "did you mean 'age'?"),
        ("query people.csv mean age --where 'age > 1 AND 2' --schema people.toml --ledger l --limit 1:1e-6", 1,
         "write and, or, not, in with small letters"),
        ("query people.csv quantiles age --schema people.toml --ledger l", 2, "write --q 0.25,0.5,0.75"),
        ("query people.csv difference age --between income --of yes --schema people.toml --ledger l", 2,
         "write --set of=yes"),
        ("query people.csv log-rank age income --by income --schema people.toml --ledger l", 1, "write --between"),
        ("query people.csv quantiles age --q a --schema people.toml --ledger l", 2, "write --q 0.25,0.5"),
        ("query /dev/stdin mean age --schema people.toml --ledger l", 1, "save the rows to a file first"),
        ("fit kmeans people.csv --epsilon 1 --bounds age=1:2 --unit income", 2, "write --max-rows 10"),
        ("fit logistic people.csv --epsilon 1 --schema people.toml --target age", 1, "a category, one of 'income'"),
        ("fit logistic people.csv --epsilon 1 --bounds age=1:2 --target income", 1, "write --classes income=no,yes"),
        ("infer gaussians.json --draws 3", 1, "--draws 3: expected a whole number"),
        ("budget limit l 1:1e-6 --name people --reason why", 1, "a limit to raise, of (there are none)"),
        ("query people.csv mean --schema people.toml --ledger l --limit 1:1e-6", 2, "write for example: mean age"),
        ("query people.csv mean age --q 0.5 --schema people.toml --ledger l", 1, "it is for quantiles, quantile"),
        ("budget show nobody.ledger", 1, "discreet budget limit nobody.ledger 1:1e-6"),
        ("budget limit new.ledger abc --name people", 2, "write for example 1:1e-6"),
        ("compose gaussian:sigma=1 --delta 1e-6", 2, "gaussian:mu=…"),
        ("explain", 2, "write --epsilon 1 --delta 1e-6"),
        ("plan mean --rows 100 --target 0.0001 --sampling", 1, "expected one above"),
        ("plan pca --rows 100 --target 0.1", 1, "gap"),
        ("infer people.csv", 1, "expected a fitted model as JSON"),
        ("sample gaussians.json --rows 10 --out rows.xlsx", 2, "ends with .csv or .parquet"),
    ],
)  # fmt: skip
def test_a_refusal_says_what_to_write_instead(folder, line, code, says):
    refused = discreet(line)
    assert (refused.code, refused.out) == (code, ""), refused.printed
    assert says in " ".join(refused.err.split())
    assert "Traceback" not in refused.err
    assert not Path("l").exists()


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("fit kmeans people.csv --epsilon 1 --clusters 0", "--clusters 0: expected a whole number"),
        ("fit mixture people.csv --epsilon 1 --columns age --components 0,2", "--components 0: expected a whole"),
        ("fit mixture people.csv --epsilon 1 --covariance round", "--covariance 'round': expected one of 'full'"),
        ("fit mixture people.csv --epsilon 1 --columns age,hours --method paper --covariance diag",
         "--method 'paper': expected --covariance 'full' and"),
        ("fit mixture people.csv --epsilon 1 --whole income", "--whole ['income']: expected names of columns"),
        ("fit pca people.csv --epsilon 1 --components 9", "--components 9: expected a whole number from 1 to 2"),
        ("fit logistic people.csv --epsilon 1 --target income --method gradient --steps 0", "--steps 0: expected"),
        ("fit logistic people.csv --epsilon 1 --target income --method gradent", "did you mean 'gradient'?"),
        ("fit kmeans people.csv --epsilon 1 --delta 0", "--delta 0.0: expected a probability"),
        ("fit kmeans people.csv --epsilon 1 --limit 1:2 --ledger l", "--limit: '1:2': delta=2.0: expected a prob"),
        ("fit kmeans people.csv --epsilon 1 --where ''", "write no --where where all rows count"),
        ("query people.csv mean age --level 2 --ledger l --limit 1:1e-6", "--level 2.0: expected a probability"),
        ("query people.csv mean age age --ledger l --limit 1:1e-6", "COLUMN ['age', 'age']: expected at least one"),
        ("query people.csv median age --step 0 --ledger l --limit 1:1e-6", "--step 0.0: expected a finite number"),
        ("query people.csv histogram age --bins 1 --ledger l --limit 1:1e-6", "--bins 1: expected a whole number"),
        ("query people.csv mean age --epsilon 1 --share 0.5 --ledger l --limit 1:1e-6", "--epsilon 1.0, --share 0.5:"),
        ("query people.csv variance age --method direkt --ledger l --limit 1:1e-6", "did you mean 'direct'?"),
        ("plan mean --rows 0 --target 0.1", "--rows 0: expected a whole number"),
        ("plan mean --rows 9 --target 0.1 --dimensions 0", "--dimensions 0: expected a whole number"),
        ("plan men --rows 9 --target 0.1", "WHAT 'men': expected one of 'mean'"),
        ("plan pca --rows 9 --target 0.1", "--gap: expected by how much the variance"),
        ("explain --epsilon 1 --prior 2", "--prior 2.0: expected a probability"),
        ("infer gaussians.json --chains 0", "--chains 0: expected a whole number"),
        ("budget limit l 1:1e-6 --name people --filter renyi", "--filter 'renyi': expected one of 'gaussian'"),
        ("compose gaussian:mu=-1 --delta 1e-6", "MECHANISM: 'gaussian:mu=-1': mu=-1.0: expected a finite number"),
        ("compose gaussian:mu=1 --delta 2", "--delta 2.0: expected a probability"),
    ],
)  # fmt: skip
def test_a_refusal_names_the_flag_that_was_written(folder, line, says):
    refused = discreet(f"{line} {DECLARED}" if line.split()[0] in ("fit", "query") else line)
    assert refused.code in (1, 2), refused.printed
    assert says in " ".join(refused.err.split())


def test_what_a_user_wrote_is_shown_as_it_was_written(folder):
    line = f"fit kmeans people.csv --epsilon 1 {DECLARED} --method 'a name=b epsilon=3'"
    assert "--method 'a name=b epsilon=3': expected one of" in discreet(line).err


def test_a_raised_limit_needs_a_reason_and_the_record_shows_it(folder):
    assert discreet("budget limit b.ledger 1:1e-6 --name people --neighbors add-remove").code == 0
    refused = discreet("budget limit b.ledger 2:1e-6 --name people")
    assert (refused.code, "write --reason 'why'" in refused.err) == (1, True)
    assert discreet("budget limit b.ledger 2:1e-6 --name people --reason 'board, 3 May'").code == 0
    entries = discreet("budget history b.ledger --json").data["entries"]
    assert [(one["kind"], one["limit"]["epsilon"], one["what"]) for one in entries] == [
        ("limit", 1.0, None),
        ("raise", 2.0, "board, 3 May"),
    ]
    shown = discreet("budget history b.ledger").out
    assert re.search(r"^2 +\d{4}-\d\d-\d\d \d\d:\d\d +raise .* board, 3 May +ε=2 at δ=1e-06$", shown, re.MULTILINE)
    other = discreet(f"query people.csv mean age {DECLARED} --neighbors add-remove --ledger b.ledger --limit 5:1e-6")
    assert "discreet budget limit b.ledger 5:1e-6 --name people --reason '…'" in other.err
    assert "did you mean 'people'?" in discreet("budget limit b.ledger 3 --name peopel --reason why").err
    head = discreet("budget verify b.ledger --json").data["head"]
    assert discreet(f"budget verify b.ledger --head {head}").code == 0
    assert discreet(f"budget verify b.ledger --head {'0' * 63}1").code == 1
    new = discreet("budget limit b.ledger 3 --name visits")
    assert "means δ=0" in new.err
    assert "'visits' is new in this ledger" in new.err
    assert "write --name 'people'" in discreet("report gaussians.json --out r.html --ledger b.ledger").err


def test_composition_and_explanation_have_the_librarys_numbers(folder):
    result = discreet("compose gaussian:mu=0.05x20 laplace:epsilon=0.02x20 --delta 1e-6 --json").data
    losses = [dp.GaussianLoss(0.05)] * 20 + [dp.LaplaceLoss(0.02)] * 20
    assert result["epsilon"]["exact"] == pytest.approx(dp.compare(losses, 1e-6).epsilon["exact"])
    unpriced = discreet("compose approximate:epsilon=1,delta=1e-3 --delta 1e-6 --json").data
    assert unpriced["epsilon"]["linear"] == [None]  # ∞ is no JSON
    assert discreet("explain --epsilon 1 --json").data["accuracy"] == pytest.approx(0.7310585786)
    shown = discreet("explain --epsilon 1 --delta 0.01 --rows 300")
    assert shown.printed.count("is above 1/n") == 1
    assert "A suspicion can grow" not in shown.out
    assert "any one row, " in discreet("explain --model gaussians.json").out


def test_a_terminal_gets_lines_and_a_pipe_plain_columns(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    answer = CommandOutput({"a": 1}, [OutputTable(("name", "value"), [("[red]age", 1.5), ("b\x1b[2J", 22.25)])])
    for stream, lined in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stdout", stream)
        printing.show(answer)
        assert (LINES.search(stream.getvalue()) is not None) is lined
        assert "[red]age" in stream.getvalue()  # a name is a name, whatever it looks like
        assert "\x1b[2J" not in stream.getvalue()
    assert stream.getvalue() == "name      value\n[red]age    1.5\nb�[2J     22.25\n"


def run(*words: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    import os

    return subprocess.run(
        [sys.executable, "-m", "discreet", *words],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )


def test_as_a_process_output_is_plain_and_codes_are_those_of_the_help(tmp_path):
    colours = {"FORCE_COLOR": "1", "TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8"}
    helped = run("--help", folder=tmp_path, **colours)
    codes = ("0  success", "1  refused or failed", "2  a mistake in the command", "3  the budget does not admit it")
    assert [code for code in codes if code not in helped.stdout] == []
    assert "--install-completion" in helped.stdout
    assert (helped.returncode, LINES.search(helped.stdout + helped.stderr)) == (0, None)
    lines = {
        "compose gaussian --delta 1e-6": 2,
        "compose gaussian:mu=0.1x5 --delta 1e-6": 0,
        "budget show none.ledger": 1,
    }
    for line, code in list(lines.items())[: size(1, 3)]:  # in this process the others are run elsewhere
        ran = run(*line.split(), folder=tmp_path, **colours)
        assert (ran.returncode, ran.stdout == "") == (code, code != 0)
        assert LINES.search(ran.stdout + ran.stderr) is None


def test_without_typer_it_says_what_to_install(tmp_path):
    code = "import sys; sys.modules['typer'] = None; from discreet.cli import main; main()"
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.strip() == "discreet: the command line needs typer: pip install 'discreet[cli]'"


def test_the_version_is_told():
    assert discreet("--version").out.startswith("discreet 0.")


class TestStart:
    """A command waits for its own imports and no others."""

    def test_first_lines_are_those_of_the_commands(self):
        root = typer.main.get_command(application(fancy=False))
        for name, line in COMMANDS.items():
            assert root.commands[name].help.startswith(line)

    def test_help_is_the_same_whether_commands_are_imported_or_not(self):
        texts = {
            CliRunner().invoke(application(fancy=False, only=only), ["--help"]).output for only in (None, "", "fit")
        }
        assert len(texts) == 1

    def test_help_imports_nothing_of_the_library(self):
        code = "import sys; sys.argv[1:] = ['--help']; from discreet.cli import main\n"
        code += "try:\n    main()\nexcept SystemExit:\n    print('numpy' in sys.modules)"
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert ran.stdout.endswith("False\n")

    def test_a_shell_that_completes_is_told_the_flags_of_a_command(self):
        env = os.environ | {
            "_DISCREET_COMPLETE": "complete_bash",
            "COMP_WORDS": "discreet fit --eps",
            "COMP_CWORD": "2",
        }
        ran = subprocess.run([sys.executable, "-m", "discreet"], capture_output=True, text=True, check=True, env=env)
        assert "--epsilon" in ran.stdout


def test_ctrl_c_while_an_answer_is_shown_says_what_stays_charged(folder, monkeypatch):
    from discreet.cli import command

    def stop(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(command, "show", stop)
        result = discreet("query people.csv mean age --schema people.toml --ledger unseen.ledger --limit 1:1e-6")
    assert result.code == 130
    assert "'mean of age' was not answered, but stays charged to 'people': ε=" in result.err
    assert "not answered" in " ".join(discreet("budget history unseen.ledger").out.split())


def test_ctrl_c_during_start_up_says_that_it_stopped(monkeypatch, capsys):
    class Stop:
        def find_spec(self, name, *_):
            if name == "discreet.cli.app":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "discreet.cli.app", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Stop(), *sys.meta_path])
    before = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit) as stopped:
            main()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert stopped.value.code == 130
    assert capsys.readouterr().err == "discreet: stopped; nothing was charged\n"


def test_ctrl_c_says_what_stays_charged(folder, monkeypatch):
    from discreet.door import exit as door

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(door, "draw_plan", stop)
    line = "query people.csv mean age --schema people.toml --ledger stopped.ledger --limit 1:1e-6"
    result = discreet(line)
    assert result.code == 130
    assert "discreet: stopped; 'mean of age' was not answered, but stays charged to 'people': ε=" in result.err
    shown = discreet("budget history stopped.ledger").out
    assert "unanswered" in shown
    assert "not answered" in " ".join(shown.split())
    assert "90.0%" in discreet("budget show stopped.ledger").out
