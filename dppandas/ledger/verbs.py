"""Verbs of questions, and the words that this version has for them.

Those of ledgers of older schemas stand here; statistics have the words of their methods (`know`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


def text_of(said: Mapping[str, Any], name: str, without: str | None = None) -> str:
    """A text of an object of JSON, where it may be left out if there is one without it. Raises what
    reading something else raises."""
    text = said[name] if without is None else said.get(name, without)
    if not isinstance(text, str):
        raise TypeError(f"a {type(text).__name__} in the place of a text")
    return text


#: The fields of a verb that are words.
_WORDS = ("of", "alone", "of_formula")


class Verb(NamedTuple):
    """What is asked, and words for it: before a column, without one, and before formulas or several
    columns where these differ. Without words a question's text is its title."""

    name: str  # in a question's text
    of: str = ""
    alone: str = ""
    of_formula: str = ""
    figures: tuple[Any, ...] = ()  # the verbs of several figures of one release

    def to_json(self) -> dict[str, Any]:
        """Its name, and its words, which are told where another version doesn't know the name."""
        words = {name: said for name in _WORDS if (said := getattr(self, name))}
        figures = [each.to_json() for each in self.figures]
        return {"name": self.name, **words, **({"figures": figures} if figures else {})}

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> Verb:
        """The verb in the words of this version, or else in those that were kept."""
        name, figures = text_of(said, "name"), map(cls.from_json, said.get("figures", ()))
        of, alone, of_formula = (text_of(said, each, "") for each in _WORDS)
        kept = cls(name, of, alone, of_formula, tuple(figures))
        return known(name) or kept


#: The verbs that this version knows, by name.
VERBS: dict[str, Verb] = {
    verb.name: verb
    for verb in (
        Verb("count", "count of values of", "count of rows"),
        Verb("size", "", "count of rows"),
        Verb("sum", "sum of", "sum"),
        Verb("sum of True", "count of True in", "count of True"),
        Verb("mean", "mean", "mean", "mean of"),
        Verb("median", "median", "median", "median of"),
        Verb("min", "minimum of", "minimum"),
        Verb("max", "maximum of", "maximum"),
        Verb("var", "variance of", "variance"),
        Verb("std", "standard deviation of", "standard deviation"),
        Verb("cov", "covariance of", "covariance"),
        Verb("corr", "correlation of", "correlation"),
        Verb("hist", "histogram of", "histogram"),
        Verb("quantile", "quantiles of", "quantiles"),
        Verb("quartiles", "quartiles of", "quartiles"),
        Verb("nunique", "number of distinct values of", "number of distinct values"),
        Verb(
            "nunique with missing",
            "number of distinct values, missing as one, of",
            "number of distinct values, missing as one",
        ),
        Verb("bounds", "suggested bounds of", "suggested bounds"),
        Verb("values", "share of values of", "share of values"),
        Verb("shares", "shares of", "shares"),
        Verb("unattributed_histogram", "counts, largest first, of", "counts, largest first"),
        Verb("value_counts", "count of rows by"),
        Verb("proportions", "share of rows by"),
        Verb("crosstab", "count of rows by"),
    )
}
_QUANTILE = re.compile(r"quantile (\d*\.?\d+(?:e-\d+)?)")


#: What finds verbs elsewhere: those of statistics, which are loaded when one is met.
_FINDERS: list[Callable[[str], Verb | None]] = []


def know(find: Callable[[str], Verb | None]) -> None:
    """Add what finds the verbs of more names."""
    _FINDERS.append(find)


def _verb(name: str) -> Verb | None:
    found = VERBS.get(name)
    if found is None and name.isidentifier():
        return next(filter(None, (find(name) for find in _FINDERS)), None)
    return found


def known(name: str) -> Verb | None:
    """A verb with the words of this version; None for one that it doesn't know. Figures of one
    release are in a row, and quantiles name their shares."""
    if name.startswith("quantile "):
        alone = _QUANTILE.fullmatch(name)
        return quantile(alone[1]) if alone else quantiles(name) if "," in name else None
    each = [_verb(figure.strip()) for figure in name.split(", ")]
    found = [verb for verb in each if verb is not None]
    if len(found) < len(each):
        return None
    return found[0] if len(found) == 1 else compound(found)


def compound(figures: list[Verb]) -> Verb:
    """The verb of several figures of one release."""
    words = ["count" if each.name == "count" else each.alone for each in figures]
    said = " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
    return Verb(", ".join(each.name for each in figures), f"{said} of", said, "", tuple(figures))


def quantile(share: str) -> Verb:
    """The verb of one quantile."""
    said = f"{100 * float(share):.4g} % quantile"
    return Verb(f"quantile {share}", f"{said} of", said)


def quantiles(name: str) -> Verb:
    """The verb of several quantiles."""
    return VERBS["quantile"]._replace(name=name)
