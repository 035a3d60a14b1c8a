"""The two ways to say whose rows a frame holds: `private`, as ``df.dp`` does, and `protect`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd

from ..engines import truncation
from ..engines.pandas import PandasEngine
from ..engines.readers import Columns
from ..errors import LineageError, QueryError, SourceError, hide_internals, quoted
from ..ledger.canonical import FORM
from ..ledger.storage.store import Registered
from ..privacy.sampling import entropy
from ..release.private import Table
from ..release.query import UNNAMED, Source, Token
from ..release.session import (
    ProtectedSource,
    Session,
    SourceIdentity,
    current,
    identities,
    is_scratch,
)
from ..rows.expressions import Column, Declared, Expression
from ..rows.facts.domain import Declaration, parse_domain
from ..rows.facts.keys import SOURCE_ATTR
from ..rows.facts.kinds import UNKNOWN, Kind, Schema, of_columns, of_dtype
from ..rows.facts.kinds import parse as parse_kinds
from ..rows.facts.units import Unit
from ..rows.values import hashing
from . import fingerprints
from .frame import PrivateFrame
from .series import PrivateSeries

#: Of a source, and of a version of it.
LONGEST_NAME = 200
#: Fingerprints are compared within this process, and mean nothing to another.
_KEY = entropy.key()


@hide_internals
def protect(
    df: pd.DataFrame,
    name: str,
    unit: Any = None,
    max_rows: int | None = None,
    domain: Any = None,
    version: str | None = None,
    kinds: Any = None,
) -> PrivateFrame:
    """Take a DataFrame under protection, and return the private frame to work on.

    df : the data; the source keeps its own copy.
    name : what the ledger calls it.
    unit : the column that says whose row it is; without one every row is one person, which has to
        be stated as "row" in a session that holds a source with a unit column.
    max_rows : needed with a unit column: at most this many rows of a unit are used, and noise grows
        with their number. The rows kept are those of smallest keyed hash of their own contents: 1
        keeps one row of each unit. Rows with a missing unit are dropped.
    domain : public facts: a dict of column to (lower, upper) or to a list of keys. They are never
        read from the data, and used where a call gives none. The frame returned has just these,
        whatever other frames of the source have; `PrivateFrame.declare` makes one with more.
    version : what you call this state of the data: change it whenever the data change. A session
        with a store needs it, for there the same query of the same version is answered once, and
        given again after a restart.
    kinds : what columns hold, which is public: a dict such as {"when": "time", "price": "number"}
        makes cells so as `astype` does; else what the dtypes say, and you assert (docs/kinds.md).

    What follows from the private frame by its own verbs is row-wise, and its lineage *verified*;
    but *asserted* if plain pandas made ``df`` from the frame of a source protected before.
    Called again with the same data and terms (a cell run again) it returns the same source; other
    data or terms under the same name raise `SourceError`, and so do facts that contradict any that
    were declared of the source before. More facts, or fewer, are no other terms.

    *Guarantee*: every answer protects all rows of a unit together.

    >>> import pandas as pd, dppandas as dp
    >>> df = pd.DataFrame({"age": [20, 30, 40]})
    >>> people = dp.protect(df, name="doctest", domain={"age": (17, 60)})
    >>> people["age"].mean()
    <unreleased mean of age in (17, 60), from doctest (verified): nothing computed or charged; \
ask .release(epsilon=…)>
    """
    _check_names(df, name, version)
    columns = list(df.columns)  # on a line of its own: a traceback shows what its line names
    _once(columns)
    owner = Unit.parse(unit, max_rows, columns)
    declared, meant = parse_domain(domain, columns), parse_kinds(kinds, columns)
    running = current()
    token = df.attrs.get(SOURCE_ATTR)
    before = identities.get(str(token))
    _check_owner(owner, unit, token, before, running)
    terms: dict[str, object] = {"unit": owner, "version": version}
    schema, own = _schema(df, meant, running.strict), _own_copy(df)
    facts = truncation.fingerprint(own, _KEY)  # all columns are in forms of their own from here on
    own.detach()
    held = running._sources.get(name)
    if held is None:
        # What pandas made of another source's frame is that source's rows, changed who knows how.
        is_new = token is None or (before is not None and before.fingerprint == facts)
        source = Source(entropy.identifier(), name, owner, declared, version, is_new, schema=schema)
        held = _held(running, source, own, terms, facts, meant)
    _refuse_others(running, held, terms, facts, meant)
    table = _table_of(held, declared, schema, _levels(df))
    if not is_scratch():
        df.attrs[SOURCE_ATTR] = Token(held.source.id)
    return PrivateFrame(table, _columns(columns, meant))


def _refuse_others(
    running: Session, held: ProtectedSource, terms: dict[str, object], facts: str, kinds: Schema
) -> None:
    """Refuse other terms, other data and other kinds under the name of a source. A kind may be
    declared later than others: what was asked before was asked of another column."""
    now = {f"kind of {column!r}": kind for column, kind in kinds.items()}
    before = {f"kind of {c!r}": held.kinds.get(c, kind) for c, kind in kinds.items()}
    other = _difference({**held.terms, **before}, {**terms, **now})
    if not other and held.fingerprint != facts:
        other = "other data"
    if other:
        raise SourceError(
            f"source {held.source.name!r} was protected before with {other}. Use another name "
            "for another dataset; for another version of it end the session with dp.reset(), for "
            "one holds one version of a source."
        )
    _check_kinds(running, held.source, kinds)
    held.kinds.update(kinds)


def _schema(df: pd.DataFrame, declared: Schema, strict: bool = False) -> dict[Any, Kind]:
    """The kinds that are declared; else those of the dtypes, or, in a strict session, none."""
    asserted = dict.fromkeys(df.columns, UNKNOWN) if strict else of_columns(df)
    return {**asserted, **declared}


def _columns(names: list[Any], declared: Schema) -> dict[Any, Expression]:
    """The columns of a table as they are read: a declared kind converts."""
    return {
        name: Declared(name, declared[name]) if name in declared else Column(name) for name in names
    }


def _table_of(
    held: ProtectedSource, declared: dict[Any, Declaration], schema: Schema, levels: tuple[Any, ...]
) -> Table:
    """The table of a source, with just the facts that are declared now."""
    known = held.source
    known = known if known.schema == schema else replace(known, schema=schema)
    source = known if known.domain == declared else replace(known, domain={})
    table = Table(source, held.engine, held.engine, levels=levels, facts=held.facts)
    return table.declaring(declared)


def _check_names(df: object, name: object, version: object) -> None:
    """Refuse what isn't a table, and what the ledger couldn't print as the name of a source."""
    if not isinstance(df, pd.DataFrame):
        raise QueryError(f"dp.protect takes a DataFrame, not {type(df).__name__}.")
    if not isinstance(name, str) or not name.strip() or name == UNNAMED:
        raise QueryError(f"name={quoted(name)} must be a string that names the source.")
    if version is not None and not isinstance(version, str):
        raise QueryError(f"version={quoted(version)} must be a string.")
    for argument, said in (("name", name), ("version", version or "")):
        if len(said) > LONGEST_NAME or not said.isprintable():
            raise QueryError(
                f"{argument}={quoted(said)} must be one line of at most {LONGEST_NAME} characters, "
                "for the ledger prints it."
            )


def _held(
    running: Session,
    source: Source,
    own: Columns,
    terms: dict[str, object],
    facts: str,
    kinds: Schema,
) -> ProtectedSource:
    """Hold a source with its data. Each ledger has its own key of a source; its name, a keyed hash,
    tells nothing of that."""
    key = _registered(running, source, own, kinds)
    engine = PandasEngine(own, source.unit, key)
    mine = ProtectedSource(
        source, engine, terms, facts, hashing.digest("ledger", key), kinds=dict(kinds)
    )
    held = running._sources.setdefault(source.name, mine)
    identities[held.source.id] = SourceIdentity(held.source, facts, tuple(own))
    return held


def _registered(running: Session, source: Source, own: Columns, declared: Schema) -> bytes:
    """The key that chooses rows of a source, as the session's store knows it."""
    store, name, owner, version = running.ledger._store, source.name, source.unit, source.version
    if store.identity and (version is None or not version.strip()):
        raise SourceError(
            f"version= is needed: this session's ledger outlives the data, and answers {name!r} "
            'again as long as its version is the same. Say version="1", and another '
            "whenever the data change."
        )
    _check_version(running, name, version, own)
    _check_kinds(running, source, declared)
    noted = tuple((str(c), kind, c in declared) for c, kind in source.schema.items())
    mine = Registered(name, f"{owner} ({owner.column!r}, {owner.max_rows})", entropy.key(), noted)
    known = store.register(mine)
    if known.unit != mine.unit:
        raise SourceError(
            f"the ledger knows {name!r} as protecting {known.unit}, not {mine.unit}. Use the same "
            "unit, or another name."
        )
    return known.key


def _check_version(running: Session, name: str, version: str | None, own: Columns) -> None:
    """Refuse other data under a version that was protected before, where a ledger outlives them."""
    ledger = running.ledger._store.identity
    if ledger and not fingerprints.is_as_before(
        (ledger, name, str(version), f"form {FORM}"), lambda key: truncation.fingerprint(own, key)
    ):
        raise SourceError(
            f"the data of {name!r} are not those that were protected as version {version!r}: what "
            "was answered of those would be given again for these. Say another version=."
        )


def _check_kinds(running: Session, source: Source, kinds: Schema) -> None:
    """Refuse another kind of a column under a version for which one was declared before, where a
    ledger outlives the session."""
    ledger = running.ledger._store.identity
    for column, kind in kinds.items() if ledger else ():
        said = (ledger, source.name, str(source.version), "kind", repr(column))
        if not fingerprints.is_as_before(said, partial(hashing.digest, kind)):
            raise SourceError(
                f"{column!r} of {source.name!r} was declared in version {source.version!r}, but "
                f"not as {kind!r}, and kinds never change within one. Say another version=."
            )


def _difference(before: dict[str, object], now: dict[str, object]) -> str:
    """Which terms are not those of before; equal keys may be of other types, 1 or True."""
    both = [(term, before.get(term), now.get(term)) for term in {**before, **now}]
    other = [f"{t} was {then}, is {this}" for t, then, this in both if repr(then) != repr(this)]
    return f"other terms ({'; '.join(other)})" if other else ""


@hide_internals
def private(df: Any, unit: Any = None, max_rows: int | None = None, kinds: Any = None) -> Any:
    """What ``df.dp`` gives, for type checkers, and with a say in the privacy unit.

    unit : "row" states that every row is one person, for a frame of which dppandas can't tell; a
        column names the unit, at most max_rows= rows of which are then used (see `protect`).
    kinds : what columns hold, as in `protect`; of a Series its kind.

    The lineage is *asserted*: you vouch for what pandas did to the frame before.

    >>> import pandas as pd, dppandas as dp
    >>> dp.private(pd.DataFrame({"x": [1, 2]}), unit="row").count()
    <unreleased count, from unnamed (asserted): nothing computed or charged; \
ask .release(epsilon=…)>
    """
    if isinstance(df, pd.Series):
        if unit is not None and not _is_row(unit, [df.name]):
            raise QueryError(
                f"a Series has no column {quoted(unit)} to say whose values these are; use "
                f"dp.private(df, unit={quoted(unit)})['column']."
            )
        return _series(df, row_level=_is_row(unit, [df.name]), kinds=kinds)
    if not isinstance(df, pd.DataFrame):
        raise QueryError(f"dp.private takes a DataFrame or Series, not {type(df).__name__}.")
    return _frame(df, unit, max_rows, kinds)


def _is_row(unit: Any, columns: list[Any]) -> bool:
    return isinstance(unit, str) and unit == "row" and "row" not in columns


def _once(names: list[Any]) -> None:
    twice = sorted({str(name) for name in names if names.count(name) > 1})
    if twice:
        raise QueryError(f"columns named twice can't be told apart: {twice}. Rename them first.")


def _levels(df: pd.DataFrame) -> tuple[Any, ...]:
    """What the index is called, which is as public as the names of columns."""
    return tuple(name for name in df.index.names if name is not None)


def _own_copy(df: pd.DataFrame) -> Columns:
    """A copy that nobody else can change: not a lazy one, for pandas copies on write, but not
    through ``.array``."""
    return Columns(df.copy(deep=True))


def _check_owner(
    owner: Unit, unit: Any, token: object, before: SourceIdentity | None, running: Session
) -> None:
    """A frame of a source with a unit column must not come back as one of single rows."""
    if token is None:
        if unit is None:
            running._refuse_nobodys_rows(say='dp.protect(df, …, unit="row")')
        return
    if before is None:
        if unit is None:
            raise LineageError(
                "this frame carries the token of a source that this process never protected, which "
                'may have had a unit column: say whose rows these are with unit= ("row" if each is '
                "one person), or df.attrs.clear() first."
            )
        return
    was = before.source.unit.column
    is_live = running._protected(before.source.id) is not None
    if was is not None and owner.column != was and (is_live or unit is None):
        raise LineageError(
            f"this frame comes from source {before.source.name!r}, whose unit is {was!r}: "
            f"protect it with unit={was!r} and max_rows={before.source.unit.max_rows}."
        )


def _frame(
    df: pd.DataFrame, unit: Any = None, max_rows: int | None = None, kinds: Any = None
) -> PrivateFrame:
    columns = list(df.columns)
    _once(columns)
    declared = parse_kinds(kinds, columns)
    row_level = _is_row(unit, columns)
    source, refusal = _asserted(df.attrs, columns)
    if unit is not None:
        asked = Unit.parse(unit, max_rows, columns)
        if source.name == UNNAMED and source.unit.column is None:
            source, refusal = Source("", unit=asked), ""
        elif asked.column != source.unit.column:
            raise LineageError(
                f"this frame comes from source {source.name!r}, which protects {source.unit}; "
                f"unit={quoted(unit)} can't change that. Leave unit= out."
            )
    # A copy, so that the columns stay those that were checked, whatever happens to the frame.
    engine = PandasEngine(df.copy(deep=False), source.unit, entropy.key())
    source = replace(source, schema=_schema(df, declared))
    table = Table(source, engine, df, row_level, refusal, _levels(df))
    return PrivateFrame(table, _columns(columns, declared))


def _series(series: pd.Series, row_level: bool = False, kinds: Any = None) -> PrivateSeries:
    source, refusal = _asserted(series.attrs, [])
    name = "values" if series.name is None else series.name
    declared = parse_kinds({name: kinds} if isinstance(kinds, str) else kinds, [name])
    source = replace(source, schema={name: of_dtype(series.dtype), **declared})
    engine = PandasEngine(series.to_frame(name), source.unit, entropy.key())
    table = Table(source, engine, series, row_level, refusal)
    return PrivateSeries(table, series.name, _columns([name], declared)[name], None)


def _asserted(attrs: Any, columns: list[Any]) -> tuple[Source, str]:
    """The source that a token names: its unit is inherited, its domain is not."""
    token = attrs.get(SOURCE_ATTR)
    if token is None:
        return Source(""), ""
    known = identities.get(str(token))
    if known is None:
        return Source(""), (
            "this frame carries the token of a source that this process never protected. Protect "
            "it with dp.protect, or say whose rows these are after df.attrs.clear()."
        )
    source = known.source
    if source.unit.column is not None and source.unit.column not in columns:
        return source, (
            f"source {source.name!r} protects each {source.unit.column!r}, and that column is not "
            "within reach here: keep it in the frame and select afterwards, as in "
            "df.dp['income']."
        )
    if current()._protected(source.id) is None:  # its session has ended; its unit has not
        return Source("", unit=source.unit), ""
    return Source(source.id, source.name, source.unit, {}, source.version), ""
