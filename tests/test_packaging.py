"""The wheel: what is in it, what it needs, and what it may be installed with."""

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from once import once

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", str(ROOT), "--outdir"]

    def make(folder: Path) -> None:
        subprocess.run([*command, str(folder)], check=True, capture_output=True)

    (path,) = once(tmp_path_factory, "wheel", make).glob("*.whl")
    return zipfile.ZipFile(path)


def test_the_wheel_holds_the_package_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    assert "dppandas/py.typed" in names
    assert "dppandas/statistics/counting/counts.py" in names
    assert {name.split("/")[0] for name in names} == {"dppandas", "dppandas-0.1.0.dist-info"}
    assert not [name for name in names if name.endswith((".ipynb", ".json", ".pyc"))]
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_run_time_needs_four_packages_only(wheel: zipfile.ZipFile) -> None:
    metadata = wheel.read("dppandas-0.1.0.dist-info/METADATA").decode()
    needs = [line.split(": ")[1] for line in metadata.splitlines() if "Requires-Dist" in line]
    always = {n.split(">")[0].split("<")[0] for n in needs if "extra ==" not in n}
    assert always == {"pandas", "numpy", "ipython", "ipywidgets"}
    assert "Requires-Python: >=3.11" in metadata


def test_extras_are_those_promised() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = (
        "side audit batches plots arrow polars duckdb dask spark synthetic gallery demo lab suite "
        "lint test browser docs dev"
    )
    assert set(project["optional-dependencies"]) == set(extras.split())


def test_make_lab_opens_a_notebook_that_is_there() -> None:
    said = subprocess.check_output(["make", "--dry-run", "lab"], cwd=ROOT, text=True)
    (opened,) = re.findall(r"jupyter lab (\S+)$", said, re.MULTILINE)
    assert (ROOT / opened).is_file()
