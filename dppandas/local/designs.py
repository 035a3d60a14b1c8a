"""How a respondent randomises an answer: the designs, their probabilities and their losses.

In every design, a response is a *yes* to key k with probability p_k if the answer is k, and with
probability q_k if it isn't. Estimates need to know nothing else.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..dataclasses import dataclass
from ..errors import MissingArgument, QueryError, hide_internals, is_one_of, quoted
from ..privacy.accounting.enclosures import Enclosure, Interval, exp_interval, rounded, tight
from ..privacy.accounting.losses import LARGEST, SMALLEST, Epsilon, parse_budget, parse_epsilon
from ..privacy.sampling import samplers
from ..privacy.sampling.entropy import SYSTEM, WORD, Bits
from ..rows.facts.keys import Keys
from ..rows.values.reading import column
from ..rows.values.vectors import prepared

Codes = npt.NDArray[np.int64]
Formula = Callable[[int], Enclosure]

ONE_COIN, TWO_COINS, K_ARY, OUE = "one coin", "two coins", "k-ary", "OUE"
WORDS = (ONE_COIN, TWO_COINS, K_ARY, OUE)
BINARY = (False, True)
#: Digits of probabilities, and the relative tolerance between a given epsilon and an implied one.
PLACES = 25
AGREES = Fraction(1, 10**9)
#: The most bits of responses that are drawn at once, and that are held at all.
BLOCK, MOST_CELLS = 2**22, 2**28


class Rate(NamedTuple):
    """The probability of a yes to a key from those who hold it (p) and from others (q), p - q, and
    the odds p/(1-p) and q/(1-q): each the float nearest to the truth."""

    p: float
    q: float
    gain: float
    p_odds: float
    q_odds: float


class Design(ABC):
    """How answers are randomised, which is public.

    Attributes: ``name``, ``keys`` (the labels of the answers, in order) and ``epsilon``, what each
    response costs its respondent.
    """

    name: str
    keys: tuple[Any, ...]
    epsilon: Epsilon
    #: Whether a response is a row of yes and no, one for each key.
    is_bits: ClassVar[bool] = False

    @abstractmethod
    def respond(self, truth: Codes, bits: Bits = SYSTEM, word: int = WORD) -> npt.NDArray[Any]:
        """Randomise answers, given as positions of keys; len(keys) stands for none of the keys."""

    @abstractmethod
    def _p(self, key: int) -> Formula:
        """P[yes to this key | it is the answer]."""

    @abstractmethod
    def _q(self, key: int) -> Formula:
        """P[yes to this key | another is the answer]."""

    @cached_property
    def rates(self) -> tuple[Rate, ...]:
        """The probabilities of each key. Only coins have different ones for different keys."""
        if isinstance(self, Coins):
            return self._rate(0), self._rate(1)
        return (self._rate(0),) * len(self.keys)

    @property
    def events(self) -> int:
        """How many events a union bound over all keys adds up. With two keys, of which each
        response names one, both estimates are off by as much, which is one event."""
        return 1 if len(self.keys) == 2 and not self.is_bits else len(self.keys)

    def _rate(self, key: int) -> Rate:
        p, q = self._p(key), self._q(key)
        formulas = p, q, lambda digits: p(digits) - q(digits), _odds(p), _odds(q)
        return Rate(*(float(tight(formula, PLACES).low) for formula in formulas))

    def variance(self, respondents: int, share: float | None = None) -> float:
        """The variance of the estimated share of a key that this share of the respondents holds,
        exactly: (q(1-q) + share·(p-q)(1-p-q)) / (n(p-q)²). Without a share, the largest variance of
        all shares and keys.

        >>> round(of("one coin", 1, None).variance(20_000) ** 0.5, 5)  # 1/(2√n sinh(ε/2))
        0.00678
        """
        shares = (0.0, 1.0) if share is None else (share,)
        return max(_variance(rate, f) for rate in self.rates for f in shares) / respondents

    def probabilities(self) -> pd.DataFrame:
        """The probability of each response (a column) to each answer (a row).

        With unary encoding a response is a yes or no to each key by itself: the columns are the
        keys, and a cell is the probability of a yes.
        """
        labels = self.labels
        cells = np.tile([rate.q for rate in self.rates], (len(labels), 1))
        np.fill_diagonal(cells, [rate.p for rate in self.rates])
        return pd.DataFrame(cells, index=labels.rename("answer"), columns=labels.rename("response"))

    @hide_internals
    def posterior(self, prior: Any, responses: Any = None) -> pd.DataFrame:
        """What a response says of its respondent's answer: the probability of each answer (a
        column), by Bayes' rule, for each response (a row).

        prior : the probability of each answer, from public knowledge: by key, or in their order; of
            two answers that of the second alone (True). They add up to 1.
        responses : those to ask about, as they were collected; by default each possible one. With
            unary encoding there are too many, so that they are needed.

        A respondent whose answer isn't among the keys responds as if it were one at random.

        Raises `QueryError` for other priors and responses.

        *Guarantee*: a function of what is public (lecture 004, Example 1).

        >>> of("two coins", None, None).posterior(0.32).round(3).loc[True].to_dict()
        {False: 0.415, True: 0.585}
        """
        shares = _prior(prior, self.keys)
        found = _bayes(self._likelihoods(responses), shares)
        rows = self.labels if responses is None else pd.RangeIndex(len(found))
        return pd.DataFrame(
            found, index=rows.rename("response"), columns=self.labels.rename("answer")
        )

    def _likelihoods(self, responses: Any) -> npt.NDArray[np.float64]:
        """For each response the probability of it under each answer, or a multiple of that."""
        if not self.is_bits:
            each = self.probabilities().to_numpy().T
            if responses is None:
                return each
            places = self.places(pd.Series(responses))
            if (places == len(self.keys)).any():
                raise QueryError("responses= must be keys: in this design each response is one.")
            return each[places]
        if responses is None:
            raise MissingArgument(
                f"{self.name} has 2^{len(self.keys)} possible responses. Give responses=, a table "
                "of yes and no, as .responses has it."
            )
        told = np.asarray(responses)
        if told.ndim != 2 or told.shape[1] != len(self.keys) or told.dtype != bool:
            raise QueryError("responses= must have a yes or no to each key in each row.")
        yes = np.array([rate.p / rate.q for rate in self.rates])
        no = np.array([(1 - rate.p) / (1 - rate.q) for rate in self.rates])
        return np.asarray(np.where(told, yes, no))

    def places(self, series: pd.Series[Any]) -> Codes:
        """The position of each element among the keys; len(keys) for values that aren't keys."""
        return prepared(self.keys).codes(column(series)).astype(np.int64)

    @property
    def labels(self) -> pd.Index:
        """The keys as an index, whose dtype follows from the keys alone."""
        labels: pd.Index = pd.Index(list(self.keys), tupleize_cols=False)
        return labels

    def __str__(self) -> str:
        return self.name


def _prior(prior: Any, keys: tuple[Any, ...]) -> npt.NDArray[np.float64]:
    """The probability of each key."""
    given = prior
    if isinstance(prior, pd.Series | dict):
        by_key = dict(prior)
        given = [by_key.get(key, math.nan) for key in keys] if len(by_key) == len(keys) else ()
    elif np.ndim(prior) == 0 and len(keys) == 2:
        given = (1 - prior, prior) if isinstance(prior, int | float | np.number) else ()
    try:
        found = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.zeros(0)
    if found.shape != (len(keys),) or not (found >= 0).all() or abs(found.sum() - 1) > 1e-9:
        raise QueryError(
            f"prior={quoted(prior)} must have a probability for each of the {len(keys)} keys, and "
            "they must add up to 1; of two keys that of the second is enough."
        )
    return found


def _bayes(
    likelihoods: npt.NDArray[np.float64], prior: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """The probability of each answer, given a response in each row; NaN for what nobody says."""
    both = likelihoods * prior
    with np.errstate(invalid="ignore"):
        return np.asarray(both / both.sum(axis=1, keepdims=True))


def _variance(rate: Rate, share: float) -> float:
    p, q, gain = rate.p, rate.q, rate.gain
    return (q * (1 - q) + share * gain * (1 - p - q)) / gain**2


def _one(digits: int) -> Enclosure:
    return Enclosure.of(1, digits)


def _exactly(value: Fraction) -> Formula:
    return lambda digits: Enclosure.of(value, digits)


def _odds(p: Formula) -> Formula:
    return lambda digits: p(digits) / (_one(digits) - p(digits))


def _around(formula: Formula) -> Callable[[int], Interval]:
    def around(digits: int) -> Interval:
        found = formula(digits)
        return found.low, found.high

    return around


class KAry(Design):
    """k-ary randomised response: the answer with probability e^ε/(e^ε+k-1), else one of the other
    keys, all equally likely. With two keys it is Warner's one coin.

    Drawn as the truth with probability (1-a)/(1+(k-1)a), a = e^-ε, else as any key, the truth
    included. A respondent without an answer says any key.
    """

    def __init__(self, keys: tuple[Any, ...], epsilon: Epsilon) -> None:
        self.keys, self.epsilon = keys, epsilon
        self.name = ONE_COIN if len(keys) == 2 else K_ARY

    def _p(self, key: int) -> Formula:
        return lambda digits: _one(digits) / self._all(digits)

    def _q(self, key: int) -> Formula:
        return lambda digits: _exp(self.epsilon, digits) / self._all(digits)

    def _all(self, digits: int) -> Enclosure:
        return _exp(self.epsilon, digits) * (len(self.keys) - 1) + 1

    def _truth(self, digits: int) -> Enclosure:
        return (_one(digits) - _exp(self.epsilon, digits)) / self._all(digits)

    def respond(self, truth: Codes, bits: Bits = SYSTEM, word: int = WORD) -> npt.NDArray[Any]:
        n, k = len(truth), len(self.keys)
        honest = samplers.coins(_around(self._truth), n, bits, word)
        chance = samplers.uniform_vector(k, n, bits, word)
        return np.where(honest & (truth < k), truth, chance)


class UnaryEncoding(Design):
    """Optimised unary encoding: a yes or no to each key. A fair coin decides for the answer's own
    key; every other key gets a yes with probability 1/(e^ε+1).

    A respondent without an answer responds as if a random key were the answer.
    """

    name = OUE
    is_bits = True

    def __init__(self, keys: tuple[Any, ...], epsilon: Epsilon) -> None:
        self.keys, self.epsilon = keys, epsilon

    def _p(self, key: int) -> Formula:
        return _exactly(Fraction(1, 2))

    def _q(self, key: int) -> Formula:
        return lambda digits: _exp(self.epsilon, digits) / (_exp(self.epsilon, digits) + 1)

    def respond(self, truth: Codes, bits: Bits = SYSTEM, word: int = WORD) -> npt.NDArray[Any]:
        n, k = len(truth), len(self.keys)
        told = np.empty((n, k), dtype=bool)
        step = max(1, BLOCK // k)
        # in blocks, as random words take eight times the memory of bits
        for start in range(0, n, step):
            block = told[start : start + step]
            block[:] = samplers.coins(_around(self._q(0)), block.size, bits, word).reshape(-1, k)
        own = np.where(truth < k, truth, samplers.uniform_vector(k, n, bits, word))
        told[np.arange(n), own] = samplers.uniform_vector(2, n, bits, word) == 1
        return told


class Coins(Design):
    """Two coins, for two keys: the truth with probability ``truth``, else what a second coin says:
    the second key with probability ``yes``. Fair coins cost ln 3.

    A respondent without an answer says what the second coin says.
    """

    def __init__(self, keys: tuple[Any, ...], truth: Fraction, yes: Fraction, name: str) -> None:
        self.keys, self.truth, self.yes, self.name = keys, truth, yes, name
        self.epsilon = _implied(truth, yes)

    def _p(self, key: int) -> Formula:
        return _exactly(self.truth + (1 - self.truth) * self._says(key))

    def _q(self, key: int) -> Formula:
        return _exactly((1 - self.truth) * self._says(key))

    def _says(self, key: int) -> Fraction:
        return self.yes if key == 1 else 1 - self.yes

    def respond(self, truth: Codes, bits: Bits = SYSTEM, word: int = WORD) -> npt.NDArray[Any]:
        n = len(truth)
        honest = samplers.coins(_around(_exactly(self.truth)), n, bits, word)
        chance = samplers.coins(_around(_exactly(self.yes)), n, bits, word)
        return np.where(honest & (truth < 2), truth, chance.astype(np.int64))


def _exp(epsilon: Fraction, digits: int) -> Enclosure:
    """exp(-ε)."""
    return Enclosure(*exp_interval(epsilon, digits), digits)


def _implied(truth: Fraction, yes: Fraction) -> Epsilon:
    """The loss: ln of the largest ratio between the probabilities of one response, rounded up to
    15 digits."""
    largest = max((truth + (1 - truth) * said) / ((1 - truth) * said) for said in (yes, 1 - yes))
    exact = tight(lambda digits: Enclosure.of(largest, digits).ln(), PLACES)
    return Epsilon(rounded(exact.high, 15, up=True))


# --- what a caller asks for ---------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class CoinDesign:
    """Coins with given probabilities, which decide their loss; see `one_coin` and `two_coins`."""

    truth: Fraction  # below 0 for a coin that lies
    yes: Fraction
    name: str

    @property
    def epsilon(self) -> Epsilon | float:
        """The loss of a response, rounded up to 15 digits; infinite if it gives answers away."""
        if not self.truth:
            return Epsilon(0)
        return math.inf if abs(self.truth) == 1 else _implied(abs(self.truth), self.yes)

    def probabilities(self) -> pd.DataFrame:
        """The probability of each response (a column) to each answer (a row)."""
        labels = pd.Index(BINARY)
        index, columns = labels.rename("answer"), labels.rename("response")
        return pd.DataFrame(self._chances(), index=index, columns=columns)

    @hide_internals
    def posterior(self, prior: Any) -> pd.DataFrame:
        """The probability of each answer (a column) after each response (a row), as of a
        `Design`: by Bayes' rule from the probability of True, or of False and True. NaN after a
        response that nobody gives."""
        table = self.probabilities().T
        table.loc[:] = _bayes(table.to_numpy(), _prior(prior, BINARY))
        return table

    def _chances(self) -> list[list[float]]:
        rest = [(1 - self.truth) * said for said in (1 - self.yes, self.yes)]
        return [[float(r + (i == j) * self.truth) for j, r in enumerate(rest)] for i in (0, 1)]

    def _check_for_draws(self) -> None:
        """Refuse coins that no estimate can be made from, or that hide nothing."""
        if not self.truth:
            raise QueryError(
                f"{self!r} says nothing: every response is as likely from either answer. Its "
                ".probabilities() and .posterior(prior) show that. To ask, raise truth= above 1/2."
            )
        if abs(self.truth) == 1:
            raise QueryError(
                f"{self!r} hides nothing: every response gives its answer away. To ask, write "
                "truth= between 1/2 and 1."
            )
        if self.truth < 0:
            raise QueryError(
                f"{self!r} lies more often than not. one_coin({1 - self._honest}) says as much at "
                "the same loss: its responses are these, with yes and no swapped. Ask with that."
            )
        _check_loss(self)

    @property
    def _honest(self) -> Fraction:
        """The probability of a true response by one coin."""
        return (1 + self.truth) / 2

    def __repr__(self) -> str:
        if self.name == ONE_COIN:
            return f"one_coin(truth={self._honest})"
        return f"two_coins(truth={self.truth}, yes={self.yes})"


@hide_internals
def one_coin(truth: object) -> CoinDesign:
    """Warner's design by the probability of a true response: the loss is the logarithm of
    truth / (1 - truth). To give ``epsilon=`` instead, write ``design="one coin"``.

    A coin that says nothing (1/2), lies more often than not (below), or always tells the truth or
    always lies (1 and 0) can be looked at, by ``.probabilities()``, ``.posterior(prior)`` and
    ``.epsilon``. Responses are refused: a coin of p and one of 1 - p say the same.

    >>> one_coin("3/4"), one_coin("3/4").epsilon  # ln 3
    (one_coin(truth=3/4), 1.09861228866811)
    >>> one_coin("1/4").epsilon, one_coin("1/2").epsilon, one_coin(1).epsilon
    (1.09861228866811, 0, inf)
    >>> one_coin("1/2").posterior(0.5).loc[True].tolist()
    [0.5, 0.5]
    """
    honest = Fraction(0) if _is_zero(truth) else Fraction(parse_budget(truth, "truth"))
    if honest > 1:
        raise QueryError(f"truth={quoted(truth)} must lie between 0 and 1.")
    return CoinDesign(2 * honest - 1, Fraction(1, 2), ONE_COIN)


def _is_zero(value: object) -> bool:
    return isinstance(value, int | float | Fraction) and not isinstance(value, bool) and value == 0


@hide_internals
def two_coins(truth: object = "1/2", yes: object = "1/2") -> CoinDesign:
    """Two coins: the first decides whether to tell the truth; if not, the second one answers.

    truth : the probability that the first coin asks for the truth.
    yes : the probability that the second coin says yes, the second of the two keys.

    With fair coins the loss is ln 3 (lecture 001, Claim 3.5). A biased second coin costs more,
    because the response that it rarely gives reveals more.

    >>> two_coins().epsilon
    1.09861228866811
    >>> two_coins(yes="1/4").epsilon  # ln 5: a yes is five times as likely from those who hold it
    1.60943791243411
    """
    coins = CoinDesign(_probability(truth, "truth"), _probability(yes, "yes"), TWO_COINS)
    _check_loss(coins)
    return coins


def _probability(value: object, name: str) -> Fraction:
    exact = Fraction(parse_budget(value, name))
    if exact >= 1:
        raise QueryError(f"{name}={quoted(value)} must lie between 0 and 1.")
    return exact


def _check_loss(coins: CoinDesign) -> None:
    if not SMALLEST <= coins.epsilon <= LARGEST:
        raise QueryError(f"these coins cost ε = {coins.epsilon} a response, outside [2^-20, 64].")


def of(design: object, epsilon: object, keys: object, name: str = "answer") -> Design:
    """The design that a caller asks for; without one, the better of k-ary and unary encoding."""
    if design is not None and not isinstance(design, CoinDesign) and not is_one_of(design, WORDS):
        raise QueryError(
            f"design={quoted(design)} must be one of {', '.join(map(repr, WORDS))}, "
            "dp.local.one_coin(truth=…), dp.local.two_coins(truth=…, yes=…), or left out."
        )
    if keys is None and design in (K_ARY, OUE):
        raise MissingArgument(
            f"design={design!r} needs keys=, the possible answers, such as keys=['a', 'b', 'c']; "
            "they are never read from the data."
        )
    labels = Keys.parse(BINARY if keys is None else keys, [name]).labels
    if len(labels) < 2:
        raise QueryError("keys= must name two or more answers: a single one says nothing.")
    if len(labels) != 2 and (isinstance(design, CoinDesign) or design in (ONE_COIN, TWO_COINS)):
        raise QueryError(
            f"coins are for two keys, not {len(labels)}. Write design='k-ary' or design='OUE'."
        )
    coins = two_coins() if design == TWO_COINS else design
    if isinstance(coins, CoinDesign):
        coins._check_for_draws()
        _agree(coins, epsilon)
        return Coins(labels, coins.truth, coins.yes, coins.name)
    loss = parse_epsilon(epsilon)
    if design is None:
        design = K_ARY if len(labels) < 3 * math.exp(loss) + 2 else OUE
    return UnaryEncoding(labels, loss) if design == OUE else KAry(labels, loss)


def _agree(coins: CoinDesign, epsilon: object) -> None:
    costs = _implied(coins.truth, coins.yes)
    if epsilon is not None and abs(parse_epsilon(epsilon) - costs) > AGREES * costs:
        raise QueryError(
            f"epsilon={quoted(epsilon)} isn't what these coins cost, which is {costs}. "
            "Leave epsilon= out, or write design='one coin', which takes any epsilon."
        )
