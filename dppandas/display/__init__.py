"""Plots, and the ledger in notebooks."""
