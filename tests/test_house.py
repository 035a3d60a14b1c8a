"""House rules, read from the source: what may import what, and where things may happen."""

import ast
import inspect
import os
import re
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import partial
from graphlib import TopologicalSorter
from pathlib import Path
from re._constants import MAXREPEAT
from re._parser import SubPattern
from re._parser import parse as parse_pattern
from typing import Any

import pytest

import dppandas as dp
from dppandas import errors
from dppandas.privacy.accounting.losses import ReleaseOptions
from dppandas.release.private import Private
from dppandas.release.ways import Ways

HOUSE = Path(dp.__file__).parent
MODULES = {
    ".".join(path.relative_to(HOUSE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(HOUSE.rglob("*.py"))
}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in MODULES.items()}

#: Which rooms a room may import: the picture of docs/adr/0031-ten-rooms.md.
BELOW = {
    "dataclasses": "",
    "errors": "",
    "privacy": "errors",
    "rows": "errors",
    "engines": "errors rows",
    "statistics": "errors privacy rows",
    "ledger": "errors privacy rows",
    "release": "errors privacy rows engines statistics ledger",
    "findings": "errors privacy rows statistics release",
    "columns": "errors privacy rows statistics release",
    "frames": "errors privacy rows engines statistics ledger release columns",
    "display": "errors privacy rows engines statistics ledger release findings frames",
    "local": "errors privacy rows release",
    "models": "errors privacy rows engines statistics release columns frames display",
    "stats": "errors privacy rows engines statistics release findings columns frames models",
    "audit": "errors privacy rows statistics release frames models display",
}
#: What every room may import.
FOR_ALL = ("dataclasses",)
#: The root's modules stand above all rooms.
ROOT = ("__init__", "__main__", "accessor", "errors", "types")


def room_of(module: str) -> str:
    return module.split(".")[0]


def imported(module: str) -> Iterator[str]:
    """The modules that a module imports, at any time, and for type checkers too."""
    path = MODULES[module].relative_to(HOUSE)
    for node in ast.walk(TREES[module]):
        if isinstance(node, ast.Import):
            assert "dppandas" not in ast.unparse(node), f"{module} imports dppandas by name"
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        folder = path.parts[: len(path.parts) - node.level]
        start = ".".join([*folder, *([node.module] if node.module else [])])
        for alias in node.names:
            inner = f"{start}.{alias.name}".lstrip(".")
            yield inner if inner in MODULES else start or "__init__"


IMPORTS = {module: set(imported(module)) for module in MODULES}


def test_the_map_names_every_room() -> None:
    lines = [line for line in (dp.__doc__ or "").splitlines() if re.match(r"``\w", line)]
    assert [name for line in lines for name in re.findall(r"``(\w+)``", line[:24])] == list(BELOW)
    assert {*BELOW} <= {room_of(name) for name in MODULES} <= {*BELOW, *ROOT}


def test_imports_follow_the_picture() -> None:
    upwards = [
        (module, name)
        for module, names in IMPORTS.items()
        for name in names
        if (room := room_of(module)) in BELOW
        and room_of(name) not in (room, *FOR_ALL, *BELOW[room].split())
    ]
    assert upwards == []


def test_no_module_imports_itself_in_a_circle() -> None:
    # A package's own names come from its modules: only modules can be in a circle.
    TopologicalSorter({m: names - {m} for m, names in IMPORTS.items()}).prepare()


def test_data_classes_are_our_own() -> None:
    """Python's compile six functions each, where a first answer defines two hundred."""
    found = [
        name
        for name, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module, node.level) == ("dataclasses", 0)
        if "dataclass" in {alias.name for alias in node.names}
    ]
    assert found == ["dataclasses"], "import dataclass from our own dataclasses"


def test_no_room_is_crowded() -> None:
    crowds = Counter(str(path.parent.relative_to(HOUSE)) for path in MODULES.values())
    assert crowds.pop(".") <= 6
    assert max(crowds.values()) <= 20 + 1  # with its __init__


def test_no_two_modules_of_a_room_share_a_name() -> None:
    names = Counter((room_of(name), path.name) for name, path in MODULES.items())
    assert [pair for pair, number in names.items() if number > 1 and pair[1] != "__init__.py"] == []


TESTS = Path(__file__).parent


def test_tests_mirror_the_rooms() -> None:
    """A folder of tests is named as the room, or the module, that its tests are of. What holds
    across rooms is tested in the files beside this one."""
    folders = {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")} - {Path()}
    assert [folder for folder in folders if not (HOUSE / folder).is_dir()] == []
    assert {*BELOW} - {folder.parts[0] for folder in folders} == {"errors", *FOR_ALL}
    names = Counter(path.name for path in TESTS.rglob("*.py"))
    assert names.most_common(1)[0][1] == 1  # pytest knows them by these


CLOCKS = {"perf_counter", "monotonic", "process_time", "thread_time", "time"}


def hasty(tree: ast.AST) -> Iterator[str]:
    """What a busy machine could make fail: readings of a clock, and short limits of waiting."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "time":
            yield ast.unparse(node)
        elif isinstance(node, ast.Attribute) and node.attr.removesuffix("_ns") in CLOCKS:
            if ast.unparse(node.value) == "time":
                yield ast.unparse(node)
        elif isinstance(node, ast.Call):
            named = [each.value for each in node.keywords if each.arg == "timeout"]
            waits = isinstance(node.func, ast.Attribute) and node.func.attr in ("join", "wait")
            for limit in [*named, *(node.args if waits else ())]:
                told = limit.value if isinstance(limit, ast.Constant) else None
                if isinstance(told, int | float) and told < 120:
                    yield ast.unparse(node)


def test_no_test_looks_at_a_clock() -> None:
    paths = {path.relative_to(TESTS): path for path in TESTS.rglob("*.py")}
    trees = {name: ast.parse(path.read_text("utf-8")) for name, path in paths.items()}
    found = {str(name): told for name, tree in trees.items() if (told := [*hasty(tree)])}
    assert found.pop("waiting.py") == ["time.monotonic"] * 2
    assert found == {}


@pytest.mark.parametrize("source", [
    "time.perf_counter()", "from time import monotonic", "time.time_ns()", "thread.join(20)",
    "ran.communicate(timeout=60)", "event.wait(1.5)", "lock.acquire(timeout=2)",
])  # fmt: skip
def test_the_rule_of_clocks_has_teeth(source: str) -> None:
    assert [*hasty(ast.parse(source))]


def test_a_run_that_changes_the_checkout_fails(tmp_path: Path) -> None:
    plugin = "import checkout\ndef pytest_configure(config):\n    "
    plugin += "config.pluginmanager.register(checkout.Checkout(config.rootpath))"
    (tmp_path / "conftest.py").write_text(plugin)
    write = "def test_a():\n    open('made', 'w')\n    open('kept', 'w')\n"
    (tmp_path / "test_a.py").write_text(write)
    (tmp_path / "kept").touch()
    environment = {**os.environ, "PYTHONPATH": str(TESTS), "PYTHONDONTWRITEBYTECODE": "1"}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # some take seconds to import
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir=."]
    run = partial(
        subprocess.run, command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True
    )
    assert run().returncode == 0, "no checkout"
    (tmp_path / "made").unlink()
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    first, second = run(), run()
    assert (first.returncode, second.returncode) == (1, 0)
    assert "?? made" in first.stdout
    assert "?? kept" not in first.stdout


def calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def test_only_release_charges() -> None:
    charging = {
        name
        for name, tree in TREES.items()
        for call in calls(tree)
        if isinstance(call.func, ast.Attribute) and call.func.attr == "_charge"
    }
    assert charging == {"release.release"}


def test_only_the_engines_and_release_read_rows_for_an_answer() -> None:
    reading = {
        name
        for name, tree in TREES.items()
        for call in calls(tree)
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("accumulate_rows", "_rows")
    }
    trying = "engines.files.streaming"  # files without rows, for what types alone decide
    assert reading == {"release.release", "engines.pandas", trying}


_MODULES = {"secrets", "uuid", "random"}
_NAMES = {"urandom", "getrandom", "getrandbits", "default_rng", "SystemRandom", "RandomState"}


def entropy(tree: ast.AST) -> set[str]:
    """What in a module could read entropy, or a generator."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module or ''}.{alias.name}".lstrip(".") for alias in node.names]
        elif isinstance(node, ast.Attribute):
            names = [f".{node.attr}"]
        elif isinstance(node, ast.Name):
            names = [f".{node.id}"]
        else:
            continue
        found |= {name for name in names if {*name.split(".")} & (_NAMES | _MODULES)}
    return found


def test_only_sampling_reads_entropy() -> None:
    reading = {name: found for name, tree in TREES.items() if (found := entropy(tree))}
    assert reading.pop("privacy.sampling.entropy") == {"secrets", ".secrets", ".urandom"}
    # the audit chooses made-up rows by a seed, and no noise
    assert reading.pop("audit.pairs") == {"random.Random", ".random"}
    assert not [name for name in IMPORTS["audit.pairs"] if "sampling" in name]
    # and which rows teach an attack, and which judge it
    assert reading.pop("audit.membership") == {"random.Random"}
    # simulations draw what noise might have been, for p-values, and start from a release's id
    assert reading.pop("findings.simulation") == {".random", ".default_rng"}
    assert not [name for name in IMPORTS["findings.simulation"] if "sampling" in name]
    # a type of values
    assert {"rows.values.cells", "rows.values.objects"} <= reading.keys()
    assert {name for found in reading.values() for name in found} == {"uuid.UUID"}


@pytest.mark.parametrize("source", [
    "import random", "from os import urandom", "import numpy.random as r", "np.random.normal()",
    "from numpy.random import default_rng", "import uuid", "from secrets import token_hex",
    "os.urandom(8)", "from numpy import random", "__import__('os').urandom(1)",
])  # fmt: skip
def test_the_house_rule_has_teeth(source: str) -> None:
    assert entropy(ast.parse(source))


def test_extras_are_imported_only_when_they_are_used() -> None:
    extras = ("scipy", "matplotlib", "sklearn", "dp_accounting", "mbi", "jax", "IPython",
              "ipywidgets", "dask", "pyspark", "statsmodels")  # fmt: skip
    code = f"import sys; from dppandas import *; assert not {{*sys.modules}} & {{*{extras}}}"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=HOUSE.parent)


def test_a_bare_import_loads_hardly_anything() -> None:
    code = "import sys, pandas; had = {*sys.modules}; import dppandas; print(*{*sys.modules} - had)"
    loaded = {*subprocess.check_output([sys.executable, "-c", code], cwd=HOUSE.parent).split()}
    ours = {b"dppandas", b"dppandas.accessor", b"dppandas.errors", b"dppandas.ledger"}
    assert loaded - {b"fractions"} == ours


def test_public_names_come_from_where_type_checkers_find_them() -> None:
    stated = {
        alias.name: node.module
        for node in ast.walk(TREES["__init__"])
        if isinstance(node, ast.ImportFrom) and node.level and node.module
        for alias in node.names
    }
    assert stated.pop("DPError") == stated.pop("BudgetExceeded") == "errors"
    assert stated.pop("load") == stated.pop("unload") == "display.notebook"
    assert stated.pop("register") == "display.notebook.marimo_cards"
    assert stated == dp._HOMES


@pytest.mark.parametrize("name", ["nothing", "frames_", "_HOMES_"])
def test_the_top_has_no_other_names(name: str) -> None:
    with pytest.raises(AttributeError, match=f"'dppandas' has no attribute '{name}'"):
        getattr(dp, name)


def test_only_the_audit_watches_releases() -> None:
    def named(name: str) -> set[str]:
        return {
            module
            for module, tree in TREES.items()
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and name in [alias.name for alias in node.names]
        }

    assert named("watching") == named("scratch") == {"audit.sensitivity"}


def test_nothing_is_checked_by_assert() -> None:
    # python -O drops them
    found = [(m, n.lineno) for m, t in TREES.items() for n in ast.walk(t) if type(n) is ast.Assert]
    assert found == []


def repeats(pattern: Any, within: bool = False) -> Iterator[bool]:
    """Of each repeat without end in a parsed pattern: whether it stands within another."""
    for part in pattern:
        if isinstance(part, list | tuple | SubPattern):
            yield from repeats(part, within)
        elif part is MAXREPEAT:
            yield within
            within = True


def nested(pattern: str, flags: int = 0) -> bool:
    return any(repeats(parse_pattern(pattern, flags).data))


def test_no_pattern_repeats_a_repeat() -> None:
    """Such as (a+)+, which may take exponentially long to find nothing."""
    patterns = [
        (call.args[0].value, re.VERBOSE if "VERBOSE" in ast.unparse(call) else 0)
        for tree in TREES.values()
        for call in calls(tree)
        if ast.unparse(call.func).startswith("re.") and isinstance(call.args[0], ast.Constant)
    ]
    assert len(patterns) > 5
    assert not [pattern for pattern, flags in patterns if nested(pattern, flags)]
    assert nested("(a+)+")
    assert nested("x(?:a|b*c){2,}")
    assert not nested(r"(?:a{1,3})*b+")


def test_signatures_are_written_at_definition_and_read_by_nobody() -> None:
    at = [name for name, tree in TREES.items() if "inspect.signature" in ast.unparse(tree)]
    assert at == ["privacy.accounting.losses"]


def test_modules_say_what_they_are_and_stay_short() -> None:
    assert [module for module, tree in TREES.items() if not ast.get_docstring(tree)] == []
    lines = {name: path.read_text("utf-8").count("\n") for name, path in MODULES.items()}
    assert [name for name, number in lines.items() if number > 700] == []


def test_functions_are_small() -> None:
    lengths = [
        (node.end_lineno or 0) - node.lineno + 1
        for tree in TREES.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    ]
    assert statistics.median(lengths) < 12
    assert max(lengths) <= 70


PUBLIC = {
    f"{room.__name__}.{name}": getattr(room, name)
    for room in (dp, dp.errors, dp.types, dp.models, dp.local, dp.audit, dp.stats)
    for name in room.__all__
}


def test_every_public_name_is_documented() -> None:
    methods = {
        f"{name}.{method}": what
        for name, thing in PUBLIC.items()
        for method, what in (vars(thing) if inspect.isclass(thing) else {}).items()
        if not method.startswith("_") and callable(what)
    }
    everything = {**PUBLIC, **methods}
    assert [name for name, thing in everything.items() if not inspect.getdoc(thing)] == []


def releasing() -> dict[str, Any]:
    """Public methods that take an epsilon: what they return has been paid for."""
    kinds = "PrivateFrame", "PrivateSeries", "PrivateGroupBy", "Unreleased"
    return {
        f"{kind.__name__}.{name}": method
        for kind in map(vars(dp.types).__getitem__, kinds)
        for name, method in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_") and "epsilon" in inspect.signature(method).parameters
    }


def test_every_release_states_its_guarantee() -> None:
    said = {name: inspect.getdoc(method) or "" for name, method in releasing().items()}
    assert len(said) >= 20
    stated = re.compile(r"^\*Guarantee\*: \S", re.MULTILINE)
    assert [name for name, text in said.items() if not stated.search(text)] == []


def test_the_error_tree_is_drawn() -> None:
    drawing = inspect.getdoc(inspect.getmodule(dp.DPError)) or ""
    assert [name for name in dp.errors.__all__ if name not in drawing] == []
    kinds = [getattr(dp.errors, name) for name in dp.errors.__all__]
    assert [kind for kind in kinds if not issubclass(kind, dp.DPError)] == []


# --- what a caller meets --------------------------------------------------------------------------

BUDGET = re.compile(r"[Nn]othing (was|has been|is) (computed|charged|released|changed|spent)")


def test_what_became_of_the_budget_is_said_by_errors_alone() -> None:
    """Else it could be said twice, or where something was charged."""
    saying = {
        name
        for name, tree in TREES.items()
        for raised in ast.walk(tree)
        if isinstance(raised, ast.Raise)
        for each in ast.walk(raised)
        if isinstance(each, ast.Constant) and BUDGET.search(str(each.value))
    }
    assert saying == set()


def private_kinds(kind: type = Private) -> Iterator[type]:
    yield kind
    for each in kind.__subclasses__():
        yield from private_kinds(each)


#: What makes an object, and what hands out another without looking at anything.
SILENT = {"__init__", "dt", "str", "loc", "columns", "dtypes", "__setattr__", "__delattr__"}


def test_whatever_a_caller_can_call_of_private_objects_hides_its_frames() -> None:
    loud = {
        f"{kind.__name__}.{name}"
        for kind in private_kinds()
        for name, method in vars(kind).items()
        if (not name.startswith("_") or name.startswith("__")) and name not in SILENT
        for function in [getattr(method, "fget", getattr(method, "__func__", method))]
        if inspect.isfunction(function) and function.__code__ is not errors._CALLED
    }
    assert loud == set()


def test_every_option_of_a_release_is_read() -> None:
    assert set(Ways.__dataclass_fields__) == {"epsilon", *ReleaseOptions.__annotations__}


def test_no_way_to_ask_is_taken_and_dropped() -> None:
    functions = [
        (module, function)
        for module, tree in TREES.items()
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
    ]
    for module, function in functions:
        if "release_method" in {ast.unparse(each) for each in function.decorator_list}:
            continue  # the decorator has read them
        taken = {each.arg for each in (*function.args.kwonlyargs, function.args.kwarg) if each}
        used = {n.id for part in function.body for n in ast.walk(part) if isinstance(n, ast.Name)}
        refuses = all(isinstance(s, ast.Expr | ast.Raise) for s in function.body)
        dropped = (taken & {"epsilon", "rho", "delta", "ways", "more"}) - used
        assert refuses or not dropped, (module, function.name)
