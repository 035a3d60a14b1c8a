"""Privacy losses: exact numbers, how they convert into each other, and how they add up."""
