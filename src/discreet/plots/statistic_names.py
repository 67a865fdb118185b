"""Readable names of released statistics: what was summed, and over what."""

from __future__ import annotations

import re
from collections.abc import Sequence

# What each question sums over.
OVER = {
    "adaptive mixture": "the components",
    "joint mixture": "the components",
    "table mixture": "the components",
    "one Gaussian": "all rows",
    "search for clusters": "the cells",
    "sums of clusters": "the clusters",
    "class moments": "the classes",
    "class sums": "the classes",
    "coded moments": "rows times labels",
    "moments": "all rows",
    "grid along directions": "a grid along directions",
}
PARTS = {"counts": "counts", "first": "sums", "second": "squares"}
WHOLE = {
    ("margin gradient", "gradient"): "gradient of the loss",
    ("minimum", "theta"): "coefficients at the minimum",
    ("scatter", "direction"): "direction of much variance",
    ("energies", "along"): "variance along the directions",
    ("energies", "rest"): "variance of the rest",
    ("counts of tables", "counts"): "counts of columns and pairs",
    ("products of scores", "products"): "products of ranks",
    ("log-likelihood", "total"): "log-likelihood of all rows",
}
QUESTIONS = {
    "grid along directions": "counts of a grid along directions",
    "margin gradient": "gradient of the loss",
    "minimum": "minimum of the loss",
    "scatter": "direction of much variance",
    "energies": "variance along the directions",
    "marginals": "counts along each column",
    "products": "products of the columns",
}


def question_name(question: str) -> str:
    """Return a readable name of a question; its own name where there is no better one.

    >>> question_name("one Gaussian"), question_name("marginals"), question_name("quantiles")
    ('moments of all rows', 'counts along each column', 'quantiles')
    """
    if question in QUESTIONS:
        return QUESTIONS[question]
    return f"moments of {OVER[question]}" if question in OVER else question


def statistic_names(parts: Sequence[tuple[str, str]], numbers: Sequence[str], categories: Sequence[str]) -> list[str]:
    """Return readable names of statistics, given as pairs of question and part; unique by adding the question.

    >>> statistic_names([("adaptive mixture", "counts"), ("joint mixture", "counts")], [], [])
    ['counts of the components (adaptive mixture)', 'counts of the components (joint mixture)']
    """
    names = [statistic_name(question, part, numbers, categories) for question, part in parts]
    return [
        name if names.count(name) == 1 else f"{name} ({question})"
        for name, (question, _) in zip(names, parts, strict=True)
    ]


def statistic_name(question: str, part: str, numbers: Sequence[str], categories: Sequence[str]) -> str:
    """Return a readable name of one part of a question's release.

    Parameters
    ----------
    question, part : str
        As a release names them.
    numbers, categories : sequence of str
        The columns of both kinds, in the order in which they were declared.

    Examples
    --------
    >>> statistic_name("table mixture", "table0", ["age"], ["sex"]), statistic_name("marginals", "cells0", ["age"], [])
    ('counts of sex in the components', 'histogram of age')
    >>> statistic_name("one Gaussian", "first", ["age"], []), statistic_name("quantiles", "values", ["age"], [])
    ('sums of all rows', 'quantiles: values')
    """
    numbered = re.fullmatch(r"(table|cells)(\d+)", part)
    if numbered:
        names, place = categories if numbered[1] == "table" else numbers, int(numbered[2])
        if place < len(names):
            what = f"{'counts' if numbered[1] == 'table' else 'histogram'} of {names[place]}"
            return what if question == "marginals" else f"{what} in {OVER.get(question, question)}"
    if (question, part) in WHOLE:
        return WHOLE[question, part]
    if question in OVER and part in PARTS:
        return f"{PARTS[part]} of {OVER[question]}"
    return f"{question}: {part}"
