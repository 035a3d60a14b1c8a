"""Regressions and the perceptron, against plain arithmetic and scikit-learn."""

import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ledgers import anew
from notes import noted
from refusals import refusal
from sklearn import base, linear_model, pipeline

import dppandas as dp
from dppandas.errors import MissingArgument, QueryError
from dppandas.models import LinearRegression, LogisticRegression, Perceptron
from dppandas.models.linear import Level
from dppandas.privacy.accounting.losses import Loss
from dppandas.release.context import watching

#: So much loss that no noise is seen.
ALL = 64
BOX = {"a": (-1, 1), "b": (0, 10), "c": (-5, 5)}
FEATURES = list(BOX)


def table(rows: int = 3000) -> pd.DataFrame:
    """Made-up rows: a line with noise, and two classes that overlap."""
    random = np.random.default_rng(5)
    a, b, c = random.uniform(-1, 1, rows), random.uniform(0, 10, rows), random.uniform(-5, 5, rows)
    line = 3 + a + 0.2 * b - 0.1 * c
    chance = 1 / (1 + np.exp(-(1 + 2 * a - 0.4 * b + 0.5 * c)))
    y, kind = line + random.normal(0, 0.1, rows), random.random(rows) < chance
    return pd.DataFrame({"a": a, "b": b, "c": c, "y": y, "kind": np.where(kind, "yes", "no")})


def models(**loss: Any) -> list[tuple[Any, str]]:
    """One of each, and its target."""
    loss = loss or {"epsilon": 1}
    return [
        (LinearRegression(**loss, bounds=BOX, target_bounds=(0, 8), rounds=2), "y"),
        (LogisticRegression(**loss, bounds=BOX, classes=["no", "yes"], rounds=2), "kind"),
        (Perceptron(**loss, bounds=BOX, classes=["no", "yes"], rounds=3), "kind"),
    ]


each = pytest.mark.parametrize("number", range(3), ids=["linear", "logistic", "perceptron"])


def fitted(model: Any, rows: pd.DataFrame, target: str, epsilon: object = 1) -> Any:
    anew(epsilon=epsilon)
    fresh = rows.copy()
    fresh.attrs.clear()  # which say whose rows they are
    of_objects = dict.fromkeys(fresh.select_dtypes(object), "unknown")
    people = dp.protect(fresh, name="people", kinds=of_objects)
    return model.fit(people[FEATURES], people[target])


# what is learnt


def test_many_rounds_come_to_least_squares() -> None:
    rows = table()
    model = LinearRegression(epsilon=ALL, bounds=BOX, target_bounds=(0, 8), rounds=12, clip=2)
    fitted(model, pd.concat([rows] * 30), "y", ALL)  # so many that the noise of each is small
    exact = linear_model.LinearRegression().fit(rows[FEATURES], rows["y"])
    assert np.allclose(model.coef_, exact.coef_, atol=0.02)
    assert abs(model.intercept_ - exact.intercept_) < 0.05
    scores = [each.score(rows[FEATURES], rows["y"]) for each in (model, exact)]
    assert abs(scores[0] - scores[1]) < 0.01


@pytest.mark.parametrize("rounds", [1, 10])
def test_a_clip_of_two_comes_to_least_squares_whatever_the_residuals(rounds: int) -> None:
    """Of a target that is 0 or 1, and a skewed feature. Of at most 70 noisy numbers, one would have
    to be beyond 20 times its scale, 70 e^-20 < 2e-7: below that a step is wrong by 0.04 at most,
    the mean residual by 0.002. Before, the constant was off by 0.04 in one round, 0.06 in ten."""
    random = np.random.default_rng(7)
    x = random.beta(1, 8, 50_000)
    rows = pd.DataFrame({"x": x, "y": (random.random(len(x)) < 0.9 * np.sqrt(x)) * 1.0})
    anew(epsilon=ALL)
    people = dp.protect(rows, name="people", domain={"x": (0, 1), "y": (0, 1)})
    model = LinearRegression(epsilon=ALL, rounds=rounds, clip=2).fit(people[["x"]], people["y"])
    exact = linear_model.LinearRegression().fit(rows[["x"]], rows["y"])
    assert abs(model.coef_[0] - exact.coef_[0]) < 0.05
    assert abs(model.intercept_ - exact.intercept_) < 0.01


def test_a_clip_of_two_overshoots_no_step() -> None:
    """Of eight features that nearly agree, whose weighted sum lies far from its mean. Of at most 70
    noisy numbers, one would have to be beyond 20 times its scale: below 2e-7. Before, R² was below
    0, because a step that clipped the weighted sum went nearly twice as far as is best."""
    random = np.random.default_rng(7)
    most = random.random((50_000, 1)) < 0.3
    alike, names = random.random((50_000, 8)) < 0.9, list("abcdefgh")
    features = np.where(alike, most, random.random((50_000, 8)) < 0.3) * 1.0
    rows = pd.DataFrame(features, columns=names)
    chances = 0.1 + 0.6 * rows["a"] + 0.2 * rows["d"]
    rows["y"] = (random.random(len(rows)) < chances) * 1.0
    anew(epsilon=ALL)
    ends = {"bounds": (0, 1), "target_bounds": (0, 1)}
    people = dp.protect(rows, name="people")
    model = LinearRegression(epsilon=ALL, clip=2, **ends).fit(people[names], people["y"])
    exact = linear_model.LinearRegression().fit(rows[names].to_numpy(), rows["y"])
    scores = [each.score(rows[names].to_numpy(), rows["y"]) for each in (model, exact)]
    assert scores[0] > scores[1] - 0.01


def test_many_rounds_come_to_the_most_likely_chances() -> None:
    rows = table()
    model = LogisticRegression(epsilon=ALL, bounds=BOX, classes=["no", "yes"], rounds=12)
    fitted(model, pd.concat([rows] * 30), "kind", ALL)
    exact = linear_model.LogisticRegression(C=1e6).fit(rows[FEATURES], rows["kind"])
    assert list(exact.classes_) == list(model.classes_)
    assert np.allclose(*[each.predict_proba(rows[FEATURES]) for each in (model, exact)], atol=0.03)


def test_the_perceptron_is_rosenblatts() -> None:
    rows = table(500)
    model = Perceptron(epsilon=ALL, bounds=BOX, classes=["no", "yes"], rounds=4)
    fitted(model, rows, "kind", ALL)
    box = np.array([BOX[name] for name in FEATURES], dtype=float)
    x = (rows[FEATURES].to_numpy() - box.mean(1)) / (box[:, 1] - box[:, 0]) * 2
    x, y = np.column_stack([x, np.ones(len(x))]), np.where(rows["kind"] == "yes", 1.0, -1.0)
    weights = np.zeros(4)
    for _ in range(4):
        wrong = (x @ weights) * y <= 0
        weights += (x[wrong] * y[wrong, None]).sum(0)
    half = (box[:, 1] - box[:, 0]) / 2
    expected = weights / np.abs(weights).sum()
    # noise of scale 4·4/64 a sum, on weights of some tens: far less than 0.1 of them
    assert np.allclose(model.coef_[0] * half, expected[:3], atol=0.1)
    assert np.mean(model.predict(rows[FEATURES]) == np.where(x @ weights > 0, "yes", "no")) > 0.9


def test_one_round_is_far_better_than_guessing() -> None:
    """Deviations of noise are below a tenth of what is told: failing is beyond 1e-6."""
    rows = table(20_000)
    model = fitted(LogisticRegression(epsilon=1, bounds=BOX, classes=["no", "yes"]), rows, "kind")
    base_rate = max(rows["kind"].value_counts(normalize=True))
    assert model.score(rows[FEATURES], rows["kind"]) > base_rate + 0.1
    line = fitted(LinearRegression(epsilon=1, bounds=BOX, target_bounds=(0, 8)), rows, "y")
    assert line.score(rows[FEATURES], rows["y"]) > 0.5


@pytest.mark.parametrize("rows", [300, 20_000])
@pytest.mark.parametrize("loss", [{"epsilon": 1}, {"rho": "0.2"}], ids=["epsilon", "rho"])
def test_many_rows_are_asked_for_products_too(rows: int, loss: dict[str, Any], frozen: Any) -> None:
    """Three slopes; of many rows also 1, three means, six products. It costs the same. Under ε
    there is no noise; under ρ a number of rows would have to be wrong by 20 deviations."""
    frozen(0)
    ends = {"bounds": BOX, **loss}
    for model, target in (
        (LogisticRegression(**ends, classes=["no", "yes"], rounds=1), "kind"),
        (LinearRegression(**ends, target_bounds=(0, 8), rounds=1), "y"),
    ):
        anew(**loss, **({"delta": 1e-6} if "rho" in loss else {}))
        people = dp.protect(table(rows), name="people")
        model.fit(people[FEATURES], people[target])
        assert model.releases_[1]._statistic.size == (3 if rows == 300 else 13)
        assert dp.ledger().remaining == 0


def test_many_rows_come_near_least_squares_in_one_round() -> None:
    """Of correlated features, whose gradient points elsewhere. Noise is hardly seen: to fail,
    one of some 30 numbers must be beyond 30 times its scale, which is below 1e-9."""
    random = np.random.default_rng(8)
    a = random.uniform(-1, 1, 20_000)
    rows = pd.DataFrame({"a": a, "b": np.clip(a + random.normal(0, 0.2, len(a)), -1, 1)})
    rows["y"] = rows["a"] - rows["b"]
    model = LinearRegression(epsilon=8, bounds=(-1, 1), target_bounds=(-1, 1), rounds=1)
    anew(epsilon=8)
    people = dp.protect(rows, name="people")
    model.fit(people[["a", "b"]], people["y"])
    assert model.score(rows[["a", "b"]].to_numpy(), rows["y"]) > 0.8


def line(rows: int) -> pd.DataFrame:
    """A target whose deviation is 0.9, of five features; of -4 to 4 an eighth."""
    random = np.random.default_rng(9)
    made = pd.DataFrame(random.uniform(-1, 1, (rows, 5)), columns=list("abcde"))
    return made.assign(y=made.to_numpy() @ [1, -0.8, 0.6, -0.4, 0.2] + random.normal(0, 0.3, rows))


def scored(rows: pd.DataFrame, epsilon: object) -> float:
    anew(epsilon=epsilon)
    people, names = rows.dp, list("abcde")
    model = LinearRegression(epsilon=epsilon, bounds=(-1, 1), target_bounds=(-4, 4))
    return float(model.fit(people[names], people["y"]).score(rows[names], rows["y"]))


@pytest.mark.statistical
def test_where_rows_are_too_few_a_fit_is_hardly_worse_than_the_constant() -> None:
    """1,000 rows, five features, ε = 0.1: the median R² of 60 fits is at least -0.02. A constant's
    noise costs more than that in one fit of seven, (1 + t/2) e^-t with t = 2.86. Were it one in
    five, 30 of 60 would have a chance of 3e-7. And no more than ten are below -0.15, where a
    constant's noise leads one in 400; were it one in 50, eleven would have a chance of 7e-8. Power:
    before, three of four were below -0.02; where each step is taken, 18 of 60 are below -0.15."""
    found = sorted(scored(line(1000), "0.1") for _ in range(60))
    assert np.median(found) >= -0.02
    assert found[10] >= -0.15


def test_where_rows_are_enough_a_step_is_taken() -> None:
    """The same line, 10,000 rows: what is told is 20 times its noise, and failing beyond 1e-6."""
    assert scored(line(10_000), "0.1") > 0.5


def test_without_a_step_the_rest_of_the_loss_goes_into_one_mean(exact: None) -> None:
    """Without noise: of few rows the number of rows and then the mean; of rows whose target is no
    sum of features a gradient in between. The loss is spent to the end, and again it is free."""
    few, flat = line(20), line(300).assign(y=1.0)
    flat[list("abcde")] = np.tile([[1.0], [-1.0]], (150, 5))
    for rows, shares in ((few, ["4", "33.5"]), (flat, ["4", "16", "17.5"])):
        session = anew(epsilon=1)
        people = dp.protect(rows, name="a line")
        for _ in range(2):
            model = LinearRegression(epsilon=1, bounds=(-1, 1), target_bounds=(-4, 4))
            model.fit(people[list("abcde")], people["y"])
            assert session.remaining == 0
        losses = [record.loss.epsilon for record in model.releases_]
        assert losses == [Fraction(share) / Fraction("37.5") for share in shares]
        assert (model.n_iter_, model.coef_.tolist()) == (0, [0.0] * 5)
        assert model.intercept_ == pytest.approx(rows["y"].mean(), abs=1e-6)


def test_a_constant_says_so_as_far_as_answers_tell() -> None:
    """Once for each fit, a free one too; not in a preview, and not where a slope was learnt."""
    few, many = line(20), line(3000)
    anew(epsilon=3)
    people, others = dp.protect(few, name="few"), dp.protect(many, name="many")
    names = list("abcde")
    model = LinearRegression(epsilon=1, bounds=(-1, 1), target_bounds=(-4, 4))
    with dp.preview(), warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(people[names], people["y"])
        assert model.releases_.note == ""
    for _ in range(2):
        with pytest.warns(UserWarning, match=r"is a constant, .* larger loss") as warned:
            model.fit(people[names], people["y"])
        assert [each.filename for each in warned] == [__file__]
        assert model.n_iter_ == 0
        assert repr(model.releases_).endswith(model.releases_.note)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.fit(others[names], others["y"]).n_iter_ == 1
    assert "constant" not in repr(model.releases_)


def test_slopes_that_are_all_zero_count_as_no_round() -> None:
    """The number of rows and the gradient stand out; all sums after them are 0, and so the step."""
    asked = []

    def answers(query: Any, *_: Any) -> list[int]:
        asked.append(query)
        return [2**40 * (len(asked) <= 2)] * query.statistic.size

    anew(epsilon=1)
    people = dp.protect(line(300), name="people")
    model = LinearRegression(epsilon=1, bounds=(-1, 1), target_bounds=(-4, 4), rounds=1)
    with watching(answers), pytest.warns(UserWarning, match="constant"):
        model.fit(people[list("abcde")], people["y"])
    assert (model.n_iter_, len(asked)) == (0, 5)


def test_what_is_added_trusts_answers_by_their_noise() -> None:
    level = Level(0.25, 4.0).shifted(-0.125, 2.0)
    assert level == Level(0.125, 6.0)
    assert level.updated(0.5, 2.0) == Level(0.125 + 0.75 * 0.5, 1.5)
    assert level.updated(9.0, 6.0).height == 4.0


# what it costs


@each
def test_a_fit_costs_exactly_what_it_says_and_again_nothing(number: int) -> None:
    model, target = models(epsilon="0.7")[number]
    dp.session(epsilon=0.7)
    people = dp.protect(table(50), name="people")
    model.fit(people[FEATURES], people[target])
    assert dp.ledger().spent == Fraction(7, 10)
    assert sum(r.loss.epsilon for r in model.releases_) == Fraction(7, 10)
    again = base.clone(model).fit(people[FEATURES], people[target])
    assert dp.ledger().spent == Fraction(7, 10)
    assert np.array_equal(again.coef_, model.coef_)


@each
def test_rho_is_spent_exactly(number: int) -> None:
    model, target = models(rho="0.1")[number]
    dp.session(rho=0.1, delta=1e-6)
    people = dp.protect(table(50), name="people")
    model.fit(people[FEATURES], people[target])
    assert dp.ledger().remaining == 0


@each
def test_all_or_none(number: int) -> None:
    model, target = models()[number]
    refusal(lambda: fitted(model, table(50), target, 0.99), "in all", dp.BudgetExceeded)
    assert not hasattr(model, "coef_")


REFUSED: dict[str, tuple[Any, str]] = {
    "no loss": (lambda: LogisticRegression(bounds=BOX, classes=["no", "yes"]), "epsilon"),
    "no bounds": (lambda: LogisticRegression(epsilon=1, classes=["no", "yes"]), "bounds= is"),
    "no classes": (lambda: LogisticRegression(epsilon=1, bounds=BOX), "never read"),
    "text for classes": (lambda: Perceptron(epsilon=1, bounds=BOX, classes="no"), "a list"),
    "three": (lambda: Perceptron(epsilon=1, bounds=BOX, classes=["a", "b", "c"]), "two classes"),
    "rounds": (lambda: Perceptron(epsilon=1, bounds=BOX, classes=["a", "b"], rounds=0), "rounds"),
    "rounds of text": (lambda: LinearRegression(epsilon=1, bounds=BOX, rounds="2"), "rounds"),
    "no target bounds": (lambda: LinearRegression(epsilon=1, bounds=BOX), r"target|kind text"),
    "clip": (lambda: LinearRegression(epsilon=1, bounds=BOX, target_bounds=(0, 8), clip=0), "clip"),
    "one point": (lambda: LinearRegression(epsilon=1, bounds=BOX, target_bounds=(1, 1)), "point"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_costs_nothing(name: str) -> None:
    make, match = REFUSED[name]
    dp.session(epsilon=10)
    people = dp.protect(table(50), name="people")
    refusal(lambda: make().fit(people[FEATURES], people["kind"]), match)


# rows of any kind


HOSTILE: dict[str, pd.DataFrame] = {
    "none": table(0), "one": table(1), "missing targets": table(30).assign(y=np.nan, kind=None),
    "missing features": table(30).assign(a=np.nan),
    "infinite": table(30).assign(a=np.inf, y=-np.inf),
    "text": table(30).assign(a="x", y="z", kind=7), "huge": table(30).assign(b=1e308, y=1e308),
}  # fmt: skip


@each
@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_but_values_depends_on_the_rows(number: int, name: str) -> None:
    model, target = models()[number]
    fitted(model, HOSTILE[name].astype(object), target)
    usual = fitted(models()[number][0], table(30), target)
    assert model.coef_.shape == usual.coef_.shape
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()
    scales = [[r.scale for r in m.releases_] for m in (model, usual)]
    costs = [sum((r.loss for r in m.releases_), Loss()) for m in (model, usual)]
    assert costs[0] == costs[1]
    # of public facts alone the first are asked; the others follow from what was released before
    public = 2 if number else 1
    assert scales[0][:public] == scales[1][:public]


@each
@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("answers", [lambda i: 0, lambda i: 10**9 * (i + 1), lambda i: (-3) ** i])
def test_equal_answers_lead_to_equal_questions(number: int, name: str, answers: Any) -> None:
    """Whatever the rows are: the same scales, losses, titles and model, to the last bit."""
    asked, learnt = [], []
    with watching(lambda query, *_: [answers(i) for i in range(query.statistic.size)]):
        for rows in (HOSTILE[name].astype(object), table(30).astype(object)):
            model, target = models()[number]
            fitted(model, rows, target)
            asked.append([(r.scale, r.loss, r.query) for r in model.releases_])
            learnt.append((model.coef_.tolist(), np.ravel(model.intercept_).tolist()))
    assert asked[0] == asked[1]
    assert learnt[0] == learnt[1]


@each
def test_rows_without_a_feature_or_target_are_not_learnt_from(number: int) -> None:
    """Without noise to speak of, the same is learnt as where they are left out."""
    model, target = models(epsilon=ALL)[number]
    rows = pd.concat([table(2000)] * 8)
    holes = rows.copy().assign(c=np.nan)
    holes[["y", "kind"]] = [8.0, "yes"]
    alone = fitted(base.clone(model), rows, target, ALL)
    both = fitted(model, pd.concat([rows, holes]), target, ALL)
    assert np.allclose(alone.coef_, both.coef_, atol=0.1)


# prediction


@each
def test_private_rows_are_predicted_as_plain_ones(number: int) -> None:
    model, target = models(epsilon=ALL)[number]
    rows = table(200)
    fitted(model, rows, target, 1000)
    spent = dp.ledger().spent
    people = dp.protect(rows.assign(plain=model.predict(rows[FEATURES])), name="others")
    same = people[model.predict(people) == people["plain"]]
    assert dp.ledger().spent == spent
    # a count at ε = 64 is exact but for 1e-27
    assert same.count(epsilon=64) == 200


def test_predicted_classes_are_declared() -> None:
    model, target = models()[1]
    fitted(model, table(100), target, 10)
    people = dp.protect(table(100), name="people")
    assert sorted(model.predict(people).value_counts(epsilon=1).index) == ["no", "yes"]
    assert model.predict_proba(table(5)[FEATURES]).sum(1) == pytest.approx(np.ones(5))
    refusal(lambda: model.score(people, table(100)["kind"]), "must be released")


@each
def test_scikit_learn_takes_them(number: int) -> None:
    model, target = models()[number]
    rows = table(50)
    line = pipeline.Pipeline([("model", model)])
    fitted(line, rows, target)
    assert line.predict(rows[FEATURES]).shape == (50,)
    assert (base.is_regressor if number == 0 else base.is_classifier)(model)
    other = base.clone(model)
    assert other.get_params() == model.get_params()
    assert not hasattr(other, "coef_")
    assert other.set_params(rounds=7).rounds == 7
    refusal(lambda: other.predict(rows[FEATURES]), "isn't fitted")


def test_a_mask_has_its_classes() -> None:
    dp.session(epsilon=5)
    people = dp.protect(table(100), name="people")
    model = LogisticRegression(epsilon=1, bounds=BOX).fit(people[FEATURES], people["y"] > 3)
    assert model.classes_.tolist() == [False, True]


def test_classes_are_in_the_order_of_scikit_learn_however_they_are_given() -> None:
    rows, whole = table(400), np.arange(400)
    positive = rows["kind"] == "yes"
    targets: dict[str, tuple[Any, list[Any]]] = {
        "texts": (rows["kind"], ["yes", "no"]), "capitals": (rows["kind"].map(
            {"yes": "B", "no": "a"}), ["B", "a"]),
        "numbers": (positive.astype(int), [1, 0]), "far": (positive.map({True: -5, False: 3}),
        [-5, 3]), "reals": (positive.map({True: 2.0, False: 1.0}), [2.0, 1.0]),
        "truths": (positive, [True, False]),
    }  # fmt: skip
    for name, (target, given) in targets.items():
        df = rows.assign(kind=target, at=whole)
        theirs = linear_model.LogisticRegression().fit(rows[FEATURES], target)
        for of in (LogisticRegression, Perceptron):
            made = {}
            for classes in (given, given[::-1], None):
                with noted((name, of.__name__, classes)):
                    anew(epsilon=ALL)
                    keys = {} if classes is not None or name == "truths" else {"kind": given}
                    people = dp.protect(df.copy(), name="people", domain=keys)
                    model = of(epsilon=ALL, bounds=BOX, classes=classes)
                    model.fit(people[FEATURES], people["kind"])
                    assert model.classes_.tolist() == theirs.classes_.tolist()
                    agree = model.predict(rows[FEATURES]) == theirs.predict(rows[FEATURES])
                    assert agree.mean() > (0.9 if of is LogisticRegression else 0.6)
                    made[str(classes)] = model.releases_[0]._query.question
            assert len({*made.values()}) <= 2  # the domain is not in the key; the order isn't


# --- what is refused about targets ----------------------------------------------------------------


def test_a_score_needs_one_target_a_row() -> None:
    rows = table(500)
    model = fitted(models()[0][0], rows, "y")
    plain = rows[FEATURES]
    assert model.score(plain, rows["y"]) == model.score(plain, rows[["y"]])
    for wrong in (None, [1.0], [1.0, 2.0], rows[["y", "a"]], ["text"] * 500, [1.0] * 500):
        with pytest.raises(QueryError, match="target"):
            model.score(plain, wrong)
    refusal(lambda: model.score(plain[:0], []), "at least one row")
    kinds = fitted(models()[1][0], rows, "kind")
    assert kinds.score(plain, rows["kind"]) == kinds.score(plain, rows[["kind"]])
    refusal(lambda: kinds.score(plain, ["yes"]), "at least one row")


def test_bounds_and_classes_of_another_target_are_refused_free_of_charge() -> None:
    dp.session(epsilon=9)
    people = dp.protect(table(100), name="people", domain={"kind": ["no", "yes"]})

    def fit(of: Any, target: str, bounds: Any = BOX, **more: Any) -> Any:
        model = of(epsilon=1, bounds=bounds, **more)
        return lambda: model.fit(people[FEATURES], people[target])

    line, wide = fit(LinearRegression, "y", target_bounds={"b": (0, 1)}), {**BOX, "A": (0, 1)}
    refusal(line, r"one pair \(lower, upper\)")
    refusal(fit(LinearRegression, "y"), "target_bounds= is needed", MissingArgument)
    for model in (LogisticRegression, Perceptron):
        refusal(fit(model, "kind", classes=["No", "yes"]), "no key of")
    refusal(fit(LinearRegression, "y", wide, target_bounds=(0, 8)), "isn't a column")


def test_a_perceptron_ends_where_it_stands_still(exact: None) -> None:
    """Without noise, and all rows on the right side, each further round would ask the same."""
    session = dp.session(epsilon=60)
    people = dp.protect(pd.DataFrame({"a": [-1.0, 1.0] * 50}), name="people", domain={"a": (-1, 1)})
    model = Perceptron(epsilon=50, rounds=50).fit(people[["a"]], people["a"] > 0)
    assert model.n_iter_ < 10
    assert session.spent == model.n_iter_ - 1
    assert len(model.releases_) == model.n_iter_
