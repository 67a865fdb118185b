"""``discreet audit``: names, a model's file, what it writes, and how it ends where a promise is broken."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer")

import discreet as dp
from cli_folder import discreet
from discreet.audit.page import kept_attacks, page
from discreet.audit.subjects import subjects
from discreet.noise import GaussianNoise

SUBJECT = "door: sum, Gaussian noise, add-remove"


@pytest.fixture
def quick(monkeypatch):
    """Let an attack have few runs."""
    monkeypatch.setattr("discreet.audit.suite.FEWEST", 200)


def test_a_list_of_names():
    result = discreet("audit --list --json")
    assert SUBJECT in result.data["subjects"]
    assert len(result.data["subjects"]) > 100
    assert discreet("audit DOOR: --list --json").data["subjects"] == [
        name for name in result.data["subjects"] if name.startswith("door")
    ]


def test_an_attack_is_shown_and_kept(tmp_path, quick):
    out = tmp_path / "found"
    ran = discreet(f"audit '{SUBJECT}' --seconds 0.2 --jobs 1 --out {out} --page {tmp_path / 'pages' / 'page.md'}")
    assert ran.code == 0, ran.printed
    assert "None of 1 promises was broken." in ran.out
    (each,) = json.loads((out / "attacks.json").read_text(encoding="utf-8"))["attacks"]
    assert each["name"] == SUBJECT
    assert each["holds"] is True
    page = (tmp_path / "pages" / "page.md").read_text(encoding="utf-8")
    assert SUBJECT in page
    assert discreet(f"audit 'door: histogram, add' --seconds 0.2 --jobs 1 --out {out}").code == 0
    assert len(json.loads((out / "attacks.json").read_text(encoding="utf-8"))["attacks"]) == 2
    assert "## What is not covered" in page


def test_a_broken_promise_ends_with_code_1(monkeypatch, quick):
    monkeypatch.setattr(GaussianNoise, "add", lambda self, values, bits=None: np.asarray(values, dtype=np.float64))
    ran = discreet(f"audit '{SUBJECT}' --seconds 0.2 --jobs 1")
    assert ran.code == 1
    assert "REFUTED" in ran.out
    assert "1 of 1 promises were broken" in ran.out


def test_a_file_of_a_model(tmp_path, monkeypatch):
    monkeypatch.setattr("discreet.audit.suite.FEWEST", 20)
    rows = np.random.default_rng(0).uniform(0, 10, (500, 1))
    model = dp.PCA(1, bounds=(0, 10), epsilon=0.5, method="analyze-gauss").fit(rows)
    (tmp_path / "model.json").write_text(model.to_json(), encoding="utf-8")
    ran = discreet(f"audit {tmp_path / 'model.json'} --seconds 0.2 --json")
    (each,) = ran.data["attacks"]
    assert each["name"] == "model.json: PCA"
    assert each["epsilon_claimed"] == 0.5


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("audit", "expected what to attack"),
        ("audit windows", "expected a name of --list"),
        ("audit door --all", "not both"),
        ("audit --page page.md", "expected --out too"),
        ("audit --page page.md --out nowhere", "expected a folder with what discreet audit"),
        ("audit door --out pyproject.toml", "expected a folder"),
        ("audit nowhere.json --seconds 0.2", "nowhere.json"),
    ],
)
def test_mistakes_say_what_to_write(line, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").touch()
    ran = discreet(line)
    assert ran.code in (1, 2)
    assert says in ran.printed


def test_the_page_of_the_documentation_is_what_the_files_say():
    docs = Path(__file__).parent.parent / "docs"
    assert (docs / "audited.md").read_text(encoding="utf-8") == page(docs / "audited")
    result = kept_attacks(docs / "audited")
    assert {each["name"] for each in result["attacks"]} == set(subjects())
    assert all(each["holds"] for each in (*result["attacks"], *result["one_run"]))
