"""Posteriors by Bayes' rule from released counts: families, and what is computed for them."""
