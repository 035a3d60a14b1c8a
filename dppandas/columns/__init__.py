"""Private columns, computed row by row."""
