"""How Sphinx makes the site of the documentation; `scripts/build_docs.py` runs it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

ROOT = Path(__file__).resolve().parent.parent
# The pages on scripting are made from the docstrings of the core, and run their examples on it.
sys.path.insert(0, str(ROOT))

manifest = (ROOT / "blender_manifest.toml").read_text(encoding="utf-8")

project = "Chain IK"
author = "the developers of Chain IK"
release = version = re.search(r'^version = "(.+)"', manifest, re.MULTILINE)[1]

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.doctest",
]
myst_enable_extensions = ["dollarmath"]
# Links such as `limits.md#slides` work here as they do on GitHub.
myst_heading_anchors = 4
autodoc_default_options = {"member-order": "bysource", "undoc-members": False}
# Shapes and units say more than types do, and stand in the words.
autodoc_typehints = "none"
# Attributes of records are a list, not entries of their own beside those of the members.
napoleon_use_ivar = True
napoleon_attr_annotations = False
# Whatever is not found is a warning.
nitpicky = True
trim_doctest_flags = True
doctest_test_doctest_blocks = ""

html_theme = "furo"
html_title = f"Chain IK {version}"
html_copy_source = False
html_show_sphinx = html_show_copyright = False
exclude_patterns = ["Thumbs.db", ".DS_Store"]
html_math_renderer = "mathml"
# What is wider than the page is scrolled; the room above and below keeps tall letters whole.
BLOCK = "overflow-x: auto; padding: 0.6em 0"


def write_formula(translator: HTML5Translator, node: nodes.math | nodes.math_block) -> None:
    """Write a formula as MathML, which browsers show without a script from another server."""
    is_block = isinstance(node, nodes.math_block)
    formula = convert(node.astext(), display="block" if is_block else "inline")
    translator.body.append(f'<div style="{BLOCK}">{formula}</div>' if is_block else formula)
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Have all formulas written so."""
    writers = (write_formula, None)
    app.add_html_math_renderer(html_math_renderer, writers, writers)
