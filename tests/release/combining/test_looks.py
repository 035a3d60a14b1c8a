"""An answer bought until its error suffices: laws, what is fixed beforehand, charges, refusals."""

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from operations import spent
from refusals import refusal

import dppandas as dp
from dppandas.errors import QueryError
from dppandas.privacy.accuracy.combined import CombinedNoise, NoiseAtLook
from dppandas.privacy.mechanisms.noise import DiscreteGaussian, DiscreteLaplace
from dppandas.release import release
from dppandas.release.combining import looks

# --- the law --------------------------------------------------------------------------------------


def pmf(law: Any) -> tuple[np.ndarray, np.ndarray]:
    """All of a law but 1e-12, from its definition."""
    if isinstance(law, DiscreteLaplace):
        reach = math.ceil(28 * law.scale) + 2
        z, a = np.arange(-reach, reach + 1), math.exp(-1 / law.scale)
        return z, (1 - a) / (1 + a) * a ** np.abs(z)
    reach = math.ceil(7.5 * math.sqrt(law.sigma2)) + 2
    z = np.arange(-reach, reach + 1)
    weights = np.exp(-(z**2) / (2 * float(law.sigma2)))
    return z, weights / weights.sum()


def missing(joints: list[CombinedNoise], confidence: float, entries: int) -> float:
    """P[the joined noise of some look is beyond its half-width], of one entry, by enumeration."""
    laws = joints[-1].laws
    missed: Any = np.zeros((1,) * len(laws), dtype=bool)
    chance: Any = np.ones((1,) * len(laws))
    grids = []
    for axis, law in enumerate(laws):
        z, p = pmf(law)
        shape = [-1 if i == axis else 1 for i in range(len(laws))]
        grids.append(z.reshape(shape))
        chance = chance * p.reshape(shape)
    for joint in joints:
        total = sum(joint.weights)
        x = sum((w * z for w, z in zip(joint.weights, grids, strict=False)), np.zeros(1))
        w = joint.half_width(confidence, entries)
        # what is rounded to whole numbers may be rounded the worse way at a half
        missed = missed | (2 * abs(x) >= total * (2 * w + 1) if joint.whole else abs(x) > total * w)
    return float((missed * chance).sum())


def series(scale: Fraction, number: int, kind: Any = DiscreteLaplace) -> list[Any]:
    """Each look costs as much as all before it."""
    return [kind(scale / t) for t in [2 ** max(0, i - 1) for i in range(number)]]


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("kind", [DiscreteLaplace, DiscreteGaussian])
@pytest.mark.parametrize(("number", "scale"), [(2, 4), (3, 2)])
def test_the_intervals_of_all_looks_hold_together(
    number: int, scale: int, kind: Any, whole: bool
) -> None:
    """By the exact law of all noises. An interval that misses at one look is found by whoever stops
    there, however that is chosen: so this bounds every rule of stopping."""
    laws = series(Fraction(scale), number, kind)
    for confidence, entries in itertools.product((0.5, 0.8, 0.95), (1, 4)):
        found = [NoiseAtLook.after(laws[:j], whole, entries, number) for j in range(1, number + 1)]
        alone = missing(found, confidence, entries)
        # entries are independent: all hold with the product of their chances
        assert 1 - (1 - alone) ** entries <= 1 - confidence + 1e-9


def test_without_levels_whoever_stops_at_a_miss_finds_more_than_stated() -> None:
    """What was found: three looks, each read as if it were alone, miss in 7.7 % and not in 5."""
    laws = series(Fraction(2), 3)
    assert missing([CombinedNoise.of(laws[:j], False, 1) for j in (1, 2, 3)], 0.95, 1) > 0.077
    found = [NoiseAtLook.after(laws[:j], False, 1, 3) for j in (1, 2, 3)]
    assert 0.02 < missing(found, 0.95, 1) <= 0.05  # and not by being far too wide


@given(st.integers(1, looks.MOST), st.floats(0.01, 0.999999))
def test_the_parts_of_the_risk_add_up_to_all_of_it(number: int, confidence: float) -> None:
    law = DiscreteLaplace(Fraction(5))
    found = [NoiseAtLook.after([law] * j, True, 1, number) for j in range(1, number + 1)]
    assert sum(look.share for look in found) == 1
    for look in found:
        exact = 1 - (1 - Fraction(confidence)) * look.share
        assert exact <= Fraction(look._surer(confidence)) <= exact + Fraction(1, 10**14)
    if number == 1:
        assert found[0].half_width(confidence) == law.half_width(confidence)


def test_a_confidence_beyond_floats_is_refused() -> None:
    look = NoiseAtLook.after([DiscreteLaplace(Fraction(5))] * 12, True, 1, 12)
    refusal(lambda: look.half_width(math.nextafter(1, 0)), "too near to 1")


def test_sums_over_cells_are_read_at_the_level_of_the_look() -> None:
    laws = [DiscreteLaplace(Fraction(5))] * 2
    look, joint = NoiseAtLook.after(laws, True, 1, 3), CombinedNoise.of(laws, True, 1)
    share = float(look.share)
    assert share == pytest.approx(2 / 9)
    assert look.half_width_of_sum(0.05, 9) >= joint.half_width_of_sum(0.05 * share, 9)
    assert look.half_width_of_sum(0.05, 9) > joint.half_width_of_sum(0.05, 9)


# --- what is bought -------------------------------------------------------------------------------

ROWS = 2000


def table() -> pd.DataFrame:
    labels, when = list("abcd") * (ROWS // 4), pd.Timestamp("2020-06-01", tz="UTC")
    return pd.DataFrame({"a": [i % 7 for i in range(ROWS)], "g": labels, "when": when})


DOMAIN = {"a": (0, 10), "g": list("abcd"), "when": ("2020-01-01", "2021-01-01")}


def people(**terms: Any) -> Any:
    return dp.protect(table(), name="people", domain=DOMAIN, **terms)


def losses() -> list[Fraction]:
    return [e.loss.rho or e.loss.epsilon for e in dp.ledger()._entries() if e.status == "released"]


def hopeful(record: dp.types.Record) -> dp.types.Record:
    """The same, told of 300,000 rows: a plan by it is far too cheap."""
    return replace(record, _noisy=tuple(max(1, abs(x)) * 150 for x in record._noisy))


def test_of_a_count_one_look_at_the_least_loss_is_enough() -> None:
    n = people().count(epsilon=0.1)
    known = n.refine(until=10, looks=9)
    record = dp.record(known)
    assert known.error() == record.errors() == 10
    assert (record.epsilon, losses()) == (Fraction("0.285"), [Fraction("0.1"), Fraction("0.285")])
    assert record.mechanism == "look 1 of at most 1"
    assert known.interval() == (known - 10, known + 10)
    assert type(known) is type(n)
    with pytest.raises(AssertionError):  # the next lower loss would not do
        assert DiscreteLaplace.calibrate(1, Fraction("0.284")).half_width(0.95) <= 10


def test_a_mean_is_planned_by_what_is_known_and_looked_at_until_it_suffices() -> None:
    known = people()["a"].mean(epsilon=0.1).refine(until=0.02)
    record = dp.record(known)
    first = losses()[1]
    assert first < 3  # ε = 1 told it within 0.03 or so
    assert losses()[1:] in ([first], [first, first], [first, first, 2 * first])
    assert known.error() <= 0.02 or len(record.components) == 3
    for j in range(1, len(record.components)):  # none before was enough
        assert looks._joined(record.components[:j], 3).error() > 0.02
    assert record.loss.epsilon == sum(losses()[1:])
    low, high = known.interval()
    assert low <= known <= high
    assert max(high - known, known - low) == known.error()


def test_losses_double_and_it_ends_after_the_last_look() -> None:
    known = hopeful(dp.record(people()["a"].mean(epsilon=0.1))).refine(until=0.0005, looks=4)
    first = losses()[1]
    assert losses()[1:] == [first, first, 2 * first, 4 * first]
    record = dp.record(known)
    assert record.mechanism == "look 4 of at most 4"
    assert [part.loss.epsilon for part in record.components] == losses()[1:]
    assert record.epsilon == 8 * first
    assert known.error() > 0.001


def test_it_ends_at_the_first_look_that_suffices() -> None:
    m = dp.record(people()["a"].mean(epsilon=0.1))
    doubtful = replace(m, _noisy=tuple(x // 20 for x in m._noisy))  # told of a hundred rows
    known = doubtful.refine(until=1, looks=8)
    assert (len(losses()), known.error() < 1) == (2, True)
    assert dp.record(known).mechanism == "look 1 of at most 8"


def test_what_made_somebody_ask_is_not_joined_and_no_draw_was_seen_before() -> None:
    """Whoever says until= has seen the answer, and others at the same loss perhaps."""
    p = people()
    n = p.count(epsilon=0.1)
    seen = [p.count(epsilon="0.285", fresh=True) for _ in range(3)]
    known = n.refine(until=10)
    assert [part.number for part in dp.record(known).components] == [5]
    assert 5 not in [dp.record(each).number for each in (n, *seen)]
    # another series is of other draws, and a plain query of none of them
    assert dp.record(seen[0].refine(until=9)).components[0].number == 6
    assert dp.record(n.refine(until=10, confidence=0.9)).components[0].number == 7
    assert dp.record(p.count(epsilon="0.285")).number == 2
    again = known.refine(until=9)  # once more: another answer
    assert dp.record(again).components[0].number == 8


def test_what_is_near_enough_is_kept_and_costs_nothing() -> None:
    """Of a mean the answer decides its error: it can't stand for looks, so the caller keeps it."""
    p = people()
    n, m = p.count(epsilon=0.1), p["a"].mean(epsilon=1)
    before = spent()
    assert n.refine(until=n.error()) == dp.record(n).refine(until=50) == n
    refusal(lambda: m.refine(until=1), r"is within 0\.0\d+ already.*Keep it")
    known = n.refine(until=10)
    assert known.refine(until=10) == known
    with dp.preview() as plan:
        assert n.refine(until=30) == n
    assert plan.to_frame().empty
    assert spent() - before == Fraction("0.285")
    n.refine(until=50, fresh=True)  # whoever asks for another draw gets one
    m.refine(until=1, fresh=True)
    assert spent() - before > Fraction("0.285")


def some(p: Any, label: str) -> Any:
    """A column that goes with another one in a part of the rows: a correlation of 1 is at an end,
    where noise may leave an interval nothing, and then it is wider than at a higher confidence."""
    return p["a"].where(p["g"] == label, 0)


#: What readers of a law make errors and intervals of, each in a way of its own.
READ: dict[str, Callable[[Any], Any]] = {
    "count": lambda p: p.count(),
    "mean": lambda p: p["a"].mean(),
    "std": lambda p: p["a"].std(),
    "group means": lambda p: p.groupby("g")["a"].mean(),
    "margins": lambda p: p.crosstab("g", "a", keys={"a": [0, 1]}, margins=True),
    "shares": lambda p: p["g"].value_counts(normalize=True),
    "cov": lambda p: p.assign(b=p["a"] * 2)[["a", "b"]].cov(),
    "corr": lambda p: p.assign(b=some(p, "a"))[["a", "b"]].corr(),
    "corr of complete rows": lambda p: p.assign(b=some(p, "a"), c=some(p, "b"))[
        ["a", "b", "c"]
    ].corr(dropna=True),
    "cov of a pair": lambda p: p["a"].cov(p["a"] * 2),
}


WHOLE = ("count", "margins", "shares")


@pytest.mark.parametrize("name", READ)
@pytest.mark.parametrize("loss", ["epsilon", "rho"])
def test_whoever_reads_a_look_reads_it_at_its_level(name: str, loss: str) -> None:
    """As the same noise is read by itself, with so much more confidence: an interval of the third
    of three looks that took all the risk would be narrower, and miss too often."""
    dp.session(**{loss: 100}, **({"delta": 1e-6} if loss == "rho" else {}))
    # so much noise that whole numbers tell levels apart, or so little that nothing meets its end
    much = {"epsilon": "0.05", "rho": "0.005"}[loss] if name in WHOLE else "1"
    record = dp.record(READ[name](people()).release(**{loss: much}))
    laws = [record._law] * 3
    whole, size = record._layout.integer, record._statistic.size
    look, joint = NoiseAtLook.after(laws, whole, size, 3), CombinedNoise.of(laws, whole, size)
    found, wide, all_of_it = (
        np.array(record._statistic.errors.errors_at(record._noisy, law, confidence))
        for law, confidence in (
            (look, 0.95), (joint, 1 - 0.05 * float(look.share) * 1.01), (joint, 0.95))
    )  # fmt: skip
    told = wide > 0  # a correlation of a column with itself is 1
    assert told.any()
    assert (found[told] >= wide[told]).all()
    assert (found[told] > all_of_it[told]).any()


def test_asked_again_it_is_free_and_fresh_draws_anew() -> None:
    m = people()["a"].mean(epsilon=0.1)
    known = m.refine(until=0.05)
    paid, entries = spent(), dp.ledger()._count()
    assert m.refine(until=0.05) == known
    assert known == dp.record(m).refine(until=0.05, looks=3, confidence=0.95)
    assert dp.record(m).refine(until=0.05, at_most=1e-3) == known  # of no replay is that asked
    assert (spent(), losses()) == (paid, losses())
    m.refine(until=0.05, fresh=True)
    assert spent() > paid
    assert dp.ledger()._count() > entries


def test_a_notebook_run_again_after_a_restart_replays_all(tmp_path: Path) -> None:
    answers = []
    for _ in range(2):
        dp.session(epsilon=50, store=tmp_path / "a.ledger")
        m = people(version="1")["a"].mean(epsilon=0.1)
        answers.append((m.refine(until=0.05, looks=2), spent()))
        dp.reset()
    assert answers[0] == answers[1]


def test_tables_keep_it_together() -> None:
    p = people()
    means = p.groupby("g")["a"].mean(epsilon="0.1")
    known = dp.record(means).refine(until=0.5, looks=5)
    assert (dp.record(known).errors() <= 0.5).all()
    assert known.index.equals(means.index)
    first = dp.record(p["g"].value_counts(epsilon=0.5))
    assert (dp.record(first.refine(until=3)).errors() == 3).all()
    both = p.crosstab("g", "a", keys={"a": [0, 1]}, margins=True, epsilon=1)
    sums = dp.record(dp.record(both).refine(until=5))
    assert (sums.mechanism, sums.errors().max().max() <= 5) == ("look 1 of at most 1", True)


def test_of_times_until_is_a_duration() -> None:
    when = people()["when"].mean(epsilon=0.1)
    day = pd.Timedelta("1D")
    assert dp.record(when.refine(until=day, looks=4)).errors() <= day
    refusal(lambda: when.refine(until=3), r"until= can't be promised .*: give a pd.Timedelta")
    refusal(lambda: when.refine(until=-day), r"until=.* must be a positive duration")


def test_rho_is_counted() -> None:
    dp.session(rho=100, delta=1e-6)
    known = dp.record(hopeful(dp.record(people()["a"].mean(rho=1))).refine(until=3e-5))
    first = losses()[1]
    assert losses()[1:] == [first, first, 2 * first]
    assert known.loss.rho == 4 * first
    assert {part.mechanism for part in known.components} == {"discrete Gaussian"}


def test_a_delta_is_for_each_look() -> None:
    dp.session(epsilon=100, delta=1e-5)
    known = dp.record(people().count(epsilon=1).refine(until=2, mechanism="gaussian", delta=1e-6))
    assert (known.loss.delta, known.error()) == (Fraction(1, 10**6), 2)


# --- budget, preview, split -----------------------------------------------------------------------


def test_a_budget_that_cant_pay_for_all_looks_is_refused_before_anything_is_charged() -> None:
    dp.session(epsilon="2.1")
    m = dp.record(people()["a"].mean(epsilon=0.1))
    with pytest.raises(dp.BudgetExceeded, match=r"may cost ε = .* in 6 looks, and ε = 2 is left"):
        m.refine(until=0.1, looks=6)
    assert spent() == Fraction("0.1")
    n = people().count(epsilon="0.5")
    caught = refusal(lambda: n.refine(until=1), "Give a larger until=", dp.BudgetExceeded)
    assert caught.endswith("Nothing was computed or charged.")
    assert spent() == Fraction("0.6")
    assert n.refine(until=2).error() == 2


def test_who_is_overtaken_keeps_what_was_bought(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else takes the rest of the budget between two looks."""
    dp.session(epsilon=20)
    p = people()
    m = hopeful(dp.record(p["a"].mean(epsilon=0.1)))
    real = looks.release

    def raced(query: Any, engine: Any, kind: Any, **said: Any) -> Any:
        found = real(query, engine, kind, **said)
        if not found.preview and len(losses()) == 2:
            p.count(epsilon=dp.ledger().remaining)
        return found

    monkeypatch.setattr(looks, "release", raced)
    with pytest.raises(dp.BudgetExceeded, match=r"ε = 0 is left.*paid for stay[^N]*$"):
        m.refine(until=0.0005)
    assert (spent(), len(losses())) == (20, 3)
    refusal(lambda: m.refine(until=0.0005), "Nothing was computed or charged", dp.BudgetExceeded)
    assert len(losses()) == 3


def test_a_preview_prices_all_looks() -> None:
    dp.session(epsilon=50)
    p = people()
    m, n = p["a"].mean(epsilon=0.1), p.count(epsilon=1)
    with dp.preview() as plan:
        shown = m.refine(until=0.02, looks=3)
        n.refine(until=2)
        p.size(epsilon="0.5").refine(until=2)  # of a count nothing must be known
        refusal(lambda: p["a"].mean(epsilon=2).refine(until=1), "Release it first")
    assert dp.record(shown).preview
    assert spent() == Fraction("1.1")
    first = Fraction(str(plan.to_frame()["epsilon"].iloc[0]))
    assert plan.to_frame()["epsilon"].tolist()[:3] == list(map(float, [first, first, 2 * first]))
    m.refine(until=0.02, looks=3)
    assert first <= spent() - Fraction("1.1") <= 4 * first
    with dp.preview() as again:
        m.refine(until=0.02, looks=3)
    assert again.loss.epsilon < 4 * first  # what was looked at is free
    refusal(lambda: shown.refine(until=1), "previewed and not answered")


def test_in_a_split_it_is_refused() -> None:
    n = people().count(epsilon=1)
    with dp.split(epsilon=1, into=1), pytest.raises(QueryError, match="refine outside"):
        n.refine(until=3)


# --- refused --------------------------------------------------------------------------------------

REFUSED: list[tuple[Callable[[Any, Any], Any], str]] = [
    (lambda n, m: n.refine(until=2, epsilon=1), "Leave epsilon=, rho= and within= out"),
    (lambda n, m: n.refine(until=2, rho=1), "Leave epsilon=, rho= and within= out"),
    (lambda n, m: n.refine(until=2, within=3), "Leave epsilon=, rho= and within= out"),
    (lambda n, m: n.refine(until=2, expected_rows=3), "Leave epsilon="),
    (lambda n, m: n.refine(within=3), r"within=3 .* write refine\(until="),
    (lambda n, m: n.refine(looks=3), "looks= goes with until="),
    (lambda n, m: n.refine(epsilon=1, looks=3), "looks= goes with until="),
    (lambda n, m: n.refine(until=2, looks=0), "whole number from 1 to 12"),
    (lambda n, m: n.refine(until=2, looks=1.5), "whole number from 1 to 12"),
    (lambda n, m: n.refine(until=2, looks=True), "whole number from 1 to 12"),
    (lambda n, m: n.refine(until=2, looks=13), "whole number from 1 to 12"),
    (lambda n, m: n.refine(until=0), "until=0 must be greater than 0"),
    (lambda n, m: n.refine(until="5%"), "until='5%' can't be read"),
    (lambda n, m: n.refine(until=float("nan")), "must be finite"),
    (lambda n, m: n.refine(until=pd.Timedelta("1D")), "no duration: give a number"),
    (lambda n, m: n.refine(until=2, confidence=1), "between 0 and 1"),
    (lambda n, m: n.refine(until=2, at_most=0.1), "may cost ε = 1.14, more than at_most=0.1"),
    (lambda n, m: m.refine(until=0.05, looks=3, at_most=1e-3), "more than at_most"),
    (lambda n, m: n.refine(until=2, mechanism="gaussian"), "Gaussian noise is not private"),
    (lambda n, m: n.refine(until=2, fresh="yes"), "True or False"),
    (lambda n, m: n.refine(until=2, look=2), "unexpected keyword"),
    (lambda n, m: m.refine(until=1e-9), "until=1e-09 is less than any epsilon= allows"),
    (lambda n, m: m.refine(until=0.00055, looks=12), "above 64 nothing is protected"),
    (lambda n, m: people()["a"].median(epsilon=1).refine(until=1), "not noise added"),
    (lambda n, m: table().dp.count(epsilon=1).refine(until=2), "asserted"),
]


@pytest.mark.parametrize(("ask", "words"), REFUSED)
def test_what_makes_no_sense_is_refused_and_costs_nothing(ask: Any, words: str) -> None:
    dp.session(epsilon=1000)
    p = people()
    n, m = p.count(epsilon=1), p["a"].mean(epsilon=0.1)
    with pytest.raises(QueryError, match=words):
        ask(n, m)
    assert spent() in (Fraction("1.1"), Fraction("2.1"))  # one more to be refused


@pytest.fixture
def stopped() -> Any:
    dp.session(epsilon=1000)
    m = people()["a"].mean(epsilon=0.1)
    return m, m.refine(until=0.1)


def test_what_answers_have_stopped_is_joined_with_nothing(stopped: Any) -> None:
    m, known = stopped
    before = spent()
    for ask in (
        lambda: dp.combine(m, known),
        lambda: dp.combine(m, *dp.record(known).components),
        lambda: known.refine(epsilon=1),
    ):
        refusal(ask, "decided how many looks")
    assert spent() == before
    assert known.refine(until=0.05, looks=8).error() <= 0.05  # but planned by
    n = people().count(epsilon=1)
    dp.combine(n, n.refine(until=2))  # which no answer has stopped


def test_records_say_on_which_condition_their_intervals_hold(stopped: Any) -> None:
    m, known = stopped
    condition = "its interval holds if the releases and their losses were fixed beforehand"
    both = dp.record(m.refine(epsilon=1))
    for said in (str(both), both._repr_html_()):
        assert condition in said
    assert condition not in str(dp.record(m))
    said = str(dp.record(known))
    assert condition not in said
    assert "its interval holds at whichever look it ended" in said
    assert f"look {len(dp.record(known).components)} of at most 3" in said
    assert str(dp.record(known).loss) in said


def test_tables_refined_until_an_error_are_made_consistent() -> None:
    p = people()
    counts, both = p["g"].value_counts(epsilon=1), p.crosstab("g", "a", keys={"a": range(7)},
                                                              epsilon=1)  # fmt: skip
    one, other = dp.make_consistent(dp.record(counts).refine(until=2), both)
    assert one.sum() == other.sum().sum()


def test_every_look_is_released_by_the_one_door() -> None:
    assert looks.release is release.release
