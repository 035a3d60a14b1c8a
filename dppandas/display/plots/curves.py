"""What bounds or limits cost: noise, bias, and what both make together."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ...findings.curves import Curve
from .base import Panel
from .scales import number_axis
from .style import ORANGE, PURPLE, TEAL, legend_above, plain, shade, tidy


def panel(curve: Curve) -> Panel:
    """The panel of a curve: lines for noise and for the total, and a band for the bias."""
    said = " ".join(map(plain, curve._said))
    return Panel(plain(curve._title), partial(_draw, curve=curve), said)


def _draw(ax: Any, curve: Curve) -> str:
    at = curve.index.to_numpy(dtype=float)
    low, high = (curve[name].to_numpy(dtype=float) for name in ("bias_low", "bias_high"))
    least = np.where((low < 0) & (high > 0), 0.0, np.minimum(abs(low), abs(high)))
    most = np.maximum(abs(low), abs(high))
    style: dict[str, Any] = {"markersize": 4, "linewidth": 1.6}
    ax.fill_between(at, least, most, **shade(ORANGE), zorder=1)
    ax.plot(at, most, "s--", color=ORANGE, label="bias, its size", zorder=2, **style)
    ax.plot(at, curve["noise"], "o-", color=TEAL, label="noise", zorder=3, **style)
    ax.plot(at, curve["total"], "D-.", color=PURPLE, label="total", zorder=4, **style)
    ax.set_ylim(0, None)
    number_axis(ax.xaxis)
    number_axis(ax.yaxis)
    ax.set_xlabel(plain(str(curve.index.name)))
    legend_above(ax)
    tidy(ax)
    return ""
