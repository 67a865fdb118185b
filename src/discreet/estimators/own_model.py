"""``fit_model``: fits a user's own model under differential privacy.

It does for any ``discreet.Model`` what an estimator does for the models of the library: rows behind a curator, one
reservation for the whole fit, a fixed number of steps. The bound of a user's model has not been checked by the library.
So it is attacked before anything is spent, and again at the parameters of each step, which are public. And what the
model computes from real rows is clipped to that bound (``GuardedQuery``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from discreet.arguments import ArgumentError, integer, positive
from discreet.door import Release
from discreet.door.inquiry import Inquiry
from discreet.door.release import describe_fit_guarantee, describe_rows_of_releases
from discreet.em import Model, Step
from discreet.estimators.base import PrivateEstimator
from discreet.guarantees import Guarantee, Loss, Neighbors
from discreet.model_check import attack, check_model
from discreet.models.method import Method
from discreet.queries.models.model_query import GuardedQuery, ModelQuery
from discreet.queries.question import Question
from discreet.records import Ball, Box

Params = TypeVar("Params")
Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class FittedModel(Generic[Params]):
    """The result of a private fit of a model, and its cost.

    Attributes
    ----------
    params : Params
        As returned by the last ``maximize`` of the model.
    guarantee : Guarantee or None
        The guarantee of the fit and of everything computed from it; None where a seed made it void.
    unit : str
        The unit of privacy: ``"row"``, or for example ``"each patient"``.
    losses : tuple of Loss
        The privacy loss of each release.
    releases : tuple of Release
        Every noisy statistic that was measured, with its noise distribution.
    """

    params: Params
    guarantee: Guarantee | None
    unit: str
    losses: tuple[Loss, ...]
    releases: tuple[Release, ...]

    @property
    def which_rows(self) -> str | None:
        """To which rows it was fitted, in words ("at most 4 rows of each patient"); None where to all of them."""
        return describe_rows_of_releases(self.releases)

    def __repr__(self) -> str:
        guarantee = describe_fit_guarantee(self.guarantee, self.unit, self.releases)
        number = "1 release" if len(self.releases) == 1 else f"{len(self.releases)} releases"
        return f"<{self.releases[0].query}, {number}, fitted {guarantee}>"


def fit_model(
    model: Model[Params],
    X: Any,
    *,
    epsilon: float,
    delta: float,
    n_steps: int,
    bounds: Box | Ball | None = None,
    neighbors: Neighbors | str | None = None,
    shares: Sequence[float] | None = None,
    random_state: Any = None,
    verbose: bool = False,
) -> FittedModel[Params]:
    """Fit a model of your own by private expectation maximisation.

    The guarantee covers the whole fit, provided that the model's bound is correct. Before anything is spent, the bound
    and the rest of the contract are attacked on made-up rows (``discreet.model_check``), and before each step the bound
    is attacked again at the parameters of that step. This catches mistakes. It does not replace the proof, and it does
    not protect against a malicious model: its code sees the rows.

    Parameters
    ----------
    model : Model
        See ``discreet.Model`` for its contract, and ``examples/model_skeleton.py`` for one to copy.
    X : Curator, Records, array, data frame, path of Parquet files, or Dask collection
        As in the ``fit`` of every estimator.
    epsilon, delta : float
        The guarantee.
    n_steps : int
        The number of EM steps. There is no convergence test.
    bounds : Box or Ball
        The declared bounds of the rows, in their own units; None with a ``Curator`` or ``Records``.
    neighbors : str, optional
        ``"replace-one"`` (the default, and then the number of rows is public) or ``"add-remove"``.
    shares : sequence of float, optional
        The relative shares of the budget, in μ², of the steps: positive numbers. Equal by default.
    random_state : int, optional
        **Not private**: a seed makes the noise reproducible. For tests; it warns.
    verbose : bool
        Whether to show a progress bar.

    Returns
    -------
    FittedModel

    Raises
    ------
    WrongBound
        If the attack made up rows that violate the model's bound. Nothing is measured then.

    Examples
    --------
    >>> import numpy as np
    >>> import discreet as dp
    >>> from discreet.models.mixture.joint_release import JointMixture
    >>> rng = np.random.default_rng(0)
    >>> rows = np.concatenate([rng.normal(-3.0, 1.0, (5000, 1)), rng.normal(3.0, 1.0, (5000, 1))])
    >>> fit = dp.fit_model(JointMixture(2), rows, epsilon=1.0, delta=1e-6, n_steps=8, bounds=dp.Ball(10.0))
    >>> fit
    <joint mixture, 8 releases, fitted at (ε=1, δ=1e-06) replace-one for each row, NOT RECORDED in any ledger>
    >>> print(10.0 * np.sort(fit.params.means[:, 0]).round(1))
    [-3.  3.]
    """
    shell = OwnModel(model, epsilon, delta, n_steps, bounds, neighbors, shares, random_state, verbose)
    fitted = shell._plan_fit(X, None).run()
    return FittedModel(fitted.params_, fitted.guarantee_, fitted.unit_, fitted.losses_, fitted.releases_)


class OwnModel(PrivateEstimator):
    """An estimator around a model, for ``fit_model``: it can be fitted, and has nothing to predict with."""

    def __init__(
        self,
        model: Any,
        epsilon: float,
        delta: float,
        n_steps: int,
        bounds: Box | Ball | None,
        neighbors: Neighbors | str | None,
        shares: Sequence[float] | None,
        random_state: Any,
        verbose: bool,
    ) -> None:
        self.model = model
        self.epsilon = epsilon
        self.delta = delta
        self.n_steps = n_steps
        self.bounds = bounds
        self.neighbors = neighbors
        self.shares = shares
        self.random_state = random_state
        self.verbose = verbose

    @property
    def _label(self) -> str:
        return str(self.model.name)

    def _plan_fit(self, X: Any, y: Any) -> Inquiry[Self]:
        """Return the inquiry of the EM loop over a model that has passed the attacks; nothing is spent."""
        if not isinstance(self.model, Model):
            raise ArgumentError("model", self.model, "a discreet.Model; see examples/model_skeleton.py")
        shares = self._shares()
        curator = self._open(X)
        self._requested_guarantee(curator.neighbors)
        check_model(self.model, curator.space, size=curator.size)
        seed = None if self.random_state is None else int(check_random_state(self.random_state).randint(2**31))
        start = self.model.initialize(curator.space.dimension, np.random.default_rng(seed))
        attack(ModelQuery(self.model, start, curator.space), np.random.default_rng())
        return self._plan_method(GuardedSteps(self.model, start, shares), curator, self._take)

    def _take(self, result: ModelParameters[Any]) -> None:
        self.params_ = result.params

    def _shares(self) -> tuple[float, ...]:
        """Return the share of each step, checked; they sum to 1."""
        steps = integer("n_steps", self.n_steps, least=1, most=10_000)
        given: Any = [1.0] * steps if self.shares is None else self.shares
        if isinstance(given, np.ndarray):
            given = given.tolist()
        if not isinstance(given, Collection) or isinstance(given, str | bytes | Mapping) or len(given) != steps:
            raise ArgumentError("shares", self.shares, f"{steps} positive numbers, one for each of n_steps")
        parts = [positive("shares", share) for share in given]
        return tuple(share / sum(parts) for share in parts)


@dataclass(frozen=True, eq=False)
class ModelParameters(Generic[Params]):
    """The parameters of a model, in its own units."""

    params: Params

    def rescale(self, offset: Array, scale: Array) -> Self:
        """Return the parameters unchanged: only the model knows their units."""
        return self


@dataclass(frozen=True, eq=False)
class GuardedSteps(Method[ModelParameters[Any]]):
    """The EM loop over a model, whose bound is attacked before each step.

    Parameters
    ----------
    model : Model
    start : Params
    parts : tuple of float
        The share of the squared budget of each step.
    """

    model: Model[Any]
    start: Any
    parts: tuple[float, ...]

    @property
    def shares(self) -> tuple[float, ...]:
        """The shares that were requested."""
        return self.parts

    def questions(self, space: Box | Ball, number: int) -> Sequence[Question]:
        """Return the first measurement, at every loss."""
        return [GuardedQuery(self.model, self.start, space)] * number

    def run(
        self, space: Box | Ball, rng: np.random.Generator, measures: Iterator[Step]
    ) -> tuple[ModelParameters[Any], list[Release]]:
        """Run the loop: at each step the bound is attacked first, and contributions are clipped to it."""
        params, releases = self.start, list[Release]()
        for measure in measures:
            attack(ModelQuery(self.model, params, space), np.random.default_rng())  # raises before a row is read
            releases.append(measure(GuardedQuery(self.model, params, space)))
            params = self.model.maximize(params, releases[-1])
        return ModelParameters(params), releases
