"""Audit: attacks on the guarantees of this library, and on what its users build. They give lower bounds on ε.

Where to look: ``confidence`` has the statistics with their proofs, ``claim`` the guarantee that is tested, ``pairs``
the neighbouring data sets, ``output`` what an attacker observes, ``scores`` how the attacker guesses, ``attacking``
runs an attack, ``targets`` prepares what is attacked, ``result`` has the counts and the bound, and ``canaries`` is the
audit in one run. In a checkout, ``papers/audit`` attacks everything that this library releases.

Imports these rooms, and may import any other above it: ``arguments``, ``guarantees``, ``records``, ``scales``,
``queries``, ``door``, ``planning``, ``plots``, ``estimators``.

This room guarantees that a lower bound holds at its stated confidence, whatever the attacker did: the attack (two
neighbouring data sets, a score, a threshold) is chosen on separate runs, and the bound counts right and wrong guesses
over fresh runs. A bound above a claim refutes the claim. A bound below it proves nothing, but it says which errors
would have been detected. Rows are synthetic, and no budget is spent.
"""

from discreet.audit.attacking import attack
from discreet.audit.canaries import OneRun, one_run
from discreet.audit.pairs import Pair, neighbours
from discreet.audit.result import Attack

__all__ = ["Attack", "OneRun", "Pair", "attack", "neighbours", "one_run"]
