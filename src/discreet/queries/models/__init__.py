"""Contributions of models."""
