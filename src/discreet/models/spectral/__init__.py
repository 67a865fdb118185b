"""Covariances, principal axes and factors.

Where to look: ``spectrum`` corrects eigenvalues for noise, ``principal_directions`` finds axes, ``factors`` fits
factors.
"""
