"""The audit: attack everything that the library releases, and write the page of the results.

``subjects`` lists what is attacked, ``suite`` attacks all subjects at one joint confidence, and ``audited_page`` writes
the page docs/audited.md. The attacks themselves are in ``discreet.audit``.
"""
