"""The tables of ``bench_table.py``: two for choosing, four for the figure that counts, each with its public code book.

Two are for choosing: whatever a method is tuned on is tuned there. They are Adult and ``curves``, made-up numbers that
follow one another by a V, a wave and a parabola, and a label that depends on a number by a hump. The other four played
no part in any choice but those that docs/benchmarks.md names:

- ``hospital``: made-up visits with three impossible pairs (maternity and men among them), two numbers with a
  correlation of .95, long tails, and gaps that depend on the ward.
- ``structure``: made up to be known: a tree and a ring of categories, two curves, and a label that depends on two
  others by an exclusive or.
- ``insurance``: the RAND Health Insurance Experiment, a year of a person a row, as in statsmodels (public domain).
- ``marriage``: Fair's survey of 1978, 6,366 women, as in statsmodels (with the author's permission).

A third of the rows of each is for testing (of Adult its own test file). The two made-up tables are the same in every
run.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

Pair = tuple[str, str]


@dataclass(frozen=True)
class Table:
    """Rows to learn from and rows to test on, with what a code book would say of them."""

    name: str
    train: pd.DataFrame
    test: pd.DataFrame
    numbers: dict[str, tuple[float, float]]
    categories: dict[str, list[str]]
    label: str
    positive: tuple[str, ...]  # what a classifier has to tell from the other values of the label
    whole: tuple[str, ...] = ()
    log: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    zeros: tuple[dict[str, str], ...] = ()
    cuts: dict[str, tuple[float, ...]] = field(default_factory=dict)  # bins to measure in, where equal ones are poor
    pair: Pair | None = None  # two numbers of strong correlation

    @property
    def columns(self) -> list[str]:
        """The names of all columns, in their order."""
        return list(self.train.columns)


def load(name: str) -> Table:
    """Return one of the tables."""
    return TABLES[name]()


def adult() -> Table:
    folder = Path(os.environ.get("DISCREET_DATA", ""))
    if not (folder / "adult.data.gz").exists():
        raise FileNotFoundError("DISCREET_DATA names no folder with adult.data.gz and adult.test.gz")
    names = "age workclass fnlwgt education education-num marital-status occupation relationship race sex capital-gain "
    names = (names + "capital-loss hours-per-week native-country income").split()

    def rows(file: str) -> pd.DataFrame:
        frame = pd.read_csv(folder / file, names=names, skipinitialspace=True, comment="|", keep_default_na=False)
        frame["income"] = frame["income"].str.rstrip(".")
        return frame.drop(columns="fnlwgt")

    numbers = {
        "age": (17, 90),
        "education-num": (1, 16),
        "capital-gain": (0, 99_999),
        "capital-loss": (0, 4_356),
        "hours-per-week": (1, 99),
    }
    return Table(
        name="adult",
        train=rows("adult.data.gz"),
        test=rows("adult.test.gz"),
        numbers=numbers,
        categories={name: values.split() for name, values in ADULT.items()},
        label="income",
        positive=(">50K",),
        whole=tuple(numbers),
        zeros=({"relationship": "Husband", "sex": "Female"}, {"relationship": "Wife", "sex": "Male"}),
        cuts={name: (-0.5, *np.linspace(0.5, numbers[name][1] + 0.5, 10)) for name in ("capital-gain", "capital-loss")},
    )


ADULT = {
    "workclass": "Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay Never-worked ?",
    "education": "Bachelors Some-college 11th HS-grad Prof-school Assoc-acdm Assoc-voc 9th 7th-8th 12th Masters "
    "1st-4th 10th Doctorate 5th-6th Preschool",
    "marital-status": "Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent "
    "Married-AF-spouse",
    "occupation": "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty Handlers-cleaners "
    "Machine-op-inspct Adm-clerical Farming-fishing Transport-moving Priv-house-serv Protective-serv Armed-Forces ?",
    "relationship": "Wife Own-child Husband Not-in-family Other-relative Unmarried",
    "race": "White Asian-Pac-Islander Amer-Indian-Eskimo Other Black",
    "sex": "Female Male",
    "native-country": "United-States Cambodia England Puerto-Rico Canada Germany Outlying-US(Guam-USVI-etc) India "
    "Japan Greece South China Cuba Iran Honduras Philippines Italy Poland Jamaica Vietnam Mexico Portugal Ireland "
    "France Dominican-Republic Laos Ecuador Taiwan Haiti Columbia Hungary Guatemala Nicaragua Scotland Thailand "
    "Yugoslavia El-Salvador Trinadad&Tobago Peru Hong Holand-Netherlands ?",
    "income": "<=50K >50K",
}

WARDS = "medicine surgery emergency maternity paediatrics geriatrics urology intensive"
DIAGNOSES = "infection heart lung stroke injury cancer kidney diabetes mental joints pregnancy prostate other"
STAYS = dict(zip(WARDS.split(), (5, 6, 1, 3, 2.5, 11, 3, 8), strict=True))  # geometric means, in days
USUAL = {  # of the diagnoses above, how often a ward sees each
    "medicine": (5, 6, 5, 2, 1, 3, 3, 4, 1, 1, 0, 0, 3),
    "surgery": (1, 2, 1, 0, 5, 5, 2, 0, 0, 5, 0, 0, 2),
    "emergency": (4, 4, 3, 3, 8, 0, 1, 2, 3, 2, 1, 0, 4),
    "maternity": (0.3, 0, 0, 0, 0, 0, 0, 0.5, 0.3, 0, 12, 0, 1),
    "paediatrics": (8, 0.5, 4, 0, 5, 1, 0.5, 1, 1, 0.5, 0, 0, 4),
    "geriatrics": (3, 6, 3, 4, 4, 3, 2, 3, 4, 4, 0, 0, 2),
    "urology": (2, 0, 0, 0, 0.5, 4, 8, 0, 0, 0, 0, 6, 2),
    "intensive": (5, 5, 4, 4, 5, 2, 1, 0.5, 0.5, 0, 0.5, 0, 1),
}


def hospital(rows: int = 30_000) -> Table:
    rng = np.random.default_rng(28)
    wards, diagnoses = WARDS.split(), DIAGNOSES.split()
    sex = rng.choice(["F", "M"], rows, p=[0.53, 0.47])
    male = sex == "M"
    age = np.clip(np.where(rng.random(rows) < 0.2, rng.gamma(2.0, 8.0, rows), rng.normal(58.0, 19.0, rows)), 0, 105)
    age = np.floor(age)
    fits = np.tile([24.0, 18, 22, 9, 9, 9, 6, 4], (rows, 1))
    fits[male | (age < 16) | (age > 46), 3] = 0.0
    fits[~male & (age >= 18) & (age <= 40), 3] *= 3.0
    fits[age >= 18, 4] = 0.0
    fits[age < 18, :3] *= 0.3
    fits[age < 65, 5] = 0.0
    ward = np.array([wards[k] for k in _draw(rng, fits)])
    usual = np.array([USUAL[name] for name in ward])
    usual[male, diagnoses.index("pregnancy")] = 0.0
    usual[~male, diagnoses.index("prostate")] = 0.0
    diagnosis = np.array([diagnoses[k] for k in _draw(rng, usual)])

    grown = np.clip(age / 17.0, 0.0, 1.0)
    weight = (3.5 + grown * (68.0 + 11.0 * male)) * np.exp(rng.normal(0.0, 0.17, rows))
    dose = 4.0 * weight + rng.normal(0.0, 4.0 * 0.329 * weight.std(), rows)  # a correlation of .95
    stay = np.array([STAYS[name] for name in ward]) * np.exp(0.006 * (age - 50) + rng.normal(0.0, 0.9, rows))
    stay = np.floor(np.clip(stay * np.where(diagnosis == "stroke", 1.8, 1.0), 0, 365))
    cost = 350.0 * (stay + 0.7) * np.exp(rng.normal(0.0, 0.45, rows))
    cost *= 1.0 + 3.0 * (ward == "intensive") + 1.5 * (ward == "surgery")
    systolic = 102.0 + 0.45 * age + 0.12 * (weight - 70) + 9.0 * (diagnosis == "heart") + rng.normal(0.0, 14.0, rows)
    risk = -2.4 + 0.018 * age + 0.35 * np.log1p(stay) + 0.8 * np.isin(diagnosis, ["heart", "lung", "kidney", "mental"])
    risk += np.where(male == (age > 60), 0.6, -0.3) - 0.9 * np.isin(ward, ["maternity", "paediatrics"])
    again = rng.random(rows) < 1.0 / (1.0 + np.exp(-risk))
    insured = rng.choice(["public", "private", "none"], rows, p=[0.74, 0.2, 0.06])
    insured = np.where((age > 65) & (insured == "none"), "public", insured)
    unknown = rng.random(rows) < np.where(ward == "emergency", 0.22, 0.04)
    unmeasured = rng.random(rows) < np.where(np.isin(ward, ["maternity", "paediatrics"]), 0.4, 0.06)
    frame = pd.DataFrame(
        {
            "ward": ward,
            "sex": sex,
            "age": age.astype(int),
            "diagnosis": diagnosis,
            "insurance": np.where(unknown, None, insured.astype(object)),
            "weight": np.round(np.clip(weight, 1, 200), 1),
            "dose": np.round(np.clip(dose, 0, 900), 1),
            "stay": stay.astype(int),
            "cost": np.round(np.clip(cost, 50, 500_000), 2),
            "systolic": np.where(unmeasured, np.nan, np.round(np.clip(systolic, 60, 240))),
            "readmitted": np.where(again, "yes", "no"),
        }
    )
    return Table(
        name="hospital",
        **_split(frame),
        numbers={
            "age": (0, 105),
            "weight": (1, 200),
            "dose": (0, 900),
            "stay": (0, 365),
            "cost": (50, 500_000),
            "systolic": (60, 240),
        },
        categories={
            "ward": wards,
            "sex": ["F", "M"],
            "diagnosis": diagnoses,
            "insurance": ["public", "private", "none"],
            "readmitted": ["no", "yes"],
        },
        label="readmitted",
        positive=("yes",),
        whole=("age", "stay", "systolic"),
        log=("cost",),
        gaps=("insurance", "systolic"),
        zeros=(
            {"ward": "maternity", "sex": "M"},
            {"diagnosis": "pregnancy", "sex": "M"},
            {"diagnosis": "prostate", "sex": "F"},
        ),
        cuts={
            "stay": (-0.5, 0.5, 1.5, 2.5, 3.5, 5.5, 8.5, 13.5, 21.5, 60.5, 365.5),
            "cost": (50, 300, 700, 1_200, 2_000, 3_500, 6_000, 10_000, 20_000, 50_000, 500_000),
        },
        pair=("weight", "dose"),
    )


def structure(rows: int = 24_000) -> Table:
    rng = np.random.default_rng(29)

    def child(parent: np.ndarray, count: int, strength: float) -> np.ndarray:
        """Return a category that depends on another by a table drawn once."""
        table = rng.dirichlet(np.full(count, strength), int(parent.max()) + 1)
        return _draw(rng, table[parent])

    root = rng.choice(4, rows, p=[0.4, 0.3, 0.2, 0.1])
    trunk = child(root, 6, 0.4)
    twig, leaf = child(trunk, 3, 0.4), child(trunk, 12, 0.3)
    first = rng.integers(0, 4, rows)
    second = np.where(rng.random(rows) < 0.6, first, rng.integers(0, 4, rows))
    third = np.where(rng.random(rows) < 0.6, second, rng.integers(0, 4, rows))
    fourth = np.where(rng.random(rows) < 0.6, np.where(rng.random(rows) < 0.5, first, third), rng.integers(0, 4, rows))
    left, right = rng.random(rows) < 0.5, rng.random(rows) < 0.4
    x = np.array([-1.5, 0.0, 1.0, 2.5])[root] + rng.normal(0.0, 0.6, rows)
    curve = 0.5 * x**2 + 0.4 * first + rng.normal(0.0, 0.5, rows)
    logit = -1.6 + 2.6 * (left != right) + 0.5 * x + 0.6 * (third == 2) - 0.5 * (twig == 1)
    label = rng.random(rows) < 1.0 / (1.0 + np.exp(-logit))
    coded = {"root": root, "trunk": trunk, "twig": twig, "leaf": leaf}
    coded |= {"first": first, "second": second, "third": third, "fourth": fourth}
    coded |= {"left": left.astype(int), "right": right.astype(int), "label": label.astype(int)}
    sizes = dict(zip(coded, (4, 6, 3, 12, 4, 4, 4, 4, 2, 2, 2), strict=True))
    frame = pd.DataFrame({name: [f"{name[0]}{k}" for k in codes] for name, codes in coded.items()})
    frame.insert(10, "x", np.round(np.clip(x, -5, 6), 3))
    frame.insert(11, "curve", np.round(np.clip(curve, -3, 20), 3))
    return Table(
        name="structure",
        **_split(frame),
        numbers={"x": (-5, 6), "curve": (-3, 20)},
        categories={name: [f"{name[0]}{k}" for k in range(count)] for name, count in sizes.items()},
        label="label",
        positive=("l1",),
    )


def curves(rows: int = 24_000) -> Table:
    rng = np.random.default_rng(31)
    season = rng.uniform(0, 365, rows)
    warmth = 11 - 9 * np.cos(season / 365 * 2 * np.pi) + rng.normal(0, 3.5, rows)
    use = np.exp(3 + 0.06 * np.abs(warmth - 17) + rng.normal(0, 0.35, rows))
    age = np.clip(rng.gamma(6, 7, rows), 0, 100)
    income = np.exp(9.2 + 0.11 * age - 0.00115 * age**2 + rng.normal(0, 0.5, rows))
    spread = rng.normal(0, 1, rows) * (0.4 + 0.02 * age)
    region = rng.choice(5, rows, p=[0.35, 0.25, 0.2, 0.15, 0.05])
    chance = np.stack([np.exp(-((age - 28) ** 2) / 200), np.exp(-((age - 48) ** 2) / 300), np.full(rows, 0.3)], axis=1)
    house = _draw(rng, chance)
    logit = 1.0 - 0.003 * (age - 45) ** 2 + 0.5 * (region == 1) - 0.4 * spread
    label = rng.random(rows) < 1 / (1 + np.exp(-logit - 2e-5 * (income - 20_000) * (house != 2)))
    frame = pd.DataFrame(
        {
            "season": np.floor(season).astype(int),
            "warmth": warmth.clip(-15, 45).round(1),
            "use": use.clip(0, 500).round(1),
            "age": np.floor(age).astype(int),
            "income": income.clip(0, 3e5).round(0).astype(int),
            "spread": spread.clip(-10, 10).round(3),
            "region": [f"r{k}" for k in region],
            "house": [f"h{k}" for k in house],
            "label": np.where(label, "yes", "no"),
        }
    )
    return Table(
        name="curves",
        **_split(frame),
        numbers={
            "season": (0, 364),
            "warmth": (-15, 45),
            "use": (0, 500),
            "age": (0, 100),
            "income": (0, 300_000),
            "spread": (-10, 10),
        },
        categories={"region": [f"r{k}" for k in range(5)], "house": ["h0", "h1", "h2"], "label": ["no", "yes"]},
        label="label",
        positive=("yes",),
        whole=("season", "age", "income"),
    )


def insurance() -> Table:
    from statsmodels.datasets import randhie

    data = randhie.load_pandas().data
    health = np.select([data["hlthp"] > 0, data["hlthf"] > 0, data["hlthg"] > 0], ["poor", "fair", "good"], "excellent")
    frame = pd.DataFrame(
        {
            "visits": data["mdvis"].astype(int),
            "coinsurance": data["lncoins"].round(4),
            "deductible": np.where(data["idp"] > 0, "yes", "no"),
            "incentive": data["lpi"].round(4),
            "expenditure": data["fmde"].round(4),
            "limited": data["physlm"].round(4),
            "diseases": data["disea"].round(1),
            "health": health,
        }
    )
    return Table(
        name="insurance",
        **_split(frame),
        numbers={
            "visits": (0, 100),
            "coinsurance": (0, 4.7),
            "incentive": (0, 7.5),
            "expenditure": (0, 8.5),
            "limited": (0, 1),
            "diseases": (0, 60),
        },
        categories={"deductible": ["no", "yes"], "health": ["excellent", "good", "fair", "poor"]},
        label="health",
        positive=("good", "fair", "poor"),
        whole=("visits",),
        cuts={"visits": (-0.5, 0.5, 1.5, 2.5, 3.5, 4.5, 6.5, 9.5, 14.5, 25.5, 100.5)},
    )


def marriage() -> Table:
    from statsmodels.datasets import fair

    data = fair.load_pandas().data
    frame = pd.DataFrame(
        {
            "rating": data["rate_marriage"].astype(int).astype(str),
            "age": data["age"],
            "years": data["yrs_married"],
            "children": data["children"],
            "religious": data["religious"].astype(int).astype(str),
            "education": data["educ"].astype(int),
            "occupation": data["occupation"].astype(int).astype(str),
            "husband": data["occupation_husb"].astype(int).astype(str),
            "affair": np.where(data["affairs"] > 0, "yes", "no"),
        }
    )
    digits = [str(k) for k in range(1, 7)]
    return Table(
        name="marriage",
        **_split(frame),
        numbers={"age": (17, 43), "years": (0, 24), "children": (0, 6), "education": (9, 20)},
        categories={
            "rating": digits[:5],
            "religious": digits[:4],
            "occupation": digits,
            "husband": digits,
            "affair": ["no", "yes"],
        },
        label="affair",
        positive=("yes",),
        whole=("education",),
    )


def _draw(rng: np.random.Generator, weights: np.ndarray) -> np.ndarray:
    """Return one place a row, drawn by that row's weights."""
    ends = weights.cumsum(axis=1)
    return (ends < rng.random((len(weights), 1)) * ends[:, -1:]).sum(axis=1)


def _split(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    order = np.random.default_rng(0).permutation(len(frame))
    cut = 2 * len(frame) // 3
    return {
        "train": frame.iloc[order[:cut]].reset_index(drop=True),
        "test": frame.iloc[order[cut:]].reset_index(drop=True),
    }


TABLES: dict[str, Callable[[], Table]] = {
    "adult": adult,
    "curves": curves,
    "hospital": hospital,
    "structure": structure,
    "insurance": insurance,
    "marriage": marriage,
}
FINAL = ("hospital", "structure", "insurance", "marriage")
