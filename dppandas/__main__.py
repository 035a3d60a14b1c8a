"""``dppandas`` in a terminal: look at a ledger's file, verify it, copy it, write a statement of it.

Only ``accept-loss`` changes the file. ``python -m dppandas`` is the same.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from .errors import DPError, StoreError
from .ledger import statement, terminal, words
from .ledger.ledger import Ledger
from .ledger.storage.copies import accept_loss, copy_ledger
from .ledger.storage.sqlite import SqliteStore
from .ledger.storage.store import MISSING
from .ledger.storage.verify import Verdict, verified
from .release import wording as _words  # noqa: F401  (statistics add their words to the verbs)

#: What the process returns: nothing deviates; something does; it couldn't be looked at.
SOUND, DEVIATES, REFUSED = 0, 1, 2

#: What only the publisher knows, by the names that `Ledger.export` takes.
_FACTS = {
    "name": "what the answers are called",
    "curator": "who holds the data",
    "purpose": "what the answers are for",
    "description": "what was published",
    "justification": "why at this loss",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, and return what the process should."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # ε, in a terminal that has none
            stream.reconfigure(errors="backslashreplace")
    asked = _parser().parse_args(arguments)
    try:
        said, code = asked.command(asked)
        print(said, flush=True)
    except DPError as error:
        print(f"dppandas: {_plain(error.reason)}", file=sys.stderr)
        return REFUSED
    except BrokenPipeError:  # of `dppandas show … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return REFUSED
    except KeyboardInterrupt:
        return 130
    return int(code)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dppandas", description="Look at the ledger of a session: dp.session(store=FILE)."
    )
    parser.add_argument("--version", action="version", version=f"dppandas {statement.version()}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    show = commands.add_parser("show", help="the budget, and the newest releases")
    show.add_argument("file", metavar="FILE", help="the ledger")
    which = show.add_mutually_exclusive_group()
    which.add_argument("--all", action="store_true", help="every release")
    which.add_argument(
        "--last", type=_count, default=words.SHOWN, metavar="N",
        help=f"the last N releases ({words.SHOWN})",
    )  # fmt: skip
    show.set_defaults(command=_show)
    check = commands.add_parser(
        "verify",
        help="recompute the chain of hashes and all totals",
        epilog="Returns 0 if nothing deviates, 1 if something does, 2 if there is no ledger.",
    )
    check.add_argument("file", metavar="FILE", help="the ledger")
    check.add_argument(
        "--head", metavar="HASH", help="a last hash noted earlier: the ledger must go on from it"
    )
    check.set_defaults(command=_verify)
    export = commands.add_parser("export", help="write a privacy statement for publication")
    export.add_argument("file", metavar="FILE", help="the ledger")
    export.add_argument("report", metavar="REPORT", help="what: .html, .json, .csv or .yaml")
    export.add_argument("--replace", action="store_true", help="write over a .yaml that is there")
    for name, said in _FACTS.items():
        export.add_argument(f"--{name}", metavar="TEXT", help=f"in .yaml and .json: {said}")
    export.set_defaults(command=_export)
    copy = commands.add_parser("copy", help="copy the ledger, also while it is in use")
    copy.add_argument("file", metavar="FILE", help="the ledger")
    copy.add_argument("copy", metavar="COPY", help="a new file")
    copy.set_defaults(command=_copy)
    accept = commands.add_parser(
        "accept-loss",
        help="open a ledger again whose log was lost, though charges may be missing",
        epilog="The loss is noted in the ledger for good: every statement says so from then on.",
    )
    accept.add_argument("file", metavar="FILE", help="the ledger")
    accept.set_defaults(command=_accept_loss)
    return parser


def _count(text: str) -> int:
    count = int(text) if text.isdecimal() else 0
    if count < 1:
        raise argparse.ArgumentTypeError(f"{text!r} must be a whole number from 1")
    return count


def _opened(file: str) -> Ledger:
    store = SqliteStore(file, reading=True)
    return Ledger(store.terms, store)


def _show(asked: argparse.Namespace) -> tuple[str, int]:
    ledger = _opened(asked.file)._snapshot()
    said = _plain(words.text(ledger, None if asked.all else asked.last, all_by="--all"))
    if terminal.has_colours(sys.stdout):  # after `_plain`: nothing that a ledger says is one
        said = terminal.coloured(said, words.state(ledger))
    return said, SOUND


def _export(asked: argparse.Namespace) -> tuple[str, int]:
    facts = {name: getattr(asked, name) for name in _FACTS}
    try:
        _opened(asked.file).export(asked.report, replace=asked.replace or None, **facts)
    except StoreError as error:  # which tells Python's users what to write
        raise StoreError(str(error).replace("`replace=True`", "--replace")) from error
    return f"wrote {_plain(asked.report)}", SOUND


def _copy(asked: argparse.Namespace) -> tuple[str, int]:
    copy_ledger(asked.file, asked.copy)
    return f"copied to {_plain(asked.copy)}", SOUND


def _accept_loss(asked: argparse.Namespace) -> tuple[str, int]:
    accept_loss(asked.file)
    return f"noted in {_plain(asked.file)}: {MISSING}", SOUND


def _verify(asked: argparse.Namespace) -> tuple[str, int]:
    noted = None if asked.head is None else asked.head.strip().lower()
    verdict = verified(asked.file, noted)
    text = "\n".join([str(verdict), *_head(verdict, noted)])
    return _plain(text), SOUND if verdict.is_sound else DEVIATES


def _head(verdict: Verdict, noted: str | None) -> list[str]:
    if noted is None:
        return [
            "Who can write all of a file can write all of its hashes, and what was cut off at its "
            "end leaves\nno trace in it. Note the head elsewhere, and compare: dppandas verify "
            "FILE --head HASH"
        ]
    if verdict._noted is None:
        return []
    since = verdict.events - verdict._noted
    more = "nothing came since" if not since else f"{since} more came since"
    return [f"  It goes on from the head that was noted: event {verdict._noted}; {more}."]


def _plain(text: str) -> str:
    """The text without control characters."""
    seen = (c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)
    return "".join(seen)


if __name__ == "__main__":
    sys.exit(main())
