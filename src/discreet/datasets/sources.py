"""``SOURCES``: where each fetched table comes from, how it is read, and what is publicly known about it.

There is one entry for each table; ``retrieval`` fetches them all. The content hashes were computed from checked copies
(see the notes of each ``fetch_`` function). Bounds are what the units and the code books allow. Where a table is the
result of a rotation or of signal processing, no range is public and none is given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from discreet.datasets import readers
from discreet.datasets.content import ParsedTable
from discreet.datasets.dataset import Bounds

__all__ = ["SOURCES", "DatasetSource", "Remote"]


@dataclass(frozen=True, kw_only=True)
class Remote:
    """One file at its origin; ``known_hash`` is that of its bytes, as pooch writes it, where it is known."""

    url: str
    file: str
    known_hash: str | None = None


@dataclass(frozen=True, kw_only=True)
class DatasetSource:
    """A table: its file in the folder ``DISCREET_DATA``, its files at the origin, and its content."""

    name: str
    local: str
    read_local: Callable[[Path], ParsedTable]
    remote: tuple[Remote, ...]
    read_remote: Callable[..., ParsedTable]  # takes one path for each remote file, in that order
    content: str  # discreet.datasets.content.content_hash of the table, by whatever route it came
    columns: tuple[str, ...]
    bounds: Bounds | None
    licence: str
    citation: str


_GITHUB = "https://raw.githubusercontent.com"
_GOWALLA = f"{_GITHUB}/rahmanidashti/STACP/3b53b9fb62efb1bde278a2a059412aa78c3e86ca/datasets/gowalla_u5628"
_SIPU = "https://github.com/gagolews/clustering-data-v1/raw/v1.1.0/sipu"

_LIFESCI = DatasetSource(
    name="lifesci",
    local="lifesci.csv.gz",
    read_local=partial(readers.comma_separated, header=False),
    remote=(
        Remote(
            url=f"{_GITHUB}/mijungi/dpem_code/923864c4e22bcb23e5f3edb2dab49119dfe35f7c/data/lifesci.csv",
            file="lifesci.csv",
            known_hash="md5:fd4465900795ee69e9a388cfbe89a9d1",
        ),
    ),
    read_remote=partial(readers.comma_separated, header=False),
    content="00a7915aa628034be2d092f247140edcac8ceb3cbc25c26d0a3d039821b56883",
    columns=tuple(f"component_{i}" for i in range(1, 11)),
    bounds=None,  # the ranges in circulation are the smallest and largest values of these very rows
    licence="none stated; published for research",
    citation="Komarek and Moore, Auton Lab, Life Sciences data set ds1.10 (komarix.org)",
)

_PIMA = DatasetSource(
    name="pima",
    local="pima.csv.gz",
    read_local=partial(readers.comma_separated, header=True),
    remote=(
        Remote(
            url=f"{_GITHUB}/jbrownlee/Datasets/master/pima-indians-diabetes.data.csv",
            file="pima-indians-diabetes.data.csv",
        ),
    ),
    read_remote=partial(readers.comma_separated, header=False),
    content="c902551a4e18fdd6fab5d15309e0d245f3724606ce243e78d8c1991b83e15759",
    columns=(
        "pregnancies",
        "glucose",
        "blood_pressure",
        "skin_thickness",
        "insulin",
        "bmi",
        "pedigree",
        "age",
    ),
    # Round figures that the measurements can hardly pass; 0 stands for a missing measurement. The study took
    # women of 21 years or more. The pedigree function of Smith et al. is 3.8 for five affected parents and
    # siblings with onset at 20 and no healthy relative, hence 4.
    bounds=(
        (0.0, 20.0),
        (0.0, 300.0),
        (0.0, 150.0),
        (0.0, 100.0),
        (0.0, 1000.0),
        (0.0, 80.0),
        (0.0, 4.0),
        (21.0, 100.0),
    ),
    licence="none stated by the source; CC0 on common re-publications",
    citation=(
        "Smith, Everhart, Dickson, Knowler and Johannes (1988), Using the ADAP learning algorithm to forecast "
        "the onset of diabetes mellitus"
    ),
)

_PARKINSONS = DatasetSource(
    name="parkinsons",
    local="parkinsons.csv.gz",
    read_local=readers.parkinsons_csv,
    remote=(
        Remote(
            url="https://archive.ics.uci.edu/ml/machine-learning-databases/parkinsons/parkinsons.data",
            file="parkinsons.data",
        ),
    ),
    read_remote=readers.parkinsons_csv,
    content="3c13a6a1e78a6ec94e81d7eda056b63c055be10c088e4d8666f1bdd4a3b17445",
    columns=(
        "MDVP:Fo(Hz)",
        "MDVP:Fhi(Hz)",
        "MDVP:Flo(Hz)",
        "MDVP:Jitter(%)",
        "MDVP:Jitter(Abs)",
        "MDVP:RAP",
        "MDVP:PPQ",
        "Jitter:DDP",
        "MDVP:Shimmer",
        "MDVP:Shimmer(dB)",
        "Shimmer:APQ3",
        "Shimmer:APQ5",
        "MDVP:APQ",
        "Shimmer:DDA",
        "NHR",
        "HNR",
        "RPDE",
        "DFA",
        "spread1",
        "spread2",
        "D2",
        "PPE",
    ),
    bounds=None,  # most measures are outputs of signal processing without a limit in their definition
    licence="CC BY 4.0",
    citation=(
        "Little, McSharry, Roberts, Costello and Moroz (2007), Exploiting nonlinear recurrence and fractal "
        "scaling properties for voice disorder detection; UCI, doi 10.24432/C59C74"
    ),
)

_GOWALLA_CHECK_INS = DatasetSource(
    name="gowalla",
    local="gowalla_checkins.npz",
    read_local=readers.gowalla_npz,
    remote=tuple(
        Remote(url=f"{_GOWALLA}/{file}", file=file)
        for file in ("Gowalla_poi_coos.txt", "Gowalla_train.txt", "Gowalla_test.txt", "Gowalla_tune.txt")
    ),
    read_remote=readers.gowalla_text,
    content="0268828e89a99d4f79c5b828615dc2556e96cb3468b15a5fcabcd28bb98f732f",
    columns=("latitude", "longitude"),
    bounds=((-90.0, 90.0), (-180.0, 180.0)),
    licence="none stated by SNAP; published for research",
    citation="Cho, Myers and Leskovec (2011), Friendship and mobility: user movement in location-based social networks",
)

_OLIVETTI = DatasetSource(
    name="olivetti",
    local="olivetti_faces.npz",
    read_local=readers.olivetti_npz,
    remote=(
        Remote(
            url="https://ndownloader.figshare.com/files/5976027",
            file="olivettifaces.mat",
            known_hash="sha256:b612fb967f2dc77c9c62d3e1266e0c73d5fca46a4b8906c18e454d41af987794",
        ),
    ),
    read_remote=readers.olivetti_mat,
    content="842c6c85a6bdbf8a777ad6d408decf427f6111171e32e1f02ca7a55b4f1e4658",
    columns=tuple(f"pixel_{row}_{column}" for row in range(64) for column in range(64)),
    bounds=((0.0, 255.0),) * 4096,  # eight bits a pixel
    licence="free for research with credit to AT&T Laboratories Cambridge",
    citation="Samaria and Harter (1994), Parameterisation of a stochastic model for human face identification",
)

_S1 = DatasetSource(
    name="s1",
    local="s1.csv.gz",
    read_local=partial(readers.comma_separated, header=True),
    remote=(
        Remote(url=f"{_SIPU}/s1.data.gz", file="s1.data.gz"),
        Remote(url=f"{_SIPU}/s1.labels0.gz", file="s1.labels0.gz"),
    ),
    read_remote=readers.numbers_and_labels,
    content="7088741012d6a92a003044cba90c8ce133fc69164b53e994922764bdf5f023e1",
    columns=("x", "y"),
    bounds=((0.0, 1_000_000.0),) * 2,  # published as whole numbers on a scale of a million
    licence="for research purposes, with citation",
    citation="Fränti and Virmajoki (2006), Iterative shrinking method for clustering problems",
)

SOURCES: dict[str, DatasetSource] = {
    source.name: source for source in (_LIFESCI, _PIMA, _PARKINSONS, _GOWALLA_CHECK_INS, _OLIVETTI, _S1)
}
