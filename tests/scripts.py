"""Scripts of the checkout, which aren't part of the package, as modules."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent


def script(path: str) -> Any:
    """A script, run anew, by its path from the root of the checkout."""
    file = ROOT / path
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module  # where its dataclasses look for it
    spec.loader.exec_module(module)
    return module
