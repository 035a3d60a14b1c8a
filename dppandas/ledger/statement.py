"""The figures of a privacy statement, its JSON, and the ledger as a table.

They follow exactly from the charges of one moment; nothing here is rounded. Public facts only, as
in the ledger itself; of the file's path only the name, because a path says something about the
machine.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd

from ..dataclasses import dataclass
from ..privacy.accounting.composition import ParallelComposition, Path
from ..privacy.accounting.losses import Loss
from ..privacy.accounting.measures import Measure, PrivacyBudget
from .snapshot import Snapshot
from .stated_errors import StatedError
from .storage.store import MISSING, NO_CAVEATS, Caveats, Entry, Store

#: The version of the JSON's keys; counted up when one is renamed, removed or means something new.
FORM = 2

#: What a spreadsheet may take for a formula (OWASP, "CSV Injection"; full-width signs count too),
#: also after blanks, which some spreadsheets cut off; except for numbers, which it may read.
_FORMULA = re.compile(r"[\t\r\n]|\s*[=+\-@\uff1d\uff0b\uff0d\uff20]")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True)
class AskedSource:
    """A source that something was charged to, with what it cost."""

    name: str
    units: tuple[str, ...]
    versions: tuple[str, ...]
    lineages: tuple[str, ...]
    releases: int
    spent: Loss
    not_compared: tuple[str, ...] = ()  # versions whose data may not be those of earlier answers


@dataclass(frozen=True)
class Statement:
    """The figures of a ledger at one moment."""

    terms: PrivacyBudget
    entries: tuple[Entry, ...]  # the charges; a repeated answer isn't one
    spent: Loss
    sources: tuple[AskedSource, ...]
    replays: int
    file: str  # the name of the ledger's file; "" in memory
    head: str  # the hash that the file ends in; "" in memory
    caveats: Caveats = NO_CAVEATS

    @classmethod
    def of(cls, store: Store, now: Callable[[], Snapshot]) -> Statement:
        """The statement of a ledger at one moment, even if others charge meanwhile.

        store : where the ledger is kept. now : its figures; looked up after the charges, because a
            ledger without a budget may be given one that doesn't count what charges before it cost.
        """
        entries, head = store.sealed()
        ledger = now()
        spending = ParallelComposition().plus(each for e in entries for each in e.charges)
        path = store.path
        return cls(
            ledger.terms, tuple(entries), spending.total,
            tuple(_sources(entries, spending, ledger.caveats)), len(ledger.again),
            "" if path is None else path.name, head, ledger.caveats,
        )  # fmt: skip

    @property
    def caller_scored(self) -> int:
        """How many releases rest on a sensitivity that the analyst stated."""
        return sum("caller-scored" in entry.lineage for entry in self.entries)

    @property
    def counted(self) -> tuple[str, ...]:
        """Which of ε, ρ and δ this session counts."""
        return self.terms.measure.counted

    @property
    def left(self) -> Loss | None:
        """What is left of the budget; None without one."""
        return None if self.terms.limit is None else self.terms.limit - self.spent


def _sources(
    entries: Sequence[Entry], spending: ParallelComposition, caveats: Caveats
) -> Iterable[AskedSource]:
    spent = spending.by_source()
    by_name: dict[str, list[tuple[Entry, str]]] = {}
    for entry in entries:
        by_name.setdefault(entry.source, []).append((entry, entry.version or ""))
        for name, version, _ in entry.others:
            by_name.setdefault(name, []).append((entry, version or ""))
    for name, own in by_name.items():
        yield AskedSource(
            name, _once(e.unit for e, _ in own), _once(version for _, version in own),
            _once(e.lineage for e, _ in own), len(own), spent[name],
            tuple(version for source, version in caveats.not_compared if source == name),
        )  # fmt: skip


def _once(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


def version() -> str:
    """The version of dppandas."""
    return str(sys.modules[__name__.partition(".")[0]].__version__)


def part(path: Path) -> str:
    """The part of a source that a release reads, as "sex (a649) = f": the column, the first letters
    of the partition's id, and the label; "" for the whole source."""
    said = []
    for each in path:
        name, label = each.partition.removeprefix(f"{each.columns} "), each.label or each.key
        by = f"{each.columns} ({name[:4]})" if each.columns else name
        said.append(f"{by} = {label}")
    return ", ".join(said)


def exact(loss: Loss, counted: Sequence[str]) -> dict[str, str]:
    """A loss as text that `fractions.Fraction` reads: "0.1", "1/3", "1e-06"."""
    return {name: str(getattr(loss, name)) for name in counted}


def budget(terms: PrivacyBudget) -> dict[str, str] | None:
    """A session's budget; of one in ρ also what it means in ε."""
    if terms.limit is None:
        return None
    limit = exact(terms.limit, terms.measure.counted)
    if terms.measure is Measure.ZCDP:
        limit["means_epsilon"], limit["at_delta"] = str(terms.epsilon), str(terms.all_delta)
    return limit


def as_json(said: Statement, deployment: dict[str, Any]) -> str:
    """A statement for programs, with what registries of deployments ask;
    docs/adr/0013-audited.md has its keys."""
    terms, counted = said.terms, said.counted
    whole = {
        "form": FORM,
        "dppandas": version(),
        "ledger": {"file": said.file or None, "head": said.head or None},
        "measure": terms.measure.value,
        "neighbours": "add or remove one unit",
        "budget": budget(terms),
        "spent": exact(said.spent, counted),
        "left": None if said.left is None else exact(said.left, counted),
        "may_lack_charges": bool(said.caveats.accepted),
        "replays": said.replays,
        "sources": [_source(source, counted) for source in said.sources],
        "releases": [_release(entry, counted) for entry in said.entries],
        "deployment": deployment,
    }
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _source(source: AskedSource, counted: Sequence[str]) -> dict[str, Any]:
    versions = list(filter(None, source.versions))
    spent, unlike = exact(source.spent, counted), list(source.not_compared)
    return {**vars(source), "versions": versions, "spent": spent, "not_compared": unlike}


def _release(entry: Entry, counted: Sequence[str]) -> dict[str, Any]:
    error = entry.released_error
    return {
        "release": entry.number,
        "time": moment(entry.time).isoformat(timespec="seconds"),
        "cell": entry.cell,
        "source": entry.source,
        "version": entry.version,
        "unit": entry.unit,
        "part": [each._asdict() for each in entry.path],
        "lineage": entry.lineage,
        "query": entry.what.text,
        "details": entry.what.details,
        "question": entry.what.to_json(),
        "loss": exact(entry.loss, counted),
        "mechanism": entry.mechanism,
        "threshold": entry.threshold and entry.threshold._asdict(),
        "scale": entry.scale,
        "expected_error": entry.error,
        "error": entry.known_error,
        "error_figures": error.to_json() if isinstance(error, StatedError) else None,
        "status": entry.status,
        "kernel": entry.kernel,
        "asker": entry.asker or None,
        "request": entry.request or None,
        "draw": entry.draw_id or None,
        "other_sources": [name for name, _, _ in entry.others],
    }


#: Columns of the table whose dtype doesn't follow from their cells.
_TYPED = ("cell", "epsilon", "rho", "delta", "time")


def table(entries: Sequence[Entry], counted: Sequence[str], is_exact: bool = False) -> pd.DataFrame:
    """The table of `Ledger.to_frame`; ``is_exact`` has losses as text, without rounding."""
    told: Any = str if is_exact else float
    said: dict[str, Any] = {
        "cell": pd.array([e.cell for e in entries], dtype="Int64"),
        "source": [e.source for e in entries],
        "version": [e.version or "" for e in entries],
        "part": [part(e.path) for e in entries],
        "lineage": [e.lineage for e in entries],
        "query": [e.what.text for e in entries],
        "details": [e.what.details for e in entries],
    }
    for name in counted:
        losses = [told(getattr(e.loss, name)) for e in entries]
        said[name] = pd.array(losses, dtype=object if is_exact else "float64")
    said["mechanism"] = [e.mechanism_in_words for e in entries]
    for name in ("scale", "known_error", "status", "unit"):
        said[name.removeprefix("known_")] = [getattr(e, name) for e in entries]
    said["kernel"] = [e.kernel[:8] for e in entries]
    times = np.array([round(e.time * 10**6) for e in entries], dtype="datetime64[us]")
    said["time"] = pd.DatetimeIndex(times).as_unit("ns").tz_localize("UTC")
    index = pd.Index([e.number for e in entries], dtype="int64", name="release")
    texts = {name: object for name in said if not entries and name not in _TYPED}
    for name in said.keys() - set(_TYPED):
        said[name] = list(map(_whole, said[name]))
    return pd.DataFrame(said, index=index).astype(texts)


def _whole(text: str) -> str:
    """A label may hold half of a surrogate pair, which pandas' text dtype can't, or a control
    character, which no spreadsheet can: they are escaped."""
    if text.isascii() and text.isprintable():
        return text
    whole = text.encode("utf-8", "backslashreplace").decode()
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", whole)


def as_csv(table: pd.DataFrame, caveats: Caveats = NO_CAVEATS) -> str:
    """A table for programs and spreadsheets, none of whose texts is run as a formula. All texts are
    quoted: a carriage return within one would otherwise begin a new row. Where charges may be
    missing, each row says so."""
    if caveats.accepted:
        table = table.assign(ledger=MISSING)
    texts = table.select_dtypes(exclude=["number", "datetimetz"])
    safe = {str(name): texts[name].map(inert) for name in texts}
    return table.assign(**safe).to_csv(lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)


def inert(text: str) -> str:
    """A text with an apostrophe before it if a spreadsheet would take it for a formula; that is how
    spreadsheets mark text."""
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def moment(time: float) -> datetime:
    """A time in UTC, of seconds since 1970."""
    return datetime.fromtimestamp(time, UTC)
