"""Posteriors by the central-limit likelihood: for many rows and any model.

Where to look: ``likelihood`` is the density of releases given parameters, ``sampling`` chooses between
``independence_chains`` and NUTS; ``identifiability`` tells what releases leave open.
"""
