"""How far a scan of rows is, for the person who waits for it.

What is told is a function of the clock and of estimates that are made at few fixed times, so that
it says no more than how long the scan takes: docs/adr/0080-a-scan-in-progress.md. It is told in the
process that reads the rows, and kept nowhere.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from math import ceil, log
from typing import NamedTuple

#: Seconds before anything is told.
PATIENCE = 1.0
#: Seconds between two looks at the clock.
LOOK = 0.25
#: Seconds until it is first estimated how long a scan takes; then each time after twice as many.
FIRST = 2.0
#: So many steps are done before anything is estimated of them: fewer would show in the estimate.
STEPS = 20
#: Shares are told in this many per cent, and how long a scan takes is estimated to as many.
GRID = 5
#: What is told of the time that is left, in seconds.
LEFT = (2, 3, 5, 10, 20, 30, 45, 60, 90, 120, 180, 300, 600, 900, 1200, 1800, 2700, 3600)
#: A look without any scan, this often, and the thread that looks waits to be woken.
IDLE = 20

#: Called when what is told changes.
Listener = Callable[[], None]

#: Seconds, from any start.
clock: Callable[[], float] = time.monotonic


class Told(NamedTuple):
    """What is told of a scan at a fixed time."""

    seconds: int
    step: str = ""  # which of several public steps runs, such as "round 3 of 10"
    share: int | None = None  # in per cent
    left: int | None = None  # seconds

    def __str__(self) -> str:
        parts = [self.step, duration(self.seconds)]
        parts += [] if self.share is None else [f"{self.share} %"]
        parts += [] if self.left is None else [f"about {duration(self.left)} left"]
        return " · ".join(filter(None, parts))


def duration(seconds: int) -> str:
    """Such as 12 s, 1 min 20 s or 2 h 5 min."""
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        minutes, rest = divmod(seconds, 60)
        return f"{minutes} min" + (f" {rest} s" if rest else "")
    hours, rest = divmod(seconds // 60, 60)
    return f"{hours} h" + (f" {rest} min" if rest else "")


def fixed_time(passed: float) -> int:
    """The last of the times at which something is told: each second of a minute, every ten of ten
    minutes, and then each minute."""
    every = 1 if passed < 60 else 10 if passed < 600 else 60
    return int(passed // every) * every


class Scan:
    """The reading of rows for one call, from its charge to its answers.

    draws : of its charges, in their order. of : the ledger. may_share : whether the share done may
    be told beside the time.
    """

    def __init__(self, of: object, draws: Sequence[str], may_share: bool = False) -> None:
        self.of, self.draws = of, draws
        self.question: object = ""
        self.step = ""
        self.told: Told | None = None
        self._at = 0
        self._may_share = may_share
        self._thread = threading.get_ident()
        self._start = clock()
        self._report: tuple[float, float, int] | None = None  # seconds, share and steps
        self._estimated = FIRST
        self._length: float | None = None  # of the whole scan, in seconds, as estimated

    def __enter__(self) -> Scan:
        around = _running.get(self._thread)
        if isinstance(around, Rounds):
            around.of, around.draws = self.of, self.draws
        else:  # one that an interrupt left behind gives way
            _running[self._thread] = self
            _wake()
        return self

    def __exit__(self, *raised: object) -> None:
        self.end()

    def end(self) -> None:
        """It is over; also a second time."""
        if _running.get(self._thread) is self:
            del _running[self._thread]
            if self.told is not None:
                _tell()

    def turn_to(self, at: int, question: object) -> None:
        """Another of its charges is answered from now on."""
        self._at, self.question = at, question
        if len(self.draws) > 1:
            self.step = f"question {at + 1} of {len(self.draws)}"

    def report(self, begun: float, share: float, steps: int) -> None:
        """So much of the only pass is done, in so many steps, since it began."""
        if self._may_share and not self.step and share > 0:
            now = clock()
            self._report = begun - self._start + (now - begun) / share, share, steps

    def look(self, now: float) -> bool:
        """Find what is to be told at a time. Returns whether that has changed."""
        passed, before = now - self._start, self.told
        if passed < PATIENCE:
            return False
        while passed >= self._estimated:
            self._estimated *= 2
            self._estimate()
        seconds = fixed_time(passed)
        share, left = self._share(seconds)
        self.told = Told(seconds, self.step, share, left)
        return self.told != before

    def _estimate(self) -> None:
        if self._report is not None and self._report[2] >= STEPS:
            # rounded up: what is told next depends on nothing else that was measured
            ratio = 1 + GRID / 100
            self._length = ratio ** ceil(log(max(self._report[0], 1.0), ratio))

    def _share(self, seconds: int) -> tuple[int | None, int | None]:
        """The share done in per cent, and the seconds that are left, by the clock and the last
        estimate. The share never falls, and never says that all is done."""
        before = None if self.told is None else self.told.share
        if self._length is None:
            return before, None
        share = min(100 - GRID, int(seconds / self._length * 100 / GRID) * GRID)
        rest = self._length - seconds
        left = next((each for each in LEFT if rest <= each), None) if rest > 0 else None
        return max(share, before or 0), left

    def states(self) -> dict[str, str]:
        """What is told of each charge that has no answer yet; "" while the scan is short."""
        computing = f"computing … {self.told}" if self.told is not None else ""
        waits = "waits" if computing else ""
        rest = self.draws[self._at :]
        return {draw: computing if i == 0 else waits for i, draw in enumerate(rest)}


class Rounds(Scan):
    """The public rounds of a fit. Its scans are told as one."""

    def __init__(self, name: str) -> None:
        super().__init__(None, ())
        self.question = name

    def states(self) -> dict[str, str]:
        """A program is one row, whichever of its charges it is told of."""
        found = super().states()
        return dict(list(found.items())[:1])


class Pass:
    """A pass over rows, which reports to the scan of this thread."""

    def __init__(self) -> None:
        self._scan = _running.get(threading.get_ident())
        self._begun = clock()

    def report(self, share: float, steps: int) -> None:
        if self._scan is not None:
            self._scan.report(self._begun, share, steps)
            if _looking is None and _is_heard():  # no thread can be started here
                _look()


def rounds(number: int, name: str) -> Iterator[int]:
    """The numbers of public rounds; after a while, the one that runs is told."""
    with Rounds(name) as all_rounds:
        for i in range(number):
            all_rounds.step = f"round {i + 1} of {number}"
            yield i


# --- who is told ----------------------------------------------------------------------------------

#: By thread. Changed by single steps of the interpreter, so that no fork or interrupt meets a lock.
_running: dict[int, Scan] = {}
_listener: Listener | None = None
_looking: threading.Thread | None = None
_awake = threading.Event()
#: What a signal's handler asks may end while something is told.
_telling = threading.RLock()
#: Letters that the terminal's line has now.
_written = 0


def tell_to(listener: Listener | None) -> None:
    """Tell what changes to a function; None tells it to the terminal."""
    global _listener
    _listener = listener


def states(of: object) -> Mapping[str, str]:
    """By draw, what is told of the charges of a ledger that are being answered here."""
    found: dict[str, str] = {}
    for scan in list(_running.values()):
        if scan.of is of:
            found |= scan.states()
    return found


def started(thread: threading.Thread) -> bool:
    """Start a thread, if threads can be started here: not in a browser's Python."""
    try:
        thread.start()
    except RuntimeError:
        return False
    return True


def _is_heard() -> bool:
    return _listener is not None or (sys.stderr is not None and sys.stderr.isatty())


def _wake() -> None:
    """Have somebody look at the clock, if there is anybody to tell."""
    global _looking
    if _awake.is_set() or not _is_heard():
        return
    if _looking is None:
        thread = threading.Thread(target=_keep_looking, name="dppandas progress", daemon=True)
        _looking = thread if started(thread) else None
    _awake.set()


def _keep_looking() -> None:
    idle, awake = 0, _awake
    while awake.wait():
        time.sleep(LOOK)
        idle = 0 if _running else idle + 1
        _look()
        if idle >= IDLE:
            awake.clear()
            if _running:  # one began meanwhile
                awake.set()


def _look() -> None:
    now = clock()
    changed = [scan.look(now) for scan in list(_running.values())]
    if any(changed):
        _tell()


def _tell() -> None:
    """Whatever is told is read once nobody else can tell: what is over isn't told again."""
    with _telling, suppress(Exception):  # what can't be shown must not cost the answer
        (_listener or _to_terminal)()


def _to_terminal() -> None:
    """Rewrites one line on standard error, and wipes it at the end."""
    global _written
    if sys.stderr is None or not sys.stderr.isatty():
        return
    scans = [scan for scan in list(_running.values()) if scan.told is not None]
    text = line(scans[0], shutil.get_terminal_size().columns - 1) if scans else ""
    sys.stderr.write(f"\r{text:<{_written}}" + ("" if text else "\r"))
    sys.stderr.flush()
    _written = len(text)


def line(scan: Scan, columns: int) -> str:
    """What a terminal of so many columns says; the question is what is cut."""
    told = f" … {scan.told} · Ctrl-C cancels, the charge stays"
    question = str(scan.question)
    room = max(0, columns - len(told))
    question = question if len(question) <= room else question[: max(0, room - 1)]
    return (question + told)[:columns]


def _forget() -> None:
    """A fork has no thread that looks, and answers nothing that was being asked."""
    global _looking, _awake, _telling, _written
    _running.clear()
    _looking, _awake, _telling, _written = None, threading.Event(), threading.RLock(), 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
