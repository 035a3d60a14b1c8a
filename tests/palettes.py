"""How colours are seen: contrast, lightness, and by people with other kinds of colour vision."""

from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt

Colour = npt.NDArray[np.float64]

#: White, and JupyterLab's dark ground.
GROUNDS = WHITE, DARK = "#ffffff", "#111111"
#: Machado, Oliveira and Fernandes (2009), severity 1, for linear RGB.
SIMULATED: dict[str, Colour] = {
    "anyone": np.eye(3),
    "protanopia": np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                            [-0.003882, -0.048116, 1.051998]]),
    "deuteranopia": np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                              [-0.011820, 0.042940, 0.968881]]),
}  # fmt: skip


def linear(colour: Any) -> Colour:
    rgb = np.array(mpl.colors.to_rgb(colour))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def contrast(one: Any, other: Any) -> float:
    """That of WCAG."""
    light = sorted(float(linear(c) @ (0.2126, 0.7152, 0.0722)) + 0.05 for c in (one, other))
    return light[1] / light[0]


def lab(rgb: Colour) -> Colour:
    """CIELAB under D65, of linear RGB."""
    matrix = np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750],
                       [0.0193339, 0.1191920, 0.9503041]])  # fmt: skip
    xyz = matrix @ np.clip(rgb, 0, 1) / np.array([0.95047, 1, 1.08883])
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def distance(one: Any, other: Any, seen: str = "anyone") -> float:
    """ΔE*ab, as somebody sees them."""
    matrix = SIMULATED[seen]
    return float(np.linalg.norm(lab(matrix @ linear(one)) - lab(matrix @ linear(other))))


def lightness(colour: Any) -> float:
    """L*: from 0 for black to 100 for white."""
    return float(lab(linear(colour))[0])
