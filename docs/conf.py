"""The docs site: ``make docs``. Sphinx reads the repository from its root, so that links between
pages are the same here and on a repository's web page. docs/adr/0019-site.md says why."""

from __future__ import annotations

import sys
from pathlib import Path

import dppandas

sys.path.insert(0, str(Path(__file__).parent))

project = "dppandas"
version = release = dppandas.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "site_of_dppandas"]
root_doc = "README"
include_patterns = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "benchmarks/README.md",
    "docs/**",
    "notebooks/*.ipynb",
    "notebooks/gallery/*.ipynb",
]
# Folders that are never walked through, for they are large or not ours.
exclude_patterns = [".*", "artifacts", "build", "dist", "dppandas", "tests"]

html_theme = "furo"
html_title = f"dppandas {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_copy_source = html_show_sphinx = html_show_copyright = False
html_math_renderer = "mathml"

# Notebooks are shown as they were saved: their answers come from the ledgers beside them.
nb_execution_mode = "off"
nb_code_prompt_show, nb_code_prompt_hide = "Show the code", "Hide the code"
nb_ipywidgets_js: dict[str, dict[str, str]] = {}
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4

nitpicky = True
smartquotes = False  # they would reach examples
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"  # docstrings say it in words
autodoc_member_order = "alphabetical"
