"""Ordinary least squares as statsmodels has it, from released second moments."""
