"""Waiting for what is sure to come. A limit ends a test that hangs, and is no measure of speed: it
holds on a machine that ten others use."""

import os
import time
from collections.abc import Callable

#: Seconds. Mutants, some of which hang, are waited for less (mutants.py).
LIMIT = float(os.environ.get("DPPANDAS_TESTS_WAIT", "300"))


def until(
    condition: Callable[[], object], pause: Callable[[], object] = lambda: time.sleep(0.02)
) -> None:
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end, "waited too long"
        pause()
