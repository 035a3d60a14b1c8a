"""Tests of privacy: of whole pipelines as black boxes, and of sensitivities from inside.

* `audit` runs a release many times on two neighbouring data sets and computes a lower bound on ε,
  with a confidence that assumes nothing about how the release works.
* `neighbours` makes pairs of data sets that differ by one unit, hostile ones among them.
* `check_sensitivity` compares how much one unit changes an operation with what the operation
  declares, exactly.
* `membership` attacks a fitted model: whom has it learnt from?

They find bugs; passing them proves nothing. Use made-up data: docs/auditing.md says why. `audit`
needs scipy (``pip install dppandas[audit]``), which ``import dppandas`` doesn't import.

`dppandas.privacy_loss` tells what a loss means between two neighbours, as a curve.
"""

from .blackbox import audit
from .membership import membership
from .pairs import neighbours
from .sensitivity import check_sensitivity

__all__ = ["audit", "check_sensitivity", "membership", "neighbours"]


def __dir__() -> list[str]:
    return __all__
