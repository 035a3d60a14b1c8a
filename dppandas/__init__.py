"""dppandas: differentially private answers from ordinary DataFrames.

A release is one query, which is charged, noised and answered exactly once. ::

    df.dp ──► Request ──► Plan: sensitivity, mechanism, exact loss ──► Ledger._charge: committed
                                                                              │
    result + record ◄── estimate ◄── noise ◄── integers ◄── RowPass: the engine reads rows

The rooms of the house. Each imports only rooms above it:

``dataclasses`` cheap to define: public facts, questions and records
``errors``      everything that is raised on purpose
``privacy``     losses, mechanisms and samplers; knows no rows
``rows``        cells, public facts and expressions of one row; knows no privacy
``engines``     where rows are read, chunk by chunk
``statistics``  from rows to integers with a sensitivity, and from noisy integers to answers
``ledger``      the charges, and the files that keep them
``release``     every release, from a request to its record: `release_all` (ADR 32)
``findings``    numbers derived from answers, with intervals; knows no engine
``columns``, ``frames``  what users hold: private columns, series, groups and frames
``display``     plots and the notebook
``local``       the local model: each respondent randomises an answer
``models``      programs made of releases: learning, selection, synthetic rows
``stats``       hypothesis tests of answers, and plans for them
``audit``       tests of privacy, from outside and from inside
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import accessor as _accessor  # noqa: F401
from .errors import BudgetExceeded, DPError

if TYPE_CHECKING:
    from . import audit as audit
    from . import errors as errors
    from . import local as local
    from . import models as models
    from . import stats as stats
    from . import types as types
    from .audit.privacy_loss import privacy_loss
    from .display.plots.plot import plot
    from .display.tables import table
    from .findings.comparisons import compare
    from .findings.consistency import make_consistent
    from .findings.derive import derive, difference, ratio
    from .frames.crosstab import crosstab
    from .frames.groupby import unique
    from .frames.protect import private, protect
    from .frames.series import cut
    from .frames.tables import concat
    from .models.propose_test_release import distance_to_property, propose_test_release
    from .models.select import select
    from .models.synthetic.synthesize import synthesize
    from .release.answers.intervals import intervals
    from .release.answers.results import record
    from .release.blocks.batch import batch
    from .release.blocks.preview import preview
    from .release.blocks.split import split
    from .release.combining.combine import combine
    from .release.session import ledger, reset, session

__version__ = "0.1.0"

#: The modules of the public names, which are imported when they are first used.
_HOMES = {
    "batch": "release.blocks.batch",
    "combine": "release.combining.combine",
    "compare": "findings.comparisons",
    "concat": "frames.tables",
    "crosstab": "frames.crosstab",
    "cut": "frames.series",
    "derive": "findings.derive",
    "difference": "findings.derive",
    "distance_to_property": "models.propose_test_release",
    "intervals": "release.answers.intervals",
    "ledger": "release.session",
    "make_consistent": "findings.consistency",
    "plot": "display.plots.plot",
    "preview": "release.blocks.preview",
    "privacy_loss": "audit.privacy_loss",
    "private": "frames.protect",
    "propose_test_release": "models.propose_test_release",
    "protect": "frames.protect",
    "ratio": "findings.derive",
    "record": "release.answers.results",
    "reset": "release.session",
    "select": "models.select",
    "session": "release.session",
    "split": "release.blocks.split",
    "synthesize": "models.synthetic.synthesize",
    "table": "display.tables",
    "unique": "frames.groupby",
}

__all__ = [
    "BudgetExceeded",
    "DPError",
    "audit",
    "batch",
    "combine",
    "compare",
    "concat",
    "crosstab",
    "cut",
    "derive",
    "difference",
    "distance_to_property",
    "errors",
    "intervals",
    "ledger",
    "local",
    "make_consistent",
    "models",
    "plot",
    "preview",
    "privacy_loss",
    "private",
    "propose_test_release",
    "protect",
    "ratio",
    "record",
    "reset",
    "select",
    "session",
    "split",
    "stats",
    "synthesize",
    "table",
    "types",
    "unique",
]


if not TYPE_CHECKING:  # or a type checker would believe in every name
    # A room becomes an attribute when it is first imported: that of the ledger does so here, and
    # leaves its name to the function.
    from . import ledger

    del ledger

    def __getattr__(name: str) -> Any:
        """A public name, whose module is imported with its first use."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if name not in _HOMES:
            return import_module(f".{name}", __name__)
        value = globals()[name] = getattr(import_module(f".{_HOMES[name]}", __name__), name)
        return value


def __dir__() -> list[str]:
    """What completion offers: the public names, and the rooms."""
    return __all__


def load_ipython_extension(ipython: Any) -> None:
    """``%load_ext dppandas``: the %dp magic, the live ledger, cells in the ledger."""
    from .display.notebook import load

    load(ipython)


def _show_in_marimo() -> None:
    """Show answers as cards in the marimo that runs here."""
    from .display.notebook.marimo_cards import register

    register()


def unload_ipython_extension(ipython: Any) -> None:
    """``%unload_ext dppandas``: take back what loading did."""
    from .display.notebook import unload

    unload(ipython)
