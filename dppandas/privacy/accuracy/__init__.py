"""How far sums of several noises may be off. A module is loaded when it is first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import margins as margins
    from . import ratios as ratios
    from . import samples as samples
    from . import student as student
else:

    def __getattr__(name: str) -> Any:
        """A module, which most answers don't need."""
        if name not in ("margins", "ratios", "samples", "student"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return import_module(f".{name}", __name__)
