"""Rows and what is computed from each of them. Nothing here knows of privacy."""
