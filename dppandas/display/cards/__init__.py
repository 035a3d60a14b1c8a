"""Answers with their errors, as notebooks and terminals show them."""
