"""What is asked again and again takes no longer each time. In calls: benchmarks/growth.py measures
time."""

import pandas as pd
from effort import calls

DF = pd.DataFrame({"x": [1.0, 2.0, 3.0]})


def test_a_column_is_assigned_from_itself_without_a_look_at_all_that_it_was() -> None:
    def ask(times: int) -> None:
        frame = DF.dp
        for _ in range(times):
            frame = frame.assign(x=frame["x"] + 1)
        frame["x"].mean(bounds=(0, 99), epsilon=1)

    ask(1)  # finds what is found once
    few, many = calls(lambda: ask(15)), calls(lambda: ask(60))
    assert many < 4 * few  # eleven times as many, if each assignment walks through all before it
