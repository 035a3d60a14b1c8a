"""Mechanisms: calibrated to a sensitivity and a loss, from exact integers to released ones."""
