"""The page on what the guarantee rests on is what the code does: traced anew, and compared."""

from __future__ import annotations

import importlib.util
import sys
import threading
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[1] / "tools" / "trusted.py"
SPEC = importlib.util.spec_from_file_location("trusted", TOOL)
trusted = importlib.util.module_from_spec(SPEC)
sys.modules["trusted"] = trusted  # dataclasses look their module up
SPEC.loader.exec_module(trusted)

PAGE = trusted.PAGE.read_text(encoding="utf-8")
ANEW = "docs/trusted.md is not what the code does any more; run make trusted"


@pytest.mark.parametrize("key", trusted.PATHS)
def test_the_page_has_the_files_and_functions_of_a_path(key):
    assert trusted.summary(key) in PAGE, ANEW
    assert f"{trusted.section(key).rstrip()}\n" in PAGE, ANEW


@pytest.mark.parametrize("key", trusted.FIGURES)
def test_the_page_has_the_figures_of_a_call(key):
    assert trusted.figure(key) in PAGE, ANEW


def test_the_page_has_the_lines_of_the_rooms():
    assert trusted.rooms() in PAGE, ANEW


def test_the_page_has_nothing_else():
    """Headings of paths that are gone would stay without being noticed."""
    written = PAGE.partition(trusted.MARK)[2]
    headings = [line.removeprefix("## ") for line in written.splitlines() if line.startswith("## ")]
    assert headings[1:] == [path.title for path in trusted.PATHS.values()]


@pytest.mark.parametrize(("key", "most"), [("array", 1572), ("persons", 1994)])
def test_a_path_does_not_grow(key, most):
    """The page says why it is longer than it is meant to be; whoever makes it shorter lowers the number."""
    assert trusted.trace(key).total <= most


def test_the_rooms_of_every_release_do_not_grow():
    assert sum(map(trusted.lines_in, trusted.ROOMS)) <= 7532


# The tool itself, on a small library


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Give the tool a library of two rooms, and return its functions."""
    (tmp_path / "upper").mkdir()
    (tmp_path / "upper" / "first.py").write_text(
        '"""Doubles numbers. And more."""\n\nimport math\n\n\n'
        "def double(x):\n"
        '    """Return twice a number."""\n'
        "    import cmath\n\n"
        "    # with a function inside\n"
        "    def inside(y):\n"
        "        return 2 * y\n\n"
        "    return sum(inside(one) for one in [x])\n\n\n"
        "def unused():\n"
        "    return 0\n"
    )
    (tmp_path / "lower.py").write_text(
        "def call(f, x):\n    return f(x)\n\n\nclass Kept:\n    @property\n    def three(self):\n        return 3\n"
    )
    monkeypatch.setattr(trusted, "SOURCE", tmp_path)
    trusted.code.cache_clear()
    names = {}
    for file in ("upper/first.py", "lower.py"):
        exec(compile((tmp_path / file).read_text(), str(tmp_path / file), "exec"), names)  # noqa: S102
    yield names
    trusted.code.cache_clear()


def test_a_trace_has_files_in_order_and_all_lines_of_what_is_called(small):
    calls = trusted.Profiler().run(lambda: (small["call"](small["double"], 1), small["Kept"]().three))
    trace = trusted.Trace.from_calls(calls)
    assert {file: [(one.name, len(one.lines)) for one in functions] for file, functions in trace.files.items()} == {
        "lower.py": [("call", 2), ("Kept.three", 3)],
        "upper/first.py": [("double", 4)],
    }
    assert (trace.functions, trace.changes, trace.total) == (4, 2, 9)
    assert trace.rooms == {"lower": (1, 5), "upper": (1, 4)}
    assert trusted.lines_in("upper") == 6
    assert trusted.code("upper/first.py").purpose == "Doubles numbers."
    assert (trace.count_kind("signatures"), trace.count_kind("refusals")) == (5, 0)


def test_refusals_are_lines_that_raise_and_their_conditions():
    text = "def f(x):\n    if x < 0:\n        raise ValueError(\n            x\n        )\n    raise KeyError\n"
    assert trusted._refusals(trusted.ast.parse(text)) == {2, 3, 4, 5, 6}


def test_a_trace_has_what_other_threads_call_and_no_imports(small):
    def start():
        thread = threading.Thread(target=small["double"], args=(1,))
        thread.start()
        thread.join()
        small["call"](abs, 1)
        exec(compile("unused()", "module", "exec"), small)  # noqa: S102

    calls = trusted.Profiler().run(start)
    assert [name for _, _, name in calls if name != "<genexpr>"] == ["call", "double", "inside"]
