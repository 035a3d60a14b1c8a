"""Formulas of the site as MathML, which browsers draw themselves: docutils makes it, and what it
leaves out is added here. docs/adr/0019-site.md says why."""

from __future__ import annotations

import re

from docutils.utils.math.latex2mathml import tex2mathml

#: A relation between what stands at the top of a formula. A line of text may end after it.
RELATION = re.compile(r"^(  <mo[^>]*>(?:[=≤≥≠≈∝∈]|&lt;|&gt;)</mo>)$(?=\n  <)", re.MULTILINE)
NEXT = r'\1\n</math><math xmlns="http://www.w3.org/1998/Math/MathML">'
LETTER = "(?:mi|mn|msub|msup|msubsup|mfrac|msqrt)"
FUNCTION = "(?:exp|ln|log|sinh|cosh|tanh)"
THIN = '<mspace width="0.1667em"></mspace>'
#: Spaces that TeX has and docutils leaves out, or the other way round; and what it piles up.
SPACING = (
    (r'<mo class="mathopen">([|‖])</mo>', r'<mo form="prefix" stretchy="false">\1</mo>'),
    # Those of \left and \right, at the ends of a row, grow; these don't.
    (
        r"(?<!<mrow>)(\n *)<mo>([|‖])</mo>(?!\n *</mrow>)",
        r'\1<mo form="postfix" stretchy="false">\2</mo>',
    ),
    (r"(?<!<mrow>)(\n *)<mo>([⌊⌈])</mo>", r'\1<mo form="prefix" stretchy="false">\2</mo>'),
    (r"<mo>([⌋⌉])</mo>(?!\n *</mrow>)", r'<mo form="postfix" stretchy="false">\1</mo>'),
    (r"([⌊⌈]</mo>\s*)<mo>−</mo>", r'\1<mo form="prefix">−</mo>'),
    (r"<mo>=</mo>\s*<mo>∶</mo>", '<mo lspace="0.2778em" rspace="0.2778em">=:</mo>'),
    ("<mo>'</mo>", '<mo lspace="0" rspace="0">′</mo>'),
    (r'<mo stretchy="false">/</mo>', '<mo lspace="0" rspace="0">/</mo>'),
    (r"<mo>(max|min)</mo>", r'<mo lspace="0.1667em" rspace="0">\1</mo>'),
    (r"(<mo>&ApplyFunction;</mo>)(?!\s*(?:<mo[ >]|</))", rf"\1{THIN}"),
    (
        rf"(</{LETTER}>)(\s*<mi[^>]*>\w+</mi>\s*<mo>&ApplyFunction;)",
        rf"\1{THIN}\2",
    ),
    # Functions with an index or a power, and before a name without brackets.
    (rf"(</{LETTER}>)(\s*<(?:msub|msup)>\s*<mi>{FUNCTION}</mi>)", rf"\1{THIN}\2"),
    (
        rf"(<(msub|msup)>\s*<mi>{FUNCTION}</mi>\s*<m[in]>\w+</m[in]>\s*</\2>)(?=\s*<{LETTER}\b)",
        rf"\1{THIN}",
    ),
    (
        r"(?<!<munder>)(?<!<msub>)(?<!<msup>)"
        rf'(\n *<mo lspace="0.1667em" rspace="0">(?:max|min)</mo>)(?=\s*<{LETTER}\b)',
        rf"\1{THIN}",
    ),
    # A hat stands on the letter, and the index beside both.
    (
        r'<munderover>(\s*<mi>\w</mi>)(\s*<m[in]>\w+</m[in]>)(\s*<mo stretchy="false">\S</mo>\s*)'
        "</munderover>",
        r'<msub><mover accent="true">\1\3</mover>\2</msub>',
    ),
)


def as_mathml(tex: str, block: bool) -> str:
    """A formula, spaced as TeX would."""
    drawn = tex2mathml(tex, as_block=block)
    for pattern, instead in SPACING:
        drawn = re.sub(pattern, instead, drawn)
    return drawn


def in_line(drawn: str) -> str:
    """Browsers end no line within a formula: so one is several, each up to a relation."""
    return RELATION.sub(NEXT, drawn)
