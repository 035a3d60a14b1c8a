"""The pandas-shaped face: frames, series, groups and tables."""
