"""Losses, mechanisms and samplers. Nothing here knows of rows."""
