"""Run a notebook and print what it answers: ``python notebooks/run_demo.py [NAME] [--save]``.

NAME is that of a file here, by default quickstart. A notebook's answers stand in the ledger beside
it and are given again: notebook and ledger are left as they are. ``--save`` asks what is not
answered there yet, runs the notebook once more, and writes the outputs into it, which its tests
compare with. To ask all anew, remove the ledger first.
"""

from __future__ import annotations

import contextlib
import sqlite3
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent


def execute(path: Path) -> nbformat.NotebookNode:
    """The notebook with its outputs, run in a fresh kernel of this Python; no widget state."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        resources={"metadata": {"path": str(path.parent)}},
        store_widget_state=False,
    )
    client.execute()
    return notebook


def settled(ledger: Path) -> None:
    """All of a ledger in its one file, whatever way the kernel ended."""
    with contextlib.closing(sqlite3.connect(ledger)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def text_of(output: nbformat.NotebookNode) -> str:
    """What a terminal shows of an output."""
    if output.output_type == "stream":
        return str(output.text).rstrip()
    return str(output.get("data", {}).get("text/plain", "")).rstrip()


def heading_of(cell: nbformat.NotebookNode) -> str:
    lines = cell.source.splitlines()
    return next((line.lstrip("# ") for line in lines if line.startswith("#")), "")


def main(arguments: list[str]) -> None:
    names = [each for each in arguments if not each.startswith("-")] or ["quickstart"]
    path = HERE / f"{names[0]}.ipynb"
    if "--save" in arguments:
        execute(path)  # what is asked for the first time is charged, and not shown as a replay
        if path.with_suffix(".ledger").exists():
            settled(path.with_suffix(".ledger"))
    notebook = execute(path)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            if heading := heading_of(cell):
                print(f"\n=== {heading}")
            continue
        # The live ledger shows its last state; it is printed once, at the end.
        shown = [] if "dp.session" in cell.source else [text_of(o) for o in cell.outputs]
        for text in filter(None, shown):
            if not text.startswith("<Figure"):
                print(text)
    if "--save" in arguments:
        for cell in notebook.cells:
            cell.metadata.pop("execution", None)
        nbformat.write(notebook, path)


if __name__ == "__main__":
    main(sys.argv[1:])
