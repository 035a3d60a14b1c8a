"""Counts: of rows, of units, by keys that are declared or unknown."""
