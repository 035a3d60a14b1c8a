"""How each peer of benchmarks/peers.py is asked, each in an environment that has it.

A peer gets the rows in the form that it takes, made before it is timed; what is made once and kept
where it can be, too. Where a statistic needs several numbers they share ε. What a peer has no way
to answer is left out.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from peers_rows import EPSILON, Rows

Work = Callable[[], Any]
Asks = dict[str, Work]
#: Ends the name of a question whose answers are as those of the question, but take less time: of a
#: slow peer, errors are those of these.
AGAIN = ", again"
#: What a context of OpenDP has budget for. It takes time to make one with many more.
QUERIES = 400


# --- ours ---------------------------------------------------------------------------------------


def dppandas(rows: Rows) -> Asks:
    import pandas as pd

    import dppandas as dp

    df = pd.DataFrame({"x": rows.x, "k": rows.k})
    bounded: dict[str, Any] = {"bounds": rows.whole_bounds, "epsilon": EPSILON}
    step = {"step": rows.step} if rows.step else {}

    def new(ask: Work) -> Work:
        """In a session of its own."""

        def asked() -> Any:
            dp.reset()
            return ask()

        return asked

    asks: Asks = {
        "count": lambda: df.dp.count(epsilon=EPSILON),
        "filtered count": lambda: df.dp.query(f"x > {rows.above}").count(epsilon=EPSILON),
        "sum": lambda: df.dp["x"].sum(**bounded),
        "mean": lambda: df.dp["x"].mean(**bounded),
        "variance": lambda: df.dp["x"].var(ddof=0, **bounded),
        "median": lambda: df.dp["x"].median(**bounded, **step),
        "histogram": lambda: df.dp["k"].value_counts(keys=rows.keys, sort=False, epsilon=EPSILON),
        "mean of groups": lambda: df.dp.groupby("k", keys=rows.keys)["x"].mean(**bounded),
    }
    return {question: new(ask) for question, ask in asks.items()}


# --- diffprivlib --------------------------------------------------------------------------------


def diffprivlib(rows: Rows) -> Asks:
    """No means of groups: of neighbours that change a row it would have to know the sizes."""
    import pandas as pd
    from diffprivlib import tools

    x, k = pd.Series(rows.x), pd.Series(rows.k)
    bounded: dict[str, Any] = {"bounds": rows.bounds, "epsilon": EPSILON}
    edges = (-0.5, len(rows.keys) - 0.5)

    def histogram() -> Any:
        return tools.histogram(k, bins=len(rows.keys), range=edges, epsilon=EPSILON)[0]

    return {
        "count": lambda: tools.count_nonzero(x.notna(), epsilon=EPSILON),
        "filtered count": lambda: tools.count_nonzero(x > rows.above, epsilon=EPSILON),
        "sum": lambda: tools.sum(x, **bounded),
        "mean": lambda: tools.mean(x, **bounded),
        "variance": lambda: tools.var(x, **bounded),
        "median": lambda: tools.median(x, **bounded),
        "histogram": histogram,
    }


# --- OpenDP -------------------------------------------------------------------------------------


def _opendp() -> Any:
    import opendp.prelude as odp

    odp.enable_features("contrib")
    return odp


def _reals(odp: Any) -> tuple[Any, Any]:
    return odp.vector_domain(odp.atom_domain(T=float, nan=False)), odp.symmetric_distance()


def _plan(odp: Any, transformation: Any, epsilon: float = EPSILON) -> Any:
    """With Laplace noise for neighbours that add or remove a row."""
    return odp.binary_search_chain(
        lambda scale: transformation >> odp.m.then_laplace(scale), 1, epsilon
    )


def opendp(rows: Rows) -> Asks:
    """Plans that are made once. Sums for means and variances are of numbers around the middle,
    which are smaller; to OpenDP's own sum a row matters by the width of the bounds all the same."""
    odp = _opendp()
    x, k, middle = rows.x, rows.k, rows.middle
    reals, reach = _reals(odp), rows.bounds[1] - rows.middle
    whole = odp.vector_domain(odp.atom_domain(T="i64")), odp.symmetric_distance()

    def count(epsilon: float) -> Any:
        return _plan(odp, reals >> odp.t.then_count(), epsilon)

    def total(low: float, high: float, epsilon: float) -> Any:
        clamped = reals >> odp.t.then_clamp((low, high)) >> odp.t.then_sum()
        return _plan(odp, clamped, epsilon)

    halves = count(EPSILON / 2), total(-reach, reach, EPSILON / 2)
    square = reach**2 / 2  # squares lie in [0, reach²], and centred they move by half of that
    thirds = [count(EPSILON / 3), *(total(-r, r, EPSILON / 3) for r in (reach, square))]
    candidates = odp.t.then_quantile_score_candidates(rows.candidates, 0.5)
    median = odp.binary_search_chain(
        lambda s: reals >> candidates >> odp.m.then_noisy_max(odp.max_divergence(), s, negate=True),
        1,
        EPSILON,
    )
    by_key = odp.t.then_count_by_categories(rows.keys, null_category=False)
    asks: Asks = {
        "sum": partial(total(*rows.bounds, EPSILON), x),
        "median": lambda: rows.candidates[int(median(x))],
        "histogram": partial(_plan(odp, whole >> by_key), k),
    }
    whole_count = count(EPSILON)

    def mean() -> float:
        return float(middle + halves[1](x - middle) / max(halves[0](x), 1))

    def variance() -> float:
        centred = (x - middle).clip(-reach, reach)
        n = max(thirds[0](centred), 1)
        return float(thirds[2](centred**2 - square) / n + square - (thirds[1](centred) / n) ** 2)

    return {
        "count": partial(whole_count, x),
        "filtered count": lambda: whole_count(x[x > rows.above]),
        "mean": mean,
        "variance": variance,
        **asks,
    }


def opendp_context(rows: Rows) -> Asks:
    """A context for each question, whose queries are written anew each time; mean and variance are
    told n."""
    odp = _opendp()
    n, middle, candidates = len(rows.x), rows.middle, rows.candidates

    def asked(ask: Callable[[Any], Any], data: Any = rows.x, **kind: Any) -> Work:
        context = odp.Context.compositor(
            data=data, privacy_unit=odp.unit_of(contributions=1), split_evenly_over=QUERIES,
            privacy_loss=odp.loss_of(epsilon=EPSILON * QUERIES),
            domain=odp.vector_domain(odp.atom_domain(**(kind or {"T": float, "nan": False}))),
        )  # fmt: skip
        return lambda: ask(context.query())

    def sized(query: Any) -> Any:
        return query.clamp(rows.bounds).resize(n, constant=middle)

    def median(query: Any) -> float:
        scores = query.quantile_score_candidates(candidates, 0.5)
        return candidates[int(scores.noisy_max(odp.max_divergence(), negate=True).release())]

    def histogram(query: Any) -> Any:
        return query.count_by_categories(rows.keys, null_category=False).laplace().release()

    return {
        "count": asked(lambda query: query.count().laplace().release()),
        "sum": asked(lambda query: query.clamp(rows.bounds).sum().laplace().release()),
        "mean": asked(lambda query: sized(query).mean().laplace().release()),
        "variance": asked(lambda query: sized(query).variance(ddof=0).laplace().release()),
        "median": asked(median),
        "histogram": asked(histogram, rows.k, T="i64"),
    }


def _polars(rows: Rows) -> tuple[Any, dict[str, Callable[[], Any]], Callable[[Any], Any]]:
    """A frame, queries to a context about it, and how an answer is read."""
    import polars as pl

    odp, n = _opendp(), len(rows.x)
    frame = pl.DataFrame({"x": rows.x, "k": rows.k}).lazy()
    keyed = {"by": ["k"], "invariant": "keys", "max_groups": len(rows.keys)}
    context = odp.Context.compositor(
        data=frame, privacy_unit=odp.unit_of(contributions=1), split_evenly_over=QUERIES,
        privacy_loss=odp.loss_of(epsilon=EPSILON * QUERIES),
        margins=[odp.polars.Margin(max_length=n, **by) for by in ({"by": []}, keyed)],
    )  # fmt: skip
    x = pl.col("x").fill_null(0.0).fill_nan(0.0)
    mean, median = x.dp.mean(rows.bounds), x.dp.median(rows.candidates)
    query = context.query

    def read(answer: Any) -> Any:
        table = answer.collect()
        if table.width == 1:
            return table.item()
        return table.sort("k").drop("k").to_series().to_numpy()

    queries = {
        "count": lambda: query().select(odp.len()),
        "filtered count": lambda: query().filter(pl.col("x") > rows.above).select(odp.len()),
        "sum": lambda: query().select(x.dp.sum(rows.bounds)),
        "mean": lambda: query().select(mean),
        "median": lambda: query().select(median),
        "histogram": lambda: query().group_by("k").agg(odp.len()),
        "mean of groups": lambda: query().group_by("k").agg(mean),
    }
    return frame, queries, read


def opendp_polars(rows: Rows) -> Asks:
    """Queries written anew each time, as in a notebook. Keys are those of the rows, said to be
    public, and how many rows there are bounds the rounding of sums."""
    _, queries, read = _polars(rows)

    def asked(query: Callable[[], Any]) -> Work:
        return lambda: read(query().release())

    kept = opendp_polars_kept(rows)
    return {
        **{question: asked(query) for question, query in queries.items()},
        **{question + AGAIN: ask for question, ask in kept.items()},
    }


def opendp_polars_kept(rows: Rows) -> Asks:
    """The same, made into measurements once."""
    frame, queries, read = _polars(rows)

    def kept(query: Callable[[], Any]) -> Work:
        measurement = query().resolve()
        return lambda: read(measurement(frame))

    return {question: kept(query) for question, query in queries.items()}


# --- PyDP and PipelineDP ------------------------------------------------------------------------


def pydp(rows: Rows) -> Asks:
    """It takes lists. For keys it is asked key by key: a row has one."""
    import pandas as pd
    from pydp.algorithms import laplacian

    x, frame = rows.x.tolist(), pd.DataFrame({"x": rows.x, "k": rows.k})
    low, high = rows.whole_bounds
    bounded = {"lower_bound": low, "upper_bound": high, "epsilon": EPSILON, "dtype": "float"}

    def count(values: list[float]) -> Any:
        return laplacian.Count(epsilon=EPSILON, dtype="float").quick_result(values)

    def mean(values: list[float]) -> float:
        return float(laplacian.BoundedMean(**bounded).quick_result(values))

    def by_key() -> Iterator[list[float]]:
        groups = dict(list(frame.groupby("k")["x"]))
        return (groups[key].tolist() if key in groups else [] for key in rows.keys)

    return {
        "count": lambda: count(x),
        "filtered count": lambda: count(rows.x[rows.x > rows.above].tolist()),
        "sum": lambda: laplacian.BoundedSum(**bounded).quick_result(x),
        "mean": lambda: mean(x),
        "variance": lambda: laplacian.BoundedVariance(**bounded).quick_result(x),
        "median": lambda: laplacian.Median(**bounded).quick_result(x),
        "histogram": lambda: [count(values) for values in by_key()],
        "mean of groups": lambda: [mean(values) for values in by_key()],
    }


def pipeline_dp(rows: Rows) -> Asks:
    """Its local backend, on tuples. A row is a unit, so that nothing has to be bounded."""
    import pipeline_dp as pdp
    from pipeline_dp.combiners import create_compound_combiner

    logging.disable(logging.CRITICAL)
    tuples, many = list(zip(rows.k.tolist(), rows.x.tolist(), strict=True)), len(rows.keys)
    low, high = rows.bounds

    def prepared(metric: Any) -> tuple[Any, Any]:
        params = pdp.AggregateParams(
            noise_kind=pdp.NoiseKind.LAPLACE, metrics=[metric], max_partitions_contributed=1,
            max_contributions_per_partition=1, min_value=low, max_value=high,
            contribution_bounds_already_enforced=True,
        )  # fmt: skip
        return pdp.NaiveBudgetAccountant(total_epsilon=EPSILON, total_delta=1e-9), params

    def asked(metric: Any, keys: int, data: list[tuple[int, float]]) -> Any:
        accountant, params = prepared(metric)
        parts = pdp.DataExtractors(
            partition_extractor=(lambda row: row[0]) if keys > 1 else (lambda row: 0),
            value_extractor=lambda row: row[1],
        )  # fmt: skip
        engine = pdp.DPEngine(accountant, pdp.LocalBackend())
        found = engine.aggregate(data, params, parts, public_partitions=range(keys))
        accountant.compute_budgets()
        answers = {key: answer[0] for key, answer in found}
        return [answers[key] for key in range(keys)] if keys > 1 else answers[0]

    def again(metric: Any, values: list[list[float]]) -> Work:
        """Its own noise on its own sums, without counting rows anew."""
        accountant, params = prepared(metric)
        combiner = create_compound_combiner(params, accountant)
        accountant.compute_budgets()
        sums = [combiner.create_accumulator(each) for each in values]
        return lambda: np.squeeze([combiner.compute_metrics(each)[0] for each in sums])

    def large() -> list[tuple[int, float]]:
        return [row for row in tuples if row[1] > rows.above]

    metrics, everyone = pdp.Metrics, [rows.x.tolist()]
    by_key = [rows.x[rows.k == key].tolist() for key in range(many)]
    single = {
        "count": metrics.COUNT, "sum": metrics.SUM, "mean": metrics.MEAN,
        "variance": metrics.VARIANCE, "median": metrics.PERCENTILE(50),
    }  # fmt: skip
    keyed = {"histogram": metrics.COUNT, "mean of groups": metrics.MEAN}
    return {
        **{name: partial(asked, metric, 1, tuples) for name, metric in single.items()},
        **{name: partial(asked, metric, many, tuples) for name, metric in keyed.items()},
        "filtered count": lambda: asked(metrics.COUNT, 1, large()),
        **{name + AGAIN: again(metric, everyone) for name, metric in single.items()},
        **{name + AGAIN: again(metric, by_key) for name, metric in keyed.items()},
        "filtered count" + AGAIN: again(metrics.COUNT, [[row[1] for row in large()]]),
    }


# --- SmartNoise ---------------------------------------------------------------------------------


def smartnoise(rows: Rows) -> Asks:
    """SQL on a frame. Its ε is a column's: a query of several gets what makes its cost ours."""
    import pandas as pd
    import snsql

    low, high = rows.bounds
    frame = pd.DataFrame({"x": rows.x, "k": rows.k})
    table = {
        "row_privacy": True, "rows": len(frame), "censor_dims": False, "clamp_counts": False,
        "x": {"type": "float", "lower": low, "upper": high}, "k": {"type": "int"},
    }  # fmt: skip

    def reader(epsilon: float) -> Any:
        privacy = snsql.Privacy(epsilon=epsilon, delta=1e-9)
        return snsql.from_df(frame, privacy=privacy, metadata={"": {"": {"rows": table}}})

    plain = reader(EPSILON)

    def asked(what: str, rest: str = "", by_key: bool = False) -> Work:
        text = f"SELECT {what} AS answer FROM rows {rest}"
        cost = float(plain.get_privacy_cost(text)[0])
        kept = reader(EPSILON * EPSILON / cost)

        def ask() -> Any:
            found = kept.execute(text)[1:]
            return [row[1] for row in sorted(found)] if by_key else found[0][0]

        return ask

    return {
        "count": asked("COUNT(*)"),
        "filtered count": asked("COUNT(*)", f"WHERE x > {rows.above}"),
        "sum": asked("SUM(x)"),
        "mean": asked("AVG(x)"),
        "variance": asked("VAR(x)"),
        "histogram": asked("k, COUNT(*)", "GROUP BY k", by_key=True),
        "mean of groups": asked("k, AVG(x)", "GROUP BY k", by_key=True),
    }
