"""An attack on membership finds what models remember, and no more than the bound allows.

Private fits draw noise. What they must not do is tested where the bound is exact, by enumeration;
of whole models only with a chance of failing that is stated.
"""

import itertools
import math
import re
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ledgers import anew
from refusals import refusal

import dppandas as dp

pytest.importorskip("scipy")
from dppandas.audit import membership
from dppandas.audit.attacks import Attack
from dppandas.audit.events import ClopperPearson
from dppandas.audit.membership import _halves, _threshold, limit_of

#: Public rows that nobody's noise depends on.
RNG = np.random.default_rng(45)
FEATURES = ["a", "b", "c"]


def made(rows: int = 400) -> pd.DataFrame:
    found = pd.DataFrame(RNG.uniform(-1, 1, (rows, 3)), columns=FEATURES)
    found["y"] = found["a"] + RNG.normal(0, 0.5, rows)
    found["kind"] = RNG.choice(["no", "yes"], rows)  # nothing can be learnt of it but by heart
    found["who"] = np.arange(rows) // 2
    return found


def by_coins(frame: pd.DataFrame, of: str = "who") -> tuple[pd.DataFrame, pd.DataFrame]:
    coin = RNG.random(len(frame)) < 0.5
    taken = frame[of].map(dict(enumerate(coin)))
    return frame[taken].copy(), frame[~taken].copy()


ROWS = made()
MEMBERS, OTHERS = by_coins(ROWS)


def least_squares(**said: Any) -> Any:
    private = MEMBERS.copy().dp
    return dp.models.OLS(
        private["y"], private[FEATURES], bounds=(-1, 1), target_bounds=(-3, 3), **said
    ).fit()


# --- the bound ------------------------------------------------------------------------------------

EPSILON = 1.0
SIMPLE = math.tanh(EPSILON / 2)


def test_the_simple_bound_is_that_of_randomised_response() -> None:
    """All tests of one bit, which is randomised response's: none is better, and one attains it."""
    p = math.exp(EPSILON) / (1 + math.exp(EPSILON))
    member, other = np.array([p, 1 - p]), np.array([1 - p, p])
    tests = list(itertools.product((0, 1), repeat=2))
    best = max(float((member - other) @ test) for test in tests)
    bound = dp.privacy_loss("any", epsilon=1).delta(0)
    assert math.isclose(best, bound, rel_tol=1e-9)
    assert math.isclose(bound, (math.e - 1) / (math.e + 1), rel_tol=1e-9)


REACH = 60
AT = np.arange(-REACH, REACH + 1)


def law(centre: int, epsilon: float = EPSILON) -> Any:
    """Discrete Laplace noise around a count."""
    a = math.exp(-epsilon)
    return (1 - a) / (1 + a) * a ** np.abs(AT - centre)


def best_mean(answer: Any, units: int, sizes: Any) -> float:
    """The largest advantage over one of some units whose membership is uniform over the sets of
    these sizes: what is likelier is said, answer by answer."""
    found = []
    for unit in range(units):
        laws: dict[bool, list[Any]] = {True: [], False: []}
        for taken in itertools.product((False, True), repeat=units):
            if sum(taken) in sizes:
                laws[taken[unit]].append(answer(taken))
        both = [np.mean(laws[side], axis=0) for side in (True, False)]
        found.append(float(np.maximum(both[0] - both[1], 0).sum()))
    return float(np.mean(found))


ANSWERS = {
    "number": lambda taken: law(sum(taken)),
    "difference": lambda taken: law(sum(taken[::2]) - sum(taken[1::2])),
    "first": lambda taken: law(taken[0]),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_no_attack_beats_the_bound_if_coins_decide_who_takes_part(name: str) -> None:
    for units in (1, 2, 3, 4):
        assert best_mean(ANSWERS[name], units, range(units + 1)) <= SIMPLE + 1e-9
    assert math.isclose(best_mean(ANSWERS[name], 1, (0, 1)), SIMPLE, rel_tol=1e-9)


def test_a_fixed_number_of_members_may_double_it() -> None:
    """One takes another's place: two steps, as `membership` says."""
    found = best_mean(ANSWERS["difference"], 2, (1,))
    assert 1.3 * SIMPLE < found <= 2 * SIMPLE


def counts(way: str, each: Any, number: int) -> list[Any]:
    anew(**({"epsilon": 9} if way == "epsilon" else {"rho": 9, "delta": "1e-6"}))
    column = pd.DataFrame({"x": [1.0, 2.0]}).dp
    records = [dp.record(column.count(**{way: each})) for _ in range(number)]
    dp.reset()
    return records


@pytest.mark.parametrize("each", ["0.1", "0.5", "1"])
@pytest.mark.parametrize("number", [1, 3])
def test_the_bound_of_laplace_noise_is_no_less_than_any_attack(each: str, number: int) -> None:
    """Of three together; two such counts tell no more than one, for each is a randomised bit."""
    joint = [law(at, float(each)) for at in (0, 1)]
    if number == 3:
        joint = [np.multiply.outer(np.outer(one, one), one) for one in joint]
    exact = float(np.abs(joint[0] - joint[1]).sum() / 2)
    bound = limit_of(counts("epsilon", each, number))
    assert exact - 1e-6 <= bound <= math.tanh(number * float(each) / 2) + 1e-9
    if number == 1:
        assert math.isclose(bound, exact, rel_tol=1e-6 if each == "1" else 0.01)


@pytest.mark.parametrize("each", ["0.002", "0.05", "0.5"])
@pytest.mark.parametrize("number", [1, 2])
def test_the_bound_of_gaussian_noise_is_no_less_than_any_attack(each: str, number: int) -> None:
    at = np.arange(-150, 151)
    weights = np.exp(-(at**2) * float(each))  # 2σ² = 1/ρ for a count
    near = weights / weights.sum()
    far = np.roll(near, 1)
    joint = [near, far] if number == 1 else [np.outer(one, one) for one in (near, far)]
    exact = float(np.abs(joint[0] - joint[1]).sum() / 2)
    bound = limit_of(counts("rho", each, number))
    assert exact - 1e-9 <= bound <= math.sqrt(number * float(each) / 2) * 1.001
    if number == 1:
        assert math.isclose(bound, exact, rel_tol=1e-6)


def test_releases_that_say_nothing_allow_nothing() -> None:
    assert limit_of([]) == 0.0


# --- the attack -----------------------------------------------------------------------------------


def test_the_threshold_is_the_best_of_all() -> None:
    for _ in range(50):
        members, others = (RNG.integers(0, 6, RNG.integers(1, 9)) * 1.0 for _ in range(2))
        at = _threshold(members, others)
        tried = [-math.inf, *range(7)]
        found = [np.mean(members <= t) - np.mean(others <= t) for t in tried]
        assert math.isclose(np.mean(members <= at) - np.mean(others <= at), max(found))


def test_halves_are_halves_that_no_order_of_rows_decides() -> None:
    first, second = _halves(101, Random(3))
    assert sorted([*first, *second]) == list(range(101))
    assert len(first) == 50
    assert not np.array_equal(np.sort(first), np.arange(50))
    assert np.array_equal(first, _halves(101, Random(3))[0])


def test_no_row_that_taught_the_attack_judges_it() -> None:
    """Of as many rows with errors that all differ, some are learnt from, and all others judge."""
    model = least_squares(epsilon=1)
    found = membership(model, MEMBERS, OTHERS)
    at = found._attack.threshold
    off = {
        name: (rows["y"] - model.predict(rows[FEATURES])).abs().to_numpy()
        for name, rows in (("members", MEMBERS), ("others", OTHERS))
    }
    learnt = []
    for name, losses in off.items():
        judged = getattr(found._attack, name)
        judging = np.isclose(losses[:, None], judged, rtol=1e-10, atol=1e-13).any(axis=1)
        assert judging.sum() == len(losses) - len(losses) // 2
        learnt.append(losses[~judging])
    assert np.isclose(at, _threshold(*learnt))


def test_intervals_hold_as_often_as_they_say() -> None:
    """Exactly, over all pairs of counts: at least 95 % for any two shares."""
    binom = pytest.importorskip("scipy.stats").binom
    n, sure = 25, 0.95
    bounds = ClopperPearson(n, (1 - sure) / 4)
    k = np.arange(n + 1)
    low, high = bounds.low(k), bounds.high(k)
    for p, q in itertools.product((0.0, 0.1, 0.5, 0.77, 1.0), repeat=2):
        inside = (low[:, None] - high <= p - q) & (p - q <= high[:, None] - low)
        assert np.outer(binom.pmf(k, n, p), binom.pmf(k, n, q))[inside].sum() >= sure - 1e-12
    losses = np.arange(n) * 1.0
    found = Attack.judged(4.0, losses, losses + 3, sure)
    assert (found.tpr, found.fpr) == (5 / n, 2 / n)
    assert found.interval == (low[5] - high[2], high[5] - low[2])


class Neighbour:
    """Says of a row what the nearest one was."""

    def fit(self, X: Any, y: Any) -> Any:
        self.X, self.y = X, y
        return self

    def predict(self, X: Any) -> Any:
        return self.y[np.linalg.norm(X[:, None] - self.X, axis=2).argmin(axis=1)]


def test_a_model_that_knows_its_rows_by_heart_gives_them_away() -> None:
    """A neighbour has no error on members, and on others is right half of the time. These rows
    never change, so that only the private fit is left to chance."""
    private = MEMBERS.copy().dp
    model = dp.models.GaussianNB(epsilon=1, bounds=(-1, 1), classes=["no", "yes"])
    model = model.fit(private[FEATURES], private["kind"])
    neighbour = Neighbour()
    found = membership(model, MEMBERS, OTHERS, target="kind", plain=neighbour)
    assert not vars(neighbour), "the caller's model was fitted"
    assert found.advantage_of_plain > 0.3
    assert found.interval_of_plain[0] > 0.1
    # 7 standard deviations for about 100 and 100 rows, of which the fit knows next to nothing
    assert found.advantage < 0.5
    assert math.isclose(found.bound, dp.privacy_loss(model.releases_[0]).delta(0))


def test_many_regressors_remember_few_rows() -> None:
    """21 coefficients of 25 members: of rows that never change."""
    rng = np.random.default_rng(7)
    wide = pd.DataFrame(rng.uniform(-1, 1, (200, 20)))
    wide.columns = [f"x{i}" for i in wide]
    names = list(wide)
    wide["y"] = rng.normal(0, 1, len(wide))
    members, others = wide[:25].copy(), wide[25:]
    private = members.copy().dp
    terms = {"epsilon": 1, "bounds": (-1, 1), "target_bounds": (-4, 4)}
    results = dp.models.OLS(private["y"], private[names], **terms).fit()
    found = membership(results, members, others)
    assert found.advantage_of_plain > 0.3
    assert found.plain == "numpy's least squares"


def test_the_model_that_is_attacked_is_the_one_given() -> None:
    """Its own loss at each row, not that of its counterpart."""
    model = least_squares(epsilon=1)
    found = membership(model, MEMBERS, OTHERS)
    off = (MEMBERS["y"] - model.predict(MEMBERS[FEATURES])).abs().to_numpy()
    assert np.isclose(found._attack.members[:, None], off).any(axis=1).all()
    other = found._on_plain.members
    assert not np.isclose(other[:, None], off, atol=1e-9).any(axis=1).all()
    exact, *_ = np.linalg.lstsq(
        np.column_stack([np.ones(len(MEMBERS)), MEMBERS[FEATURES]]), MEMBERS["y"], rcond=None
    )
    plain = (MEMBERS["y"] - exact[0] - MEMBERS[FEATURES].to_numpy() @ exact[1:]).abs().to_numpy()
    assert np.isclose(other[:, None], plain).any(axis=1).all()


MODELS: dict[str, tuple[dict[str, Any], str | None]] = {
    "LinearRegression": ({"target_bounds": (-3, 3)}, "y"),
    "LogisticRegression": ({"classes": ["no", "yes"]}, "kind"),
    "Perceptron": ({"classes": ["no", "yes"]}, "kind"),
    "GaussianNB": ({"classes": ["no", "yes"]}, "kind"),
    "DecisionTreeClassifier": ({"classes": ["no", "yes"]}, "kind"),
    "DecisionTreeRegressor": ({"target_bounds": (-3, 3)}, "y"),
    "KMeans": ({"n_clusters": 3}, None),
    "PCA": ({"n_components": 2}, None),
}


@pytest.mark.filterwarnings("ignore:This LinearRegression is a constant")
@pytest.mark.parametrize("name", MODELS)
def test_all_models_are_attacked_beside_their_plain_namesake(name: str) -> None:
    pytest.importorskip("sklearn")
    said, target = MODELS[name]
    private = MEMBERS.copy().dp
    model = getattr(dp.models, name)(epsilon=1, bounds=(-1, 1), **said)
    model.fit(private[FEATURES], None if target is None else private[target])
    anew(epsilon=1)
    found = membership(model, MEMBERS, OTHERS, target=target)
    assert found.plain.startswith(name)
    assert 0 < found.bound <= SIMPLE + 1e-9
    low, high = found.interval
    assert low < found.advantage < high
    assert dp.ledger().spent == 0
    for each in ("_attack", "_on_plain"):
        assert np.isfinite(getattr(found, each).members).all()
    dp.reset()


def test_the_losses_of_clusters_and_components_are_distances() -> None:
    pytest.importorskip("sklearn")
    private = MEMBERS.copy().dp
    model = dp.models.KMeans(n_clusters=2, epsilon=1, bounds=(-1, 1)).fit(private[FEATURES])
    found = membership(model, MEMBERS, OTHERS)
    away = MEMBERS[FEATURES].to_numpy()[:, None] - model.cluster_centers_
    off = np.linalg.norm(away, axis=2).min(axis=1)
    assert np.isclose(found._attack.members[:, None], off).any(axis=1).all()
    pca = dp.models.PCA(n_components=1, epsilon=1, bounds=(-1, 1)).fit(private[FEATURES])
    found = membership(pca, MEMBERS, OTHERS)
    centred = MEMBERS[FEATURES].to_numpy() - pca.mean_
    off = np.linalg.norm(centred - centred @ pca.components_.T @ pca.components_, axis=1)
    assert np.isclose(found._attack.members[:, None], off).any(axis=1).all()


def test_units_are_judged_as_a_whole() -> None:
    private = dp.private(MEMBERS.copy(), unit="who", max_rows=2)
    terms = {"bounds": (-1, 1), "target_bounds": (-3, 3)}
    model = dp.models.OLS(private["y"], private[FEATURES], epsilon=1, **terms).fit()
    found = membership(model, MEMBERS, OTHERS)
    units = MEMBERS["who"].nunique(), OTHERS["who"].nunique()
    assert found.judged == tuple(number - number // 2 for number in units)
    off = (MEMBERS["y"] - model.predict(MEMBERS[FEATURES])).abs().groupby(MEMBERS["who"]).mean()
    assert np.isclose(found._attack.members[:, None], off.to_numpy()).any(axis=1).all()
    assert found.bound <= SIMPLE + 1e-9
    assert "(units)" in repr(found)
    shared = pd.concat([OTHERS, MEMBERS[:1]])
    refusal(lambda: membership(model, MEMBERS, shared), "is in members and in others")
    refusal(
        lambda: membership(model, MEMBERS, OTHERS.drop(columns="who")),
        "no column 'who', the unit that the model protects",
    )


def test_rows_with_missing_values_do_not_count() -> None:
    model = least_squares(epsilon=1)
    holes = MEMBERS.copy()
    holes.iloc[:10, 0] = np.nan
    holes.iloc[10:20, 3] = np.nan
    left = len(MEMBERS) - 20
    assert membership(model, holes, OTHERS).judged[0] == left - left // 2


# --- what it says ---------------------------------------------------------------------------------


def test_it_says_that_it_is_not_private_and_of_one_fit() -> None:
    found = membership(least_squares(epsilon=1), MEMBERS, OTHERS)
    for text in (repr(found), found._repr_html_()):
        assert "Not private" in text
        assert "One fit is one draw of noise" in text
        assert f"bound {found.bound:.4g}" in text
    table = found.to_frame()
    assert table["advantage"].tolist() == [found.advantage, found.advantage_of_plain]
    assert np.allclose(table["tpr"] - table["fpr"], table["advantage"])
    assert table["bound"].isna().tolist() == [False, True]
    curves = found.roc
    assert list(curves.index.unique("model")) == list(table.index)
    for title, curve in curves.groupby("model"):
        assert curve[["fpr", "tpr"]].iloc[0].tolist() == [0, 0]
        assert curve[["fpr", "tpr"]].iloc[-1].tolist() == [1, 1]
        at_threshold = (curve["tpr"] - curve["fpr"]).max()
        assert at_threshold >= table.loc[title, "advantage"] - 1e-12


def test_the_same_seed_judges_by_the_same_rows() -> None:
    model = least_squares(epsilon=1)
    one, again, other = (membership(model, MEMBERS, OTHERS, seed=seed) for seed in (1, 1, 2))
    assert repr(one) == repr(again)
    assert one._attack.members.tolist() != other._attack.members.tolist()


def test_its_plot_has_both_attacks_and_the_bound() -> None:
    pytest.importorskip("matplotlib").use("agg")
    import matplotlib.pyplot as plt

    found = membership(least_squares(epsilon=1), MEMBERS, OTHERS)
    ax = found.plot()
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["ε = 1", "no noise", "bound"]
    (dotted,) = [line for line in ax.lines if line.get_label() == "bound"]
    x, y = (np.asarray(data) for data in dotted.get_data())
    assert np.allclose(y - x, found.bound)
    assert "Not private" in " ".join(text.get_text() for text in ax.texts).replace("\n", " ")
    _, mine = plt.subplots()
    assert found.plot(mine) is mine
    refusal(lambda: found.plot("axes"), "must be matplotlib Axes")
    plt.close("all")


# --- refusals -------------------------------------------------------------------------------------


def test_private_rows_are_refused() -> None:
    model = least_squares(epsilon=1)
    anew(epsilon=9)
    kept = MEMBERS.copy()
    private = dp.protect(kept, name="kept")
    answer = pd.DataFrame({"x": [1.0, 2.0]}).dp.agg(["count", "mean"], bounds=(0, 2), epsilon=1)
    spent = dp.ledger().spent
    for frame in (private, private["y"], kept.dp, answer):
        for pair in ((frame, OTHERS), (MEMBERS, frame)):
            with pytest.raises(dp.errors.PrivateValueError, match="plain rows, public or your own"):
                membership(model, *pair)
    for frame in (kept, kept[kept["y"] > 0]):
        for pair in ((frame, OTHERS), (MEMBERS, frame)):
            with pytest.raises(dp.errors.LineageError, match="what an attack finds is exact"):
                membership(model, *pair)
    assert dp.ledger().spent == spent
    anew(epsilon=9, strict=True)
    with pytest.raises(dp.errors.LineageError, match="strict"):
        membership(model, MEMBERS, OTHERS)
    dp.reset()


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no model": ({"model": len}, "a fitted model of dp.models"),
    "not fitted": ({"model": dp.models.KMeans(epsilon=1)}, "isn't fitted yet"),
    "an array": ({"members": np.zeros((3, 3))}, "members must be a DataFrame"),
    "no target": ({"target": "pay"}, "members has no column 'pay'"),
    "few members": ({"members": MEMBERS[:1]}, "members has too few rows"),
    "few others": ({"others": OTHERS[:1]}, "others has too few rows"),
    "confidence": ({"confidence": 2}, "confidence"),
    "seed": ({"seed": 0.5}, "seed=0.5 must be a whole number"),
    "no plain model": ({"plain": 3}, "scikit-learn's fit"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_arguments_are_refused(case: str) -> None:
    changed, words = WRONG[case]
    said = {"model": least_squares(epsilon=1), "members": MEMBERS, "others": OTHERS, **changed}
    with pytest.raises(dp.errors.QueryError, match=re.escape(words)):
        membership(said.pop("model"), said.pop("members"), said.pop("others"), **said)


def test_a_target_is_asked_for() -> None:
    private = MEMBERS.copy().dp
    model = dp.models.GaussianNB(epsilon=1, bounds=(-1, 1), classes=["no", "yes"])
    model = model.fit(private[FEATURES], private["kind"])
    with pytest.raises(dp.errors.MissingArgument, match="target= is needed"):
        membership(model, MEMBERS, OTHERS)
