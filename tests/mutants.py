"""Mutants: each takes one defence away, and a named test has to notice.

mutants.toml is their table; ``died`` says of each what its function and its test were when it last
died. ``make mutants`` runs them all, ``python tests/mutants.py --changed`` those whose function or
test is another one now, ``python tests/mutants.py 3 14`` those of some must-pass cases, and
``--save`` brings the table up to date.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
TABLE = ROOT / "tests" / "mutants.toml"


@dataclass(frozen=True)
class Mutant:
    """In a file of dppandas, one text in the place of another; and the test that must fail, as
    pytest names it, from the folder of tests."""

    case: int
    name: str
    file: str
    old: str
    new: str
    test: str
    died: str = ""

    def fingerprint(self) -> str:
        """Of what decides whether it dies, for the most part: the two texts, the function whose
        text is another one, and the test. All are run at night, whatever has changed."""
        file, _, names = self.test.partition("::")
        source = (ROOT / "dppandas" / self.file).read_text("utf-8")
        tests = (ROOT / "tests" / file).read_text("utf-8")
        test = names.partition("[")[0].split("::")[-1]
        return fingerprint(self.old, self.new, self.test, source, tests, test)

    def survives(self) -> str:
        """What pytest said if it did not notice; "" where it did."""
        with tempfile.TemporaryDirectory() as folder:
            here = Path(folder)
            for part in ("dppandas", "tests", "docs"):
                shutil.copytree(ROOT / part, here / part)
            for part in ("pyproject.toml", "README.md", "CHANGELOG.md"):
                shutil.copy(ROOT / part, here)
            file = here / "dppandas" / self.file
            file.write_text(file.read_text("utf-8").replace(self.old, self.new), "utf-8")
            command = [sys.executable, "-m", "pytest", "-q", "-x", "--tb=no"]
            command += ["-p", "no:cacheprovider", "-p", "no:nbval", str(here / "tests" / self.test)]
            env = {**os.environ, "PYTHONPATH": str(here), "PYTHONDONTWRITEBYTECODE": "1"}
            env["DPPANDAS_TESTS_WAIT"] = "20"
            ran = subprocess.run(command, cwd=here, env=env, capture_output=True, text=True)
        return "" if ran.returncode == 1 else ran.stdout[-500:] + ran.stderr[-500:]


def fingerprint(old: str, new: str, path: str, source: str, tests: str, test: str) -> str:
    parts = (old, new, path, around(source, old), around(tests, f"def {test}(") if test else tests)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def around(text: str, part: str) -> str:
    """The function, or the statement beside functions, in which a part of a module begins; the
    whole class or module if it ends in another one."""
    if part not in text:
        return text
    start = text.index(part)
    first, last = (text.count("\n", 0, at) + 1 for at in (start, start + len(part.rstrip("\n"))))
    lines, found = text.splitlines(keepends=True), text
    node: ast.AST | None = ast.parse(text)
    while isinstance(node, ast.Module | ast.ClassDef):
        within = [each for each in node.body if _first(each) <= first and last <= _last(each)]
        node = within[0] if within else None
        if node is not None:
            found = "".join(lines[_first(node) - 1 : _last(node)])
    return found


def _first(node: Any) -> int:
    return min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])


def _last(node: Any) -> int:
    return int(node.end_lineno)


def read() -> tuple[dict[str, str], list[Mutant]]:
    """The must-pass cases, and the mutants that belong to them."""
    table = tomllib.loads(TABLE.read_text("utf-8"))
    return table["cases"], [Mutant(**each) for each in table["mutant"]]


def toml(value: Any) -> str:
    """A value as TOML has it; a text so that it is read as it stands, where that is possible."""
    if not isinstance(value, str):
        return str(value)
    if "\n" in value and "'''" not in value:
        return f"'''\n{value}'''"
    is_plain = "'" in value or not {'"', "\\"} & {*value}
    return json.dumps(value, ensure_ascii=False) if is_plain else f"'{value}'"


def text_of(cases: dict[str, str], mutants: list[Mutant]) -> str:
    """The table's text."""
    lines = ["# Each takes one defence away: see mutants.py. `died` is written by `make mutants`."]
    lines += ["", "[cases]", *(f"{number} = {toml(case)}" for number, case in cases.items())]
    for mutant in mutants:
        lines += ["", "[[mutant]]"]
        fields = {k: v for k, v in asdict(mutant).items() if k != "died" or v}
        lines += [f"{name} = {toml(value)}" for name, value in fields.items()]
    return "\n".join(lines) + "\n"


def options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("cases", nargs="*", type=int, help="only those of these must-pass cases")
    parser.add_argument(
        "--changed", action="store_true", help="only if function or test is another"
    )
    parser.add_argument("--save", action="store_true", help="bring the table up to date")
    return parser.parse_args(arguments)


def is_chosen(mutant: Mutant, by: argparse.Namespace) -> bool:
    changed = not by.changed or mutant.died != mutant.fingerprint()
    return changed and (not by.cases or mutant.case in by.cases)


def main(arguments: list[str]) -> int:
    by = options(arguments)
    cases, mutants = read()
    chosen = [mutant for mutant in mutants if is_chosen(mutant, by)]
    chosen.sort(key=lambda mutant: bool(mutant.died))  # what never died comes first
    alive = 0
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for mutant, said in zip(chosen, pool.map(Mutant.survives, chosen), strict=True):
            alive += bool(said)
            verdict = f"SURVIVED {said}" if said else "killed"
            print(f"case {mutant.case:2} · {mutant.name}: {verdict} ({mutant.test})", flush=True)
            died = "" if said else mutant.fingerprint()
            mutants[mutants.index(mutant)] = replace(mutant, died=died)
            if by.save:
                TABLE.write_text(text_of(cases, mutants), "utf-8")
    print(f"{len(chosen) - alive} of {len(chosen)} mutants killed")
    return 1 if alive else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
