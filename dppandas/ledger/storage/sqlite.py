"""A ledger in one SQLite file: it outlives the kernel, and several kernels can share it.

Everything that happens is an event, appended and never changed: the opening with its budget, a
source, a charge, an outcome. Each carries the hash of the one before. A table beside them holds
what is spent at each place, so that a charge takes as long after ten releases as after a hundred
thousand. The table follows from the events, and `dppandas verify` recomputes it.

A charge is one transaction that nobody else can write in between (BEGIN IMMEDIATE), on disk when
it returns (synchronous=FULL). Others wait for it.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from ...errors import SessionError, StoreError
from ...privacy.accounting.composition import ParallelComposition
from ...privacy.accounting.losses import Loss
from ...privacy.accounting.measures import PrivacyBudget
from .. import canonical
from . import chain, ends, schema
from .chain import one
from .connections import Connected, Connection
from .leases import Claim, Taken
from .store import (
    Caveats,
    Check,
    Entry,
    FindError,
    Registered,
    StoredRelease,
    refuse_second,
)

T = TypeVar("T")

_PAGE = "AND c.release > ? AND c.release <= ?"
_KEPT = "FROM events WHERE kind = 'outcome' AND key = ?"
_KEY_OF = "SELECT json_extract(body, '$.key') FROM events WHERE kind = 'charge' AND release = ?"
#: The table of what is spent has all sources that were charged: for others no charge is read.
_CHARGES = (
    "SELECT CASE WHEN EXISTS (SELECT 1 FROM spending WHERE source = ?1) THEN ("
    "SELECT count(*) FROM events WHERE kind = 'charge' AND "
    "(json_extract(body, '$.source') = ?1 AND json_extract(body, '$.version') IS ?2 "
    "OR EXISTS (SELECT 1 FROM json_each(body, '$.others') WHERE json_extract(value, '$.source') "
    "= ?1 AND json_extract(value, '$.version') IS ?2))) ELSE 0 END"
)
_SETTLED = "SELECT count(*) FROM events WHERE kind = 'outcome' AND release = ?"
#: Up to schema 2 the n-th outcome of a key was its n-th draw; since then each says which it is.
_UNSAID, _SAID = "json_extract(body, '$.draw') IS NULL", "json_extract(body, '$.draw') = ?"
_DRAWS = (
    f"SELECT max(number), count(*) FILTER (WHERE {_UNSAID}), max(json_extract(body, '$.draw')) "
    f"{_KEPT} AND number > ?"
)


ends.register()


class SqliteStore(Connected):
    """Entries in one SQLite file. Not for network file systems: their locks can't be relied on."""

    def __init__(
        self, path: str | os.PathLike[str], terms: PrivacyBudget | None = None,
        reading: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(path, reading)
        self._seen: int | None = None
        self._known: tuple[str, ParallelComposition] | None = None
        self._not_compared: set[tuple[str, str | None]] = set()
        self._standing: schema.Standing | None = None  # when it was looked at last
        if reading and not self.path.exists():
            raise StoreError(f"there is no ledger at {str(self.path)!r}.")
        if not self.path.exists() and terms is None:
            raise SessionError(
                f"there is no ledger at {str(self.path)!r} yet, and a new one needs a budget: "
                "dp.session(epsilon=2, store=…)."
            )
        self.terms = self._opened(terms)
        if terms is not None and terms != self.terms:
            self.close()
            raise SessionError(
                f"the ledger {str(self.path)!r} has a budget of {self.terms}, not {terms}. Go on "
                "with it by dp.session(store=…) alone, or choose another file."
            )

    def add(self, drafts: Sequence[Entry], check: Check, claim: Claim | None = None) -> list[Entry]:
        drafts = [draft.whole for draft in drafts]

        def added(db: Connection) -> list[Entry]:
            first = _count(db) + 1
            entries = [Entry._make((first + i, *draft[1:])) for i, draft in enumerate(drafts)]
            if claim is not None:
                _lease(db, entries, claim)
            before = self._spending_of(db)
            after = before.plus(charge for each in drafts for charge in each.charges)
            check(before.total, after.total)
            for entry in entries:
                body = schema.charge_body(entry)
                self._known = chain.append(db, "charge", body, entry.number, None), after
            self._append_not_compared(db, entries)
            changed = {place: after.losses[place] for e in entries for place, _ in e.charges}
            db.executemany(schema.PUT, schema.spent_rows(changed))
            if (first - 1) // chain.EVERY != (first - 1 + len(entries)) // chain.EVERY:
                self._refuse_unfollowed(db)  # or the count would vouch for an edit
                chain.count(db, schema.standing(db, self._standing).to_json())
            if claim is not None and db.hold is not None:
                for number in [entry.number for entry in entries if entry.key]:
                    # others see the lease for as long as this process and the claim last
                    claim.at_end(partial(db.hold.answered, number))
                    db.hold.answer(number, claim)
            return entries

        return self._write(added)

    def is_taken(self, key: str, draw: int) -> bool:
        return self._read(
            lambda db: schema.version_of(db) >= schema.LEASED and _is_taken(db, key, draw)
        )

    def is_answered(self, entry: Entry) -> bool | None:
        if not entry.key:
            return None
        return self._read(lambda db: None if db.hold is None else db.hold.is_answered(entry.number))

    def between_charges(self, action: Callable[[Loss], None]) -> None:
        self._write(lambda db: action(self._spending_of(db).total))

    def settle(
        self, number: int, status: str, noisy: Sequence[Any] | None = None, leased: bool = False,
        released_error: FindError | None = None,
    ) -> int | None:  # fmt: skip
        error = None if released_error is None else released_error()

        def settled(db: Connection) -> int | None:
            key = one(db, _KEY_OF, number) or None
            refuse_second(number, one(db, _SETTLED, number))
            lease = one(db, "SELECT draw FROM leases WHERE release = ?", number)
            if leased and key and lease is None:
                return None
            said: dict[str, Any] = {"status": status, "answer": None}
            if error is not None:
                said["error"] = error.to_json()
            if noisy is not None and key:
                # an answer with a label that text can't give back is not kept
                with suppress(canonical.NoCanonicalText):
                    said["answer"] = canonical.to_json(list(noisy))
                    said["draw"] = lease or _next_draw(db, key)
            db.execute("DELETE FROM leases WHERE release = ?", (number,))
            draw: int = said.get("draw", 0)
            chain.append(db, "outcome", said, number, key if draw else None)
            return draw

        draw = self._write(settled)
        # So that the file has every answer without the log beside it: if the file is copied, or the
        # kernel is killed.
        self._empty_log()
        return draw

    def stored(self, key: str, draw: int) -> StoredRelease | None:
        def found(db: Connection) -> StoredRelease | None:
            row = _kept(db, key, draw)
            if row is None:
                return None
            (entry,) = schema.entries(db, "AND c.release = ?", row[0])
            return StoredRelease(entry, canonical.from_json(json.loads(row[1])["answer"]), draw)

        return self._read(self._readable(found)) if draw >= 1 else None

    def _readable(self, action: Callable[[Connection], T]) -> Callable[[Connection], T]:
        """An action that says so where an event isn't one that dppandas wrote."""

        def read(db: Connection) -> T:
            try:
                return action(db)
            except chain.UNREADABLE:
                raise self._damaged() from None

        return read

    def register(self, source: Registered) -> Registered:
        def registered(db: Connection) -> Registered:
            known = self._known_source(db, source.name)
            if known is None:
                body = {"name": source.name, "unit": source.unit, "key": source.key.hex(),
                        "kinds": source.kinds}  # fmt: skip
                chain.append(db, "source", body, None, source.name)
            return known or source

        return self.registered(source.name) or self._write(registered)

    def registered(self, name: str) -> Registered | None:
        return self._read(lambda db: self._known_source(db, name))

    def _known_source(self, db: sqlite3.Connection, name: str) -> Registered | None:
        try:
            return schema.source(db, name)
        except ValueError:
            raise self._damaged() from None

    def entries(
        self, last: int | None = None, before: int | None = None, whole: bool = True
    ) -> list[Entry]:
        def listed(db: Connection) -> list[Entry]:
            end = _count(db) if before is None else min(_count(db), before - 1)
            return schema.entries(db, _PAGE, 0 if last is None else end - last, end)

        return self._read(self._readable(listed))

    def count(self) -> int:
        return self._read(_count)

    def sealed(self) -> tuple[list[Entry], str]:
        def read(db: Connection) -> tuple[list[Entry], str]:
            return schema.entries(db), chain.whole(db)

        return self._at_one_moment(self._readable(read))

    def counted(self) -> tuple[int, ParallelComposition]:
        return self._at_one_moment(lambda db: (_count(db), self._spending_of(db)))

    def answered(self) -> int:
        return self._looked_at().answered

    def _looked_at(self) -> schema.Standing:
        read = self._readable(lambda db: schema.standing(db, self._standing))
        found = self._standing = self._at_one_moment(read)
        return found

    @property
    def spending(self) -> ParallelComposition:
        return self._read(self._spending_of)

    def charges_of(self, source: str, version: str | None) -> int:
        return int(self._read(lambda db: one(db, _CHARGES, source, version)))

    def note_not_compared(self, source: str, version: str | None) -> None:
        self._not_compared.add((source, version))

    def _append_not_compared(self, db: Connection, entries: Sequence[Entry]) -> None:
        """Note, once, that nobody compared the data of these charges with those before them."""
        for source, version in _versions(entries) & self._not_compared:
            body = {"source": source, "version": version}
            noted = schema.standing(db, self._standing).caveats.not_compared
            if (source, version or "") not in noted:
                chain.append(db, "uncompared", body, None, source)

    @property
    def caveats(self) -> Caveats:
        return self._looked_at().caveats

    def _spending_of(self, db: sqlite3.Connection) -> ParallelComposition:
        """The table of what is spent, read again only if somebody else has charged. The hash of the
        last charge stands for all charges before it, and for none that was rolled back."""
        last, known = _last_charge(db), self._known
        if known is None or known[0] != last:
            try:
                known = self._known = last, schema.spending_kept(db)
            except ValueError:
                raise self._damaged() from None
        return known[1]

    @property
    def identity(self) -> str:
        """The ledger's own id, noted when it was opened first."""
        return str(json.loads(self._read(lambda db: one(db, schema.OPENED)))["id"])

    def has_changed(self) -> bool:
        now: int = self._read(lambda db: one(db, "SELECT max(number) FROM events"))
        changed, self._seen = self._seen is not None and now != self._seen, now
        return changed

    def _opened(self, terms: PrivacyBudget | None) -> PrivacyBudget:
        """Open the file, or make it, and check that its figures follow from its charges."""
        if not self.path.exists():
            with self._explaining_errors():
                self.path.touch(exist_ok=True)
        found = self._read(schema.version_of)
        if self._reading and found < schema.READABLE:
            raise StoreError(
                f"the ledger {str(self.path)!r} was written by an older dppandas (schema {found}, "
                f"now {schema.VERSION}). Open it once by dp.session(store=…): that updates it."
            )
        schema.refuse_newer(self.path, found)
        if found < schema.READABLE:
            self._write(lambda db: None, terms)
        return self._at_one_moment(self._checked)

    def _checked(self, db: Connection) -> PrivacyBudget:
        self._refuse_unfollowed(db)
        self._spending_of(db)
        return schema.terms_of(json.loads(one(db, schema.OPENED)))

    def _at_one_moment(self, action: Callable[[Connection], T]) -> T:
        """Read without seeing what others write meanwhile."""

        return self._read(lambda db: db.in_transaction_of("BEGIN", lambda: action(db)))

    def _refuse_unfollowed(self, db: Connection) -> None:
        if not chain.is_followed(db):
            raise self._damaged()

    def _damaged(self) -> StoreError:
        return StoreError(
            f"{str(self.path)!r} is damaged: what it says is spent doesn't follow from its "
            "charges, or its budget or a source was changed. Restore it from a copy; the command "
            "dppandas verify shows where it deviates."
        )

    def _write(self, action: Callable[[Connection], T], terms: PrivacyBudget | None = None) -> T:
        """Bring the file up to date first: an older one stays as it is until it is written to."""

        def written(db: Connection) -> T:
            version = schema.version_of(db)
            if version != schema.VERSION:
                self._bring_up_to_date(db, version, terms)
            return action(db)

        return super()._write(written)

    def _bring_up_to_date(self, db: Connection, version: int, terms: PrivacyBudget | None) -> None:
        schema.refuse_newer(self.path, version)
        if version:
            schema.migrate(db, version)
            self._refuse_unfollowed(db)
            chain.count(db, schema.standing(db).to_json())
        elif terms is None:
            raise SessionError(
                f"{str(self.path)!r} is empty, and a new ledger needs a budget: "
                "dp.session(epsilon=2, store=…)."
            )
        else:
            schema.create(db, terms)


def _versions(entries: Sequence[Entry]) -> set[tuple[str, str | None]]:
    """The sources that are charged, with their versions."""
    return {pair for e in entries for pair in [(e.source, e.version), *(o[:2] for o in e.others)]}


# --- releases, leases and draws -------------------------------------------------------------------


def _count(db: sqlite3.Connection) -> int:
    return one(db, "SELECT max(release) FROM events WHERE kind = 'charge'") or 0


def _last_charge(db: sqlite3.Connection) -> str:
    """The hash of the last charge; "" before the first."""
    last = "SELECT hash FROM events WHERE kind = 'charge' ORDER BY release DESC LIMIT 1"
    return one(db, last) or ""


def _kept(db: sqlite3.Connection, key: str, draw: int) -> Any:
    """The release and the body of the outcome that is a draw of a key."""
    said = f"SELECT release, body {_KEPT} AND {_SAID}"
    unsaid = f"SELECT release, body {_KEPT} AND {_UNSAID} ORDER BY number LIMIT 1 OFFSET ?"
    return (
        db.execute(said, (key, draw)).fetchone() or db.execute(unsaid, (key, draw - 1)).fetchone()
    )


def _next_draw(db: Connection, key: str) -> int:
    """The draw after all that are kept or leased. Answers never change, so each is looked at once;
    no transaction asks after it has appended one."""
    seen, unsaid, said = db.drawn.get(key, (0, 0, 0))
    last, more, most = db.execute(_DRAWS, (key, seen)).fetchone()
    if last is not None:
        unsaid, said = unsaid + more, max(said, most or 0)
        db.drawn[key] = last, unsaid, said
    leased = one(db, "SELECT max(draw) FROM leases WHERE key = ?", key)
    return int(max(unsaid, said, leased or 0)) + 1


def _is_taken(db: Connection, key: str, draw: int) -> bool:
    release = one(db, "SELECT release FROM leases WHERE key = ? AND draw = ?", key, draw)
    if release is None or db.hold is None:
        return False
    here = db.hold.answering.get(release)
    return db.hold.is_answered_elsewhere(release) if here is None else here.is_open()


def _lease(db: Connection, entries: Sequence[Entry], claim: Claim) -> None:
    """Take all leases, or raise. A lease whose holder is gone is taken over."""
    for entry, wanted in zip(entries, claim.draws, strict=True):
        if not entry.key:
            continue
        if wanted and (_kept(db, entry.key, wanted) or _is_taken(db, entry.key, wanted)):
            raise Taken(entry.key, wanted)
        lease = entry.key, wanted or _next_draw(db, entry.key), entry.number
        db.execute("INSERT OR REPLACE INTO leases VALUES (?, ?, ?)", lease)
