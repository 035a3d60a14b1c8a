"""One side of a row of benchmarks/hand.py, in a process of its own, with the dppandas that
PYTHONPATH says.

    hand_worker.py ROW SIDE ROWS      waits for turns
    hand_worker.py ROW peak ROWS      prints by how many megabytes an answer makes it grow
"""

from __future__ import annotations

import sys
import warnings

from bench_turns import AnyTask, Task, failure, forget_peak, peak, serve
from hand_rows import ROWS, Row

import dppandas as dp

#: Modules and threads are there before memory is looked at.
WARM = 1000


def growth(row: Row, rows: int) -> float:
    """Megabytes at the peak of an answer, beyond what there was with its data."""
    for size in (WARM, rows):
        task = row.ours(size)
        assert isinstance(task, Task)
        task.before()
        forget_peak()
        before = peak()
        task.work()
    return peak() - before


def side(row: Row, name: str, rows: int) -> AnyTask:
    maker = row.ours if name == "ours" else row.theirs
    assert maker, name
    return maker(rows)


def main(name: str, which: str, rows: int) -> None:
    row = ROWS[name]
    try:
        if which == "peak":
            print(growth(row, rows))
            return
        task = side(row, which, rows)
    except Exception as problem:
        print(failure(problem), flush=True)
        return
    print("dppandas", dp.__file__, flush=True)
    serve(task)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
