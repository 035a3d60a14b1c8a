"""Exact samplers, and the only reader of the operating system's entropy."""
