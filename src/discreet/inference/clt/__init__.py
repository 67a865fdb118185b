"""Posteriors by the central-limit likelihood: for many rows and any model."""
