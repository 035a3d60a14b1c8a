"""House rules, read from the source: what may import what, and where things may happen."""

from __future__ import annotations

import ast
import inspect
import re
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import dppandas as dp

HOUSE = Path(dp.__file__).parent
MODULES = {
    ".".join(path.relative_to(HOUSE).with_suffix("").parts): path
    for path in sorted(HOUSE.rglob("*.py"))
}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in MODULES.items()}


def rooms() -> list[str]:
    """The rooms in the order of the map in the package's docstring."""
    table = (dp.__doc__ or "").split("=\n", 1)[1]
    cells = [line[:19] for line in table.splitlines()]
    return [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]


def room_of(module: str) -> str:
    return module.split(".")[0]


def imported(tree: ast.Module, module: str) -> Iterator[str]:
    """Rooms that a module imports when it runs, not only for type checkers."""
    package = MODULES[module].name == "__init__.py"
    depth = module.count(".") + (1 if package and module != "__init__" else 0)
    for_checkers = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in node.body
    }
    for node in ast.walk(tree):
        if id(node) in for_checkers:
            continue
        if isinstance(node, ast.ImportFrom) and node.level == depth + 1:
            names = [node.module] if node.module else [alias.name for alias in node.names]
            yield from (room_of(name) for name in names)
        elif isinstance(node, ast.ImportFrom | ast.Import) and not getattr(node, "level", 0):
            assert "dppandas" not in ast.unparse(node), f"{module} imports dppandas by name"


def test_the_map_names_every_room() -> None:
    found = {room_of(name) for name in MODULES} - {"__init__"}
    assert sorted(rooms()) == sorted(found)


@pytest.mark.parametrize("module", [name for name in MODULES if name != "__init__"])
def test_a_room_imports_only_rooms_above_it(module: str) -> None:
    order = rooms()
    above = order[: order.index(room_of(module)) + 1]
    assert set(imported(TREES[module], module)) <= set(above)


def calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def test_only_release_charges() -> None:
    charging = {
        name
        for name, tree in TREES.items()
        for call in calls(tree)
        if isinstance(call.func, ast.Attribute) and call.func.attr == "charge"
    }
    assert charging == {"release"}


def test_only_the_engines_and_release_read_rows_for_an_answer() -> None:
    reading = {
        name
        for name, tree in TREES.items()
        for call in calls(tree)
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("gather", "_rows")
    }
    assert reading == {"release", "engines.pandas"}


def test_only_sampling_reads_entropy() -> None:
    sources = ("urandom", "secrets", "SystemRandom", "default_rng", "np.random", "import random")
    entropy = re.compile("|".join(map(re.escape, (*sources, "uuid1", "uuid4", "getnode"))))
    reading = {name for name, path in MODULES.items() if entropy.search(path.read_text("utf-8"))}
    assert reading == {"sampling"}


def test_only_the_audit_chooses_by_a_seed_and_it_chooses_pairs_alone() -> None:
    seeded = {name for name, path in MODULES.items() if "from random" in path.read_text("utf-8")}
    assert seeded == {"audit.pairs"}
    assert "sampling" not in set(imported(TREES["audit.pairs"], "audit.pairs"))


def test_the_audit_is_imported_only_when_asked_for() -> None:
    code = (
        "import sys, dppandas; "
        "assert not [m for m in sys.modules if m.startswith(('dppandas.audit', 'scipy'))]; "
        "import dppandas.audit; "
        "assert 'scipy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=HOUSE.parent)


def test_only_the_audit_watches_releases() -> None:
    def named(name: str) -> set[str]:
        return {
            module
            for module, tree in TREES.items()
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and name in [alias.name for alias in node.names]
        }

    assert named("recorder") == named("scratch") == {"audit.sensitivity"}


@pytest.mark.parametrize("module", MODULES)
def test_nothing_is_checked_by_assert(module: str) -> None:
    # python -O drops them
    assert not [n.lineno for n in ast.walk(TREES[module]) if isinstance(n, ast.Assert)]


@pytest.mark.parametrize("module", MODULES)
def test_modules_say_what_they_are_and_stay_short(module: str) -> None:
    assert ast.get_docstring(TREES[module])
    assert len(MODULES[module].read_text("utf-8").splitlines()) <= 600


def test_functions_are_small() -> None:
    lengths = [
        (node.end_lineno or 0) - node.lineno + 1
        for tree in TREES.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    ]
    assert statistics.median(lengths) < 12
    assert max(lengths) <= 70


def test_all_is_what_the_package_defines() -> None:
    hooks = {"load_ipython_extension", "unload_ipython_extension"}
    defined = {
        name
        for name, value in vars(dp).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
        and getattr(value, "__module__", "").startswith("dppandas")
    }  # fmt: skip
    assert set(dp.__all__) == defined - hooks
    assert dp.__all__ == sorted(dp.__all__)


@pytest.mark.parametrize("name", dp.__all__)
def test_every_public_name_is_documented(name: str) -> None:
    assert inspect.getdoc(getattr(dp, name))
    public = vars(getattr(dp, name)) if inspect.isclass(getattr(dp, name)) else {}
    methods = {n: m for n, m in public.items() if not n.startswith("_") and callable(m)}
    undocumented = [n for n, method in methods.items() if not inspect.getdoc(method)]
    assert undocumented == []


def releasing() -> list[Any]:
    """Public methods that take an epsilon: what they return has been paid for."""
    kinds = (dp.PrivateFrame, dp.PrivateSeries, dp.PrivateGroupBy, dp.Unreleased)
    return [
        pytest.param(method, id=f"{kind.__name__}.{name}")
        for kind in kinds
        for name, method in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_") and "epsilon" in inspect.signature(method).parameters
    ]


@pytest.mark.parametrize("method", releasing())
def test_every_release_states_its_guarantee(method: Any) -> None:
    assert re.search(r"^\*Guarantee\*: \S", inspect.getdoc(method) or "", re.MULTILINE)


def test_the_releasing_methods_are_found() -> None:
    # so that the test above can't pass by finding none
    assert len(releasing()) >= 20


@pytest.mark.parametrize("name", sorted(n for n in dp.__all__ if n.endswith(("Error", "Exceeded"))))
def test_the_error_tree_is_drawn(name: str) -> None:
    drawing = inspect.getdoc(inspect.getmodule(dp.DPError)) or ""
    assert issubclass(getattr(dp, name), dp.DPError)
    assert name in drawing
