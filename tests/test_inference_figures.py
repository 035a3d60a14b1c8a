"""What `make bench-inference` measured: it is as meant, and the pages have the same figures."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from scripts import script

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "benchmarks"))

import inference  # noqa: E402

FIGURES = ROOT / "benchmarks" / "inference.json"


@pytest.fixture(scope="module")
def found() -> dict[str, list[dict[str, Any]]]:
    measured: dict[str, list[dict[str, Any]]] = json.loads(FIGURES.read_text("utf-8"))
    return measured


def test_nothing_missed_its_target(found: Any) -> None:
    assert inference.missed(found) == []
    settings = inference.answers.SETTINGS
    assert len(found["nulls"]) + len(found["effects"]) == len(settings), "measured before a change"


def test_the_tables_of_the_page_are_those_that_were_measured() -> None:
    made = script("docs/inference_figures.py")
    text = made.PAGE.read_text(encoding="utf-8")
    assert made.page(text) == text, "run: python docs/inference_figures.py"


def percents(text: str) -> list[float]:
    return [float(each) / 100 for each in re.findall(r"([\d.]+) %", text)]


def test_what_is_said_in_sentences_is_what_was_measured(found: Any) -> None:
    """To two percentage points: a new run of the benchmark needs no new sentence."""
    opening = (ROOT / "docs" / "known_limits.md").read_text("utf-8").split("\n\n")[2]
    by_test = {
        line["test"]: line["answers"][0]
        for line in found["nulls"] if line["size"] == 1000 and line["epsilon"] == 0.1
    }  # fmt: skip
    told = [by_test[name] for name in ("two means", "two shares", "a table of 3 × 4")]
    said = percents(opening.partition("significant at 5 %")[2])
    assert said[:3] == pytest.approx(told, abs=0.02)

    page = (ROOT / "docs" / "inference.md").read_text("utf-8")
    blocks = [row["figure"] for row in found["inference_blocks"] if "not exact" in row["target"]]
    sentence = page.partition("*Blocks whose test isn't exact.*")[2].partition("\n\n")[0]
    assert percents(sentence)[::2] == pytest.approx(blocks, abs=0.02)


def test_what_is_missed_is_told(found: Any) -> None:
    """A wrong rate of each kind is: an exact test's false alarms, a power, an interval."""
    lines = json.loads(json.dumps(found))
    next(line for line in lines["nulls"] if line["ours"] == "binomtest")["noise"] = [0.2, 0.01]
    next(line for line in lines["nulls"] if line["ours"] == "ttest_ind")["noise"] = [0.2, 0.1]
    lines["effects"][0]["noise"][0] = 0.3
    next(line for line in lines["winners"] if line["is_meant_to_hold"])["holds"] = 0.8
    said = inference.missed(lines)
    assert [each.partition(",")[0] for each in said] == [
        "binomtest", "proportions_ztest", "of all ten",
    ]  # fmt: skip
