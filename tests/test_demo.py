"""The demo says what it promises, and leaves a table and a picture."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np

from effort import LONG
from short_fits import shorter_synthesis

ROOT = Path(__file__).parents[1]


def run(script, folder, monkeypatch, capsys):
    """Return what a script prints: in a long run as users run it, in a short one in this process, with shorter fits."""
    if LONG:
        return subprocess.run([sys.executable, script, folder], check=True, capture_output=True, text=True).stdout
    monkeypatch.setattr(sys, "argv", [str(script), str(folder)])
    with shorter_synthesis():
        runpy.run_path(str(script), run_name="__main__")
    return capsys.readouterr().out


def test_it_runs_and_says_what_it_promises(tmp_path, monkeypatch, capsys):
    output = run(ROOT / "examples" / "demo.py", tmp_path, monkeypatch, capsys)
    assert "(ε=1, δ=1e-06) replace-one" in output
    assert "hours-per-week" in output
    assert "refused, the budget is spent" in output
    private, exact = map(float, re.search(r"private (\S+), without privacy (\S+)", output).groups())
    assert exact - 4.0 < private < exact + 1.0
    header, *rows = (tmp_path / "adult-synthetic.csv").read_text().splitlines()
    assert header.startswith("age,")
    assert len(rows) == 32_561
    assert np.isfinite(np.array([row.split(",")[:6] for row in rows[:100]], dtype=float)).all()
    assert {row.partition('"')[2].strip('"') for row in rows} == {"below 50,000", "above 50,000"}
    synthetic, real = map(float, re.search(r"a classifier predicts +(\S+)% +(\S+)%", output).groups())
    assert synthetic > real - 5.0
    assert (tmp_path / "adult-mixture.png").stat().st_size > 10_000
