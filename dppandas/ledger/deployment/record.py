"""A deployment in the terms of public registries: what a ledger knows of it, and what it doesn't.

The fields of ``deployment`` are those of the OpenDP Deployments Registry
(github.com/opendp/deployments-registry-data), so that the block can be handed in there. ``ledger``
has the exact figures. What only the publisher can say is null, with a comment that asks for it.
Public facts only, as in the ledger itself; no query, no answer and no path is among them.
"""

from __future__ import annotations

import math
import platform
import textwrap
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...privacy.accounting.losses import NO_EPSILON, Loss
from ...privacy.accounting.measures import Measure
from ..statement import Statement, budget, exact, moment, version
from ..storage.store import MISSING, lost_log
from .yaml_text import Noted, as_yaml

#: The version of the keys; counted up when one is renamed, removed or means something new.
FORM = 1

_VARIANTS = {
    Measure.PURE: "Pure DP",
    Measure.APPROXIMATE: "Approximate DP",
    Measure.ZCDP: "Zero-concentrated DP",
}
_COMPOSITION = {
    Measure.PURE: "Basic composition: the ε of all releases add up.",
    Measure.APPROXIMATE: "Basic composition: the ε and the δ of all releases add up.",
    Measure.ZCDP: "Composition of zero-concentrated differential privacy: the ρ of all releases "
    "add up, and so do the δ of those that have one.",
}
#: Part of the mechanism's name where nothing is proven about floats.
_EXPERIMENTAL = "(experimental)"


class PublisherFacts(NamedTuple):
    """What only the publisher can say; None stays null in the file."""

    name: str | None = None
    curator: str | None = None
    purpose: str | None = None
    description: str | None = None
    justification: str | None = None


def deployment_yaml(said: Statement, facts: PublisherFacts) -> str:
    """The whole record as YAML."""
    comment = (
        f"A deployment of differential privacy, written by dppandas {version()} from a ledger.\n"
        "What the ledger can't know is null: write it here, or give it to Ledger.export.\n"
        '"deployment" has the fields of the OpenDP Deployments Registry, and "ledger" the exact '
        "figures."
    )
    whole = {
        "form": FORM,
        "deployment": deployment(said, facts),
        "safeguards": safeguards(said),
        "ledger": _ledger(said),
    }
    return as_yaml(whole, comment)


def deployment(said: Statement, facts: PublisherFacts) -> dict[str, Any]:
    """What a registry asks for, section by section."""
    return {
        "basic": _basic(facts),
        "dp_variant": {
            "variant_name": _VARIANTS[said.terms.measure],
            "data_domain": _wrapped(
                "Tables of one schema: the names of columns and the kinds of their values are "
                "public."
            ),
            "unprotected_quantities": Noted(
                None, "what else was published about these data, without noise"
            ),
        },
        "privacy_loss": _privacy_loss(said),
        "deployment_model": _model(said),
        "accounting": {
            "post_processing": Noted(None, "what became of the answers before they were published"),
            "composition": _composition(said),
        },
        "implementation": {
            "preprocessing_and_hyperparameter_tuning": Noted(
                None, "what was done to the data before, and how bounds, keys and losses were set"
            ),
            "mechanisms": _mechanisms(said),
            "justification": Noted(facts.justification, "why these mechanisms and this loss"),
        },
        "administrative": {
            "sources": Noted(None, "where the answers and their documentation are published"),
            "registry_authors": Noted(None, "who vouches for this record: a list of names"),
        },
    }


def _basic(facts: PublisherFacts) -> dict[str, Any]:
    curator = {
        "data_curator_name": Noted(facts.curator, "who holds the data"),
        "data_curator_type": Noted(None, "such as Government or Nonprofit"),
    }
    return {
        "name": Noted(facts.name, "what the published answers are called"),
        "data_curators": [curator],
        "intended_use": Noted(facts.purpose, "the purpose: what the answers are for"),
        "data_product_type": Noted(None, "such as Summary statistics or Synthetic data"),
        "data_product_region": Noted(None, "such as Global"),
        "description": Noted(facts.description, "what was published"),
        "publication_date": Noted(None, "as '2025-12-31'"),
        "data_product_sector": Noted(None, "such as Healthcare"),
    }


# --- the promise ----------------------------------------------------------------------------------


def _privacy_loss(said: Statement) -> dict[str, Any]:
    units = list(dict.fromkeys(unit for source in said.sources for unit in source.units))
    asserted = sum(not entry.lineage.startswith("verified") for entry in said.entries)
    details = (
        "Neighbours are two tables that differ by adding or removing one unit: all rows that "
        "belong to it. Of a unit with more rows than it may have, the others were left out before "
        "anything was computed."
    )
    if asserted:
        details += (
            f" {asserted} of {len(said.entries)} releases have asserted lineage: the analyst "
            "vouches that no unit had changed the rows of others before the question."
        )
    if said.caller_scored:
        details += (
            f" In {said.caller_scored} of {len(said.entries)} releases the analyst vouches for how "
            "much one unit changes a score: dppandas computed with the sensitivity as stated."
        )
    return {
        "privacy_unit": Noted(
            "; ".join(units) or None, "whom that stands for, such as Person-level, only you know"
        ),
        "privacy_unit_details": _wrapped(details),
        "privacy_parameters": _parameters(said),
        "privacy_parameters_details": _parameters_in_words(said),
    }


def _parameters(said: Statement) -> dict[str, float | str]:
    """What is promised, as numbers. None of them looks stronger than it is."""
    terms, limit = said.terms, said.terms.limit
    if limit is None:
        return {name: _up(getattr(said.spent, name)) for name in said.counted}
    promised: dict[str, Fraction] = {"epsilon": terms.epsilon or NO_EPSILON}
    if terms.measure is not Measure.PURE:
        promised["delta"] = terms.all_delta
    if terms.measure is Measure.ZCDP:
        promised["rho"] = limit.rho
    return {name: _up(value) for name, value in promised.items()}


def _up(value: Fraction) -> float | str:
    """The least float that prints no less than an exact number; its text where no float does."""
    try:
        near = float(value)
    except OverflowError:
        return str(value)
    return near if Fraction(repr(near)) >= value else math.nextafter(near, math.inf)


def _parameters_in_words(said: Statement) -> str:
    if said.terms.limit is None:
        return _wrapped(
            "No budget was fixed beforehand. These are the losses of all releases so far, and "
            f"nothing kept them from growing.{_missing(said)}"
        )
    words = "The budget of the session, which all releases together keep."
    if said.terms.measure is Measure.ZCDP:
        words += (
            " ε is what ρ means at this δ, for the whole budget; no ε is given for what is spent "
            "so far, which the answers may have decided."
        )
        if said.terms.limit.delta:
            words += (
                " The δ covers this and the releases that have one of their own: the promise is "
                "approximate zero-concentrated differential privacy."
            )
    words += f"{_missing(said)} Exact figures, and what is spent, are below in ledger."
    return _wrapped(words)


def _missing(said: Statement) -> str:
    """That charges may be missing, where that was accepted."""
    accepted = said.caveats.accepted
    return f" But {MISSING}: {lost_log(accepted[-1])}." if accepted else ""


def _composition(said: Statement) -> str:
    words = [
        _COMPOSITION[said.terms.measure],
        "The analyst may choose each question by the answers before it (privacy filters).",
        "The losses of all sources add up.",
    ]
    if any(entry.path for entry in said.entries):
        words.append(
            "Releases from different parts of a partition use different rows: of these only the "
            "costliest count that one unit can have rows in."
        )
    if any(entry.mechanism.endswith(", in a batch") for entry in said.entries):
        words.append(
            "Releases in a batch were fixed beforehand, and their joint privacy loss was computed "
            "numerically."
        )
    return _wrapped(" ".join(words))


def _model(said: Statement) -> dict[str, Any]:
    count = len(said.entries)
    kind = None if not count else "One release" if count == 1 else "Many releases"
    return {
        "model_name": "Central",
        "model_name_details": _wrapped(
            "A curator holds the rows, and dppandas computes and adds noise in the curator's own "
            "process, or on the curator's cluster."
        ),
        "actors": _wrapped(
            "The analyst holds the data and is trusted to state true public facts and to publish "
            "nothing exact. Whoever sees answers or the ledger is not trusted: all of them may "
            "work together, and use whatever else they know."
        ),
        "release_type": Noted(kind, f"{count} in this ledger"),
        "data_source_type": Noted(None, "Static or Dynamic"),
        "access_type": Noted(None, "Interactive or Non-interactive: who chose the questions"),
    }


# --- mechanisms and safeguards --------------------------------------------------------------------


def _mechanisms(said: Statement) -> str:
    used = Counter(entry.mechanism_in_words for entry in said.entries)
    lines = [f"- {name}: {_counted(number)}." for name, number in used.items()]
    lines += [f"- {name.replace('_', ' ')}: {text}" for name, text in safeguards(said).items()]
    return "\n".join(_wrapped(line, "  ") for line in lines)


def _counted(number: int) -> str:
    return "1 release" if number == 1 else f"{number} releases"


def safeguards(said: Statement) -> dict[str, str]:
    """What dppandas does about attacks on an implementation, and what it doesn't."""
    floats = (
        "No float stands between rows and noise. Values are rounded to integers on a public grid, "
        "noise is drawn exactly from discrete distributions, and each number released is computed "
        "from noisy integers and public facts."
    )
    if any(_EXPERIMENTAL in entry.mechanism for entry in said.entries):
        floats += (
            " Mechanisms marked as experimental are the exception: they compute in floats, about "
            "which nothing is proven."
        )
    if said.caller_scored:
        floats += (
            " Scores of the analyst's own function are the exception: they are whole numbers, but "
            "nothing is known about how it computes them."
        )
    return {
        "floating_point": _wrapped(floats),
        "timing": _wrapped(
            "Timing is not hidden. Reading takes longer for more rows, and some noise takes longer "
            "to draw if it is large."
        ),
        "randomness": _wrapped("Noise comes from the operating system, and can't be seeded."),
        "accounting": _wrapped(
            "Losses are exact fractions. A charge is committed before rows are read, and is never "
            "taken back."
        ),
    }


# --- the figures ----------------------------------------------------------------------------------


def _ledger(said: Statement) -> dict[str, Any]:
    terms, counted = said.terms, said.counted
    here = "of what wrote this file; releases may be older"
    return {
        "file": Noted(said.file or None, "null for a ledger in memory"),
        "head": Noted(said.head or None, "for: dppandas verify FILE --head HEAD"),
        "versions": Noted(
            {
                "dppandas": version(),
                "python": platform.python_version(),
                "pandas": pd.__version__,
                "numpy": np.__version__,
            },
            here,
        ),
        "measure": terms.measure.value,
        "neighbours": "add or remove one unit",
        "budget": budget(terms),
        "spent": exact(said.spent, counted),
        "left": None if said.left is None else exact(said.left, counted),
        "may_lack_charges": bool(said.caveats.accepted),
        "is_exhausted": None if said.left is None else _is_exhausted(said, said.left),
        "sources": [
            {
                "name": source.name,
                "units": list(source.units),
                "versions": list(filter(None, source.versions)),
                "lineages": list(source.lineages),
                "releases": source.releases,
                "spent": exact(source.spent, counted),
            }
            for source in said.sources
        ],
        "releases": _releases(said),
    }


def _is_exhausted(said: Statement, left: Loss) -> bool:
    """Whether nothing is left of the main quantity."""
    return not said.terms.measure.first(left)


def _releases(said: Statement) -> dict[str, Any]:
    outcomes = Counter(entry.status for entry in said.entries)
    days = [moment(entry.time).date().isoformat() for entry in said.entries]
    return {
        "charged": len(said.entries),
        "answered": outcomes["released"],
        "failed": Noted(outcomes["failed"], "charged, and ended without an answer"),
        "without_outcome": Noted(outcomes["charged"], "charged, and no answer is known"),
        "in_audits": Noted(outcomes["recorded"], "charged, and used in an audit only"),
        "replayed": Noted(said.replays, "answers given again by this process, for free"),
        "refused": Noted(None, "a refusal leaves no trace in the ledger"),
        "first_day": Noted(min(days, default=None), "in UTC"),
        "last_day": max(days, default=None),
        "by_mechanism": _by_mechanism(said),
    }


def _by_mechanism(said: Statement) -> list[Mapping[str, Any]]:
    """How many releases each mechanism made at each loss, in order of first use."""
    used = Counter((entry.mechanism_in_words, entry.loss) for entry in said.entries)
    return [
        {"mechanism": name, "loss": exact(loss, said.counted), "releases": number}
        for (name, loss), number in used.items()
    ]


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(text, 88, subsequent_indent=indent, break_on_hyphens=False)
