"""Methods that make private rows from private rows: what they select, name, compute and join."""
