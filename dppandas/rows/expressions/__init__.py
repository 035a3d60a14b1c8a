"""The closed vocabulary of row-wise expressions.

A tree of frozen nodes over the columns of a source. Each is evaluated elementwise on one chunk by
`vectors`, never by pandas' eval, and its value in a row depends on that row alone: so filters and
columns built from it keep the stability of the rows they start from. This vocabulary is an
allow-list: what has no node can't be said. Nothing here raises on data.
"""

from .arithmetic import (
    ARITHMETIC,
    FUNCTIONS,
    PAIRS,
    Arithmetic,
    Clip,
    Cut,
    Function,
    Negative,
    OfTwo,
    Outside,
)  # fmt: skip
from .assumptions import Assumption, assumptions, note, refusal, undeclared_column
from .base import ByBranch, Chunk, Column, Domain, Expression, Literal, Truth, by_branch, spanned
from .checks import Facts, agree, check, family, holds_truths, need, times_once
from .conditionals import Cast, Declared, Mapped, Where, plain_or_missing
from .elapsed import KINDS, ClipSpan, Measured
from .formats import TimeText
from .histories import AGGREGATES, ROW_BY_ROW, WAYS, Gives, History, OwnRows, Way, histories
from .linear import Across, Dot, Extreme
from .logic import (
    EVERY,
    And,
    Compare,
    Every,
    IsIn,
    IsMissing,
    Not,
    Or,
    Sampled,
    both,
    negated,
    samples,
)
from .periods import Calendar, InPeriod, Period
from .table_lookups import Element, HasElement, InPart, InTable, Lookup, Place, places
from .text import Joined, TextMap, TextTest, joined
from .times import DAY, ISO, InZone, Localized, TimePart

__all__ = [
    "AGGREGATES", "ARITHMETIC", "DAY", "EVERY", "FUNCTIONS", "ISO", "KINDS", "PAIRS",
    "ROW_BY_ROW", "WAYS", "Across", "And", "Arithmetic", "Assumption", "ByBranch", "Calendar",
    "Cast", "Chunk", "Clip", "ClipSpan", "Column", "Compare", "Cut", "Declared", "Domain",
    "Dot", "Element", "Every", "Expression", "Extreme", "Facts", "Function", "Gives",
    "HasElement", "History", "InPart", "InPeriod", "InTable", "InZone", "IsIn", "IsMissing",
    "Joined", "Literal", "Localized", "Lookup", "Mapped", "Measured", "Negative", "Not",
    "OfTwo", "Or", "Outside", "OwnRows", "Period", "Place", "Sampled", "TextMap", "TextTest",
    "TimePart", "TimeText", "Truth", "Way", "Where", "agree", "assumptions", "both",
    "by_branch", "check", "family", "histories", "holds_truths", "joined", "need", "negated",
    "note", "places", "plain_or_missing", "refusal", "samples", "spanned", "times_once",
    "undeclared_column",
]  # fmt: skip
