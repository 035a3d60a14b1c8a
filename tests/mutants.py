"""Mutants: each takes one defence away, and a named test has to notice.

``make mutants`` runs them all; ``python tests/mutants.py 3 14`` those of some must-pass cases. A
test of the suite (test_mutants.py) sees to it that the patterns and the tests below still exist.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent

#: The must-pass cases that the mutants belong to.
CASES = {
    1: "neighbours: integers within the sensitivity, everything else the same",
    2: "any order, any chunks: the same integers",
    3: "outputs lie on the public grid",
    4: "values are clipped, sums don't wrap",
    5: "the laws of samplers and selections are exact",
    6: "sensitivities derived by hand",
    7: "sizes and observed keys are never public",
    8: "exact losses",
    9: "a refusal reads nothing and costs nothing",
    10: "the charge precedes the draw",
    11: "threads never exceed the limit",
    12: "no seed, fork or copy repeats noise, or grants a budget twice",
    13: "lineage: other sources, the unit column, overlaps, stale bounds",
    14: "nothing shows a value of the data",
    15: "no road into data from query strings",
    16: "parts pay for what their units can reach",
    17: "a cell means what it means alone",
    20: "facts grow, none contradicts another, and what was asked keeps its key",
    21: "whoever names a unit says how many of its rows are used",
    22: "after a refused session nothing is released",
    23: "no name becomes a formula in a table that is exported",
}


@dataclass(frozen=True)
class Mutant:
    """In a file of dppandas, one text in the place of another; and the test that must fail."""

    case: int
    name: str
    file: str
    old: str
    new: str
    test: str


MUTANTS = [
    Mutant(1, "branches don't multiply", "query.py", "max_rows * self.branches", "max_rows",
           "test_neighbours.py::test_every_operation_keeps_its_sensitivity_on_two_thousand"),
    Mutant(1, "max_rows doesn't multiply", "query.py",
           "self.source.unit.max_rows * self", "1 * self",
           "test_neighbours.py::test_every_operation_keeps_its_sensitivity_on_two_thousand"),
    Mutant(1, "a unit counted once in all", "statistics/units.py",
           "return min(rows, len(self.cells))", "return 1",
           "test_neighbours.py::test_one_unit_moves_the_integers_by_no_more_than_the_sens"),
    Mutant(1, "units of branches counted apart", "statistics/units.py",
           "found = np.unique(np.concatenate(pairs))", "found = np.concatenate(pairs)",
           "test_neighbours.py::test_one_unit_moves_the_integers_by_no_more_than_the_sens"),
    Mutant(1, "truncated counts all rows", "statistics/units.py",
           "0, self.counted))", "0, 10**6))",
           "test_neighbours.py::test_one_unit_moves_the_integers_by_no_more_than_the_sens"),
    Mutant(1, "numbers that are chosen are rounded by their company", "vectors.py",
           "whole.min() >= -(2**53) and whole.max() <= 2**53", "whole.min() >= -(2**63)",
           "test_neighbours.py::test_numbers_that_are_chosen_mean_the_same_in_every_column"),
    Mutant(17, "mixed columns go by pandas' table", "values/reading.py",
           "if kinds and kinds <= wanted:", "if kinds:",
           "test_values.py::test_a_cell_means_the_same_in_every_column"),
    Mutant(17, "texts that pandas merges go by its table", "values/reading.py",
           "    if is_plain(texts):", "    if True:",
           "test_values.py::test_a_cell_means_the_same_in_every_column"),
    Mutant(17, "large whole numbers beside reals are rounded", "values/reading.py",
           "not -(2**53) <= x <= 2**53", "not -(2**63) <= x <= 2**63",
           "test_values.py::test_a_cell_means_the_same_in_every_column"),
    Mutant(17, "Decimals are floats", "values/cells.py",
           "    return number(-exact if sign else exact)",
           "    return number(float(-exact if sign else exact))",
           "test_values.py::test_the_table_of_meanings"),
    Mutant(17, "decimals of any size are computed", "values/cells.py",
           "if size > MOST_BITS + 1 or abs(exponent) > MOST_BITS + 1:", "if size > 10**9:",
           "test_values.py::test_beyond_the_limits_a_cell_is_missing"),
    Mutant(17, "lists of any depth", "values/cells.py",
           "if room.elements < 0 or room.depth < 0:", "if room.elements < 0:",
           "test_values.py::test_beyond_the_limits_a_cell_is_missing"),
    Mutant(17, "True is 1 in lists, too", "values/equality.py",
           'return cell if cell[0] in ("truth", "missing") else key(cell)',
           'return cell if cell[0] == "missing" else key(cell)',
           "test_values.py::test_equality_and_identity"),
    Mutant(17, "True and 1 have one row hash", "hashing.py",
           "    if equal:\n        return _numbers(values.astype(np.int64))",
           "    if True:\n        return _numbers(values.astype(np.int64))",
           "test_values.py::test_what_a_verb_tells_apart_has_another_fingerprint"),
    Mutant(17, "zones have one row hash", "hashing.py",
           'return b"zoned" if equal else f"zoned {zone}".encode()', 'return b"zoned"',
           "test_values.py::test_what_a_verb_tells_apart_has_another_fingerprint"),
    Mutant(17, "a text is read by the clock", "values/equality.py",
           "    return bool(one == other)\n", "    return True\n",
           "test_values.py::test_public_texts_read_as_times_only_if_they_say_a_day"),
    Mutant(17, "a subclass says what it is", "values/cells.py",
           '("text", str.__str__(cell))', '("text", str(cell))',
           "test_values.py::test_a_subclass_is_read_by_its_base"),
    Mutant(2, "the first rows are kept", "engines/contents.py",
           "np.lexsort((row_hashes(columns, key), units))", 'np.argsort(units, kind="stable")',
           "test_laws.py::test_order_and_blocks_never_change_the_integers"),
    Mutant(2, "sums per unit in the order of rows", "engines/aggregates.py",
           "np.lexsort((numbers, units))", 'np.argsort(units, kind="stable")',
           "test_neighbours.py::test_order_and_blocks_never_change_what_units_are_asked"),
    Mutant(2, "units cut by chunks", "engines/pandas.py",
           "edges = _between_units(edges, table.codes)", "pass",
           "test_neighbours.py::test_order_and_blocks_never_change_what_units_are_asked"),
    Mutant(3, "means off the grid", "statistics/moments.py",
           "return Grid.anchored(bounds).number(Fraction(bounds.lower) + width * share)",
           "return float(Fraction(bounds.lower) + width * share)",
           "test_laws.py::test_every_released_float_lies_on_a_public_power_of_two_grid"),
    Mutant(3, "shares off the grid", "statistics/counts.py",
           "return float(round(share / SHARE_STEP) * SHARE_STEP)", "return float(share)",
           "test_laws.py::test_every_released_float_lies_on_a_public_power_of_two_grid"),
    Mutant(4, "values not clipped", "domain.py",
           "        np.clip(out, self.low, self.high, out=out)\n", "",
           "test_neighbours.py::test_one_unit_moves_the_integers_by_no_more_than_the_sens"),
    Mutant(4, "totals not folded", "totals.py",
           "ROWS_PER_FOLD = 2**22", "ROWS_PER_FOLD = 2**99",
           "test_laws.py::test_ten_thousand_million_rows_of_the_largest_value_do_not_wrap"),
    Mutant(5, "zero drawn twice as often", "sampling.py",
           "        if negative and magnitude == 0:", "        if False:",
           "test_sampling.py"),
    Mutant(5, "half the scale", "mechanisms.py",
           "return cls(Fraction(sensitivity) / epsilon)",
           "return cls(Fraction(sensitivity) / epsilon / 2)", "test_mechanisms.py"),
    Mutant(5, "selections at twice the rate", "mechanisms.py",
           "    ) -> PermuteAndFlip:\n        if sens",
           "    ) -> PermuteAndFlip:\n        epsilon *= 2\n        if sens",
           "test_mechanisms.py"),
    Mutant(5, "quantiles at twice the rate", "selection.py",
           "/ (2 * node.moved)", "/ node.moved",
           "test_quantiles.py::test_no_neighbour_tells_more_than_epsilon"),
    Mutant(5, "missing answers told apart", "local/designs.py",
           "np.where(honest & (truth < k), truth, chance)",
           "np.where(truth < k, np.where(honest, truth, chance), 0)",
           "test_local.py::test_each_response_has_the_law_of_its_design"),
    Mutant(5, "a uniform key of all words", "sampling.py",
           "again = again[words[again] >= first]",
           "break",
           "test_local.py::test_a_uniform_number_is_exact"),
    Mutant(6, "extremes aimed outside of their part", "selection.py",
           "within = min(abs(offset), mass // 2)", "within = abs(offset)",
           "test_quantiles.py::test_runs_hold_each_slot_once_with_its_capped_loss"),
    Mutant(6, "the reach of a sum is its upper bound", "domain.py",
           "return max(abs(self.low), abs(self.high))", "return abs(self.high)",
           "test_neighbours.py::test_the_sensitivity_of_a_sum_is_the_larger_bound"),
    Mutant(6, "negative bounds called monotone", "statistics/moments.py",
           "return all(grid.low >= 0 for grid in self.grids)", "return True",
           "test_neighbours.py::test_the_sensitivity_of_a_sum_is_the_larger_bound"),
    Mutant(6, "one column's share for all", "statistics/counts.py",
           "        return len(self.tests) if self.at_most is None else",
           "        return 1 if self.at_most is None else",
           "test_neighbours.py::test_sensitivities_add_up_over_columns_and_not_over_cells"),
    Mutant(7, "a mean over the exact number of rows", "release.py",
           "    return mechanism.release(exact)",
           "    return [*mechanism.release(exact)[:-1], exact[-1]]",
           "test_laws.py::test_sizes_and_observed_keys_never_show"),
    Mutant(7, "a scale that follows the size", "release.py",
           "    mechanism = query.mechanism()\n",
           "    rows = len(getattr(engine, 'frame', ())) + 2\n"
           "    asked = replace(query.asked, epsilon=query.asked.epsilon / rows)\n"
           "    mechanism = replace(query, asked=asked).mechanism()\n",
           "test_laws.py::test_sizes_and_observed_keys_never_show"),
    Mutant(8, "losses as floats", "budget.py",
           "            return Epsilon(str(value))", "            return Epsilon(float(value))",
           "test_laws.py::test_three_times_a_tenth_fits_in_three_tenths"),
    Mutant(8, "the cheaper of a coin's two responses", "local/designs.py",
           "for said in (yes, 1 - yes))", "for said in (yes,))",
           "test_local.py::test_the_largest_ratio_of_two_answers_is_exactly_epsilon"),
    Mutant(9, "refused after the charge", "release.py",
           "    running.admit(query.source, row_level_declared)\n", "",
           "test_laws.py::test_a_refusal_touches_neither_ledger_nor_data"),
    Mutant(10, "data read before the charge", "release.py",
           "    expected = results.expected_error",
           "    _answered(query, mechanism, engine)\n    expected = results.expected_error",
           "test_laws.py::test_the_charge_is_committed_when_rows_are_first_read"),
    Mutant(11, "no lock", "store.py",
           "with self._lock: return self._added(drafts, check)",
           "return self._added(drafts, check)",
           "test_laws.py::test_nobody_writes_between_a_check_and_its_charge"),
    Mutant(12, "any process may release", "store.py", "        self._same_process()\n", "",
           "test_laws.py::test_a_forked_process_is_refused"),
    Mutant(13, "a lost token admitted", "session.py", "        if owned:\n", "        if False:\n",
           "test_laws.py::test_a_refusal_touches_neither_ledger_nor_data"),
    Mutant(13, "what pandas made of a source is verified", "accessor.py",
           "is_new = token is None or (before is not None and before.fingerprint == facts)",
           "is_new = True",
           "test_sessions.py::TestProtect::test_what_pandas_made_of_a_source_is_asserted"),
    Mutant(13, "a source that others can change", "accessor.py",
           "own = df.copy(deep=True)", "own = df.copy(deep=False)",
           "test_sessions.py::TestProtect::test_no_road_leads_back_into_a_protected_source"),
    Mutant(14, "the cause of a failed read is chained", "release.py",
           "    except BaseException:\n        return", "    except MemoryError:\n        return",
           "test_laws.py::test_a_failing_read_stays_charged_and_quotes_no_data"),
    Mutant(14, "pickling allowed", "unreleased.py",
           "    def __reduce__(self) -> NoReturn:\n", "    def _reduce(self) -> NoReturn:\n",
           "test_laws.py::test_private_objects_refuse_pickling_and_copying"),
    Mutant(14, "plain values keep their class", "domain.py",
           "    value = plain(value)\n    kind = type(value)\n    if kind in _KNOWN:\n",
           "    value = plain(value)\n    kind = type(value)\n    if True:\n",
           "test_leaks.py::test_a_plain_value_is_never_shown_what_it_is_compared_with"),
    Mutant(15, "what is not understood is evaluated", "querystring.py",
           "            what = _WHAT.get(type(node), \"refused\")\n",
           "            return Literal(eval(ast.unparse(node)))\n            what = ''\n",
           "test_leaks.py::test_a_hostile_query_is_refused_at_both_doors"),
    Mutant(15, "functions are called", "querystring.py",
           '            raise UnsupportedExpression(f"{_text(node)} calls a function. {_SAYS}")\n',
           "            return Literal(eval(ast.unparse(node)))\n",
           "test_leaks.py::test_a_hostile_query_is_refused_at_both_doors"),
    Mutant(15, "@variables of any type", "querystring.py",
           "    return literal(value, f\"@{name}\")\n", "    return Literal(value)\n",
           "test_leaks.py::test_a_hostile_query_is_refused_at_both_doors"),
    Mutant(16, "the dearest part alone", "spending.py", "whole[:rows]", "whole[:1]",
           "test_parallel.py::test_a_unit_pays_the_most_that_its_rows_can_reach"),
    Mutant(16, "a row becomes one", "spending.py", "-(-rows // before) if before", "1 if before",
           "test_parallel.py::test_a_unit_pays_the_most_that_its_rows_can_reach"),
    Mutant(16, "only parts are charged", "spending.py", "[own] if own else []", "[]",
           "test_parallel.py::test_a_unit_pays_the_most_that_its_rows_can_reach"),
    Mutant(16, "one row a unit in each partition", "partitions.py",
           "root.source.unit.max_rows * root.branches", "1",
           "test_parallel.py::test_no_unit_moves_more_than_the_ledger_says"),
    Mutant(16, "branches don't multiply parts", "partitions.py",
           "root.source.unit.max_rows * root.branches", "root.source.unit.max_rows",
           "test_parallel.py::test_no_unit_moves_more_than_the_ledger_says"),
    Mutant(16, "other branches, the same partition", "partitions.py", "root.grown, by", "by",
           "test_parallel.py::test_other_partitions_add_up"),
    Mutant(16, "other keys, the same partition", "partitions.py", "by, keys.labels)", "by)",
           "test_parallel.py::test_other_partitions_add_up"),
    Mutant(16, "other versions, the same partition", "partitions.py",
           "canonical.key(source.version, ", "canonical.key(",
           "test_parallel.py::test_another_version_is_another_partition"),
    Mutant(16, "a part is the rows equal to its key", "rows/tables.py",
           "np.asarray(places(self.by, self.keys, chunk) == self.position)",
           "vectors.as_numbers(self.by[0].vector(chunk)) == float(self.keys.labels[self.position])",
           "test_parallel.py::test_no_row_lies_in_two_parts"),
    Mutant(16, "a row for each unit stays in its part", "tables.py",
           "branches=1, grown=(), path=()", "branches=1, grown=()",
           "test_parallel.py::test_no_unit_moves_more_than_the_ledger_says"),
    Mutant(16, "concat is charged to its first frame", "tables.py",
           "tuple(part for part, *_ in shared)", "paths[0]",
           "test_parallel.py::test_no_unit_moves_more_than_the_ledger_says"),
    Mutant(16, "asserted frames can be parted", "partitions.py",
           "if not root.source.verified:", "if False:",
           "test_parallel.py::test_what_can_not_part_rows_is_refused"),
    Mutant(16, "the spending of a file is never read anew", "durable.py",
           "if known is None or known[0] != last:", "if known is None:",
           "test_parallel.py::test_kernels_that_share_a_file_see_each_others_parts"),
    Mutant(16, "nothing is charged to parts", "ledger.py",
           "((draft.source, draft.path), draft.loss)", "((draft.source, ()), draft.loss)",
           "test_parallel.py::test_parts_asked_at_once_are_refused_together"),
    Mutant(20, "a contradiction is taken", "facts.py",
           "            if repr(before) != repr(fact):", "            if False:",
           "test_facts.py::test_a_contradiction_is_found_in_any_order"),
    Mutant(20, "half of a refused declaration stays", "facts.py",
           "known = self.known\n", "known = self._known\n",
           "test_facts.py::test_a_refused_declaration_leaves_no_fact_behind"),
    Mutant(20, "a contradiction quotes labels", "facts.py",
           "    if isinstance(fact, Keys):\n", "    if False:\n",
           "test_facts.py::test_a_contradiction_quotes_no_label"),
    Mutant(20, "a source keeps the facts of its first frame", "accessor.py",
           "known if known.domain == declared else replace(known, domain={})", "known",
           "test_facts.py::test_protect_gives_a_frame_with_just_the_facts_said"),
    Mutant(20, "previews declare", "unreleased.py",
           "if previews.running() is None:  # there", "if True:  # there",
           "test_facts.py::test_a_preview_declares_nothing"),
    Mutant(20, "derived columns are declared as columns", "frame.py",
           "            if not isinstance(column, Column):\n",
           "            column = column if isinstance(column, Column) else Column(name)\n"
           "            if False:\n",
           "test_facts.py::test_what_is_no_fact_of_a_column_is_refused"),
    Mutant(21, "one row of each unit unasked", "domain.py",
           "        if rows is None:\n", "        rows = rows or 1\n        if rows is None:\n",
           "test_sessions.py::TestProtect::test_whoever_has_several_rows_says_how_many_are_used"),
    Mutant(22, "a refused session is forgotten", "session.py",
           "    if slot.refused:\n", "    if False:\n",
           "test_sessions.py::TestRefusedSessions::test_nothing_is_released_after_one"),
    Mutant(22, "looking opens a session", "session.py",
           "            return opens(*args, **kwargs)\n        slot",
           "            _slot.get().refused = \"\"\n        slot",
           "test_sessions.py::TestRefusedSessions::test_nothing_is_released_after_one"),
    Mutant(22, "only what was understood is refused", "session.py",
           "except BaseException as error:\n            slot",
           "except SessionError as error:\n            slot",
           "test_sessions.py::TestRefusedSessions::test_nothing_is_released_after_one"),
    Mutant(23, "formulas are exported", "statement.py",
           "_FORMULA.match(text) and not _NUMBER.fullmatch(text)", "False",
           "test_statement.py::test_no_cell_of_a_table_for_spreadsheets_is_a_formula"),
    Mutant(23, "negative numbers become text", "statement.py",
           " and not _NUMBER.fullmatch(text)", "",
           "test_statement.py::test_no_cell_of_a_table_for_spreadsheets_is_a_formula"),
]  # fmt: skip


def survives(mutant: Mutant) -> str:
    """What pytest said if it did not notice; "" where it did."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        for part in ("dppandas", "tests", "docs"):
            shutil.copytree(ROOT / part, here / part)
        for part in ("pyproject.toml", "README.md", "CHANGELOG.md"):
            shutil.copy(ROOT / part, here)
        file = here / "dppandas" / mutant.file
        file.write_text(file.read_text("utf-8").replace(mutant.old, mutant.new), "utf-8")
        path, _, name = mutant.test.partition("::")
        command = [sys.executable, "-m", "pytest", "-q", "-x", "--tb=no", "-p", "no:cacheprovider"]
        command += [f"tests/{path}", *(["-k", name.split("::")[-1]] if name else [])]
        env = {**os.environ, "PYTHONPATH": str(here), "PYTHONDONTWRITEBYTECODE": "1"}
        ran = subprocess.run(command, cwd=here, env=env, capture_output=True, text=True)
    return "" if ran.returncode == 1 else ran.stdout[-500:] + ran.stderr[-500:]


def main(cases: list[str]) -> int:
    chosen = [m for m in MUTANTS if not cases or str(m.case) in cases]
    alive = 0
    with ThreadPoolExecutor(max_workers=2) as pool:
        for mutant, said in zip(chosen, pool.map(survives, chosen), strict=True):
            alive += bool(said)
            verdict = f"SURVIVED {said}" if said else "killed"
            print(f"case {mutant.case:2} · {mutant.name}: {verdict} ({mutant.test})", flush=True)
    print(f"{len(chosen) - alive} of {len(chosen)} mutants killed")
    return 1 if alive else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
