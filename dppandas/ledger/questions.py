"""A query's text as a title in words: "Mean income by city", not "mean of income by city (6 keys)".

The text is public and written by `Query`: what is asked, of which columns, by which keys, and of
which rows. Only its words change. A text that isn't of this form stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

#: What is asked, with words for it before a column, and without one.
WORDS = {
    "count": ("count of values of", "count of rows"),
    "size": ("", "count of rows"),
    "sum": ("sum of", "sum"),
    "sum of True": ("count of True in", "count of True"),
    "mean": ("mean", "mean"),
    "median": ("median", "median"),
    "min": ("minimum of", "minimum"),
    "max": ("maximum of", "maximum"),
    "var": ("variance of", "variance"),
    "std": ("standard deviation of", "standard deviation"),
    "cov": ("covariance of", "covariance"),
    "corr": ("correlation of", "correlation"),
    "hist": ("histogram of", "histogram"),
    "quantile": ("quantiles of", "quantiles"),
    "quartiles": ("quartiles of", "quartiles"),
    "nunique": ("number of distinct values of", "number of distinct values"),
    "nunique with missing": (
        "number of distinct values, missing as one, of",
        "number of distinct values, missing as one",
    ),
    "bounds": ("suggested bounds of", "suggested bounds"),
    "values": ("share of values of", "share of values"),
    "unattributed_histogram": ("counts, largest first, of", "counts, largest first"),
}
#: What counts the rows of each key: the columns are the keys.
BY_KEY = {"value_counts": "count of rows by", "proportions": "share of rows by"}
#: What is left to the caption: numbers of keys and bins, bounds of one column, norms.
_DETAILS = re.compile(
    r" \((?:\d+ keys?|keys found|step [^()]*|norm (?:\([^()]*\)|[^()]*)|\d+ bins? in [^()]*)\)"
    r"| in \([^()]*\)"
)
#: What the ledger keeps of a threshold: in a mechanism's name, and as an error.
_THRESHOLD = re.compile(r"told from ([\d,]+)( units| rows)?")
_RELEASED = {
    "": "released if its noisy count is at least {}",
    " units": "released if at least {} units have it",
    " rows": "released from a distance of {} rows",
}
_QUANTILE = re.compile(r"quantile ([\d.]+)")


@dataclass(frozen=True)
class Question:
    """The parts of a query's text."""

    asked: tuple[str, ...]  # "count", "mean", "std"
    of: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    more: str = ""  # "weighted by hours"
    where: str = ""
    is_shares: bool = False

    def __str__(self) -> str:
        said = self._asked()
        if self.more:
            said = f"{said}, {self.more}"
        if self.where:
            said = f"{said}, where {self.where}"
        return said[:1].upper() + said[1:]

    @property
    def _is_formal(self) -> bool:
        """Whether "mean of": for several columns, and for formulas."""
        verb = self.asked[0]
        is_one = len(self.of) == 1 and _is_name(self.of[0])
        return verb in ("mean", "median") and bool(self.of) and not is_one

    def _asked(self) -> str:
        verb, by = self.asked[0], self.by
        if verb in BY_KEY:
            return f"{BY_KEY[verb]} {listed((*self.of, *by))}"
        if verb == "crosstab":
            what = "share" if self.is_shares else "count"
            return f"{what} of rows by {listed((*self.of, *by))}"
        of = f" {listed(self.of)}" if self.of else ""
        if len(self.asked) > 1:
            words = ["count" if each == "count" else _word(each, False) for each in self.asked]
            said = f"{listed(words)}{' of' if of else ''}{of}"
        else:
            said = f"{_word(verb, bool(of))}{' of' if self._is_formal else ''}{of}"
        return f"{said} by {listed(by)}" if by else said


def threshold_in_words(stored: str) -> str:
    """The name of a mechanism, or an error, as people read it: what is stored stays as it is."""
    noisy = "distance" if stored.startswith("propose-test-release") else "count"
    return _THRESHOLD.sub(
        lambda match: _RELEASED[match[2] or ""].format(match[1]).replace("count", noisy), stored
    )


def in_words(text: str) -> str:
    """A query's text as a title."""
    asked = question(text)
    return text[:1].upper() + text[1:] if asked is None else str(asked)


def question(text: str) -> Question | None:
    """The parts of a query's text; None if it isn't of the usual form."""
    head, _, where = text.partition(" where ")
    head, weighted, weights = _DETAILS.sub("", head).partition(", weighted by ")
    is_shares = head.startswith("shares: ")
    head = head.removeprefix("shares: ").removeprefix("pivot table: ")
    head, has_keys, keys = _last(head, " by ")
    at_most = re.search(r" \(at most (\d+) a row\)", head)
    head = head.replace(at_most.group(), "") if at_most else head
    verb, _, of = head.partition(" of ")
    if (verb, of[:8]) == ("sum", "True of "):
        verb, of = "sum of True", of[8:]
    complete = of.startswith("complete rows of ")
    asked = tuple(_verbs(verb))
    if not asked or not all(_is_known(each) for each in asked):
        return None
    more = [
        f"weighted by {weights}" if weighted else "",
        "complete rows" if complete else "",
        f"at most {at_most[1]} a row" if at_most else "",
    ]
    return Question(
        asked, _columns(of.removeprefix("complete rows of ")), _columns(keys) if has_keys else (),
        ", ".join(filter(None, more)), where, is_shares,
    )  # fmt: skip


def about(text: str, verb: str | None = None, of: Sequence[str] | None = None) -> str:
    """The title of a part of an answer: one figure of several, or one column."""
    asked = question(text)
    if asked is None:
        return in_words(text)
    if verb is not None and _is_known(verb):
        asked = replace(asked, asked=(verb,))
    if of is not None and asked.of and asked.asked[0] not in (*BY_KEY, "crosstab"):
        asked = replace(asked, of=tuple(of))
    return str(asked)


def listed(names: Sequence[str]) -> str:
    """Names in a row: "a, b and c"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def _is_name(text: str) -> bool:
    return not any(f" {sign} " in f" {text} " for sign in "+-*/%<>") and not {*text} & {*"()="}


def _last(text: str, by: str) -> tuple[str, str, str]:
    """A text cut at the last " by " outside of brackets."""
    start, cut, end = text.rpartition(by)
    if not cut or end.count(")") > end.count("("):
        return text, "", ""
    return start, cut, end


def _verbs(verb: str) -> list[str]:
    """What is asked: figures of one release are in a row, and quantiles name their shares."""
    if verb.startswith("quantile "):
        return [verb if "," not in verb else "quantile"]
    return [each.strip() for each in verb.split(", ")]


def _is_known(verb: str) -> bool:
    return verb in WORDS or verb in BY_KEY or verb == "crosstab" or bool(_QUANTILE.fullmatch(verb))


def _word(verb: str, has_columns: bool) -> str:
    share = _QUANTILE.fullmatch(verb)
    if share:
        return f"{100 * float(share[1]):.4g} % quantile{' of' if has_columns else ''}"
    return WORDS[verb][0 if has_columns else 1]


def _columns(text: str) -> tuple[str, ...]:
    """The columns of a list. A computed column that has a name goes by it."""
    name, named, _ = text.partition(" = ")
    if named and not set(name) & set("(),"):
        return (name,)
    depth, found = 0, [""]
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and not depth:
            found.append("")
        else:
            found[-1] += letter
    return tuple(filter(None, (each.strip() for each in found)))
