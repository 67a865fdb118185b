"""Mixtures of Gaussians, fitted by private expectation maximisation.

May import what ``models`` may: see the third line there, to which a room from above is added when it is needed. A fit
starts in ``cell_search`` (``Adaptive``) or ``joint_release.spread_components`` (``Joint``, and the
``published_dpem``).
"""
