"""What is asked, as data, and the sentences that are made of it when it is shown.

A question carries the words of its verb, so a ledger can tell it without a list of statistics. No
sentence is read back: a column may be called whatever people call it. (Ledgers of older schemas
kept the sentence alone; `earlier_questions` reads those.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from ..dataclasses import dataclass, found_once, replace
from ..rows.figures import format_fact
from .verbs import Verb, text_of

#: Longer expressions of columns with a name are cut in a question's text; `Question.whole` has all.
LONGEST = 60
#: How many columns a text names; of more, the first ones and their number.
MOST_LISTED = 8
#: The longest text of one expression, or of one option, that a ledger keeps whole.
MOST_KEPT = 2000

#: Where options stand in the text: before the verb, after it, after the columns, or at the end.
_BEFORE = {"share": "shares: ", "pivot": "pivot table: ", "select": "{} of "}
_OF_VERB = {
    "step": " (step {})", "at_most": " (at most {} a row)", "trim": " ({} rows at each end)",
    "distinct": " ({})", "interval": " with {}", "way": " by {}",
}  # fmt: skip
_OF_COLUMNS = {"outside": " below, inside and above {}", "bins": " ({})"}
_AT_END = {
    "cells": " ({})", "limit": ", {}", "weights": ", weighted by {}", "weight_bounds": " in {}",
    "norm": " (norm {})",
}  # fmt: skip
#: Options that are public facts: they are kept as they always were, and shown as people read them.
_FACTS = {"step", "outside", "bins", "weight_bounds", "bounds"}
#: An option that tells apart rows whose text doesn't.
OF_ROWS = "digest of rows"
#: Options that are the same for all questions of a key.
_OF_KEY = {
    "keys", "columns made by", "digest", OF_ROWS, "public tables", "each row becomes", "part", "of",
}  # fmt: skip
#: Options that details don't list.
_BESIDE = {*_BEFORE, *_OF_VERB, *_OF_COLUMNS, *_AT_END, "complete"}


class Operand(NamedTuple):
    """A column that is asked about, or by which rows are grouped. Its parts are texts, or objects
    that become texts when they are shown or kept."""

    name: Any  # as a query would write it; "" for none
    made: Any = ""  # from what it is computed; "" for a column of the source under its own name
    bounds: Any = ""
    is_formula: bool = False  # whether it is more than a column of the source

    @property
    def text(self) -> str:
        """What it is, its expression rather than its name if that is short."""
        made, name = str(self.made), str(self.name)
        if len(made) > LONGEST and name:
            return f"{name} = {made[:LONGEST]}…"
        return made or name

    @property
    def short(self) -> str:
        """Its expression, or its name if that is shorter to read."""
        made, name = str(self.made), str(self.name)
        return made if made and not (name and len(made) > LONGEST) else name

    @property
    def definition(self) -> str:
        """Its name with all that belongs to it; "" if that is nothing."""
        made, bounds = str(self.made), str(self.bounds)
        named = str(self.name) or made
        is_said = made if made and made != named else ""
        found = f"{named} = {is_said}" if is_said else named if bounds else ""
        return f"{found} in {format_fact(bounds)}" if bounds else found

    def to_json(self) -> dict[str, Any]:
        """The column in the types of JSON, for `from_json`."""
        texts = {"name": self.name, "expression": self.made, "bounds": self.bounds}
        said: dict[str, Any] = {
            name: kept for name, each in texts.items() if (kept := _bounded(each))
        }
        return {**said, "formula": True} if self.is_formula else said

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> Operand:
        """The column that `to_json` was called on."""
        name, made, bounds = (text_of(said, each, "") for each in ("name", "expression", "bounds"))
        return cls(name, made, bounds, bool(said.get("formula")))


@dataclass(frozen=True)
class Question:
    """What is asked: a verb, of columns, by keys, of some rows, with options by name."""

    verb: Verb
    columns: tuple[Operand, ...] = ()
    keys: tuple[Operand, ...] = ()
    where: Any = ""
    options: tuple[tuple[str, Any], ...] = ()
    is_brief: bool = False  # whether the text has the names of columns only
    kept: str = ""  # the text, of an older ledger that kept nothing else

    def option(self, name: str) -> str:
        """An option in words; "" if it isn't given."""
        return next((str(said) for key, said in self.options if key == name), "")

    def beside(self, *options: tuple[str, Any]) -> Question:
        """This question with more options."""
        return replace(self, options=(*self.options, *options)) if options else self

    def is_like(self, other: Question) -> bool:
        """Whether it asks the same as another question with its key. Some ask for other figures of
        the same sums, such as variances and deviations. Of older ledgers the text is known alone.
        """
        is_known = not (self.kept or other.kept)
        return self._kept_text == other._kept_text and not (is_known and self._free != other._free)

    @property
    def _free(self) -> list[tuple[str, str]]:
        """The options that its key leaves open."""
        texts = [(name, str(value)) for name, value in self.options if name not in _OF_KEY]
        return sorted(each for each in texts if each[1])

    # sentences

    def __str__(self) -> str:
        return self._asked

    @found_once
    def _asked(self) -> str:
        """The question without its rows."""
        return self._sentence(format_fact)

    @found_once
    def text(self) -> str:
        """The question in one line: expressions, columns and keys are shortened."""
        return self._asked if self.kept else _with_rows(self._asked, self.where, " where ")

    @found_once
    def _kept_text(self) -> str:
        """`text` with public facts as ledgers keep them, whatever they are shown as."""
        return self.kept or _with_rows(self._sentence(str), self.where, " where ")

    def _sentence(self, write: Callable[[object], str]) -> str:
        """The question without its rows, with public facts as they are written."""
        if self.kept:
            return self.kept
        columns = self._columns_text(write)
        if not self.options and not self.keys:
            return f"{self.verb.name} of {columns}" if columns else self.verb.name
        of = f" of {'complete rows of ' * bool(self.option('complete'))}{columns}"
        before, of_verb, of_columns, at_end = (
            self._said(places, write) for places in (_BEFORE, _OF_VERB, _OF_COLUMNS, _AT_END)
        )
        by = f" by {_row(self.keys)}" if self.keys else ""
        return "".join([
            before, self.verb.name, of_verb, of if columns else "", of_columns, by, at_end
        ])  # fmt: skip

    @property
    def title(self) -> str:
        """The question in a few words: "Mean income by city"."""
        if self.option("select") or not (self.verb.of or self.verb.alone):
            return _capital(self.text)
        more = [
            f"weighted by {weights}" if (weights := self.option("weights")) else "",
            "complete rows" if self.option("complete") else "",
            f"at most {most} a row" if (most := self.option("at_most")) else "",
            self.option("limit"),
        ]
        said = ", ".join(filter(None, [self._in_words(), *more]))
        return _capital(_with_rows(said, self.where, ", where "))

    @found_once
    def details(self) -> str:
        """What the text leaves out: expressions, bounds and options."""
        shown = self._columns_text(format_fact)
        said = [
            each.definition
            for side in (self.columns, self.keys)
            for each in side
            if each.definition and (self.is_brief or side is self.keys or "…" in each.text)
        ]
        if self.is_brief and len(self.columns) > MOST_LISTED:
            names = ", ".join(str(each.name) for each in self.columns)
            said = [f"columns {names}", *said] if names != shown else said
        options = ((name, str(value)) for name, value in self.options if name not in _BESIDE)
        told = ((name, format_fact(value) if name in _FACTS else value) for name, value in options)
        said += [f"{name} {value}" for name, value in told if value]
        return "; ".join(said)

    @property
    def whole(self) -> str:
        """The question with all that it depends on. Unlike questions have unlike words."""
        return "; ".join(filter(None, [self.text, self.details]))

    @property
    def of_any_rows(self) -> str:
        """`whole`, without the rows that it is asked of."""
        options = tuple(each for each in self.options if each[0] != OF_ROWS)
        return "; ".join(filter(None, [str(self), replace(self, options=options).details]))

    def about(self, figure: str = "", columns: Sequence[str] | None = None) -> Question:
        """The question about a part of an answer: one figure of several, or some columns."""
        verb = next((each for each in self.verb.figures if each.name == figure), self.verb)
        if columns is None or not self.columns or self.verb.of.endswith(" by"):
            return replace(self, verb=verb)
        named = tuple(map(Operand, columns))
        return replace(self, verb=verb, columns=named, is_brief=True)

    def _said(self, places: Mapping[str, str], write: Callable[[object], str]) -> str:
        """The options that stand at a place of the text."""
        found = (
            (places[name], write(said) if name in _FACTS else said)
            for name, said in self.options
            if name in places
        )
        return "".join(form.format(said) for form, said in found)

    def _columns_text(self, write: Callable[[object], str]) -> str:
        if self.is_brief:
            return _names_of(self.columns)
        return " and ".join(
            _with_rows(each.text, write(each.bounds), " in ") for each in self.columns
        )

    def _in_words(self) -> str:
        """The title, without what comes after a comma."""
        verb = self.verb
        columns = _few(self.columns) if self.is_brief else [each.short for each in self.columns]
        if verb.of.endswith(" by"):
            of = verb.of.replace("count", "share") if self.option("share") else verb.of
            return f"{of} {listed([*columns, *(each.short for each in self.keys)])}"
        is_formal = len(self.columns) > 1 or any(
            each.is_formula and each.short != str(each.name)
            for each in self.columns
            if not self.is_brief
        )
        before = (verb.of_formula if is_formal else "") or verb.of
        said = f"{before} {listed(columns)}" if columns else verb.alone
        if out := self.option("outside"):
            said += f" below, inside and above {format_fact(out)}"
        by = [str(each.name) or each.short for each in self.keys]
        return f"{said} by {listed(by)}" if by else said

    # as data

    def to_json(self) -> dict[str, Any]:
        """The question in the types of JSON, for `from_json`; every part is a text."""
        if self.kept:
            return {"kept": self.kept, **replace(self, kept="").to_json()}
        said: dict[str, Any] = {"verb": self.verb.to_json()}
        for name in ("columns", "keys"):
            if operands := getattr(self, name):
                said[name] = [each.to_json() for each in operands]
        if where := _bounded(self.where):
            said["where"] = where
        options = ((name, _bounded(value)) for name, value in self.options)
        if kept := [{"name": name, "text": text} for name, text in options if text]:
            said["options"] = kept  # in order, which sorted names of an object would lose
        return {**said, "brief": True} if self.is_brief else said

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> Question:
        """The question that `to_json` was called on, in the words of this version where it knows
        the verb. Raises what reading something else raises."""
        columns, keys = (
            tuple(map(Operand.from_json, said.get(name, ()))) for name in ("columns", "keys")
        )
        options = [
            (text_of(each, "name"), text_of(each, "text")) for each in said.get("options", ())
        ]
        where, kept = (text_of(said, name, "") for name in ("where", "kept"))
        more = where, tuple(options), bool(said.get("brief")), kept
        return cls(Verb.from_json(said["verb"]), columns, keys, *more)


def _bounded(part: Any) -> str:
    """A part as a text; of a longer one the beginning, and a digest that tells it from others."""
    text = str(part)
    return text if len(text) <= MOST_KEPT else f"{text[:MOST_KEPT]}… ({digest(text)})"


def digest(text: str) -> str:
    """A few letters that tell long texts apart."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=5).hexdigest()


def _names_of(columns: Sequence[Operand]) -> str:
    return ", ".join(_few(columns))


def _few(columns: Sequence[Operand]) -> list[str]:
    """The names of columns; of many the first ones, and their number."""
    if len(columns) <= MOST_LISTED:
        return [str(each.name) for each in columns]
    first = [str(each.name) for each in columns[: MOST_LISTED - 1]]
    return [*first, f"… ({len(columns)} columns)"]


def _row(keys: Sequence[Operand]) -> str:
    return ", ".join(str(each.name) for each in keys)


def _with_rows(said: str, where: Any, by: str) -> str:
    rows = str(where)
    return f"{said}{by}{rows}" if rows else said


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def listed(names: Sequence[str]) -> str:
    """Names in a row: "a, b and c"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
