"""Private objects with the methods of pandas: frames, series, groups and tables."""
