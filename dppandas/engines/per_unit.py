"""Tables with one row for each unit, or for each of its groups, made of that unit's rows alone."""

from __future__ import annotations

from typing import Any

from ..rows.expressions import AGGREGATES, histories, samples
from ..rows.facts.units import Unit
from ..rows.values import hashing
from .base import Need, UnitTable
from .blocks import Block
from .readers import ComputedColumns
from .unit_groups import UnitGroups


def needed(engine: Any, table: UnitTable) -> Need:
    """What is read to make a table; values are chosen by hashes of whole rows."""
    asked = [expression for expression, _ in table.asked.values() if expression is not None]
    each = [*table.rows.expressions(), *asked]
    read = {table.rows.unit}.union(*(e.columns() for e in each))
    chooses = any(AGGREGATES[how].chooses for _, how in table.asked.values())
    follows = bool(histories(*each))
    hashes = chooses or follows or bool(table.rows.order)
    if hashes:
        read.update(engine.columns)
    keyed = hashes or any(map(samples, each))
    return Need(frozenset(read), whole_units=True, keyed=keyed, histories=follows)


def key_after(table: UnitTable, key: bytes) -> bytes:
    """The key of a table per unit: a sample of a sample chooses again."""
    times = samples(table.rows.where)
    return bytes.fromhex(hashing.digest(f"{times} samples", key)) if times else key


def unit_after(table: UnitTable) -> Unit:
    """Whose rows the table has, and how many count."""
    return Unit(table.rows.unit, table.max_rows)


def per_unit(block: Block, table: UnitTable) -> ComputedColumns:
    """The labels and the aggregates of each group that has a row."""
    groups = UnitGroups(block, table.rows)
    found = dict(zip([table.rows.unit, *table.by], groups.labels(), strict=True))
    for name, (expression, how) in table.asked.items():
        found[name] = groups.aggregate(how, expression).take(groups.present)
    return ComputedColumns(found, len(groups.present))
