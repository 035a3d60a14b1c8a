"""What the reference documents: the public names of dppandas, and what its classes define."""

import inspect
from types import ModuleType

import dppandas as dp


def documented(module: ModuleType) -> list[str]:
    """The public names of a module, and what its classes define."""
    things = {f"{module.__name__}.{name}": getattr(module, name) for name in module.__all__}
    things = {name: thing for name, thing in things.items() if not inspect.ismodule(thing)}
    members = [
        f"{name}.{member}"
        for name, thing in things.items()
        if inspect.isclass(thing)
        for member, what in inspect.getmembers(thing)
        if not member.startswith("_")
        and (inspect.isfunction(what) or isinstance(what, property))
        and (getattr(what, "fget", None) or what).__module__.startswith("dppandas")
        and any(
            member in vars(own) for own in thing.__mro__ if own.__module__.startswith("dppandas")
        )
    ]  # and not the accessor, which a Series of ours has from pandas
    return [*things, *members]


def all_documented() -> list[str]:
    """Every name of the reference, in full."""
    rooms = [dp.errors, dp.types, dp.audit, dp.local, dp.models, dp.models.synthetic, dp.stats]
    names = [name for module in rooms for name in documented(module)]
    return names + [f"dppandas.{n}" for n in dp.__all__ if inspect.isfunction(getattr(dp, n))]
