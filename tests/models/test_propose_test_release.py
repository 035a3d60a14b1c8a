"""Distances to a property, values told because they are far from changing, experimental answers."""

import itertools
import math
import pickle
import re
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from refusals import refusal

import dppandas as dp
from dppandas.dataclasses import dataclass, replace
from dppandas.errors import MissingArgument, QueryError, RecordError, SessionError
from dppandas.privacy.accounting.losses import Delta
from dppandas.privacy.mechanisms.noise import DiscreteLaplace
from dppandas.privacy.mechanisms.thresholds import ProposeTestRelease
from dppandas.privacy.sampling import samplers
from dppandas.release.session import scratch
from dppandas.statistics import Count
from dppandas.statistics.distances import Measurer, Valuer, plain
from dppandas.statistics.scores import MOST

VOTES = pd.DataFrame({"vote": ["yes"] * 300 + ["no"] * 100, "who": np.arange(400) // 4})
DELTA = 1e-6


def lead(rows: pd.DataFrame) -> int:
    return int((rows["vote"] == "yes").sum()) - int((rows["vote"] == "no").sum())


def winner(rows: pd.DataFrame) -> str:
    return "yes" if lead(rows) > 0 else "no"


def margin(rows: pd.DataFrame) -> int:
    return lead(rows) - 1 if lead(rows) > 0 else -lead(rows)


def propose(frame: Any = VOTES, **more: Any) -> Any:
    given = {"value": winner, "distance": margin, "epsilon": 1, "delta": DELTA} | more
    return dp.propose_test_release(frame, given.pop("value"), given.pop("distance"), **given)


# --- distances ------------------------------------------------------------------------------------


def test_without_noise_it_is_the_distance(exact: None) -> None:
    found = dp.distance_to_property(VOTES, margin, epsilon=1)
    assert found == 199
    assert isinstance(found, int)
    assert found.error() == DiscreteLaplace(Fraction(1)).half_width(0.95)
    assert found.interval() == (196, 202)
    (entry,) = dp.ledger()._entries()
    assert str(entry.what) == "distance by the caller's function (moved by 1 a row as stated)"
    assert entry.lineage == "asserted, caller-scored"
    assert entry.scale == "1"
    assert dp.distance_to_property(VOTES.dp.query("vote == 'no'"), margin, epsilon=1) == 100
    assert dp.distance_to_property(VOTES[:0], lambda rows: len(rows), epsilon=1) == 0
    assert dp.distance_to_property(VOTES, lambda rows: -7, epsilon=1) == 0
    whose = dp.private(VOTES, unit="who", max_rows=3)
    assert dp.distance_to_property(whose, lambda rows: len(rows), epsilon=2) == 300
    assert dp.ledger()._entries()[-1].scale == "1.5"


@pytest.mark.parametrize("noise", [-1000, -201, -199, -198, 0, 3, 5000])
def test_answer_and_interval_are_never_below_zero(frozen: Any, noise: int) -> None:
    frozen(noise)
    found = dp.distance_to_property(VOTES, margin, epsilon=1)
    assert found == max(0, 199 + noise)
    assert found.interval() == (max(0, 199 + noise - 3), max(0, 199 + noise + 3))
    assert found.error() == 3


# --- the threshold, by hand and by brute force ----------------------------------------------------


def told(mechanism: ProposeTestRelease, distance: int) -> float:
    """P[distance + Z ≥ T], from the law of Z."""
    a = math.exp(-1 / float(mechanism.scale))
    t = mechanism.least - distance
    return a**t / (1 + a) if t >= 0 else 1 - a ** (1 - t) / (1 + a)


@pytest.mark.parametrize("rows", [1, 2, 3, 10])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
@pytest.mark.parametrize("delta", ["0.01", "1e-5", "1e-9"])
def test_the_threshold_is_the_least(rows: int, epsilon: str, delta: str) -> None:
    mechanism = ProposeTestRelease.calibrate(rows, Fraction(epsilon), Delta(delta))
    a, t = math.exp(-float(Fraction(epsilon)) / rows), 0
    while a**t / (1 + a) > float(delta):
        t += 1
    assert mechanism.least == t + rows - 1
    assert told(mechanism, rows - 1) <= float(delta) * (1 + 1e-9)
    assert told(replace(mechanism, least=mechanism.least - 1), rows - 1) > float(delta)


Rows = tuple[int, ...]
VALUES = (1, 2, 3)
#: Large enough for the nearest other value of all databases of up to four rows.
UNIVERSE = [rows for n in range(10) for rows in itertools.combinations_with_replacement(VALUES, n)]
SMALL = [rows for rows in UNIVERSE if len(rows) <= 4]


def mode(rows: Rows) -> int:
    return max(VALUES, key=lambda v: (rows.count(v), -v))


def median(rows: Rows) -> int:
    return sorted(rows)[(len(rows) - 1) // 2] if rows else VALUES[0]


def apart(one: Rows, other: Rows) -> int:
    a, b = Counter(one), Counter(other)
    return sum(((a - b) + (b - a)).values())


@cache
def to_change(value: Callable[[Rows], int], rows: Rows) -> int:
    """How many rows can be added or removed, whichever, without changing the value."""
    return min(apart(rows, y) for y in UNIVERSE if value(y) != value(rows)) - 1


def law(value: Callable[[Rows], int], rows: Rows, by: ProposeTestRelease) -> dict[Any, float]:
    p = told(by, to_change(value, rows))
    return {value(rows): p, None: 1 - p}


def spent(p: dict[Any, float], q: dict[Any, float], epsilon: float) -> float:
    """The least δ at ε of one law against another."""
    return sum(max(0.0, x - math.exp(epsilon) * q.get(outcome, 0.0)) for outcome, x in p.items())


@pytest.mark.parametrize("value", [mode, median])
@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("delta", ["0.01", "1e-5"])
def test_every_pair_of_neighbours_of_a_tiny_domain_stays_within_epsilon_and_delta(
    value: Callable[[Rows], int], rows: int, delta: str
) -> None:
    """Every two databases of up to four rows of three values of which one has 1 to `rows` rows
    more, both ways, with the exact law: the largest δ is at most δ, and a threshold that is lower
    by one breaks it."""
    epsilon = Fraction(1)
    mechanism = ProposeTestRelease.calibrate(rows, epsilon, Delta(delta))
    lower = replace(mechanism, least=mechanism.least - 1)
    both = itertools.permutations(SMALL, 2)
    pairs = [(x, y) for x, y in both if apart(x, y) == abs(len(x) - len(y)) <= rows]

    def worst(by: ProposeTestRelease) -> float:
        return max(spent(law(value, x, by), law(value, y, by), 1.0) for x, y in pairs)

    assert max(abs(to_change(value, x) - to_change(value, y)) for x, y in pairs) <= rows
    assert worst(mechanism) <= float(delta) * (1 + 1e-9)
    assert worst(lower) > float(delta)


@pytest.mark.parametrize("value", [mode, median])
def test_the_distance_of_a_value_is_one_lipschitz(value: Callable[[Rows], int]) -> None:
    for x in SMALL:
        for more in VALUES:
            y = tuple(sorted((*x, more)))
            assert abs(to_change(value, x) - to_change(value, y)) <= 1
            if value(x) != value(y):
                assert to_change(value, x) == to_change(value, y) == 0


def test_the_interquartile_range_of_the_docs_has_a_distance_that_qualifies() -> None:
    """Its octave, of all databases of up to five rows of five values, against all of up to eight:
    no fewer rows change it than is said, and a row moves what is said by at most 1."""
    page = (Path(__file__).parents[2] / "docs" / "how_do_i.md").read_text("utf-8")
    (block,) = re.findall(r"```python\n(import math\n.*?)\nages = ", page, re.DOTALL)
    said: dict[str, Any] = {}
    exec(block, said)
    values = (0, 1, 2, 4, 9)

    def of(most: int) -> dict[Rows, Any]:
        each = itertools.combinations_with_replacement
        return {
            rows: pd.DataFrame({"age": rows}, dtype=float)
            for n in range(most + 1)
            for rows in each(values, n)
        }

    octaves = {rows: said["octave"](frame) for rows, frame in of(8).items()}
    stays = {rows: said["rows_to_change"](frame) for rows, frame in of(8).items()}
    assert {*octaves.values()} == {"none", 0, 1, 2, 3}
    assert max(stays.values()) == 1  # and 2, of more rows
    for x in of(5):
        changed = min(apart(x, y) for y in octaves if octaves[y] != octaves[x])
        assert stays[x] <= changed - 1, x
        for more in values:
            y = tuple(sorted((*x, more)))
            assert abs(stays[x] - stays[y]) <= 1


@pytest.mark.statistical
def test_a_value_is_told_as_often_as_the_law_says() -> None:
    """4,000 tests at each of three distances: off by more than 5.2 standard deviations with
    probability 3e-7 each, 1e-6 in all. Power: a threshold that is one off moves the middle one,
    whose chance is 0.73, by 0.23 or by 0.17: beyond 20 standard deviations."""
    mechanism = ProposeTestRelease.calibrate(1, Fraction(1), Delta("0.01"))
    for distance in (mechanism.least - 2, mechanism.least, mechanism.least + 1):
        seen = sum(len(mechanism.release(("v", distance))) for _ in range(4000))
        p = told(mechanism, distance)
        assert abs(seen - 4000 * p) < 5.2 * math.sqrt(4000 * p * (1 - p))


# --- propose-test-release -------------------------------------------------------------------------


def test_the_value_is_told_from_the_threshold_on(frozen: Callable[[int], None]) -> None:
    dp.session(epsilon=100, delta=1e-3)
    least = ProposeTestRelease.calibrate(1, Fraction(1), Delta("1e-6")).least
    assert least == 14
    frozen(least - 199)
    found = propose()
    assert (found.released, found.value, bool(found)) == (True, "yes", True)
    frozen(least - 200)
    kept = propose()
    assert (kept.released, kept.value, bool(kept)) == (False, None, False)
    assert type(kept) is type(found) is dp.types.TestedValue
    assert repr(kept) == "TestedValue(released=False, value=None)"
    first, second = dp.ledger()._entries()
    own = ("number", "time", "cell", "request", "draw_id")
    assert first._replace(**{name: getattr(second, name) for name in own}) == second
    assert (first.loss.epsilon, first.loss.delta) == (1, Fraction(1, 10**6))
    assert first.lineage == "asserted, caller-scored"
    assert (first.mechanism, first.threshold) == ("propose-test-release", (14, "distance"))
    surely = ProposeTestRelease.calibrate(1, Fraction(1), Delta("1e-6")).released_from(0.95)
    assert f"released from a distance of {surely} rows" == first.error == first.known_error
    assert dp.record(found).mechanism.endswith("released if its noisy distance is at least 14")
    for each in (found, kept):
        record = dp.record(each)
        assert record.estimate() == each.value
        assert str(each.value) in str(record)
        assert str(each.value) in record._repr_html_()
        for ask in (record.error, record.interval):
            refusal(ask, "exact", RecordError)


def test_what_surely_says_holds() -> None:
    for rows, epsilon in ((1, 1), (3, Fraction(1, 2))):
        mechanism = ProposeTestRelease.calibrate(rows, Fraction(epsilon), Delta("1e-5"))
        for confidence in (0.3, 0.5, 0.9, 0.95, 0.999):
            assert told(mechanism, mechanism.released_from(confidence)) >= confidence
        assert told(mechanism, mechanism.released_from(0.95) - 1) < 0.95


def test_units_of_several_rows_have_more_noise_and_a_higher_threshold(monkeypatch: Any) -> None:
    dp.session(epsilon=100, delta=1e-3)
    private = dp.private(VOTES, unit="who", max_rows=4)
    scales: list[Fraction] = []

    def drawn(scale: Fraction, n: int) -> Any:
        scales.append(scale)
        return np.zeros(n, dtype=np.int64)

    monkeypatch.setattr(samplers, "discrete_laplace_vector", drawn)
    assert propose(private).value == "yes"
    assert scales == [4]
    least = ProposeTestRelease.calibrate(4, Fraction(1), Delta("1e-6")).least
    assert dp.ledger()._entries()[-1].threshold == (least, "distance")


def test_a_session_that_counts_rho_is_charged_both() -> None:
    dp.session(rho=5, delta=1e-6, delta_releases=1e-5)
    assert propose().value == "yes"
    (entry,) = dp.ledger()._entries()
    assert 0 < entry.loss.rho < Fraction(1, 2)
    assert entry.loss.delta == Fraction(1, 10**6)


def test_it_may_be_asked_for_later() -> None:
    dp.session(epsilon=100, delta=1e-3)
    asked = propose(epsilon=None)
    assert isinstance(asked, dp.types.Unreleased)
    assert dp.ledger()._entries() == []
    assert asked.release(epsilon=1).value == "yes"  # its δ was said before
    assert dp.ledger()._entries()[-1].loss.delta == Fraction(1, 10**6)
    assert asked.release(epsilon=1, delta=1e-5).value == "yes"
    assert dp.ledger()._entries()[-1].loss.delta == Fraction(1, 10**5)
    refusal(lambda: propose(epsilon=None, delta=None).release(epsilon=1), "delta=", MissingArgument)


@pytest.mark.parametrize(("given", "same"), [
    (3, 3), (3.0, 3), (np.int8(3), 3), (np.float32(3), 3), (-0.0, 0), (0.5, 0.5),
    (np.float32(0.5), 0.5), (np.str_("a"), "a"), (2**53 + 1, 2**53 + 1), (2**60, 2.0**60),
    (2.0**60, 2.0**60), (10**400, 10**400), (math.inf, math.inf), (-1e300, -1e300),
])  # fmt: skip
def test_equal_values_come_back_alike(given: Any, same: Any) -> None:
    assert type(plain(given)) is type(same)
    assert plain(given) == same == given
    assert repr(plain(given)) == repr(same)
    assert repr(plain(math.nan)) == repr(plain(-np.float64("nan"))) == "nan"


def test_results_can_be_pickled_and_leave_the_functions_behind() -> None:
    dp.session(epsilon=100, delta=1e-3)
    hidden = VOTES.copy()
    found = propose(value=lambda rows: winner(hidden), distance=lambda rows: margin(hidden))
    text = pickle.dumps(found)
    assert b"DataFrame" not in text
    again = pickle.loads(text)
    assert (again.released, again.value) == (found.released, found.value)
    assert dp.record(again).estimate() == found.value
    for kind in (Measurer, Valuer):
        with pytest.raises(QueryError, match="pickle"):
            kind(None)(VOTES)
    assert Measurer(lambda rows: 10**400)(VOTES) == MOST


# --- refusals -------------------------------------------------------------------------------------

BROKEN: dict[str, Callable[[], Any]] = {
    "no frame": lambda: dp.distance_to_property([1], margin, epsilon=1),
    "no function": lambda: dp.distance_to_property(VOTES, "vote", epsilon=1),  # type: ignore[arg-type]
    "a float": lambda: dp.distance_to_property(VOTES, lambda rows: 1.0, epsilon=1),  # type: ignore[arg-type, return-value]
    "none": lambda: dp.distance_to_property(VOTES, lambda rows: None, epsilon=1),  # type: ignore[arg-type, return-value]
    "computed": lambda: dp.distance_to_property(VOTES.dp.assign(one="who > 1"), margin, epsilon=1),
    "epsilon 0": lambda: dp.distance_to_property(VOTES, margin, epsilon=0),
    "a list as value": lambda: propose(value=lambda rows: [1]),
    "no value": lambda: propose(value=lambda rows: None),
    "a truth value": lambda: propose(value=lambda rows: True),
    "value is no function": lambda: propose(value=3),
    "distance is no function": lambda: propose(distance=3),
    "a float distance": lambda: propose(distance=lambda rows: 0.5),
    "delta 1": lambda: propose(delta=1),
    "delta 0": lambda: propose(delta=0),
    "no delta": lambda: propose(delta=None),
    "Gaussian": lambda: propose(mechanism="gaussian"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_arguments_are_refused_before_anything_is_charged(name: str) -> None:
    dp.session(epsilon=10, delta=1e-3)
    refusal(lambda: BROKEN[name]())


def test_a_session_without_delta_tests_nothing() -> None:
    dp.session(epsilon=10)
    refusal(propose, "no δ to spend")


# --- what is experimental -------------------------------------------------------------------------


@dataclass(frozen=True)
class Unproven(Count, registered=False):
    """A count that nobody vouches for."""

    experimental: ClassVar[str] = "nobody has proven it."


def unproven() -> Any:
    asked = VOTES.dp.count()
    fields = {name: getattr(asked._statistic, name) for name in asked._statistic.__match_args__}
    return type(asked)(replace(asked._request, statistic=Unproven(**fields)))


def test_what_is_experimental_must_be_allowed_in_the_session() -> None:
    def refused() -> None:
        refusal(lambda: unproven().release(epsilon=1), r"nobody has proven.*\(experimental=True\)")

    refused()
    dp.session(experimental=True)
    assert unproven().release(epsilon=1) > 300
    dp.session(experimental=False)
    refused()
    dp.session(experimental=True)
    dp.reset()
    refused()
    for broken in (1, "yes"):
        with pytest.raises(SessionError, match="True or False"):
            dp.session(experimental=broken)  # type: ignore[arg-type]
    dp.reset()
    with scratch():
        unproven().release(epsilon=1)
    refused()
