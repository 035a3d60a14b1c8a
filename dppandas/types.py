"""The classes of everything that dppandas returns, for annotations: ``dp.types.PrivateFrame``.

Only dppandas itself makes them. Models, which users make, are in ``dp.models``.
"""

from __future__ import annotations

from .audit.attacks import MembershipResult
from .audit.blackbox import AuditResult
from .audit.loss_curve import PrivacyLoss
from .audit.sensitivity import SensitivityReport
from .columns.accessors import TextMethods
from .columns.spellings.selection import Locator
from .columns.time_methods import TimeMethods
from .display.tables import AnswerTable
from .findings.answers import DerivedFloat, DerivedFrame, DerivedInt, DerivedSeries
from .frames.frame import PrivateFrame
from .frames.groupby import PrivateGroupBy, UnknownGroups
from .frames.series import PrivateSeries
from .frames.tables import PerUnit
from .ledger.ledger import Ledger
from .ledger.storage.verify import Deviation, Verdict
from .local.designs import CoinDesign, Design
from .local.estimates import EstimatedFloat, EstimatedSeries
from .local.responses import Responses
from .local.sharing import SimulatedSum
from .models.aggregate import BlockAverage
from .models.base import Model, Releases
from .models.least_squares.design import OLSDesign
from .models.least_squares.results import OLSResults, PredictionResults
from .models.least_squares.summary import Summary
from .models.posterior import JointPosterior, Posterior
from .models.propose_test_release import UnreleasedProposal
from .models.scoring import RocCurve
from .models.select import UnreleasedChoice
from .privacy.accounting.losses import Delta, Epsilon, Loss, Rho
from .release.answers.noise import Noise
from .release.answers.record_bundle import RecordBundle
from .release.answers.results import (
    ReleasedDuration,
    ReleasedDurationLabel,
    ReleasedFloat,
    ReleasedInt,
    ReleasedLabel,
    ReleasedLabels,
    ReleasedNumberLabel,
    ReleasedText,
    ReleasedTime,
    ReleasedTimeLabel,
)
from .release.answers.tested_value import TestedValue
from .release.blocks.batch import Batch, PendingRelease
from .release.blocks.bundle import ReleaseBundle
from .release.blocks.preview import Preview
from .release.blocks.split import Split
from .release.combining.refinable import Record
from .release.session import Session
from .release.unreleased import (
    Unreleased,
    UnreleasedExtreme,
    UnreleasedGroups,
    UnreleasedKeys,
    UnreleasedLabel,
    UnreleasedLabels,
    UnreleasedMode,
)
from .stats.binomial import BinomTestResult
from .stats.blockwise import BlockTestResult, UnreleasedBlockTest
from .stats.correlation import PearsonRResult
from .stats.means import TtestResult
from .stats.plans.power import Power
from .stats.results import SignificanceResult
from .stats.tables import Chi2ContingencyResult, FisherExactResult

__all__ = [
    "AnswerTable",
    "AuditResult",
    "Batch",
    "BinomTestResult",
    "BlockAverage",
    "BlockTestResult",
    "Chi2ContingencyResult",
    "CoinDesign",
    "Delta",
    "DerivedFloat",
    "DerivedFrame",
    "DerivedInt",
    "DerivedSeries",
    "Design",
    "Deviation",
    "Epsilon",
    "EstimatedFloat",
    "EstimatedSeries",
    "FisherExactResult",
    "JointPosterior",
    "Ledger",
    "Locator",
    "Loss",
    "MembershipResult",
    "Model",
    "Noise",
    "OLSDesign",
    "OLSResults",
    "PearsonRResult",
    "PendingRelease",
    "PerUnit",
    "Posterior",
    "Power",
    "PredictionResults",
    "Preview",
    "PrivacyLoss",
    "PrivateFrame",
    "PrivateGroupBy",
    "PrivateSeries",
    "Record",
    "RecordBundle",
    "ReleaseBundle",
    "ReleasedDuration",
    "ReleasedDurationLabel",
    "ReleasedFloat",
    "ReleasedInt",
    "ReleasedLabel",
    "ReleasedLabels",
    "ReleasedNumberLabel",
    "ReleasedText",
    "ReleasedTime",
    "ReleasedTimeLabel",
    "Releases",
    "Responses",
    "Rho",
    "RocCurve",
    "SensitivityReport",
    "Session",
    "SignificanceResult",
    "SimulatedSum",
    "Split",
    "Summary",
    "TestedValue",
    "TextMethods",
    "TimeMethods",
    "TtestResult",
    "UnknownGroups",
    "Unreleased",
    "UnreleasedBlockTest",
    "UnreleasedChoice",
    "UnreleasedExtreme",
    "UnreleasedGroups",
    "UnreleasedKeys",
    "UnreleasedLabel",
    "UnreleasedLabels",
    "UnreleasedMode",
    "UnreleasedProposal",
    "Verdict",
]


def __dir__() -> list[str]:
    return __all__
