"""How far synthetic rows are from real ones, and how useful: the measures of ``bench_table.py``.

Between the real rows to learn from and as many synthetic ones:

- one-way, two-way: total variation distance of the histograms of each column and of each pair, their mean. Numbers have
  20 equal bins alone and 10 in pairs, or the bins of the code book; a gap is a value of its own;
- correlation, Cramér's V: mean absolute difference over pairs of numbers, and over pairs of categories;
- strong pair: the correlation of the one pair that has .95 in the real rows;
- impossible: of the rows that meet the first half of a declared zero (maternity), how many meet the second (men); the
  mean over the declared zeros.

On the real rows to test on, by classifiers that were trained on synthetic rows: AUC and accuracy of gradient boosting
and of logistic regression.
"""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from table_data import Table

GAP = "(gap)"
LESS = ("one-way", "two-way", "correlation", "Cramér's V", "impossible")
MORE = ("boosting AUC", "boosting accuracy", "logistic AUC", "logistic accuracy", "strong pair")


def measure(table: Table, synthetic: pd.DataFrame) -> dict[str, float]:
    """Return every measure of synthetic rows."""
    synthetic = synthetic[table.columns]
    return likeness(table, synthetic) | usefulness(table, synthetic)


def edges(table: Table, name: str, bins: int) -> np.ndarray:
    """Return where the public bins of a column of numbers end."""
    if name in table.cuts:
        return np.array(table.cuts[name])
    low, high = table.numbers[name]
    half = 0.5 if name in table.whole else 0.0
    return np.linspace(low - half, high + half, bins + 1)


def codes(table: Table, frame: pd.DataFrame, bins: int) -> dict[str, tuple[np.ndarray, int]]:
    """Return each column as whole numbers, and how many there may be; a gap is the last."""
    result = {}
    for name in table.columns:
        if name in table.numbers:
            ends = edges(table, name, bins)
            values, count = pd.to_numeric(frame[name]).to_numpy(dtype=float), len(ends) - 1
            code = np.where(np.isnan(values), count, np.digitize(values, ends[1:-1]))
        else:
            count = len(table.categories[name])
            code = pd.Categorical(frame[name], categories=table.categories[name]).codes.astype(int)
            code = np.where(code < 0, count, code)
        result[name] = (code, count + 1)
    return result


def joint(one: tuple[np.ndarray, int], other: tuple[np.ndarray, int]) -> np.ndarray:
    """Return the shares of all pairs."""
    counts = np.bincount(one[0] * other[1] + other[0], minlength=one[1] * other[1])
    return counts.reshape(one[1], other[1]) / len(one[0])


def cramer(shares: np.ndarray) -> float:
    """Return Cramér's V of a table of shares, 0 where a column is constant."""
    expected = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    there = expected > 0
    chi = float(((shares - expected)[there] ** 2 / expected[there]).sum())
    least = min((shares.sum(axis=1) > 0).sum(), (shares.sum(axis=0) > 0).sum()) - 1
    return float(np.sqrt(chi / least)) if least else 0.0


def correlations(table: Table, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the correlations of the numbers over the rows that have both, 0 where a column is constant."""
    return frame[list(table.numbers)].apply(pd.to_numeric).astype(float).corr().fillna(0.0)


def likeness(table: Table, synthetic: pd.DataFrame) -> dict[str, float]:
    """Return how far synthetic rows are from real ones."""
    one = [
        0.5 * abs(np.bincount(a, minlength=c) / len(a) - np.bincount(b, minlength=c) / len(b)).sum()
        for (a, c), (b, _) in zip(
            codes(table, table.train, 20).values(), codes(table, synthetic, 20).values(), strict=True
        )
    ]
    a, b = codes(table, table.train, 10), codes(table, synthetic, 10)
    two, associations = [], []
    for i, j in itertools.combinations(table.columns, 2):
        p, q = joint(a[i], a[j]), joint(b[i], b[j])
        two.append(0.5 * abs(p - q).sum())
        if i in table.categories and j in table.categories:
            associations.append(abs(cramer(p) - cramer(q)))
    real, ours = correlations(table, table.train), correlations(table, synthetic)
    above = np.triu_indices(len(table.numbers), 1)
    result = {
        "one-way": float(np.mean(one)),
        "two-way": float(np.mean(two)),
        "correlation": float(np.mean(abs(real - ours).to_numpy()[above])),
        "Cramér's V": float(np.mean(associations)),
    }
    if table.pair:
        result["strong pair"] = float(ours.loc[table.pair])
    if table.zeros:
        result["impossible"] = float(np.mean([_impossible(zero, synthetic) for zero in table.zeros]))
    return result


def _impossible(zero: dict[str, str], frame: pd.DataFrame) -> float:
    (first, value), *rest = zero.items()
    among = frame[frame[first] == value]
    hit = np.logical_and.reduce([among[name] == value for name, value in rest])
    return float(hit.mean()) if len(among) else 0.0


def classifiers(table: Table) -> dict[str, object]:
    numbers = [name for name in table.numbers if name != table.label]
    names = [name for name in table.categories if name != table.label]
    values = [[*table.categories[name], GAP] for name in names]
    ordinal = make_column_transformer((OrdinalEncoder(categories=values), names), ("passthrough", numbers))
    scaled = make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler())
    hot = make_column_transformer((OneHotEncoder(categories=values), names), (scaled, numbers))
    return {
        "boosting": make_pipeline(
            ordinal, HistGradientBoostingClassifier(categorical_features=list(range(len(names))), random_state=0)
        ),
        "logistic": make_pipeline(hot, LogisticRegression(max_iter=1000)),
    }


def usefulness(table: Table, synthetic: pd.DataFrame) -> dict[str, float]:
    """Return how well classifiers that saw synthetic rows do on the rows to test on."""

    def features(frame: pd.DataFrame) -> pd.DataFrame:
        texts = {name: frame[name].astype(object).where(frame[name].notna(), GAP) for name in table.categories}
        return frame.assign(**texts).drop(columns=table.label)

    truth, result = table.test[table.label].isin(table.positive), {}
    label = synthetic[table.label].isin(table.positive).to_numpy()
    for name, model in classifiers(table).items():
        if label.all() or not label.any():  # nothing to learn
            chance = np.full(len(table.test), float(label[0]))
        else:
            chance = model.fit(features(synthetic), label).predict_proba(features(table.test))[:, 1]
        result[f"{name} AUC"] = float(roc_auc_score(truth, chance))
        result[f"{name} accuracy"] = float(accuracy_score(truth, chance > 0.5))
    return result
