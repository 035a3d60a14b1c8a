"""Questions of ledgers of schema 4 and older, which kept a sentence alone.

The sentence is shown as it was kept. Its title is read from it, as far as it is of the usual form;
which columns it meant can't be known for sure. Newer schemas keep what is asked as data.
"""

from __future__ import annotations

import re
from functools import lru_cache

from .questions import Operand, Question, Verb

#: The verbs of those sentences, with words for them.
VERBS = {
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
#: What a title leaves out: numbers of keys and bins, bounds of one column, norms.
_DETAILS = re.compile(
    r" \((?:\d+ keys?|keys found|step [^()]*|norm (?:\([^()]*\)|[^()]*)|\d+ bins? in [^()]*)\)"
    r"| in \([^()]*\)"
)
_QUANTILE = re.compile(r"quantile (\d*\.?\d+(?:e-\d+)?)")


@lru_cache(maxsize=1024)
def earlier(text: str) -> Question:
    """The question of a sentence, which it keeps."""
    head, _, where = text.partition(" where ")
    head, _, weights = _DETAILS.sub("", head).partition(", weighted by ")
    share = "share of rows by" if head.startswith("shares: ") else ""
    head = head.removeprefix("shares: ").removeprefix("pivot table: ")
    head, keys = _last(head)
    at_most = re.search(r" \(at most (\d+) a row\)", head)
    head = head.replace(at_most.group(), "") if at_most else head
    said, _, of = head.partition(" of ")
    if (said, of[:8]) == ("sum", "True of "):
        said, of = "sum of True", of[8:]
    verb = _verb(said)
    if verb is None:
        return Question(Verb(text), kept=text)
    complete = of.startswith("complete rows of ")
    given = {"weights": weights, "complete": "yes" * complete, "at_most": at_most and at_most[1]}
    return Question(
        verb._replace(of=share) if share else verb,
        tuple(map(_operand, _columns(of.removeprefix("complete rows of ")))),
        tuple(map(Operand, _columns(keys))), where,
        tuple((name, value) for name, value in given.items() if value), kept=text,
    )  # fmt: skip


def compound(figures: list[Verb]) -> Verb:
    """The verb of several figures of one release."""
    words = ["count" if each.name == "count" else each.alone for each in figures]
    said = " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
    return Verb(", ".join(each.name for each in figures), f"{said} of", said, "", tuple(figures))


def quantile(share: str) -> Verb:
    """The verb of one quantile."""
    said = f"{100 * float(share):.4g} % quantile"
    return Verb(f"quantile {share}", f"{said} of", said)


def _verb(said: str) -> Verb | None:
    """What is asked: figures of one release are in a row, and quantiles name their shares."""
    if said.startswith("quantile "):
        alone = _QUANTILE.fullmatch(said)
        return quantile(alone[1]) if alone else VERBS["quantile"] if "," in said else None
    each = [VERBS.get(part.strip()) for part in said.split(", ")]
    known = [verb for verb in each if verb is not None]
    if len(known) < len(each):
        return None
    return known[0] if len(known) == 1 else compound(known)


def _operand(text: str) -> Operand:
    is_name = not any(f" {sign} " in f" {text} " for sign in "+-*/%<>") and not {*text} & {*"()="}
    return Operand(text) if is_name else Operand("", text, is_formula=True)


def _last(text: str) -> tuple[str, str]:
    """A text cut at the last " by " outside of brackets."""
    start, cut, end = text.rpartition(" by ")
    return (text, "") if not cut or end.count(")") > end.count("(") else (start, end)


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
