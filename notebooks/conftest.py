"""So that `pytest --nbval notebooks/quickstart.ipynb` needs no further option."""

from pathlib import Path

import pytest

SANITIZE = Path(__file__).parent / "sanitize.cfg"


def pytest_configure(config: pytest.Config) -> None:
    if getattr(config.option, "nbval_sanitize_with", "no nbval") is None:
        config.option.nbval_sanitize_with = str(SANITIZE)
