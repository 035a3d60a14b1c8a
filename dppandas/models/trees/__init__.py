"""Trees of public splits, which are selected level by level."""
