"""What the docs site needs beyond Sphinx: the contents, the reference, and formulae.

Nothing here fetches anything: formulae become MathML, which browsers draw themselves."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import inspect
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import examples_of_reference as examples
from accessible import mend_pages
from docutils import nodes
from docutils.utils.math import MathError
from formulas import as_mathml, in_line
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

import dppandas

#: Public modules of their own, where this version has them.
MODULES = (
    "dppandas.audit", "dppandas.local", "dppandas.models", "dppandas.models.synthetic",
    "dppandas.stats",
)  # fmt: skip
#: Where names are looked for, from the top.
PUBLIC = ("dppandas", "dppandas.types", "dppandas.errors", *MODULES)
#: Pages of classes whose names begin alike.
ALIKE = {"answers": "Released", "questions": "Unreleased"}

#: Below the front page, which is the README. Guides that aren't named are found.
CONTENTS = """
```{{toctree}}
:hidden:
:caption: Guide
docs/how_it_works
docs/how_do_i
docs/glossary
docs/asking
docs/inference
docs/ledger
docs/verbs
docs/kinds
docs/losses
docs/gaussian
docs/pictures
docs/plots
docs/gallery
docs/histories
docs/models
docs/synthetic
docs/local
docs/engines
docs/scaling
{more}
docs/operations
docs/pandas
docs/differences
docs/api/index
```

```{{toctree}}
:hidden:
:caption: Notebooks
{notebooks}
```

```{{toctree}}
:hidden:
:caption: Why to believe it
docs/why
docs/threat_model
docs/known_limits
docs/proofs/index
docs/auditing
docs/nist_sp_800_226
docs/errata
```

```{{toctree}}
:hidden:
:caption: More
benchmarks/README
docs/stability
SECURITY
CHANGELOG
CONTRIBUTING
docs/maintaining
docs/style
docs/adr/index
```
"""

#: Pages whose pages stand below them, in the order of their links.
GALLERIES = {
    "docs/plots": re.compile(r"\]\((plots/\w+)\.md\)"),
    "docs/gallery": re.compile(r"\]\(\.\.(/notebooks/gallery/\w+)\.ipynb\)"),
}
#: A link whose text is the name of its file, which is how a repository's web page shows it best.
FILE = re.compile(r"\[[\w/]+\.md\]\(([\w/.]+\.md)\)")
#: What else a page with the title of another is called in the browser's tab.
SORTS = {"docs/proofs/": "proof", "docs/plots/": "plot", "notebooks/": "notebook"}
#: One for each ground, where a repository's web page can't adapt that of both (_static/site.css).
PLOT = re.compile(
    r'<picture>[^>]*srcset="(docs/plots/\w+)-dark\.png">\s*<img[^>]*alt="([^"]*)"></picture>'
)
PICTURE = re.compile(
    r'<picture>.*?srcset="(?P<dark>[^"]*)".*?src="(?P<light>[^"]*)" alt="(?P<alt>[^"]*)".*?'
    "</picture>",
    re.DOTALL,
)


def add_contents(app: Sphinx, page: str, source: list[str]) -> None:
    """The front page lists all pages, in the site only, and galleries list theirs."""
    if page in GALLERIES:
        pages = "\n".join(dict.fromkeys(GALLERIES[page].findall(source[0])))
        source[0] += f"\n```{{toctree}}\n:hidden:\n\n{pages}\n```\n"
    if page != app.config.root_doc:
        return
    books = {f"notebooks/{path.stem}" for path in Path(app.srcdir, "notebooks").glob("*.ipynb")}
    pages = {f"docs/{path.stem}" for path in Path(app.srcdir, "docs").glob("*.md")}
    source[0] += CONTENTS.format(
        notebooks="\n".join(
            sorted(books, key=lambda name: (not name.endswith("quickstart"), name))
        ),
        more="\n".join(sorted(pages - set(CONTENTS.split()))),
    )


def name_pages(app: Sphinx, page: str, source: list[str]) -> None:
    """A link to a file shows the title of its page."""
    source[0] = FILE.sub(r"[](\1)", source[0])


def name_tab(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Tabs and bookmarks tell pages of one title apart."""
    sort = next((SORTS[each] for each in SORTS if page.startswith(each)), "")
    alike = [one for one in app.env.titles.values() if one.astext() == context.get("title")]
    if sort and len(alike) > 1:
        context["title"] += f" ({sort})"


def adapt_pictures(app: Sphinx, page: str, source: list[str]) -> None:
    """A repository's web page picks a dark picture by the browser's scheme; the site by its own."""
    source[0] = PICTURE.sub(
        lambda found: (
            "````{container} picture\n"
            + "\n".join(
                f"```{{image}} {path}\n:class: only-{scheme}\n:alt: {found['alt']}\n```\n"
                for scheme, path in (("light", found["light"]), ("dark", found["dark"]))
            )
            + "````\n"
        ),
        PLOT.sub(r"![\2](\1.png)", source[0]),
    )


def add_index(app: Sphinx, failure: Exception | None) -> None:
    """Browsers open a folder at index.html."""
    front = Path(app.outdir) / f"{app.config.root_doc}.html"
    if failure is None and front.exists():
        shutil.copy(front, front.with_name("index.html"))


def public_names(kind: str) -> list[str]:
    """All functions, errors, or other classes that a page shows, in full."""
    if kind == "functions":
        names = [n for n in dppandas.__all__ if inspect.isfunction(getattr(dppandas, n))]
        return [f"dppandas.{name}" for name in sorted(names)]
    module = "dppandas.errors" if kind == "errors" else "dppandas.types"
    names = sorted(importlib.import_module(module).__all__)
    if kind == "results":
        return [f"{module}.{name}" for name in names if is_result(name)]
    if kind == "classes":
        alike = tuple(ALIKE.values())
        names = [name for name in names if not name.startswith(alike) and not is_result(name)]
    return [f"{module}.{name}" for name in names if name.startswith(ALIKE.get(kind, ""))]


def is_result(name: str) -> bool:
    """Whether a class is what `dppandas.stats` returns."""
    return str(getattr(dppandas.types, name).__module__).startswith("dppandas.stats.") and (
        not name.startswith("Unreleased")
    )


def methods(kind: object) -> list[str]:
    """What a class or one of its bases here defines, and nobody else's. Parts of times are named in
    the text of their class."""
    own = [base for base in getattr(kind, "__mro__", ()) if base.__module__.startswith("dppandas")]
    named = {name: what for base in own for name, what in vars(base).items() if name[0] != "_"}
    return sorted(name for name, what in named.items() if type(what).__name__ != "_Part")


def of_function(name: str) -> str:
    return f".. autofunction:: {name}\n\n"


def of_class(name: str, kind: type) -> str:
    members = ", ".join(methods(kind))
    return f".. autoclass:: {name}\n" + (f"   :members: {members}\n\n" if members else "\n")


def summary(names: list[str]) -> str:
    return ".. autosummary::\n   :nosignatures:\n\n" + "".join(f"   ~{n}\n" for n in names) + "\n"


def of_module(name: str) -> str:
    """A public module: what it says of itself, and all that it exports."""
    module = importlib.import_module(name)
    names = [n for n in sorted(module.__all__) if not inspect.ismodule(getattr(module, n))]
    things = {f"{name}.{each}": getattr(module, each) for each in names}
    parts = [
        of_class(full, thing) if inspect.isclass(thing) else of_function(full)
        for full, thing in things.items()
    ]
    title = f"``{name}``\n{'-' * (len(name) + 4)}\n\n"
    set_up = examples.shown_set_up(name.rpartition(".")[2])
    return title + f".. automodule:: {name}\n\n" + set_up + summary(names) + "".join(parts)


class Public(SphinxDirective):
    """``.. public:: functions`` (``errors``, ``answers``, ``questions``, ``results``, other
    ``classes``, ``modules``, the name of a class or a module)."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        for file in examples.files():
            self.env.note_dependency(str(file))
        return self.parse_text_to_nodes(self.text(self.arguments[0]), allow_section_headings=True)

    def text(self, wanted: str) -> str:
        pages = {path.stem for path in Path(self.env.srcdir, "docs", "api").glob("*.rst")}
        if wanted in MODULES:
            return of_module(wanted)
        if wanted == "modules":  # those with pages of their own stand there
            names = [name for name in MODULES if name.rpartition(".")[2] not in pages]
            return "".join(of_module(name) for name in names if importlib.util.find_spec(name))
        if wanted in dppandas.types.__all__:
            kind, full = getattr(dppandas.types, wanted), f"dppandas.types.{wanted}"
            names = summary([f"{full}.{name}" for name in methods(kind)])
            own = examples.shown_set_up(wanted) or examples.shown_set_up("classes")
            return own + names + of_class(full, kind)
        names = public_names(wanted)
        if wanted == "classes":
            names = [name for name in names if name.rpartition(".")[2] not in pages]
        of = of_function if wanted == "functions" else self.of_name
        return examples.shown_set_up(wanted) + summary(names) + "".join(map(of, names))

    def of_name(self, full: str) -> str:
        module, _, name = full.rpartition(".")
        return of_class(full, getattr(importlib.import_module(module), name))


ARGUMENT = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*) : (.*)$")
CODE = re.compile(r"(?<![`:])`([^`]+)`(?!`)")
PAGE = re.compile(r"(?<![`/\w])(docs/[\w/-]+)\.md")
OBJECT = re.compile(r"<[\w.]+ object(?: at 0x\w+)?>")
BARS = re.compile(r"\|(\w+)\|")


def link(code: str, inside: str, owner: str) -> str:
    """What stands in single backticks, as a link if it names something public, else as code."""
    name = code.removesuffix("()")
    if name.startswith("dp."):
        name = name.removeprefix("dp.")
        if name in ("DPError", "BudgetExceeded"):
            name = f"errors.{name}"
        return f":py:obj:`{code} <dppandas.{name}>`"  # a warning if there is no such thing
    for module in map(importlib.import_module, ("dppandas.errors", inside, *PUBLIC)):
        for public in (f"{owner}.{name}", name):
            kind, _, method = public.partition(".")
            if kind in module.__all__ and (not method or method in methods(getattr(module, kind))):
                return f":py:obj:`{code} <{module.__name__}.{public}>`"
    return f"``{code}``"


def marked(line: str, inside: str, owner: str) -> str:
    line = CODE.sub(lambda found: link(found[1], inside, owner), line)
    return BARS.sub(r"\|\1\|", PAGE.sub(r":doc:`/\1`", line))


def format_docstring(
    app: Sphinx, what: str, name: str, thing: object, options: Any, lines: list[str]
) -> None:
    """``name : what it is`` becomes a list of definitions; what can be linked is; examples stay."""
    inside = next((m for m in reversed(PUBLIC) if f"{name}.".startswith(f"{m}.")), "dppandas")
    owner = name.removeprefix(f"{inside}.").partition(".")[0]
    formatted: list[str] = []
    example = defining = False
    for line in lines:
        example = bool(line.strip()) and (example or line.lstrip().startswith(">>>"))
        argument = None if example else ARGUMENT.match(line)
        if argument:
            formatted += [f"``{argument[1]}``", f"    {marked(argument[2], inside, owner)}"]
            defining = True
            continue
        if defining and not line.startswith(" "):
            formatted += [""]
            defining = False
        formatted += [line if example else marked(line, inside, owner)]
    if dataclasses.is_dataclass(thing):
        fields = [each.name for each in dataclasses.fields(thing) if each.name[0] != "_"]
        formatted += ["", "*Attributes*: " + ", ".join(f"``{each}``" for each in fields) + "."]
    lines[:] = formatted + examples.shown_example(name, lines)


def readable_signature(
    app: Sphinx,
    what: str,
    name: str,
    thing: object,
    options: Any,
    signature: str | None,
    returns: str | None,
) -> tuple[str, str] | None:
    """Nobody makes a session or a private frame but the package; estimators are made by users.
    And a default that is an object has no text that a reader could write."""
    internal = inspect.isclass(thing) and not name.startswith("dppandas.models.")
    if internal and signature:
        return "", ""
    return (OBJECT.sub("...", signature), returns or "") if signature else None


def draw(block: bool) -> Callable[[Any, nodes.Element], None]:
    def visit(translator: Any, node: nodes.Element) -> None:
        try:
            drawn = as_mathml(node.astext(), block)
        except MathError as error:
            logging.getLogger(__name__).warning("formula: %s", error, location=node)
            drawn = ""
        translator.body.append(f"<div class='math'>{drawn}</div>" if block else in_line(drawn))
        raise nodes.SkipNode

    return visit


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("source-read", add_contents)
    app.connect("source-read", adapt_pictures)
    app.connect("source-read", name_pages)
    app.connect("html-page-context", name_tab)
    app.connect("build-finished", mend_pages)
    app.connect("build-finished", add_index)
    app.connect("autodoc-process-docstring", format_docstring)
    app.connect("autodoc-process-signature", readable_signature)
    app.add_directive("public", Public)
    app.add_html_math_renderer("mathml", (draw(block=False), None), (draw(block=True), None))
    return {"version": dppandas.__version__, "parallel_read_safe": True}
