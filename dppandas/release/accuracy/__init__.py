"""How far an answer may be off, in which unit, and in an order that is possible."""
