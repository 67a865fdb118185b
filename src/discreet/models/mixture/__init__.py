"""Mixtures of Gaussians, fitted by private expectation maximisation.

Where to look: ``mixture_plan`` shares the budget, ``adaptive_method`` runs one Gaussian, a search for clusters
(``clusters.lloyd_search``) and the steps, ``adaptive_model`` pools and shrinks, ``own_coordinates`` undoes clipping. A
fit starts in ``cluster_start`` or ``histogram_start``, or in ``joint_release`` (``Joint``, and the ``published_dpem``).

May import what ``models`` may: any room above it on the map of CONTRIBUTING.md, and the other families of ``models``.
"""
