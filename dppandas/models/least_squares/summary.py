"""The summary of a regression, as statsmodels shows one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from ...dataclasses import dataclass
from ...rows import html_tables, latex
from ...rows.figures import format_error, format_interval, format_label, written
from ...rows.html_tables import LABEL, NUMBER, Column, Table
from ...rows.latex import escaped

TITLE = "OLS Regression Results"


@dataclass(frozen=True, repr=False)
class Summary:
    """A summary as text, as HTML and for LaTeX: facts in pairs, a table with a head above its
    head, and sentences."""

    facts: tuple[tuple[str, str], ...]
    over: tuple[tuple[str, int], ...]  # what several columns are of, and how many
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]

    def as_text(self) -> str:
        """The summary in a font of one width."""
        table = [self.head, *self.rows]
        wide = [max(map(len, column)) for column in zip(*table, strict=True)]
        over, at = " " * wide[0], 1
        for said, count in self.over:
            width = sum(wide[at : at + count]) + 2 * (count - 1)
            extra = max(0, len(said) - width)
            wide[at] += extra
            over += "  " + said.center(width + extra, "-" if said else " ")
            at += count
        lines = [_line(each, wide) for each in table]
        width = max(len(lines[0]), 60)
        half = width // 2 - 1
        pairs = [f"{name}: {value.rjust(half - len(name) - 2)}" for name, value in self.facts]
        left, right = pairs[::2], [*pairs[1::2], ""]
        beside = [f"{a.ljust(half)}  {b}".rstrip() for a, b in zip(left, right, strict=False)]
        ruler = "=" * width
        found = [TITLE.center(width).rstrip(), ruler, *beside, ruler, over.rstrip(), lines[0]]
        return "\n".join([*found, "-" * width, *lines[1:], ruler, *self.notes])

    def as_html(self) -> str:
        """The summary as a table."""
        facts = Table([Column("", LABEL), Column()], self.facts)
        heads, *rows = map(_with_intervals, [self.head, *self.rows])
        columns = [Column("", LABEL), *[Column(head, NUMBER) for head in heads[1:]]]
        over = [("", 1), self.over[0], *((said, wide - 1) for said, wide in self.over[1:])]
        gap = '<div style="height:12px"></div>'
        return html_tables.card(
            "ols", html_tables.title(TITLE), facts.html(), gap,
            Table(columns, rows, over).html(), html_tables.foot(" ".join(self.notes)),
        )  # fmt: skip

    def as_latex(self) -> str:
        """The summary for LaTeX with the package booktabs, as statsmodels names it."""
        pairs = ([f"{name}:", value] for name, value in self.facts)
        facts = [[*map(escaped, (*a, *b))] for a, b in zip(pairs, pairs, strict=True)]
        over = [f"\\multicolumn{{{wide}}}{{c}}{{{escaped(said)}}}" for said, wide in self.over]
        heads, rows = ([[*map(escaped, row)] for row in rows] for rows in ([self.head], self.rows))
        return "\n".join([
            r"% \usepackage{booktabs}", r"\begin{center}", escaped(TITLE), "",
            latex.tabular("lrlr", [], facts), "",
            latex.tabular("l" + "r" * (len(self.head) - 1), [over, *heads], rows),
            r"\end{center}", escaped(" ".join(self.notes)),
        ])  # fmt: skip

    def __str__(self) -> str:
        return self.as_text()

    def __repr__(self) -> str:
        return self.as_text()

    def _repr_html_(self) -> str:
        return self.as_html()


def _with_intervals(row: Sequence[str]) -> list[str]:
    """The two ends of each interval in one cell."""
    name, coefficient, low, high, *population = row
    middle = " to " if not low.startswith("[") else ", "
    found = [name, coefficient, f"{low}{middle}{high}"]
    if population:
        *numbers, low, high = population
        found += [*numbers, f"{low}{middle}{high}"]
    return found


def _line(values: tuple[str, ...], wide: list[int]) -> str:
    name, *rest = (value.rjust(width) for value, width in zip(values, wide, strict=True))
    return "  ".join([values[0].ljust(len(name)), *rest])


def summary_of(results: Any, alpha: float) -> Summary:
    """The summary of `OLSResults`, with intervals at 1 - alpha."""
    model, first = results.model, results.releases_[0]
    ends = (f"[{alpha / 2:.3g}", f"{1 - alpha / 2:.3g}]")
    over, head = [("", 1), ("these rows", 2)], ["", "coef", *ends]
    columns = [results.params, *_sides(results, alpha, "rows")]
    if results.has_population:
        over.append(("population", 5))
        head += ["std err", "t", "P>|t|", *ends]
        columns += [results.bse, results.tvalues, results.pvalues]
        columns += _sides(results, alpha, "population")
    rows = tuple(
        (format_label(name), *_cells([column[name] for column in columns]))
        for name in model.exog_names
    )
    facts = (
        ("Dep. Variable", format_label(model.endog_names)),
        ("R-squared", "unknown" if math.isnan(results.rsquared) else f"{results.rsquared:.3f}"),
        ("Privacy loss", results.loss.in_short),
        ("No. Observations", f"{results.nobs:,.0f}, noisy"),
        ("Unit", first.unit),
        ("Df Residuals", f"{results.df_resid:,.0f}, noisy"),
        ("Noise", first.mechanism),
        ("Covariance Type", results.cov_type),
    )
    return Summary(facts, tuple(over), tuple(head), rows, tuple(_notes(results, alpha)))


def _sides(results: Any, alpha: float, of: str) -> list[pd.Series]:
    found = results.conf_int(alpha, of=of)
    return [found[0], found[1]]


def _notes(results: Any, alpha: float) -> list[str]:
    """What the numbers mean."""
    share = f"{1 - alpha:.3g}"
    said = [
        "These rows: the least squares of the rows within their bounds lies in all intervals",
        f"together, with probability {share} over the noise; whatever the rows are.",
    ]
    if results.noise_dominated:
        said += [
            "Noise leaves the coefficients open: their intervals are all of the line. Give the",
            "fit a larger loss, more rows, fewer regressors or narrower bounds.",
        ]
    if not results.has_population:
        return [*said, "Nothing is said of a population, as a unit may have several rows."]
    return [
        *said,
        "Population: approximate, each interval by itself, for units that are a random sample;",
        "the standard errors count sample and noise.",
    ]


def _cells(numbers: Sequence[float]) -> Iterator[str]:
    """A coefficient to its error, its interval, and what is said of a population, if anything."""
    coefficient, low, high, *population = numbers
    yield written(coefficient, (high - low) / 2, low, high).value
    yield from _interval(low, high)
    if population:
        deviation, t, p, *ends = population
        yield from (format_error(deviation), f"{t:z,.3f}", f"{p:.3f}", *_interval(*ends))


def _interval(low: float, high: float) -> tuple[str, str]:
    """The ends of an interval, rounded outwards."""
    if math.isinf(high - low):
        return "-inf", "inf"
    ends = format_interval(low, high).split(" to ")
    return ends[0], ends[-1]
