"""Attack: everything that reads a text, with texts that nobody wrote; and files of models that no fit wrote."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

pytest.importorskip("typer", reason="typer is not installed")

import discreet as dp
from discreet.estimators.loading import KINDS
from effort import LONG, measured, size
from every import ESTIMATORS, OPEN_ENDED, SCHEMA, made_up
from hostile import json_values
from parser_targets import READ, attacked, samples
from public_calls import limited, quiet
from short_fits import shorter_synthesis

TOKENS = [
    "", "\0", "\ud800", "'", '"', "`", "\\", "(", "[" * 500, "{}", "null", "NaN", "-Infinity", "1e999", "9" * 5000,
    "-0", "=", ":", ",", ";", "\n", "#", "\u202e", "\u0301", "__class__", "discreet.door:Curator", "True",
    "../../etc/passwd",
]  # fmt: skip


@st.composite
def texts(draw: Callable[[st.SearchStrategy[Any]], Any], name: str) -> str:
    """Return a text like one that is read, with something wrong in it; or any text, or any JSON."""
    kind = draw(st.sampled_from(["edited", "edited", "json", "any", "grafted", "grafted", "grafted"]))
    sample = draw(st.sampled_from(samples()[name]))
    if kind == "any":
        return draw(st.text(max_size=60))
    if kind == "json":
        return json.dumps(draw(json_values()))
    if kind == "grafted" and sample[0] == "{":
        return json.dumps(_grafted(draw, json.loads(sample)))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(sample)))
        end = draw(st.integers(start, min(start + 12, len(sample))))
        sample = sample[:start] + draw(st.sampled_from(TOKENS) | st.text(max_size=3)) + sample[end:]
    return sample


def _grafted(draw: Callable[[st.SearchStrategy[Any]], Any], tree: Any) -> Any:
    """Return plain values with another one in some place."""
    if not isinstance(tree, dict | list) or not tree or draw(st.integers(0, 5)) == 0:
        return draw(json_values() | st.sampled_from([10**400, -1, 0, 1e308, 5e-324, "", [], {}, None, True]))
    result = deepcopy(tree)
    places = sorted(result) if isinstance(result, dict) else range(len(result))
    place = draw(st.sampled_from(list(places)))
    result[place] = _grafted(draw, result[place])
    return result


@pytest.mark.parametrize("name", sorted(READ))
def test_every_text_is_read_or_refused(name):
    ended = Counter[bool]()

    @settings(
        max_examples=size(12, 400),
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(texts(name))
    def read(text: str) -> None:
        with limited(30.0):
            ended[attacked(name, text)] += 1

    with quiet():
        assert all(attacked(name, text) for text in samples()[name])
    read()
    assert ended[False] > 0 or name == "sql"  # which quotes nearly everything


@pytest.mark.skipif(not LONG, reason="a minute under a fuzzer, for make audit")
def test_under_a_fuzzer_every_text_is_read_or_refused(tmp_path):
    if importlib.util.find_spec("atheris") is None:
        pytest.skip("atheris is not installed")
    script = Path(__file__).parents[1] / "support" / "parser_targets.py"
    seconds = 65
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", str(script), str(tmp_path), str(seconds)],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=10 * seconds,
    )
    assert ran.returncode == 0, ran.stderr[-4000:]
    counts = json.loads((tmp_path / "executions.json").read_text())
    assert sum(counts.values()) >= 100_000
    measured("input_parsers", seconds=seconds, executions=sum(counts.values()), by_parser=counts)


# Files of models. What a fit of this version writes is read, whatever the method.


@cache
def rows(neighbors: str, unit: bool = False) -> Any:
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    schema = dp.Schema(dict(SCHEMA.columns), unit="person", max_rows=2) if unit else SCHEMA
    return dp.Curator(pd.DataFrame(made_up(200)), schema=schema, neighbors=neighbors)


FITS = {
    name: ask
    for name, ask in (ESTIMATORS | OPEN_ENDED).items()
    if name != "fit_model" and not name.startswith("private_score")
}


@pytest.mark.parametrize("name", FITS)
def test_every_model_that_a_fit_wrote_is_read(name):
    curators = [rows("replace-one")]
    if LONG:
        curators += [rows("add-remove"), rows("replace-one", True), rows("add-remove", True).where("a > 20")]
    for curator in curators:
        with quiet(), shorter_synthesis():
            model = FITS[name](curator)
            again = type(model).from_json(model.to_json())
        assert again.to_json() == model.to_json() or again.releases_[0].provenance == "loaded"


@cache
def written(kind: str) -> str:
    """Return the file of a model of a kind."""
    held = rows("replace-one")
    made: dict[str, Callable[[], Any]] = {
        "mixture": lambda: dp.GaussianMixture(2, n_steps=3).fit(held.only(["a", "b"])),
        "laplace": lambda: dp.KMeans(2, method="dplloyd", composition="linear", n_steps=2).fit(held.only(["a", "b"])),
        "classifier": lambda: dp.GaussianClassifier(method="joint").fit(held.only(["a", "b", "g"]), "g"),
        "drawn": lambda: dp.LogisticRegression().fit(held.only(["a", "b", "s"]), "s"),
    }
    with quiet():
        return str(made[kind]().to_json())


def read(values: dict[str, Any]) -> Any:
    from importlib import import_module

    kind = values["kind"]
    with quiet():
        return getattr(import_module(f"discreet.estimators.{KINDS[kind]}"), kind).from_json(json.dumps(values))


def _promise(values: dict[str, Any], epsilon: float) -> None:
    values["fitted"]["guarantee_"]["epsilon"] = values["parameters"]["epsilon"] = epsilon


def _scaled(values: dict[str, Any], factor: float) -> None:
    """Make all losses smaller: a better promise, from the same noise."""
    for loss in values["fitted"]["losses_"] + [release["loss"] for release in values["fitted"]["releases_"]]:
        loss["mu" if "mu" in loss else "epsilon"] *= factor


def _relation(values: dict[str, Any]) -> None:
    fitted = values["fitted"]
    for one in [fitted["guarantee_"], *fitted["losses_"], *(release["loss"] for release in fitted["releases_"])]:
        one["neighbors"] = "add-remove"


def _no_size(values: dict[str, Any]) -> None:
    _relation(values)
    for release in values["fitted"]["releases_"]:
        release["size"] = {"units": None, "complete": False}


def _dropped(values: dict[str, Any]) -> None:
    values["fitted"]["losses_"].pop()
    values["fitted"]["releases_"].pop()


def _declared(values: dict[str, Any], **changed: Any) -> None:
    for release in values["fitted"]["releases_"]:
        release["declared"] |= changed


def _quieter(values: dict[str, Any]) -> None:
    values["fitted"]["releases_"][-1]["noise"]["scale"] *= 0.9


def _without_question(values: dict[str, Any]) -> None:
    values["fitted"]["releases_"][-1]["asked"] = None


FORGERIES: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "a smaller ε": (lambda values: _promise(values, 0.5), "expected a guarantee that the composed losses keep"),
    "no promise": (lambda v: v["fitted"].update(guarantee_=None), "the guarantee of the parameters"),
    "a smaller ε in the promise alone": (lambda v: v["fitted"]["guarantee_"].update(epsilon=3.0), "those of the fit"),
    "smaller losses": (lambda values: _scaled(values, 0.5), "expected more noise|as the parameters ask for"),
    "smaller losses and ε": (
        lambda values: (_scaled(values, 0.5), _promise(values, 0.5)), "expected more noise|as the parameters ask for"
    ),
    "another relation": (_relation, "under replace-one, and none otherwise"),
    "another relation and no size": (_no_size, "expected more noise|as the parameters ask for|expected releases"),
    "a release dropped": (_dropped, "as the parameters ask for"),
    "less noise": (_quieter, "expected more noise"),
    "no question": (_without_question, "expected the question of the release"),
    "rows that count double": (lambda v: _declared(v, max_rows=2), "where a row is the unit"),
    "max_rows that is no number": (lambda v: _declared(v, max_rows={}), "max_rows={}: expected a whole number"),
    "other columns": (lambda v: _declared(v, columns=["a"]), "expected"),
    "other bounds": (lambda v: _declared(v, space=dp.Box([0, 0], [1, 1]).to_dict()), "expected the space"),
    "more steps": (lambda v: v["parameters"].update({"n_steps": 7}), "as the parameters ask for"),
}  # fmt: skip


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_file_whose_numbers_do_not_belong_together_is_refused(forgery):
    forge, says = FORGERIES[forgery]
    values = json.loads(written("mixture"))
    assert read(deepcopy(values)).guarantee_ == dp.Guarantee(1.0, 1e-6)
    forge(values)
    with pytest.raises(ValueError, match=says):
        read(values)


@pytest.mark.parametrize("kind", ["laplace", "classifier", "drawn"])
def test_forgeries_of_other_methods_are_refused_too(kind):
    for forge in (_quieter, _dropped, _relation):
        values = json.loads(written(kind))
        if forge is _quieter and values["fitted"]["releases_"][-1]["noise"] is None:
            continue
        forge(values)
        with pytest.raises(ValueError, match="expected"):
            read(values)


def test_parameters_that_are_not_those_of_the_fit_are_not_written():
    with quiet():
        model = dp.PCA(1, bounds=dp.Box(0, 1)).fit(np.full((50, 2), 0.5))
    model.set_params(epsilon=0.1)
    with pytest.raises(ValueError, match="epsilon, delta, neighbors: expected those of the fit, whose guarantee is"):
        model.to_json()
    model.set_params(epsilon=1.0)
    assert dp.PCA.from_json(model.to_json()).guarantee_ == model.guarantee_


def test_names_and_texts_come_back_from_a_database_as_they_were():
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    from discreet.sql.text import quote_identifier, write_text

    with duckdb.connect() as connection:
        for text in [
            "o'brien",
            'the "old" ward',
            "'; drop table x; --",
            "a\\'b",
            "--",
            "/*",
            "\u202e",
            "$$",
            "%s",
            "''",
        ]:
            connection.execute(f"select {write_text(text)} as {quote_identifier(text)}")
            assert connection.description[0][0] == text
            assert connection.fetchone() == (text,)
