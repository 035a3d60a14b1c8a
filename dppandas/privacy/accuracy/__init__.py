"""How far sums of several noises may be off."""
