"""Statistics are loaded when they are first used, and pickles know those that weren't."""

import pkgutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import dppandas as dp
from dppandas import statistics
from dppandas.statistics import base

#: What a first count and a first mean have no use for.
UNUSED = {
    "privacy.accuracy.significance", "privacy.accuracy.three_sums",
    "privacy.accuracy.weighted_sums", "privacy.mechanisms.conditional",
    "privacy.mechanisms.partition_selection",
    "privacy.mechanisms.quantile_cells", "privacy.mechanisms.quantile_plans",
    "privacy.mechanisms.quantiles", "privacy.mechanisms.rank_errors", "privacy.mechanisms.ranks",
    "privacy.mechanisms.smooth", "privacy.mechanisms.thresholds",
    "privacy.mechanisms.weighted_selection", "statistics.counting.contingency",
    "statistics.counting.distinct", "statistics.counting.distinct_values",
    "statistics.counting.label_accumulators", "statistics.counting.labels_alone",
    "statistics.counting.occurring_keys",
    "statistics.counting.unknown_keys", "statistics.distances", "statistics.moments.covariance",
    "statistics.moments.covariance_tables", "statistics.moments.fieller",
    "statistics.moments.norms", "statistics.moments.second_moments",
    "statistics.moments.variances", "statistics.quantile_windows", "statistics.quantiles",
    "statistics.of_blocks.block_tests", "statistics.of_blocks.significant_blocks",
    "statistics.scores",
    "statistics.smooth", "statistics.suggested_bounds",
    "statistics.weighted_quantiles",
}  # fmt: skip

FIRST = """
import sys
import pandas as pd
import dppandas
p = pd.DataFrame({"x": [1.0, 2.0]}).dp
p.count(epsilon=1), p["x"].mean(bounds=(0, 9), epsilon=1)
print(*(name.removeprefix("dppandas.") for name in sys.modules if name.startswith("dppandas.")))
"""


def printed(code: str, *arguments: Path) -> str:
    """What a fresh process prints."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_a_first_count_and_mean_load_no_other_statistics() -> None:
    loaded = {*printed(FIRST).split()}
    assert {"statistics.counting.counts", "statistics.moments.means"} <= loaded
    assert loaded & UNUSED == set()
    package = Path(dp.__file__).parent
    assert [n for n in UNUSED if not (package / f"{n.replace('.', '/')}.py").exists()] == []


def test_the_table_has_every_statistic_and_its_module() -> None:
    for module in pkgutil.walk_packages(statistics.__path__, f"{statistics.__name__}."):
        import_module(module.name)
    homes = {name: f"dppandas.statistics.{home}" for name, home in statistics._HOMES.items()}
    found = {each.__name__: each.__module__ for each in base.REGISTRY}
    models = {name for name, module in found.items() if module.startswith("dppandas.models.")}
    assert {name: found[name] for name in found.keys() - models}.items() <= homes.items()
    assert {name: getattr(statistics, name).__module__ for name in homes} == homes
    assert statistics.every() == sorted(base.REGISTRY, key=lambda each: each.__name__)


#: A process writes pickles of statistics and mechanisms that it has just loaded. Another one, which
#: has asked nothing, reads them.
WRITE = """
import pickle, sys
import pandas as pd
import dppandas as dp
dp.session(epsilon=100, delta="0.01", experimental=True)
p = dp.protect(pd.DataFrame({"x": [1.0, 2.0] * 500, "k": ["a", "b"] * 500}), "kept")
with open(sys.argv[1], "wb") as file:
    for ask in (
        lambda: p.count(epsilon=1),
        lambda: p["x"].median(bounds=(0, 9), epsilon=1),
        lambda: p["x"].var(bounds=(0, 9), epsilon=1),
        lambda: p["k"].unique(epsilon=1, delta="0.001"),
        lambda: p["k"].value_counts(epsilon=1, delta="0.001"),
        lambda: p["x"].trimmed_mean(trim=10, bounds=(0, 9), epsilon=1),
        lambda: p["x"].suggest_bounds(epsilon=1),
    ):
        record = dp.record(ask())
        pickle.dump([record, record._statistic, record._law], file)
        print(record.query, record._statistic, record._law, sep="|")
"""
READ = """
import pickle, sys
import dppandas
with open(sys.argv[1], "rb") as file:
    while file.peek():
        record, statistic, law = pickle.load(file)
        assert (record._statistic, record._law) == (statistic, law)
        print(record.query, statistic, law, sep="|")
"""


def test_pickles_pass_between_processes_that_have_loaded_nothing_else(tmp_path: Path) -> None:
    written = printed(WRITE, tmp_path / "pickles")
    assert written.count("\n") == 7
    assert printed(READ, tmp_path / "pickles") == written
    assert b"dppandas.statistics" not in (tmp_path / "pickles").read_bytes()


LISTS = """
import numpy as np, pandas as pd, sys
import dppandas
p = pd.DataFrame({"x": [1.0, 2.0]}).dp
p.count(epsilon=1)
for ask in (
    lambda: p["x"].nothing, lambda: p["x"].agg(["nothing"]), lambda: np.median(p["x"]),
    lambda: p["x"].sem(bounds=(0, 9), epsilon=1),
):
    try:
        print(dppandas.record(ask()).query)
    except Exception as error:
        print(error)
"""


def test_lists_and_words_are_of_statistics_that_were_not_used() -> None:
    lines = printed(LISTS)
    for said in ("suggest_bounds", "Choose from count, max, mean", ".median(bounds=(0, 60)", "sem"):
        assert said in lines
