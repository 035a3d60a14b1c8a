"""Data classes that cost little to define: most are never made where one question is asked.

Python's own compile up to six functions for each class when it is defined. Here ``__init__``,
``__eq__`` and ``__hash__`` are compiled when they are first called, and the others are the same
functions for all classes. Fields are Python's own. See docs/adr/0064-a-cheap-first-answer.md.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError
from dataclasses import field as field
from dataclasses import fields as fields
from dataclasses import replace as replace
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any


def _define(
    cls: Any = None,
    /,
    *,
    frozen: bool = False,
    eq: bool = True,
    repr: bool = True,
    kw_only: bool = False,
) -> Any:
    """`dataclasses.dataclass`, as far as this package needs it."""
    if cls is None:
        return lambda cls: _define(cls, frozen=frozen, eq=eq, repr=repr, kw_only=kw_only)
    dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(cls)
    write = _init_frozen if frozen else _init
    methods: dict[str, Any] = {"__init__": _Later(cls, "__init__", write)}
    if repr:
        methods["__repr__"] = _repr
    if eq:
        if "__eq__" in cls.__dict__ and cls.__dict__.get("__hash__") is None:
            del cls.__hash__  # Python sets it to None beside an __eq__
        methods["__eq__"] = _Later(cls, "__eq__", _eq)
        methods["__hash__"] = _Later(cls, "__hash__", _hash) if frozen else None
    if frozen:
        methods |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
    for name, method in methods.items():
        if name not in cls.__dict__:
            setattr(cls, name, method)
    return cls


class _Factory:
    """The default of a field that each instance makes anew, as a signature shows it."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()


#: What compiled methods know by names that no field has.
_KNOWN = ("_fields_", "_factory_", "_put_")


class _Later:
    """A method until somebody asks for it: then it is compiled, and takes this one's place."""

    def __init__(self, cls: Any, name: str, write: Callable[[Any], list[str]]) -> None:
        self.cls, self.name, self.write = cls, name, write

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        head, *body = self.write(self.cls)
        lines = [f"def make({', '.join(_KNOWN)}):", f" def {head}", *(f"  {line}" for line in body)]
        source = "\n".join([*lines, f" return {self.name}"])
        space, made = vars(sys.modules[self.cls.__module__]), dict[str, Any]()
        exec(source, space, made)  # of its module, whose frames are known as this package's
        method = made["make"](self.cls.__dataclass_fields__, _FACTORY, object.__setattr__)
        method.__qualname__ = f"{self.cls.__qualname__}.{self.name}"
        if self.name == "__init__":
            types = {each.name: each.type for each in fields(self.cls) if each.init}
            method.__annotations__ = {**types, "return": None}
        setattr(self.cls, self.name, method)
        return method if instance is None else method.__get__(instance, owner)


def _init(cls: Any, assign: str = "self.{} = {}") -> list[str]:
    """The lines of ``__init__``."""
    taken = [each for each in fields(cls) if each.init]
    given = [_parameter(each) for each in taken if not each.kw_only]
    named = [_parameter(each) for each in taken if each.kw_only]
    lines = [f"__init__({', '.join(['self', *given, *['*'][: len(named)], *named])}):"]
    lines += [assign.format(each.name, _value(each)) for each in taken]
    if hasattr(cls, "__post_init__"):
        lines += ["self.__post_init__()"]
    return [*lines, "return None"]


def _init_frozen(cls: Any) -> list[str]:
    return _init(cls, "_put_(self, {0!r}, {1})")


def _parameter(each: Field[Any]) -> str:
    if each.default_factory is not MISSING:
        return f"{each.name}=_factory_"
    default = f"=_fields_[{each.name!r}].default"
    return each.name if each.default is MISSING else each.name + default


def _value(each: Field[Any]) -> str:
    """What a new instance holds in a field: its parameter, or what the field makes."""
    if each.default_factory is MISSING:
        return each.name
    made = f"_fields_[{each.name!r}].default_factory()"
    return f"{made} if {each.name} is _factory_ else {each.name}"


def _compared(cls: Any, of: str) -> str:
    return "(" + "".join(f"{of}.{each.name}, " for each in fields(cls) if each.compare) + ")"


def _eq(cls: Any) -> list[str]:
    mine, its = _compared(cls, "self"), _compared(cls, "other")
    same = f"if other.__class__ is self.__class__: return {mine} == {its}"
    return ["__eq__(self, other):", same, "return NotImplemented"]


def _hash(cls: Any) -> list[str]:
    return ["__hash__(self):", f"return hash({_compared(cls, 'self')})"]


@recursive_repr()
def _repr(self: Any) -> str:
    told = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{self.__class__.__qualname__}({', '.join(told)})"


def _refuse_to_set(self: object, name: str, value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: object, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


class _FoundOnce:
    """A property that keeps what it finds in its instance, as `functools.cached_property`, which
    until Python 3.12 takes a lock each time. What follows from frozen fields needs none: found
    twice, it is the same."""

    def __init__(self, find: Callable[[Any], Any]) -> None:
        self.func, self.name, self.__doc__ = find, find.__name__, find.__doc__

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        found = instance.__dict__[self.name] = self.func(instance)
        return found


if TYPE_CHECKING:  # typed as Python's own
    from dataclasses import dataclass as dataclass
    from functools import cached_property

    found_once = cached_property
else:
    dataclass, found_once = _define, _FoundOnce
