"""What type checkers are told of answers (docs/adr/0054-types-by-overload.md). Nothing else reads
it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from typing_extensions import TypeVar
else:
    import typing

    def TypeVar(name: str, *, covariant: bool, default: Any) -> Any:
        """Without its default, which Python 3.11 doesn't know: nobody reads it at run time."""
        return typing.TypeVar(name, covariant=covariant)


#: What a question becomes when it is released.
Answer = TypeVar("Answer", covariant=True, default=Any)

# What columns, frames and groups answer: a count of values or rows, another figure, several
# quantiles, and a description.
Counted = TypeVar("Counted", covariant=True, default=Any)
Measured = TypeVar("Measured", covariant=True, default=Any)
Listed = TypeVar("Listed", covariant=True, default=Any)
Described = TypeVar("Described", covariant=True, default=Any)
#: A number of rows, which for groups is what they answer of one column.
OfRows = TypeVar("OfRows", covariant=True, default=Any)

#: A frame with selected columns, which counts the values of each.
Selected = TypeVar("Selected", covariant=True, default=Any)
#: A private column, of what is computed row by row.
Column = TypeVar("Column", covariant=True, default=Any)


class HasRows(Protocol[Column]):
    """What answers along rows with a private column: frames, if they are asked for axis=1."""

    def _across(self, how: str, options: dict[str, Any]) -> Column: ...
