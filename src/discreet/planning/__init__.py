"""Planning: what ε means, and which ε is needed, before any row is looked at.

This room guarantees that what ``explain`` says is a true limit, given a guarantee that is kept, on what a record's own
presence or values give away to somebody who knows all the rest. (One may learn about a person from the others' records,
that smokers fall ill; that would come out without this record too, and no ε limits it.) What ``plan``
says follows from a formula with its derivation beside it, whose distance from simulation is stated. It never sees a
row: everything is a function of public numbers. A plan is a prediction and no guarantee. It may import ``arguments``,
``guarantees``, ``noise``, ``records`` and ``door`` and, from outside, numpy, scipy.special and (when a plot is asked
for) matplotlib. Estimators and statistics are known by their names only.

Where to look: ``tradeoff`` has what an attacker can tell, with proofs; ``explanation`` says it in words; ``caution``
when a δ is too large; ``formulas`` has the predicted errors with their derivations; ``recognition`` says which formula
is meant; ``choosing`` searches for ε; ``comparison`` has the methods of composition side by side.
"""

from discreet.planning.caution import PlanningWarning
from discreet.planning.choosing import EpsilonPlan, plan
from discreet.planning.comparison import Comparison, compare, dpem_losses
from discreet.planning.explanation import Explanation, explain

__all__ = ["Comparison", "EpsilonPlan", "Explanation", "PlanningWarning", "compare", "dpem_losses", "explain", "plan"]
