"""``discreet audit``: a model's file, and how it ends where a promise is broken."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("typer")

import discreet as dp
from cli_folder import discreet
from discreet.noise import GaussianNoise
from effort import LONG, size


@pytest.fixture
def model(tmp_path, monkeypatch):
    """Write the file of a model, and let an attack have few runs, on three pairs: of six rows, of one and of two."""
    monkeypatch.setattr("discreet.audit.attacking.FEWEST", 20)
    if not LONG:
        monkeypatch.setattr("discreet.audit.targets.neighbours", lambda *given: dp.audit.neighbours(*given)[1:8:3])
    rows = np.random.default_rng(0).uniform(0, 10, (500, 1))
    model = dp.PCA(1, bounds=(0, 10), epsilon=0.5, method="analyze-gauss").fit(rows)
    (tmp_path / "model.json").write_text(model.to_json(), encoding="utf-8")
    return tmp_path / "model.json"


def test_a_file_of_a_model(model):
    (each,) = discreet(f"audit {model} --seconds {size(0.02, 0.2)} --json").data["attacks"]
    assert each["name"] == "model.json: PCA"
    assert each["epsilon_claimed"] == 0.5
    assert each["holds"] is True


def test_a_broken_promise_ends_with_code_1(model, monkeypatch):
    monkeypatch.setattr(GaussianNoise, "add", lambda self, values, bits=None: np.asarray(values, dtype=np.float64))
    ran = discreet(f"audit {model} --seconds {size(0.02, 0.2)}")
    assert ran.code == 1
    assert "REFUTED" in ran.out
    assert "1 of 1 guarantees were refuted" in ran.out


def test_data_sets_that_a_model_refuses_are_passed_over(model):
    """Some neighbours have two rows, and a mixture of four components needs as many."""
    rows = np.random.default_rng(0).uniform(0, 10, (500, 1))
    mixture = dp.GaussianMixture(4, bounds=(0, 10), epsilon=0.5, delta=1e-6, n_steps=1).fit(rows)
    model.write_text(mixture.to_json(), encoding="utf-8")
    assert "None of 1 guarantees was refuted." in discreet(f"audit {model} --seconds 0.01").out


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("audit", "Missing argument 'MODEL'"),
        ("audit nowhere.json --seconds 0.2", "nowhere.json"),
    ],
)
def test_mistakes_say_what_to_write(line, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = discreet(line)
    assert ran.code in (1, 2)
    assert says in ran.printed
