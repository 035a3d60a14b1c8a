"""The local model: respondents trust nobody, and randomise their answers themselves.

* `randomized_response` randomises each answer of a plain Series by itself: Warner's coins, k-ary,
  or optimised unary encoding; `collected` takes responses made elsewhere. Estimates of both have
  intervals. docs/local.md tells it from the beginning.
* `losses` lists what respondents have lost by it. That is each respondent's own, and never in a
  session's ledger.
* `simulate_shared_sum` shows what secret sharing would buy: a simulation, which hides nothing.
* `compare` tells the errors that each model has at one ε.
"""

from .comparison import compare
from .designs import one_coin, two_coins
from .lost import losses
from .responses import collected, randomized_response
from .sharing import simulate_shared_sum

__all__ = [
    "collected",
    "compare",
    "losses",
    "one_coin",
    "randomized_response",
    "simulate_shared_sum",
    "two_coins",
]


def __dir__() -> list[str]:
    return __all__
