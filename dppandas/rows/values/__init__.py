"""What cells mean: one function from a cell to a family and an exact value, which cells are equal,
and the closed forms in which whole columns of them are kept.
"""

from .cells import are_simple, canonical
from .equality import distinct, key, name, readings, time_of
from .families import FAMILIES, MISSING, Cell, order

__all__ = [
    "FAMILIES", "MISSING", "Cell", "are_simple", "canonical", "distinct", "key",
    "name", "order", "readings", "time_of",
]  # fmt: skip
