"""dppandas: differentially private answers from ordinary DataFrames.

A release is one query: charged once, answered once, noised once. ::

    df.dp ──► Query ──► Statistic: sensitivities ──► Mechanism: calibrate, exact loss
                                                          │ loss ≤ asked
    result + record ◄── estimate ◄── noise ◄── integers ◄── engine ◄── ledger.charge (committed)

The map of the house, each room importing only those above it:

=================  ==========================================================================
`errors`           everything raised on purpose, drawn as a tree
`intervals`        decimals that enclose a real number
`budget`           exact privacy losses
`conversions`      between ε, (ε, δ) and ρ; how much Gaussian noise a loss asks for
`accounting`       the measures that a session can count in, and what may be asked in each
`values`           what a cell means, which are equal, and the forms that columns are kept in
`spans`            public ranges of times and durations, and the rulers along them
`domain`           public facts: bounds, keys, privacy unit, the fixed-point grid
`facts`            what was declared of a table, free of contradictions
`kinds`            what columns hold, as a public fact: numbers, text, times, …
`vectors`          elementwise functions on a column of a chunk
`hashing`          keyed hashes of values
`labels`           labels that are found in the data: one for all equal values
`rows`             the closed vocabulary of row-wise expressions
`querystring`      from the text of a query to an expression
`sampling`         exact samplers; the only reader of the operating system's entropy
`mechanisms`       discrete Laplace and Gaussian, selections: calibrate, loss, accuracy
`conditional`      intervals of counts that are read only if they are told
`thresholds`       which labels that nobody declared may be told, under a δ
`ranks`            how many rows lie where on a grid
`rankerrors`       how many ranks quantiles may be off, all together
`quantilecells`    one quantile of each of many cells, chosen side by side
`selection`        quantiles by the exponential mechanism
`joint`            the noise of several releases, joined
`weighted`         how large weighted sums of noises may be
`smoothing`        quantiles and trimmed means by smooth sensitivity
`totals`           how the partials of chunks are put together
`statistics`       from rows to integers, with sensitivities; from noisy integers to answers
`figures`          what they are measured in, and where noise is most of what they say
`progress`         blocks of work on all cores
`engines`          where chunks of rows come from, and how their integers are added
`canonical`        one text for each value: which queries are equal
`spending`         what all charges together cost one unit
`query`            frozen descriptions: sources and queries
`locks`            one name for a ledger's file, while it is open
`connections`      connections to it, one for each thread
`leases`           who is answering which query, so that equal ones share a draw
`chain`            events chained by hashes, and whether what is spent follows from them
`store`, `durable` where entries live: in memory, in a file
`verify`           whether such a file says what was written into it
`snapshot`         a ledger's public figures at one moment
`charts`, `views`  how they look
`statement`        what a ledger promises, in figures, as a table and as JSON
`report`           the same as a page to publish
`ledger`           charges; the only yes
`session`          the current ledger and the sources it holds
`splits`           a loss shared over the releases of a block
`expected`         errors before a release, by public facts, and as answered, in words
`records`          what was asked and paid, and how far the answer may be off
`results`          released values that know their error and their record
`possible`         figures of several releases in an order that is possible
`within`           asked by error: the least loss that keeps it
`previews`         what a block would release, and at what price
`release`          the one door
`sameness`         which releases are of the same rows
`looks`            an answer bought anew until its error suffices
`remeasure`        several releases of one query made one answer
`private`          the base of all private objects, and the table that they start from
`unreleased`       answers that have not been asked for yet
`together`         several answers for one loss
`batches`          releases declared in advance, composed tightly
`asking`           how methods take their arguments
`rowwise`          row-wise expressions made from what pandas users write
`privaterows`      some rows and columns of a table
`measuring`        the ranges that values are clipped to, and numbers made of times
`periods`, `bins`  groups by periods of a public range; the public bins of a histogram
`refusals`         verbs that aren't row-wise, and what to do instead
`parts`            ``.str`` and ``.dt`` of a column
`operators`        the operators of private columns
`columns`          what private columns are computed from, row by row
`shaping`          from what pandas users write to statistics
`publics`          public tables to merge with
`queryable`        what columns, frames and groups say of themselves
`answers`          the statistics that all of them answer
`summaries`        several of these for one loss: agg and describe
`frequencies`      how often which values of a column occur
`series`, `groups` the pandas-shaped face: a column, groups,
`columnverbs`      what makes other columns of those of a frame,
`verbs`, `tables`  what makes other rows, and tables, of private ones,
`crosstabs`        tables of two sides,
`partitions`       parts that are charged side by side,
`frameanswers`     what a table answers beside these,
`frame`            and a table
`fingerprints`     whether data changed under one version: for `protect` alone
`accessor`         `df.dp`, `private`, `protect`
`choices`          selections by a score of the caller's own
`distances`        how far rows are from changing a caller's value; what is far is told
`synthetic`        synthetic rows from releases
`consistency`      released tables made to agree, at no cost
`local`            answers that each respondent randomises; sums of shares, simulated
`plots`            pictures of answers: with matplotlib, imported when drawn
`losscurves`       privacy losses between neighbours, and δ at every ε
`models`           learning: programs made of releases
`audit`            tests of privacy for users, from outside and inside: imported by them only
`notebook`         magics, live ledger: loaded by ``%load_ext dppandas`` only
`__main__`         ``dppandas show``, ``verify`` and ``export`` in a terminal
=================  ==========================================================================
"""

from __future__ import annotations

from typing import Any

from . import local as local
from . import models as models
from .accessor import private, protect
from .batches import Batch, batch
from .choices import choose
from .consistency import consistent
from .distances import distance_to, propose_test_release
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
from .frame import PrivateFrame, crosstab
from .groups import PrivateGroupBy, UnknownGroups, unique
from .ledger import Ledger
from .losscurves import PrivacyLoss, privacy_loss
from .plots import plot
from .previews import Preview, preview
from .records import Record
from .remeasure import combine, refine
from .results import TestedValue, record, records
from .series import PrivateSeries, cut
from .session import Session, allow_experimental, ledger, reset, session
from .splits import Split, split
from .synthetic import synthesize, worst_fit
from .tables import PerUnit, concat
from .unreleased import Unreleased

__version__ = "0.1.0"

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
    from .notebook import load

    load(ipython)


def unload_ipython_extension(ipython: Any) -> None:
    """``%unload_ext dppandas``: take back what loading did."""
    from .notebook import unload

    unload(ipython)
