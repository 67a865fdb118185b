"""Minima and gradients of regularised losses over labelled rows."""
