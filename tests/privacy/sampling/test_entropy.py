"""A pool hands out each word once, in order, to one vector of noise, and is gone with it."""

import gc
import os
import pickle
import signal
import sys
from collections.abc import Callable
from fractions import Fraction
from types import FrameType
from typing import Any

import exact
import pandas as pd
import pytest

import dppandas as dp
from dppandas.privacy.sampling import entropy, samplers

WHOLE = 2**64
LARGE = Fraction(10**15)  # two draws of this scale are hardly ever equal


class Source:
    """Stands for the system: words 0, 1, 2, … with what each read asked for."""

    def __init__(self) -> None:
        self.reads: list[int] = []

    def __call__(self, size: int) -> bytes:
        first = sum(self.reads) // 8
        self.reads.append(size)
        return b"".join(i.to_bytes(8, sys.byteorder) for i in range(first, first + size // 8))


@pytest.fixture
def source(monkeypatch: pytest.MonkeyPatch) -> Source:
    stand_in = Source()
    monkeypatch.setattr(entropy.os, "urandom", stand_in)
    return stand_in


def take(pool: entropy.Pool, sizes: list[int]) -> list[int]:
    """The words that are handed out: one by one for a size of 0."""
    found: list[int] = []
    for size in sizes:
        found += pool.words(size).tolist() if size else [pool.below(WHOLE)]
    return found


@pytest.mark.parametrize("size", [0, 1, 7, 64, 10**4])
@pytest.mark.parametrize("sizes", [[0] * 200, [1, 0, 3, 0, 64, 0, 0, 200, 0], [5000, 0, 5000, 0]])
def test_words_are_handed_out_once_and_in_order(
    size: int, sizes: list[int], source: Source
) -> None:
    found = take(entropy.Pool(size), sizes)
    assert len(found) == sum(max(1, each) for each in sizes)
    assert found == sorted(set(found))


def test_what_is_read_at_once_has_a_limit(source: Source) -> None:
    pool = entropy.Pool(10**9)
    take(pool, [0] * (entropy.MOST_AT_ONCE + 1))
    assert source.reads == [8 * entropy.MOST_AT_ONCE, 8 * entropy.FURTHER]


def stop_at(line: int) -> Callable[..., Any]:
    """A tracer that interrupts a pool at the so manieth of its lines."""
    left = [line]

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        if frame.f_code.co_filename != entropy.__file__:
            return None
        if event == "line":
            left[0] -= 1
            if left[0] == 0:
                raise KeyboardInterrupt
        return trace

    return trace


def test_no_word_is_handed_out_twice_whatever_is_raised(source: Source) -> None:
    """An interrupt at each line of a pool, where there are words left and where there are none."""
    interrupted = 0
    for before in (0, 1, 3, 4):
        for line in range(1, 16):
            pool = entropy.Pool(4)
            seen, there = take(pool, [0] * before), sys.gettrace()
            sys.settrace(stop_at(line))
            try:
                seen += take(pool, [0, 2])
            except KeyboardInterrupt:
                interrupted += 1
            finally:
                sys.settrace(there)
            seen += take(pool, [0, 0, 3, 0])
            assert seen == sorted(set(seen))
    assert interrupted > 40


def test_a_failing_source_hands_out_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(size: int) -> bytes:
        raise OSError("no entropy")

    pool = entropy.Pool(2)
    seen = take(pool, [0, 0])
    with monkeypatch.context() as patched:
        patched.setattr(entropy.os, "urandom", fail)
        with pytest.raises(OSError, match="no entropy"):
            pool.below(WHOLE)
    assert len({*seen, *take(pool, [0, 0])}) == 4  # equal by chance: below 10^-18


# --- numbers below a limit ------------------------------------------------------------------------


class Scripted(entropy.Pool):
    """A pool whose words a script says."""

    def __init__(self, bits: exact.Script) -> None:
        super().__init__(0)
        self._take = lambda n: memoryview(bits.words(n))  # type: ignore[method-assign]


@pytest.mark.parametrize("n", [1, 2, 3, 5, 12, 15, 16, 17, 31, 40, 85, 256])
def test_numbers_below_a_limit_are_equally_likely(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All words of 4 bits, and all that follow a word that doesn't decide."""
    monkeypatch.setattr(entropy, "WORD", 4)
    monkeypatch.setattr(entropy, "WHOLE", 16)
    found, undecided = exact.law(lambda bits: Scripted(bits).below(n), runs=3000, word=4)
    assert set(found) == set(range(n))
    assert len(set(found.values())) == 1 or undecided > 0
    assert max(found.values()) - min(found.values()) <= undecided < Fraction(1, 8)
    assert max(found.values()) <= Fraction(1, n) <= min(found.values()) + undecided


def test_words_that_fill_no_whole_are_drawn_again() -> None:
    def below(n: int, *words: int) -> tuple[int, int]:
        script = exact.Script(words)
        return Scripted(script).below(n), script.used

    assert below(1) == (0, 0)
    assert below(3, WHOLE - 2) == (2, 1)
    assert below(3, WHOLE - 1, 4) == (1, 2)  # 2^64 mod 3 = 1
    assert below(2**63 + 1, 2**63, 7) == (2**63, 1)
    assert below(2**63 + 1, 2**63 + 1, 7) == (7, 2)
    assert below(WHOLE, WHOLE - 1) == (WHOLE - 1, 1)
    assert below(WHOLE + 1, 1, 5) == (WHOLE + 5 - WHOLE - 1, 2)
    assert below(WHOLE**2 - 1, WHOLE - 1, WHOLE - 1, 0, 9) == (9, 4)


# --- one vector, and gone with it -----------------------------------------------------------------


def pools() -> list[entropy.Pool]:
    gc.collect()
    return [each for each in gc.get_objects() if isinstance(each, entropy.Pool)]


VECTORS: dict[str, Callable[[int], Any]] = {
    "laplace": lambda n: samplers.discrete_laplace_vector(LARGE, n).tolist(),
    "gaussian": lambda n: samplers.discrete_gaussian_vector(LARGE**2, n).tolist(),
}


@pytest.mark.parametrize("kind", VECTORS)
@pytest.mark.parametrize("entries", [3, 50])
def test_no_pool_outlives_a_vector(entries: int, kind: str) -> None:
    VECTORS[kind](entries)
    assert pools() == []


@pytest.mark.parametrize("kind", VECTORS)
@pytest.mark.parametrize("entries", [3, 50])
def test_vectors_share_no_words(entries: int, kind: str, monkeypatch: Any) -> None:
    """Each reads its own, and none of the words that another left over."""
    handed: list[list[int]] = []
    taken = entropy.Pool._take

    def listen(pool: entropy.Pool, n: int) -> memoryview:
        found = taken(pool, n)
        handed[-1] += found.tolist()
        return found

    monkeypatch.setattr(entropy.Pool, "_take", listen)
    monkeypatch.setattr(entropy.os, "urandom", honest := Listening())
    for _ in range(3):
        handed.append([])
        honest.said.append([])
        VECTORS[kind](entries)
    for mine, read in zip(handed, honest.said, strict=True):
        assert set(mine) <= set(read)
        assert len(set(mine)) == len(mine)  # equal by chance: below 10^-14
    assert not set(handed[0]) & set(handed[1]) | set(handed[1]) & set(handed[2])


class Listening:
    """The system's entropy, overheard."""

    def __init__(self) -> None:
        self.said: list[list[int]] = []
        self._read = os.urandom

    def __call__(self, size: int) -> bytes:
        found = self._read(size)
        self.said[-1] += memoryview(found).cast("Q").tolist()
        return found


@pytest.mark.parametrize("entries", [3, 50])
def test_an_interrupt_leaves_no_pool(entries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does the exception that a release raises hold one."""
    taken, calls = entropy.Pool._take, [0]

    def interrupt(pool: entropy.Pool, n: int) -> memoryview:
        calls[0] += 1
        if calls[0] == 2:
            raise KeyboardInterrupt
        return taken(pool, n)

    monkeypatch.setattr(entropy.Pool, "_take", interrupt)
    df, keys = pd.DataFrame({"k": range(entries)}), list(range(entries))
    dp.session(epsilon=2)
    with pytest.raises(KeyboardInterrupt) as stopped:
        df.dp["k"].value_counts(keys=keys, epsilon=1)
    assert stopped.value is not None
    assert pools() == []
    df.dp["k"].value_counts(keys=keys, epsilon=1, fresh=True)  # and the next one reads its own


@pytest.mark.parametrize(("entries", "reads"), [(3, 4), (19, 4), (50, 1), (99, 1), (100, 1)])
def test_one_release_reads_words_once(
    entries: int, reads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For a handful, words may run out, and more are read. Of 50 keys more than one read is due
    where a draw is beyond 256 times 10: in less than 10^-9 of runs; and beyond 4 for a handful, as
    often as 3 draws take more than 36 + 3·64 words."""
    asked: list[int] = []
    read = os.urandom

    def count(size: int) -> bytes:
        asked.append(size)
        return read(size)

    df, keys = pd.DataFrame({"k": range(entries)}), list(range(entries))
    dp.session(epsilon=2)
    monkeypatch.setattr(entropy.os, "urandom", count)
    df.dp["k"].value_counts(keys=keys, epsilon="0.1")
    assert 1 <= len([size for size in asked if size > 16]) <= reads
    assert len([size for size in asked if size <= 16]) <= 4  # ids of the release and of its draw


# --- forks ----------------------------------------------------------------------------------------


def both(do: Callable[[], Any], fork: Callable[[Callable[[], None]], None]) -> tuple[Any, Any]:
    """What a process says, and what a copy of it says that is forked on the way."""
    process, (reading, writing) = os.getpid(), os.pipe()
    children: list[int] = []

    def split() -> None:
        children.append(os.fork())
        if os.getpid() != process:
            signal.alarm(30)  # a copy never outlives the test

    try:
        fork(split)
        mine = do()
        if os.getpid() != process:
            os.write(writing, pickle.dumps(mine))
    finally:
        if os.getpid() != process:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        theirs = pickle.loads(pipe.read())
    os.waitpid(children[0], 0)
    return mine, theirs


def test_a_fork_reads_words_of_its_own() -> None:
    """Equal by chance: below 10^-15."""
    pool = entropy.Pool(64)
    first = take(pool, [3])
    mine, theirs = both(lambda: take(pool, [0, 2, 0]), lambda split: split())
    assert len({*first, *mine, *theirs}) == 11


@pytest.mark.parametrize(("kind", "entries"), [("laplace", 3), ("laplace", 50), ("gaussian", 3)])
def test_a_fork_amid_a_vector_draws_other_noise(
    kind: str, entries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copy goes on with other words. What was taken before the fork both have, but no
    release: it refuses a copy (`test_leases`). Equal by chance: below 10^-12."""
    taken, calls = entropy.Pool._take, [0]

    def fork(split: Callable[[], None]) -> None:
        def split_once(pool: entropy.Pool, n: int) -> memoryview:
            calls[0] += 1
            if calls[0] == 2:
                split()
            return taken(pool, n)

        monkeypatch.setattr(entropy.Pool, "_take", split_once)

    mine, theirs = both(lambda: VECTORS[kind](entries), fork)
    assert calls[0] > 2
    assert not {*mine[1:]} & {*theirs[1:]}
