"""The audit: everything that the library releases, attacked, and the page of what was found.

``subjects`` lists what is attacked, ``suite`` attacks all of it at one confidence, ``audited_page`` makes the page of
the documentation. The attacks themselves are ``discreet.audit``.
"""
