"""Mixtures of Gaussians, fitted by private expectation maximisation."""
