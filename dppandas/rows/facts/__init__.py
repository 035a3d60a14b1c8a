"""Public facts about a table: bounds, keys, kinds of columns, the privacy unit."""
