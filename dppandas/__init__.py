"""dppandas: differentially private answers from ordinary DataFrames.

A release is one query: charged once, answered once, noised once. ::

    df.dp ──► Request ──► Plan: sensitivity, mechanism, exact loss ──► ledger.charge (committed)
                                                                              │
    result + record ◄── estimate ◄── noise ◄── integers ◄── RowPass: the engine reads rows

The rooms of the house. Each imports only rooms above it:

``errors``      everything that is raised on purpose
``privacy``     losses, mechanisms, samplers; knows no rows
``rows``        cells, public facts, expressions of one row; knows no privacy
``engines``     where rows are read, chunk by chunk
``statistics``  from rows to integers with a sensitivity; from noisy integers to answers
``ledger``      what was charged, and the files that keep it
``release``     the one road: `release_all` in release/release.py, top to bottom (ADR 32)
``columns``, ``frames``  what users hold: private columns, series, groups and tables
``local``       answers that each respondent randomises
``models``      programs made of releases: learning, selection, synthetic rows
``display``     plots and the notebook
``audit``       tests of privacy, from outside and from inside
"""

from __future__ import annotations

from typing import Any

from . import local as local
from . import models as models
from .audit.loss_curve import PrivacyLoss
from .audit.privacy_loss import privacy_loss
from .display.plots.plot import plot
from .errors import (
    BudgetExceeded,
    DPError,
    InternalError,
    LineageError,
    MissingArgument,
    PrivateValueError,
    QueryError,
    RecordError,
    ReleaseFailed,
    SessionError,
    SourceError,
    StoreError,
    UnknownColumn,
    UnsupportedExpression,
    UnsupportedVerb,
    WorkerProcessError,
)
from .frames.frame import PrivateFrame, crosstab
from .frames.groupby import PrivateGroupBy, UnknownGroups, unique
from .frames.protect import private, protect
from .frames.series import PrivateSeries, cut
from .frames.tables import PerUnit, concat
from .ledger.ledger import Ledger
from .models.propose_test_release import distance_to, propose_test_release
from .models.select import choose
from .models.synthetic import synthesize, worst_fit
from .release.blocks.batch import Batch, batch
from .release.blocks.preview import Preview, preview
from .release.blocks.split import Split, split
from .release.combining.combine import combine, refine
from .release.combining.consistency import consistent
from .release.pickles import register_all as _register_all
from .release.records import Record
from .release.results import TestedValue, record, records
from .release.session import Session, allow_experimental, ledger, reset, session
from .release.unreleased import Unreleased

__version__ = "0.1.0"
_register_all()

__all__ = [
    "Batch",
    "BudgetExceeded",
    "DPError",
    "InternalError",
    "Ledger",
    "LineageError",
    "MissingArgument",
    "PerUnit",
    "Preview",
    "PrivacyLoss",
    "PrivateFrame",
    "PrivateGroupBy",
    "PrivateSeries",
    "PrivateValueError",
    "QueryError",
    "Record",
    "RecordError",
    "ReleaseFailed",
    "Session",
    "SessionError",
    "SourceError",
    "Split",
    "StoreError",
    "TestedValue",
    "UnknownColumn",
    "UnknownGroups",
    "Unreleased",
    "UnsupportedExpression",
    "UnsupportedVerb",
    "WorkerProcessError",
    "allow_experimental",
    "batch",
    "choose",
    "combine",
    "concat",
    "consistent",
    "crosstab",
    "cut",
    "distance_to",
    "ledger",
    "plot",
    "preview",
    "privacy_loss",
    "private",
    "propose_test_release",
    "protect",
    "record",
    "records",
    "refine",
    "reset",
    "session",
    "split",
    "synthesize",
    "unique",
    "worst_fit",
]


def __dir__() -> list[str]:
    """What completion offers: the public names."""
    return sorted([*__all__, "local", "models"])


def load_ipython_extension(ipython: Any) -> None:
    """``%load_ext dppandas``: the %dp magic, the live ledger, cells in the ledger."""
    from .display.notebook import load

    load(ipython)


def unload_ipython_extension(ipython: Any) -> None:
    """``%unload_ext dppandas``: take back what loading did."""
    from .display.notebook import unload

    unload(ipython)
