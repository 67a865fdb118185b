"""A folder as a user of the command line has one, and a way to run commands in it."""

from __future__ import annotations

import csv
import json
import re
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from click.testing import CliRunner
from typer.main import get_command

import discreet as dp
from discreet.cli.app import application

ROWS = 3137  # a number that stands nowhere else
SCHEMA = """\
[columns.age]
low = 17
high = 90

[columns.hours]
low = 1
high = 99

[columns.income]
values = ["below", "above"]
"""


def people(rows: int = ROWS, seed: int = 0) -> list[tuple[int, int, str]]:
    rng = np.random.default_rng(seed)
    age, hours = rng.normal(45.0, 12.0, rows).clip(17, 90), rng.normal(40.0, 8.0, rows).clip(1, 99)
    income = np.where(age + hours + rng.normal(0.0, 10.0, rows) > 90.0, "above", "below")
    return list(zip(age.astype(int).tolist(), hours.astype(int).tolist(), income.tolist(), strict=True))


def write_csv(path: Path, rows: list[Any], names: tuple[str, ...] = ("age", "hours", "income")) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([names, *rows])


def make_folder(folder: Path) -> Path:
    """Write what the examples of the help talk about."""
    write_csv(folder / "people.csv", people())
    (folder / "people.toml").write_text(SCHEMA)
    ages = np.array([[row[0]] for row in people()], dtype=float)
    model = dp.GaussianMixture(1, epsilon=1.0, delta=1e-6, bounds=dp.Box(17, 90)).fit(ages)
    (folder / "gaussians.json").write_text(model.to_json())
    return folder


class Ran:
    """What a command printed, and how it ended."""

    def __init__(self, result: Any) -> None:
        self.code, self.out, self.err, self.error = result.exit_code, result.stdout, result.stderr, result.exception

    @property
    def printed(self) -> str:
        return self.out + self.err

    @property
    def data(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)

    def counts_rows(self, rows: int = ROWS) -> bool:
        return re.search(rf"(?<![\d.]){rows}(?![\d.])", self.printed) is not None


@cache
def command_line() -> Any:
    """Return the whole command line, which takes longer to build than most commands to run."""
    return get_command(application(fancy=False))


def discreet(line: str, *more: str) -> Ran:
    """Run a command in this process, its output not a terminal."""
    words = shlex.split(line)
    ran = Ran(CliRunner().invoke(command_line(), [*words, *more], prog_name="discreet"))
    assert ran.error is None or isinstance(ran.error, SystemExit), ran.error  # never an error that nobody caught
    return ran
