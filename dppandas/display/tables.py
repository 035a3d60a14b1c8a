"""An answer as a table for people, reports and papers: what its card shows, in other markup."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd

from ..errors import RecordError, hide_internals
from ..release.answers.intervals import intervals
from ..release.answers.results import shown_in
from ..rows import latex
from ..rows.latex import escaped
from .cards import markup, plain
from .cards.card import KIND, POPULATION, SIGNS, Card, Cell, card_of, card_of_number
from .labels import text_of

#: What a column of errors is called by their unit.
ERRORS = {"ranks": "error in ranks", "utility": "gap"}
_NUMBER = r"-?[\d,]+(?:\.\d+)?(?:e[+-]\d+)?"
_NUMBERS = re.compile(_NUMBER)
_BESIDE = re.compile(rf"± ({_NUMBER})([^,]*)(.*)", re.DOTALL)
_SETUP = (
    r"\sisetup{separate-uncertainty, group-digits = integer, group-minimum-digits = 4, "
    r"group-separator = {,}}"
)


class AnswerTable:
    """The table of an answer: each number to two digits of its error, and the error beside it."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer
        self._card()  # what isn't an answer is refused at once

    def __repr__(self) -> str:
        return plain.text(self._card())

    def _repr_html_(self) -> str:
        return markup.html(self._card())

    def to_html(self) -> str:
        """The card as HTML with inline styles, with all rows."""
        return markup.html(self._whole)

    def to_markdown(self) -> str:
        """A table in GitHub's Markdown, with all rows, and a line that says how errors hold."""
        card = self._whole
        heads, rows = _cells(card, lambda cell: [f"{cell.value} {cell.note}".rstrip()])
        lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
        escaped = (map(_in_markdown, line) for line in lines)
        return "\n".join([*(f"| {' | '.join(line)} |" for line in escaped), "", _foot(card)])

    def to_latex(self) -> str:
        """A table for LaTeX with the packages siunitx and booktabs, with all rows."""
        card = self._whole
        heads, rows = _cells(card, lambda cell: [_in_latex(cell)])
        table = latex.tabular(
            "l" + "r" * (len(heads) - 1), [list(map(escaped, heads))],
            ([escaped(label), *cells] for label, *cells in rows),
        )  # fmt: skip
        packages = r"% \usepackage{booktabs, siunitx}"
        return f"{packages}\n{{{_SETUP}\n{table}}}\n% {_foot(card)}"

    def to_frame(self) -> pd.DataFrame:
        """All numbers as they were released, each column with one of its errors beside it: to
        save by pandas' ``to_csv`` and ``to_excel``."""
        answer = self._answer
        found: Any
        try:
            shown = shown_in(answer)
        except RecordError:  # of what was derived, `intervals` knows the errors
            found = intervals(answer)
            values, errors, units = (found[name].tolist() for name in ("value", "error", "unit"))
            index = found.index
        else:
            found = shown.figures()
            values, errors, units = found.values, found.errors, found.units
            index = pd.Index([str(getattr(shown.record, "query", ""))])
        if isinstance(answer, pd.Series | pd.DataFrame):
            index = answer.index
        elif isinstance(answer, pd.Index):
            index = pd.RangeIndex(len(answer))
        across = list(answer.columns) if isinstance(answer, pd.DataFrame) else [_name(answer)]
        made: dict[Any, Any] = {}
        for i, name in enumerate(across):
            kinds = {ERRORS.get(unit, "error") for unit in units[i :: len(across)] if unit}
            kind = kinds.pop() if len(kinds) == 1 else "error"
            made[name] = values[i :: len(across)]
            made[f"{text_of(name)} {kind}" if len(across) > 1 else kind] = errors[i :: len(across)]
        return pd.DataFrame(made, index=index)

    def _card(self) -> Card:
        return card_of(self._answer) or card_of_number(self._answer)

    @property
    def _whole(self) -> Card:
        with pd.option_context(
            "display.max_rows", None, "display.max_columns", None, "display.max_colwidth", None
        ):
            return self._card()


@hide_internals
def table(answer: Any) -> AnswerTable:
    """An answer as a table: what its card shows, also where there are no cards, and in the markup
    of reports and papers.

    answer : a released or derived number, label, Series or DataFrame.

    It prints as the card of notebooks, and has ``to_markdown()``, ``to_latex()`` (for the packages
    siunitx and booktabs) and ``to_html()``. ``to_frame()`` has two columns for each of an answer's,
    the numbers as released and their errors: ``dp.table(answer).to_frame().to_excel("a.xlsx")``.
    Numbers are rounded to the second digit of their errors, and errors up. Where an error is
    infinite, the interval is shown; "chosen" stands where a label was selected, which has none.

    Raises `RecordError` for an object without a record.

    *Guarantee*: post-processing. Only the record is used: no row is read, and nothing is charged.
    Source: docs/adr/0079-one-way-to-write-a-value.md.

    >>> import pandas as pd, dppandas as dp
    >>> pets = pd.Series(["cat"] * 500 + ["dog"] * 300, name="pet")
    >>> shown = dp.table(pets.dp.value_counts(keys=["cat", "dog"], epsilon=1))
    >>> shown.to_markdown().splitlines()[:2]
    ['| pet | count |', '| --- | ---: |']
    >>> shown.to_frame().columns.tolist()
    ['count', 'error']
    """
    return AnswerTable(answer)


def _name(answer: Any) -> Any:
    name = getattr(answer, "name", None)
    return "value" if name is None else name


def _foot(card: Card) -> str:
    """How errors hold, without what the answer is in Python."""
    return card.foot.partition(KIND)[0]


def _cells(card: Card, write: Any) -> tuple[list[str], list[list[str]]]:
    """The heads, and the label and cells of each row."""
    columns = list(zip(card.columns, card.has_population, strict=True))
    heads = [part for name, has in columns for part in (name, *[POPULATION] * has)]
    rows = [
        [row.label, *(
            part for cell, has in zip(row.cells, card.has_population, strict=True)
            for part in (*write(cell), *write(Cell(cell.population)) * has)
        )]
        for row in card.rows if row is not None
    ]  # fmt: skip
    return [card.names, *heads], rows


def _in_latex(cell: Cell) -> str:
    """A number and its error as siunitx reads them; anything else as text."""
    found, number = _BESIDE.fullmatch(cell.error), _NUMBERS.fullmatch(cell.value)
    word = next((word for word, sign in SIGNS.items() if sign == cell.mark), cell.mark)
    mark = f", {escaped(word)}" if word else ""  # a star would be read as significance
    if found is None or number is None or found[2].strip() == "ranks":
        value = f"\\num{{{_plain(cell.value)}}}" if number else escaped(cell.value)
        return f"{value} {escaped(cell.error)}".rstrip() + mark
    unit, numbers = found[2].strip(), [_plain(cell.value), _plain(found[1])]
    both = f"\\num{{{' +- '.join(numbers)}}}"
    if "e" in both.removeprefix("\\num"):  # siunitx reads a power of ten of both together alone
        both = " $\\pm$ ".join(f"\\num{{{each}}}" for each in numbers)
    return f"{both}{f'~{escaped(unit)}' if unit else ''}{escaped(found[3])}{mark}"


def _plain(number: str) -> str:
    return number.replace(",", "")


def _in_markdown(text: str) -> str:
    """What Markdown would read as a cell's end, HTML, a formula, emphasis, code or a link."""
    plain = re.sub(r"&(?=#?\w+;)", "&amp;", text).replace("<", "&lt;")
    return re.sub(r"[\\|$*`\[~]|(?<![^\W_])_|_(?![^\W_])", r"\\\g<0>", plain)
