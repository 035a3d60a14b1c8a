"""What a careful adopter looks for: that the files beside the package agree with it and with each
other, and that a release does what docs/maintaining.md says. Nothing is published or fetched."""

import json
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
from once import once
from scripts import script

import dppandas as dp

yaml = pytest.importorskip("yaml", reason="PyYAML comes with the extra [suite]")

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


# --- how to cite, and what is promised to adopters ------------------------------------------------

#: What the Citation File Format 1.2.0 knows at its top, and what it requires.
REQUIRED = {"cff-version", "message", "title", "authors"}
CFF = REQUIRED | {
    "abstract", "commit", "contact", "date-released", "doi", "identifiers", "keywords", "license",
    "license-url", "preferred-citation", "references", "repository", "repository-artifact",
    "repository-code", "type", "url", "version",
}  # fmt: skip


def test_the_citation_is_valid_and_of_this_version() -> None:
    said = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert REQUIRED <= set(said) <= CFF
    assert said["cff-version"] == "1.2.0"
    assert said["version"] == PROJECT["version"] == dp.__version__
    assert (said["title"], said["license"]) == (PROJECT["name"], PROJECT["license"])
    assert said["abstract"].rstrip(".") == PROJECT["description"]
    assert said["authors"] == PROJECT["authors"]
    assert len({*said["keywords"]}) == len(said["keywords"])
    assert set(said["keywords"]) <= set(PROJECT["keywords"])
    assert said["type"] in ("software", "dataset")


def test_nobody_is_sent_to_an_address_that_was_made_up() -> None:
    """Neither by mail nor to a page: where the project is published, a checkout doesn't know."""
    for name in ("SECURITY.md", "CITATION.cff", "pyproject.toml", "docs/stability.md"):
        text = (ROOT / name).read_text("utf-8")
        assert not re.search(r"[\w.]+@\w[\w-]*\.\w", text), name
        assert not re.search(r"https?://\S*dppandas", text), name


def test_what_is_said_of_versions_is_what_the_package_asks_for() -> None:
    text = (ROOT / "docs" / "stability.md").read_text("utf-8")
    assert PROJECT["requires-python"] == ">=3.11"
    assert {"pandas>=2.2.2,<4", "numpy>=2.0"} <= set(PROJECT["dependencies"])
    for row in ("Python | 3.11 and newer ", "pandas | 2.2.2 and newer, below 4 ", "numpy | 2.0 "):
        assert row in text
    assert "`tests/golden/keys.json`" in text
    assert (ROOT / "tests" / "golden" / "keys.json").exists()


#: The rows of figures in docs/why.md, and how the lines of benchmarks/README.md that they are from
#: begin: lines of speed name the other library, lines of accuracy have all of them.
SPEED = {
    "mean of 100,000 rows": "mean of 10^5 rows",
    "nine quantiles of 1,000,000 rows": "nine quantiles of 10^6 rows",
    "10,000 declared keys of 100,000 rows": "10,000 declared keys of 10^5 rows",
    "largest of 10,000 keys, of 100,000 rows": "top-1 of 10,000 keys of 10^5 rows",
}
ACCURACY = {
    "error of a mean, fair survey, ε = 1": "mean           fair: age, education",
    "error of nine quantiles, fair survey, ε = 1, in rows": "nine quantiles fair: age, education",
    "error of a count, fair survey, ε = 1": "count          fair: age, education",
}


def test_figures_beside_other_libraries_are_those_of_the_benchmarks() -> None:
    measured = (ROOT / "benchmarks" / "README.md").read_text("utf-8")
    page = (ROOT / "docs" / "why.md").read_text("utf-8")
    told = {
        row: [each.removesuffix(" ms").replace(",", "") for each in figures.split(" | ")]
        for row, figures in re.findall(
            r"^\| ([^|]+) \| ([\d.]+(?: ms)? \|.*) \|$", page, re.MULTILINE
        )
    }
    assert set(told) == {*SPEED, *ACCURACY}
    for row, figures in told.items():
        if row in SPEED:
            pairs = [
                re.findall(rf"^\| {re.escape(SPEED[row])} / {other} .*$", measured, re.MULTILINE)[0]
                for other in ("OpenDP", "diffprivlib")
            ]
            ours, opendp = re.findall(r"([\d.]+) ms", pairs[0])
            exact = [ours, opendp, re.findall(r"([\d.]+) ms", pairs[1])[1]]
        else:
            line = measured.partition(f"{ACCURACY[row]} ")[2].split("\n")[0].split()
            exact = [line[0], line[1], line[3]]
        for figure, found in zip(figures, exact, strict=True):
            digits = len(figure.replace(".", "").lstrip("0"))
            assert float(figure) == float(f"{float(found):.{digits}g}"), (row, figure, found)


# --- the bill of materials ------------------------------------------------------------------------


@pytest.mark.deep
def test_the_bill_of_materials_lists_what_runs_and_nothing_else() -> None:
    """It is made by a tool, of an environment that is installed for it: that takes a minute."""
    subprocess.run(["make", "sbom"], cwd=ROOT, check=True, capture_output=True)
    bill = json.loads((ROOT / "build" / "sbom.cdx.json").read_text("utf-8"))
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    root = bill["metadata"]["component"]
    assert (root["name"], root["version"]) == ("dppandas", dp.__version__)
    assert root["licenses"][0]["license"]["id"] == "MIT"
    names = [each["name"].lower().replace("_", "-") for each in bill["components"]]
    assert len(names) == len({*names})
    assert {"pandas", "numpy", "ipython", "ipywidgets", "python-dateutil"} <= {*names}
    assert not {"dppandas", "pip", "pytest", "scipy", "pyarrow", "dask", "cyclonedx-bom"} & {*names}
    graph = {each["ref"]: each.get("dependsOn", []) for each in bill["dependencies"]}
    listed = {each["bom-ref"] for each in bill["components"]}
    assert set(graph) == listed | {root["bom-ref"]}
    direct = {ref.partition("==")[0] for ref in graph[root["bom-ref"]]}
    assert direct == {re.split("[<>=]", each)[0] for each in PROJECT["dependencies"]}
    reached, waiting = set(), [root["bom-ref"]]
    while waiting:
        ref = waiting.pop()
        if ref not in reached:
            reached.add(ref)
            waiting += graph[ref]
    assert reached == listed | {root["bom-ref"]}


# --- workflows ------------------------------------------------------------------------------------

WORKFLOWS = sorted((ROOT / ".github" / "workflows").iterdir())


def read(path: Path) -> dict[str, Any]:
    return yaml.safe_load(path.read_text("utf-8"))  # type: ignore[no-any-return]


def named(name: str) -> dict[str, Any]:
    return read(ROOT / ".github" / "workflows" / f"{name}.yml")


@pytest.fixture(scope="module")
def workflow() -> dict[str, Any]:
    return named("release")


def steps(workflow: dict[str, Any], job: str) -> list[dict[str, Any]]:
    return workflow["jobs"][job]["steps"]  # type: ignore[no-any-return]


def commands(workflow: dict[str, Any], job: str) -> str:
    return "\n".join(step.get("run", "") for step in steps(workflow, job))


def test_only_a_tag_releases(workflow: dict[str, Any]) -> None:
    triggers = workflow[True]  # "on", in YAML 1.1
    assert triggers == {"push": {"tags": ["v[0-9]+.[0-9]+.[0-9]+*"]}}
    assert "GITHUB_REF_NAME" in commands(workflow, "build")  # compared with the version


def test_each_job_may_do_what_it_needs_and_no_more(workflow: dict[str, Any]) -> None:
    assert workflow["permissions"] == {}
    assert {name: job["permissions"] for name, job in workflow["jobs"].items()} == {
        "test": {"contents": "read"},
        "build": {"contents": "read"},
        "attest": {"id-token": "write", "attestations": "write"},
        "publish": {"id-token": "write"},
    }
    for name in workflow["jobs"]:
        assert workflow["jobs"][name]["timeout-minutes"] <= 180
        for step in steps(workflow, name):
            if "checkout" in step.get("uses", ""):
                assert step["with"]["persist-credentials"] is False
            if "id-token" in workflow["jobs"][name]["permissions"]:
                assert "run" not in step  # nothing of ours runs beside a token


def test_what_is_used_is_pinned_to_a_commit_and_needs_no_secret() -> None:
    used = [
        step["uses"]
        for workflow in map(read, WORKFLOWS)
        for name in workflow["jobs"]
        for step in steps(workflow, name)
        if "uses" in step
    ]
    assert len(used) > 8
    assert [each for each in used if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", each)] == []
    by_action: dict[str, set[str]] = {}
    for each in used:
        by_action.setdefault(each.partition("@")[0], set()).add(each)
    assert max(map(len, by_action.values())) == 1
    text = "".join(path.read_text("utf-8") for path in WORKFLOWS)
    assert len(re.findall(r"@[0-9a-f]{40} # v\d+\.\d+\.\d+$", text, re.MULTILINE)) == len(used)
    assert not re.search(r"secrets\.|password|token:(?! write)", text)


def prerequisites(target: str) -> list[str]:
    """What a target of the Makefile needs first, as it is written."""
    text = (ROOT / "Makefile").read_text("utf-8")
    (found,) = re.findall(rf"^{target}:(.*)$", text, re.MULTILINE)
    return found.split()


def test_whoever_forks_it_has_the_stages_of_our_own_runs() -> None:
    for stage in ("test", "test-browser", "test-deep"):
        assert f"stage {stage}" in (ROOT / ".ci" / "run").read_text("utf-8")
    matrix = named("test")["jobs"]["stage"]["strategy"]["matrix"]["include"]
    stages = [each["stage"].removesuffix(" SIZED=later") for each in matrix]
    assert stages == ["test", "test-browser", *prerequisites("test-deep")]
    assert named("test")[True].keys() == {"push", "pull_request"}
    assert "schedule" in named("nightly")[True]
    for stage in (*stages, *named("nightly")["jobs"]["stage"]["strategy"]["matrix"]["stage"]):
        assert prerequisites(stage)


def test_every_browser_test_is_run() -> None:
    (seen,) = re.findall(r"^SEEN := (.*)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    marked = [
        path.relative_to(ROOT)
        for path in (ROOT / "tests").rglob("test_*.py")
        if "pytest.mark.browser" in path.read_text("utf-8") and path != Path(__file__)
    ]
    assert marked
    assert [path for path in marked if not {str(path), str(path.parent)} & {*seen.split()}] == []


def test_workflows_of_tests_may_only_read() -> None:
    for workflow in (named("test"), named("nightly")):
        assert workflow["permissions"] == {}
        assert workflow["jobs"]["stage"]["permissions"] == {"contents": "read"}
        for step in steps(workflow, "stage"):
            if "checkout" in step.get("uses", ""):
                assert step["with"]["persist-credentials"] is False


# --- a release ------------------------------------------------------------------------------------


def test_a_release_is_tested_built_listed_attested_and_then_published(
    workflow: dict[str, Any],
) -> None:
    jobs = workflow["jobs"]
    assert list(jobs) == ["test", "build", "attest", "publish"]
    assert jobs["attest"]["needs"] == ["test", "build"]
    assert jobs["publish"]["needs"] == "attest"
    assert jobs["publish"]["environment"] == "release"
    assert ".ci/run" in commands(workflow, "test")
    built = commands(workflow, "build")
    in_order = ["python -m build", "pip install dist/*.whl", "dp.count(", "make sbom OF=dist/"]
    assert [built.index(each) for each in in_order] == sorted(map(built.index, in_order))
    made = "sbom/sbom.cdx.json"
    uploaded = [
        s["with"]["path"] for s in steps(workflow, "build") if "upload" in s.get("uses", "")
    ]
    assert uploaded == ["dist/", "build/sbom.cdx.json"]
    attested = [step["with"] for step in steps(workflow, "attest") if "attest@" in step["uses"]]
    assert attested == [
        {"subject-path": "dist/*"}, {"subject-path": "dist/*", "sbom-path": made},
    ]  # fmt: skip
    last = steps(workflow, "publish")
    assert last[-1]["uses"].startswith("pypa/gh-action-pypi-publish@")
    assert last[0]["with"] == {"name": "packages", "path": "dist/"}  # without the bill
    smoke = next(s["run"] for s in steps(workflow, "build") if "dp.count" in s.get("run", ""))
    (code,) = re.findall(r'-c "(.*)"$', smoke.strip())
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, capture_output=True)


def test_the_command_that_compares_tag_and_version_works(workflow: dict[str, Any]) -> None:
    compare = next(s["run"] for s in steps(workflow, "build") if "REF_NAME" in s.get("run", ""))
    compare = compare.replace("$(python ", f"$({sys.executable} ")
    for tag, code in ((f"v{dp.__version__}", 0), ("v9.9.9", 1), (dp.__version__, 1)):
        ran = subprocess.run(["bash", "-ec", compare], cwd=ROOT, env={"GITHUB_REF_NAME": tag})
        assert ran.returncode == code, tag


# --- the packages ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small copy of the checkout, built to an sdist, and that to a wheel, as in the workflow."""

    def make(folder: Path) -> None:
        copy = folder / "copy"
        copy.mkdir()
        for name in ("dppandas",):
            ignore = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, copy / name, ignore=ignore)
        for file in ROOT.iterdir():
            if file.is_file() and file.name != ".git":
                shutil.copy(file, copy)
        environment = {
            "DPPANDAS_REPOSITORY": "https://example.org/us/dppandas/", "DPPANDAS_TAG": "v0.1.0",
            "PATH": "/usr/bin:/bin",
        }  # fmt: skip
        command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), "."]
        subprocess.run(command, check=True, capture_output=True, cwd=copy, env=environment)

    return once(tmp_path_factory, "packages", make)


def test_the_sdist_has_what_it_needs_to_be_built_and_judged(packages: Path) -> None:
    (file,) = packages.glob("*.tar.gz")
    with tarfile.open(file) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    wanted = {"hatch_build.py", "SECURITY.md", "CITATION.cff", "LICENSE"}
    assert wanted <= names


def test_a_release_says_where_it_was_built(packages: Path) -> None:
    (file,) = packages.glob("*.whl")
    with zipfile.ZipFile(file) as wheel:
        (name,) = (n for n in wheel.namelist() if n.endswith("/METADATA"))
        metadata = wheel.read(name).decode()
    told = dict(re.findall(r"^Project-URL: (\w+), (\S+)$", metadata, re.MULTILINE))
    here = "https://example.org/us/dppandas"
    assert told.pop("Source") == here
    assert all(address.startswith(f"{here}/") for address in told.values())
    assert told["Changelog"] == f"{here}/blob/v0.1.0/CHANGELOG.md"
    for address in told.values():  # what it names is there
        path = re.sub(r".*/(?:blob|tree)/v0.1.0/|.*/issues$", "", address)
        assert (ROOT / path).exists()


def test_a_build_by_hand_states_no_address() -> None:
    hook = script("hatch_build.py")
    assert hook.urls("", "") == hook.urls("https://example.org/x", "") == {}
    assert "urls" not in PROJECT
    assert PROJECT["dynamic"] == ["urls"]
    with pytest.raises(ValueError, match="must begin with https://"):
        hook.urls("git@example.org:x", "v1")
