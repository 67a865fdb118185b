"""Options on a command line: those of one value are given once, and several groups can be written in two ways."""

from __future__ import annotations

from pathlib import Path

import pytest

typer = pytest.importorskip("typer", reason="typer is not installed")
pytest.importorskip("duckdb", reason="duckdb is not installed")

import discreet as dp  # noqa: E402
from cli_folder import discreet, make_folder  # noqa: E402
from discreet.cli.app import application  # noqa: E402


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
    rows = [f"{line},{wards[place % 3]}" for place, line in enumerate(lines[1:])]
    (folder / "people.csv").write_text("\n".join([f"{lines[0]},ward", *rows, ""]))
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


@pytest.mark.parametrize(("command", "flag"), [(name, flag) for name, flag, several in OPTIONS if not several])
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
