"""Probabilistic inference from private measurements: Williams and McSherry (2010)."""
