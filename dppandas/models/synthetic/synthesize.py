"""`dp.synthesize`: rows that resemble the private ones, made from releases."""

from __future__ import annotations

from typing import Any, Unpack, cast

import pandas as pd

from ...errors import MissingArgument, QueryError, hide_internals, is_one_of, quoted
from ...frames.frame import PrivateFrame
from ...privacy.accounting.losses import ReleaseOptions, with_options_named
from ...release.answers import results
from ...release.answers.records import Record
from ...release.blocks import preview, split
from ...release.ways import Ways
from ...rows.facts.units import whole_number
from ..select import private_frame
from . import aim, mwem, small_database
from .domains import Codes, Domain, domain_of, marginals_of, without_unit
from .program_budget import ProgramBudget

METHODS = ("mwem", "aim", "small")
#: The most rows.
MOST_ROWS = 10**7


@with_options_named
@hide_internals
def synthesize(
    frame: Any,
    *,
    rows: int | None = None,
    marginals: Any = None,
    method: str | None = None,
    rounds: int | None = None,
    keys: Any = None,
    epsilon: object = None,
    **more: Unpack[ReleaseOptions],
) -> pd.DataFrame:
    """Synthetic rows that keep marginals of the private ones: an ordinary, public DataFrame.

    frame : a private frame (select columns first), or a DataFrame. Every column needs labels: a
        domain's, True and False, or those of ``keys=``. Cut columns that have bounds: see
        `PrivateSeries.cut`. Rows with other values are left out, and units that have no labels.
    rows : how many synthetic rows; public, and never read from the data.
    marginals : which tables of counts to keep: a list of names and tuples of names, or how many
        columns each has. Without it, all pairs of columns.
    method : "mwem" (the default) fits a table of all cells, at most a million: to each column, and
        then to one marginal in each of its ``rounds`` (by default as many as columns). "aim" fits a
        graphical model, for more columns; it needs the package mbi
        (``pip install "dppandas[synthetic]"``). "small" selects a whole database of a few rows
        among all databases of that size, as the lecture does.
    keys : a dict of labels by column, where none are declared, or to use fewer of them.

    Synthetic rows keep the requested marginals, about as well as the noise allows. They promise
    nothing about others, and an interval computed from them as if they were people isn't valid.
    ``dp.record(rows).components`` has the releases behind it. Nothing else is random, so a verified
    source gives the same rows again, at no cost. Rows are in the order of their labels.

    If the budget can't pay for all releases, the call is refused before anything is charged.

    *Guarantee*: differential privacy of the unit. Each release is private, earlier ones decide what
    later ones ask, and their losses add up to at most epsilon, or rho (sequential composition:
    Dwork and Roth, 2014, Theorem 3.16; selections: docs/proofs/misfit.md; everything else is
    post-processing: docs/proofs/synthetic.md).

    *Source*: Hardt, Ligett and McSherry, NeurIPS 2012 (MWEM); McKenna, Mullins, Sheldon and Miklau,
    VLDB 2022 (AIM); Blum, Ligett and Roth, STOC 2008 (small).

    >>> import pandas as pd, dppandas as dp
    >>> df = pd.DataFrame({"sex": ["f", "m"] * 500, "smokes": [True, False, False, False] * 250})
    >>> people = dp.protect(df, name="synthesize", domain={"sex": ["f", "m"]})
    >>> made = dp.synthesize(people, rows=100, epsilon=2)
    >>> made.shape, list(made.columns), list(dp.record(made).components)[:2]
    ((100, 2), ['sex', 'smokes'], ['start: sex', 'start: smokes'])
    """
    ways = Ways.read(epsilon, more)
    source = without_unit(private_frame(frame, "synthesize"), keys)
    domain = domain_of(source, keys)
    if rows is None:
        raise MissingArgument("rows= is needed: the public number of synthetic rows.")
    number = whole_number(rows, "rows", 1, MOST_ROWS)
    kept = marginals_of(domain, marginals)
    chosen = "mwem" if method is None else method
    turns = _rounds(chosen, rounds, domain, kept, number)
    records: dict[str, Record] = {}
    with split.program("synthesize", ways, lambda: bool(records)) as ways:
        budget = ProgramBudget(_within(source, domain), ways, records)

        def run() -> list[Codes]:
            if chosen == "mwem":
                return mwem.mwem(budget, domain, kept, turns, number)
            program = aim.aim if chosen == "aim" else small_database.small
            return program(budget, domain, kept, number)

        # in a preview, earlier answers are replayed: without them it would ask other questions
        codes = preview.all_or_none(run) if preview.running() is not None else run()
    return cast(pd.DataFrame, results.gathered(domain.table(codes), records))


def _rounds(method: str, rounds: object, domain: Domain, kept: Any, number: int) -> int:
    """The number of MWEM's rounds. Refuses what a method can't do."""
    if not is_one_of(method, METHODS):
        raise QueryError(f"method={quoted(method)} must be one of {', '.join(METHODS)}.")
    if rounds is not None and method != "mwem":
        raise QueryError('rounds= is for method="mwem". Leave it out.')
    if method == "aim":
        aim.check(domain)
    elif method == "small":
        small_database.check(domain, number)
    else:
        mwem.check(domain)
    most = len(mwem.candidates(domain, kept))
    if rounds is None:
        return min(most, len(domain.names))
    return whole_number(rounds, "rounds", 1, most)


def _within(frame: PrivateFrame, domain: Domain) -> PrivateFrame:
    """The rows whose labels are all in the domain, so that all marginals count the same rows."""
    for name, keys in zip(domain.names, domain.keys, strict=True):
        column = frame[name]
        if column._expression.is_truth:
            continue
        is_cut = any(isinstance(label, pd.Interval) for label in keys.labels)
        frame = frame[column.notna() if is_cut else column.isin(list(keys.labels))]
    return frame
