"""Our data classes beside Python's own: the same methods, made later."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
from collections.abc import Iterator
from dataclasses import MISSING, FrozenInstanceError
from importlib import import_module
from threading import Barrier, Thread
from types import ModuleType
from typing import Any

import pytest
from notes import noted
from test_house import MODULES

from dppandas import dataclasses as ours


def classes() -> Iterator[Any]:
    """All data classes of the package."""
    for name in MODULES:
        if name not in ("__init__", "__main__"):
            module = import_module(f"dppandas.{name}")
            for value in vars(module).values():
                if not isinstance(value, type) or value.__module__ != module.__name__:
                    continue
                if dataclasses.is_dataclass(value):
                    yield value


def twin(cls: Any) -> Any:
    """The same fields in a class of Python's own."""
    each: list[Any] = []
    for field in dataclasses.fields(cls):
        made = {name: getattr(field, name) for name in ("default", "default_factory")}
        options = {name: getattr(field, name) for name in ("init", "repr", "compare", "kw_only")}
        each.append((field.name, field.type, dataclasses.field(**made, **options)))
    space = {"__post_init__": lambda self: None} if hasattr(cls, "__post_init__") else {}
    return dataclasses.make_dataclass(cls.__name__, each, namespace=space, frozen=True)


def test_every_class_has_the_signature_and_methods_of_pythons_own() -> None:
    every = list(classes())
    assert len(every) > 300
    for cls in every:
        with noted(cls):
            own = twin(cls)
            for each in dataclasses.fields(cls):  # more than this isn't needed
                assert each.hash is None
                assert each.init or each.default is each.default_factory is MISSING
            if "__init__" in cls.__dict__:
                mine, theirs = inspect.signature(cls.__init__), inspect.signature(own.__init__)
                assert str(mine) == str(theirs)
                assert cls.__init__.__qualname__ == f"{cls.__qualname__}.__init__"
                # or a warning would point at it, and a refusal would show it
                assert cls.__init__.__globals__["__name__"] == cls.__module__
            assert cls.__match_args__ == own.__match_args__
            assert cls.__doc__, "Python would write one from the signature"


def define(package: Any, **options: Any) -> Any:
    """One class of everything that the package uses, by ours or by Python's own."""
    kinds: Any = package

    @kinds.dataclass(**options)
    class Base:
        """One."""

        first: int
        second: Any = "x"
        third: list[int] = dataclasses.field(default_factory=list)
        fourth: Any = dataclasses.field(default=None, compare=False, repr=False)
        unset: int = dataclasses.field(init=False, compare=False, repr=False)
        _: dataclasses.KW_ONLY
        fifth: int = 5

    @kinds.dataclass(**options)
    class Derived(Base):
        """Two."""

        sixth: float = 0.5
        put: int = 1
        factory: list[int] = dataclasses.field(default_factory=list, compare=False)
        fields: int = 2

        def __post_init__(self) -> None:
            object.__setattr__(self, "seen", self.first)

    return Base, Derived


OPTIONS: list[dict[str, bool]] = [
    {"frozen": True}, {}, {"frozen": True, "eq": False}, {"frozen": True, "repr": False},
    {"eq": False, "repr": False}, {"eq": False, "repr": False, "kw_only": True},
]  # fmt: skip


def behaviour(cls: Any) -> Iterator[Any]:
    """What can be seen of a class."""
    one, same = cls(first=1, third=(2,)), cls(first=1, third=(2,), fourth="unseen")
    others = [cls(first=1), cls(first=2, third=(2,)), cls(first=1, third=(2,), fifth=6)]
    yield vars(one), vars(same), [vars(other) for other in others]
    yield cls(first=1).third is not cls(first=1).third
    alike = type("Alike", (cls,), {})(first=1, third=(2,))  # of another class
    yield [one == other for other in (same, *others, 1, alike)], one == one
    yield cls.__hash__ is None, cls.__hash__ is object.__hash__
    if cls.__eq__ is not object.__eq__:
        yield repr(one) if cls.__repr__ is not object.__repr__ else ""
        if cls.__hash__:
            yield hash(one), hash(same) == hash(one)
    yield vars(dataclasses.replace(one, first=7))
    for change, *value in ((setattr, 3), (delattr,)):
        try:
            change(one, "first", *value)
        except FrozenInstanceError as refused:
            yield str(refused)
    for wrong in ({}, {"first": 1, "seventh": 7}):
        with pytest.raises(TypeError) as raised:
            cls(**wrong)
        yield str(raised.value)
    yield vars(one), cls.__match_args__, str(inspect.signature(cls))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_they_behave_as_pythons_own(options: dict[str, bool]) -> None:
    for mine, theirs in zip(define(ours, **options), define(dataclasses, **options), strict=True):
        assert list(behaviour(mine)) == list(behaviour(theirs))


def test_what_a_class_says_itself_stays() -> None:
    def say(package: ModuleType) -> Any:
        @package.dataclass(frozen=True)
        class Said:
            """Its own."""

            one: int

            def __eq__(self, other: object) -> bool:
                return True

            def __repr__(self) -> str:
                return "said"

        return Said

    mine, theirs = say(ours), say(dataclasses)
    assert repr(mine(1)) == "said"
    assert mine(1) == 2
    assert hash(mine(1)) == hash(theirs(1)) == hash((1,))


def test_no_method_is_compiled_before_it_is_called() -> None:
    base, derived = define(ours, frozen=True)
    made = [name for kind in (base, derived) for name, each in vars(kind).items() if compiled(each)]
    assert made == []
    derived(1)
    assert compiled(vars(derived)["__init__"])
    assert not compiled(vars(base)["__init__"])
    assert not compiled(vars(derived)["__eq__"])


def compiled(method: Any) -> bool:
    return getattr(getattr(method, "__code__", None), "co_filename", "") == "<string>"


def test_threads_may_make_the_first_instance_at_once() -> None:
    for _ in range(50):
        derived = define(ours, frozen=True)[1]
        made: list[Any] = []
        start = Barrier(4)

        def make(derived: Any = derived, made: list[Any] = made, start: Barrier = start) -> None:
            start.wait(timeout=120)
            made.append(derived(1))

        threads = [Thread(target=make) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [vars(each) for each in made] == [vars(derived(1))] * 4


@ours.dataclass(frozen=True)
class Pickled:
    """At the top of a module, as pickles need it."""

    one: int
    two: str = "2"


def test_a_pickle_is_read_before_anything_is_made() -> None:
    wire = pickle.dumps(Pickled(1))
    assert pickle.loads(wire) == Pickled(1)
    assert vars(pickle.loads(wire)) == {"one": 1, "two": "2"}
