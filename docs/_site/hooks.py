"""What MkDocs does beside rendering: runs every example, serves its pictures, shows the source that pages link to.

``mkdocs build`` fails with the page and the line where an example fails. A link that leaves ``docs/`` for a file of the
repository, which works where the repository is read, becomes a link to a page of that file. ``<!-- names of
discreet.noise -->`` becomes the reference of a room's public names, read from its ``__all__``.
"""

from __future__ import annotations

import importlib
import logging
import os
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files, InclusionLevel
from page_examples import code_blocks, run_page

log = logging.getLogger("mkdocs.hooks.examples")

ROOT = Path(__file__).resolve().parents[2]

# Pages with blocks of Python that are not run, and why. As few as can be.
EXEMPT: dict[str, str] = {
    "clusters.md": "Spark needs a JVM; tests/records/test_spark.py runs the same calls",
    "gpu.md": "a GPU is needed; tests/queries/test_fused.py runs the same calls",
}

OUTSIDE = re.compile(r"\]\((?:\.\./)+(?P<path>(?:src|examples|benchmarks|tests)/[\w/.-]+\.py)\)")
NAMES = re.compile(r"^<!-- names of (?P<room>[\w.]+) -->$", re.MULTILINE)


def on_startup(**_: Any) -> None:
    """Pictures are drawn to files, in the style of the site; matplotlib reads both when it is first imported."""
    os.environ["MPLBACKEND"] = "Agg"
    os.environ["MATPLOTLIBRC"] = str(Path(__file__).with_name("pictures.mplstyle"))


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Run the examples of all pages, and add what they made and the sources that they name."""
    faults: list[str] = []
    sources: set[str] = set()
    for page in list(files.documentation_pages()):
        text = page.content_string
        outcome = run_page(text, f"docs/{page.src_uri}", EXEMPT.get(page.src_uri))
        faults += outcome.faults
        if outcome.seconds:
            log.info("%s: examples ran in %.1f s", page.src_uri, outcome.seconds)
        for name, content in outcome.made.items():
            place = posixpath.join(posixpath.dirname(page.src_uri), name)
            files.append(File.generated(config, place, content=content))
        sources |= {result["path"] for result in OUTSIDE.finditer(text)}
    if faults:
        raise PluginError("examples that do not run:\n\n" + "\n\n".join(faults))
    for path in sorted(sources):
        files.append(_shown(path, config))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Rewrite what only the site can show: links to sources, lists of public names, sessions with their prompts."""
    here = posixpath.dirname(page.file.src_uri) or "."

    def source(result: re.Match[str]) -> str:
        return f"]({posixpath.relpath(_place(result['path']), here)})"

    return _sessions(NAMES.sub(_reference, OUTSIDE.sub(source, markdown)))


def _place(path: str) -> str:
    return f"source/{path.removeprefix('src/')}.md"


def _shown(path: str, config: Any) -> File:
    """Return a page that shows a file of the repository."""
    code = (ROOT / path).read_text(encoding="utf-8")
    content = f"---\nsearch:\n  exclude: true\n---\n\n# {path}\n\n~~~~~~~~ python\n{code}~~~~~~~~\n"
    return File.generated(config, _place(path), content=content, inclusion=InclusionLevel.NOT_IN_NAV)


def _reference(result: re.Match[str]) -> str:
    room = result["room"]
    names = importlib.import_module(room).__all__
    return "\n\n".join(f"::: {room}.{name}" for name in sorted(names, key=str.casefold))


def _sessions(markdown: str) -> str:
    """Return the page with blocks that have prompts named as sessions, and without the empty line that ends them."""
    lines = markdown.splitlines()
    for block in reversed(list(code_blocks(markdown))):
        with_prompts = block.is_session and block.language == "python"
        lines[block.line - 2] = f"{block.fence} {'pycon' if with_prompts else block.language}"
        last = block.line - 1 + len(block.lines)
        if block.is_session and not lines[last - 1].strip():
            del lines[last - 1]
    return "\n".join(lines)
