"""Texts and tables for LaTeX, with the package booktabs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

#: What LaTeX reads otherwise, and letters that not all of its fonts have.
_LETTERS = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"}, "[": "{[}", "*": "{*}",
    "±": r"$\pm$", "≤": r"$\leq$", "†": r"\dag{}", "<": r"$<$", ">": r"$>$", "|": r"$|$",
    "≈": r"$\approx$", "ε": r"$\varepsilon$", "δ": r"$\delta$", "ρ": r"$\rho$", "·": r"$\cdot$",
    "…": r"\ldots{}", "µ": r"$\mu$", "²": r"$^2$",
}  # fmt: skip


def escaped(text: str) -> str:
    """A text that LaTeX prints as it is, in one line."""
    return "".join(_LETTERS.get(letter, letter) for letter in " ".join(text.split()))


def tabular(sides: str, heads: Iterable[Sequence[str]], rows: Iterable[Sequence[str]]) -> str:
    """A table; its cells are LaTeX already.

    sides : how columns are aligned, as in "lrr".
    """
    above, below = (
        "".join(f"{' & '.join(each)} \\\\\n" for each in lines) for lines in (heads, rows)
    )
    middle = "\\midrule\n" if above else ""
    return (
        f"\\begin{{tabular}}{{{sides}}}\n\\toprule\n{above}{middle}{below}"
        "\\bottomrule\n\\end{tabular}"
    )
