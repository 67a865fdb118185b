"""Gaussian classes and the Bayes rule.

Where to look: ``class_methods`` shares the budget, ``class_estimates`` has means and covariances from releases,
``xi_classes`` the published method, ``bayes_error`` how well classes can be told apart.
"""
