"""Keys of queries, as they were: a ledger that holds answers to them gives these again.

``python tests/test_golden_keys.py`` writes the file anew. That is right for an operation that is
new, or whose integers, or how they are read, changed on purpose; never for one that was renamed.
"""

import importlib
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ledgers import anew
from operations import (
    AT_DELTA,
    EVERY,
    EXPERIMENTAL,
    GAUSSIAN,
    OF_UNITS,
    SCHEMA,
    TESTED,
    UNKNOWN,
    released,
)

import dppandas as dp
from dppandas.errors import QueryError

FILE = Path(__file__).parent / "golden" / "keys.json"
SESSIONS: dict[str, dict[str, Any]] = {
    "epsilon": {"epsilon": 100, "delta": "0.001"},
    "rho": {"rho": 100, "delta": "0.001"},
}
NAMES = [*EVERY, *OF_UNITS, *UNKNOWN, *GAUSSIAN, *EXPERIMENTAL, *AT_DELTA, *TESTED]


def keys(name: str, session: str) -> list[str]:
    """Of all that an operation would release, in order: nothing is charged, drawn or read."""
    found: list[str] = []
    release = importlib.import_module("dppandas.release.release")
    planned = release._planned

    def spied(running: Any, query: Any, *more: Any) -> Any:
        found.append(query.key)
        return planned(running, query, *more)

    anew(**SESSIONS[session])
    dp.session(experimental=True)
    people = dp.protect(SCHEMA.copy(), "golden", unit="owner", max_rows=3, version="1")
    release._planned = spied
    try:
        with warnings.catch_warnings(), dp.preview():
            warnings.simplefilter("ignore")
            released(name, people)
    except QueryError as refused:  # an operation that this session doesn't have
        found.append(type(refused).__name__)
    finally:
        release._planned = planned
        dp.reset()
    return found


def golden() -> dict[str, dict[str, list[str]]]:
    found: dict[str, dict[str, list[str]]] = json.loads(FILE.read_text("utf-8"))
    return found


def cases() -> Iterator[tuple[str, str]]:
    return ((session, name) for session in SESSIONS for name in NAMES)


@pytest.mark.parametrize(("session", "name"), list(cases()))
def test_a_query_keeps_its_key(session: str, name: str) -> None:
    assert name in golden()[session], "run python tests/test_golden_keys.py"
    assert keys(name, session) == golden()[session][name]


def test_the_file_names_every_operation_and_no_other() -> None:
    assert {session: set(NAMES) for session in SESSIONS} == {
        session: set(found) for session, found in golden().items()
    }


def test_keys_tell_queries_apart() -> None:
    """But for those that have none, which are always drawn anew."""
    for found in golden().values():
        said = [tuple(each) for each in found.values() if len(each) == 1 and len(each[0]) == 32]
        assert len(set(said)) > 0.9 * len(said) > 100


if __name__ == "__main__":
    FILE.parent.mkdir(exist_ok=True)
    told = {session: {name: keys(name, session) for name in NAMES} for session in SESSIONS}
    FILE.write_text(json.dumps(told, indent=1) + "\n", "utf-8")
