"""What cells mean: one function from a cell to a family and an exact value, which cells are equal,
and the closed forms in which whole columns of them are kept.
"""

from .cells import canonical
from .equality import distinct, key, name, readings, time_of
from .families import FAMILIES, MISSING, Cell, order
from .plain import are_simple, interned, times, whole_numbers

__all__ = [
    "FAMILIES", "MISSING", "Cell", "are_simple", "canonical", "distinct", "interned", "key",
    "name", "order", "readings", "time_of", "times", "whole_numbers",
]  # fmt: skip
