"""Questions of ledgers of schema 4 and older, which kept a sentence alone.

The sentence is shown as it was kept. Its title is read from it, as far as it is of the usual form;
which columns it meant can't be known for sure. Newer schemas keep what is asked as data.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from .questions import Operand, Question
from .verbs import Verb, known

#: What a title leaves out: numbers of keys and bins, bounds of one column, norms.
_DETAILS = re.compile(
    r" \((?:\d+ keys?|keys found|step [^()]*|norm (?:\([^()]*\)|[^()]*)|\d+ bins? in [^()]*)\)"
    r"| in \([^()]*\)"
)


#: What those ledgers kept of a threshold: in a mechanism's name, and as an error.
_THRESHOLD = re.compile(r", told from ([\d,]+)")
_ERRORS = {
    re.compile(r"told from ([\d,]+) units"): r"released if at least \1 units have it",
    re.compile(r"told from ([\d,]+) rows"): r"released from a distance of \1 rows",
}


def charge(body: dict[str, Any]) -> dict[str, Any]:
    """The body of a charge of those ledgers, with data in the place of sentences that are read."""
    said = {**body, "question": earlier(body["query"]).to_json(), "error": error(body["error"])}
    if found := _THRESHOLD.search(body["mechanism"]):
        of = "distance" if body["mechanism"].startswith("propose-test-release") else "count"
        said["mechanism"] = _THRESHOLD.sub("", body["mechanism"])
        said["threshold"] = {"least": int(found[1].replace(",", "")), "of": of}
    if "program" in body:
        name, _, number = body["program"].rpartition(" ")
        said["program"] = {"name": name, "number": int(number)}
    return said


def error(stated: str) -> str:
    """An error of those ledgers as people read it."""
    for told, words in _ERRORS.items():
        stated = told.sub(words, stated)
    return stated


def mechanism_in_words(name: str) -> str:
    """The name of a mechanism in records of those versions as people read it."""
    of = "distance" if name.startswith("propose-test-release") else "count"
    return _THRESHOLD.sub(rf", released if its noisy {of} is at least \1", name)


def part(partition: str, key: str) -> tuple[str, str]:
    """The columns and the label of a part, of which those ledgers kept two names."""
    return partition.rpartition(" ")[0], key.partition(": ")[2]


@lru_cache(maxsize=1024)
def earlier(text: str) -> Question:
    """The question of a sentence, which it keeps."""
    head, _, where = text.partition(" where ")
    head, _, weights = _DETAILS.sub("", head).partition(", weighted by ")
    share = "yes" * head.startswith("shares: ")
    head = head.removeprefix("shares: ").removeprefix("pivot table: ")
    head, keys = _last(head)
    at_most = re.search(r" \(at most (\d+) a row\)", head)
    head = head.replace(at_most.group(), "") if at_most else head
    said, _, of = head.partition(" of ")
    if (said, of[:8]) == ("sum", "True of "):
        said, of = "sum of True", of[8:]
    verb = known(said)
    if verb is None:
        return Question(Verb(text), kept=text)
    complete = of.startswith("complete rows of ")
    given = {
        "share": share,
        "weights": weights,
        "complete": "yes" * complete,
        "at_most": at_most and at_most[1],
    }
    return Question(
        verb,
        tuple(map(_operand, _columns(of.removeprefix("complete rows of ")))),
        tuple(map(Operand, _columns(keys))), where,
        tuple((name, value) for name, value in given.items() if value), kept=text,
    )  # fmt: skip


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
