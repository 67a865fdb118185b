"""Planning: what ε means, and which ε is needed, before any row is looked at.

This room promises that what ``explain`` says is a true limit, given a promise that is kept, on what a record's own
presence or values give away to somebody who knows all the rest. (One may learn about a person from the others' records,
that smokers fall ill; that would come out without this record too, and no ε limits it.) It promises that what ``plan``
says follows from a formula with its derivation beside it, whose distance from simulation is stated. It never sees a
row: everything is a function of public numbers. A plan is a prediction and no promise. It may import ``arguments``,
``guarantees``, ``noise``, ``records`` and ``door`` and, from outside, numpy, scipy.special and (when a plot is asked
for) matplotlib. Estimators and statistics are known by their names only.

Where to look: ``tradeoff`` has what an attacker can tell, with proofs; ``explanation`` the words; ``formulas`` the
predicted errors, one idea a file; ``recognition`` which formula is meant; ``choosing`` the search for ε; ``comparison``
the methods of composition side by side, and ``scenarios`` the losses of the DP-EM paper to try them on.
"""

from discreet.planning.caution import PlanningWarning
from discreet.planning.choosing import EpsilonPlan, plan
from discreet.planning.comparison import Comparison, compare
from discreet.planning.explanation import Explanation, explain
from discreet.planning.scenarios import dpem_losses

__all__ = ["Comparison", "EpsilonPlan", "Explanation", "PlanningWarning", "compare", "dpem_losses", "explain", "plan"]
