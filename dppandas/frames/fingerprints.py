"""Whether data changed under one version, told to the holder of the data alone.

With a store the same query of the same version is answered again, so a version must not name two
states of the data. `dp.protect` compares a keyed fingerprint with that of the time before, and
refuses if they differ: at that moment, and for no other purpose. Key and fingerprints are files of
the user's own configuration that nobody else may read; neither a ledger nor an export holds them,
and no query depends on them (docs/threat_model.md says what the refusal tells).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

from ..privacy.sampling import entropy
from ..rows.values import hashing


def is_as_before(dataset: tuple[str, ...], fingerprint: Callable[[bytes], str]) -> bool:
    """Whether a dataset has the fingerprint that it had when it was seen first.

    dataset : what names it, and the ledger. fingerprint : makes one under a key. True where it
    wasn't seen before, or nothing can be kept.
    """
    with contextlib.suppress(OSError):
        folder = _folder()
        key = _kept(folder / "key", lambda: entropy.key(32).hex())
        name = hashing.digest("\0".join(dataset), bytes.fromhex(key))
        now = fingerprint(bytes.fromhex(key))
        return _kept(folder / name, lambda: now) == now
    return True


def _folder() -> Path:
    """The user's own configuration."""
    base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    folder = Path(base) / "dppandas"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _kept(file: Path, first: Callable[[], str]) -> str:
    """What a file holds, whole from the moment that it is there; made at the first time."""
    if not file.exists():
        draft = file.with_name(f"{file.name}.{entropy.identifier()}")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
            out.write(first())
        try:
            os.link(draft, file)  # unlike a rename it doesn't replace what another process made
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return file.read_text()
