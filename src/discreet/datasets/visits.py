"""``make_visits``: a messy synthetic table to practise on, with visits of patients to a hospital."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import integer
from discreet.datasets.random_state import Seed, generator

__all__ = ["make_visits"]

WARDS = ("medicine", "surgery", "emergency")
SHARES = (0.45, 0.35, 0.20)
STAYS = (5.0, 7.0, 2.0)  # days, by ward: the geometric mean at the age of 50
MISSPELT = {"medicine": "Medecine", "surgery": "surgrey", "emergency": "A&E"}
FIRST_DAY, DAYS = np.datetime64("2022-01-01"), 1096  # three years
FOLLOWED = 90  # days after a visit
RETURNS = (0.0040, 0.0025, 0.0055)  # chance a day of coming back, by ward: usual care at the age of 50 in 2022

Text = NDArray[np.object_]


def make_visits(n_patients: int = 8_000, *, random_state: Seed = None) -> Any:
    """Draw visits of patients to a hospital, with typical faults of such tables.

    A patient has one visit or several, a few have dozens. Older patients come more often, stay longer and have a higher
    blood pressure; stays are longest in surgery. After a visit each patient is followed for 90 days. Half of the
    patients are called at home in that time, and come back less often. Rows come in no order.

    Parameters
    ----------
    n_patients : int, default=8000
        The number of patients, at most 100,000; there are about two visits of each.
    random_state : int, numpy.random.Generator or None
        The seed or generator; None draws anew at each call.

    Returns
    -------
    pandas.DataFrame
        One row a visit. The table lists what a code book would say, and so may be declared, and the faults:

        =========  ======================================  ====================================================
        column     code book                               faults
        =========  ======================================  ====================================================
        patient    text, as ``"P00042"``                   0.5 % have none
        admitted   text, 2022-01-01 to 2024-12-31          1 % as 31/01/2022; 1 % are 1900-01-01, for "unknown"
        ward       medicine, surgery or emergency          3 % misspelt, 2 % ``"?"``, 2 % empty
        age        years, 18 to 100                        2 % are 999, for "unknown"
        systolic   mmHg, 70 to 230                         8 % empty; 1 % in kPa, about 17
        stay       days, 0 to 90                           1 % empty; 0.5 % are negative
        sex        ``"f"`` or ``"m"``                      1 % empty
        care       ``"usual"`` or ``"calls"``              none: it was drawn by lot for each patient
        days       1 to 90, until back or lost from sight  1 % empty
        back       ``"yes"`` or ``"no"``                   1 % empty
        =========  ======================================  ====================================================

        Faults are independent of each other and of everything else. Without them the stay has a geometric mean of 5
        days in medicine, 7 in surgery and 2 in emergency at the age of 50, and a long tail; some stays are above 90
        days. Whoever has neither come back nor moved away after 90 days has ``days`` 90 and ``back`` "no". A patient
        who comes back may go to another hospital, so there need not be a row of it. Calls multiply the chance of coming
        back by 0.75, each year by 0.9, and ten years of age by 1.1.

    Notes
    -----
    Licence: synthetic; no rights reserved. Nothing here was learnt from patients. Cite this library. It
    needs pandas.

    Examples
    --------
    >>> from discreet.datasets import make_visits
    >>> visits = make_visits(100, random_state=0)
    >>> visits.columns.to_list()
    ['patient', 'admitted', 'ward', 'age', 'systolic', 'stay', 'sex', 'care', 'days', 'back']
    >>> visits["patient"].nunique()
    100
    """
    rng = generator(random_state)
    patients = integer("n_patients", n_patients, least=1, most=100_000)  # names have five digits
    pandas = _pandas()
    ages = rng.normal(58.0, 18.0, patients).clip(18.0, 100.0).round()
    often = rng.random(patients) < 0.01
    sizes = rng.geometric(0.75 - 0.004 * ages) + often * rng.integers(10, 40, patients)
    person = rng.permutation(np.repeat(np.arange(patients), sizes))
    rows, age = len(person), ages[person]

    ward = rng.choice(len(WARDS), rows, p=SHARES)
    stay = np.array(STAYS)[ward] * np.exp(0.01 * (age - 50.0) + rng.normal(0.0, 0.8, rows))
    pressure = 105.0 + 0.45 * age + rng.normal(0.0, 15.0, rows)
    day = FIRST_DAY + rng.integers(0, DAYS, rows)
    return pandas.DataFrame(
        {
            "patient": _add_faults(rng, np.array([f"P{one:05d}" for one in person], dtype=object), (0.005, None)),
            "admitted": _add_faults(
                rng, day.astype(str).astype(object), (0.01, _to_slashes(day)), (0.01, "1900-01-01")
            ),
            "ward": _add_faults(
                rng,
                np.array(WARDS, dtype=object)[ward],
                (0.03, np.array([MISSPELT[name] for name in WARDS], dtype=object)[ward]),
                (0.02, "?"),
                (0.02, None),
            ),
            "age": _add_faults(rng, age.astype(np.int64), (0.02, 999)),
            "systolic": _add_faults(rng, pressure.round(), (0.08, np.nan), (0.01, (pressure / 7.5).round(1))),
            "stay": _add_faults(rng, stay.round(1), (0.01, np.nan), (0.005, -stay.round(1))),
            **_follow(rng, person, ward, age, day),
        }
    )


def _follow(rng: np.random.Generator, person: Any, ward: Any, age: Any, day: Any) -> dict[str, Any]:
    """Return what is known of each visit's patient, and of the days after it."""
    patients = int(person.max()) + 1
    sex = np.where(rng.random(patients) < 0.52, "f", "m").astype(object)[person]
    called = (rng.random(patients) < 0.5)[person]
    years = (day - FIRST_DAY).astype(float) / 365.25
    chance = np.array(RETURNS)[ward] * 0.75**called * 0.9**years * 1.1 ** ((age - 50.0) / 10.0)
    returned = np.ceil(rng.exponential(1.0 / chance))
    seen = np.minimum(FOLLOWED, np.ceil(rng.exponential(600.0, len(person))))  # some move away
    back = np.where(returned < seen, "yes", "no").astype(object)
    return {
        "sex": _add_faults(rng, sex, (0.01, None)),
        "care": np.where(called, "calls", "usual").astype(object),
        "days": _add_faults(rng, np.minimum(returned, seen), (0.01, np.nan)),
        "back": _add_faults(rng, back, (0.01, None)),
    }


def _pandas() -> Any:
    try:
        return import_module("pandas")
    except ImportError:
        raise ImportError("make_visits needs pandas, which is not installed: pip install pandas") from None


def _add_faults(rng: np.random.Generator, cells: Any, *faults: tuple[float, Any]) -> Any:
    """Return the cells, some of them replaced by faults, each with its probability."""
    drawn, start = rng.random(len(cells)), 0.0
    for share, fault in faults:
        cells = np.where((start <= drawn) & (drawn < start + share), fault, cells)
        start += share
    return cells


def _to_slashes(days: Any) -> Text:
    """Return days written as 31/01/2022."""
    return np.array(["/".join(reversed(day.split("-"))) for day in days.astype(str)], dtype=object)
