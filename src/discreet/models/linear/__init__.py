"""Linear classifiers.

Where to look: ``private_minimum`` draws coefficients from a perturbed objective, ``gradient_descent`` by noisy steps,
``functional`` from a polynomial.
"""
