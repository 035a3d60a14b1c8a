"""The local model: respondents trust nobody, and randomise their answers themselves.

* `randomized_response` randomises each answer of a plain Series by itself: Warner's coins, k-ary,
  or optimised unary encoding; `collected` takes responses that were made elsewhere. Estimates from
  both have intervals. docs/local.md is an introduction.
* `losses` lists the privacy losses of the respondents, which are never in a session's ledger.
* `simulate_shared_sum` shows what secret sharing would gain: a simulation, which hides nothing.
* `compare` compares the errors of the models at one ε, and `respondents` says how many respondents
  an error takes.
"""

from .comparison import compare
from .designs import one_coin, two_coins
from .lost import losses
from .planning import respondents
from .responses import collected, randomized_response
from .sharing import simulate_shared_sum

__all__ = [
    "collected", "compare", "losses", "one_coin", "randomized_response", "respondents",
    "simulate_shared_sum", "two_coins",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
