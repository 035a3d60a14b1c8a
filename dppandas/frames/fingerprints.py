"""Detects data that changed under the same version; only the holder of the data learns of it.

With a store, the same query of the same version is replayed, so a version must not name two states
of the data. `dp.protect` compares a keyed fingerprint with the previous one, and refuses if they
differ; it has no other use. Key and fingerprints are files in the user's own configuration that
nobody else may read. No ledger or export holds them, and no query depends on them
(docs/threat_model.md says what a refusal reveals).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

from ..privacy.sampling import entropy
from ..rows.values import hashing


def is_as_before(dataset: tuple[str, ...], fingerprint: Callable[[bytes], str]) -> bool:
    """Whether a dataset still has its first fingerprint. True the first time, and if no file can be
    written.

    dataset : the names of the ledger and the dataset. fingerprint : computes one with a key.
    """
    with contextlib.suppress(OSError):
        folder = _folder()
        key = _key(folder)
        name = hashing.digest("\0".join(dataset), key)
        now = fingerprint(key)
        return _kept(folder / name, lambda: now) == now
    return True


def charges_before(dataset: tuple[str, ...], count: Callable[[], int]) -> int:
    """How many answers a ledger already had when the dataset's first fingerprint was kept here:
    the data were never compared with those of these answers. To be asked before `is_as_before`.

    dataset : as there. count : how many answers there are now.
    """
    with contextlib.suppress(OSError):
        folder = _folder()
        name = hashing.digest("\0".join(dataset), _key(folder))
        since = folder / f"{name}.since"
        if (folder / name).exists() and not since.exists():
            return 0  # kept by an older dppandas, which didn't note it
        return int(_kept(since, lambda: str(count())))
    return count()


def _key(folder: Path) -> bytes:
    return bytes.fromhex(_kept(folder / "key", lambda: entropy.key(32).hex()))


def _folder() -> Path:
    """A folder in the user's own configuration."""
    folder = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config", "dppandas")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _kept(file: Path, first: Callable[[], str]) -> str:
    """The contents of a file, which is created the first time. It is complete once it exists."""
    if not file.exists():
        draft = file.with_name(f"{file.name}.{entropy.identifier()}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as out:
            out.write(first())
        try:
            os.link(draft, file)  # unlike a rename, a link never replaces another process' file
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return file.read_text(encoding="utf-8")
