"""What an attack on membership found, as figures, a table and a plot."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ..dataclasses import dataclass, field
from ..display.plots.looks import draw_alone, parse_look
from ..display.plots.style import INK, ORANGE, TEAL, legend_above, tidy
from ..errors import hide_internals
from ..rows.sentences import ShownInSentences
from .events import ClopperPearson, Floats

NOT_PRIVATE = "Not private: these are exact figures of the rows."


@dataclass(frozen=True, eq=False)
class Attack:
    """Shares that a threshold takes for members, judged on rows that it wasn't learnt from."""

    tpr: float
    fpr: float
    interval: tuple[float, float]
    threshold: float
    members: Floats
    others: Floats

    @classmethod
    def judged(cls, threshold: float, members: Floats, others: Floats, sure: float) -> Attack:
        """``members`` and ``others`` are the losses of the halves that judge."""
        shares, ends = [], []
        for losses in (members, others):
            hits = int(np.count_nonzero(losses <= threshold))
            # four bounds, two of which make each end
            bounds = ClopperPearson(len(losses), (1 - sure) / 4)
            counts = np.array([hits])
            shares.append(hits / len(losses))
            ends.append((float(bounds.low(counts)[0]), float(bounds.high(counts)[0])))
        (low, high), (low_of_others, high_of_others) = ends
        interval = low - high_of_others, high - low_of_others
        return cls(shares[0], shares[1], interval, threshold, members, others)

    @property
    def advantage(self) -> float:
        """The share found of the members, less that of the others."""
        return self.tpr - self.fpr

    @property
    def curve(self) -> pd.DataFrame:
        """Both shares at each threshold, on the judging half."""
        at = np.unique(np.concatenate([[-math.inf], self.members, self.others]))
        shares = {
            name: np.searchsorted(np.sort(losses), at, side="right") / len(losses)
            for name, losses in (("fpr", self.others), ("tpr", self.members))
        }
        return pd.DataFrame({**shares, "thresholds": at})


@dataclass(frozen=True, eq=False, repr=False)
class MembershipResult(ShownInSentences):
    """What `dppandas.audit.membership` found. **Not private**: exact figures of the rows.

    model, loss : the model that was attacked, and the loss of its fit.
    plain : the model without noise.
    bound : of the mean advantage of every attack on a model of this loss.
    confidence : of each interval.
    unit : the column of the unit whose membership it is; None for rows.
    """

    model: str
    loss: str
    plain: str
    _attack: Attack = field(repr=False)
    _on_plain: Attack = field(repr=False)
    bound: float
    confidence: float
    unit: Any

    @property
    def advantage(self) -> float:
        """Of the attack on the model: the share found of the members, less that of the others."""
        return self._attack.advantage

    @property
    def interval(self) -> tuple[float, float]:
        """(lower, upper) of the advantage, for this model and this threshold."""
        return self._attack.interval

    @property
    def advantage_of_plain(self) -> float:
        """Of the same attack on the model without noise."""
        return self._on_plain.advantage

    @property
    def interval_of_plain(self) -> tuple[float, float]:
        """(lower, upper) of the advantage on the model without noise."""
        return self._on_plain.interval

    @property
    def judged(self) -> tuple[int, int]:
        """How many members and others judged the attack: half of those with all values."""
        return len(self._attack.members), len(self._attack.others)

    @property
    def _titles(self) -> tuple[str, str]:
        return f"{self.model}, {self.loss}", f"{self.plain}, no noise"

    @property
    def _attacks(self) -> list[tuple[str, Attack]]:
        return list(zip(self._titles, (self._attack, self._on_plain), strict=True))

    def to_frame(self) -> pd.DataFrame:
        """A row for each model: advantage, its interval, true and false positive rate, and the
        bound, which the model without noise doesn't have."""
        rows = {
            title: [each.advantage, *each.interval, each.tpr, each.fpr]
            for title, each in self._attacks
        }
        names = ["advantage", "lower", "upper", "tpr", "fpr"]
        found = pd.DataFrame.from_dict(rows, orient="index", columns=names)
        return found.assign(bound=[self.bound, math.nan]).rename_axis("model")

    @property
    def roc(self) -> pd.DataFrame:
        """Both attacks at all thresholds, on the half that judges: columns fpr, tpr and thresholds
        as of scikit-learn's roc_curve, under the name of the model."""
        return pd.concat({title: each.curve for title, each in self._attacks}, names=["model", ""])

    @hide_internals
    def plot(
        self,
        ax: Any = None,
        *,
        title: str | None = None,
        caption: bool = True,
        figsize: tuple[float, float] | None = None,
        ground: str | None = None,
    ) -> Any:
        """Plot the ROC curves of both attacks, and the line that the mean of attacks on the model
        stays below. Returns the Axes.

        ax : matplotlib Axes to draw on; else a new figure.
        title, caption, figsize, ground : as of `dppandas.plot`. Without its caption nothing says
            that this isn't private. Needs matplotlib: ``pip install dppandas[plots]``.

        *Guarantee*: none: the curves are exact figures of the rows.
        """
        look = parse_look(ax, title, caption, figsize, ground)
        name = f"Membership attack on {self.model}"
        return draw_alone(lambda axes: _draw(axes, self), name, (5.2, 4.4), look)

    _shown_as: ClassVar[str] = "attack"

    def _sentences(self) -> list[str]:
        level = f"{100 * self.confidence:.10g} %"
        kind = "units" if self.unit is not None else "rows"
        said = [f"Membership attack on {self.model}, {self.loss}. {NOT_PRIVATE}"]
        said += [
            f"{title}: advantage {each.advantage:.3f}, {level} interval "
            f"{each.interval[0]:.3f} to {each.interval[1]:.3f}"
            + (f"; bound {self.bound:.4g}" if each is self._attack else "")
            for title, each in self._attacks
        ]
        members, others = self.judged
        return [
            *said,
            f"Judged on {members:,} members and {others:,} others ({kind}), by a threshold learnt "
            "from the rest.",
            "One fit is one draw of noise: the bound is of the mean over fits and over who takes "
            "part, by a coin each, and of every attack.",
        ]


def _draw(ax: Any, found: MembershipResult) -> str:
    looks = ((TEAL, "-", "o", str(found.loss)), (ORANGE, "--", "s", "no noise"))
    for (_, each), (colour, line, mark, title) in zip(found._attacks, looks, strict=True):
        curve = each.curve
        ax.plot(curve["fpr"], curve["tpr"], line, color=colour, linewidth=1.8, label=title,
                drawstyle="steps-post", zorder=3)  # fmt: skip
        ax.plot([each.fpr], [each.tpr], mark, color=colour, zorder=4)
    if found.bound < 1:
        ends = np.array([0.0, 1 - found.bound])
        ax.plot(ends, ends + found.bound, ":", color=TEAL, label="bound", zorder=2)
    ax.plot([0, 1], [0, 1], color=INK, linewidth=0.8, zorder=1)
    ax.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="others taken for members", ylabel="members found")
    tidy(ax, grid="both")
    legend_above(ax)
    return (
        "Marks: the threshold learnt from the other half. Dotted: the mean over fits of any attack "
        f"on the private model stays below. {NOT_PRIVATE}"
    )
