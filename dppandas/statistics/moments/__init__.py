"""Sums, means, variances and covariances of clipped values."""
