"""Run the quickstart and print its questions and answers: ``python notebooks/run_demo.py``.

The first run asks on a ledger of your own, build/demo/quickstart.ledger, so its noise is drawn for
you; later runs give the same answers again, free, until you remove that file. The notebook, and
the ledger that its saved answers come from, are left as they are.

``--save [NAME]`` is for those who write notebooks, and NAME that of a file here, such as
gallery/01_penguins, by default quickstart. It asks what the ledger beside the notebook does not
answer yet, runs the notebook once more, and writes the outputs into it, which its tests compare
with. To ask all anew, remove the ledger first.
"""

from __future__ import annotations

import argparse
import contextlib
import sqlite3
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parent
OWN = CHECKOUT / "build" / "demo"


def execute(path: Path, folder: Path = HERE) -> nbformat.NotebookNode:
    """The notebook with its outputs, run in a fresh kernel of this Python; no widget state."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        store_widget_state=False,
        coalesce_streams=True,  # how print's lines are cut into messages depends on the machine
        extra_arguments=["--log-level=ERROR"],  # not what kernels warn of on each start
    )
    client.execute()
    return notebook


def settled(ledger: Path) -> bytes:
    """What a ledger holds: all in its one file, whatever way the kernel ended."""
    if not ledger.exists():
        return b""
    with contextlib.closing(sqlite3.connect(ledger)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return ledger.read_bytes()


def save(name: str) -> None:
    path = HERE / f"{name}.ipynb"
    execute(path, path.parent)  # what is asked first is charged, and not shown as a replay
    settled(path.with_suffix(".ledger"))
    notebook = execute(path, path.parent)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    nbformat.write(notebook, path)


def heading_of(cell: nbformat.NotebookNode) -> str:
    """The last heading above the code: a section that only holds others has nothing to show."""
    lines = [line for line in cell.source.splitlines() if line.startswith("#")]
    return lines[-1].lstrip("# ") if lines else ""


def question_of(cell: nbformat.NotebookNode) -> str:
    """The cell's code as IPython shows it, with the number by which the ledger calls the cell."""
    prompt = f"In [{cell.execution_count}]: "
    following = "...: ".rjust(len(prompt))
    first, *rest = cell.source.splitlines()
    return "\n".join([prompt + first, *((following + line).rstrip() for line in rest)])


def answer_of(cell: nbformat.NotebookNode) -> str:
    """What a terminal can show of a cell's outputs."""
    if cell.source.startswith("dp.session("):
        return "(a live ledger in the notebook; here, its last state is at the end)"
    return "\n".join(filter(None, map(text_of, cell.outputs)))


def text_of(output: nbformat.NotebookNode) -> str:
    if output.output_type == "stream":
        return str(output.text).rstrip()
    if "image/png" in output.data:
        return "(a picture in the notebook)"
    return str(output.data.get("text/plain", "")).rstrip()


def show(notebook: nbformat.NotebookNode) -> None:
    for cell in notebook.cells:
        if cell.cell_type == "code":
            print("\n\n".join(filter(None, [question_of(cell), answer_of(cell)])), end="\n\n")
        elif heading := heading_of(cell):
            print(f"\n{heading}\n{'─' * len(heading)}\n")


def demo() -> None:
    OWN.mkdir(parents=True, exist_ok=True)
    ledger = OWN / "quickstart.ledger"
    before = settled(ledger)
    show(execute(HERE / "quickstart.ipynb", OWN))
    place = ledger.relative_to(CHECKOUT)
    if settled(ledger) == before:
        print(f"All answered again, free, from your ledger, {place}: remove it to draw anew.")
    else:
        print(f"The noise was drawn for you; your ledger, {place}, keeps the answers.")
        print("Run make demo again: they stay as they are, and cost nothing.")
    print("Next: make lab opens this notebook, quickstart.ipynb, which explains each step.")


def main() -> None:
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    parser.add_argument("--save", nargs="?", const="quickstart", metavar="NAME")
    name = parser.parse_args().save
    save(name) if name else demo()


if __name__ == "__main__":
    main()
