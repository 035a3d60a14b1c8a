"""One palette for ledgers, cards and plots.

Each colour has 3 : 1 at least on white and on JupyterLab's dark #111111. Dark ones and light ones
take turns, so neighbours differ in grey, too, and any two differ for people with any kind of colour
vision (ADR 18).
"""

from __future__ import annotations

TEAL, ORANGE, PURPLE, GREEN, BLUE, MAUVE, OLIVE, SKY = COLOURS = (
    "#1b7f79", "#dc7a2c", "#764ea8", "#38a677", "#0364e2", "#a185c0", "#4a6b34", "#0799f4",
)  # fmt: skip
#: The grey with the largest contrast on both grounds: 4.3 : 1. No colour has more on both, because
#: these two are 18.9 : 1 apart.
INK = "#797979"
#: Where the ground is known: 7 : 1 on white, and on #111111.
INKS = {"light": "#595959", "dark": "#a2a2a2"}
