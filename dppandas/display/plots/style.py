"""How plots look: no ground, one ink that can be read on light and on dark pages, and colours that
people with any kind of colour vision tell apart.

A style that the caller has set is kept, with its ground and its ink.
"""

from __future__ import annotations

import importlib
import itertools
import math
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...errors import QueryError
from ...ledger import colours
from . import fonts

#: The palette of ledgers and cards, too.
COLOURS, INK, INKS = colours.COLOURS, colours.INK, colours.INKS
TEAL, ORANGE, PURPLE = colours.TEAL, colours.ORANGE, colours.PURPLE
#: Marks, so that colour is never the only difference.
MARKS = "osD^vP*X"
#: How much of its colour a bar is filled with; its edge has all.
FILLED = 0.3

_PLAIN = {
    "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": INK, "xtick.color": INK,
    "ytick.color": INK, "grid.color": INK, "figure.facecolor": "none", "axes.facecolor": "none",
}  # fmt: skip
#: Points, of captions and of titles.
SMALL, LARGE = 8.5, 12


def pyplot() -> Any:
    """matplotlib, imported when something is drawn."""
    try:
        return importlib.import_module("matplotlib.pyplot")
    except ImportError:
        raise QueryError('a plot needs matplotlib: pip install "dppandas[plots]".') from None


def setting(name: str) -> Any:
    """A setting of the style in use."""
    return importlib.import_module("matplotlib").rcParams[name]


@contextmanager
def page(ground: str | None = None) -> Iterator[None]:
    """The style of a new figure: transparent and in one ink, for one ground or for both, unless the
    caller has a style of his own. These settings are as before afterwards; others are not touched,
    as `rc_context` would: a backend that is loaded by the first figure changes some for good."""
    matplotlib = importlib.import_module("matplotlib")
    now, default = matplotlib.rcParams, matplotlib.rcParamsDefault
    before = {name: now[name] for name in _PLAIN}
    is_plain = all(before[name] == default[name] for name in _PLAIN)
    ink = INKS.get(ground or "", INK)
    plain = {name: ink if value == INK else value for name, value in _PLAIN.items()}
    now.update(plain if is_plain else {})
    try:
        yield
    finally:
        now.update(before)


def tidy(ax: Any, grid: str = "y") -> None:
    """A light grid along the values, and no box."""
    ax.grid(axis=grid, alpha=0.35, zorder=0, linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def shade(colour: str) -> dict[str, Any]:
    """The looks of an area: its edge has all of its colour, as the fill alone is hardly seen on
    dark pages."""
    return {"facecolor": (colour, FILLED), "edgecolor": colour, "linewidth": 0.8}


def legend_above(ax: Any) -> None:
    """A legend in a row between the axes and their title, where no line of the grid and no fill is
    behind it; one below the other where a row is too wide."""
    handles, labels = ax.get_legend_handles_labels()
    for columns in (len(labels), 1):
        found = ax.legend(
            handles, labels, loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, fontsize=9,
            frameon=False, borderpad=0, borderaxespad=0.5, columnspacing=1.5,
        )  # fmt: skip
        found.set_gid("above")
        if found.get_window_extent().width <= ax.get_window_extent().width:
            return


def plain(text: str) -> str:
    """A text that matplotlib doesn't typeset as mathematics, of letters that some font has."""
    return fonts.written(text).replace("\\$", "$").replace("$", r"\$")


def write_around(
    axes: Any, titles: list[str], captions: list[str], is_new: bool, may_grow: bool = True
) -> None:
    """Write titles above axes, and captions below them and their labels, in lines as long as there
    is room; or no captions. A new figure grows by the room that they take, if it may."""
    captions = captions or [""] * len(axes)
    figure, text = axes[0].figure, importlib.import_module("matplotlib.text").Text
    seen = [each for ax in axes for each in ax.findobj(text)]
    fonts.fit(seen)
    words = [*(each.get_text() for each in seen), *map(plain, [*titles, *captions])]
    if any(captions) and any(fonts.BLANK in each for each in words):
        last = max(i for i, caption in enumerate(captions) if caption)
        captions = [*captions[:last], f"{captions[last]} {fonts.NO_FONT}", *captions[last + 1 :]]
    if is_new:
        figure.get_layout_engine().set(w_pad=0.1, h_pad=0.1)
        figure.draw_without_rendering()  # so that the axes are where they will be
    side_by_side = is_new and len({*map(_stack, axes)}) > 1
    more = dict.fromkeys(map(_stack, axes), 0.0)
    for ax, title, caption in zip(axes, titles, captions, strict=True):
        more[_stack(ax)] += _write_title(ax, title, is_new, is_new and not side_by_side)
        if not side_by_side:
            more[_stack(ax)] += _write_below(ax, caption, axes if is_new else [ax])
    added = max(more.values()) if side_by_side else sum(more.values())
    if side_by_side:
        added += _write_below_all(figure, " ".join(filter(None, captions)))
    if is_new:
        if may_grow:
            wide, high = figure.get_size_inches()
            figure.set_size_inches(wide, math.ceil(5 * (high + added)) / 5)  # on all machines alike
        _say_both_grounds(figure)


def _write_below_all(figure: Any, text: str) -> float:
    """A caption below all axes of a figure; the inches that it takes."""
    if not text:
        return 0.0
    note = figure.supxlabel("", x=0.01, ha="left", fontsize=SMALL, linespacing=1.3)
    note.set_gid("dppandas caption")
    _wrap(note, text, 0.98 * float(figure.get_window_extent().width))
    return float(note.get_window_extent().height / figure.dpi) + 0.1


def _stack(ax: Any) -> int:
    """In which stack of axes these are: one of several, side by side."""
    spec = ax.get_subplotspec()
    return 0 if spec is None else int(spec.get_topmost_subplotspec().colspan.start)


def _write_title(ax: Any, text: str, is_new: bool, is_alone: bool) -> float:
    """A title, centred on the axes; the inches that further lines and a legend take."""
    box, page = ax.get_window_extent(), ax.figure.get_window_extent()
    middle = (box.x0 + box.x1) / 2
    room = 2 * min(middle - page.x0, page.x1 - middle) if is_alone else box.width
    weight = {"fontsize": LARGE, "fontweight": "bold"} if is_new else {}
    above = _above(ax)
    title = ax.set_title("", pad=8 + 72 * above, **weight)
    text = " ".join(text.split())
    if not _wrap(title, text, room):
        return above
    return above + _wrap(title, text.replace(", where ", ",\nwhere ", 1), room, most=2)


def _above(ax: Any) -> float:
    """The inches that a legend takes between axes and their title."""
    legend = ax.get_legend()
    if legend is None or legend.get_gid() != "above":
        return 0.0
    return float(legend.get_window_extent().height / ax.figure.dpi) + 0.06


def _write_below(ax: Any, text: str, axes: Any) -> float:
    """A caption, from the left end of the labels of all axes to the right end of its own."""
    if not text:
        return 0.0

    def left(renderer: Any) -> Any:
        boxes = [each.yaxis.get_tightbbox(renderer) for each in axes]
        union = importlib.import_module("matplotlib.transforms").Bbox.union
        return union([ax.get_window_extent(renderer), *filter(None, boxes)])

    note = ax.annotate(
        "", (0, 0), (0, -6), xycoords=(left, ax.xaxis.label), va="top", ha="left",
        textcoords="offset points", fontsize=SMALL, annotation_clip=False, linespacing=1.3,
    )  # fmt: skip
    note.set_gid("dppandas caption")
    _wrap(note, " ".join(text.split()), ax.get_window_extent().x1 - left(None).x0)
    return float(note.get_window_extent().height / ax.figure.dpi) + 0.1


def _wrap(artist: Any, text: str, pixels: float, most: int | None = None) -> float:
    """Fill an artist with a text in lines of some pixels, at most so many for each of its own
    lines; the inches of all lines but one."""
    points = pixels / artist.figure.dpi * 72
    letters = max(20, int(points / (0.5 * artist.get_fontsize())))
    for apart, joined in ((" = ", "\xa0=\xa0"), ("± ", "±\xa0"), (" %", "\xa0%")):
        text = text.replace(apart, joined)
    while True:
        parts = (
            textwrap.wrap(part, letters, max_lines=most, placeholder=" …")
            for part in text.split("\n")
        )
        lines = list(itertools.chain(*parts))
        artist.set_text(plain("\n".join(lines)))
        fonts.fit([artist])
        if letters <= 20 or artist.get_window_extent().width <= pixels:
            return max(0, len(lines) - 1) * float(artist.get_fontsize()) * 1.3 / 72
        letters -= 2


def _say_both_grounds(figure: Any) -> None:
    """IPython puts a white ground behind a transparent figure in which all labels of ticks are
    dark, and a dark one where all are light: so one label, which isn't seen, is white."""
    if figure.get_facecolor()[3]:
        return
    fixed = importlib.import_module("matplotlib.ticker").FixedLocator
    free = [
        axis
        for ax in figure.axes
        for axis in (ax.yaxis, ax.xaxis)
        if not isinstance(axis.get_major_locator(), fixed)
    ]
    for axis in free[:1]:
        tick = axis.get_major_ticks(1)[0]
        unseen = tick.label2 if tick.label1.get_visible() else tick.label1  # on the other side
        unseen.set(visible=True, color="white", alpha=0.0, in_layout=False)
