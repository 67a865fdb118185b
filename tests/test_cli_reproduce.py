"""``discreet reproduce``: names, files, the page, and errors that say what to write."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("typer")
from typer.testing import CliRunner

from discreet.cli.app import application

NAME = "williams/figure-2b"


def asked(*arguments: object):
    return CliRunner().invoke(application(fancy=False), ["reproduce", *map(str, arguments)])


def test_a_run_prints_the_verdict_and_says_where_files_are(tmp_path):
    result = asked(NAME, "--quick", "--jobs", 1, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert "The paper's claim holds." in result.stdout
    assert "lower bound" in result.stdout
    assert str(tmp_path / "williams/figure-2b.png") in result.stdout
    assert {path.name for path in (tmp_path / "williams").iterdir()} >= {"figure-2b.json", "figure-2b.png"}
    page = tmp_path / "pages" / "all.md"
    result = asked("--page", page, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert "](../williams/figure-2b.png)" in page.read_text(encoding="utf-8")


def test_json_is_one_document(tmp_path):
    result = asked("williams/figure-2b", "--quick", "--jobs", 1, "--out", tmp_path, "--json")
    (outcome,) = json.loads(result.stdout)["outcomes"]
    assert outcome["name"] == NAME
    assert outcome["holds"] is True
    assert outcome["quick"] is True
    assert outcome["table"]["rows"]


def test_names_may_be_how_they_begin():
    result = json.loads(asked("williams/figure-2", "williams/table-3", "--list", "--json").stdout)
    names = [entry["name"] for entry in result["entries"]]
    assert names == ["williams/table-3", "williams/figure-2a", "williams/figure-2b"]
    assert "Table 3" in asked("williams", "--list").stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["wiliams"], "expected one of dp-em/figure-1"),
        ([], "--list to see them"),
        ([NAME, "--all"], "not both"),
    ],
)
def test_mistakes_say_what_to_write(arguments, said):
    result = asked(*arguments)
    assert result.exit_code == 2
    assert said in " ".join(result.output.split())


def test_a_failure_names_the_entry(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    result = asked(NAME, "--quick", "--jobs", 1, "--out", file)
    assert result.exit_code == 1
    assert f"discreet: {NAME}: " in result.output
    assert "the same command goes on" in result.output
