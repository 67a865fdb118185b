"""The curator: holds the rows, what is declared of them, and the ledger that every measurement is charged to.

Measurements leave through ``discreet.door.exit``, for which the curator plans and pays. It is a handle: copies of it
are itself, and a pickle opens the same ledger, so every fit is charged.

``open_rows`` makes a curator from what a caller hands over. A ``Curator`` has everything, a ledger too, and to declare
anything again is an error. All else goes through ``discreet.records.open_records``, which says what becomes of rows of
each kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self, TypedDict

from discreet.arguments import UNSHOWN, ArgumentError, integer
from discreet.door.exit import release
from discreet.door.release import PublicSize, Release, as_printable
from discreet.door.schedule import Schedule
from discreet.guarantees import Guarantee, Loss, Neighbors
from discreet.ledger import Ledger
from discreet.ledger.book import check_text
from discreet.noise import Bits, SecureBits
from discreet.queries.bound import Setting
from discreet.queries.mechanism import Mechanism, Plan, mechanism_for
from discreet.queries.question import Question
from discreet.records import Ball, Bounds, Box, Condition, Records, Schema, Unit, as_records, open_records

AT_MOST = 2**27
MOST_WORDS = 900
NAMELESS = re.compile(r"(unit|x\d+)_*")  # what records call a column of ids that came without a name


class Now(NamedTuple):
    """The payment for one measurement, at the time of the measurement."""

    curator: Curator
    query: Question
    loss: Loss | Guarantee

    def pay(self, plan: Callable[[Any], Plan]) -> tuple[Plan, bool]:
        """Plan, and have the ledger record the loss of the plan."""
        result = plan(self.loss)
        return result, self.curator._charge("spend", [result.loss], self.query.name)


class Curator:
    """Rows behind the door, with their declarations and their ledger.

    Parameters
    ----------
    records : array, dataframe, Parquet path, Dask collection or Records
        The rows. What is missing or not a number is dealt with as declared, never reported.
    space : Box or Ball
        Declared bounds, for numeric columns; or
    schema : Schema
        declared columns.
    name : str
        The data set's name in the ledger. All curators of the same data must use the same name.
    neighbors : Neighbors or str
        ``"replace-one"`` (default) or ``"add-remove"``.
    budget : Guarantee
        A limit on all that is ever released under this name; needs a ledger. It is set once; afterwards it must be the
        one that the ledger has.
    ledger : Ledger, path or URL
        Where spends are recorded. None: nothing is recorded, and every release says so.
    unit : str, int or array
        The column that says whose row it is, where one person may have several (for an array: the column's number, or
        the ids themselves); with
    max_rows : int
        how many rows of one unit count. Which ones follows from that unit's own declared rows, by a public rule.
    unit_type : str
        What names units: ``"text"`` (default) or ``"integer"``. Rows whose unit cannot be read so are left out.
    order : str
        A declared column of numbers or dates: of each unit the rows that are first in it count.
    unit_name : str
        What the unit is ("patient"), for the ledger; by default the name of its column.
    at_most : int
        Where the number of rows is not public (add-remove, or persons of several rows): a bound on it that is. It
        only enters the bound on float error and the size of the grid. More rows than that raise an error at once, since
        the declaration was wrong. So it is the owner's to choose, and never an analyst's (docs/limits.md).
    who : str
        Who spends, for the ledger; the name of the account by default.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import Box, Curator, GaussianLoss, Sum
    >>> rows = np.random.default_rng(0).normal(50.0, 10.0, (1000, 1))
    >>> curator = Curator(rows, space=Box(0.0, 100.0))
    >>> release = curator.measure(Sum(curator.space), GaussianLoss(0.5))
    >>> mean = curator.space.from_unit(release["sum"] / 1000)
    >>> print(round(float(mean[0]), -1))
    50.0
    """

    name: str | None
    neighbors: Neighbors
    unit: str
    ledger: Ledger | None
    space: Any
    columns: tuple[str, ...]
    scales: tuple[str, ...]
    category_columns: tuple[str, ...]
    categories: tuple[tuple[Any, ...], ...]
    backend: str | None
    _records: Records
    _at_most: int
    _who: str | None
    _words: str | None = None
    _paid: Schedule | None = None

    def __init__(
        self,
        records: Any,
        *,
        space: Box | Ball | None = None,
        schema: Schema | None = None,
        name: str | None = None,
        neighbors: Neighbors | str = Neighbors.REPLACE_ONE,
        budget: Guarantee | None = None,
        ledger: Ledger | str | None = None,
        unit: Any = None,
        max_rows: int | None = None,
        unit_type: str | None = None,
        order: str | None = None,
        unit_name: str | None = None,
        at_most: int = AT_MOST,
        who: str | None = None,
    ) -> None:
        relation = Neighbors.parse(neighbors)
        if ledger is not None and not name:
            raise ArgumentError("name", name, "the data set's name, under which the ledger records what is spent")
        if budget is not None and ledger is None:
            raise ArgumentError("ledger", None, "a ledger (a path is enough) that keeps the budget across sessions")
        if not isinstance(budget, Guarantee | None):
            raise ArgumentError("budget", budget, "a Guarantee, for example Guarantee(1.0, 1e-6)")
        if budget is not None and budget.neighbors is not relation:
            raise ValueError(f"budget={budget}: expected one under {relation}, as the curator")
        most = integer("at_most", at_most, least=1, most=2**50)
        rows = as_records(
            records, space=space, schema=schema, unit=unit, max_rows=max_rows, unit_type=unit_type, order=order
        )
        self._set(
            rows,
            name=None if name is None else check_text("name", name),
            neighbors=relation,
            unit=_name_unit(rows.unit, unit_name, ledger is not None),
            ledger=ledger if isinstance(ledger, Ledger | None) else Ledger(ledger),
            _who=None if who is None else check_text("who", who),
            _at_most=most,
        )
        if not self._size_is_public and rows.rows > most:
            raise ArgumentError("at_most", at_most, "a public bound that the number of rows does not exceed")
        if self.ledger is not None:
            self.ledger.open_dataset(check_text("name", name), unit=self.unit, budget=budget, who=self._who)

    def _set(self, records: Records, **values: Any) -> None:
        """Set the attributes: those given, the rows, and what is declared of these."""
        declared = ("space", "columns", "scales", "category_columns", "categories", "backend")
        vars(self).update(values | {name: getattr(records, name) for name in declared} | {"_records": records})

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{name}: a curator does not change; make another, or take a view with only or where")

    def __delattr__(self, name: str) -> None:
        self.__setattr__(name, None)

    @property
    def declared(self) -> dict[str, Any]:
        """What was declared of the rows, as plain values, and which of them count; public."""
        unit = self._records.unit
        return self._records.declared | {"unit_name": None if unit is None else self.unit.removeprefix("each ")}

    @property
    def _size_is_public(self) -> bool:
        return self.neighbors is Neighbors.REPLACE_ONE and self._records.unit is None

    @property
    def size(self) -> PublicSize:
        """What is public about the size of the data."""
        if self.neighbors is Neighbors.ADD_REMOVE:
            return PublicSize(None, False)
        units = self._records.rows if self._records.unit is None else self._records.units
        return PublicSize(units, self._records.complete)

    @property
    def setting(self) -> Setting:
        """The public numbers that a mechanism plans with."""
        records = self._records
        rows = max(records.rows, 1) if self._size_is_public else self._at_most
        return Setting(self.neighbors, records.max_rows, rows, records.float_error, records.complete)

    def only(self, columns: Collection[str]) -> Curator:
        """Return a curator of the same rows, name and ledger that reads some of the columns only.

        A row with a gap in one of the others then counts. Statistics ask in this way by themselves.
        """
        return self._view(self._records.only(columns))

    def where(self, condition: str | Condition) -> Curator:
        """Return a curator of the same name and ledger, of whose rows only those count for which a condition holds.

        The condition is public, and every release carries it. It looks at one row alone, as the row is declared
        (``Records.where``), so every bound stays as it is, and the budget is that of all rows. How many rows are left
        is private, also under replace-one.

        Parameters
        ----------
        condition : str or Condition
            Comparisons of declared columns, in Python's syntax (``Condition.parse``).

        Examples
        --------
        >>> import numpy as np
        >>> from discreet import Category, Curator, Number, Schema
        >>> schema = Schema({"age": Number(0, 120), "smokes": Category([False, True])})
        >>> curator = Curator(np.array([[30, 0], [17, 1], [70, 0]]), schema=schema)
        >>> curator.where("18 <= age < 65 and smokes != True").declared["where"]
        'age >= 18 and age < 65 and smokes != True'
        """
        return self._view(self._records.where(condition))

    def states(self) -> Curator:
        """Return a curator of what the declaration makes of each cell of the rows that count (``Records.states``)."""
        return self._view(self._records.states())

    def persons(self) -> Curator:
        """Return a curator of one row a person: how many rows that person has (``Records.persons``)."""
        return self._view(self._records.persons())

    def counting(self) -> Curator:
        """Return a curator of the same rows for counting them: a gap drops none, but in a column of a condition."""
        return self._view(self._records.counting())

    def noting(self, words: str) -> Curator:
        """Return a curator of the same rows whose questions the ledger notes in these words."""
        return self._view(self._records, _words=words)

    def paid_by(self, schedule: Schedule) -> Curator:
        """Return a curator of the same rows whose measurements a schedule has paid for, in its order.

        So several questions are one payment: all of them are admitted, or none. The schedule must be of the same data
        set, in the same ledger, for the same unit.
        """
        if not isinstance(schedule, Schedule):
            raise ArgumentError("schedule", schedule, "what a curator's reserve returned")
        payer = schedule.curator
        mine, theirs = ((one.name, one.ledger, one.unit, one.neighbors) for one in (self, payer))
        if mine != theirs or self._records.kind != payer._records.kind:
            raise ArgumentError(
                "schedule", UNSHOWN, "one that a curator of these rows has reserved; reserve another one"
            )
        return self._view(self._records, _paid=schedule)

    def _view(self, records: Records, **changed: Any) -> Curator:
        """Return a curator of these records, with the attributes that are named changed."""
        if records is self._records and not changed:
            return self
        view = object.__new__(Curator)
        view._set(records, **vars(self) | changed)
        return view

    def plan(
        self,
        query: Question,
        loss: Loss | Guarantee,
        mechanism: Mechanism | None = None,
        bits: Bits | None = None,
    ) -> Plan:
        """Return what measuring would cost and what would be drawn, from public numbers; nothing is spent.

        Every refusal happens here. The arguments are those of ``measure``.
        """
        if not isinstance(bits, Bits | None):
            raise ArgumentError("bits", bits, "SeededBits, for a test, or None")
        if bits is not None and type(bits) is not SecureBits and self.ledger is not None:
            expected = "None where a ledger records; noise from a seed lets the exact sum out"
            raise ArgumentError("bits", UNSHOWN, expected)
        if not isinstance(query, Question):
            raise ArgumentError("query", query, "a Query, for example Sum(curator.space)")
        if not isinstance(mechanism, Mechanism | None):
            raise ArgumentError("mechanism", mechanism, "a Mechanism, for example Euclidean(), or None")
        if isinstance(loss, Guarantee):
            loss = query.default_loss(loss)
        if not isinstance(loss, Loss):
            raise ArgumentError("loss", loss, "what to spend, for example Guarantee(0.5, 1e-6) or GaussianLoss(0.1)")
        if loss.neighbors is not self.neighbors:
            raise ArgumentError("loss", loss, f"one under {self.neighbors}, as the curator")
        if query.dimension not in (0, len(self.columns)):
            expected = f"one over {len(self.columns)} numeric columns, got {query.dimension}"
            raise ArgumentError("query", query.name, expected)
        query.check(self.space, self.categories)
        setting = self.setting
        facts = query.facts(setting)
        plan = (mechanism or mechanism_for(query, loss)).plan(query, loss, setting)
        if query.facts(setting) != facts:
            expected = "one whose bound does not change while it is planned: a query whose fields nothing changes"
            raise ArgumentError("query", query.name, expected)
        if plan.kind == "approximate" and self.ledger is not None:
            expected = "an exact draw where a ledger records; nothing is proved about this one"
            raise ArgumentError("query", query.name, expected)
        return replace(plan, facts=facts)

    def measure(
        self,
        query: Question,
        loss: Loss | Guarantee,
        *,
        mechanism: Mechanism | None = None,
        bits: Bits | None = None,
    ) -> Release:
        """Measure a query with noise, and pay for it.

        Parameters
        ----------
        query : Query
        loss : Guarantee or Loss
            What to spend. A ``Guarantee`` takes Gaussian noise, or Laplace noise at δ = 0 (for a selection the
            exponential mechanism); or a loss: ``GaussianLoss`` or ``LaplaceLoss`` for a sum, ``BoundedRangeLoss``
            (exponential mechanism) or ``PureLoss`` (noisy maximum) for a selection.
        mechanism : Mechanism
            Another mechanism, with its own proof; by default that of the query and the loss (``mechanism_for``).
        bits : Bits
            Seeded bits, for a test. They warn, the release is marked simulated, and a curator with a ledger refuses
            them: whoever knows the seed knows the exact sum.

        Returns
        -------
        Release
        """
        return release(self, query, Now(self, query, loss), mechanism=mechanism, bits=bits)

    def reserve(self, losses: Loss | Iterable[Loss], *, query: str) -> Schedule:
        """Pay for a fixed schedule at once, at its exact composed cost, and return the right to measure it.

        An estimator that was calibrated for (ε, δ) fits into a fresh limit of the same (ε, δ) in this way.
        """
        return Schedule(self, losses, query)

    def _charge(self, kind: str, losses: Sequence[Loss], query: str) -> bool:
        """Have losses recorded, as a ``"spend"`` or as one to ``"reserve"``; return whether a ledger has them.

        Where no unit can be read nothing is spent. The number of units is public under replace-one.
        """
        unit = self._records.unit
        if self.neighbors is Neighbors.REPLACE_ONE and unit is not None and self._records.units == 0:
            other = "text" if unit.unit_type == "integer" else "integer"
            raise ValueError(
                f"unit={unit.column!r}: no row has a name that can be read as {unit.unit_type}, so none would "
                f"count; write unit_type={other!r}, or the column that says whose row it is"
            )
        if self._paid is not None:
            return self._paid.take(losses)
        if self.ledger is None:
            return False
        record = self.ledger.spend if kind == "spend" else self.ledger.reserve
        record(check_text("name", self.name), losses, query=self._note(query), unit=self.unit, who=self._who)
        return True

    def _note(self, query: str) -> str:
        """Return what the ledger notes: the question, and of which rows it was asked."""
        condition = self._records.condition
        words = self._words or (query if condition is None else f"{query} where {condition}")
        shown = as_printable(words).strip()
        return check_text("query", shown if len(shown) <= MOST_WORDS else shown[:MOST_WORDS] + "…")

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __repr__(self) -> str:
        where = "no ledger: nothing is recorded" if self.ledger is None else repr(self.ledger)
        return f"<Curator of {self.name or 'unnamed data'}, {self.neighbors}, {self._records!r}, {where}>"


def _name_unit(unit: Unit | None, name: str | None, needed: bool) -> str:
    """Return what the unit is called in the ledger, where it is needed to tell different units apart."""
    if unit is None:
        if name is not None:
            raise ArgumentError("unit_name", name, "None where each row stands for itself")
        return "row"
    if not isinstance(name, str | None):
        raise ArgumentError("unit_name", name, "what the unit is, for example 'patient'")
    if name is None and needed and NAMELESS.fullmatch(unit.column):
        expected = (
            "what the unit is, for example 'patient', since its column has no name of its own; the ledger tells by "
            "it whether two curators protect the same units"
        )
        raise ArgumentError("unit_name", None, expected)
    return check_text("unit_name", f"each {name or unit.column}")


class Declarations(TypedDict, total=False):
    """What is declared of rows that are handed over.

    bounds : (low, high), list of such pairs, Box, Ball, or mapping of a column's name to a pair or a Number
        Where the numbers lie; public, never taken from the rows. One pair is for all columns, a list has one a column.
        With a mapping only these columns are read.
    classes : mapping of a column's name to a list, or a Category
        Columns of categories beside bounds by name, and which categories there are.
    schema : Schema
        In place of both, where there are gaps to fill, or several rows a person.
    neighbors : str
        ``"replace-one"`` (the default; the number of rows is public) or ``"add-remove"``.
    unit, max_rows, unit_type, order
        Whose row it is, and which rows of one unit count, as in ``Curator``.
    """

    bounds: Bounds | None
    classes: Any
    schema: Schema | None
    neighbors: Neighbors | str | None
    unit: Any
    max_rows: int | None
    unit_type: str | None
    order: str | None


def open_rows(data: Any, **declared: Any) -> Curator:
    """Return a curator of rows that are handed over with declarations, or the curator that was given.

    Parameters
    ----------
    data : Curator, Records, array of one or two dimensions, data frame, series, path of Parquet files, Dask collection
    declared
        See ``Declarations``.

    Examples
    --------
    >>> open_rows([20.0, 35.0, 50.0], bounds=(0, 120))
    <Curator of unnamed data, replace-one, Records(numpy array, columns=('x0',), space=Box(low=(0.0,), ...
    """
    unknown = sorted(declared.keys() - Declarations.__annotations__.keys())
    if unknown:
        hint = "; for a condition write Curator(data, schema=…).where('age >= 18')" if "where" in unknown else ""
        raise TypeError(
            f"{unknown[0]}: not an argument; what can be declared is {', '.join(Declarations.__annotations__)}{hint}"
        )
    given = {name: value for name, value in declared.items() if value is not None}
    relation = given.pop("neighbors", None)
    if isinstance(data, Curator):
        if given:
            raise ValueError(f"{next(iter(given))}: expected None, since the curator has declarations of its own")
        if relation is not None and Neighbors.parse(relation) is not data.neighbors:
            raise ArgumentError("neighbors", relation, f"None, or the curator's {data.neighbors}")
        return data
    neighbors = Neighbors.REPLACE_ONE if relation is None else Neighbors.parse(relation)
    return Curator(open_records(data, **given), neighbors=neighbors)
