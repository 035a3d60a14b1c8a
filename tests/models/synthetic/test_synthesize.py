"""Synthetic rows: sensitivities by enumeration, exact laws, what is charged, and what comes out."""

import importlib.util
import itertools
import math
import pickle
import warnings
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from exact import selection_law
from ledgers import anew
from operations import integers
from operations import table as series
from refusals import refusal

import dppandas as dp
from dppandas.audit import check_sensitivity
from dppandas.errors import LineageError, MissingArgument, QueryError
from dppandas.models.synthetic import aim, distribution, fit_scores, graphs, mwem
from dppandas.models.synthetic.domains import Domain, domain_of, marginals_of
from dppandas.models.synthetic.fit_scores import SmallDatabases, candidates, databases
from dppandas.models.synthetic.small_database import MOST_DATABASES, database
from dppandas.models.synthetic.worst_fit import STEP
from dppandas.privacy.mechanisms.selection import Exponential, PermuteAndFlip

KEYS = {"a": ["x", "y"], "b": [1, 2, 3], "c": [False, True]}
needs_mbi = pytest.mark.skipif(
    importlib.util.find_spec("mbi") is None,
    reason="needs mbi, which is installed beside the newest pandas only",
)
worst_fit = dp.models.synthetic.worst_fit
METHODS = ["mwem", "small", pytest.param("aim", marks=needs_mbi)]


def frame(copies: int = 40) -> pd.DataFrame:
    """Rows of all labels, in which c follows from a and b."""
    rows = [(a, b, a == "x" and b > 1) for a in "xxy" for b in (1, 2, 2, 3)]
    return pd.DataFrame(rows * copies, columns=list("abc"))


def people(copies: int = 40, name: str = "synthetic", **more: Any) -> Any:
    return dp.protect(frame(copies), name=name, version="1", domain=KEYS, **more)


def distance(one: pd.DataFrame, other: pd.DataFrame) -> float:
    """Total variation."""
    shares = (each.value_counts(normalize=True) for each in (one, other))
    return float(next(shares).sub(next(shares), fill_value=0).abs().sum() / 2)


# --- sensitivities and laws, by enumeration -------------------------------------------------------


def tiny() -> Iterator[list[tuple[str, int]]]:
    """All tables of up to three rows over six cells and one label beside them."""
    every = [*itertools.product("xy", [1, 2, 3]), ("z", 1)]
    for size in range(4):
        yield from map(list, itertools.combinations_with_replacement(every, size))


def scores(asked: dp.types.Unreleased, rows: list[tuple[str, int]]) -> list[int]:
    """The exact scores on some rows."""
    private = pd.DataFrame(rows, columns=["a", "b"]).astype({"a": object, "b": "int64"}).dp
    return list(integers(asked, private._table.engine))


def moved(asked: dp.types.Unreleased) -> int:
    """The most that a row more moves any score, over all neighbours of up to four rows."""
    known = {tuple(rows): scores(asked, rows) for rows in tiny()}
    return int(max(np.abs(np.subtract(*pair)).max() for pair in neighbours(known)))


def neighbours(known: dict[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """What is known of each table, and of the same without one of its rows."""
    for rows, told in known.items():
        for taken in range(len(rows)):
            yield told, known[rows[:taken] + rows[taken + 1 :]]


TABLES = [
    series({"a": ["x", "y"]}, [1.25, -3]), series({"b": [3, 1]}, [0, 2]),
    series({"a": ["x", "y"], "b": [1, 2]}, [0, 1, 2, 0.5]),
]  # fmt: skip
PRIVATE = frame(1)[["a", "b"]]


def worst() -> Any:
    return worst_fit(PRIVATE.dp, TABLES, weights=[2, 1, 5], offsets=[0, 0.5, -1])


def small(rows: int, total: int) -> Any:
    private = PRIVATE.dp
    domain = domain_of(private, {"a": KEYS["a"], "b": KEYS["b"]})
    return database(private, domain, marginals_of(domain, ["a", ("a", "b")]), rows, total)


def test_the_sensitivity_of_a_misfit_is_its_largest_weight_and_attained() -> None:
    statistic = worst()._statistic
    assert isinstance(statistic, fit_scores.MarginalError)
    assert moved(worst()) == statistic.linf_sensitivity(1) == 5 * STEP
    assert not statistic.monotone


@pytest.mark.parametrize(("rows", "total"), [(1, 0), (2, 1), (3, 3)])
def test_the_sensitivity_of_a_small_database_is_its_rows(rows: int, total: int) -> None:
    statistic = small(rows, total)._statistic
    assert isinstance(statistic, SmallDatabases)
    assert moved(small(rows, total)) == statistic.linf_sensitivity(1) == rows
    assert not statistic.monotone


def test_scores_of_tables_are_their_weighed_distances() -> None:
    for rows in list(tiny())[::7]:
        expected = []
        for table, weight, offset in zip(TABLES, [2, 1, 5], [0, 0.5, -1], strict=True):
            cells = [rows_at(rows, list(table.index.names), cell) for cell in table.index]
            far = sum(abs(n - e) for n, e in zip(cells, table.tolist(), strict=True))
            expected.append(weight * far - offset)
        assert [s / STEP for s in scores(worst(), rows)] == expected


def rows_at(rows: list[tuple[str, int]], names: list[str], cell: Any) -> int:
    wanted = cell if len(names) > 1 else (cell,)
    return sum(tuple(row["ab".index(n)] for n in names) == wanted for row in rows)


def test_scores_of_databases_are_their_worst_distances() -> None:
    cells = list(itertools.product("xy", [1, 2, 3]))
    every = candidates(6, 3)
    assert every.shape == (databases(6, 3), 6) == (math.comb(8, 3), 6)
    assert len({tuple(each) for each in every.tolist()}) == 56
    assert set(every.sum(axis=1)) == {3}
    for rows in list(tiny())[::11]:
        found = scores(small(3, 7), rows)
        counts = np.array([rows.count(cell) for cell in cells])
        for made, score in zip(every, found, strict=True):
            cell_off = 3 * counts - 7 * made
            off = [*cell_off, cell_off[:3].sum(), cell_off[3:].sum()]
            assert score == -max(map(abs, off))


@pytest.mark.parametrize("make", [worst, lambda: small(1, 2)], ids=["tables", "databases"])
def test_the_exact_law_of_the_selection_keeps_its_promise(make: Any) -> None:
    """Over all neighbours: no label is more than e^ε times as likely, and some nearly so."""
    asked, epsilon = make(), Fraction(1)
    change = asked._statistic.linf_sensitivity(1)
    mechanism = PermuteAndFlip.calibrate(change, epsilon, monotone=False)
    laws: dict[Any, list[float]] = {}
    for rows in tiny():
        found = scores(asked, rows)
        laws[tuple(rows)] = selection_law([max(found) - score for score in found], mechanism.rate)
    largest = max(np.abs(np.log(np.divide(*pair))).max() for pair in neighbours(laws))
    assert 0.3 < largest <= 1 + 1e-9


def test_the_mechanism_follows_the_measure() -> None:
    dp.session(rho=1, delta=1e-6)
    law = dp.record(worst_fit(PRIVATE.dp, TABLES, rho=0.1))
    assert law.mechanism == Exponential.name
    assert law.loss.rho == Fraction(1, 10)


def test_without_noise_the_worst_is_selected(exact: None) -> None:
    flat = [series({"b": KEYS["b"]}, [3, 6, 3]), series({"a": KEYS["a"]}, [6, 6])]
    found = worst_fit(frame(1).dp, flat, epsilon=1)
    assert (found, type(dp.record(found).query)) == (1, str)
    assert worst_fit(frame(1).dp, flat, offsets=[-5, 0], epsilon=1) == 0
    assert found.error() == pytest.approx(2 * math.log(2 / 0.05), abs=1 / STEP)
    again = pickle.loads(pickle.dumps(found))
    assert (again, again.error()) == (1, found.error())


# --- fits and rows --------------------------------------------------------------------------------


def domain(*sizes: int) -> Domain:
    names = tuple("abcdefgh"[: len(sizes)])
    made = pd.DataFrame({name: [0] for name in names}).dp
    return domain_of(made, {n: list(range(size)) for n, size in zip(names, sizes, strict=True)})


def test_multiplicative_weights_find_a_table_that_has_the_marginals() -> None:
    known = domain(3, 4, 2)
    truth = np.array([(7 * i * i + 3) % 11 + 1.0 for i in range(24)])
    measured = []
    for pair in [(0, 1), (1, 2)]:
        counts = distribution.summed(truth, known.positions(pair), known.cells(pair))
        measured.append(distribution.Measured(known.positions(pair), counts))
    total = float(truth.sum())
    table = distribution.uniform(known, total)
    for _ in range(4):
        table = distribution.fitted(table, measured, total)
    for each in measured:
        off = distribution.summed(table, each.positions, len(each.counts)) - each.counts
        assert np.abs(off).max() < 0.01 * total / 24
    assert table.sum() == pytest.approx(total)
    assert table.min() > 0


def test_negative_counts_and_none_at_all_are_fitted() -> None:
    known = domain(3, 2)
    positions = known.positions((0,))
    for counts in ([-50.0, -1.0, 3.0], [0.0, 0.0, 0.0], [1e12, -1e12, 5.0]):
        measured = [distribution.Measured(positions, np.array(counts))]
        table = distribution.fitted(distribution.uniform(known, 1.0), measured, 1.0)
        assert np.isfinite(table).all()
        assert table.sum() == pytest.approx(1)
        assert [len(each) for each in distribution.rounded(known, table, 5)] == [5, 5]


def test_rounded_rows_are_as_many_as_asked_and_near_every_share() -> None:
    known = domain(4, 3, 5)
    table = np.array([((i * 37) % 23 + 1.0) ** 2 for i in range(60)])
    shares = table / table.sum()
    for rows in (1, 2, 7, 100, 5000):
        codes = distribution.rounded(known, table, rows)
        assert {len(each) for each in codes} == {rows}
        counts = np.bincount(np.ravel_multi_index(codes, known.shape), minlength=60)
        assert np.abs(counts - rows * shares).max() <= 1
        first = np.bincount(codes[0], minlength=4)
        assert np.abs(first - rows * shares.reshape(4, -1).sum(axis=1)).max() <= 1


def test_the_line_of_cells_visits_each_once_and_moves_by_one_label() -> None:
    known = domain(3, 2, 4)
    line = distribution._in_line(known)
    assert sorted(line) == list(range(24))
    places = np.stack(np.unravel_index(line, known.shape), axis=1)
    assert set(np.abs(np.diff(places, axis=0)).sum(axis=1)) == {1}


FACTORS = [
    ((0, 1), np.log(np.arange(1.0, 13).reshape(3, 4))),
    ((1, 2), np.log(np.array([[1.0, 5], [2, 1], [3, 3], [1, 9]]))),
    ((3,), np.array([0.0, 1.0, -1.0])),
]


def test_marginals_of_a_graph_are_those_of_its_product() -> None:
    known = domain(3, 4, 2, 3, 2)
    joint = np.einsum("ab,bc,d,e->abcde", *(np.exp(f) for _, f in FACTORS), np.ones(2))
    joint *= 100 / joint.sum()
    for wanted in [(0,), (2, 0), (4, 3), (0, 1, 2), (3, 2), (4,)]:
        others = tuple(i for i in range(5) if i not in wanted)
        expected = np.transpose(joint.sum(axis=others), np.argsort(np.argsort(wanted)))
        np.testing.assert_allclose(graphs.marginal(known, FACTORS, wanted, 100.0), expected)


def test_factors_without_a_common_cell_are_scaled() -> None:
    """Each says that another label of b is the only one."""
    known = domain(2, 2)
    apart = [((1,), np.array([0.0, -1e9])), ((0, 1), np.array([[-1e9, 0], [-1e9, 0]]))]
    assert graphs.marginal(known, apart, (0,), 10.0).tolist() == [5, 5]


def test_rows_of_a_graph_follow_it() -> None:
    known = domain(3, 4, 2, 3, 2)
    codes = graphs.rows_of(known, FACTORS, 4000)
    for wanted in itertools.combinations(range(5), 2):
        expected = graphs.marginal(known, FACTORS, wanted, 1.0).reshape(-1)
        shape = tuple(known.shape[i] for i in wanted)
        places = np.ravel_multi_index([codes[i] for i in wanted], shape)
        found = np.bincount(places, minlength=math.prod(shape)) / 4000
        # random rows would be off by about 0.01 to 0.03
        assert np.abs(found - expected).sum() / 2 < 0.008, wanted


def test_the_size_of_a_graph_is_that_of_its_cliques() -> None:
    known = domain(3, 4, 2)
    assert graphs.size(known, [(0,), (1,), (2,)]) == 3 + 4 + 2
    # c, then a, then b, of a path a - b - c
    assert graphs.size(known, [(0, 1), (1, 2)]) == 4 * 2 + 3 * 4 + 4
    assert graphs.size(known, [(0, 1), (1, 2), (0, 2)]) >= 24


# --- what comes out -------------------------------------------------------------------------------


def made(method: str, source: Any = None, **more: Any) -> pd.DataFrame:
    source = people() if source is None else source
    if method == "small":
        source, more = source[["a", "c"]], {"rows": 5, **more}
    return dp.synthesize(source, **{"rows": 480, "method": method, "epsilon": 1, **more})


@pytest.mark.parametrize("method", METHODS)
def test_all_that_is_charged_adds_up_to_epsilon(method: str) -> None:
    parts = dp.record(made(method, epsilon="1/3")).components
    assert sum(each.epsilon for each in parts.values()) == dp.ledger().spent <= Fraction(1, 3)
    if method != "aim":
        assert dp.ledger().spent == Fraction(1, 3)
    assert [each.number for each in parts.values()] == [e.number for e in dp.ledger()._entries()]


@pytest.mark.parametrize("method", METHODS)
def test_all_that_is_charged_adds_up_to_rho(method: str) -> None:
    session = dp.session(rho="0.2", delta=1e-6)
    result = made(method, epsilon=None, rho="0.05")
    assert session.ledger.loss.rho <= Fraction(1, 20)
    if method != "aim":
        assert session.ledger.loss.rho == Fraction(1, 20)
    laws = {each.mechanism for each in dp.record(result).components.values()}
    assert laws == {"discrete Gaussian", "exponential"}


@pytest.mark.parametrize("columns", [["a"], ["a", "b"], ["a", "b", "c"]], ids=len)
def test_aim_asks_no_question_twice_and_spends_all(columns: list[str], monkeypatch: Any) -> None:
    """An answer given again teaches nothing, and would count as another. The model stands in for
    mbi's: independent columns."""

    def fit(self: Any) -> None:
        known = [(m, np.maximum(counts, 0.5)) for m, counts, _ in self._counts if len(m) == 1]
        self.factors = [(m, np.log(counts)) for m, counts in known]

    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda n: n == "mbi" or real(n))
    monkeypatch.setattr(aim.Model, "fit", fit)
    for loss in ({"epsilon": 1}, {"epsilon": None, "rho": 1}):
        session = anew(**({"epsilon": 1} if "rho" not in loss else {"rho": 1, "delta": 1e-6}))
        found = made("aim", people()[columns], **loss)
        assert len(dp.record(found).components) == len(session.ledger._entries())
        assert session.ledger.remaining == 0


def test_columns_alone_take_all_and_have_no_rounds() -> None:
    found = dp.synthesize(people(), rows=10, marginals=1, epsilon=1)
    assert list(dp.record(found).components) == ["start: a", "start: b", "start: c"]
    assert dp.ledger().spent == 1


def test_an_epsilon_where_rho_is_counted_is_charged_by_its_parts() -> None:
    session = dp.session(rho=5, delta=1e-6)
    made("mwem", epsilon=1)
    assert 0 < session.spent < 1
    assert {e.mechanism for e in session.ledger._entries()} == {"discrete Laplace", "exponential"}


@pytest.mark.parametrize("method", METHODS)
def test_a_verified_source_gives_the_same_rows_again_at_no_cost(method: str) -> None:
    dp.session(epsilon=1)
    source = people()
    first = made(method, source)
    spent = dp.ledger().spent
    assert made(method, source).equals(first)
    assert dp.ledger().spent == spent
    refusal(lambda: made(method, source, fresh=True), error=dp.BudgetExceeded)
    assert dp.ledger().spent == spent


@pytest.mark.parametrize("method", METHODS)
def test_types_and_indexes_follow_from_the_labels_alone(method: str) -> None:
    results = []
    for rows in (frame(40), frame(1)[:1], frame(1)[:0], frame(3).astype(object)):
        rows = rows if len(rows) else rows.astype({"a": object})
        private = dp.private(rows, unit="row")[["c", "a"]]
        keys = {k: KEYS[k] for k in "ac"}
        results.append(dp.synthesize(private, rows=6, method=method, keys=keys, epsilon=1))
    for each in results:
        assert list(each.columns) == ["c", "a"]
        assert each.index.equals(pd.RangeIndex(6))
        assert each.dtypes.equals(results[0].dtypes)
        assert each["c"].dtype.kind == "b"
        assert set(each["a"]) <= {"x", "y"}


def test_rows_with_another_label_are_left_out() -> None:
    rows = pd.concat([frame(50), pd.DataFrame({"a": ["z"] * 9000, "b": 1, "c": False})])
    found = dp.synthesize(rows, rows=600, keys=KEYS, marginals=["a", "b"], epsilon=50)
    assert abs((found["b"] == 1).mean() - 0.25) < 0.02  # with them it would be 0.95
    assert 500 < dp.record(found).components["start: b"].estimate().sum() < 700


def test_cut_columns_and_truth_values_need_no_list() -> None:
    private = dp.protect(pd.DataFrame({"x": range(100)}), name="cut", domain={"x": (0, 99)})
    asked = private.assign(big=private["x"] > 50, part=private["x"].cut([-1, 40, 99]))
    found = dp.synthesize(asked[["big", "part"]], rows=100, epsilon=30)
    assert found["big"].dtype.kind == "b"
    assert isinstance(found["part"].dtype, pd.IntervalDtype)
    assert abs(int(found["big"].sum()) - 49) <= 5
    assert not ((found["part"] == pd.Interval(-1, 40)) & found["big"]).sum() > 5


@pytest.mark.statistical
@pytest.mark.parametrize("method", ["mwem", pytest.param("aim", marks=needs_mbi)])
def test_with_a_huge_epsilon_rows_are_like_the_private_ones(method: str) -> None:
    """False alarms: a noise of scale 1 or so a cell would have to exceed 20 of 480 rows in some of
    six cells, below e^-15 each. Power: the uniform table is 0.25 away, independent columns 0.17."""
    found = made(method, epsilon=60)
    for names in itertools.combinations("abc", 2):
        assert distance(found[list(names)], frame()[list(names)]) < 0.05
    assert distance(found, frame()) < 0.08


def test_without_noise_the_small_database_is_the_best(exact: None) -> None:
    found = dp.synthesize(people()[["a", "b"]], rows=4, method="small", epsilon=1)
    exact = integers(small(4, 480), people(name="other")._table.engine)
    codes = candidates(6, 4)[int(np.argmax(exact))]
    cells = list(itertools.product("xy", [1, 2, 3]))
    expected = [cell for cell, n in zip(cells, codes, strict=True) for _ in range(n)]
    assert list(found.itertuples(index=False, name=None)) == expected


def test_mwem_selects_what_fits_worst_and_never_twice(exact: None) -> None:
    """c follows from a and b, which are independent: their table fits, and is measured last."""
    found = dp.synthesize(people(), rows=100, rounds=3, epsilon=20)
    parts = dp.record(found).components
    measured = [name.split(": ")[1] for name in parts if " × " in name]
    assert sorted(measured) == ["a × b", "a × c", "b × c"]
    assert measured[-1] == "a × b"
    assert [parts[f"start: {n}"].estimate().tolist() for n in "abc"] == [
        [320, 160], [120, 240, 120], [240, 240],
    ]  # fmt: skip
    assert distance(found, frame()) < 0.08


def test_noise_alone_is_shrunk_to_what_was_expected() -> None:
    expected = np.array([10.0, 20.0, 30.0, 40.0])
    noisy = expected + np.array([3.0, -3.0, 3.0, -3.0])
    assert distribution.shrunk(noisy, expected, 3.5).tolist() == expected.tolist()
    assert distribution.shrunk(noisy, expected, 0.0).tolist() == noisy.tolist()
    assert distribution.shrunk(expected, expected, 1.0).tolist() == expected.tolist()
    shrunk = distribution.shrunk(noisy, expected, 1.5)
    np.testing.assert_allclose(shrunk, expected + 0.75 * (noisy - expected))


def test_the_number_of_rounds_is_public_and_can_be_said() -> None:
    for copies in (1, 40):
        found = dp.synthesize(people(copies, name=f"n{copies}"), rows=10, rounds=2, epsilon=1)
        assert len(dp.record(found).components) == 3 + 2 * 2


# --- what is refused ------------------------------------------------------------------------------

SLIPS: dict[str, tuple[dict[str, Any], str]] = {
    "no rows": ({"rows": None}, "rows= is needed"),
    "no loss": ({"epsilon": None}, "epsilon= is needed"),
    "half a row": ({"rows": 1.5}, "whole number"),
    "no column": ({"marginals": ["zz"]}, "isn't a column"),
    "twice": ({"marginals": [("a", "a")]}, "twice"), "many": ({"marginals": 4}, "from 1 to 3"),
    "a set": ({"marginals": {"a"}}, "must be a list"),
    "method": ({"method": "gan"}, "must be one of"), "rounds": ({"rounds": 4}, "from 1 to 3"),
    "rounds of small": ({"rounds": 1, "method": "small"}, "is for method"),
    "too many databases": ({"method": "small", "rows": 100}, "at most rows=7"),
    "keys": ({"keys": ["x"]}, "dict"),
    "keys of none": ({"keys": {"zz": [1]}}, "isn't a column here"),
    "noise": ({"mechanism": "gaussian"}, "noise"), "within": ({"within": 3}, "within"),
    "a slip": ({"epsylon": 3}, "epsilon"),
}  # fmt: skip


@pytest.mark.parametrize("name", SLIPS)
def test_what_is_refused_charges_nothing(name: str) -> None:
    said, problem = SLIPS[name]
    dp.session(epsilon=5)
    asked = {"rows": 10, "epsilon": 1} | said
    refusal(lambda: dp.synthesize(people(), **asked), problem, dp.DPError)


def test_stored_truths_need_no_keys() -> None:
    rows = pd.DataFrame({"t": [True, False] * 50, "n": pd.array([True, None] * 50, "boolean")})
    for frame in (rows, rows.convert_dtypes(dtype_backend="pyarrow")):
        dp.reset()
        dp.session(epsilon=100)
        p = dp.private(frame, unit="row")
        keys = {"t": [False, True], "n": [False, True]}
        for said in ({}, {"keys": keys}):
            made = dp.synthesize(p, rows=10, epsilon=20, **said)
            assert made.dtypes.tolist() == [bool, bool]
            assert made["n"].all()


def test_columns_without_labels_are_refused_with_advice() -> None:
    def asked(rows: Any, **more: Any) -> Any:
        return lambda: dp.synthesize(rows, rows=1, epsilon=1, **more)

    rows = pd.DataFrame({"x": [1.0], "y": ["a"]})
    private = dp.protect(rows, name="bounds", domain={"x": (0, 9)})
    refusal(asked(private[["x"]]), "Cut it first", MissingArgument)
    refusal(asked(private[["y"]]), "no declared labels", MissingArgument)
    refusal(asked([1]), "takes a DataFrame or its")
    keys = {name: list(range(10)) for name in "abcdefg"}
    refusal(asked(pd.DataFrame(keys), keys=keys), "at most 1,000,000")


@pytest.mark.parametrize("method", METHODS)
def test_what_the_budget_cannot_pay_to_the_end_is_not_begun(method: str) -> None:
    dp.session(epsilon=1)
    source = people()
    source.count(epsilon="0.1")
    with pytest.raises(dp.BudgetExceeded, match=r"0\.9 is left.*charged") as error:
        made(method, source)
    assert (error.value.requested, error.value.remaining) == (1, Fraction(9, 10))
    assert dp.ledger().spent == Fraction(1, 10)
    made(method, source, epsilon="0.9")
    assert dp.ledger().spent <= 1


def test_choices_that_cost_more_than_a_count_are_refused_before() -> None:
    """Where ρ is counted, a count for ε = 16 costs 16, and a choice of databases for 12.8 of it
    20.48: so the budget must hold 32, what a choice for all would cost."""
    rows = pd.DataFrame({"a": ["x", "y"] * 30})
    for limit in (20, 31):
        session = anew(rho=limit, delta=1e-6)
        people = dp.protect(rows, name="choices", domain={"a": ["x", "y"]})
        with pytest.raises(dp.BudgetExceeded, match="is left"):
            dp.synthesize(people, rows=3, method="small", epsilon=16)
        assert session.spent == 0
    session = anew(rho=32, delta=1e-6)
    people = dp.protect(rows, name="choices", domain={"a": ["x", "y"]})
    dp.synthesize(people, rows=3, method="small", epsilon=16)
    assert 23 < session.spent < 24


@pytest.mark.parametrize("method", ["mwem", pytest.param("aim", marks=needs_mbi)])
def test_a_release_of_the_program_that_is_too_cheap_is_refused_first(method: str) -> None:
    dp.session(epsilon=5)
    refusal(lambda: made(method, epsilon=12e-6), "the cheapest release would get")


@pytest.mark.parametrize("method", METHODS)
def test_noise_beyond_all_counts_stops_no_program(method: str) -> None:
    dp.session(rho=1, delta=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(made(method, epsilon=None, rho=1e-40)) == (5 if method == "small" else 480)
    assert dp.ledger().loss.rho <= Fraction(1, 10**40)


def stop_at(step: str, error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    real = mwem.counted

    def stopped(*args: Any) -> Any:
        if step in args[3]:
            raise error
        return real(*args)

    monkeypatch.setattr(mwem, "counted", stopped)


def test_a_split_takes_no_share_back_of_a_program_that_was_begun(monkeypatch: Any) -> None:
    dp.session(epsilon=2)
    source = people()
    spent_elsewhere = dp.BudgetExceeded("somebody else spent it", requested=1, remaining=0)
    stop_at("round 1", spent_elsewhere, monkeypatch)
    with dp.split(epsilon=1, into=2) as split:
        with pytest.raises(dp.BudgetExceeded, match="somebody"):
            dp.synthesize(source, rows=10)
        assert split.left == 1
        source.count()
        refusal(lambda: source["a"].value_counts(), "all are taken")
    assert dp.ledger().spent <= 1


@pytest.mark.parametrize("method", ["mwem", "small"])
def test_neighbours_are_told_alike(method: str) -> None:
    """Types, indexes, warnings and errors, whatever the rows; every release keeps its bound."""
    rows = {"mwem": 5, "small": 2}[method]
    keys = {"a": KEYS["a"], "c": KEYS["c"]}
    found = check_sensitivity(
        lambda p: dp.synthesize(p, rows=rows, keys=keys, epsilon=1, method=method),
        frame(1)[["a", "c"]], pairs=40,
    )  # fmt: skip
    assert found.ok, found


def test_a_part_that_others_outspent_can_pay_with_what_is_free() -> None:
    dp.session(epsilon=1)
    parts = people().partition("a")
    made("mwem", parts["x"][["b", "c"]])
    made("mwem", parts["y"][["b", "c"]])
    assert dp.ledger().spent == 1


def test_a_program_that_was_cut_short_goes_on_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    dp.session(epsilon=1)
    source = people()
    stop_at("round 2", KeyboardInterrupt(), monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        made("mwem", source)
    assert 0 < dp.ledger().spent < 1
    monkeypatch.undo()
    made("mwem", source)
    assert dp.ledger().spent == 1


def test_a_split_and_a_preview_take_the_whole_program() -> None:
    dp.session(epsilon=1)
    source = people()
    with dp.preview() as plan:
        blank = made("mwem", source)
    assert (plan.total, dp.ledger().spent) == (1, 0)
    assert blank.shape == (480, 3)
    with dp.split(epsilon=1, shares=[1, 3]):
        n = source.count()
        found = dp.synthesize(source, rows=10)
    assert dp.record(n).epsilon == Fraction(1, 4)
    assert sum(each.epsilon for each in dp.record(found).components.values()) == Fraction(3, 4)


def test_a_preview_of_rows_that_are_paid_for_is_free() -> None:
    dp.session(epsilon=1)
    source = people()
    rows = made("mwem", source)
    with dp.preview() as plan:
        assert made("mwem", source).equals(rows)
    assert plan.total == 0


def test_units_of_several_rows_get_so_much_more_noise() -> None:
    rows = frame().assign(owner=np.arange(480) // 3)
    source = dp.protect(rows, name="units", unit="owner", max_rows=3, domain=KEYS)
    found = dp.synthesize(source[["a", "b", "c"]], rows=10, rounds=1, epsilon=1)
    dp.reset()
    single = dp.synthesize(people(), rows=10, rounds=1, epsilon=1)
    for mine, other in zip(
        dp.record(found).components.values(), dp.record(single).components.values(), strict=True
    ):
        assert mine.scale == pytest.approx(3 * other.scale)


def test_the_column_of_units_needs_no_labels() -> None:
    rows = frame().assign(owner=np.arange(480) // 3)
    source = dp.protect(rows, name="units", unit="owner", max_rows=3, domain=KEYS)
    made = dp.synthesize(source, rows=10, rounds=1, epsilon=1)
    assert "owner" not in made
    again = dp.synthesize(source[["a", "b", "c"]], rows=10, rounds=1, epsilon=1)  # for nothing
    pd.testing.assert_frame_equal(made, again)
    assert dp.ledger().spent == 1
    given = {"owner": range(160)}
    assert "owner" in dp.synthesize(source, rows=10, rounds=1, keys=given, epsilon=1)
    refusal(lambda: dp.synthesize(source[["owner"]], rows=10, epsilon=1), "no columns")


@pytest.mark.parametrize(("given", "problem"), [
    (([],), "list of Series"), (([[1, 2]],), "list of Series"),
    (([pd.Series([1, 2])],), "names its columns"),
    (([pd.Series([1.0, math.nan], index=pd.Index(["x", "y"], name="a"))],), "finite"),
    (([pd.Series([1], index=pd.Index(["x"], name="zz"))],), "zz"), ((TABLES, [1, 2]), "list of 3"),
    ((TABLES, [1, 2, 0]), "at least 1"), ((TABLES, [1, 1, 1.5]), "whole"),
])  # fmt: skip
def test_tables_that_do_not_fit_are_refused(given: Any, problem: str) -> None:
    tables, weights = (*given, None)[:2]
    refusal(partial(worst_fit, PRIVATE.dp, tables, weights=weights, epsilon=1), problem, dp.DPError)


def test_a_table_with_the_token_of_a_source_is_refused() -> None:
    df = frame()
    source = dp.protect(df, name="tokens", domain=KEYS)
    table = df.set_index("a")["b"].iloc[[0, -1]]
    refusal(lambda: worst_fit(source, [table], epsilon=1), r"token.*charged", LineageError)


def test_without_mbi_aim_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(QueryError, match=r"dppandas\[synthetic\].*charged"):
        dp.synthesize(people(), rows=1, method="aim", epsilon=1)
    assert databases(6, 7) <= MOST_DATABASES
