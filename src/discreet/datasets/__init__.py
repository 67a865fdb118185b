"""Example data sets: two bundled, six fetched, seven generated.

Where to look: ``fetchers`` and ``retrieval`` get tables, ``sources`` says from where, ``adult`` is bundled; ``stroke``,
``visits``, ``xi_mixtures`` and ``hyperplane_sets`` generate tables; ``dataset`` is what all return.

Imports these rooms, and may import any other above it: ``arguments``.

This room guarantees:

- Every function returns the same value, a :class:`Dataset`: rows with labels, names, licence and citation. Only
  ``make_visits`` returns a data frame, since its cells are text, dates and gaps; its docstring has what is public.
- ``Dataset.bounds`` is public knowledge (a code book, a unit, the distribution of a generator) and never comes from the
  rows, so that it may be declared to a private method as it is; where nothing is publicly known it is None.
- ``Dataset.unit`` is the person of each row where persons have several, for person-level privacy.
- ``load_`` needs nothing but the package. ``fetch_`` looks into the folder named by the environment variable
  ``DISCREET_DATA``, then into the cache (``data_home``, ``DISCREET_CACHE`` or pooch's default) and downloads
  last, with ``pip install 'discreet[data]'``; whatever the source, the rows have the published content, or an error
  names the file that does not. ``make_`` draws from a distribution, which is in ``Dataset.truth``.
- Importing the room loads neither pooch nor scikit-learn, SciPy, pandas or matplotlib.

>>> from discreet.datasets import load_adult, make_synth
>>> load_adult(subset="train")
Dataset(name='adult', shape=(32561, 6), licence='CC BY 4.0')
>>> make_synth(random_state=0).truth.coef.shape
(4,)
"""

from discreet.datasets.adult import load_adult
from discreet.datasets.dataset import Dataset
from discreet.datasets.fetchers import (
    fetch_gowalla,
    fetch_lifesci,
    fetch_olivetti,
    fetch_parkinsons,
    fetch_pima,
    fetch_s1,
)
from discreet.datasets.hyperplane_sets import make_cm1, make_cm2, make_synth
from discreet.datasets.stroke import make_stroke
from discreet.datasets.truth import Plane, TrueMixture
from discreet.datasets.uk_drivers import load_uk_drivers
from discreet.datasets.visits import make_visits
from discreet.datasets.xi_mixtures import make_xi_correlated, make_xi_pair

__all__ = [
    "Dataset",
    "Plane",
    "TrueMixture",
    "fetch_gowalla",
    "fetch_lifesci",
    "fetch_olivetti",
    "fetch_parkinsons",
    "fetch_pima",
    "fetch_s1",
    "load_adult",
    "load_uk_drivers",
    "make_cm1",
    "make_cm2",
    "make_stroke",
    "make_synth",
    "make_visits",
    "make_xi_correlated",
    "make_xi_pair",
]
