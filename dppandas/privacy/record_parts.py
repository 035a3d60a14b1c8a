"""The classes whose instances records keep, of modules that are loaded when they are first used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: What is told of each class as it is defined: pickles, which enter it in their registry.
LISTENERS: list[Callable[[type], None]] = []


class RecordPart:
    """What a record may hold. Its class enters the registry of pickles before it has instances."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for tell in LISTENERS:
            tell(cls)
