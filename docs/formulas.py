"""Formulas of the site as MathML, which browsers draw themselves: docutils makes it, and what it
leaves out is added here. docs/adr/0019-site.md says why."""

from __future__ import annotations

import re

from docutils.utils.math.latex2mathml import tex2mathml

#: A relation between what stands at the top of a formula. A line of text may end after it.
RELATION = re.compile(r"^(  <mo[^>]*>(?:[=≤≥≠≈∝∈]|&lt;|&gt;)</mo>)$(?=\n  <)", re.MULTILINE)
NEXT = r'\1\n</math><math xmlns="http://www.w3.org/1998/Math/MathML">'
#: Spaces that TeX has and docutils leaves out, or the other way round.
THIN = '<mspace width="0.1667em"></mspace>'
SPACING = (
    (r'<mo class="mathopen">([|‖])</mo>', r'<mo form="prefix" stretchy="false">\1</mo>'),
    # Those of \left and \right, at the ends of a row, grow; these don't.
    (
        r"(?<!<mrow>)(\n *)<mo>([|‖])</mo>(?!\n *</mrow>)",
        r'\1<mo form="postfix" stretchy="false">\2</mo>',
    ),
    ("<mo>'</mo>", '<mo lspace="0" rspace="0">′</mo>'),
    (r'<mo stretchy="false">/</mo>', '<mo lspace="0" rspace="0">/</mo>'),
    (r"<mo>(max|min)</mo>", r'<mo lspace="0.1667em" rspace="0">\1</mo>'),
    (r"(<mo>&ApplyFunction;</mo>)(?!\s*(?:<mo[ >]|</))", rf"\1{THIN}"),
    (
        r"(</(?:mi|mn|msub|msup|msubsup|mfrac|msqrt)>)(\s*<mi[^>]*>\w+</mi>\s*<mo>&ApplyFunction;)",
        rf"\1{THIN}\2",
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
