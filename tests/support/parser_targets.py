"""Everything of the library that reads a text: what it may say to a bad one, and good ones to start from.

As a script it is a fuzzer: ``python parser_targets.py FOLDER SECONDS`` runs all of them under atheris, by turns, from
the samples, and writes to ``FOLDER/executions.json`` how often each was run. It ends at the first text with which a
parser does anything else than to read it or to refuse it with a ``ValueError``.
"""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["READ", "REFUSALS", "attacked", "samples"]

COMPILED = [
    "discreet.noise.samplers",
    "discreet.queries.moments.compiled",
]  # which numba reads as they are written
NUMBERS, CATEGORIES = ("age", "blood pressure"), {"sex": ("female", "male"), "code": (1, 2, "x`y")}


def _condition(text: str) -> None:
    from discreet.records.declared.conditions import Condition

    condition = Condition.parse(text, NUMBERS, CATEGORIES)
    assert Condition.parse(str(condition), NUMBERS, CATEGORIES) == condition


def _sql(text: str) -> None:
    """See that what is quoted has one beginning and one end, whatever it is."""
    from discreet.sql.text import quote_identifier, write_text
    from discreet.sql.traced import NotTraceable

    assert re.fullmatch(r'"([^"]|"")*"', quote_identifier(text))
    try:
        written = write_text(text)
    except NotTraceable:  # then the rows are read, and no SQL is written
        raise ValueError("no text for SQL") from None
    assert re.fullmatch(r"'([^']|'')*'", written)


def _question(text: str) -> None:
    """Read a question of the database in plain values: what it asks for, where, and for how much."""
    from discreet.database import Draft

    given = json.loads(text)
    if not isinstance(given, dict):
        raise ValueError("no question")
    draft = Draft(given.get("statistic"), given.get("arguments"), given.get("where"), given.get("epsilon"))
    assert isinstance(draft.description, str)


def _schema(text: str) -> None:
    from discreet.records import Schema

    schema = Schema.from_toml(text + "\n")
    assert Schema.from_toml(schema.to_toml()) == schema


def _release(text: str) -> None:
    from discreet.door import Release

    release = Release.from_json(text)
    repr(release)
    assert Release.from_json(release.to_json()) == release


def _loss(text: str) -> None:
    from discreet.guarantees import Loss
    from discreet.plain import read_json

    loss = Loss.from_dict(read_json(text))
    assert Loss.from_dict(loss.to_dict()) == loss


def _asked(text: str) -> None:
    from discreet.plain import read_json
    from discreet.queries.question_files import read_question

    repr(read_question(read_json(text)))


def _model(text: str) -> None:
    from importlib import import_module

    from discreet.estimators.loading import KINDS
    from discreet.plain import read_json

    values = read_json(text)
    kind = values.get("kind") if isinstance(values, dict) else None
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError("no model")
    model = getattr(import_module(f"discreet.estimators.{KINDS[kind]}"), kind).from_dict(values)
    assert model.guarantee_ is not None


def _ledger(text: str) -> None:
    from discreet.ledger.address import Address
    from discreet.ledger.book import check_text as name

    url = Address.parse(text)
    if url.password:
        assert f":{url.password}@" not in url.url.partition("?")[0].partition("://")[2]
    assert name("dataset", text)


def _words(text: str) -> None:
    """Read the small languages of the command line."""
    from discreet.cli.compose_command import _loss as mechanism
    from discreet.cli.declaration_flags import _parse_bounds, _parse_classes, parse_limit, parse_numbers, split_names
    from discreet.guarantees import Neighbors

    def mechanisms(one: str) -> None:
        loss, count = mechanism(one, Neighbors.REPLACE_ONE)
        assert count >= 1
        assert loss.to_dict()

    refused = 0
    readers: list[Callable[[str], Any]] = [
        mechanisms, _parse_bounds, _parse_classes, split_names,
        lambda one: parse_numbers(one, int, "--components", "numbers"),
        lambda one: parse_numbers(one, float, "--q", "numbers"),
        lambda one: parse_limit(one, Neighbors.REPLACE_ONE),
    ]  # fmt: skip
    for read in readers:
        try:
            read(text)
        except REFUSALS:
            refused += 1
    if refused == len(readers) - 1:  # names are whatever commas separate
        raise ValueError("none of them")


READ: dict[str, Callable[[str], None]] = {
    "condition": _condition,
    "sql": _sql,
    "question": _question,
    "schema": _schema,
    "release": _release,
    "loss": _loss,
    "asked": _asked,
    "model": _model,
    "ledger": _ledger,
    "words": _words,
}


def _refusals() -> tuple[type[Exception], ...]:
    try:
        from typer import BadParameter
    except ImportError:
        return (ValueError,)
    return (ValueError, BadParameter)


REFUSALS = _refusals()


@cache
def samples() -> dict[str, list[str]]:
    """Return texts that each parser reads."""
    import numpy as np

    import discreet as dp
    from discreet.records import Date

    rows = np.random.default_rng(0).uniform(0.0, 1.0, (30, 1))
    box = dp.Box(0.0, 1.0)
    curator = dp.Curator(rows, space=box)
    release = curator.measure(dp.Sum(curator.space), dp.GaussianLoss(0.5))
    models = [
        dp.GaussianMixture(1, bounds=box, n_steps=1).fit(rows),
        dp.KMeans(1, bounds=box, n_steps=1, method="joint").fit(rows),
        dp.LinearRegression(bounds=box, target_bounds=(0, 1), method="adassp").fit(rows, rows[:, 0]),
    ]
    columns = {"age": dp.Number(0, 9), "sex": dp.Category(["f", 2, False]), "came": Date("2020-01-01", "2025-12-31")}
    columns |= {"income": dp.Number(1, 1e6, log=True)}
    schema = dp.Schema(columns, unit="who", max_rows=2, unit_type="integer", order="came")
    losses = [dp.GaussianLoss(0.5), dp.GeometricLoss(1.0, 3), dp.ApproximateLoss(1.0, 1e-6), dp.ZcdpLoss(0.1)]
    return {
        "condition": ["18 <= age < 65 and sex == 'female'", "not (`blood pressure` > 1e3 or code in [1, 'x`y'])"],
        "sql": ["age", 'o\'brien "x"'],
        "question": ['{"statistic": "mean", "arguments": {"columns": "age"}, "where": "age > 1", "epsilon": 0.1}'],
        "schema": [schema.to_toml(), "[columns.a]\nlow = 0\nhigh = 1\nmissing = 'fill'\nfill = 0.5\n"],
        "release": [release.to_json()],
        "loss": [json.dumps(loss.to_dict()) for loss in losses],
        "asked": [json.dumps(one.to_dict()["asked"]) for one in (release, models[0].releases_[-1])],
        "model": [model.to_json() for model in models],
        "ledger": ["people.ledger", "postgresql+psycopg://ann:secret@localhost/budgets?sslmode=require"],
        "words": ["gaussian:mu=1x10", "approximate:epsilon=1,delta=1e-6", "age=17:90", "income=a,b", "2:1e-6", "1,2,3"],
    }


def attacked(name: str, text: str) -> bool:
    """Return whether a text was read; what it raises otherwise is a finding, if it is no refusal."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        try:
            READ[name](text)
        except REFUSALS as refusal:
            if "set_int_max_str_digits" in str(refusal):
                raise AssertionError(f"Python's own words: {refusal}") from refusal
            return False
    return True


def fuzz(folder: Path, seconds: int) -> None:
    """Run all parsers under atheris for so many seconds."""
    import atheris

    with atheris.instrument_imports(include=["discreet"], exclude=COMPILED):
        good = samples()
        for name, texts in good.items():
            for text in texts:
                assert attacked(name, text), (name, text)
    names, counts = sorted(READ), Counter[str]()
    corpus = folder / "corpus"
    corpus.mkdir()
    for place, name in enumerate(names):
        for number, text in enumerate(good[name]):
            (corpus / f"{name}-{number}").write_bytes(bytes([place]) + text.encode())

    def one(data: bytes) -> None:
        if not data:
            return
        name = names[data[0] % len(names)]
        counts[name] += 1
        if counts.total() % 500 == 0:
            (folder / "executions.json").write_text(json.dumps(counts))
        attacked(name, data[1:].decode("utf-8", errors="surrogateescape"))

    limits = [f"-max_total_time={seconds}", "-timeout=30", "-rss_limit_mb=4096", "-max_len=20000", "-len_control=0"]
    atheris.Setup([sys.argv[0], *limits, f"-artifact_prefix={folder}/", "-seed=1", str(corpus)], one)
    atheris.Fuzz()


if __name__ == "__main__":
    fuzz(Path(sys.argv[1]), int(sys.argv[2]))
