"""``python -m papers``: names, files, pages, how it ends, and errors that say what to write."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from discreet.noise import GaussianNoise
from papers.audit.audited_page import page, read_attacks
from papers.audit.subjects import subjects
from papers.command_line import main

ROOT = Path(__file__).parents[2]
NAME = "williams/figure-2b"
SUBJECT = "door: sum, Gaussian noise, add-remove"
ATTACK = ["audit", SUBJECT, "--seconds", "0.2", "--jobs", "1"]


def ran(*words: object) -> int:
    return main([str(word) for word in words])


@pytest.fixture
def few(monkeypatch):
    """Let an attack have few runs."""
    monkeypatch.setattr("discreet.audit.attacking.FEWEST", 200)


def test_a_run_prints_the_verdict_and_says_where_the_picture_is(tmp_path, capsys):
    assert ran(NAME, "--quick", "--jobs", 1, "--out", tmp_path) == 0
    printed = capsys.readouterr().out
    assert "**With honest noise.** It holds." in printed
    assert "| lower bound |" in printed
    assert str(tmp_path / "williams/figure-2b.png") in printed
    (outcome,) = (tmp_path / "williams").glob("*.json")
    assert json.loads(outcome.read_text(encoding="utf-8"))["verdict"]["holds"] is True
    written = tmp_path / "pages" / "all.md"
    assert ran("--page", written, "--out", tmp_path) == 0  # it runs nothing
    assert "](../williams/figure-2b.png)" in written.read_text(encoding="utf-8")


def test_without_names_all_entries_are_run(tmp_path, monkeypatch):
    started = []
    monkeypatch.setattr("papers.command_line.run", lambda entry, out, quick, jobs: started.append((entry.name, quick)))
    monkeypatch.setattr("papers.command_line.section", lambda outcome, pictures: "")
    listed = ["dp-em/figure-1", NAME]
    monkeypatch.setattr("papers.command_line.ENTRIES", listed)
    for words in ([], ["--all", "--quick"], ["--all", "--page", tmp_path / "page.md", "--out", tmp_path]):
        assert ran(*words) == 0
        assert started == [(name, "--quick" in words) for name in listed]
        started.clear()


def test_names_may_be_how_they_begin(capsys):
    assert ran("williams/figure-2", "williams/table-3", "--list") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["williams/table-3", "williams/figure-2a", "williams/figure-2b"]
    assert "Table 3" in lines[0]


def test_names_of_attacks_may_be_a_part_of_them(capsys):
    assert ran("audit", "--list") == 0
    names = capsys.readouterr().out.splitlines()
    assert SUBJECT in names
    assert len(names) > 100
    ran("audit", "DOOR:", "--list")
    assert capsys.readouterr().out.splitlines() == [name for name in names if name.startswith("door")]


def test_an_attack_is_shown_and_kept(tmp_path, few, capsys):
    out, written = tmp_path / "found", tmp_path / "pages" / "page.md"
    assert ran(*ATTACK, "--out", out, "--page", written) == 0
    assert "None of 1 guarantees was refuted." in capsys.readouterr().out
    (each,) = read_attacks(out)["attacks"]
    assert each["name"] == SUBJECT
    assert each["holds"] is True
    assert SUBJECT in written.read_text(encoding="utf-8")
    assert "## What is not covered" in written.read_text(encoding="utf-8")
    assert ran("audit", "door: histogram, add", "--seconds", 0.2, "--jobs", 1, "--out", out) == 0
    assert len(read_attacks(out)["attacks"]) == 2


def test_a_refuted_guarantee_ends_with_code_1(monkeypatch, few, capsys):
    monkeypatch.setattr(GaussianNoise, "add", lambda self, values, bits=None: np.asarray(values, dtype=np.float64))
    assert ran(*ATTACK) == 1
    printed = capsys.readouterr().out
    assert "REFUTED" in printed
    assert "1 of 1 guarantees were refuted" in printed


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("wiliams", "expected a name of --list"),
        (f"{NAME} --all", "not both"),
        ("audit", "expected the names of attacks"),
        ("audit windows", "expected a name of --list"),
        ("audit door --all", "not both"),
        ("audit --page page.md", "expected --out too"),
        ("audit --page page.md --out nowhere", "expected a folder with what python -m papers audit"),
        ("audit door --out pyproject.toml", "expected a folder"),
    ],
)
def test_mistakes_say_what_to_write(line, says, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").touch()
    with pytest.raises(SystemExit) as ended:
        ran(*line.split())
    assert ended.value.code == 2
    assert says in capsys.readouterr().err


def test_a_failure_names_the_entry(tmp_path):
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(OSError, match="file") as failed:
        ran(NAME, "--quick", "--jobs", 1, "--out", file)
    assert failed.value.__notes__ == [f"{NAME}: results so far are saved in {file}; the same command resumes"]


def test_it_is_a_command_of_a_checkout():
    command = [sys.executable, "-m", "papers", "survey", "--list"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("survey/figure-2 ")


def test_the_page_of_the_documentation_is_what_the_files_say():
    docs = ROOT / "docs"
    assert (docs / "audited.md").read_text(encoding="utf-8") == page(docs / "audited")
    result = read_attacks(docs / "audited")
    assert {each["name"] for each in result["attacks"]} == set(subjects())
    assert all(each["holds"] for each in (*result["attacks"], *result["one_run"]))
