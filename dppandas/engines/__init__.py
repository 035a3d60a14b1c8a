"""Where rows come from, and how the partial results of their chunks are put together."""
