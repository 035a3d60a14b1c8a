"""Parts of a partition are charged side by side: what one unit pays, and what that promises."""

import itertools
import math
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path as File
from typing import Any

import ledgers
import numpy as np
import pandas as pd
import pytest
from effort import calls
from hypothesis import given, settings
from hypothesis import strategies as st
from ledgers import anew, limit
from operations import spent
from refusals import refusal

import dppandas as dp
from dppandas.errors import LineageError, MissingArgument, QueryError, UnknownColumn
from dppandas.frames.answers.several import Figure, _checked
from dppandas.frames.protect import _named_once
from dppandas.ledger.ledger import Ledger
from dppandas.ledger.storage import schema
from dppandas.ledger.storage.sqlite import SqliteStore
from dppandas.ledger.storage.store import Entry, MemoryStore, Store
from dppandas.privacy.accounting.composition import ParallelComposition, Part, Path
from dppandas.privacy.accounting.conversions import delta_for_group
from dppandas.privacy.accounting.losses import Delta, Epsilon, Loss, Rho
from dppandas.privacy.accounting.measures import PrivacyBudget
from dppandas.privacy.sampling import entropy
from dppandas.release import query
from dppandas.release.context import watching
from dppandas.statistics.layout import GroupLabels

# --- what a unit pays, against all ways in which its rows can lie ---------------------------------
#
# A tree says for each place what is charged there, and the partitions of it: how many rows one row
# becomes before each, and the parts by key.

Tree = tuple[Fraction, list[tuple[int, dict[str, Any]]]]

costs = st.sampled_from([Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(1)])


def trees(depth: int) -> st.SearchStrategy[Tree]:
    if not depth:
        return st.tuples(costs, st.just([]))
    most_parts, most_partitions = (3, 2) if depth < 2 else (2, 1)
    parts = st.dictionaries(st.sampled_from("abc"), trees(depth - 1), max_size=most_parts)
    return st.tuples(costs, st.lists(st.tuples(st.integers(1, 2), parts), max_size=most_partitions))


def paid(tree: Tree, rows: int) -> Fraction:
    """The most that so many rows of a unit pay here: of every way to put each into a part or into
    none, on its own. It knows nothing of steps or of sorting."""
    own, partitions = tree
    if not rows:
        return Fraction(0)
    whole = own
    for grown, parts in partitions:
        places = [None, *parts]
        whole += max(
            sum((paid(parts[key], lie.count(key)) for key in parts), Fraction(0))
            for lie in itertools.product(places, repeat=rows * grown)
        )
    return whole


def charges(tree: Tree, rows: int, path: Path = ()) -> Iterator[tuple[tuple[str, Path], Loss]]:
    own, partitions = tree
    if own:
        yield ("people", path), Loss(Epsilon(own))
    for i, (grown, parts) in enumerate(partitions):
        for key, inside in parts.items():
            yield from charges(inside, rows * grown, (*path, Part(f"p{i}", key, rows * grown)))


@settings(max_examples=150)
@given(trees(2), st.integers(1, 2), st.randoms())
def test_a_unit_pays_the_most_that_its_rows_can_reach(tree: Tree, rows: int, random: Any) -> None:
    made = list(charges(tree, rows))
    random.shuffle(made)
    at_once = ParallelComposition().plus(made)
    assert at_once.total == Loss(Epsilon(paid(tree, rows)))
    one_by_one = ParallelComposition()
    for place, loss in made:
        half = Loss(Epsilon(loss.epsilon / 2))
        before = one_by_one.total
        one_by_one = one_by_one.plus([(place, half)]).plus([(place, half)])
        assert before.within(one_by_one.total)
    again = ParallelComposition().plus(at_once.losses.items())
    assert one_by_one.total == at_once.total == again.total
    assert one_by_one.losses == at_once.losses


@settings(max_examples=40)
@given(trees(1), st.integers(1, 4))
def test_rows_of_a_unit_reach_as_many_parts(tree: Tree, rows: int) -> None:
    assert ParallelComposition().plus(charges(tree, rows)).total == Loss(Epsilon(paid(tree, rows)))


@given(st.lists(trees(1), min_size=1, max_size=3), st.randoms())
def test_the_total_is_that_of_all_sources_however_they_grew(found: list[Tree], random: Any) -> None:
    made = [
        ((f"s{i}", path), loss)
        for i, tree in enumerate(found)
        for (_, path), loss in charges(tree, 2)
    ]
    random.shuffle(made)
    grown = ParallelComposition()
    for each in made:
        grown = grown.plus([each])
        assert grown.total == sum(grown.by_source().values(), Loss())
    total = sum((paid(tree, 2) for tree in found), Fraction(0))
    assert grown.total == ParallelComposition().plus(made).total == Loss(Epsilon(total))


def at(*path: Part) -> tuple[str, Path]:
    return "people", path


def test_each_measure_is_the_most_of_its_own() -> None:
    loss_f, loss_m = Loss(Epsilon(1), Delta(1, 100)), Loss(Epsilon(2), Delta(0), Rho(3))
    both = [(at(Part("sex", "f", 1)), loss_f), (at(Part("sex", "m", 1)), loss_m)]
    assert ParallelComposition().plus(both).total == Loss(Epsilon(2), Delta(1, 100), Rho(3))


def test_partitions_side_by_side_add_up_and_so_do_sources() -> None:
    women, nine, men = Part("sex", "f", 1), Part("age", "9", 1), Part("sex", "m", 1)
    charged = [(("a", (women,)), 1), (("b", ()), 2), (("a", (nine,)), 4), (("a", (men,)), 8)]
    spending = ParallelComposition().plus([(at, Loss(Epsilon(e))) for at, e in charged])
    assert spending.by_source() == {"a": Loss(Epsilon(12)), "b": Loss(Epsilon(2))}
    assert list(spending.by_source()) == ["a", "b"]
    assert spending.total == Loss(Epsilon(14))


def test_a_unit_of_many_rows_pays_for_all_parts() -> None:
    parts = [(at(Part("k", str(i), 2**31)), Loss(Epsilon(1))) for i in range(50)]
    assert ParallelComposition().plus(parts).total == Loss(Epsilon(50))


# --- the filter -----------------------------------------------------------------------------------

TERMS = limit(2)
DRAFT = ledgers.DRAFT._replace(loss=Loss(Epsilon(1)), scale="1", error="± 3")


def draft(epsilon: Fraction, *path: Part) -> Entry:
    return DRAFT._replace(loss=Loss(Epsilon(epsilon)), path=path)


@pytest.fixture(params=["memory", "file"])
def make(request: pytest.FixtureRequest, tmp_path: File) -> Callable[[], Store]:
    number = itertools.count()

    def made() -> Store:
        if request.param == "memory":
            return MemoryStore()
        return SqliteStore(tmp_path / f"{next(number)}.ledger", TERMS)

    return made


def test_what_a_part_may_still_ask_is_exactly_what_is_told(make: Callable[[], Store]) -> None:
    @settings(max_examples=30)
    @given(trees(2), st.integers(1, 2), st.data())
    def check(tree: Tree, rows: int, data: Any) -> None:
        ledger = Ledger(TERMS, make())
        for (_, path), loss in charges(tree, rows):
            if ledger._terms.limit and loss.epsilon <= Fraction(1, 3):
                so_far = ParallelComposition().plus(ledger._store.spending.losses.items())
                with_room = so_far.plus([(at(*path), loss)])
                if with_room.total.within(ledger._terms.limit):
                    ledger._charge(draft(loss.epsilon, *path))
        path = data.draw(st.sampled_from([path for (_, path), _ in charges(tree, rows)] or [()]))
        before = ledger._store.spending.losses
        with pytest.raises(dp.BudgetExceeded) as refusal:
            ledger._charge(draft(Fraction(5), *path))
        assert ledger._store.spending.losses == before
        rest = Fraction(refusal.value.remaining)
        assert rest >= ledger.remaining
        with pytest.raises(dp.BudgetExceeded):
            ledger._charge(draft(rest + Fraction(1, 10**9), *path))
        if rest:
            ledger._charge(draft(rest, *path))
        assert ledger.spent == 2

    check()


def test_parts_asked_at_once_are_refused_together(make: Callable[[], Store]) -> None:
    ledger = Ledger(TERMS, make())
    women, men = Part("sex", "f", 1), Part("sex", "m", 1)
    ledger._charge(draft(Fraction(2), women), draft(Fraction(1), men))
    with pytest.raises(dp.BudgetExceeded, match="ask for less at once"):
        ledger._charge(draft(Fraction(1), men), draft(Fraction(1), women))
    with pytest.raises(dp.BudgetExceeded, match="Lower epsilon= to at most 1,"):
        ledger._charge(draft(Fraction(1), men), draft(Fraction(1), men))
    with pytest.raises(dp.BudgetExceeded, match="Nothing more can be released"):
        ledger._charge(draft(Fraction(1), women))
    ledger._charge(draft(Fraction(1, 2), men), draft(Fraction(1, 2), men))
    assert ledger.spent == 2


def test_kernels_that_share_a_file_see_each_others_parts(tmp_path: File) -> None:
    one, other = (SqliteStore(tmp_path / "a.ledger", TERMS) for _ in range(2))
    women, men = Part("sex", "f", 1), Part("sex", "m", 1)
    here, there = Ledger(TERMS, one), Ledger(TERMS, other)
    for i in range(1, 5):
        here._charge(draft(Fraction(1, 4), women))
        there._charge(draft(Fraction(1, 2), men))
        assert here.spent == there.spent == Fraction(i, 2)
        assert one.spending.losses == other.spending.losses
    refusal(lambda: here._charge(draft(Fraction(1, 4), men)), "0 of 2 is left", dp.BudgetExceeded)
    assert SqliteStore(tmp_path / "a.ledger").spending.losses == one.spending.losses


def test_a_charge_that_was_rolled_back_is_forgotten(tmp_path: File, monkeypatch: Any) -> None:
    store = SqliteStore(tmp_path / "a.ledger", TERMS)
    ledger = Ledger(TERMS, store)
    ledger._charge(draft(Fraction(1, 2)))
    with monkeypatch.context() as patched:
        patched.setattr(schema, "spent_rows", lambda *_: 1 / 0)
        refusal(lambda: ledger._charge(draft(Fraction(1))), error=ZeroDivisionError)
    assert ledger.spent == Fraction(1, 2)
    ledger._charge(draft(Fraction(1, 2)))
    assert ledger.spent == 1


def test_a_charge_among_a_thousand_parts_reads_none_anew(make: Callable[[], Store]) -> None:
    store = make()
    store.add([draft(Fraction(i, 7), Part("k", str(i), 3)) for i in range(1000)], lambda *_: None)
    ledger = Ledger(PrivacyBudget(), store)
    for i in range(3):
        one_more = draft(Fraction(1, 3), Part("k", str(i * 40), 3))
        assert calls(partial(ledger._charge, one_more)) < 20 * 1000  # 9, and read anew 90


# --- private frames -------------------------------------------------------------------------------

KEYS = ["f", "m"]


def table(n: int = 60) -> pd.DataFrame:
    rows = [(i // 3, "fmx"[i * i % 7 % 3], i * 7 % 50, "abc"[: i % 4]) for i in range(n)]
    return pd.DataFrame(rows, columns=["u", "sex", "age", "tags"])


DOMAIN = {"sex": KEYS, "age": (0, 50)}


@pytest.fixture
def people() -> Any:
    dp.session(epsilon=100)
    return dp.protect(table(), name="people", domain=DOMAIN)


def of_units(max_rows: int) -> Any:
    dp.session(epsilon=100)
    return dp.protect(table(), name="visits", unit="u", max_rows=max_rows, domain=DOMAIN)


def test_parts_have_the_rows_of_their_keys(people: Any, exact: None) -> None:
    df = table()
    parts = people.partition("sex", keys=["m", "nobody", "f"])
    assert list(parts) == ["m", "nobody", "f"]
    for key, part in parts.items():
        assert part.count(epsilon=1) == (df["sex"] == key).sum()
        older = part.query("age > 20")
        assert older["age"].sum(epsilon=1) == df.query("age > 20 and sex == @key")["age"].sum()
    assert spent() == 2
    assert list(people.partition("sex")) == KEYS
    assert list(people.assign(old="age > 20").partition("old")) == [False, True]
    assert "rows where sex == 'm'" in repr(parts["m"])


def test_parts_of_several_columns(people: Any, exact: None) -> None:
    df = table()
    by_dict = people.partition(["sex", "age"], keys={"sex": KEYS, "age": [0, 7]})
    assert list(by_dict) == [("f", 0), ("f", 7), ("m", 0), ("m", 7)]
    for (sex, age), part in by_dict.items():
        assert part.count(epsilon=1) == ((df["sex"] == sex) & (df["age"] == age)).sum()
    assert spent() == 1
    by_list = people.partition(["sex", "age"], keys=[("f", 7)])
    assert list(by_list) == [("f", 7)]
    assert "(sex, age) == ('f', 7)" in repr(by_list["f", 7])


@pytest.mark.parametrize("by", ["n", "name", ["name", "n"]])
def test_a_group_among_many_keys_is_found_as_fast_as_among_few(by: Any) -> None:
    """Each key that is looked at is a call: of a hundred times as many none more."""
    rows = pd.DataFrame({"n": [1, 2], "name": ["1", "2"]})
    made = []
    for keys in (range(10), range(1000)):
        several = [(str(i), i) for i in keys]
        known = list(keys) if by == "n" else list(map(str, keys)) if by == "name" else several
        groups = dp.private(rows, unit="row").groupby(by, keys=known)
        made.append(calls(partial(groups.get_group, known[7])))
    assert abs(made[1] - made[0]) < 100  # a call for each key would be 1,000 and more


def test_a_group_of_a_new_groupby_is_found_as_fast_among_declared_keys() -> None:
    """As in a loop of ``frame.groupby("n").get_group(i)``."""
    rows, made = pd.DataFrame({"n": [1, 2]}), []
    for keys in (range(10), range(1000)):
        p = dp.protect(rows.copy(), f"of {len(keys)}", domain={"n": list(keys)})
        p.groupby("n").get_group(7)
        made.append(calls(lambda p=p: p.groupby("n").get_group(7)))
    assert abs(made[1] - made[0]) < 100


def test_a_group_is_found_by_what_its_key_means(exact: None) -> None:
    cells = {"k": [1, 2.5, "a", pd.Timestamp("2026-01-01")], "s": ["x", "y", "x", "y"]}
    p = dp.private(pd.DataFrame({n: pd.Series(c, dtype=object) for n, c in cells.items()}))
    groups = p.groupby("k", keys=[2.5, 1, "a"])
    assert [groups.get_group(k).count(epsilon=9) for k in (True, 1.0, 2.5, "a")] == [1] * 4
    assert "'a'" in repr(groups.get_group("a"))
    both = p.groupby(["k", "s"], keys=[(1, "x"), (2, "y")])
    assert both.get_group((1.0, "x")).count(epsilon=9) == 1
    for wrong in (3, "1", None, [1], ("a",) * 2):
        refusal(partial(groups.get_group, wrong), "isn't among the declared keys")
    copied = pickle.loads(pickle.dumps(groups._groups.keys))
    assert copied == groups._groups.keys
    assert "places" not in vars(copied)


class Name:
    """A name that is compared by a call."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Name) and self.number == other.number

    def __hash__(self) -> int:
        return hash(self.number)


def test_names_of_columns_are_compared_in_linear_time() -> None:
    names = [Name(i) for i in range(500)]
    figures = [Figure(name, "mean", "mean") for name in names]
    columns = GroupLabels(as_columns=True)
    for action in (
        partial(_named_once, names), partial(_checked, figures),
        partial(columns.clash, names, [Name(-1 - i) for i in range(500)]),
    ):  # fmt: skip
        assert calls(action) < 20 * 500  # pair by pair they are 125,000 and more
    refusal(lambda: _named_once([*names, names[3]]), "several columns have the same name")
    refusal(lambda: _checked([*figures, figures[3]]), "agg names 'mean' twice")
    assert columns.clash(names, [names[3]]) is names[3]


def test_parts_by_periods(exact: None) -> None:
    dp.session(epsilon=10)
    days = pd.DataFrame({"when": pd.date_range("2026-01-01", periods=90, freq="D")})
    ends = (pd.Timestamp("2026-01-01"), pd.Timestamp("2026-03-01"))
    by = pd.Grouper(key="when", freq="MS")
    parts = dp.protect(days, name="days").partition(by, range=ends)
    assert [part.count(epsilon=1) for part in parts.values()] == [31, 28, 31]
    assert spent() == 1


def test_the_dearest_part_counts_interleaved(people: Any) -> None:
    women, men = people.partition("sex", keys=KEYS).values()
    women.count(epsilon=1)
    men["age"].mean(epsilon=0.5)
    assert spent() == 1
    women.groupby("age", keys=[1, 2]).size(epsilon=0.5)
    assert spent() == Fraction(3, 2)
    men.query("age > 30")["age"].quantile(0.5, epsilon=1)
    men[men["age"] < 9][["age"]].sum(epsilon=1)
    assert spent() == Fraction(5, 2)
    people.count(epsilon=1)
    assert spent() == Fraction(7, 2)
    assert dp.ledger().by_source() == {"people": Fraction(7, 2)}
    assert dp.ledger().to_frame()["epsilon"].sum() == 5
    places = {entry.path for entry in dp.ledger()._entries()}
    assert places == {(), women._table.path, men._table.path}


def test_the_same_partition_made_again_is_the_same(people: Any) -> None:
    for frame in (people, people.query("age > 3"), people.rename(columns={"sex": "gender"})):
        by = "gender" if "gender" in frame else "sex"
        women, _ = frame.partition(by, keys=KEYS).values()
        _, men = frame.partition(by, keys=KEYS).values()
        women.count(epsilon=1, fresh=True)
        men.count(epsilon=1, fresh=True)
    assert len({entry.path[0].partition.split()[-1] for entry in dp.ledger()._entries()}) == 1


@pytest.mark.parametrize("other", [
    *[lambda p, keys=keys: p.partition("sex", keys=keys)
      for keys in (["f"], ["m", "f"], [*KEYS, "x"])],
    lambda p: p.assign(sex=lambda p: p["sex"].str.strip()).partition("sex", keys=KEYS),
    lambda p: p.partition(["sex", "age"], keys=[("f", 7), ("m", 8)]),
    lambda p: dp.concat([p, p]).partition("sex", keys=KEYS),
    lambda p: p.explode("tags", max_items=2).partition("sex", keys=KEYS),
])  # fmt: skip
def test_other_partitions_add_up(people: Any, other: Callable[[Any], Any]) -> None:
    for part in people.partition("sex", keys=KEYS).values():
        part.count(epsilon=1)
    next(iter(other(people).values())).count(epsilon=1)
    assert spent() == 2


def test_masks_add_up(people: Any) -> None:
    for sex in KEYS:
        people[people["sex"] == sex].count(epsilon=1)
        people.query(f"sex == '{sex}' and age >= 0").count(epsilon=1)
    assert spent() == 4


def test_another_version_is_another_partition(tmp_path: File) -> None:
    dp.session(epsilon=9, store=tmp_path / "a.ledger")
    for version, key in (("1", "f"), ("2", "m")):
        df = table().assign(age=int(version))
        if version == "2":
            anew(store=tmp_path / "a.ledger")
        p = dp.protect(df, name="people", version=version, domain=DOMAIN)
        p.partition("sex", keys=KEYS)[key].count(epsilon=1)
    assert spent() == 2


@pytest.mark.parametrize(("unit", "changes"), [("who", True), (None, False)])
def test_how_lists_are_read_is_part_of_the_name(
    unit: Any, changes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where other limits of cells could send a row to another part, or keep another of a unit."""
    df = pd.DataFrame({"who": [1, 2], "city": ["Rome", "Oslo"], "tags": [["a"], []]})

    def name() -> str:
        anew(epsilon=1)
        rows = None if unit is None else 1
        p = dp.protect(df.copy(), "d", unit, rows, version="1", kinds={"tags": "list"})
        (part,) = p.partition("city", keys=["Rome"])["Rome"]._table.path
        return part.partition

    before = name()
    assert name() == before
    monkeypatch.setattr(query, "_LISTS", "lists@3")
    assert (name() != before) == changes


def test_parts_are_the_same_after_a_restart_and_answers_are_given_again(tmp_path: File) -> None:
    def ask(key: str) -> Any:
        dp.session(epsilon=9, store=tmp_path / "a.ledger")
        p = dp.protect(table(), name="people", version="1", domain=DOMAIN)
        answer = p.partition("sex", keys=KEYS)[key].count(epsilon=1)
        entries, paid = dp.ledger()._entries(), spent()
        dp.reset()
        return answer, entries, paid

    women, _, _ = ask("f")
    assert ask("m")[2] == 1
    again, entries, paid = ask("f")
    assert (again, paid, entries[-1].status) == (women, 1, "replayed")


def test_a_partition_without_a_name_adds_up(people: Any) -> None:
    source = replace(people._table.source, made=None)
    frame = type(people)(replace(people._table, source=source), people._columns)
    for _ in range(2):
        for part in frame.partition("sex", keys=KEYS).values():
            part.count(epsilon=1)
    assert spent() == 2


def test_units_of_several_rows_pay_for_as_many_parts() -> None:
    parts = of_units(max_rows=2).partition("sex", keys=[*KEYS, "x"])
    for epsilon, part in zip((1, 2, 4), parts.values(), strict=True):
        part.count(epsilon=epsilon)
    assert spent() == 6


def test_what_rows_become_in_a_part_lies_in_that_part() -> None:
    women, men = of_units(max_rows=2).partition("sex", keys=KEYS).values()
    for part in (women, men):
        long = part.explode("tags", max_items=3)
        long["tags"].value_counts(keys=["a", "b"], epsilon=1)
        dp.concat([part, part.query("age > 3")]).count(epsilon=1)
    assert spent() == 4
    assert long._table.path == men._table.path
    assert long.partition("tags", keys=list("abc"))["a"]._table.path[1].rows == 6


def test_rows_that_became_several_before_reach_several_parts(people: Any) -> None:
    for part in people.explode("tags", max_items=2).partition("age", keys=[1, 2, 3]).values():
        part.count(epsilon=1)
    assert spent() == 2


def test_concat_is_charged_where_all_its_rows_lie(people: Any) -> None:
    women, men = people.partition("sex", keys=KEYS).values()
    young, old = women.assign(old="age > 20").partition("old").values()
    inner = [each.drop(columns=["old"]) for each in (young, old)]
    assert dp.concat([women, men])._table.path == ()
    assert dp.concat([women, people])._table.path == ()
    assert dp.concat(inner)._table.path == women._table.path
    assert dp.concat([inner[0], inner[0]])._table.path == young._table.path
    dp.concat([women, men]).count(epsilon=1)
    dp.concat(inner).count(epsilon=2)
    men.count(epsilon=3)
    assert spent() == 4


def test_columns_and_masks_of_other_parts_are_refused(people: Any) -> None:
    women, men = people.partition("sex", keys=KEYS).values()
    for wrong in (
        lambda: women[men["age"] > 3], lambda: people[women["age"] > 3],
        lambda: people.assign(x=women["age"]), lambda: women.assign(x=men["age"]),
        lambda: women["age"] + men["age"],
        lambda: women["age"].mean(weights=men["age"], weight_bounds=(0, 9)),
        lambda: people["age"].sum(weights=women["age"], weight_bounds=(0, 9)),
        lambda: dp.crosstab(women["sex"], men["age"], keys={"sex": KEYS, "age": [1]}),
    ):  # fmt: skip
        refusal(wrong, error=(QueryError, LineageError))
    women[people["age"] > 3].count(epsilon=1)  # fewer rows of the same part
    men.assign(x=people["age"])["x"].mean(bounds=(0, 9), epsilon=1)
    assert spent() == 1


def test_a_row_for_each_unit_of_a_part_is_charged_to_the_whole() -> None:
    """Of its rows max_rows drops some, and per_unit reads them: they may lie in any part."""
    visits = of_units(max_rows=1)
    for part in visits.partition("sex", keys=KEYS).values():
        rows = part.per_unit().agg(n="size")
        assert rows._table.path == ()
        rows["n"].mean(bounds=(0, 9), epsilon=1)
    assert spent() == 2
    for part in visits.per_unit().agg(n="size").partition("n", keys=[1, 2, 3]).values():
        part.count(epsilon=1)
    assert spent() == 3
    truncated = visits.partition("sex", keys=KEYS)["f"].truncation_shares(counted=4, epsilon=1)
    assert truncated.index.tolist() == ["kept", "dropped"]
    assert dp.ledger()._entries()[-1].path == ()


def test_the_unit_column_can_part_rows_and_stays_within_reach() -> None:
    parts = of_units(max_rows=2).partition("u", keys=[0, 1, 2])
    for part in parts.values():
        part["u"].nunique(epsilon=1)
    assert spent() == 2  # as for any other column: a unit may lie in max_rows parts
    refusal(lambda: parts[0].assign(u=1), error=LineageError)


def test_strict_sessions_part_what_is_verified() -> None:
    dp.session(epsilon=3, strict=True)
    p = dp.protect(table(), name="people", domain=DOMAIN)
    for part in p.partition("sex").values():
        part.count(epsilon=1)
    assert spent() == 1


@pytest.mark.parametrize(("wrong", "error", "says"), [
    (lambda p: table().dp.partition("sex", keys=KEYS), LineageError, "charged in parallel"),
    (lambda p: dp.private(table(), unit="u", max_rows=1).partition("sex", keys=KEYS),
     LineageError, "verified frame"),
    (lambda p: p.partition("sex", keys=["f", "f"]), QueryError, "one label twice"),
    (lambda p: p.partition("age", keys=[1, True]), QueryError, "one label twice"),
    (lambda p: p.partition("age", keys=[1, 1.0]), QueryError, "one label twice"),
    (lambda p: p.partition("age", keys=[1, np.nan]), QueryError, "missing values"),
    (lambda p: p.partition("age", keys=[]), QueryError, "empty"),
    (lambda p: p.partition("age", keys="f"), QueryError, "list of labels"),
    (lambda p: p.partition("sex", keys=[1, 2]), QueryError, "declares texts"),
    (lambda p: p.partition("tags"), MissingArgument, "keys= is needed"),
    (lambda p: p.partition("nothing", keys=[1]), UnknownColumn, "nothing"),
    (lambda p: p.partition([], keys=[1]), QueryError, "partition needs at least one"),
    (lambda p: p.partition(["sex", "sex"], keys=[("f", "m")]), QueryError, "twice"),
    (lambda p: p.partition("sex", keys=KEYS, epsilon=1), QueryError, "epsilon"),
])  # fmt: skip
def test_what_can_not_part_rows_is_refused(people: Any, wrong: Any, error: Any, says: str) -> None:
    refusal(lambda: wrong(people), says, error)


@pytest.mark.parametrize(("values", "keys"), [
    (pd.Series([2.0**53, 2.0**53, 1.0]), [2**53, 2**53 + 1]),
    (pd.Series([2**53, 2**53 + 1, 1]), [2**53, 2**53 + 1, 2.0**53 + 2]),
    (pd.Series([2**53 + 1, 2.0**53, True, "1"], dtype=object), [2**53, 2**53 + 1, 1, "1"]),
    (pd.Series(["a", None, "b"], dtype="category"), ["a", "b"]),
    (pd.Series(pd.to_datetime(["2026-01-01", "2026-01-02"])),
    [pd.Timestamp("2026-01-01"), pd.Timestamp("2026-01-01", tz="UTC"), "2026-01-02"]),
])  # fmt: skip
def test_no_row_lies_in_two_parts(values: pd.Series, keys: list[Any], exact: None) -> None:
    dp.session(epsilon=100)
    for i in range(len(values)):
        one = dp.protect(values.iloc[[i]].to_frame("x"), name=f"row {i}")
        assert sum(part.count(epsilon=1) for part in one.partition("x", keys=keys).values()) <= 1


# --- whom a release can tell of -------------------------------------------------------------------


def scripts() -> dict[str, Callable[[Any], Iterator[Any]]]:
    """What somebody asks: counts, of which those that one unit moves are those that it pays for."""

    def flat(p: Any) -> Iterator[Any]:
        yield from p.partition("sex", keys=["f", "m", "x"]).values()

    def nested(p: Any) -> Iterator[Any]:
        for part in p.partition("sex", keys=KEYS).values():
            yield part
            yield from part.partition("age", keys=list(range(0, 50, 7))).values()

    def long(p: Any) -> Iterator[Any]:
        frames = [p.assign(old=p["age"] > limit) for limit in (10, 20, 30)]
        yield from dp.concat(frames).partition("old").values()

    def branched(p: Any) -> Iterator[Any]:
        for part in p.partition("sex", keys=KEYS).values():
            inner = part.assign(tag=lambda p: p["tags"].str.split("")).explode("tag", max_items=3)
            yield from inner.partition("tag", keys=["", "a", "b"]).values()

    def both(p: Any) -> Iterator[Any]:
        women, men = p.partition("sex", keys=KEYS).values()
        yield from (women, men, dp.concat([women, men]))

    def joined(p: Any) -> Iterator[Any]:
        women, _ = p.partition("sex", keys=KEYS).values()
        twice = dp.concat([women.assign(k=1), women.assign(k="age > 20")])
        yield from twice.partition("k", keys=[0, 1]).values()
        yield from women.partition("age", keys=[0, 7, 14]).values()

    def units(p: Any) -> Iterator[Any]:
        for part in p.partition("sex", keys=["f", "m", "x"]).values():
            yield part.per_unit().agg(n="size")
        yield from p.per_unit().agg(n="size").partition("n", keys=[1, 2, 3]).values()

    return {f.__name__: f for f in (flat, nested, long, branched, both, joined, units)}


@pytest.mark.parametrize("max_rows", [1, 2, 3])
@pytest.mark.parametrize("name", scripts())
def test_no_unit_moves_more_than_the_ledger_says(
    name: str, max_rows: int, exact: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entropy, "key", lambda: b"k" * 16)  # the same rows kept beside neighbours
    df = table(36)

    def counted(rows: pd.DataFrame) -> tuple[list[int], Fraction]:
        anew(epsilon=1000)
        p = dp.protect(rows.copy(), name="visits", unit="u", max_rows=max_rows, domain=DOMAIN)
        found = [int(part.count(epsilon=1 + i % 3)) for i, part in enumerate(scripts()[name](p))]
        return found, spent()

    whole, paid = counted(df)
    most = 0
    for unit in df["u"].unique():
        without, _ = counted(df[df["u"] != unit])
        reached = [1 + i % 3 for i, (a, b) in enumerate(zip(whole, without, strict=True)) if a != b]
        most = max(most, sum(reached))
    assert 0 < most <= paid


# --- an auditor's look ----------------------------------------------------------------------------


@contextmanager
def answering(answers: list[int]) -> Iterator[list[float]]:
    """Each release gives the next of these answers; the log of the probability with which it would,
    by the exact law of discrete Laplace noise, is noted."""
    logs: list[float] = []

    def law(query: Any, mechanism: Any, exact: Any) -> list[int]:
        answer, rate = answers[len(logs)], 1 / float(mechanism.scale)
        norm = math.log(-math.expm1(-rate)) - math.log1p(math.exp(-rate))
        logs.append(norm - rate * abs(answer - int(exact[0])))
        return [answer]

    with watching(law):
        yield logs


def interrogate(rows: pd.DataFrame, answers: list[int]) -> tuple[list[float], Fraction]:
    """An adaptive analyst: what is asked next, of whom and at which ε, follows from the answers."""
    anew(epsilon=2)
    p = dp.protect(rows, name="people")
    women, men = p.partition("sex", keys=KEYS).values()
    with answering(answers) as logs:
        women.count(epsilon=0.5)
        after = answers[0]
        men.count(epsilon=1 if after > 0 else 0.25)
        (women if answers[1] > after else men).count(epsilon=0.75, fresh=True)
        asked = p if answers[2] == 0 else men if answers[2] > 0 else women
        try:
            asked.count(epsilon=1, fresh=True)
        except dp.BudgetExceeded:
            logs.append(0.0)
    return logs, spent()


def test_adaptive_interleaved_parts_keep_what_the_ledger_says() -> None:
    """Exactly, for every transcript: its log-likelihood ratio is at most what is spent on it."""
    without = pd.DataFrame({"sex": KEYS, "age": [1, 2]})
    grown = [pd.concat([without, pd.DataFrame({"sex": [sex], "age": [3]})]) for sex in "fmx"]
    ratios = []
    for answers in itertools.product(range(-1, 3), repeat=4):
        for with_one in grown:
            logs, paid = interrogate(without, list(answers))
            others, also = interrogate(with_one, list(answers))
            assert paid == also <= 2
            ratio = abs(sum(logs) - sum(others))
            assert ratio <= paid + Fraction(1, 10**9)
            ratios.append((ratio, float(paid)))
    # some transcript costs its unit all that the ledger says
    assert abs(max(ratio - paid for ratio, paid in ratios)) < 1e-9
    assert any(paid == 2 for _, paid in ratios)


# --- groups of units ------------------------------------------------------------------------------


def test_groups_pay_k_times_epsilon(people: Any) -> None:
    for part in people.partition("sex").values():
        part.count(epsilon=0.5)
    assert dp.ledger().for_group(1) == dp.ledger().loss == Loss(Epsilon("0.5"))
    assert dp.ledger().for_group(np.int64(4)) == Loss(Epsilon(2))


def test_groups_pay_a_delta_that_grows_by_powers() -> None:
    dp.session(epsilon=3, delta=1e-5)
    table().dp.count(epsilon=1, delta=1e-6, mechanism="gaussian")
    one = dp.ledger().loss
    assert dp.ledger().for_group(1) == one
    group = dp.ledger().for_group(3)
    told = float(one.delta) * (1 + math.e + math.e**2)
    assert group.epsilon == 3 * one.epsilon
    assert told * (1 - 1e-13) <= float(group.delta) <= told * (1 + 1e-13)
    assert dp.ledger().for_group(10**6).delta == 1


@given(
    st.fractions(min_value=0, max_value=3, max_denominator=50),
    st.fractions(min_value=Fraction(1, 10**9), max_value=Fraction(1, 100)),
    st.integers(1, 20),
)
def test_the_delta_of_a_group_is_a_sum_of_powers(e: Fraction, d: Fraction, k: int) -> None:
    told = float(d) * sum(math.exp(float(e) * i) for i in range(k))
    found = float(delta_for_group(e, d, k))
    assert found == 1 if told > 1.001 else abs(found - told) <= 1e-12 * told or told > 0.999
    assert found <= 1


def test_groups_of_a_session_that_counts_rho() -> None:
    dp.session(rho=0.5, delta=1e-6, delta_releases=1e-7)
    df = table()
    df.dp.count(rho=0.1)
    assert dp.ledger().for_group(3) == Loss(rho=Rho("0.9"))
    df.dp["sex"].value_counts(epsilon=0.1, delta=1e-8)
    whole = dp.session().epsilon
    group = dp.ledger().for_group(2)
    assert group.rho == 0
    assert group.epsilon == 2 * whole
    told = float(dp.session()._terms.all_delta) * (1 + math.exp(float(whole)))
    assert abs(float(group.delta) - told) < 1e-12 * told + 1e-15


@pytest.mark.parametrize("bad", [0, -1, 1.5, 2.0, True, None, "2", float("nan")])
def test_a_group_has_a_whole_number_of_units(people: Any, bad: Any) -> None:
    refusal(lambda: dp.ledger().for_group(bad), "k=.* must be a whole number, 1 or more")
