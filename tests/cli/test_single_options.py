"""Options on a command line: those of one value are given once, and several groups can be written in two ways."""

from __future__ import annotations

from pathlib import Path

import pytest

from together import together

typer = pytest.importorskip("typer", reason="typer is not installed")
pytest.importorskip("duckdb", reason="duckdb is not installed")

import discreet as dp  # noqa: E402
from cli_folder import discreet, make_folder  # noqa: E402
from discreet.cli.app import application  # noqa: E402
from discreet.cli.query_command import NAMES  # noqa: E402


def commands():
    for name, command in typer.main.get_command(application(fancy=False)).commands.items():
        inner = getattr(command, "commands", None) or {"": command}
        yield from ((f"{name} {one}".strip(), each) for one, each in inner.items())


OPTIONS = [
    (name, one.opts[0], one.multiple)
    for name, command in commands()
    for one in command.params
    if one.param_type_name == "option" and not one.is_flag
]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = make_folder(tmp_path_factory.mktemp("folder"))
    lines = (folder / "people.csv").read_text().splitlines()
    wards = ("north", "south", "elsewhere")
    rows = [f"{line},{wards[place % 3]},2020-0{1 + place % 9}-01" for place, line in enumerate(lines[1:])]
    (folder / "people.csv").write_text("\n".join([f"{lines[0]},ward,seen", *rows, ""]))
    return folder


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    for file in made.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_there_are_options_of_one_value_and_of_several():
    assert {"--where", "--epsilon", "--neighbors", "--out", "--level", "--schema"} <= {flag for _, flag, _ in OPTIONS}
    assert {flag for _, flag, several in OPTIONS if several} >= {
        "--by",
        "--bounds",
        "--classes",
        "--q",
        "--set",
        "--bins",
    }


@together(("command", "flag"), [(name, flag) for name, flag, several in OPTIONS if not several])
def test_an_option_of_one_value_is_given_once(command, flag):
    ran = discreet(f"{command} {flag} 1 {flag}=2")
    assert (ran.code, ran.out) == (2, "")
    assert f"Invalid value for {flag}: expected it once, and it is given 2 times; write one value" in ran.err


@pytest.mark.parametrize(("command", "flag"), [(name, flag) for name, flag, several in OPTIONS if several])
def test_an_option_of_several_values_is_not_refused_for_that(command, flag):
    assert "expected it once" not in discreet(f"{command} {flag} 1 {flag}=2").err


@pytest.mark.parametrize(
    "twice", ["--where 'age > 30' --where 'age < 50'", "--epsilon 0.1 --epsilon 0.2", "--level 0.9 --level 0.9"]
)
def test_nothing_is_spent_on_a_line_with_an_option_twice(twice, folder):
    ran = discreet(f"query people.csv mean age --schema people.toml --ledger l --limit 5 {twice}")
    assert ran.code == 2
    assert not Path("l").exists()


def test_a_flag_without_a_value_says_the_same_twice(folder):
    line = "query people.csv mean age --schema people.toml --ledger l --limit 5 --epsilon 1 --preview --preview"
    assert discreet(f"{line} --json").data["admitted"] is True


COMMON = "--bounds age=17:90 --classes income=below,above --classes ward=north,south:other --ledger l --limit 100"


def test_groups_of_several_columns_are_written_in_two_ways(folder):
    answers = [
        discreet(f"query people.csv count {by} {COMMON} --epsilon 20 --json").data["answer"]
        for by in ("--by ward --by income", "--by ward,income", "--by 'ward, income'")
    ]
    labels = [[(row["ward"], row["income"]) for row in rows] for rows in answers]
    assert labels[0] == labels[1] == labels[2]
    assert labels[0][0] == ("north", "below")
    assert len(labels[0]) == 6
    for rows in answers[1:]:
        assert [row["value"] for row in rows] == pytest.approx([row["value"] for row in answers[0]], abs=5)
    assert {row["ward"] for row in answers[0]} == {"north", "south", "other"}  # as --classes …:other declares it
    losses = dp.Ledger("l").spent("people")
    assert list(losses.values()) == [3]  # one release each


@pytest.mark.parametrize("by", ["--by ward --by ward", "--by ward,ward", "--by ward,"])
def test_a_group_is_given_once(by, folder):
    ran = discreet(f"query people.csv count {by} {COMMON} --epsilon 1")
    assert ran.code == 1
    assert not Path("l").exists()


def test_tables_on_the_command_line(folder):
    asked = f"query people.csv crosstab ward age --bins age=17,40,90 {COMMON} --epsilon 10"
    shown = discreet(asked)
    assert shown.code == 0
    rows = discreet(f"{asked} --json").data["answer"]
    assert len(rows) == 3 * 2 + 3 + 2 + 1  # with the margins
    assert {(row["ward"] is None, row["age"] is None) for row in rows} == {(a, b) for a in (0, 1) for b in (0, 1)}
    means = discreet(f"query people.csv crosstab ward income --values age {COMMON} --epsilon 10 --json").data
    assert means["question"] == "crosstab of ward, income with means of age"
    assert all(17 <= row["value"] <= 90 for row in means["answer"])
    several = discreet(f"query people.csv histogram ward age --bins age=3 {COMMON} --epsilon 10 --json").data["answer"]
    assert [row["column"] for row in several] == ["ward"] * 3 + ["age"] * 3


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("crosstab ward", "two columns, its rows and its columns; write for example: crosstab ward sex"),
        ("crosstab ward income age", "two columns, its rows and its columns; write for example: crosstab ward sex"),
        ("crosstab ward age --bins 3 --bins 4", "expected it once, or with the name of a column"),
        ("crosstab ward age --bins age=3 --bins age=4", "each once"),
        ("crosstab ward age --bins height=3", "with a declared column"),
        ("mean age --values age", "mean does not take it"),
        ("crosstab ward ward", "different columns"),
    ],
)
def test_a_table_that_does_not_fit_is_refused_before_the_spend(line, message, folder):
    ran = discreet(f"query people.csv {line} {COMMON} --epsilon 1")
    assert ran.code in (1, 2)
    assert message in ran.err.replace("\n", " ")
    assert not Path("l").exists()


def test_comparisons_and_events_on_the_command_line(folder):
    asked = f"query people.csv difference age --between income --by ward {COMMON} --epsilon 10 --json"
    rows = discreet(asked).data["answer"]
    assert [row["ward"] for row in rows] == ["north", "south", "other"]
    assert all("p_value" in row for row in rows)
    asked = f"query people.csv difference age --between ward --set groups=south,north {COMMON} --epsilon 10 --json"
    (row,) = discreet(asked).data["answer"]
    assert (row["group"], row["other"]) == ("south", "north")
    for line, question in (
        ("trend --over age --bins 5 --by ward", "trend by ward over age"),
        ("max age", "max of age"),
        ("min age --set rows=100", "min of age"),
        ("survival age income --set occurred=above --by ward", "survival of age by ward"),
        ("log-rank age income --set occurred=above --between ward", "log rank of age between ward"),
    ):
        assert discreet(f"query people.csv {line} {COMMON} --epsilon 10 --preview --json").data["question"] == question
    notes = discreet(f"query people.csv mean age --loose {COMMON} --epsilon 10 --json").data["notes"]
    assert notes[0].startswith("age: ")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("difference age", "--between"),
        ("trend age", "--over"),
        ("survival age", "survival is of two columns, its time and its event"),
        ("log-rank age income", "--between"),
        ("trimmed-mean age --by ward", "trimmed-mean does not take it"),
        ("mean age --between ward", "mean does not take it"),
        ("difference age --between ward --by ward", "other columns"),
    ],
)
def test_a_comparison_that_does_not_fit_is_refused_before_the_spend(line, message, folder):
    ran = discreet(f"query people.csv {line} {COMMON} --epsilon 1")
    assert ran.code in (1, 2)
    assert message in ran.err.replace("\n", " ")
    assert not Path("l").exists()


ASKED = {
    "chi-square": "income --by ward",
    "check-schema": "",
    "correlation": "age hours",
    "count": "--by ward,income",
    "count-persons": "",
    "covariance": "age hours",
    "crosstab": "ward income --values age",
    "difference": "age --between income",
    "geometric-mean": "age",
    "histogram": "age ward",
    "interquartile-range": "age",
    "log-rank": "age income --between ward --set occurred=above --set until=60",
    "max": "age --set rows=1000 --by ward",
    "mean": "age hours",
    "median": "age --by ward",
    "min": "age",
    "mode": "ward",
    "proportion": "income --set of=above",
    "quantile": "age --q 0.9",
    "quantiles": "age --q 0.25,0.5",
    "rank-test": "age --between income",
    "std": "age",
    "sum": "age",
    "survival": "age income --set occurred=above --by ward",
    "trend": "age --over seen",
    "trimmed-mean": "age",
    "variance": "age",
}


def test_there_is_a_line_for_every_statistic():
    assert sorted(ASKED) == sorted(NAMES)


@pytest.mark.parametrize("statistic", ASKED)
def test_every_statistic_can_be_asked(statistic, folder):
    whose = "--unit hours --max-rows 2" if statistic == "count-persons" else "--bounds hours=1:99"
    more = f"--bounds seen=2020-01-01:2020-12-31 --epsilon 1 {whose}"
    ran = discreet(f"query people.csv {statistic} {ASKED[statistic]} {COMMON} {more}")
    assert ran.code == 0, ran.err
    assert dp.Ledger("l").spent("people")
