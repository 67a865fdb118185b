"""Planning: what a guarantee means, and which ε a target error needs, before any row is read.

Where to look: ``tradeoff`` bounds what an attacker can infer, with proofs; ``explanation`` describes it in words;
``guarantees.caution`` warns of a weak guarantee; ``formula``, ``moment_formulas``, ``quantile_formulas`` and
``mixture_formula`` have the predicted errors with their derivations; ``recognition`` chooses the formula; ``choosing``
searches for ε; ``comparison`` compares methods of composition.

Imports these rooms, and may import any other above it: ``arguments``, ``guarantees``, ``records``, ``queries``.

This room guarantees that ``explain`` states a true limit, given a valid guarantee, on what a record's own presence or
values reveal to an attacker who knows all other records. (One may learn about a person from the records of others, for
example that smokers fall ill. That would be revealed without this record too, and no ε limits it.) The results of
``plan`` follow from formulas with their derivations, whose distance from simulation is stated. A plan is a prediction,
not a guarantee. This room never sees a row: everything is a function of public numbers. It knows estimators and
statistics only by their names.
"""

from discreet.guarantees.caution import PlanningWarning, WeakGuaranteeWarning
from discreet.planning.choosing import EpsilonPlan, plan
from discreet.planning.comparison import Comparison, compare, dpem_losses
from discreet.planning.explanation import Explanation, explain

__all__ = [
    "Comparison",
    "EpsilonPlan",
    "Explanation",
    "PlanningWarning",
    "WeakGuaranteeWarning",
    "compare",
    "dpem_losses",
    "explain",
    "plan",
]
