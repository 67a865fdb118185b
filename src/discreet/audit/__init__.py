"""Audit: attacks on what this library promises, and on what its users build.

This room promises that a lower bound that it states holds at the confidence that it states, whatever the attacker did:
the attack (two neighbouring data sets, a score, a threshold) is chosen from runs of its own, and the bound counts right
and wrong guesses over fresh runs. A bound above a claim refutes the claim; a bound below it proves nothing, but says
which errors would have been noticed. Rows are made up, and nothing is spent. It may import every room but ``cli``.

Where to look: ``confidence`` has the statistics with their proofs, ``claim`` what is claimed and refuted, ``pairs``
the data sets, ``output`` what an attacker sees, ``scores`` how he guesses, ``attacking`` the order of things,
``result`` what comes out, ``canaries`` the audit in one run. Everything that this library releases is attacked by
``papers/audit``, in a checkout.
"""

from discreet.audit.attacking import attack
from discreet.audit.canaries import OneRun, one_run
from discreet.audit.pairs import Pair, neighbours
from discreet.audit.result import Attack

__all__ = ["Attack", "OneRun", "Pair", "attack", "neighbours", "one_run"]
