"""Formulas such as ``pay ~ age + C(sex)``: a library parses them, and each term becomes a row-wise
column. What a term means never depends on rows: levels and bounds are those that are declared."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from importlib import import_module
from itertools import product
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from ...columns.private_rows import keys_known
from ...columns.ranges import bounds_of
from ...columns.spellings.numpy_functions import UFUNCS
from ...dataclasses import dataclass
from ...errors import QueryError, quoted
from ...frames.frame import PrivateFrame
from ...frames.series import PrivateSeries
from ...rows.facts import kinds
from ...rows.facts.bounds import Bounds
from ...rows.facts.keys import Keys, did_you_mean, some_names

#: How a column is looked up by its name: as a number, or if that is said as a label.
Lookup = Callable[..., Any]
#: The factors of a term; a term without any is the constant.
Factors = tuple[str, ...]

#: What may be written between numbers and columns.
OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.Pow: operator.pow, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert,
    ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip
#: Functions that don't need np. before them.
PLAIN = {"abs": "absolute"} | {x: x for x in ("log", "log2", "log10", "log1p", "exp", "sqrt")}
#: Functions that look at all rows.
STATEFUL = {
    "bs", "cc", "center", "cr", "cs", "hashed", "lag", "poly", "scale", "standardize", "te",
}  # fmt: skip


@dataclass(frozen=True)
class Factor:
    """A number of each row: what an expression is, or whether a column has a label."""

    code: Any  # or the column, of which it is a label
    label: Any = None
    labels: tuple[Any, ...] = ()

    def of(self, column: Lookup) -> Any:
        """The numbers: a private or plain column. Missing where a label is none of the known."""
        if not self.labels:
            return evaluated(self.code, column)
        is_it = {each: float(each == self.label) for each in self.labels}
        return column(self.code, is_label=True).map(is_it)


@dataclass(frozen=True)
class Term:
    """A regressor: the product of its factors."""

    name: str
    factors: tuple[Factor, ...]

    def of(self, column: Lookup) -> Any:
        return reduce(operator.mul, [factor.of(column) for factor in self.factors])


@dataclass(frozen=True, eq=False)
class Formula:
    """What a formula says of the columns of a frame."""

    text: str
    target: Factor
    terms: tuple[Term, ...]
    has_constant: bool

    @property
    def target_name(self) -> str:
        return _shown(self.target.code)

    @classmethod
    def of(cls, text: object, data: PrivateFrame) -> Formula:
        """A formula with levels from what is declared of the columns."""
        if not isinstance(text, str) or text.count("~") != 1:
            raise QueryError(
                f'formula={quoted(text)} must be a text such as "pay ~ age + C(sex)", with the '
                "target before the ~."
            )
        left, right = parsed(text)
        if len(left) != 1 or len(left[0]) != 1:
            raise QueryError(f"the target of {quoted(text)} must be one column or expression.")
        has_constant = () in right
        coded = _Coding(data, has_constant)
        terms = [term for factors in right if factors for term in coded.terms(factors)]
        if not terms:
            raise QueryError(
                f"{quoted(text)} has no regressors. For a mean, ask people['pay'].mean(epsilon=1)."
            )
        names = [term.name for term in terms]
        if len({*names}) < len(names):
            raise QueryError(f"{quoted(text)} has two terms with one name: {some_names(names)}.")
        return cls(text, Factor(left[0][0]), tuple(terms), has_constant)


def parsed(text: str) -> tuple[list[Factors], list[Factors]]:
    """The terms before and behind the ~, by formulaic, or else patsy."""
    for read in (_by_formulaic, _by_patsy):
        try:
            return read(text)
        except ImportError:
            continue
        except QueryError:
            raise
        except Exception as error:  # of the parser, about the text, which is public
            said = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise QueryError(f"formula={quoted(text)} can't be parsed: {said}") from None
    raise QueryError(
        "formulas need formulaic or patsy: pip install formulaic. Or write OLS(people['pay'], "
        "people[['age', 'educ']], epsilon=1)."
    )


def _by_formulaic(text: str) -> tuple[list[Factors], list[Factors]]:
    found = import_module("formulaic").Formula(text)
    sides = []
    for side in (found.lhs, found.rhs):
        terms = []
        for term in side:
            codes = tuple(
                f"Q({each.expr!r})" if each.eval_method.value == "lookup" else each.expr
                for each in term.factors
            )
            terms.append(() if codes == ("1",) else codes)
        sides.append(terms)
    return sides[0], sides[1]


def _by_patsy(text: str) -> tuple[list[Factors], list[Factors]]:
    found = import_module("patsy").ModelDesc.from_formula(text)
    sides = [
        [tuple(factor.code for factor in term.factors) for term in side]
        for side in (found.lhs_termlist, found.rhs_termlist)
    ]
    return sides[0], sides[1]


class _Coding:
    """How categories become numbers: by their labels but for the first, wherever the rest of the
    term is a term of its own, as in R; else by all of them."""

    def __init__(self, data: PrivateFrame, has_constant: bool) -> None:
        self._data = data
        self._before: set[frozenset[str]] = {frozenset()} if has_constant else set()

    def terms(self, codes: Factors) -> list[Term]:
        """A term for each combination of labels of the categories in it."""
        each, full = [], []
        for code in codes:
            labels = self._labels(code)
            if labels is None:
                each.append([(_shown(code), Factor(code))])
                continue
            rest, column = frozenset(codes) - {code}, _column_of(code)
            mark = "T." if rest in self._before else ""
            if not mark:
                full.append(rest)
            each.append([
                (f"{_shown(code)}[{mark}{label}]", Factor(column, label, tuple(labels)))
                for label in labels[1 if mark else 0 :]
            ])  # fmt: skip
        if len(full) > 1:
            raise QueryError(
                f"{':'.join(map(_shown, codes))} alone doesn't say what it adds to the rest. Write "
                f"{' * '.join(map(_shown, codes))}."
            )
        self._before |= {frozenset(codes), *full}
        return [
            Term(":".join(name for name, _ in these), tuple(factor for _, factor in these))
            for these in product(*each)
        ]

    def _labels(self, code: str) -> list[Any] | None:
        """The labels of a category, the reference first; None for numbers."""
        call = _call(code)
        is_said = call is not None and call[0] == "C"
        if not is_said and _name_of(_tree(code)) is None:
            return None
        column = self._data[_column_of(code)]
        table, expression = column._table, column._expression
        facts = table.source.facts
        is_text = expression.kind(facts.schema) == kinds.TEXT
        known: Keys | None = keys_known(table, expression)
        is_truth = expression.kind(facts.schema) == kinds.TRUTH
        holds_text = known is not None and any(isinstance(each, str) for each in known.labels)
        if not (is_said or is_text or is_truth or holds_text):
            return None
        levels, base = _options(call[1]) if call is not None else (None, None)
        if levels is None and known is None:
            name = quoted(_column_of(code))
            raise QueryError(
                f"the levels of {name} are never read from the rows. Declare them, "
                f"domain={{{name}: […]}}, or write C({_column_of(code)}, levels=[…])."
            )
        labels = list(known.labels if levels is None and known is not None else levels or ())
        if len(labels) < 2:
            raise QueryError(f"{_shown(code)} has fewer than two levels. Leave it out.")
        if base is not None:
            if base not in labels:
                raise QueryError(f"{quoted(base)} is no level of {_shown(code)}.")
            labels = [base, *(each for each in labels if each != base)]
        return labels


def _call(code: str) -> tuple[str, ast.Call] | None:
    """The name of the function that is called, and the call."""
    node = _tree(code)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id, node
    return None


def _options(call: ast.Call) -> tuple[list[Any] | None, Any]:
    """The levels and the reference of C(column, …)."""
    if call.func.id != "C":  # type: ignore[attr-defined]
        return None, None
    levels, base, more = None, None, [*call.args[1:]]
    for keyword in call.keywords:
        if keyword.arg == "levels":
            levels = _literal(keyword.value)
        elif keyword.arg in ("contrasts", "contrast"):
            more.append(keyword.value)
        else:
            raise QueryError(f"C(…) takes levels= and Treatment(…), not {keyword.arg}=.")
    for each in more:
        name = ast.unparse(each.func if isinstance(each, ast.Call) else each)
        if name not in ("Treatment", "contr.treatment"):
            raise QueryError(f"C(…) takes Treatment(reference), not {name}.")
        if isinstance(each, ast.Call):
            given = [*each.args, *(keyword.value for keyword in each.keywords)]
            base = _literal(given[0]) if given else None
    if levels is not None:
        if not isinstance(levels, list | tuple):
            raise QueryError('levels= of C(…) must be a list such as ["f", "m"].')
        levels = list(Keys.parse(list(levels), ["levels"]).labels)
    return levels, base


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise QueryError(f"{ast.unparse(node)} in C(…) must be a plain value.") from None


def _tree(code: str) -> ast.expr:
    try:
        return ast.parse(code.strip(), mode="eval").body
    except SyntaxError:
        raise QueryError(f"{quoted(code)} in a formula is no expression.") from None


def _name_of(node: ast.expr) -> Any:
    """The column that is named, as age or Q("my age"); None for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    is_quoted = isinstance(node, ast.Call) and ast.unparse(node.func) == "Q" and len(node.args) == 1
    return _literal(node.args[0]) if is_quoted else None  # type: ignore[attr-defined]


def _column_of(code: str) -> Any:
    """The column of a category: a name, or that within C(…)."""
    call = _call(code)
    node = call[1].args[0] if call and call[0] == "C" and call[1].args else _tree(code)
    name = _name_of(node)
    if name is None:
        raise QueryError(f"{quoted(code)}: C(…) takes the name of a column.")
    return name


def _shown(code: str) -> str:
    """A factor as names of coefficients show it."""
    name = _name_of(_tree(code))
    return code if name is None else str(name)


def evaluated(code: str, column: Lookup) -> Any:
    """The numbers that an expression is of the columns, row by row."""
    found = _value(_tree(code), column)
    if not isinstance(found, PrivateSeries | pd.Series):
        raise QueryError(f"{quoted(code)} in a formula is the same for all rows. Leave it out.")
    return found * 1.0


def _value(node: ast.expr, column: Lookup) -> Any:
    name = _name_of(node)
    if name is not None:
        return column(name)
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float | str):
        return node.value
    if isinstance(node, ast.BinOp | ast.UnaryOp) and type(node.op) in OPERATORS:
        sides = [node.left, node.right] if isinstance(node, ast.BinOp) else [node.operand]
        return OPERATORS[type(node.op)](*(_value(side, column) for side in sides))
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in OPERATORS:
        sides = [node.left, node.comparators[0]]
        return OPERATORS[type(node.ops[0])](*(_value(side, column) for side in sides))
    if isinstance(node, ast.Call) and not node.keywords:
        return _called(ast.unparse(node.func), [_value(each, column) for each in node.args])
    return _refuse(ast.unparse(node))


def _called(name: str, given: Sequence[Any]) -> Any:
    """What a function of one row makes of columns and numbers."""
    if name == "I" and len(given) == 1:
        return given[0]
    known = PLAIN.get(name, name.removeprefix("np.") if name.startswith("np.") else "")
    if known not in UFUNCS or len(given) != getattr(np, known).nin:
        _refuse(f"{name}(…)")
    return getattr(np, known)(*given)


def _refuse(said: str) -> NoReturn:
    if said.removesuffix("(…)") in STATEFUL:
        raise QueryError(
            f"{said} in a formula looks at all rows, which would be released with what it makes. "
            "Terms are functions of one row: write I((age - 40) / 10), with public numbers."
        )
    raise QueryError(
        f"{said} isn't offered in formulas. Terms are made of columns, numbers, arithmetic, "
        "comparisons, C(…), I(…) and numpy's functions of one row, such as np.log. Or compute a "
        "column first: people.assign(…)."
    )


def private_lookup(data: PrivateFrame, bounds: Mapping[Any, Any]) -> Lookup:
    """Columns of private rows; numbers are clipped to the bounds that are given or declared."""

    def column(name: Any, is_label: bool = False) -> Any:
        found = data[name]
        if is_label:
            return found
        ends = bounds_of(found._table, name, found._expression, bounds.get(name))
        return (found * 1.0).clip(ends.lower, ends.upper)

    return column


def frame_lookup(data: Any) -> Lookup:
    """Columns of any frame, as they are."""

    def column(name: Any, is_label: bool = False) -> Any:
        if name not in data.columns:
            near = did_you_mean(name, data.columns)
            raise QueryError(f"these rows have no column {quoted(name)}.{near}")
        return data[name]

    return column


def ranges(columns: Sequence[PrivateSeries], names: Sequence[str]) -> list[Bounds]:
    """The bounds of terms, which follow from those of their columns."""
    found = []
    for name, column in zip(names, columns, strict=True):
        ends = bounds_of(column._table, name, column._expression, None)
        if ends.lower == ends.upper:
            raise QueryError(f"{name} is the same for all rows, {ends.lower}. Leave it out.")
        found.append(ends)
    return found
