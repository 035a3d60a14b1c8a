"""What every test starts from: no session, no known sources, and noise that tests may freeze."""

import functools
import gc
import importlib
import importlib.util
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sizes
from checkout import Checkout
from hypothesis import HealthCheck, settings
from ledgers import limit
from processor import Processor

import dppandas as dp
from dppandas.ledger.storage.sqlite import SqliteStore
from dppandas.ledger.storage.store import MemoryStore, Store
from dppandas.privacy.sampling import samplers
from dppandas.release import release as road
from dppandas.release.accuracy import expected
from dppandas.release.session import identities

#: What runs where its engine is installed: `make test-dask` and `make test-spark`.
CLUSTERS = {"test_dask.py": "distributed", "test_spark.py": "pyspark"}
collect_ignore = [
    f"engines/clusters/{name}"
    for name, library in CLUSTERS.items()
    if importlib.util.find_spec(library) is None
]

# The first look at Arrow or at a time zone takes longer than any deadline, and on a busy machine
# making examples takes longer than Hypothesis calls healthy.
settings.register_profile("quick", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("deep", settings.get_profile("quick"), max_examples=150)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--deep", action="store_true", help="full sizes, and the tests marked deep")
    parser.addoption("--nightly", action="store_true", help="the tests marked nightly, too")
    parser.addoption("--stage", metavar="NAME", help="compare seconds of processor with its last")
    parser.addoption("--record", action="store_true", help="write the stage's seconds anew")


def pytest_configure(config: pytest.Config) -> None:
    sizes.is_deep = config.getoption("--deep")  # before the tests, and their sizes, are read
    settings.load_profile("deep" if sizes.is_deep else "quick")
    config.pluginmanager.register(Processor(config))
    if not hasattr(config, "workerinput"):  # xdist's first process looks for all
        config.pluginmanager.register(Checkout(config.rootpath))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What is marked deep or nightly is left out unless it is asked for, and said to be."""
    marks = [] if sizes.is_deep else ["deep"]
    marks += [] if config.getoption("--nightly") else ["nightly"]
    left_out = {item for item in items if any(map(item.get_closest_marker, marks))}
    config.hook.pytest_deselected(items=[*left_out])
    items[:] = [item for item in items if item not in left_out]


def pytest_collection_finish() -> None:
    """Thousands of tests are not the garbage collector's to walk through, again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def configurations(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folders that don't exist yet. To number them, `mktemp` would read all that do each time."""
    folder = tmp_path_factory.mktemp("configurations")
    return (folder / str(i) for i in itertools.count())


@pytest.fixture(autouse=True)
def own_configuration(configurations: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """No test writes to the configuration of the user who runs it."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(next(configurations)))


@pytest.fixture(autouse=True)
def fresh_session() -> Iterator[None]:
    """No test inherits a budget, or a token that pandas kept in some frame's attrs."""
    dp.reset()
    identities.clear()
    yield
    dp.reset()
    identities.clear()


@pytest.fixture(scope="module")
def any_kind() -> Iterator[None]:
    """Columns of objects may be asked for anything, as if each were declared "unknown"."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("dppandas.release.release.refuse_unknown", lambda queries: None)
        yield


def heaviest(weights: Any, starts: Any, exactly: Any) -> Any:
    """The first largest weight of each group."""
    groups = np.split(weights, starts[1:])
    return starts + np.array([int(np.argmax(group)) for group in groups])


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """``frozen(z)``: each noise is z from now on, and a selection takes the first largest score;
    of equal ones in a row the middle.

    The noise is replaced, not seeded: nothing seeds it.
    """

    def freeze(noise: int) -> None:
        dtype = np.int64 if abs(noise) < 2**63 else object
        put = functools.partial(monkeypatch.setattr, samplers)
        put("discrete_laplace_vector", lambda scale, n: np.full(n, noise, dtype=dtype))
        put("permute_and_flip", lambda gaps, rate: list(gaps).index(0))
        put("weighted_choice", lambda w: max(range(len(w)), key=w.__getitem__))
        put("weighted_choices", heaviest)
        put("uniform", lambda n: n // 2)

    return freeze


@pytest.fixture
def exact(frozen: Callable[[int], None]) -> None:
    """Answers without noise, to compare them with pandas."""
    frozen(0)


@pytest.fixture
def alike(exact: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is released is the same whatever the rows, which are read all the same: what neighbours
    are told then differs only where something else than what is released is told."""
    release = importlib.import_module("dppandas.release.release")
    drawn = release._drawn

    def same(plan: Any, process: int) -> Any:
        drawn(plan, process)
        dummy = plan.mechanism.dummy_output(plan.query.statistic.size)
        is_noise = plan.mechanism.name in ("discrete Laplace", "discrete Gaussian")
        return [1000 - i for i in range(len(dummy))] if is_noise else dummy

    monkeypatch.setattr(release, "_drawn", same)


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """Each kind of store, empty."""
    is_file = request.param == "file"
    return SqliteStore(tmp_path / "a.ledger", limit(2)) if is_file else MemoryStore()


class Unstated(BaseException):
    """An error that can't be stated. A release passes over exceptions, which must not cost an
    answer, and this isn't one."""


@pytest.fixture(autouse=True)
def every_error_is_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    """What fails while an entry's words are found fails the test, whether these are read or not."""
    state, when_read = expected.answered_error, road._when_read

    def strictly(*given: Any) -> Any:
        try:
            return state(*given)
        except Exception as problem:
            raise Unstated from problem

    def tried(find: Callable[[], Any], *more: Any) -> Any:
        find()
        return when_read(find, *more)

    monkeypatch.setattr(expected, "answered_error", strictly)
    monkeypatch.setattr(road, "_when_read", tried)


@pytest.fixture(scope="session")
def survey() -> pd.DataFrame:
    """Fair's survey of 1978: 6,366 real respondents."""
    datasets: Any = pytest.importorskip("statsmodels.datasets")
    return datasets.fair.load_pandas().data


@pytest.fixture
def fair(survey: pd.DataFrame) -> pd.DataFrame:
    """The survey, with attrs of its own: no test gets the token of another's source."""
    return survey.copy(deep=False)
