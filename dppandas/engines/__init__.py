"""Where rows come from, and how they are read in chunks."""
