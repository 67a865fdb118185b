"""The house: a room imports only rooms above it, and ``import discreet`` is light."""

from __future__ import annotations

import ast
import json
import math
import re
import subprocess
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import pytest

import discreet
from discreet import queries
from together import together

ROOT = Path(__file__).parents[1]
SOURCE = Path(discreet.__file__).parent

# From top to bottom, as in CONTRIBUTING.md. Each may import itself and those before it.
ROOMS = [
    "arguments", "plain", "notebook", "cuda_kernels", "threads", "guarantees", "noise", "ledger", "sql", "records",
    "scales", "queries", "door", "planning", "mechanisms", "em", "model_check", "models", "plots", "statistics",
    "database", "signals", "estimators", "inference", "report", "datasets", "audit", "cli", "__main__",
]  # fmt: skip

HEAVY = {
    "arviz_base", "arviz_stats", "dask", "dp_accounting", "duckdb", "jax", "jinja2", "matplotlib", "numba", "numpyro",
    "pandas", "polars", "pooch", "pyarrow", "rich", "scipy.optimize", "scipy.stats", "sklearn", "torch",
    "typer", "xarray",
}  # fmt: skip


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).with_suffix("").parts[0]


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    """Return the imports and classes of a file, anywhere in it."""
    found = (ast.Import, ast.ImportFrom, ast.ClassDef)
    return [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, found)]


@cache
def imported_names(path: Path) -> frozenset[str]:
    result = set()
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            result |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute, so that this test can read them"
            result |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(result)


def imported_rooms(path: Path) -> set[str]:
    return {name.split(".")[1] for name in imported_names(path) if name.startswith("discreet.")}


MODULES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def test_every_room_is_on_the_map():
    assert {room_of(path) for path in MODULES} == set(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_rooms_above_it(room):
    allowed = set(ROOMS[: ROOMS.index(room) + 1])
    for path in MODULES:
        assert room_of(path) != room or imported_rooms(path) <= allowed, path


@pytest.mark.parametrize("room", ROOMS[:-1])
def test_the_first_lines_of_a_room_say_what_it_imports(room):
    first = SOURCE / room / "__init__.py" if (SOURCE / room).is_dir() else SOURCE / f"{room}.py"
    docstring = ast.get_docstring(ast.parse(first.read_text(encoding="utf-8")))
    stated = re.search(r"^Imports (these rooms, and may import any other above it|no other)([^.]*)\.$", docstring, re.M)
    imported = set().union(*(imported_rooms(path) for path in MODULES if room_of(path) == room)) - {room}
    assert re.findall(r"``(\w+)``", stated[2]) == [one for one in ROOMS if one in imported]


def test_the_library_does_not_import_what_stands_beside_it():
    beside = {"papers", "benchmarks", "examples", "tools", "tests"}
    for path in [SOURCE / "__init__.py", *MODULES]:
        assert not {name.split(".")[0] for name in imported_names(path)} & beside, path


def test_the_map_catches_an_import_from_below(tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text("from discreet.datasets import load_adult\nimport discreet.noise\n")
    assert imported_rooms(wrong) == {"datasets", "noise"}


LIGHT = ["discreet", "discreet.noise", "discreet.ledger", "discreet.records", "discreet.door", "discreet.datasets"]


@pytest.fixture(scope="module")
def loaded():
    """Import one after another in one process, and return what is loaded after each: it only ever grows."""
    code = f"import importlib, json, sys; one = importlib.import_module\nfor name in {LIGHT}: "
    code += "one(name); print(json.dumps(list(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return {name: set(json.loads(line)) for name, line in zip(LIGHT, run.stdout.splitlines(), strict=True)}


@pytest.mark.parametrize("module", LIGHT)
def test_importing_pulls_in_nothing_heavy(module, loaded):
    assert module in loaded[module]
    assert not loaded[module] & HEAVY


def test_the_package_itself_pulls_in_nothing_at_all(loaded):
    assert "numpy" not in loaded["discreet"]


@together("name", discreet.__all__)
def test_every_public_name_has_a_docstring(name):
    assert getattr(discreet, name).__doc__


def test_the_version_is_the_installed_one():
    assert discreet.__version__ == version("discreet")
    assert re.match(r"\d+\.\d+", discreet.__version__)


def test_dir_holds_what_is_public_and_nothing_else():
    assert dir(discreet) == sorted([*discreet.__all__, "__version__"])
    rooms = {path.stem for path in (ROOT / "docs" / "reference").glob("*.md")} - {"index"}
    modules = {name for name in discreet.__all__ if isinstance(getattr(discreet, name), ModuleType)}
    assert modules == rooms
    code = "import discreet; before = dir(discreet); discreet.Guarantee; print(before == dir(discreet))"
    result = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert result.stdout.strip() == "True"


def test_what_is_imported_later_is_named_for_type_checkers_too():
    tree = ast.parse((SOURCE / "__init__.py").read_text(encoding="utf-8"))
    (only,) = [node for node in tree.body if isinstance(node, ast.If)]
    named = {(one.name, node.module) for node in only.body for one in node.names}
    rooms = {(name, "discreet") for name in discreet.__all__ if name not in discreet._PLACES}
    assert named == {*discreet._PLACES.items(), *rooms}
    assert {name for name, _ in named} == set(discreet.__all__)


def test_what_a_model_of_ones_own_needs_is_in_the_top_package():
    assert discreet.Bound is queries.Bound
    assert discreet.Part is queries.Part
    deep = re.compile(r"from discreet\.queries.* import .*\b(Bound|Part)\b")
    shown = [*(ROOT / "examples").glob("*.py"), ROOT / "docs" / "own-model.md"]
    assert not [path.name for path in shown if deep.search(path.read_text("utf-8"))]


@pytest.mark.parametrize("wrong", [None, 3, [math.nan], [math.inf], ["a"]])
def test_a_ball_whose_middle_is_no_point_bounds_nothing(wrong):
    with pytest.raises(ValueError, match="center"):
        discreet.Bound(l2=2.0, center=wrong, radius=1.0)


@pytest.mark.parametrize("wrong", [None, 3, (0,), (1.5,), "ab"])
def test_a_part_without_a_shape_is_refused_in_words(wrong):
    with pytest.raises(discreet.ArgumentError, match="shape"):
        discreet.Part(wrong)
    with pytest.raises(discreet.ArgumentError, match="attained"):
        discreet.Bound(1.0, attained=wrong)


def test_no_file_name_stands_twice():
    names = [path.name for path in [*SOURCE.rglob("*.py"), *(ROOT / "papers").rglob("*.py")]]
    twice = {name for name in names if names.count(name) > 1}
    assert twice <= {"__init__.py", "__main__.py"}


def test_no_class_name_stands_twice():
    places = {}
    for path in MODULES:
        for node in nodes_of(path):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, set()).add(str(path.relative_to(SOURCE)))
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_first_lines_say_where_to_look_in_files_that_are_there():
    there = {path.stem for path in MODULES} | {path.parent.name for path in MODULES}
    names = []
    for path in sorted(SOURCE.rglob("__init__.py")):
        paragraphs = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split("\n\n")
        looks = [paragraph for paragraph in paragraphs if paragraph.startswith("Where to look:")]
        names += re.findall(r"``([a-z_.]+)``", " ".join(looks))
    assert len(names) > 100
    assert {name.split(".")[-1] for name in names} <= there
