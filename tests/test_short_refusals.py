"""A refusal is read, so it is short: four lines within 72 characters, and the place of the caller.

What is wrong, why, and what to write instead fit in there; more belongs on a page of the docs.
"""

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from test_reasons import REASONS
from test_reasons import p as p  # the fixture

import dppandas
import dppandas as dp
from dppandas import errors
from dppandas.columns import refusals
from dppandas.errors import DPError
from dppandas.rows import query_names

MOST = 4
#: What an interpolation is taken for: names, labels and numbers are mostly shorter.
HOLE = "x" * 12
PACKAGE = Path(dppandas.__file__).parent


def lines_of(text: str, kind: type[DPError]) -> list[str]:
    """The lines that a notebook shows, but for the place."""
    shown = errors._in_lines(f"{kind.__name__}: {text} {kind._ending}".strip(), 3)
    return shown if len(shown) > MOST else []


def text_of(node: ast.expr) -> str:
    """The longest text that an expression may have, with holes."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(map(text_of, node.values))
    if isinstance(node, ast.FormattedValue):
        return text_of(node.value)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return text_of(node.left) + text_of(node.right)
    if isinstance(node, ast.IfExp):
        return max(text_of(node.body), text_of(node.orelse), key=len)
    return HOLE


def written() -> Iterator[tuple[str, type[DPError], str]]:
    """Each error that the package makes: where, its class, and its text."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
                kind = getattr(errors, node.func.id, None)
                if isinstance(kind, type) and issubclass(kind, DPError):
                    place = f"{path.relative_to(PACKAGE)}:{node.lineno}"
                    yield place, kind, text_of(node.args[0])


def test_errors_as_they_are_written_fit_in_four_lines() -> None:
    found = list(written())
    assert len(found) > 900
    long = {place: lines for place, kind, text in found if (lines := lines_of(text, kind))}
    assert not long, long


def test_a_message_of_five_lines_is_found() -> None:
    words = "word " * 50
    raised: Any = ast.parse(f"raise QueryError(f'{words}{{name}}')").body[0]
    text = text_of(raised.exc.args[0])
    assert text.endswith(HOLE)
    assert lines_of(text, errors.QueryError)
    assert not lines_of(text[60:], errors.QueryError)


def names_refused() -> Iterator[tuple[str, str, Any]]:
    kinds = {"VERBS": "private columns", "GROUPS": "private groups", "UNITS": "rows for each unit",
             "TEXTS": ".str", "TIMES": ".dt"}  # fmt: skip
    for table, kind in kinds.items():
        known = getattr(refusals, table)
        yield from ((kind, name, known) for name in known)


def test_refused_verbs_fit_in_four_lines() -> None:
    found = [
        (kind, name, refusals.refuse(object(), kind, "count, mean", name, (), known))
        for kind, name, known in names_refused()
    ]
    assert len(found) > 200
    long = {(kind, name): str(error) for kind, name, error in found
            if lines_of(error.reason, type(error))}  # fmt: skip
    assert not long, long


@pytest.mark.parametrize("name", REASONS)
def test_refusals_with_their_advice_fit_in_four_lines(name: str, p: Any) -> None:
    ask: Callable[[Any], Any] = REASONS[name][0]
    with pytest.raises(DPError) as raised:
        ask(p)
    error = raised.value
    assert not lines_of(error.reason, type(error)), str(error)


@pytest.mark.parametrize(
    "of", ["p", "p['x']", "p.groupby('g')", "p.groupby('g')['x']", "p['g'].str"]
)
def test_unknown_names_fit_in_four_lines(of: str, p: Any) -> None:
    with pytest.raises(DPError) as raised:
        _ = eval(of).strange
    assert not lines_of(raised.value.reason, type(raised.value)), str(raised.value)


@pytest.mark.parametrize("asking", [
    lambda s: s.count(epsilon="50"), lambda s: s["x"].mean(epsilon=50),
    lambda s: s.count(within=1, confidence=1 - 1e-8),
    lambda s: s["x"].sum(epsilon="0.01", fresh=True).refine(until=1, looks=4),
    lambda s: dp.models.KMeans(2, epsilon="33.333").fit(s[["x"]]),
    lambda s: dp.synthesize(s[["g"]], rows=9, epsilon="33.333"),
    lambda s: s.describe(epsilon="33.333"),
])  # fmt: skip
@pytest.mark.parametrize("session", [
    {"epsilon": 12, "delta": "1e-6"}, {"rho": 12, "delta": "1e-6"}, {"epsilon": "12.3456789"},
])  # fmt: skip
def test_a_short_budget_is_told_in_four_lines(session: Any, asking: Any) -> None:
    """With all that earlier answers may be good for, and after many releases."""
    dp.session(**session)
    rows = pd.DataFrame({"x": [1.5, 2.5] * 50, "g": ["a", "b"] * 50})
    survey = dp.protect(rows, name="s", version="1", domain={"x": (0, 5), "g": ["a", "b"]})
    way = "rho" if "rho" in session else "epsilon"
    for _ in range(101):
        survey.count(**{way: "0.0123"}, fresh=True)
    long = survey.query("x > 1 and x < 4 and x != 3")
    for _ in range(4):
        long[["x"]].mean(**{way: "2.5"}, fresh=True)
    with pytest.raises(dp.BudgetExceeded) as raised:
        asking(survey)
    error = raised.value
    lines = errors._in_lines(f"BudgetExceeded: {error}", 3)
    assert len(lines) <= MOST, lines
    assert max(map(len, lines)) <= 72
    assert not any(line.endswith((" =", "±")) or line.startswith(("=", "%")) for line in lines)
    assert "stays free to ask again" in error.reason
    assert re.search(r"joins releases \d\d\d?(, \d\d\d?){3} at no cost", error.earlier)


@pytest.mark.parametrize("why", ["a comparison of a long name is refused, and so is this", "no"])
def test_queries_fit_in_four_lines(why: str) -> None:
    error = query_names.refusal(why)
    assert not lines_of(error.reason, type(error))
