"""Rows on clusters: what travels to the workers, and the engines that send it there."""
