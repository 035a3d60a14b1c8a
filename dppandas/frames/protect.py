"""Two functions that say whose rows a frame holds: `private`, as ``df.dp`` is, and `protect`."""

from __future__ import annotations

import typing
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import pandas as pd

from ..engines.pandas import SharedEngine
from ..engines.readers import Columns
from ..errors import LineageError, QueryError, SourceError, hide_internals, quoted
from ..ledger.canonical import FORM
from ..ledger.storage.store import Registered
from ..privacy.sampling import entropy
from ..release.answers.results import ReleasedInt
from ..release.assumed import warn_of_keys
from ..release.private import Table
from ..release.query import UNNAMED, Source, Token
from ..release.session import (
    ProtectedSource,
    Session,
    SourceIdentity,
    current,
    identities,
    is_scratch,
    show_errors,
)
from ..rows.expressions import Column, Declared, Expression
from ..rows.facts.domain import Declaration, parse_domain
from ..rows.facts.keys import SOURCE_ATTR, lasting_names
from ..rows.facts.kinds import UNKNOWN, Kind, Schema, of_dtype, undeclared
from ..rows.facts.kinds import parse as parse_kinds
from ..rows.facts.steps import parse as parse_steps
from ..rows.facts.units import Unit
from ..rows.values import hashing
from . import fingerprints
from .frame import PrivateFrame
from .series import PrivateSeries
from .sources.base import Given, Own, is_of_dask
from .sources.given import given
from .sources.pandas_frames import ordered_among

#: The terms of a source, by name: its unit and its version.
Terms = dict[str, object]

#: The longest name of a source, and of a version.
LONGEST_NAME = 200
#: The source of a frame that nobody protected, before its columns are known.
NOBODYS = Source("")
#: Fingerprints are compared within this process only.
_KEY = entropy.key()


@hide_internals
def protect(
    df: Any,
    name: str,
    unit: Any = None,
    max_rows: int | pd.Series[float] | None = None,
    domain: Any = None,
    version: str | None = None,
    kinds: Any = None,
    materialize: bool = False,
    prune: bool = False,
    steps: Any = None,
) -> PrivateFrame[ReleasedInt]:
    """Protect a table, and return the private frame to work with.

    df : a DataFrame of pandas, Polars, Dask or Spark, a LazyFrame, a table or dataset of Arrow, a
        relation of DuckDB; or paths, a folder or a glob of Parquet files (docs/engines.md).
    name : its name in the ledger.
    unit : the column that says whose row it is. Without it every row is one person; state that as
        "row" in a session that holds a source with a unit column. Rows without a unit are dropped.
    max_rows : needed with a unit column: the most rows of each unit that are used, those of the
        smallest keyed hashes; a result of `suggest_max_rows` works too. The noise grows with it.
    domain : public facts: a dict of columns to (lower, upper) or to a list of keys. They are never
        read from the data, and apply if a call gives none. The returned frame knows only these;
        `PrivateFrame.declare` makes one that knows more.
    version : your name for this state of the data; change it whenever they change. A session with
        a store needs it: there a query of a version is answered once, and replayed ever after.
    kinds : the kinds of columns, a public fact. A dict such as {"when": "time", "price": "number"}
        converts cells as astype does. Without it, the dtypes decide, and you assert that they
        are public (docs/kinds.md).
    materialize : True reads a stream of Arrow into memory, and lets Dask and Spark keep the rows.
    prune : True skips row groups in which a filter keeps no row: the time depends on the data.
    steps : public facts for quantiles: a dict of columns to a ``step`` (`PrivateFrame.quantile`).

    Frames that are made from the private frame by its own methods are row-wise, and their lineage
    is *verified*. It is *asserted* if plain pandas made ``df`` from the frame of an earlier source.
    With the same data and terms (when a cell is run again) it returns the same source. Other data
    or terms under the same name raise `SourceError`. Facts may be more or fewer. They replace those
    that they contradict, or raise `SourceError` once the ledger has a charge for the source.

    *Guarantee*: every answer protects all rows of a unit together.

    >>> import pandas as pd, dppandas as dp
    >>> df = pd.DataFrame({"age": [20, 30, 40]})
    >>> people = dp.protect(df, name="doctest", domain={"age": (17, 60)})
    >>> people["age"].mean()
    <unreleased mean of age in 17 to 60, from doctest (verified): nothing computed or charged; \
ask .release(epsilon=…)>
    """
    _check_names(name, version)
    found = _taken(df, materialize, prune)
    columns = found.names  # on its own line, because a traceback shows what the line names
    _named_once(columns)
    owner = Unit.parse(unit, max_rows, columns)
    declared, meant = parse_domain(domain, columns), parse_kinds(kinds, columns)
    running = current()
    token = found.attrs.get(SOURCE_ATTR)
    before = identities.get(str(token))
    _check_owner(owner, unit, token, before, running)
    terms: Terms = {"unit": owner, "version": version}
    known = _known(found.kinds, meant, running.strict, steps)
    facts = (own := found.own()).fingerprint(_KEY)
    held = running._sources.get(name)
    if held is None:
        # pandas may have changed the rows of another source's frame in any way
        is_new = token is None or (before is not None and before.fingerprint == facts)
        source = Source(entropy.identifier(), name, owner, declared, version, is_new, **known)
        held = _held(running, source, own, terms, facts, meant)
    _refuse_others(running, held, terms, facts, meant)
    show_errors()  # the session may be older than this shell of IPython
    return _framed(running, held, _table_of(held, found, declared, known), found, meant)


def _framed(
    running: Session, held: ProtectedSource, table: Table, found: Given, declared: Schema
) -> PrivateFrame[ReleasedInt]:
    """The private frame of a source, whose token the plain one keeps. After kinds are noted nothing
    is refused, for they can't change again."""
    _check_kinds(running, held.source, declared)
    held.kinds.update(declared)
    warn_of_keys(table.source.domain, table.source.schema)
    if not is_scratch():
        found.attrs[SOURCE_ATTR] = Token(table.source.id)
    ordered = frozenset() if running.strict else found.ordered
    return PrivateFrame(table, _columns(found.names, ordered, declared))


def _refuse_others(
    running: Session, held: ProtectedSource, terms: Terms, facts: str, kinds: Schema
) -> None:
    """Refuse other terms, data or kinds under the name of a source. New kinds may come later:
    earlier answers were about other columns."""
    now = {f"kind of {column!r}": kind for column, kind in kinds.items()}
    before = {f"kind of {c!r}": held.kinds.get(c, kind) for c, kind in kinds.items()}
    other = _difference({**held.terms, **before}, {**terms, **now})
    if not other and held.fingerprint != facts:
        other = "other data"
    if other:
        raise SourceError(
            f"source {held.source.name!r} was protected before with {other}. Use another name for "
            "another dataset. For a new version end the session with dp.reset(), because a session "
            "holds one version of a source."
        )


def _known(
    kinds: Schema, declared: Schema, strict: bool = False, steps: object = None
) -> dict[str, Any]:
    """What a source knows of kinds: the declared ones, else those of the types, or in a strict
    session none; which columns of unknown kind nobody declared; and the steps of columns."""
    schema = {**(dict.fromkeys(kinds, UNKNOWN) if strict else kinds), **declared}
    found = {"schema": schema, "undeclared": undeclared(schema, declared)}
    return {**found, "steps": parse_steps(steps, kinds, schema)}


def _columns(names: list[Any], ordered: frozenset[Any], declared: Schema) -> dict[Any, Expression]:
    """The columns of a table. A declared kind converts what is read."""
    return {
        name: Declared(name, declared[name])
        if name in declared
        else Column(name, ordered=name in ordered)
        for name in names
    }


def _table_of(
    held: ProtectedSource, found: Given, declared: dict[Any, Declaration], known: dict[str, Any]
) -> Table:
    """The table of a source, with only the facts that are declared now."""
    source = held.source
    if known != {name: getattr(source, name) for name in known}:
        source = replace(source, **known)
    source = source if source.domain == declared else replace(source, domain={})
    table = Table(
        source, held.engine, held.engine, levels=found.levels, times=found.times, facts=held.facts
    )
    return table.declaring(declared, mends=True, steps=known["steps"])


def _check_names(name: object, version: object) -> None:
    """Refuse names that the ledger couldn't print."""
    if not isinstance(name, str) or not name.strip() or name == UNNAMED:
        raise QueryError(f"name={quoted(name)} must be a string that names the source.")
    if version is not None and not isinstance(version, str):
        raise QueryError(f"version={quoted(version)} must be a string.")
    for argument, said in (("name", name), ("version", version or "")):
        if len(said) > LONGEST_NAME or not said.isprintable():
            raise QueryError(
                f"{argument}={quoted(said)} must be one line of at most {LONGEST_NAME} characters, "
                "because the ledger prints it."
            )


def _held(
    running: Session, source: Source, own: Own, terms: Terms, facts: str, kinds: Schema
) -> ProtectedSource:
    """Hold a source with its data. Each ledger has its own key for a source. The ledger's name, a
    keyed hash, doesn't reveal the key."""
    key = _registered(running, source, own, kinds)
    engine, named = own.engine(source.unit, key), hashing.digest("ledger", key)
    mine = ProtectedSource(source, engine, terms, facts, named, kinds=dict(kinds))
    held = running._hold(mine)
    identities[held.source.id] = SourceIdentity(held.source, facts, engine.columns)
    return held


def _registered(running: Session, source: Source, own: Own, declared: Schema) -> bytes:
    """The key that selects a source's rows, as registered in the session's store."""
    store, name, owner, version = running.ledger._store, source.name, source.unit, source.version
    if store.identity and (version is None or not version.strip()):
        raise SourceError(
            f"version= is needed, because this session's ledger outlives the data and replays "
            f'answers about {name!r} while its version is the same. Write version="1", and '
            "another one whenever the data change."
        )
    _check_version(running, name, version, own)
    _check_kinds(running, source, declared)
    noted = tuple((str(c), kind, c in declared) for c, kind in source.schema.items())
    mine = Registered(name, f"{owner} ({owner.column!r}, {owner.max_rows})", entropy.key(), noted)
    known = store.register(mine)
    if known.unit != mine.unit:
        raise SourceError(
            f"the ledger says that {name!r} protects {known.unit}, not {mine.unit}. Use the same "
            "unit, or another name."
        )
    return known.key


def _check_version(running: Session, name: str, version: str | None, own: Own) -> None:
    """Refuse other data under an earlier version, if the ledger outlives the data. If answers of
    this version came from elsewhere, there is nothing to compare with: the next charge says so."""
    store = running.ledger._store
    if not store.identity:
        return
    dataset = (store.identity, name, str(version), f"form {FORM}")
    if fingerprints.charges_before(dataset, lambda: store.charges_of(name, version)):
        store.note_not_compared(name, version)
    if not fingerprints.is_as_before(dataset, own.fingerprint):
        raise SourceError(
            f"the data of {name!r} have changed since version {version!r} was protected, so its "
            "answers must not be replayed for them. Use another version=."
        )


def _check_kinds(running: Session, source: Source, kinds: Schema) -> None:
    """Refuse another kind for a column under a version that declared one, if the ledger outlives
    the session."""
    ledger = running.ledger._store.identity
    for column, kind in kinds.items() if ledger else ():
        said = (ledger, source.name, str(source.version), "kind", repr(column))
        if not fingerprints.is_as_before(said, partial(hashing.digest, kind)):
            raise SourceError(
                f"{column!r} of {source.name!r} was declared in version {source.version!r}, but "
                f"not as {kind!r}. Kinds can't change within a version. Use another version=."
            )


def _difference(before: Terms, now: Terms) -> str:
    """The terms that have changed, in words. It compares their reprs, because 1 equals True."""
    both = [(term, before.get(term), now.get(term)) for term in {**before, **now}]
    other = [f"{t} was {then}, is {this}" for t, then, this in both if repr(then) != repr(this)]
    return f"other terms ({'; '.join(other)})" if other else ""


@typing.overload
def private(
    df: pd.Series[Any],
    unit: Any = None,
    max_rows: int | pd.Series[float] | None = None,
    kinds: Any = None,
) -> PrivateSeries: ...
@typing.overload
def private(
    df: pd.DataFrame,
    unit: Any = None,
    max_rows: int | pd.Series[float] | None = None,
    kinds: Any = None,
) -> PrivateFrame[ReleasedInt]: ...
@hide_internals
def private(
    df: Any, unit: Any = None, max_rows: int | pd.Series[float] | None = None, kinds: Any = None
) -> Any:
    """A private frame or column, as ``df.dp`` gives, with types and a choice of the privacy unit.

    unit : "row" states that every row is one person, if dppandas can't know. A column is the unit;
        at most max_rows= rows of each are used (see `protect`).
    kinds : the kinds of columns, as in `protect`; for a Series its kind.

    The lineage is *asserted*: you vouch for what pandas did to the frame before.

    >>> import pandas as pd, dppandas as dp
    >>> dp.private(pd.DataFrame({"x": [1, 2]}), unit="row").count()
    <unreleased count, from unnamed (asserted): nothing computed or charged; \
ask .release(epsilon=…)>
    """
    if isinstance(df, pd.Series):
        if unit is not None and not _is_row(unit, [df.name]):
            raise QueryError(
                f"a Series has no column {quoted(unit)} that says whose values these are. Write "
                f"dp.private(df, unit={quoted(unit)})['column']."
            )
        return _series(df, row_level=_is_row(unit, [df.name]), kinds=kinds)
    if not isinstance(df, pd.DataFrame) and not is_of_dask(df):
        raise QueryError(f"dp.private takes a DataFrame or Series, not {type(df).__name__}.")
    return _frame(df, unit, max_rows, kinds)


def _taken(data: Any, materialize: bool = False, prune: bool = False) -> Given:
    """What a caller gives. Frames of Dask have ``dp`` from then on."""
    found = given(data, materialize, prune)
    if is_of_dask(data):
        type(data).dp = property(private)
    return found


def _is_row(unit: Any, columns: list[Any]) -> bool:
    return isinstance(unit, str) and unit == "row" and "row" not in columns


def _named_once(names: list[Any]) -> None:
    lasting_names(names)
    if len(set(names)) < len(names):
        twice = sorted({str(name) for name, times in Counter(names).items() if times > 1})
        raise QueryError(f"several columns have the same name: {twice}. Rename them first.")


def _check_owner(
    owner: Unit, unit: Any, token: object, before: SourceIdentity | None, running: Session
) -> None:
    """Refuse a frame of a source with a unit column that would come back as one of single rows."""
    if unit is None and token is None:
        running._refuse_nobodys_rows("dp.protect(df, …")
    elif unit is None and before is None:
        raise LineageError(
            "this frame comes from a source that this process never protected, and which may have "
            'had a unit column. Say whose rows these are with unit= ("row" if each is one person), '
            "or call df.attrs.clear() first."
        )
    if before is None:
        return
    was = before.source.unit.column
    is_live = running._protected(before.source) is not None
    if was is not None and owner.column != was and (is_live or unit is None):
        raise LineageError(
            f"this frame comes from source {before.source.name!r}, whose unit is {was!r}. Protect "
            f"it with unit={was!r} and max_rows={before.source.unit.max_rows}."
        )


def _frame(df: Any, unit: Any, max_rows: object, kinds: Any) -> PrivateFrame[ReleasedInt]:
    found = _taken(df)
    columns = found.names
    _named_once(columns)
    declared = parse_kinds(kinds, columns)
    row_level = _is_row(unit, columns)
    source, refusal = _asserted(found.attrs, columns)
    if unit is not None:
        asked = Unit.parse(unit, max_rows, columns)
        if source.name == UNNAMED and source.unit.column is None:
            source, refusal = Source("", unit=asked), ""
        elif asked.column != source.unit.column:
            raise LineageError(
                f"this frame comes from source {source.name!r}, which protects {source.unit}, and "
                f"unit={quoted(unit)} can't change that. Leave unit= out."
            )
    engine = found.shared().engine(source.unit, entropy.key())
    source, held = _described(source, found, declared)
    table = Table(source, engine, df, row_level, refusal, found.levels, found.times)
    return PrivateFrame(table, held)


def _described(
    source: Source, found: Given, declared: Schema
) -> tuple[Source, Mapping[Any, Expression]]:
    """A source that knows the kinds of its columns, and these columns. Nobody's source has no facts
    but those of its schema, so that all frames of one schema share what follows from it."""
    if source is NOBODYS and not declared and all(type(name) is str for name in found.kinds):
        return _nobodys(tuple(found.names), tuple(found.kinds.items()), found.ordered)
    known = replace(source, **_known(found.kinds, declared))
    return known, _columns(found.names, found.ordered, declared)


@lru_cache(maxsize=64)
def _nobodys(
    names: tuple[str, ...], kinds: tuple[tuple[str, Kind], ...], ordered: frozenset[str]
) -> tuple[Source, Mapping[Any, Expression]]:
    """Nobody's source of a schema, and its columns."""
    return replace(NOBODYS, **_known(dict(kinds), {})), _columns(list(names), ordered, {})


def _series(series: pd.Series, row_level: bool, kinds: Any) -> PrivateSeries:
    source, refusal = _asserted(series.attrs, [])
    lasting_names([series.name])
    name = "values" if series.name is None else series.name
    declared = parse_kinds({name: kinds} if isinstance(kinds, str) else kinds, [name])
    source = replace(source, **_known({name: of_dtype(series.dtype)}, declared))
    whole = Columns(series.to_frame(name), [name])
    engine = SharedEngine(whole, source.unit, entropy.key())
    table = Table(source, engine, series, row_level, refusal)
    held = _columns([name], ordered_among([name], [series.dtype]), declared)
    return PrivateSeries(table, series.name, held[name], None)


def _asserted(attrs: Any, columns: list[Any]) -> tuple[Source, str]:
    """The source of a frame's token, and why it may not answer. Its domain isn't inherited."""
    token = attrs.get(SOURCE_ATTR)
    if token is None:
        return NOBODYS, ""
    known = identities.get(str(token))
    if known is None:
        return NOBODYS, (
            "this frame comes from a source that this process never protected. Protect it with "
            "dp.protect, or call df.attrs.clear() and say whose rows these are."
        )
    source = known.source
    if source.unit.column is not None and source.unit.column not in columns:
        return source, (
            f"source {source.name!r} protects each {source.unit.column!r}, but that column is "
            "missing here. Keep it in the frame and select afterwards, as in df.dp['income']."
        )
    if current()._protected(source) is None:  # its session has ended, but its unit still counts
        return Source("", unit=source.unit), ""
    return Source(source.id, source.name, source.unit, {}, source.version), ""
