"""Statistics of blocks, to which units are dealt by a key."""
