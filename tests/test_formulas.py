"""Formulas are typeset, and neither eaten by Markdown nor beyond what the site can draw."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from scripts import script

pytest.importorskip("myst_parser", reason="reads pages as the docs site does: make test-browser")

from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parent.parent
#: Of all but the changelog, which is plain text.
PAGES = sorted(
    page
    for page in [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "notebooks").rglob("*.ipynb"),
    ]
    if page.name != "CHANGELOG.md"
)
#: In place of code and formulas, which are no prose.
HIDDEN = "\N{OBJECT REPLACEMENT CHARACTER}"
LETTER = "[A-Za-zΑ-Ωα-ω]"
#: What belongs between dollars. A Greek letter, and what number it is, may stand in prose.
RAW = {
    "power": r"\^|\*(?=\S)|(?<=\S)\*",
    "index": r"(?<![^\W_]{2})_(?!')|_(?![^\W_]{2}|')",
    "small digit": "[⁰-⁹²³¹₀-₉⁺⁻₊₋ⁿᵢ]",
    "sign": "[√∑∏∫∂∞∝∈∉⊆∪∩‖⌊⌋⌈⌉ΣΠℓ≤≥≠]",
    "product": rf"(?<={LETTER})·|·(?={LETTER})",
    "ratio": r"(?<!\w)[α-ωΔ]/[\d(]|[\d)]/[α-ωΔ](?!\w)",
    "factor": r"\d[α-ωΔ]",
    "difference": rf"(?<!\w){LETTER}(?: ?[−+] ?| - )[\w(]|[\d)](?: ?[−+] ?| - ){LETTER}(?!\w)",
    "value": r"(?<![\w.])[A-Za-z] ?[=<>](?!=)",
    "probability": r"(?<!\w)[PE]\[",
}
RAW_AT_ALL = re.compile("|".join(f"(?:{pattern})" for pattern in RAW.values()))


#: The most characters between two places where a line may end: more don't fit on a phone.
SHORT = 30


def relative(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def markdown(page: Path) -> str:
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".md":
        return text
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown"]
    return "\n\n".join("".join(cell["source"]) for cell in cells)


def tokens(text: str) -> list[Token]:
    """As the site reads a page."""
    config = MdParserConfig(enable_extensions={"dollarmath"})
    return create_md_parser(config, RendererHTML).parse(text)


def paragraphs(text: str) -> list[list[Token]]:
    return [token.children or [] for token in tokens(text) if token.type == "inline"]


def said(token: Token) -> str:
    if token.type in ("text", "softbreak", "hardbreak"):
        return token.content or " "
    return HIDDEN if token.type in ("code_inline", "math_inline", "math_inline_double") else ""


def raw(text: str) -> list[str]:
    """Formulas in the prose of a text, each with what stands around it."""
    found = []
    for children in paragraphs(text):
        prose = "".join(map(said, children))
        for match in RAW_AT_ALL.finditer(prose):
            found.append(prose[max(0, match.start() - 20) : match.end() + 20])
        if "$" in prose:
            found.append(f"a lone dollar in {prose[:60]}")
    return found


def eaten(text: str) -> list[str]:
    """What Markdown took for emphasis, and was part of a formula.

    People emphasise words, with stars. What underscores emphasise was an index; what is one letter,
    or touches a letter, a digit or a bracket, was a factor."""
    found = []
    for children in paragraphs(text):
        opened: list[int] = []
        for i, token in enumerate(children):
            if token.type in ("em_open", "strong_open"):
                opened.append(i)
            elif token.type in ("em_close", "strong_close"):
                first = opened.pop()
                inside = "".join(map(said, children[first:i]))
                before = "".join(map(said, children[:first]))[-1:]
                after = "".join(map(said, children[i:]))[:1]
                if (
                    token.markup[0] == "_"
                    or re.fullmatch(r"\W*\w\W*|\d+", inside)
                    or re.fullmatch(r"[\w)\]}^_=]", before)
                    or re.fullmatch(r"[\w(\[{^_=]", after)
                ):
                    found.append(f"{before}*{inside}*{after}")
    return found


def formulas(text: str) -> Iterator[Token]:
    for token in tokens(text):
        yield from (
            each
            for each in [token, *(token.children or [])]
            if each.type.startswith("math_") or each.type == "amsmath"
        )


#: What draws the formulas of the docs site.
DRAWING = script("docs/formulas.py")


def longest(drawn: str) -> int:
    """Characters of the longest piece of a formula in a line of text."""
    pieces = DRAWING.in_line(drawn).split("</math>")
    return max(len(re.sub(r"<[^>]*>|&\w+;|\s", "", piece)) for piece in pieces)


def unfit(text: str) -> list[str]:
    """Formulas that the site, JupyterLab or a repository's web page wouldn't draw as meant."""
    found = []
    for token in formulas(text):
        tex = token.content
        block = token.type.startswith("math_block")
        try:
            drawn = DRAWING.as_mathml(tex, block)
        except Exception as error:  # MathError, but also IndexError
            found.append(f"{tex}: {error}")
            continue
        if not block and longest(drawn) > SHORT:
            found.append(f"{tex}: too long for a phone; display it")
        if re.search(r"\\|merror", drawn):
            found.append(f"{tex}: a command is left")
        if re.search(r"<(?! )", tex):
            found.append(f"{tex}: a web page takes < before a letter for a tag; write '< '")
        if not block and re.search(r"\\[{},;:!_|*\\]", tex):
            found.append(f"{tex}: Markdown elsewhere drops this backslash; write \\lbrace")
    for children in paragraphs(text):
        spoken = [*map(said, children)]
        for i, token in enumerate(children):
            beside = "".join(spoken[:i])[-1:] + "".join(spoken[i + 1 :])[:1]
            if token.type == "math_inline" and re.search(r"\d", beside):
                found.append(f"{token.content}: a dollar beside a digit may be a price")
    return found


def unopened(text: str) -> list[str]:
    """Formulas that a repository's web page leaves raw: only a blank may stand before one."""
    found = []
    for children in paragraphs(text):
        before = ""
        for token in children:
            if token.type == "math_inline" and before.strip():
                found.append(f"{token.content}: write a word or a blank between it and {before}")
            before = (
                token.markup[:1] if token.type.endswith("_open") else said(token)[-1:] or before
            )
    return found


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_formulas_are_typeset(page: Path) -> None:
    text = markdown(page)
    wrong = [*eaten(text), *raw(text), *unfit(text)]
    if page.suffix == ".md":
        wrong += unopened(text)
    assert wrong == []


@pytest.mark.parametrize("text", ["a ($x$)", '"$x$"', "*$x$*", "of $x$/$y$"])
def test_formulas_that_begin_within_a_word_are_found(text: str) -> None:
    assert unopened(text)
    assert unopened("$x$ and (so) $y$, *by* $z$") == []


@pytest.mark.parametrize(
    "text",
    [
        "e^(−γj)",
        "X_{m+1}",
        "x_i",
        "2^k",
        "√(2n)",
        "∑ over all",
        "10⁻⁶ of all",
        "the ℓ1 norm",
        "ε/2 each",
        "at most 2ε",
        "n − m rows",
        "n + 1 rows",
        "where n = 3",
        "m·T",
        "P[Z > w]",
        "it costs $5",
    ],
)
def test_raw_formulas_are_found(text: str) -> None:
    assert raw(text)
    assert not raw(f"`{text}`") or "$" in text
    assert raw(f"of *{text}* and")


def test_what_may_stand_in_prose_is_no_formula() -> None:
    text = "At ε = 0.5 and (ε, δ), max_rows, 5 - 3, −1 or ±3: `e^x` for $e^x$ and a b-c, A/B."
    assert raw(text) == []
    assert eaten("Some *words*, **Claim 1 (ε).** and *of $x_i$*: ($a$).") == []
    assert (
        unfit("$\\frac{a}{b} < \\lbrace c \\rbrace$ is 5 $m$.\n\n$$\na &= b \\\\\nc &= d\n$$") == []
    )


@pytest.mark.parametrize("text", ["∫_m^∞ ≤ Σ_{z≥m}", "2*x*3 of", "a *b* c", "2**k and 3**m"])
def test_eaten_formulas_are_found(text: str) -> None:
    assert eaten(text)


@pytest.mark.parametrize(
    "text",
    [
        "$\\lle$",
        "$\\frac1$",
        "$a<b$",
        "$\\{a\\}$",
        "$a\\, b$",
        "$\\text{a\\_b}$",
        "5$x$",
        "$x$5",
        "$a + b + c + d + e + f + g + h + i + j + k + l + m + n + o + p + q$",
    ],
)
def test_formulas_that_are_drawn_nowhere_are_found(text: str) -> None:
    assert unfit(text)
