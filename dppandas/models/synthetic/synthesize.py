"""`dp.synthesize`: rows that look like the private ones, made of releases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import pandas as pd

from ...errors import MissingArgument, QueryError, hide_internals, is_one_of, quoted
from ...frames.frame import PrivateFrame
from ...frames.protect import private
from ...privacy.accounting.losses import ReleaseOptions, known_only, with_options_named
from ...release import results
from ...release.blocks import preview, split
from ...release.records import Record
from ...rows.facts.units import whole_number
from . import aim, mwem, small_database
from .domains import Codes, Domain, Marginal, domain_of, marginals_of
from .program_budget import ProgramBudget

METHODS = ("mwem", "aim", "small")
#: More synthetic rows than this nobody reads.
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
        domain's, True and False, or those of ``keys=``. Cut what has bounds: see
        `PrivateSeries.cut`. Rows with another value in any column are left out.
    rows : how many synthetic rows; public, and never read from the data.
    marginals : which tables of counts to keep: a list of names and tuples of names, or how many
        columns each has. All pairs of columns without it.
    method : "mwem" (the default) fits a table of all cells, at most a million: to each column,
        and to a marginal in each of so many ``rounds`` (without it, as many as columns). "aim" fits
        a graphical model, for more columns; it needs the package mbi
        (``pip install "dppandas[synthetic]"``). "small" selects a whole database of a few rows
        among all of its size, as the lecture does.
    keys : a dict of labels by column, where none are declared, or for fewer of them.

    What synthetic rows keep are the marginals asked for, about as well as noise lets one; of others
    nothing is promised, and no interval computed from these rows as if they were people is one.
    ``dp.record(rows).components`` has the releases that it was made of. The rows are made of these
    without another draw, so that a verified source gives the same ones again, at no cost. Their
    order is that of the labels.

    All is refused, before anything is charged, that the budget can't pay to the end.

    *Guarantee*: differential privacy of the unit. Each release is private, later ones are chosen by
    what earlier ones told, and their losses add up to at most epsilon, or rho (sequential
    composition: Dwork and Roth, 2014, Theorem 3.16; selections: docs/proofs/misfit.md; all else is
    post-processing: docs/proofs/synthetic.md).

    *Source*: Hardt, Ligett and McSherry, NeurIPS 2012 (MWEM); McKenna, Mullins, Sheldon and Miklau,
    VLDB 2022 (AIM); Blum, Ligett and Roth, STOC 2008 (small).

    >>> import pandas as pd, dppandas as dp
    >>> df = pd.DataFrame({"sex": ["f", "m"] * 500, "smokes": [True, False, False, False] * 250})
    >>> people = dp.protect(df, name="synthesize", domain={"sex": ["f", "m"]})
    >>> made = dp.synthesize(people, rows=100, keys={"smokes": [False, True]}, epsilon=2)
    >>> made.shape, list(made.columns), list(dp.record(made).components)[:2]
    ((100, 2), ['sex', 'smokes'], ['start: sex', 'start: smokes'])
    """
    known_only(more)
    source = _private(frame)
    domain = domain_of(source, keys)
    number = _whole(rows, "rows", MOST_ROWS)
    kept = marginals_of(domain, marginals)
    chosen = "mwem" if method is None else method
    if not is_one_of(chosen, METHODS):
        raise QueryError(f"method={quoted(method)} must be one of {', '.join(METHODS)}.")
    if rounds is not None and chosen != "mwem":
        raise QueryError('rounds= is for method="mwem".')
    _check(chosen, domain, kept, number)
    turns = mwem.rounds_of(domain, kept)
    if rounds is not None:
        turns = _whole(rounds, "rounds", len(mwem.candidates(domain, kept)))
    records: dict[str, Record] = {}
    with split.program(epsilon, more, lambda: bool(records)) as (epsilon, more):
        budget = ProgramBudget(_within(source, domain), epsilon, more, records)
        codes = _made(budget, domain, kept, chosen, turns, number)
    made: pd.DataFrame = results.gathered(domain.table(codes), records)
    return made


def _made(
    budget: ProgramBudget,
    domain: Domain,
    kept: Sequence[Marginal],
    method: str,
    rounds: int,
    rows: int,
) -> list[Codes]:
    """The rows, as positions of labels. In a preview earlier answers are given again, for without
    them it would ask other questions than it will."""
    if preview.running() is not None:
        return preview.all_or_none(lambda: _by(budget, domain, kept, method, rounds, rows))
    return _by(budget, domain, kept, method, rounds, rows)


def _by(
    budget: ProgramBudget,
    domain: Domain,
    kept: Sequence[Marginal],
    method: str,
    rounds: int,
    rows: int,
) -> list[Codes]:
    if method == "mwem":
        return mwem.mwem(budget.frame, domain, kept, rounds, budget, rows)
    if method == "aim":
        return aim.aim(budget.frame, domain, kept, budget, rows)
    return small_database.small(budget.frame, domain, kept, budget, rows)


def _private(frame: Any) -> PrivateFrame:
    if isinstance(frame, PrivateFrame):
        return frame
    if isinstance(frame, pd.DataFrame):
        made: PrivateFrame = private(frame)
        return made
    raise QueryError(
        f"dp.synthesize takes a private frame or a DataFrame, not a {type(frame).__name__}."
    )


def _whole(value: object, name: str, most: int) -> int:
    if value is None:
        raise MissingArgument(
            f"{name}= is needed: how many synthetic rows, a public number such as 1000."
        )
    return whole_number(value, name, 1, most)


def _check(method: str, domain: Domain, kept: Sequence[Marginal], rows: int) -> None:
    """Refuse what a method can't do."""
    if method == "mwem":
        mwem.check(domain)
    elif method == "aim":
        aim.check(domain, kept)
    else:
        small_database.check(domain, rows)


def _within(frame: PrivateFrame, domain: Domain) -> PrivateFrame:
    """The rows whose labels are all in the domain, so that all marginals are of the same rows."""
    for name, keys in zip(domain.names, domain.keys, strict=True):
        column = frame[name]
        if column._expression.is_truth:
            continue
        is_cut = any(isinstance(label, pd.Interval) for label in keys.labels)
        frame = frame[column.notna() if is_cut else column.isin(list(keys.labels))]
    return frame
