"""The documentation hangs together: every page is reached, every link leads somewhere, every query has its lemma."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import re
import sys
from pathlib import Path

import pytest

import discreet
from instances import QUERIES
from together import together

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"^(`{3,}).*?^\1$|`[^`\n]+`", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def examples():
    """Load the module that runs the examples of a page; it is no part of the library."""
    spec = importlib.util.spec_from_file_location("page_examples", DOCS / "_site" / "page_examples.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def name(page: Path) -> str:
    return page.relative_to(DOCS).as_posix()


def test_the_navigation_names_every_page_once():
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = re.findall(r"[\w/-]+\.md$", settings[settings.index("\nnav:\n") :], re.MULTILINE)
    assert sorted(listed) == sorted(name(page) for page in PAGES)


@together("page", [*PAGES, ROOT / "README.md"], ids=lambda page: page.name)
def test_links_and_pictures_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    made = set(re.findall(r"[\" ]([\w-]+\.(?:png|svg|html))[\" ]", text))  # by the examples, when the site is built
    for target in LINK.findall(CODE.sub("", text)):
        path, _, anchor = target.partition("#")
        if target.startswith("https://") or path in made:
            continue
        result = page.parent / path if path else page
        assert result.is_file(), f"{page.name}: {target}"
        if anchor:
            assert anchor in anchors(result), f"{page.name}: {target}"


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as the site makes them."""
    headings = re.findall(
        r"^#+ (.*)$", CODE.sub(lambda code: code[0].strip("`"), page.read_text("utf-8")), re.MULTILINE
    )
    plain = [
        re.sub(r"[^\w\s-]", "", heading.encode("ascii", "ignore").decode()).strip().lower() for heading in headings
    ]
    return {re.sub(r"[-\s]+", "-", heading) for heading in plain}


@together("page", PAGES, ids=lambda page: page.name)
def test_pictures_have_words_for_those_who_cannot_see_them(page):
    for words in re.findall(r"!\[([^\]]*)\]", page.read_text(encoding="utf-8")):
        assert len(words.split()) >= 4, words


def test_every_registered_query_has_its_lemma():
    for module in pkgutil.walk_packages(discreet.__path__, "discreet."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    queries = {query.__name__ for query in QUERIES if query.__module__.startswith("discreet.")}
    lemmas = re.findall(r"^\*\*`(\w+)`\*\*", (DOCS / "sensitivities.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(lemmas) == sorted(queries)


def test_public_names_are_in_the_reference():
    page = (DOCS / "reference" / "index.md").read_text(encoding="utf-8")
    rooms = {path.stem for path in (DOCS / "reference").glob("*.md")}
    for public in discreet.__all__:
        assert f"`{public}`" in page or public in rooms, public


def session(*lines: str) -> str:
    return "\n".join(["# A page", "", "Words.", "", "```python", *lines, "```", ""])


def test_a_page_that_is_right_has_no_faults_and_keeps_its_pictures(examples):
    good = session("$ echo 1 > one && cat one", "1").replace("python", "console") + session(
        ">>> from pathlib import Path", '>>> _ = Path("dot.svg").write_text("<svg/>")', ">>> 1 + 1", "2"
    )
    outcome = examples.run_page(good, "page.md")
    assert outcome.faults == []
    assert outcome.made == {"dot.svg": b"<svg/>"}


@pytest.mark.parametrize(
    ("page", "says"),
    [
        (session(">>> 1 + 1", "3"), "page.md:6: 1 + 1\nexpected:\n3\ngot:\n2"),
        (session(">>> x = 1", ">>> x / 0"), "page.md:7: x / 0\nraised ZeroDivisionError"),
        (
            session(">>> import warnings", '>>> warnings.warn("old", stacklevel=1)'),
            "page.md:7: .*\nraised UserWarning: old",
        ),
        (session("x = 1"), "page.md:6: code without a prompt is not run"),
        (
            session("$ echo no && exit 3", "no").replace("python", "console"),
            "page.md:6: .*\nraised RuntimeError: exit code 3",
        ),
        (session("x = 1").replace("```python", "```python notest"), "page.md:6: marked notest, but no reason"),
    ],
)
def test_a_page_that_is_wrong_is_named_with_its_line(examples, page, says):
    faults = examples.run_page(page, "page.md").faults
    assert len(faults) == 1
    assert re.match(says, faults[0]) or faults[0].startswith(says), faults


def test_blocks_of_one_page_share_names_and_another_page_starts_afresh(examples):
    assert examples.run_page(session(">>> x = 1") + session(">>> x", "1"), "page.md").faults == []
    assert "NameError" in examples.run_page(session(">>> x", "1"), "page.md").faults[0]


def test_the_first_page_is_short_and_has_one_picture():
    page = ROOT / "README.md"
    assert len(page.read_bytes()) <= 8_000
    assert len(re.findall(r"!\[", page.read_text(encoding="utf-8"))) == 1


def test_figures_of_the_first_page_stand_on_the_page_of_benchmarks():
    table = re.findall(r"^\| .*ε = .*$|^\| the same.*$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    known = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    assert len(table) == 4
    for line in table:
        ours, published, exact = (cell.split()[0] for cell in line.strip("|").split("|")[1:])
        for figure in (ours, published, exact):
            assert figure == "1" or re.search(rf"(?<![\d.]){re.escape(figure)}(?!\d)", known), line


def test_the_picture_of_the_first_page_is_drawn_from_the_page_of_benchmarks():
    spec = importlib.util.spec_from_file_location("front_picture", ROOT / "tools" / "front_picture.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    epsilons, result, exact = module.scores((DOCS / "benchmarks.md").read_text(encoding="utf-8"))
    assert epsilons == [0.01, 0.03, 0.1, 0.3, 1.0, 4.0]
    assert result[module.OURS][4] == 10.2
    assert result[module.PUBLISHED][4] == 8.61
    assert exact == 10.31
